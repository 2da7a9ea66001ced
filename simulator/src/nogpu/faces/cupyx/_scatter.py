"""Updates at indices that may repeat: every one counts."""

from __future__ import annotations

from cupy._core.core import ndarray


def scatter_add(a: ndarray, slices: object, value: object) -> None:
    """``a[slices] += value``, also where an index repeats."""
    a.scatter_add(slices, value)


def scatter_max(a: ndarray, slices: object, value: object) -> None:
    """``a[slices] = max(a[slices], value)``, also where an index repeats."""
    a.scatter_max(slices, value)


def scatter_min(a: ndarray, slices: object, value: object) -> None:
    """``a[slices] = min(a[slices], value)``, also where an index repeats."""
    a.scatter_min(slices, value)
