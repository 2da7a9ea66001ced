"""Places of extremes, of what is not zero, and where to insert."""

import numpy as np
from cupy import _host, _tables
from cupy._core._fusion_thread_local import fusable

argmax, argmin = _tables.functions(globals(), _tables.method, """
argmax(a, axis=None, dtype=None, out=None, keepdims=False):
    Return the first place of the largest value.
argmin(a, axis=None, dtype=None, out=None, keepdims=False):
    Return the first place of the smallest value.
""")


def _without_nan(name):
    worst, plain = (-np.inf, argmax) if name == "nanargmax" else (np.inf, argmin)

    def call(a, axis, dtype, out, keepdims):
        if a.dtype.kind not in "fc":
            return plain(a, axis, dtype, out, keepdims)
        clean = _host.compute(
            lambda v: np.where(np.isnan(v), np.asarray(worst, v.dtype), v), [a], a.shape, a.dtype)
        places = plain(clean, axis, dtype, None, keepdims)
        axes = None if axis is None else _host.axes_of(axis, a.ndim)

        def work(found, v):  # -1 where there is nothing but nan
            return np.where(np.isnan(v).all(axis=axes, keepdims=keepdims), -1, found)

        return _host.compute(work, [places, a], places.shape, places.dtype, out)

    return call


_tables.functions(globals(), _without_nan, """
nanargmax(a: array, axis=None, dtype=None, out=None, keepdims=False):
    Return the place of the largest value, nan left out.
nanargmin(a: array, axis=None, dtype=None, out=None, keepdims=False):
    Return the place of the smallest value, nan left out.
""")


def nonzero(a):
    """Return the indices of what is not zero, an array for each axis; it waits."""
    if _host.argument(a).ndim == 0:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use "
                         "cupy.atleast_1d(scalar).nonzero() instead.")  # fmt: skip
    return _host.compute_now(np.nonzero, [a])


_tables.functions(globals(), _tables.now(), """
flatnonzero(a: array):
    Return the indices of what is not zero in the flattened array; it waits.
argwhere(a: array): Return the indices of what is not zero, a row for each; it waits.
""")


@fusable
def where(condition, x=None, y=None):
    """Choose from x or y, elementwise; of a condition alone return `nonzero`."""
    if (x is None) != (y is None):
        raise ValueError("Must provide both 'x' and 'y' or neither.")
    if x is None:
        return nonzero(condition)
    if np.isscalar(condition):
        condition = _host.device(condition)
    arrays = [_host.argument(condition)]
    kinds, scalars = [], []
    for value in (x, y):
        if isinstance(value, (bool, int, float, complex, np.generic)):
            scalars.append(value)
            kinds.append(value)
        else:
            arrays.append(_host.argument(value))
            scalars.append(None)
            kinds.append(value.dtype)
    dtype = np.result_type(*kinds)
    shape = np.broadcast_shapes(*(a.shape for a in arrays))

    def choose(wanted, *values):
        values = iter(values)
        x, y = (next(values) if one is None else one for one in scalars)
        if wanted.dtype != bool:
            wanted = wanted != 0
        return np.where(wanted, np.asarray(x).astype(dtype, copy=False),
                        np.asarray(y).astype(dtype, copy=False))

    return _host.compute(choose, arrays, shape, dtype)


def searchsorted(a, v, side="left", sorter=None):
    """Return where values of v would be inserted to keep a sorted."""
    if not _host.is_array(a):
        raise NotImplementedError("Only int or ndarray are supported for a")
    if a.ndim > 1:
        raise ValueError("object too deep for desired array")
    if a.ndim < 1:
        raise ValueError("object of too small depth for desired array")
    if side not in ("left", "right"):
        raise ValueError(f"side must be either 'left' or 'right', got '{side}'")
    if not _host.is_array(v):
        if not isinstance(v, (bool, int, float, complex, np.generic)):
            raise NotImplementedError("Only int or ndarray are supported for v")
        v = _host.device(v)
    inputs = [a, v]
    if sorter is not None:
        if sorter.dtype.kind not in "iu":
            raise TypeError("sorter must be of integer type")
        if sorter.size != a.size:
            raise ValueError("sorter.size must equal a.size")
        inputs.append(sorter)

    def work(values, wanted, order=None):
        return np.searchsorted(values, wanted, side=side, sorter=order)

    return _host.compute(work, inputs, v.shape, np.int64)
