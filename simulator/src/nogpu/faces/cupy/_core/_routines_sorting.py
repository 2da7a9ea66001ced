"""Sorting, as the methods of an array call it."""

from operator import index

import numpy as np
from cupy import _host


def _refuse_zero_d(a):
    if a.ndim == 0:
        raise np.exceptions.AxisError("Sorting arrays with the rank of zero is not supported")


def _check_kind(kind):
    if kind is not None and kind != "stable":
        raise ValueError("kind can only be None or 'stable'")


def _axis_to_sort(a, axis):
    _refuse_zero_d(a)
    if not a.flags.c_contiguous:
        raise NotImplementedError("Sorting non-contiguous array is not supported.")
    return _host.one_axis(axis, a.ndim)


def _ndarray_sort(a, axis=-1, kind=None):
    _check_kind(kind)
    axis = _axis_to_sort(a, axis)
    _host.change(a, lambda v: v.sort(axis=axis))


def _ndarray_argsort(a, axis=-1, kind=None):
    _check_kind(kind)
    a = a if a.ndim else a.reshape(1)
    shape = (a.size,) if axis is None else a.shape
    axis = None if axis is None else _host.one_axis(axis, a.ndim)
    return _host.compute(lambda v: np.argsort(v, axis=axis, kind="stable"), [a], shape, np.int64)


def _check_kth(kth, length):
    for one in kth if isinstance(kth, (tuple, list)) else (kth,):
        one = index(one)
        if not -length <= one < length:
            raise ValueError(f"kth(={one}) out of bounds {length}")


def _ndarray_partition(a, kth, axis=-1):
    axis = _axis_to_sort(a, axis)
    _check_kth(kth, a.shape[axis])
    _host.change(a, lambda v: v.sort(axis=axis))


def _ndarray_argpartition(a, kth, axis=-1):
    _refuse_zero_d(a)
    length = a.size if axis is None else a.shape[_host.one_axis(axis, a.ndim)]
    _check_kth(kth, length)
    return _ndarray_argsort(a, axis)
