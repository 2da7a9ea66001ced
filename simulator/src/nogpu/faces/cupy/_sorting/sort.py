"""Sorting."""

import warnings

import numpy as np
from cupy import _host, _tables
from cupy._core import _routines_sorting


def sort(a, axis=-1, kind=None):
    """Return a sorted copy; ``axis=None`` flattens."""
    _routines_sorting._check_kind(kind)
    result, axis = (a.flatten(), -1) if axis is None else (a.copy(), axis)
    result.sort(axis=axis)
    return result


_tables.functions(globals(), _tables.method, """
argsort(a, axis=-1, kind=None): Return the indices that sort; equal keys keep their order.
argpartition(a, kth, axis=-1): Return the indices of `partition`.
""")


def lexsort(keys):
    """Return the indices that sort by the last row of keys, then the one before, and so on."""
    if keys.ndim == 0:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    if keys.ndim == 1:
        return _host.device(0, np.int64)
    if keys.ndim > 2:
        raise NotImplementedError(
            "Keys with the rank of three or more is not supported in lexsort")
    return _host.compute(np.lexsort, [keys], keys.shape[1:], np.int64)


def msort(a):
    """Return a copy sorted along the first axis."""
    warnings.warn("msort is deprecated, use cupy.sort(a, axis=0) instead", DeprecationWarning,
                  stacklevel=2)
    return sort(a, axis=0)


def sort_complex(a):
    """Return a sorted copy of complex type."""
    small = a.dtype.char in "bhBHF"
    return sort(_host.copy(a, np.complex64 if small else np.complex128))


def partition(a, kth, axis=-1):
    """Return a copy with the kth element in its place; here it is sorted completely."""
    result, axis = (a.flatten(), -1) if axis is None else (a.copy(), axis)
    result.partition(kth, axis)
    return result
