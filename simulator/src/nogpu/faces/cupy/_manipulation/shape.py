"""Shapes."""

from __future__ import annotations

import numpy as np
from cupy import _tables
from cupy._core import core
from cupy._core.core import ndarray


def reshape(a, newshape, order="C", *, copy=None) -> ndarray:
    """Another shape; a view where possible."""
    return core._checked(a, "a").reshape(newshape, order=order, copy=copy)


_tables.functions(globals(), _tables.method, """
ravel(a: typed, order="C") -> ndarray: One axis; a view where possible.
""")


def size(a, axis=None) -> int:
    """Number of elements, in all or along an axis."""
    if axis is None:
        return a.size if isinstance(a, ndarray) else np.size(a)
    return np.shape(a)[axis] if not isinstance(a, ndarray) else a.shape[axis]


def _figure(name):
    of_numpy = getattr(np, name)
    return lambda a: getattr(a, name) if isinstance(a, ndarray) else of_numpy(a)


_tables.functions(globals(), _figure, """
ndim(a) -> int: Number of axes.
shape(a) -> tuple[int, ...]: Sizes of the axes.
""")
