"""Sums, products, differences."""

import numpy as np
from cupy import _tables
from cupy._core import core
from cupy._core._fusion_thread_local import fusable
from cupy._creation.basic import full
from cupy._creation.from_data import asarray
from cupy._manipulation.dims import broadcast_to
from cupy._manipulation.join import concatenate
from cupy._math.ufuncs import UFUNCS

_, prod, cumsum, cumprod = _tables.functions(globals(), _tables.method, """
sum(a, axis=None, dtype=None, out=None, keepdims=False): Add up along axes.
prod(a, axis=None, dtype=None, out=None, keepdims=False): Multiply along axes.
cumsum(a: typed, axis=None, dtype=None, out=None): Running sums.
cumprod(a: typed, axis=None, dtype=None, out=None): Running products.
""")
product = _tables.deprecated(prod, "Please use `prod` instead.")
cumproduct = _tables.deprecated(cumprod, "Please use `cumprod` instead.")


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


def _without_nan(name):
    neutral = 1 if "prod" in name else 0

    def call(a, *how):
        a = core._argument(a)
        if a.dtype.kind in "fc":
            a = core.compute(
                lambda x: np.where(np.isnan(x), x.dtype.type(neutral), x), [a], a.shape, a.dtype)
        return getattr(a, name.removeprefix("nan"))(*how)

    return fusable(call)


_tables.functions(globals(), _without_nan, """
nansum(a, axis=None, dtype=None, out=None, keepdims=False): Add up what is no nan.
nanprod(a, axis=None, dtype=None, out=None, keepdims=False): Multiply what is no nan.
nancumsum(a, axis=None, dtype=None, out=None): Running sums of what is no nan.
nancumprod(a, axis=None, dtype=None, out=None): Running products of what is no nan.
""")


def diff(a, n=1, axis=-1, prepend=None, append=None):
    """Differences of neighbours."""
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    a = asarray(a)
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


*_, trapz = _tables.functions(globals(), _tables.now(), """
gradient(f: any, *varargs, axis=None, edge_order=1): Central differences.
ediff1d(arr: array, to_end=None, to_begin=None): Differences of the flattened array.
trapezoid(y: array, x=None, dx=1.0, axis=-1): Integral by trapezoids.
""")
