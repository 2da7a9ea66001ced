"""Extremes and quantiles."""

import warnings

import numpy as np
from cupy import _host, _tables

METHODS = ("linear", "lower", "higher", "midpoint", "nearest")
NOT_YET = (
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf",
    "hazen", "weibull", "median_unbiased", "normal_unbiased",
)


amax, amin, _ = _tables.functions(
    globals(), lambda name: _tables.method(name.removeprefix("a")), """
amax(a, axis=None, out=None, keepdims=False): Return the maximum; nan wins.
amin(a, axis=None, out=None, keepdims=False): Return the minimum; nan wins.
ptp(a: array, axis=None, out=None, keepdims=False): Return the maximum less the minimum.
""")


def _without_nan(name):
    function, plain = (np.fmax, amax) if name == "nanmax" else (np.fmin, amin)

    def call(a, axis, out, keepdims):
        axes = _host.axes_of(axis, a.ndim)
        shape = _host.reduced(a.shape, axes, keepdims)
        if a.size == 0 and 0 not in shape:
            raise ValueError(
                f"zero-size array to reduction operation cupy_{name} which has no identity")
        if a.dtype.kind not in "fc":
            return plain(a, axis, out, keepdims)
        result = _host.compute(
            lambda v: function.reduce(v, axis=axes, keepdims=keepdims), [a], shape, a.dtype, out)
        if np.isnan(_host.look(result)).any():
            warnings.warn("All-NaN slice encountered", RuntimeWarning, stacklevel=3)
        return result

    return call


_tables.functions(globals(), _without_nan, """
nanmax(a: array, axis=None, out=None, keepdims=False): Return the maximum, nan left out; it waits.
nanmin(a: array, axis=None, out=None, keepdims=False): Return the minimum, nan left out; it waits.
""")


def _quantile(a, q, axis, out, method, keepdims, scale):
    _host.argument(a)
    if method in NOT_YET:
        raise ValueError(f"'{method}' method is not yet supported. Please use any other method.")
    if method not in METHODS:
        raise ValueError(f"Unexpected interpolation method.\nActual: '{method}' not in ('linear', "
                         "'lower', 'higher', 'midpoint')")
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
    share = q if np.isscalar(q) else (q if _host.is_array(q) else np.asarray(q)).dtype
    if scale != 1:
        share = q / scale if np.isscalar(q) else np.result_type(share, 1.0)
    taken = method in ("lower", "higher", "nearest")
    dtype = a.dtype if taken else np.result_type(a.dtype, share)

    def work(v, given=wanted):
        if dtype != v.dtype or v.dtype.char == "e":
            v = v.astype(np.float64 if v.dtype.kind not in "fc" else _host.wide(v.dtype))
        if v.dtype.kind == "f" and np.isnan(v).any():
            return _among_nan(v, given / scale, axes, method, keepdims)
        return np.quantile(v, given / scale if scale != 1 else given, axis=axes, method=method,
                           keepdims=keepdims)

    return _host.compute(
        work, inputs, (*shape, *_host.reduced(a.shape, axes, keepdims)), dtype, out)


def _among_nan(v, share, axes, method, keepdims):
    """Quantiles of sorted elements, nan being the largest: only where they meet it they are nan."""
    rest = [i for i in range(v.ndim) if i not in axes]
    flat = np.sort(v.transpose([*rest, *axes]).reshape([*[v.shape[i] for i in rest], -1]))
    at = np.quantile(np.arange(flat.shape[-1], dtype=float), share, method=method)
    low = np.floor(at).astype(int)
    start, end = flat[..., low], flat[..., np.minimum(low + 1, flat.shape[-1] - 1)]
    found = np.where(at == low, start, start + (end - start) * (at - low))
    found = np.moveaxis(found, range(len(rest), found.ndim), range(np.ndim(share)))
    return np.expand_dims(found, [np.ndim(share) + i for i in axes]) if keepdims else found


def _scaled(scale):
    def call(a, q, axis, out, overwrite_input, method, keepdims, *, interpolation):
        if interpolation is not None:
            name = "percentile" if scale == 100 else "quantile"
            warnings.warn(
                f"the `interpolation=` argument to {name} was renamed to `method=`, which has "
                "additional options.", DeprecationWarning, stacklevel=3)
            if method != "linear":
                raise TypeError("`interpolation` is the old name of `method`: give one of them")
        result = _quantile(a, q, axis, out, interpolation or method, keepdims, scale)
        if overwrite_input and a.flags.c_contiguous and np.ndim(axis) == 0:  # it is left sorted
            _host.change(a, lambda v: (v.reshape(-1) if axis is None else v).sort(
                axis=-1 if axis is None else axis))  # fmt: skip
        return result

    return call


_tables.functions(globals(), lambda name: _scaled(1 if name == "quantile" else 100), """
percentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *,
        interpolation=None): Return the q-th percentile, q from 0 to 100.
quantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *,
        interpolation=None): Return the q-th quantile, q from 0 to 1.
""")
