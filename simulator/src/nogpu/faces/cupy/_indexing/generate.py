"""Index arrays, and helpers that build arrays by indexing."""

from __future__ import annotations

import numpy as np
from cupy import _tables
from cupy._core import core
from cupy._core.core import ndarray
from cupy._creation.basic import ones
from cupy._creation.from_data import asarray
from cupy._creation.ranges import arange, linspace
from cupy._manipulation.join import concatenate

_, tril_indices, triu_indices = _tables.functions(globals(), _tables.on_host(), """
indices(dimensions, dtype=int) -> ndarray: One grid of indices for each axis.
tril_indices(n, k=0, m=None) -> tuple[ndarray, ...]: Indices of a lower triangle.
triu_indices(n, k=0, m=None) -> tuple[ndarray, ...]: Indices of an upper triangle.
""")


def ix_(*args) -> tuple[ndarray, ...]:
    """An open mesh of several sequences."""
    result, n = [], len(args)
    for i, item in enumerate(args):
        item = asarray(item)
        if item.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if item.size == 0:
            item = item.astype(np.intp)
        if item.dtype.kind == "b":
            (item,) = item.nonzero()
        result.append(item.reshape((1,) * i + (item.size,) + (1,) * (n - i - 1)))
    return tuple(result)


def unravel_index(indices, dims, order="C") -> tuple[ndarray, ...]:
    """Flat indices as tuples of indices."""
    indices = asarray(indices)
    made = core.compute_now(lambda i: np.unravel_index(i, dims, order), [indices])
    return tuple(made)


def ravel_multi_index(multi_index, dims, mode="wrap", order="C") -> ndarray:
    """Tuples of indices as flat indices."""
    arrays = [asarray(i) for i in multi_index]
    return core.compute_now(
        lambda *i: np.ravel_multi_index(i, dims, mode=mode, order=order), arrays)


def diag_indices(n, ndim=2) -> tuple[ndarray, ...]:
    """Indices of the main diagonal."""
    return (arange(n),) * ndim


def diag_indices_from(arr) -> tuple[ndarray, ...]:
    """Indices of an array's main diagonal."""
    if arr.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(arr.shape)) != 1:
        raise ValueError("All dimensions of input must be of equal length")
    return diag_indices(arr.shape[0], arr.ndim)


def tril_indices_from(arr, k=0) -> tuple[ndarray, ...]:
    """Indices of an array's lower triangle."""
    return tril_indices(arr.shape[-2], k, arr.shape[-1])


def triu_indices_from(arr, k=0) -> tuple[ndarray, ...]:
    """Indices of an array's upper triangle."""
    return triu_indices(arr.shape[-2], k, arr.shape[-1])


def mask_indices(n, mask_func, k=0) -> tuple[ndarray, ...]:
    """Indices where a mask function leaves elements."""
    return mask_func(ones((n, n), dtype=np.int8), k).nonzero()


class _Concatenator:
    def __init__(self, axis: int) -> None:
        self._axis = axis

    def __getitem__(self, key):
        parts = []
        for item in key if isinstance(key, tuple) else (key,):
            if isinstance(item, slice):
                start, step = item.start or 0, item.step
                if isinstance(step, complex):
                    part = linspace(start, item.stop, int(abs(step)))
                else:
                    part = arange(start, item.stop, 1 if step is None else step)
            else:
                part = asarray(item)
            part = part.reshape(-1) if part.ndim == 0 else part
            if self._axis and part.ndim == 1:
                part = part.reshape(-1, 1)
            parts.append(part)
        return concatenate(parts, axis=-1 if self._axis else 0)


c_, r_ = _Concatenator(1), _Concatenator(0)
