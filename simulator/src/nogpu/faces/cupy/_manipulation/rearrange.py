"""Flips, rolls and rotations."""

from __future__ import annotations

import numpy as np
from cupy._core import core
from cupy._core.core import ndarray


def flip(a, axis=None) -> ndarray:
    """Axes backwards: a view."""
    return core._wrap(np.flip(core._checked(a, "a")._view, axis), a)


def fliplr(a) -> ndarray:
    """The second axis backwards: a view."""
    return core._wrap(np.fliplr(core._checked(a, "a")._view), a)


def flipud(a) -> ndarray:
    """The first axis backwards: a view."""
    return core._wrap(np.flipud(core._checked(a, "a")._view), a)


def rot90(a, k=1, axes=(0, 1)) -> ndarray:
    """Turned by quarters: a view."""
    return core._wrap(np.rot90(core._checked(a, "a")._view, k, axes), a)


def roll(a, shift, axis=None) -> ndarray:
    """Elements moved around the end."""
    a = core._argument(a)
    if isinstance(shift, ndarray):
        shift = shift.get()
        shift = int(shift) if shift.ndim == 0 else tuple(shift.tolist())
    return core.compute(lambda x: np.roll(x, shift, axis), [a], a.shape, a.dtype)
