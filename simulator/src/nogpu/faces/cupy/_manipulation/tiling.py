"""Repetition."""

from __future__ import annotations

import numpy as np
from cupy._core import core
from cupy._core.core import ndarray
from cupy._creation.from_data import asarray
from numpy.lib.array_utils import normalize_axis_index


def tile(A, reps) -> ndarray:
    """The whole array again and again."""
    A = asarray(A)
    reps = tuple(reps) if isinstance(reps, (list, tuple)) else (reps,)
    ndim = max(A.ndim, len(reps))
    shape = (1,) * (ndim - A.ndim) + A.shape
    reps = (1,) * (ndim - len(reps)) + reps
    return core.compute(
        lambda a: np.tile(a, reps), [A], tuple(s * r for s, r in zip(shape, reps)), A.dtype)


def repeat(a, repeats, axis=None) -> ndarray:
    """Each element, or each slice of an axis, several times."""
    a = core._argument(a)
    if isinstance(repeats, ndarray):
        return core.compute_now(lambda x, r: np.repeat(x, r, axis), [a, repeats])
    source = a.ravel() if axis is None else a
    axis = normalize_axis_index(0 if axis is None else axis, source.ndim)
    counts = np.broadcast_to(np.asarray(repeats), (source.shape[axis],)) \
        if np.size(repeats) == 1 else np.asarray(repeats)  # fmt: skip
    if counts.shape != (source.shape[axis],):
        raise ValueError("'repeats' and 'axis' of 'a' should be same length")
    if (counts < 0).any():
        raise ValueError("all elements of 'repeats' should not be negative")
    shape = list(source.shape)
    shape[axis] = int(counts.sum())
    return core.compute(lambda x: np.repeat(x, counts, axis), [source], tuple(shape), a.dtype)
