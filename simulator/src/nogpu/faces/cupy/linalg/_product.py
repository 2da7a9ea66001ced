"""Products of vectors, matrices and tensors."""

import numbers
import warnings
from collections.abc import Sequence
from operator import index

import numpy as np
from cupy import _host
from cupy._core import _routines_indexing, _routines_linalg
from cupy._core._routines_linalg import MISMATCH
from cupy._manipulation.transpose import moveaxis
from cupy._math.ufuncs import UFUNCS
from cupy.linalg import _util
from cupy.linalg._solve import inv


def dot(a, b, out=None):
    """Return the dot product of two arrays."""
    return a.dot(b, out)


def matmul(a, b, /, out=None, *, axes=None, dtype=None, casting="same_kind"):
    """Return the matrix product, batches broadcast; ``axes`` are those of a, b and the result."""
    if axes is None and dtype is None and casting == "same_kind":
        return _routines_linalg.matmul(a, b, out)
    a, b = (_host.typed(x, name) for x, name in ((a, "a"), (b, "b")))
    if axes is not None:
        if not isinstance(axes, list):
            raise ValueError("`axes` has to be of type list")
        last = [(-2, -1) if x.ndim > 1 else (-1,) for x in (a, b)]
        if any(np.size(of) != len(to) for of, to in zip(axes, last)):
            raise np.exceptions.AxisError("matmul: `axes` names too few or too many axes")
        a, b = (moveaxis(x, of, to) for x, of, to in zip((a, b), axes, last))
    result = _routines_linalg.matmul(a, b)
    if dtype is not None or out is not None:
        wanted = np.dtype(dtype) if dtype is not None else out.dtype
        _host.core.check_cast(result.dtype, wanted, casting, "out dtype")
        result = result.astype(wanted, copy=False)
    if axes is not None and len(axes) > 2 and result.ndim > 1:
        result = moveaxis(result, (-2, -1), axes[2])
    return _routines_indexing.into(out, result.astype(out.dtype, copy=False) if out is not None
                                   else result)  # fmt: skip


def vdot(a, b):
    """Return the dot product of two arrays seen as vectors, the first conjugated."""
    _host.typed(a, "a")
    _host.typed(b, "b")
    if a.size != b.size:
        raise ValueError(MISMATCH)
    dtype = np.promote_types(a.dtype, b.dtype)
    work = _host.wide(dtype)
    return _host.compute(
        lambda x, y: np.vdot(x.astype(work, copy=False), y.astype(work, copy=False)),
        [a, b], (), dtype)


def inner(a, b):
    """Return the sums of products over the last axes."""
    _host.typed(a, "a")
    _host.typed(b, "b")
    dtype = np.promote_types(a.dtype, b.dtype)
    if a.ndim == 0 or b.ndim == 0:
        return _routines_linalg.dot(a, b)
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(MISMATCH)
    return _routines_linalg.tensordot_core(a, b, (a.ndim - 1,), (b.ndim - 1,), dtype)


def outer(a, b, out=None):
    """Return the products of every element of a with every one of b."""
    _host.typed(a, "a")
    _host.typed(b, "b")
    return UFUNCS["multiply"](a.ravel()[:, None], b.ravel(), out=out)


def tensordot(a, b, axes=2):
    """Return the sums of products over the axes given."""
    _host.typed(a, "a")
    _host.typed(b, "b")
    if a.ndim == 0 or b.ndim == 0:
        if axes != 0 and axes != ((), ()):
            raise ValueError("An input is zero-dim while axes has dimensions")
        return _routines_linalg.dot(a, b)
    if isinstance(axes, Sequence):
        if len(axes) != 2:
            raise ValueError("Axes must consist of two arrays.")
        a_axes, b_axes = ((one,) if np.isscalar(one) else tuple(one) for one in axes)
    else:
        count = index(axes)
        a_axes, b_axes = tuple(range(a.ndim - count, a.ndim)), tuple(range(count))
    if len(a_axes) != len(b_axes):
        raise ValueError("Axes length mismatch")
    a_axes = tuple(_host.one_axis(i, a.ndim) for i in a_axes)
    b_axes = tuple(_host.one_axis(i, b.ndim) for i in b_axes)
    if any(a.shape[i] != b.shape[j] for i, j in zip(a_axes, b_axes)):
        raise ValueError(MISMATCH)
    dtype = np.promote_types(a.dtype, b.dtype)
    return _routines_linalg.tensordot_core(a, b, a_axes, b_axes, dtype)


