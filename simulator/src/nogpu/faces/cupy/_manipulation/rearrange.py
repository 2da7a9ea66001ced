"""Flips, rolls and rotations."""

from __future__ import annotations

import numpy as np
from cupy import _tables
from cupy._core import core
from cupy._core.core import ndarray

_tables.functions(globals(), _tables.view, """
flip(a: typed, axis=None) -> ndarray: Axes backwards: a view.
fliplr(a: typed) -> ndarray: The second axis backwards: a view.
flipud(a: typed) -> ndarray: The first axis backwards: a view.
rot90(a: typed, k=1, axes=(0, 1)) -> ndarray: Turned by quarters: a view.
""")


def roll(a, shift, axis=None) -> ndarray:
    """Elements moved around the end."""
    a = core._argument(a)
    if isinstance(shift, ndarray):
        shift = shift.get()
        shift = int(shift) if shift.ndim == 0 else tuple(shift.tolist())
    return core.compute(lambda x: np.roll(x, shift, axis), [a], a.shape, a.dtype)
