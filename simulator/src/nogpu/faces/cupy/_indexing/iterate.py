"""Iteration over elements."""

from __future__ import annotations

import numpy as np
from cupy._core import core
from cupy._core.core import ndarray
from cupy._creation.from_data import asarray


class flatiter:  # noqa: N801 -- the library's name
    """The elements in C order, to read and to set by integers and slices."""

    def __init__(self, a: ndarray) -> None:
        self._array, self._at = a, 0

    @property
    def base(self) -> ndarray:
        """The array."""
        return self._array

    def __len__(self) -> int:
        return self._array.size

    def __iter__(self) -> flatiter:
        return self

    def __next__(self) -> ndarray:
        if self._at >= len(self):
            raise StopIteration
        self._at += 1
        return self[self._at - 1]

    def copy(self) -> ndarray:
        """The elements as a new array."""
        return self._array.flatten()

    def __getitem__(self, index: object) -> ndarray:
        if isinstance(index, (int, np.integer)) and not isinstance(index, bool):
            if not -len(self) <= index < len(self):
                raise IndexError(f"index {index} is out of bounds for axis 0 with size {len(self)}")
            return self._array.ravel()[int(index)].copy()
        if isinstance(index, slice) or index is Ellipsis:
            return self._array.flatten()[index].copy()
        raise IndexError("unsupported iterator index")

    def __setitem__(self, index: object, value: object) -> None:
        if isinstance(index, (int, np.integer)) and not isinstance(index, bool):
            index = slice(int(index), int(index) + 1 or None)
        elif index is not Ellipsis and not isinstance(index, slice):
            raise IndexError("unsupported iterator index")
        partly = self._array._view
        source = asarray(value, dtype=partly.dtype)._view

        def work() -> None:
            partly.flat[index] = core.convert(source, partly.dtype)

        core._enqueue(work, partly.nbytes)
