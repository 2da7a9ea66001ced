"""NumPy's rules for an index of several parts: slices, numbers, arrays, masks, new axes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


class Mask:
    """A mask as the tuple of its true places."""

    def __init__(self, places: tuple[np.ndarray, ...]) -> None:
        self.places = places


class Axis:
    """A boolean scalar: an axis of length one or zero."""

    def __init__(self, kept: bool) -> None:
        self.kept = kept


def _flat(parts: list) -> list:
    flat = []
    for part in parts:
        flat.extend(part.places if isinstance(part, Mask) else [part])
    return flat


def result_shape(shape: tuple[int, ...], parts: list) -> tuple[int, ...]:
    """NumPy's rule for the shape of ``array[parts]``, from the shapes of the indices alone."""
    flat = _flat(parts)
    used = _count_axes(flat)
    if not any(p is Ellipsis for p in flat):
        flat = [*flat, Ellipsis]
    rest, shapes, axis = [], [], 0
    place, interrupted, apart = None, False, False
    for part in flat:
        if isinstance(part, (np.ndarray, int, Axis)):
            if place is None:
                place = len(rest)
            elif interrupted:
                apart = True
            if isinstance(part, Axis):
                shapes.append((1,) if part.kept else (0,))
            else:
                shapes.append(part.shape if isinstance(part, np.ndarray) else ())
                axis += 1
            continue
        interrupted = place is not None
        if part is None:
            rest.append(1)
        elif part is Ellipsis:
            extra = len(shape) - used
            rest.extend(shape[axis : axis + extra])
            axis += extra
        else:
            rest.append(len(range(*part.indices(shape[axis]))))
            axis += 1
    try:
        gathered = np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(
            "operands could not be broadcast together with shapes"
            + " ".join(str(s) for s in shapes)) from None
    place = 0 if apart or place is None else place
    return (*rest[:place], *gathered, *rest[place:])


def _count_axes(flat: list) -> int:
    return sum(p is not None and p is not Ellipsis and not isinstance(p, Axis) for p in flat)


def _with_axes(flat: list, ndim: int) -> Iterator[tuple[object, int]]:
    """Each part of an index, and the axis that it begins at."""
    used, axis = _count_axes(flat), 0
    for part in flat:
        yield part, axis
        if part is Ellipsis:
            axis += ndim - used
        elif part is not None and not isinstance(part, Axis):
            axis += 1


def check_gather(shape: tuple[int, ...], parts: list) -> None:
    for part, axis in _with_axes(_flat(parts), len(shape)):
        if isinstance(part, np.ndarray) and shape[axis] == 0 and part.size:
            raise IndexError("cannot do a non-empty take from an empty axes.")


def wrapped(parts: list, sizes: tuple[int, ...]) -> tuple:
    """The index for NumPy, with index arrays taken modulo the length of their axis."""
    result = []
    for part, axis in _with_axes(_flat(parts), len(sizes)):
        if isinstance(part, np.ndarray):
            part = within(part, sizes[axis])
        result.append(part.kept if isinstance(part, Axis) else part)
    return tuple(result)


def within(index: np.ndarray, size: int) -> np.ndarray:
    """An index array modulo the length of its axis."""
    index = index.astype(np.intp, copy=False)
    if index.size == 0 or size == 0 or (index.min() >= 0 and index.max() < size):
        return index
    return index % size
