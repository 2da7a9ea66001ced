"""Extremes, means and variances, as the methods of an array call them."""

from __future__ import annotations

import numpy as np

from cupy import _host


def _layout(a, axis, keepdims):
    axes = _host.axes_of(axis, a.ndim)
    return axes, _host.reduced(a.shape, axes, keepdims)


def _refuse_nothing(a, name):
    if a.size == 0:
        raise ValueError(
            f"zero-size array to reduction operation {name} which has no identity"
        )


def _extreme(function, name):
    def extreme(a, axis=None, out=None, keepdims=False):
        axes, shape = _layout(a, axis, keepdims)
        _refuse_nothing(a, name)
        return _host.compute(
            lambda v: function(v, axis=axes, keepdims=keepdims), [a], shape, a.dtype, out
        )

    return extreme


_ndarray_max = _extreme(np.max, "CUPY_CUB_MAX")
_ndarray_min = _extreme(np.min, "CUPY_CUB_MIN")


def _place(function, name):
    def place(a, axis=None, dtype=None, out=None, keepdims=False):
        axes, shape = _layout(a, axis, keepdims)
        _refuse_nothing(a, name)
        if axis is not None and len(axes) != 1:  # places count within the reduced axes
            rest = [i for i in range(a.ndim) if i not in axes]

            def over_axes(v):
                moved = v.transpose(*rest, *sorted(axes))
                flat = moved.reshape(*moved.shape[:len(rest)], -1)
                return function(flat, axis=-1).reshape(shape)

            return _host.compute(over_axes, [a], shape, dtype or np.int64, out)
        one = None if axis is None else axes[0]
        return _host.compute(
            lambda v: function(v, axis=one, keepdims=keepdims), [a], shape, dtype or np.int64, out
        )

    return place


_ndarray_argmax = _place(np.argmax, "CUPY_CUB_ARGMAX")
_ndarray_argmin = _place(np.argmin, "CUPY_CUB_ARGMIN")


def _ndarray_ptp(a, axis=None, out=None, keepdims=False):
    axes, shape = _layout(a, axis, keepdims)
    _refuse_nothing(a, "CUPY_CUB_MAX")
    return _host.compute(
        lambda v: np.max(v, axis=axes, keepdims=keepdims) - np.min(v, axis=axes, keepdims=keepdims),
        [a], shape, a.dtype, out,
    )


def _ndarray_mean(a, axis=None, dtype=None, out=None, keepdims=False):
    axes, shape = _layout(a, axis, keepdims)
    result = _host.floating(a.dtype) if dtype is None else np.dtype(dtype)
    count = _host.size_of([a.shape[i] for i in axes])

    def mean(v):
        kind = _host.wide(result)
        total = np.sum(v, axis=axes, dtype=kind, keepdims=keepdims)
        if kind.kind in "iu":
            return total // count if count else total
        return np.true_divide(total, count, dtype=kind)

    return _host.compute(mean, [a], shape, result, out)


def _spread(root):
    def spread(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
        axes, shape = _layout(a, axis, keepdims)
        kind = _host.floating(a.dtype) if dtype is None else np.dtype(dtype)
        result = _host.real_type(kind)
        count = _host.size_of([a.shape[i] for i in axes])

        def compute(v):
            v = v.astype(_host.wide(kind), copy=False)
            around = v - np.true_divide(np.sum(v, axis=axes, keepdims=True), count)
            squares = (around * around.conj()).real if v.dtype.kind == "c" else around * around
            total = np.sum(squares, axis=axes, keepdims=keepdims)
            value = np.true_divide(total, max(count - ddof, 0))
            return np.sqrt(value) if root else value

        return _host.compute(compute, [a], shape, result, out)

    return spread


_ndarray_var = _spread(False)
_ndarray_std = _spread(True)
