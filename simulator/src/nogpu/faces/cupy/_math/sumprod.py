"""Sums, products, differences."""

from __future__ import annotations

import numpy as np
from cupy._core import core
from cupy._core.core import ndarray
from cupy._creation.basic import full
from cupy._creation.from_data import asarray
from cupy._manipulation.dims import broadcast_to
from cupy._manipulation.join import concatenate
from cupy._math.ufuncs import UFUNCS


def sum(a, axis=None, dtype=None, out=None, keepdims=False):  # noqa: A001
    """Add up along axes."""
    return a.sum(axis=axis, dtype=dtype, out=out, keepdims=keepdims)


def prod(a, axis=None, dtype=None, out=None, keepdims=False):
    """Multiply along axes."""
    return a.prod(axis=axis, dtype=dtype, out=out, keepdims=keepdims)


product = prod


def cumsum(a, axis=None, dtype=None, out=None):
    """Running sums."""
    return a.cumsum(axis, dtype, out)


def cumprod(a, axis=None, dtype=None, out=None):
    """Running products."""
    return a.cumprod(axis, dtype, out)


cumproduct = cumprod


def cumulative_sum(x, /, *, axis=None, dtype=None, out=None, include_initial=False):
    """Running sums, as the array API names them."""
    return _cumulative(x, axis, dtype, out, include_initial, cumsum, 0)


def cumulative_prod(x, /, *, axis=None, dtype=None, out=None, include_initial=False):
    """Running products, as the array API names them."""
    return _cumulative(x, axis, dtype, out, include_initial, cumprod, 1)


def _cumulative(x, axis, dtype, out, include_initial, function, initial):
    if axis is None:
        if x.ndim != 1:
            raise ValueError("axis must be specified when x.ndim > 1")
        axis = 0
    result = function(x, axis, dtype, out)
    if include_initial:
        shape = list(result.shape)
        shape[axis] = 1
        result = concatenate([full(tuple(shape), initial, result.dtype), result], axis)
    return result


def _nan_replaced(a: ndarray, value: float) -> ndarray:
    if a.dtype.kind not in "fc":
        return a
    return core.compute(
        lambda x: np.where(np.isnan(x), x.dtype.type(value), x), [a], a.shape, a.dtype
    )


def nansum(a, axis=None, dtype=None, out=None, keepdims=False):
    """Add up what is no nan."""
    return _nan_replaced(core._argument(a), 0).sum(axis, dtype, out, keepdims)


def nanprod(a, axis=None, dtype=None, out=None, keepdims=False):
    """Multiply what is no nan."""
    return _nan_replaced(core._argument(a), 1).prod(axis, dtype, out, keepdims)


def nancumsum(a, axis=None, dtype=None, out=None):
    """Running sums of what is no nan."""
    return _nan_replaced(core._argument(a), 0).cumsum(axis, dtype, out)


def nancumprod(a, axis=None, dtype=None, out=None):
    """Running products of what is no nan."""
    return _nan_replaced(core._argument(a), 1).cumprod(axis, dtype, out)


def diff(a, n=1, axis=-1, prepend=None, append=None):
    """Differences of neighbours."""
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    a = core._argument(a)
    axis %= a.ndim
    parts = []
    for extra in (prepend, append):
        if extra is not None:
            extra = asarray(extra)
            if extra.ndim == 0:
                shape = list(a.shape)
                shape[axis] = 1
                extra = broadcast_to(extra, tuple(shape))
        parts.append(extra)
    pieces = [p for p in (parts[0], a, parts[1]) if p is not None]
    a = concatenate(pieces, axis) if len(pieces) > 1 else a
    later = (slice(None),) * axis + (slice(1, None),)
    sooner = (slice(None),) * axis + (slice(None, -1),)
    function = UFUNCS["not_equal" if a.dtype == bool else "subtract"]
    for _ in range(n):
        a = function(a[later], a[sooner])
    return a


def _numbers(function, inputs, **kwargs):
    return core.compute_now(lambda *views: function(*views, **kwargs), inputs)


def gradient(f, *varargs, axis=None, edge_order=1):
    """Central differences."""
    return _numbers(np.gradient, [core._argument(f), *varargs], axis=axis, edge_order=edge_order)


def ediff1d(arr, to_end=None, to_begin=None):
    """Differences of the flattened array."""
    return core.compute_now(np.ediff1d, [core._argument(arr), to_end, to_begin])


def trapezoid(y, x=None, dx=1.0, axis=-1):
    """Integral by trapezoids."""
    return core.compute_now(lambda a, b: np.trapezoid(a, b, dx, axis), [core._argument(y), x])


trapz = trapezoid
