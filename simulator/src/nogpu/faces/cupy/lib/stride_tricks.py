"""Views with strides of one's own."""

from __future__ import annotations

import numpy as np
from cupy import _host
from cupy._core import core


def as_strided(x, shape=None, strides=None):
    """Return a view of x's memory with another shape and other strides; nothing is checked."""
    shape = x.shape if shape is None else tuple(shape)
    strides = x.strides if strides is None else tuple(strides)
    if any(n < 0 for n in shape):
        raise ValueError("Negative dimensions are not allowed")
    return core._wrap(_view(x._view, shape, strides), x)


def _view(view, shape, strides):
    return np.lib.stride_tricks.as_strided(view, shape, strides)


def sliding_window_view(x, window_shape, axis=None, *, subok=False, writeable=False):
    """Return a view in which every window of x has axes of its own, the last ones."""
    window = tuple(window_shape) if np.iterable(window_shape) else (window_shape,)
    x = _host.asarray(x)
    if writeable:
        raise NotImplementedError("Writeable views are not supported.")
    _host.core._wait()  # as the real library, which looks at the window on the device
    if any(n < 0 for n in window):
        raise ValueError("`window_shape` cannot contain negative values")
    if axis is None:
        axes = tuple(range(x.ndim))
        if len(window) != x.ndim:
            raise ValueError(
                "Since axis is None, must provide window_shape for all dimensions of `x`; got "
                f"{len(window)} window_shape elements and `x.ndim` is {x.ndim}.")
    else:
        axes = tuple(_host.one_axis(i, x.ndim) for i in (axis if np.iterable(axis) else (axis,)))
        if len(window) != len(axes):
            raise ValueError(
                f"Must provide matching length window_shape and axis; got {len(window)} "
                f"window_shape elements and {len(axes)} axes elements.")
    shape = list(x.shape)
    for i, n in zip(axes, window):
        if shape[i] < n:
            raise ValueError("window shape cannot be larger than input array shape")
        shape[i] -= n - 1
    return as_strided(
        x, (*shape, *window), (*x.strides, *(x.strides[i] for i in axes)))
