"""Axes in another order: views."""

from __future__ import annotations

import numpy as np
from cupy._core import core
from cupy._core.core import ndarray


def moveaxis(a, source, destination) -> ndarray:
    """Axes moved to other places."""
    return core._wrap(np.moveaxis(core._checked(a, "a")._view, source, destination), a)


def rollaxis(a, axis, start=0) -> ndarray:
    """One axis rolled backwards."""
    return core._wrap(np.rollaxis(core._checked(a, "a")._view, axis, start), a)


def swapaxes(a, axis1, axis2) -> ndarray:
    """Two axes exchanged."""
    return core._checked(a, "a").swapaxes(axis1, axis2)


def transpose(a, axes=None) -> ndarray:
    """Axes in another order, reversed unless given."""
    return core._checked(a, "a").transpose(axes)


def matrix_transpose(x, /) -> ndarray:
    """The last two axes exchanged."""
    return core._checked(x, "x").mT
