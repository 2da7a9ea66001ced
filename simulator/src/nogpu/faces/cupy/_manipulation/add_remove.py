"""Adding, removing, and keeping each value once."""

from collections import namedtuple

import numpy as np
from cupy import _host


def append(arr, values, axis=None):
    """Return a copy with values at the end; flattened for ``axis=None``."""
    arr, values = _host.asarray(arr), _host.asarray(values)
    dtype = np.result_type(arr.dtype, values.dtype)
    if axis is None:
        shape = (arr.size + values.size,)
    else:
        axis = _host.one_axis(axis, arr.ndim)
        same = arr.ndim == values.ndim and all(
            m == n for i, (m, n) in enumerate(zip(arr.shape, values.shape)) if i != axis)
        if not same:
            raise ValueError("All arrays must have same shape except the axis to concatenate")
        shape = list(arr.shape)
        shape[axis] += values.shape[axis]
    return _host.compute(lambda v, w: np.append(v, w, axis), [arr, values], shape, dtype)


def delete(arr, indices, axis=None):
    """Return a copy without the rows that the indices name; it waits."""
    if _host.is_array(indices):
        indices = _host.look(indices)
    return _host.compute_now(lambda v: np.delete(v, indices, axis), [_host.argument(arr)])


def resize(a, new_shape):
    """Return an array of another shape, filled with repetitions."""
    a = _host.asarray(a)
    shape = (new_shape,) if isinstance(new_shape, (int, np.integer)) else tuple(new_shape)
    return _host.compute(lambda v: np.resize(v, shape), [a], shape, a.dtype)


def trim_zeros(filt, trim="fb"):
    """Return a view without the zeros at the ends; it waits."""
    if _host.argument(filt).ndim > 1:
        raise NotImplementedError("Multi-dimensional trim is not supported")
    if not filt.ndim:
        return filt
    places = np.flatnonzero(_host.look(filt))
    if not places.size:
        return filt[:0]
    first = places[0] if "f" in trim.lower() else 0
    last = places[-1] + 1 if "b" in trim.lower() else filt.size
    return filt[int(first):int(last)]


def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *,
           equal_nan=True):
    """Return the sorted values, each once, and what else is asked for; it waits."""
    convert = _host.asarray if axis is None and hasattr(ar, "shape") else _host.argument
    return _host.compute_now(
        lambda v: np.unique(v, return_index, return_inverse, return_counts, axis,
                            equal_nan=equal_nan),
        [convert(ar)])


UniqueAllResult = namedtuple("UniqueAllResult", "values indices inverse_indices counts")
UniqueCountsResult = namedtuple("UniqueCountsResult", "values counts")
UniqueInverseResult = namedtuple("UniqueInverseResult", "values inverse_indices")


def unique_all(x):
    """Return the values, their first places, their inverse and their counts."""
    values, first, inverse, counts = unique(x, True, True, True, equal_nan=False)
    return UniqueAllResult(values, first, inverse.reshape(x.shape), counts)


def unique_counts(x):
    """Return the values and their counts."""
    return UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False))


def unique_inverse(x):
    """Return the values, and for each element the place of its value."""
    values, inverse = unique(x, return_inverse=True, equal_nan=False)
    return UniqueInverseResult(values, inverse.reshape(x.shape))


def unique_values(x):
    """Return the values."""
    return unique(x, equal_nan=False)
