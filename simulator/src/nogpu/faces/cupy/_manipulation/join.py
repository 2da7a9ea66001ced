"""Arrays put together."""

from __future__ import annotations

import numpy as np
from cupy import _tables
from cupy._core import core
from cupy._core.core import ndarray
from cupy._manipulation.dims import atleast_1d, atleast_2d, atleast_3d, expand_dims
from numpy.lib.array_utils import normalize_axis_index


def concatenate(tup, axis=0, out=None, *, dtype=None, casting="same_kind") -> ndarray:
    """Along an axis that is there."""
    arrays = [a if isinstance(a, ndarray) else core._argument(a) for a in tup]
    if not arrays:
        raise ValueError("Cannot concatenate from empty tuple")
    if axis is None:
        arrays, axis = [a.ravel() for a in arrays], 0
    first = arrays[0]
    if first.ndim == 0:
        raise TypeError("zero-dimensional arrays cannot be concatenated")
    axis = normalize_axis_index(axis, first.ndim)
    for a in arrays[1:]:
        if a.ndim != first.ndim:
            raise ValueError(
                "All arrays to concatenate must have the same ndim")
        if a.shape[:axis] + a.shape[axis + 1 :] != first.shape[:axis] + first.shape[axis + 1 :]:
            raise ValueError(
                "All arrays must have same shape except the axis to concatenate")
    shape = list(first.shape)
    shape[axis] = sum(a.shape[axis] for a in arrays)
    if out is not None:
        if not isinstance(out, ndarray):
            raise TypeError(f"Unsupported type {type(out)}")
        if dtype is not None:
            raise TypeError("concatenate() only takes `out` or `dtype` as an argument, but both "
                            "were provided.")  # fmt: skip
        dtype = out.dtype
    elif dtype is None:
        dtype = np.result_type(*[a.dtype for a in arrays])
    dtype = core.check_dtype(dtype)
    for a in arrays:
        core.check_cast(a.dtype, dtype, casting)
        core.warn_of_loss(a.dtype, dtype)
    if out is not None and out.ndim != len(shape):
        raise ValueError("Output array has wrong dimensionality")
    if out is not None and out.shape != tuple(shape):
        raise ValueError("Output array is the wrong shape")
    result = core._new(tuple(shape), dtype) if out is None else out
    at = 0
    core.reach(*arrays)
    for a in arrays:
        piece = result._view[(slice(None),) * axis + (slice(at, at + a.shape[axis]),)]
        at += a.shape[axis]
        if a.size:
            core._fill_from(core._wrap(piece, result), a)
    return result


concat = concatenate


def stack(tup, axis=0, out=None, *, dtype=None, casting="same_kind") -> ndarray:
    """Along a new axis."""
    arrays = [core._checked(a, "a") for a in tup]
    if len({a.shape for a in arrays}) > 1:
        raise ValueError("All arrays must have same shape except the axis to concatenate")
    return concatenate([expand_dims(a, axis) for a in arrays], axis, out, dtype=dtype,
                       casting=casting)


def vstack(tup, *, dtype=None, casting="same_kind") -> ndarray:
    """Rows on top of each other."""
    return concatenate([atleast_2d(a) for a in tup], 0, dtype=dtype, casting=casting)


row_stack = _tables.deprecated(
    vstack, "`row_stack` alias is deprecated. Use `cp.vstack` directly.")


def hstack(tup, *, dtype=None, casting="same_kind") -> ndarray:
    """Side by side."""
    arrays = [atleast_1d(a) for a in tup]
    return concatenate(
        arrays, 0 if arrays[0].ndim == 1 else 1, dtype=dtype, casting=casting)


def dstack(tup) -> ndarray:
    """Along the third axis."""
    return concatenate([atleast_3d(a) for a in tup], 2)


def column_stack(tup) -> ndarray:
    """Vectors as columns."""
    arrays = []
    for a in tup:
        a = core._checked(a, "a")
        arrays.append(a.reshape(-1, 1) if a.ndim < 2 else a)
    return concatenate(arrays, 1)