def kron(a, b):
    """Return the Kronecker product."""
    if isinstance(a, numbers.Number) and isinstance(b, numbers.Number):
        return a * b
    if not (getattr(a, "ndim", 0) and getattr(b, "ndim", 0)):
        return UFUNCS["multiply"](a, b)
    _host.typed(a, "a")
    _host.typed(b, "b")
    ndim = max(a.ndim, b.ndim)
    one, two = ((1,) * (ndim - x.ndim) + x.shape for x in (a, b))
    shape = tuple(m * n for m, n in zip(one, two))
    return _host.compute(np.kron, [a, b], shape, np.promote_types(a.dtype, b.dtype))


def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    """Return the cross product of vectors of two or three elements."""
    a, b = _host.asarray(a), _host.asarray(b)
    if axis is not None:
        axisa = axisb = axisc = axis
    axisa, axisb = _host.one_axis(axisa, a.ndim), _host.one_axis(axisb, b.ndim)
    lengths = a.shape[axisa], b.shape[axisb]
    if not set(lengths) <= {2, 3}:
        raise ValueError(
            "incompatible dimensions for cross product\n(dimension must be 2 or 3)")
    if 2 in lengths:
        warnings.warn("Arrays of 2-dimensional vectors are deprecated. Use arrays of 3-dimensional "
                      "vectors instead.", DeprecationWarning, stacklevel=2)  # fmt: skip
    rest = [
        tuple(n for i, n in enumerate(x.shape) if i != skip)
        for x, skip in ((a, axisa), (b, axisb))
    ]
    shape = np.broadcast_shapes(*rest)
    dtype = np.promote_types(a.dtype, b.dtype)
    flat = lengths == (2, 2)
    if not flat:
        place = _host.one_axis(axisc, len(shape) + 1)
        shape = (*shape[:place], 3, *shape[place:])

    def work(x, y):
        x = np.moveaxis(x, axisa, -1).astype(dtype, copy=False)
        y = np.moveaxis(y, axisb, -1).astype(dtype, copy=False)
        x0, x1, y0, y1 = x[..., 0], x[..., 1], y[..., 0], y[..., 1]
        third = x0 * y1 - x1 * y0
        if flat:
            return third
        x2 = x[..., 2] if lengths[0] == 3 else np.zeros_like(x0)
        y2 = y[..., 2] if lengths[1] == 3 else np.zeros_like(y0)
        return np.stack([x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, third], axis=place)

    return _host.compute(work, [a, b], shape, dtype)


def matrix_power(M, n):  # noqa: N803
    """Return the n-th power of square matrices."""
    _util._assert_cupy_array(M)
    _util._assert_stacked_2d(M)
    _util._assert_stacked_square(M)
    if not isinstance(n, (int, np.integer)):
        raise TypeError("exponent must be an integer")
    if n < 0:
        M, n = inv(M), -n  # noqa: N806
    work = _host.wide(M.dtype)
    return _host.compute(
        lambda v: np.linalg.matrix_power(v.astype(work, copy=False), n), [M], M.shape, M.dtype)


def matrix_transpose(x, /):
    """Return a view with the last two axes swapped."""
    if x.ndim < 2:
        raise ValueError(
            "Input array must be at least 2-dimensional, "
            f"but it is {x.ndim}")
    return x.transpose(tuple([*range(x.ndim - 2), x.ndim - 1, x.ndim - 2]))
