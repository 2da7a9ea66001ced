"""NumPy arrays in page-locked memory."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from cupy import cuda
from cupy._core.core import check_order, strides_like

from nogpu.faces import table


def _array(shape: tuple[int, ...], dtype: np.dtype, strides=None, order: str = "C") -> np.ndarray:
    memory = cuda.alloc_pinned_memory(math.prod(shape) * dtype.itemsize)
    return np.ndarray(shape, dtype, memory, 0, strides, order)


def _shape(shape: object) -> tuple[int, ...]:
    return tuple(shape) if np.iterable(shape) else (int(shape),)


def empty_pinned(shape, dtype=float, order: str = "C") -> np.ndarray:
    """As `numpy.empty`, in page-locked memory from CuPy's pool."""
    return _array(_shape(shape), np.dtype(dtype), order=order)


def empty_like_pinned(a, dtype=None, order: str = "K", subok=None, shape=None) -> np.ndarray:
    """As `numpy.empty_like`, in page-locked memory; ``a`` may be a CuPy array."""
    if subok is not None:
        raise TypeError("subok is not supported yet")
    dtype = a.dtype if dtype is None else np.dtype(dtype)
    shape = a.shape if shape is None else _shape(shape)
    like = getattr(a, "_view", a)
    return _array(shape, dtype, strides_like(like, shape, dtype.itemsize, check_order(order)))


def _zeros(name: str) -> Callable:
    def make(*how: object) -> np.ndarray:
        result = globals()[name.replace("zeros", "empty")](*how)
        result[...] = np.zeros((), result.dtype)
        return result

    return make


zeros_pinned, zeros_like_pinned = table.functions(globals(), _zeros, """
zeros_pinned(shape, dtype=float, order: str = "C") -> np.ndarray:
    As `numpy.zeros`, in page-locked memory from CuPy's pool.
zeros_like_pinned(a, dtype=None, order: str = "K", subok=None, shape=None) -> np.ndarray:
    As `numpy.zeros_like`, in page-locked memory; ``a`` may be a CuPy array.
""")
