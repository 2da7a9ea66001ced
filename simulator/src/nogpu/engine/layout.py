"""How arrays lie in memory, and how a GPU converts numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Shape = tuple[int, ...]


def contiguous_strides(shape: Shape, itemsize: int, order: str = "C") -> Shape:
    """Strides in bytes of a packed array."""
    strides, step = [], itemsize
    for size in shape if order == "F" else reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(strides if order == "F" else reversed(strides))


def strides_like(like: np.ndarray, shape: Shape, itemsize: int, order: str) -> Shape:
    """Strides in bytes of packed memory for a shape, laid out as another array is.

    Parameters
    ----------
    like : numpy.ndarray
        An array, or an array's view.
    shape : tuple of int
    itemsize : int
    order : {"C", "F", "A", "K"}
        A takes Fortran's order from the other array, K also any other order of its axes.
    """
    flags, same = like.flags, len(shape) == like.ndim
    if order == "K" and same and not flags.forc:
        strides, step = [0] * like.ndim, itemsize
        for axis in sorted(range(like.ndim), key=lambda axis: (abs(like.strides[axis]), -axis)):
            strides[axis] = step
            step *= max(shape[axis], 1)
        return tuple(strides)
    if order in ("A", "K"):
        order = "F" if flags.fnc and (same or order == "A") else "C"
    return contiguous_strides(shape, itemsize, order)


def join_axes(shape: Shape, strides: Sequence[Shape]) -> tuple[Shape, list[Shape]]:
    """The same loop over one or several arrays, with as few axes as it can have."""
    sizes: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for axis, size in enumerate(shape):
        if size == 1:
            continue
        if sizes and all(
            own[-1] == all_steps[axis] * size for own, all_steps in zip(steps, strides)
        ):
            sizes[-1] *= size
            for own, all_steps in zip(steps, strides):
                own[-1] = all_steps[axis]
        else:
            sizes.append(size)
            for own, all_steps in zip(steps, strides):
                own.append(all_steps[axis])
    return tuple(sizes), [tuple(own) for own in steps]


def convert(source: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Elements as another dtype, by a GPU's rules: floats saturate on their way to integers.

    PTX ISA, instruction cvt: out of range goes to the nearest limit; nan to 0, or where 64 bits
    are on either side to the number whose highest bit alone is set; to 8 and 16 bits by way of 32.
    """
    if source.dtype == dtype:
        return source
    if source.dtype.kind == "c" and dtype.kind not in "cb":
        source = source.real
    if source.dtype.kind != "f" or dtype.kind not in "iu":
        return source.astype(dtype)
    wide = np.dtype(dtype.kind + str(max(4, dtype.itemsize)))
    limits = np.iinfo(wide)
    if source.size == 0 or (source.min() > limits.min and source.max() < float(limits.max)):
        return source.astype(wide).astype(dtype, copy=False)
    work = np.trunc(source.astype(np.float64))
    nan = np.isnan(work)
    nan_value = 0
    if source.dtype.itemsize == 8 or wide.itemsize == 8:
        nan_value = limits.min or 2 ** (8 * wide.itemsize - 1)
    high, low = work >= float(limits.max), work <= float(limits.min)
    result = np.where(nan | high | low, 0.0, work).astype(wide)
    result = np.where(high, limits.max, np.where(low, limits.min, result)).astype(wide)
    return np.where(nan, np.array(nan_value, wide), result).astype(wide).astype(dtype)
