"""Functions along an axis."""

import numpy as np
from cupy import _host


def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    """Call a function with every vector along an axis, and put together what it returns."""
    _host.argument(arr)
    axis = _host.one_axis(axis, arr.ndim)
    order = [i for i in range(arr.ndim) if i != axis]
    moved = arr.transpose(tuple([*order, axis]))
    places = list(np.ndindex(moved.shape[:-1]))
    if not places:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    results = [func1d(moved[place], *args, **kwargs) for place in places]
    results = [one if _host.is_array(one) else _host.device(one) for one in results]
    inner, dtype = results[0].shape, results[0].dtype
    outer = moved.shape[:-1]
    shape = (*outer[:axis], *inner, *outer[axis:])

    def work(*views):
        whole = np.stack(views).reshape(*outer, *inner)
        count = len(inner)
        return np.moveaxis(
            whole, range(len(outer), len(outer) + count), range(axis, axis + count))

    return _host.compute(work, results, shape, dtype)


def apply_over_axes(func, a, axes):
    """Call a function of an array and an axis for each of several axes."""
    for axis in axes if np.iterable(axes) else (axes,):
        axis = _host.one_axis(axis, a.ndim)
        result = func(a, axis)
        if result.ndim != a.ndim:
            result = result.reshape((*result.shape[:axis], 1, *result.shape[axis:]))
            if result.ndim != a.ndim:
                raise ValueError("function is not returning an array of the correct shape")
        a = result
    return a
