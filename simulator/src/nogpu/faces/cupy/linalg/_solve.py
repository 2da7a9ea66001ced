"""Linear equations and inverses."""

import numpy as np
from cupy import _host
from cupy.linalg import _util
from numpy.linalg import LinAlgError


def solve(a, b):
    """Solve ``a @ x = b``; b may be a vector or a stack of matrices."""
    _util._assert_cupy_array(a, b)
    _util._assert_stacked_2d(a)
    _util._assert_stacked_square(a)
    dtype = _util.linalg_common_type(a, b)
    vector = b.ndim == 1
    if b.ndim == 0 or b.shape[-1 if vector else -2] != a.shape[-1]:
        raise ValueError(
            "a must have (..., M, M) shape and b must have (M,) or (..., M, K)")
    _util.check("getrf", a, dtype)
    if vector:
        shape = a.shape[:-1]
    else:
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        shape = (*batch, *b.shape[-2:])

    def work(x, y):
        x = x.astype(dtype, copy=False)
        y = y.astype(dtype, copy=False)
        if vector:
            y = y[:, None]
        batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
        x = np.broadcast_to(x, (*batch, *x.shape[-2:]))
        y = np.broadcast_to(y, (*batch, *y.shape[-2:]))
        return _util.each(np.linalg.solve)(x, y).reshape(shape)

    return _host.compute(work, [a, b], shape, dtype)


def tensorsolve(a, b, axes=None):
    """Solve the tensor equation ``tensordot(a, x, x.ndim) = b``."""
    _util._assert_cupy_array(a, b)
    if axes is not None:
        order = list(range(a.ndim))
        for axis in axes:
            order.remove(axis)
            order.append(axis)
        a = a.transpose(tuple(order))
    shape = a.shape[-(a.ndim - b.ndim):]
    n = _host.size_of(shape)
    return solve(a.reshape(-1, n), b.ravel()).reshape(shape)


def lstsq(a, b, rcond="warn"):
    """Return the least-squares solution, residuals, rank and singular values."""
    import warnings

    if rcond == "warn":
        warnings.warn(
            "`rcond` parameter will change to the default of machine precision times "
            "``max(M, N)`` where M and N are the input matrix dimensions.\n"
            "To use the future default and silence this warning we advise to pass "
            "`rcond=None`, to keep using the old, explicitly pass `rcond=-1`.",
            FutureWarning, stacklevel=2)
        rcond = -1
    _util._assert_cupy_array(a, b)
    _util._assert_2d(a)
    if b.ndim > 2:
        raise LinAlgError(
            f"{b.ndim}-dimensional array given. Array must be at most two-dimensional")
    if a.shape[0] != b.shape[0]:
        raise LinAlgError("Incompatible dimensions")
    dtype = _util.linalg_common_type(a, b)

    def work(x, y):
        found, rest, rank, values = np.linalg.lstsq(
            x.astype(dtype, copy=False), y.astype(dtype, copy=False), rcond=rcond)
        return found, np.asarray(rest), np.asarray(rank), values

    return _host.compute_now(work, [a, b])


def inv(a):
    """Return the inverse of each matrix."""
    dtype = _util.type_of_stacked(a, square=True)
    _util.check("getrf", a, dtype)
    work = _util.each(np.linalg.inv)
    return _host.compute(lambda v: work(v.astype(dtype, copy=False)), [a], a.shape, dtype)


def pinv(a, rcond=1e-15):
    """Return the Moore-Penrose inverse, by the singular values."""
    dtype = _util.type_of_stacked(a)
    shape = (*a.shape[:-2], a.shape[-1], a.shape[-2])
    inputs = [a, rcond] if _host.is_array(rcond) else [a]

    def work(v, limit=rcond):
        return np.linalg.pinv(v.astype(dtype, copy=False), limit)

    return _host.compute(work, inputs, shape, dtype)


def tensorinv(a, ind=2):
    """Return the inverse of an array seen as a matrix of its first ``ind`` axes."""
    _util._assert_cupy_array(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument")
    shape = a.shape[ind:] + a.shape[:ind]
    return inv(a.reshape(_host.size_of(a.shape[ind:]), -1)).reshape(shape)
