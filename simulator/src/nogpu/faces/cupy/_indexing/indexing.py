"""Elements taken by indices."""

from __future__ import annotations

import numpy as np
from cupy import _tables
from cupy._core import _routines_indexing, core
from cupy._core.core import ndarray
from cupy._creation.from_data import asarray


def take(a, indices, axis=None, out=None) -> ndarray:
    """Elements by index along an axis; indices wrap around."""
    return _routines_indexing.take(core._checked(a, "a"), indices, axis, out)


def take_along_axis(a, indices, axis) -> ndarray:
    """Elements by one index each along an axis."""
    a, indices = core._argument(a), core._argument(indices)
    if indices.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if axis is None:
        if indices.ndim != 1:
            raise NotImplementedError("ndim of `indices` must be 1 if axis is None")
        a, axis = a.ravel(), 0
    if a.ndim != indices.ndim:
        raise ValueError("`indices` and `a` must have the same ndim")
    if not -a.ndim <= axis < a.ndim:
        raise np.exceptions.AxisError(axis, a.ndim)
    axis %= a.ndim
    size = max(1, a.shape[axis])
    shape = np.broadcast_shapes(
        a.shape[:axis] + (1,) + a.shape[axis + 1 :],
        indices.shape[:axis] + (1,) + indices.shape[axis + 1 :])
    shape = shape[:axis] + (indices.shape[axis],) + shape[axis + 1 :]
    return core.compute(
        lambda x, i: np.take_along_axis(x, i % size, axis), [a, indices], shape, a.dtype)


def choose(a, choices, out=None, mode="raise") -> ndarray:
    """Elements of one of several arrays."""
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError("clipmode not understood")
    arrays = [core._argument(c) for c in choices]
    if mode == "raise":  # the host has to look
        core._wait()
        if ((a._view < 0) | (a._view >= len(arrays))).any():
            raise ValueError("invalid entry in choice array")
    result = core.compute_now(lambda i, *c: np.choose(i, c, mode=mode), [a, *arrays])
    return _routines_indexing.into(out, result)


def compress(condition, a, axis=None, out=None) -> ndarray:
    """Slices where a condition holds."""
    if np.isscalar(condition):
        raise ValueError("condition must be a 1-d array")
    if not isinstance(condition, ndarray):
        condition = asarray(condition, dtype=int)
        if condition.ndim != 1:
            raise ValueError("condition must be a 1-d array")
    result = core.compute_now(lambda c, x: np.compress(c, x, axis), [condition, a])
    return _routines_indexing.into(out, result)


_tables.functions(globals(), _tables.now(), """
extract(condition: any, a: array) -> ndarray: Elements where a condition holds.
""")
_tables.functions(globals(), _tables.method, """
diagonal(a: typed, offset=0, axis1=0, axis2=1) -> ndarray: The diagonal: a view.
""")


def select(condlist, choicelist, default=0) -> ndarray:
    """Elements of the first array whose condition holds."""
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if not condlist:
        raise ValueError("select with an empty condition list is not possible")
    if not np.isscalar(default):
        raise TypeError("default only accepts scalar values")
    n = len(condlist)
    if any(condition.dtype != bool for condition in condlist):
        raise ValueError("condlist must be a list of boolean arrays")
    return core.compute_now(
        lambda *arrays: np.select(list(arrays[:n]), list(arrays[n:]), default),
        [*condlist, *choicelist])
