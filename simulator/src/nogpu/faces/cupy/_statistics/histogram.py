"""Histograms."""

import numpy as np
from cupy import _host


def _bins(x, bins, limits):
    """Return the edges on the host; without limits it waits for the extremes."""
    if isinstance(bins, str):
        raise NotImplementedError("only integer and array bins are implemented")
    if _host.is_array(bins):
        bins = _host.look(bins)
    elif np.ndim(bins) == 0 and not hasattr(bins, "__index__"):
        raise TypeError("`bins` must be an integer, a string, or an array")
    if np.ndim(bins) > 1:
        raise ValueError("`bins` must be 1d, when an array")
    if np.ndim(bins) == 0 and limits is None:
        values = _host.look(x)
    else:
        values = np.empty(0, x.dtype)
    return np.histogram_bin_edges(values.astype(_host.floating(x.dtype)), bins, limits)


def histogram(x, bins=10, range=None, weights=None, density=False):  # noqa: A002
    """Return the counts in each bin, and the bins' edges."""
    if not _host.is_array(x):
        raise ValueError("`a` must be an array of type cupy.ndarray")
    if x.dtype.kind == "c":
        raise NotImplementedError("complex number is not supported")
    inputs = [x]
    if weights is not None:
        if not _host.is_array(weights):
            raise ValueError("weights must be a cupy.ndarray")
        if weights.shape != x.shape:
            raise ValueError("weights should have the same shape as x.")
        inputs.append(weights)
    edges = _bins(x, bins, range)
    kind = np.dtype(np.int64) if weights is None else weights.dtype
    dtype = np.dtype(float) if density else kind

    def work(values, w=None):
        return np.histogram(
            values.ravel().astype(_host.wide(values.dtype), copy=False),
            edges, weights=None if w is None else w.ravel(), density=density)[0]

    return _host.compute(work, inputs, (len(edges) - 1,), dtype), _host.device(edges)


def histogramdd(sample, bins=10, range=None, weights=None, density=False):  # noqa: A002
    """Return counts over several dimensions, and a list of edges; it waits."""
    if isinstance(sample, (list, tuple)):
        parts = [_host.look(_host.argument(one)) for one in sample]
        values = np.stack(parts, axis=-1)
    else:
        values = _host.look(_host.argument(sample))
        values = values[:, None] if values.ndim == 1 else values
    if isinstance(bins, (list, tuple)):
        bins = [_host.look(one) if _host.is_array(one) else one for one in bins]
    elif _host.is_array(bins):
        bins = [_host.look(bins)] * values.shape[1]
    weights = None if weights is None else _host.on_host(weights)
    counts, edges = np.histogramdd(values, bins, range, density, weights)
    return _host.device(counts), [_host.device(one) for one in edges]


def histogram2d(x, y, bins=10, range=None, weights=None, density=None):  # noqa: A002
    """Return counts over two dimensions and the edges of both; it waits."""
    if not isinstance(bins, (list, tuple)) and not isinstance(bins, int):
        bins = [bins, bins]
    counts, edges = histogramdd([x, y], bins, range, weights, bool(density))
    return counts, edges[0], edges[1]


def bincount(x, weights=None, minlength=None):
    """Count how often each integer occurs; it waits for the largest."""
    _host.argument(x)
    if x.ndim > 1:
        raise ValueError("object too deep for desired array")
    if x.ndim < 1:
        raise ValueError("object of too small depth for desired array")
    if not np.can_cast(x.dtype, np.int64, "same_kind"):
        raise TypeError(
            f"Cannot cast array data from {x.dtype!r} to dtype('int64') according to the rule "
            "'same_kind'")
    if weights is not None and x.shape != weights.shape:
        raise ValueError("The weights and list don't have the same length.")
    least = 0 if minlength is None else int(minlength)
    if least < 0:
        raise ValueError("minlength must be non-negative")
    values = _host.look(x)
    if values.size and values.min() < 0:
        raise ValueError("The first argument of bincount must be non-negative")
    length = max(int(values.max()) + 1 if values.size else 0, least)
    inputs = [x] if weights is None else [x, weights]

    def work(v, w=None):
        return np.bincount(v.astype(np.int64), w, minlength=length)[:length]

    return _host.compute(work, inputs, (length,), np.int64 if weights is None else np.float64)


def digitize(x, bins, right=False):
    """Return the number of the bin that each value falls into."""
    _host.argument(x)
    _host.argument(bins)
    if x.dtype.kind == "c":
        raise TypeError("x may not be complex")
    if bins.ndim > 1:
        raise ValueError("object too deep for desired array")
    if bins.ndim < 1:
        raise ValueError("object of too small depth for desired array")
    side = "left" if right else "right"

    def work(values, edges):
        falls = len(edges) > 1 and not (
            edges[0] <= edges[-1] or np.isnan(edges[-1]) and not np.isnan(edges[0]))
        if falls:  # nan comes first then, also where all is nan
            return len(edges) - np.searchsorted(edges[::-1], values, side=side)
        return np.searchsorted(edges, values, side=side)

    return _host.compute(work, [x, bins], x.shape, np.int64)
