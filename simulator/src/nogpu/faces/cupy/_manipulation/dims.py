"""Axes of length one, and broadcasting."""

from __future__ import annotations

import numpy as np
from cupy import _tables
from cupy._core import core
from cupy._core.core import ndarray
from cupy._creation.from_data import asarray


def _atleast(function, arrays):
    made = []
    for a in arrays:
        if not isinstance(a, ndarray):
            a = asarray(a)
        made.append(core._wrap(function(a._view), a) if function(a._view).shape != a.shape else a)
    return made[0] if len(made) == 1 else made


_tables.functions(globals(), lambda name: lambda *arrays: _atleast(getattr(np, name), arrays), """
atleast_1d(*arys): At least one axis.
atleast_2d(*arys): At least two axes.
atleast_3d(*arys): At least three axes.
""")


class broadcast:  # noqa: N801 -- the library's name
    """Arrays broadcast against each other."""

    def __init__(self, *arrays: ndarray) -> None:
        self.shape = core.broadcast_shape(arrays)
        self.nd, self.size = len(self.shape), int(np.prod(self.shape))
        self.values = tuple(
            broadcast_to(a, self.shape) if isinstance(a, ndarray) else a for a in arrays)


def broadcast_arrays(*args) -> tuple[ndarray, ...]:
    """Views of a common shape."""
    return broadcast(*args).values


def broadcast_to(array, shape) -> ndarray:
    """A view with zero strides."""
    array = core._checked(array, "array")
    shape = core.check_shape(shape)
    if len(shape) < array.ndim:
        raise ValueError(
            "input operand has more dimensions than allowed by the axis remapping")
    try:
        view = np.broadcast_to(array._view, shape)
    except ValueError:
        raise ValueError(
            f"operands could not be broadcast together with shapes {array.shape} {shape}") from None
    view = core._look(core._address(array._view), view.shape, view.dtype, view.strides)
    return core._wrap(view, array)


_tables.functions(globals(), _tables.view, """
expand_dims(a: typed, axis) -> ndarray: New axes of length one.
""")
_tables.functions(globals(), _tables.method, """
squeeze(a: typed, axis=None) -> ndarray: Without axes of length one.
""")
