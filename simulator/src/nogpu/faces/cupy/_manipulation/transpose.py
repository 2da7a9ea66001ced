"""Axes in another order: views."""

from __future__ import annotations

from cupy import _tables
from cupy._core import core
from cupy._core.core import ndarray

_tables.functions(globals(), _tables.view, """
moveaxis(a: typed, source, destination) -> ndarray: Axes moved to other places.
rollaxis(a: typed, axis, start=0) -> ndarray: One axis rolled backwards.
""")
_tables.functions(globals(), _tables.method, """
swapaxes(a: typed, axis1, axis2) -> ndarray: Two axes exchanged.
transpose(a: typed, axes=None) -> ndarray: Axes in another order, reversed unless given.
""")


def matrix_transpose(x, /) -> ndarray:
    """The last two axes exchanged."""
    return core._checked(x, "x").mT
