"""Extremes and quantiles."""

from __future__ import annotations

import warnings

import numpy as np
from cupy import _host

METHODS = (
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf",
    "hazen", "weibull", "linear", "median_unbiased", "normal_unbiased", "lower", "higher",
    "midpoint", "nearest",
)


def amax(a, axis=None, out=None, keepdims=False):
    """Return the maximum; nan wins."""
    return a.max(axis=axis, out=out, keepdims=keepdims)


def amin(a, axis=None, out=None, keepdims=False):
    """Return the minimum; nan wins."""
    return a.min(axis=axis, out=out, keepdims=keepdims)


def ptp(a, axis=None, out=None, keepdims=False):
    """Return the maximum less the minimum."""
    return _host.argument(a).ptp(axis=axis, out=out, keepdims=keepdims)


def _nan_extreme(function, fallback, name, a, axis, out, keepdims):
    _host.argument(a)
    if a.size == 0:
        raise ValueError(
            f"zero-size array to reduction operation {name} which has no identity")
    if a.dtype.kind not in "fc":
        return fallback(a, axis, out, keepdims)
    axes = _host.axes_of(axis, a.ndim)
    shape = _host.reduced(a.shape, axes, keepdims)
    result = _host.compute(
        lambda v: function.reduce(v, axis=axes, keepdims=keepdims), [a], shape, a.dtype, out)
    if np.isnan(_host.look(result)).any():
        warnings.warn("All-NaN slice encountered", RuntimeWarning, stacklevel=3)
    return result


def nanmax(a, axis=None, out=None, keepdims=False):
    """Return the maximum, nan left out; it waits."""
    return _nan_extreme(np.fmax, amax, "cupy_nanmax", a, axis, out, keepdims)


def nanmin(a, axis=None, out=None, keepdims=False):
    """Return the minimum, nan left out; it waits."""
    return _nan_extreme(np.fmin, amin, "cupy_nanmin", a, axis, out, keepdims)


def _quantile(a, q, axis, out, method, keepdims, scale):
    _host.argument(a)
    if method not in METHODS:
        raise ValueError(f"Unexpected interpolation method.\nActual: {method}\n"
                         f"Expected: {list(METHODS)}")
    axes = _host.axes_of(axis, a.ndim)
    if _host.is_array(q):
        inputs = [a, q]
        wanted = None
        shape = q.shape
    else:
        inputs = [a]
        wanted = np.asarray(q, dtype=np.float64)
        shape = wanted.shape
        if ((wanted < 0) | (wanted > scale)).any():
            raise ValueError(
                "Percentiles must be in the range [0, 100]" if scale == 100 else
                "Quantiles must be in the range [0, 1]")
    dtype = _host.floating(a.dtype)

    def work(v, given=wanted):
        v = v.astype(np.float64 if v.dtype.kind not in "fc" else _host.wide(v.dtype))
        return np.quantile(v, given / scale if scale != 1 else given, axis=axes, method=method,
                           keepdims=keepdims)

    return _host.compute(
        work, inputs, (*shape, *_host.reduced(a.shape, axes, keepdims)), dtype, out)


def percentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False,
               *, interpolation=None):
    """Return the q-th percentile, q from 0 to 100."""
    return _quantile(a, q, axis, out, interpolation or method, keepdims, 100)


def quantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False,
             *, interpolation=None):
    """Return the q-th quantile, q from 0 to 1."""
    return _quantile(a, q, axis, out, interpolation or method, keepdims, 1)
