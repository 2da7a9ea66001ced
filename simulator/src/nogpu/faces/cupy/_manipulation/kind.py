"""Conversions of kind."""

from __future__ import annotations

import numpy as np
from cupy._core import core
from cupy._core.core import ndarray
from cupy._creation.from_data import array, asarray


def asarray_chkfinite(a, dtype=None, order=None) -> ndarray:
    """asarray that refuses nan and inf."""
    a = asarray(a, dtype, order)
    if a.dtype.kind in "fc":
        core._wait()
        if not np.isfinite(a._view).all():
            raise ValueError("array must not contain Infs or NaNs")
    return a


def asfarray(a, dtype=np.float64) -> ndarray:
    """As a floating array."""
    dtype = np.dtype(dtype)
    return asarray(a, dtype if dtype.kind in "fc" else np.float64)


def require(a, dtype=None, requirements=None) -> ndarray:
    """As an array of the demanded order."""
    names = {"C": "C", "C_CONTIGUOUS": "C", "F": "F", "F_CONTIGUOUS": "F"}
    wanted = [names.get(r.upper()) for r in (requirements or [])]
    if "C" in wanted and "F" in wanted:
        raise ValueError('Cannot specify both "C" and "F" order')
    order = next((w for w in wanted if w), "A")
    try:
        return array(a, None if dtype is None else np.dtype(dtype), None, order)
    except TypeError:
        raise ValueError(f"Invalid dtype: {dtype!r}") from None


def astype(x, dtype, /, *, copy=True, casting=None, device=None) -> ndarray:
    """A copy with another dtype."""
    return x.astype(dtype, copy=copy, casting=casting)
