"""Norms and determinants."""

import numpy as np
from cupy import _host
from cupy.linalg import _util


def norm(x, ord=None, axis=None, keepdims=False):  # noqa: A002
    """Return a norm of vectors or matrices."""
    _host.argument(x)
    dtype = _host.real_type(_host.floating(x.dtype))
    if axis is None:
        if ord is not None and x.ndim not in (1, 2):
            raise ValueError("Improper number of dimensions to norm.")
        axes = tuple(range(x.ndim))
    else:
        axes = _host.axes_of(axis, x.ndim)
        if len(axes) > 2:
            raise ValueError("Improper number of dimensions to norm.")
    if ord is not None:  # an order that does not fit is refused at once
        np.linalg.norm(np.zeros((1,) * len(axes)), ord)

    def work(v):
        v = v.astype(_host.wide(v.dtype), copy=False)
        return np.linalg.norm(v, ord, axis if axis is None else axes, keepdims)

    return _host.compute(work, [x], _host.reduced(x.shape, axes, keepdims), dtype)


def cond(x, p=None):
    """Return the condition number."""
    x = _host.asarray(x)
    if x.size == 0:
        raise _util.LinAlgError("cond is not defined on empty arrays")
    dtype = _util.type_of_stacked(x)

    def work(v):
        return np.linalg.cond(v.astype(dtype, copy=False), p)

    return _host.compute(work, [x], x.shape[:-2], _host.real_type(dtype))


def det(a):
    """Return the determinant, by way of its logarithm."""
    dtype, sign_log = _slogdet(a)

    def work(v):
        sign, logarithm = sign_log(v)
        return sign * np.exp(logarithm)

    return _host.compute(work, [a], a.shape[:-2], dtype)


def _slogdet(a):
    dtype = _util.type_of_stacked(a, square=True)
    return dtype, lambda v: np.linalg.slogdet(v.astype(dtype, copy=False))


def slogdet(a):
    """Return the sign of the determinant and the logarithm of its absolute value."""
    dtype, work = _slogdet(a)
    return _host.compute_many(
        work, [a], [(a.shape[:-2], dtype), (a.shape[:-2], _host.real_type(dtype))])


def matrix_rank(M, tol=None):  # noqa: N803
    """Return the number of singular values above a limit."""
    _host.argument(M)
    inputs = [M, tol] if _host.is_array(tol) else [M]
    if M.ndim < 2:
        return _host.compute(lambda v: np.any(v != 0), [M], (), np.int64)

    def work(v, limit=tol):
        return np.linalg.matrix_rank(v.astype(_host.floating(v.dtype), copy=False), limit)

    return _host.compute(work, inputs, M.shape[:-2], np.int64)


def trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    """Return the sum along a diagonal."""
    return a.trace(offset, axis1, axis2, dtype, out)


def _ndarray_trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    if a.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    axes = _host.one_axis(axis1, a.ndim), _host.one_axis(axis2, a.ndim)
    shape = _host.reduced(a.shape, axes, False)
    kind = np.empty((0, 0), a.dtype).trace(dtype=dtype).dtype
    return _host.compute(
        lambda v: v.trace(offset, axis1, axis2, dtype=kind), [a], shape, kind, out)
