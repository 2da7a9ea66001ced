"""Means, variances and medians."""

import numpy as np
from cupy import _host, _tables
from cupy._core import _routines_math

mean, *_ = _tables.functions(globals(), _tables.method, """
mean(a, axis=None, dtype=None, out=None, keepdims=False): Return the arithmetic mean.
var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False): Return the variance.
std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False): Return the standard deviation.
""")


def average(a, axis=None, weights=None, returned=False, *, keepdims=False):
    """Return the weighted mean, and the weights' sum where ``returned``; weights are looked at."""
    a = _host.asarray(a)
    axes = _host.axes_of(axis, a.ndim)
    shape = _host.reduced(a.shape, axes, keepdims)
    if weights is None:
        result = a.mean(axis=axis, keepdims=keepdims)
        if not returned:
            return result
        count = a.size // max(_host.size_of(_host.reduced(a.shape, axes, False)), 1)
        return result, _host.compute(
            lambda v: np.full(shape, count), [result], shape, result.dtype)
    weights = _host.asarray(weights)
    if a.shape != weights.shape:
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        if weights.ndim != 1:
            raise TypeError("1D weights expected when shapes of a and weights differ.")
        if weights.shape[0] != a.shape[axes[0]]:
            raise ValueError("Length of weights not compatible with specified axis.")
    kind = np.result_type(a.dtype, weights.dtype)
    dtype = kind if a.dtype.kind in "fc" else np.result_type(kind, np.float64)

    def spread(v, w):
        if v.shape != w.shape:
            w = w.reshape([len(w) if i == axes[0] else 1 for i in range(v.ndim)])
        return np.broadcast_to(w, v.shape)

    total = _host.compute(
        lambda v, w: np.sum(spread(v, w), axis=axes, dtype=dtype, keepdims=keepdims),
        [a, weights], shape, dtype)
    if (_host.look(total) == 0).any():
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    result = _host.compute(
        lambda v, w, t: np.sum(np.multiply(v, spread(v, w), dtype=dtype), axis=axes,
                               keepdims=keepdims) / t,
        [a, weights, total], shape, dtype)
    return (result, total) if returned else result


def _median(name):
    def call(a, axis, out, overwrite_input, keepdims):
        axes = _host.axes_of(axis, a.ndim)
        dtype = _host.floating(a.dtype)
        shape = _host.reduced(a.shape, axes, keepdims)
        skip_nan = name == "nanmedian" and a.dtype.kind in "fc"

        def work(v):
            rest = [i for i in range(v.ndim) if i not in axes]
            moved = v.transpose(*rest, *axes)
            rows = moved.reshape(*moved.shape[:len(rest)], -1).astype(dtype)
            return _middle(np.sort(rows, axis=-1), skip_nan).reshape(shape)

        return _host.compute(work, [a], shape, dtype, out)

    return call


def _middle(ordered, skip_nan):
    """Return the middle of sorted rows; nan sorts last."""
    holes = np.isnan(ordered).sum(axis=-1)
    count = ordered.shape[-1] - (holes if skip_nan else 0 * holes)
    if ordered.shape[-1] == 0:
        return np.full(ordered.shape[:-1], np.nan, ordered.dtype)
    low = np.maximum((count - 1) // 2, 0)[..., None]
    high = np.minimum(count // 2, ordered.shape[-1] - 1)[..., None]
    ends = [np.take_along_axis(ordered, place, axis=-1)[..., 0] for place in (low, high)]
    middle = np.where(ends[0] == ends[1], ends[0], (ends[0] + ends[1]) / 2)
    empty = count == 0 if skip_nan else holes > 0
    return np.where(empty, np.nan, middle).astype(ordered.dtype)


_tables.functions(globals(), _median, """
median(a: array, axis=None, out=None, overwrite_input=False, keepdims=False): Return the median.
nanmedian(a: array, axis=None, out=None, overwrite_input=False, keepdims=False):
    Return the median, nan left out.
""")


def nanmean(a, axis=None, dtype=None, out=None, keepdims=False):
    """Return the mean, nan left out."""
    _host.argument(a)
    if a.dtype.kind not in "fc":
        return mean(a, axis, dtype, out, keepdims)
    axes = _host.axes_of(axis, a.ndim)
    kind = a.dtype if dtype is None else np.dtype(dtype)

    def work(v):
        valid = ~np.isnan(v)
        total = np.sum(v, axis=axes, dtype=_host.wide(kind), where=valid, keepdims=keepdims)
        return total / np.sum(valid, axis=axes, keepdims=keepdims)

    return _host.compute(work, [a], _host.reduced(a.shape, axes, keepdims), kind, out)


def _spread_without_nan(name):
    root, plain = name == "nanstd", _routines_math.std if name == "nanstd" else _routines_math.var

    def call(a, axis, dtype, out, ddof, keepdims):
        if a.dtype.kind not in "fc":
            return plain(a, axis, dtype, out, ddof, keepdims)
        axes = _host.axes_of(axis, a.ndim)
        kind = a.dtype if dtype is None else np.dtype(dtype)
        shape = _host.reduced(a.shape, axes, keepdims)
        if root and out is not None:  # the root is a ufunc, a reduction casts as it must
            _host.core.check_cast(_host.real_type(kind), out.dtype, "same_kind", "output operand")

        def work(v):
            v = v.astype(_host.wide(kind), copy=False)
            valid = ~np.isnan(v)
            count = np.sum(valid, axis=axes, keepdims=True)
            middle = np.sum(v, axis=axes, where=valid, keepdims=True) / count
            around = np.where(valid, v - middle, 0)
            left = np.where(count > ddof, count - ddof, np.nan)
            value = np.sum(np.abs(around) ** 2, axis=axes, keepdims=True) / left
            return (np.sqrt(value) if root else value).reshape(shape)

        return _host.compute(work, [a], shape, _host.real_type(kind), out)

    return call


_tables.functions(globals(), _spread_without_nan, """
nanvar(a: array, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
    Return the variance, nan left out.
nanstd(a: array, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
    Return the standard deviation, nan left out.
""")
