"""Comparisons with tolerance, and of whole arrays."""

from __future__ import annotations

import numpy as np
from cupy._core import core
from cupy._core.core import ndarray
from cupy._creation.from_data import asarray


def isclose(a, b, rtol=1.0e-5, atol=1.0e-8, equal_nan=False) -> ndarray:
    """|a - b| <= atol + rtol |b|, element-wise."""
    a, b = asarray(a), asarray(b)
    return core.compute(
        lambda x, y: np.isclose(x, y, rtol, atol, equal_nan), [a, b], core.broadcast_shape([a, b]),
        np.dtype(bool))


def allclose(a, b, rtol=1.0e-5, atol=1.0e-8, equal_nan=False) -> ndarray:
    """Whether all are close: a 0-d array."""
    return isclose(a, b, rtol, atol, equal_nan).all()


def array_equal(a1, a2, equal_nan=False) -> ndarray:
    """Whether shape and elements are equal: a 0-d array."""
    if a1.shape != a2.shape:
        return core.compute(lambda: False, [], (), np.dtype(bool))
    return core.compute(
        lambda x, y: np.array_equal(x, y, equal_nan), [a1, a2], (), np.dtype(bool))


def array_equiv(a1, a2) -> ndarray:
    """Whether elements are equal after broadcasting: a 0-d array."""
    return core.compute(lambda x, y: np.array_equiv(x, y), [a1, a2], (), np.dtype(bool))
