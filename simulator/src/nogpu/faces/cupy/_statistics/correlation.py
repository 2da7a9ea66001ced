"""Covariance and correlation."""

import warnings

import numpy as np
from cupy import _host


def cov(a, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *,
        dtype=None):
    """Return the covariance matrix of rows."""
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    if a.ndim > 2:
        raise ValueError("Input must be <= 2-d")
    a = _host.asarray(a)
    inputs = [a]
    if y is not None:
        y = _host.asarray(y)
        if y.ndim > 2:
            raise ValueError("y must be <= 2-d")
        inputs.append(y)
    if dtype is None:
        dtype = np.result_type(*(x.dtype for x in inputs), np.float64)
    rows = sum(1 if x.ndim < 2 else x.shape[0 if rowvar else 1] for x in inputs)
    columns = a.size if a.ndim < 2 else a.shape[1 if rowvar else 0]
    for weights in (fweights, aweights):
        if weights is not None:
            inputs.append(_host.argument(weights))
    free = (0 if bias else 1) if ddof is None else ddof
    if fweights is None and aweights is None and columns <= free:
        warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=2)

    def work(v, *rest):
        rest = list(rest)
        second = None if y is None else rest.pop(0)
        counts = None if fweights is None else rest.pop(0)
        factors = None if aweights is None else rest.pop(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.cov(v, second, rowvar, bias, ddof, counts, factors, dtype=dtype)

    return _host.compute(work, inputs, () if rows == 1 else (rows, rows), dtype)


def corrcoef(a, y=None, rowvar=True, bias=None, ddof=None, *, dtype=None):
    """Return the correlation coefficients of rows."""
    if bias is not None or ddof is not None:
        warnings.warn("bias and ddof have no effect and are deprecated", DeprecationWarning,
                      stacklevel=2)  # fmt: skip
    covariance = cov(a, y, rowvar, dtype=dtype)

    def work(c):
        if c.ndim == 0:
            return c / c
        scale = np.sqrt(np.diagonal(c).real)
        return c / scale[:, None] / scale

    return _host.compute(work, [covariance], covariance.shape, covariance.dtype)


def correlate(a, v, mode="valid"):
    """Return the cross-correlation of two sequences."""
    return _slide(np.correlate, a, v, mode)


def _slide(function, a, v, mode):
    _host.argument(a)
    _host.argument(v)
    if a.size == 0 or v.size == 0:
        name = "a" if a.size == 0 else "v"
        raise ValueError(f"{name} cannot be empty")
    if a.ndim > 1 or v.ndim > 1:
        raise ValueError("object too deep for desired array")
    if mode not in ("valid", "same", "full"):
        raise ValueError('acceptable mode flags are `valid`, `same`, or `full`.')
    m, n = max(a.size, v.size), min(a.size, v.size)
    length = {"valid": m - n + 1, "same": m, "full": m + n - 1}[mode]
    dtype = np.result_type(a.dtype, v.dtype)
    kind = _host.wide(dtype)

    def work(x, k):
        return function(np.atleast_1d(x).astype(kind, copy=False),
                        np.atleast_1d(k).astype(kind, copy=False), mode)

    return _host.compute(work, [a, v], (length,), dtype)
