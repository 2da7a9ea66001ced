"""Shapes."""

from __future__ import annotations

import numpy as np
from cupy._core import core
from cupy._core.core import ndarray


def reshape(a, newshape, order="C") -> ndarray:
    """Another shape; a view where possible."""
    return core._checked(a, "a").reshape(newshape, order=order)


def ravel(a, order="C") -> ndarray:
    """One axis; a view where possible."""
    return core._checked(a, "a").ravel(order)


def size(a, axis=None) -> int:
    """Number of elements, in all or along an axis."""
    if axis is None:
        return a.size if isinstance(a, ndarray) else np.size(a)
    return np.shape(a)[axis] if not isinstance(a, ndarray) else a.shape[axis]


def ndim(a) -> int:
    """Number of axes."""
    return a.ndim if isinstance(a, ndarray) else np.ndim(a)


def shape(a) -> tuple[int, ...]:
    """Sizes of the axes."""
    return a.shape if isinstance(a, ndarray) else np.shape(a)
