"""What the routines share: NumPy works on the device's memory, in the order of the stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from operator import index

import numpy as np
from cupy._core import core
from cupy._creation.from_data import asarray  # noqa: F401 -- for the routines
from numpy.lib.array_utils import normalize_axis_index

argument, typed = core._argument, core._checked
SCALARS = core._SCALARS
compute, compute_now = core.compute, core.compute_now


def is_array(x) -> bool:
    """Whether it is a device array."""
    return isinstance(x, core.ndarray)


def compute_many(function: Callable, inputs: Sequence, layouts: Sequence[tuple]) -> tuple:
    """Queue a function with several results, each of a known (shape, dtype)."""
    results = tuple(core._new(tuple(shape), np.dtype(dtype)) for shape, dtype in layouts)
    views, targets = core._views(inputs), core._views(results)

    def work():
        for target, value in zip(targets, function(*views)):
            target[...] = value

    core._enqueue(work, sum(x.nbytes for x in (*views, *targets)))
    return results


def change(x, function: Callable, inputs: Sequence = ()) -> None:
    """Queue a function that changes ``x`` in place; it gets x's view first."""
    target, views = x._view, core._views(inputs)
    core._enqueue(lambda: function(target, *views), sum(v.nbytes for v in (target, *views)))


def look(x) -> np.ndarray:
    """Wait, and return a copy of the values on the host."""
    core._wait()
    return np.array(x._view)


def on_host(x) -> np.ndarray:
    """Return the values as a NumPy array, those of a device array copied."""
    return look(x) if is_array(x) else np.asarray(x)


def contiguous(x, dtype=None):
    """Return x, or a C-contiguous copy of it in ``dtype``."""
    dtype = x.dtype if dtype is None else np.dtype(dtype)
    if x.dtype == dtype and x.flags.c_contiguous:
        return x
    return compute(lambda v: v, [x], x.shape, dtype)


def copy(x, dtype=None, order: str = "C"):
    """Return a contiguous copy."""
    return compute(lambda v: v, [x], x.shape, x.dtype if dtype is None else dtype, order=order)


def device(values, dtype=None):
    """Copy host values to the device."""
    return core.from_host(np.array(values, dtype=dtype, order="C"))


def axes_of(axis, ndim: int) -> tuple[int, ...]:
    """Return the axes to reduce, all of them for None."""
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = tuple([normalize_axis_index(index(one), ndim) for one in given])
    if len(set(axes)) != len(axes):
        raise ValueError("duplicate value in 'axis'")
    return axes


def reduced(shape: Sequence[int], axes: Sequence[int], keepdims: bool) -> tuple[int, ...]:
    """Return the shape that a reduction over ``axes`` leaves."""
    if keepdims:
        return tuple(1 if i in axes else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in axes)


one_axis, size_of = normalize_axis_index, prod


def floating(dtype) -> np.dtype:
    """Return float64 for integers and booleans, a float or complex type itself."""
    dtype = np.dtype(dtype)
    return dtype if dtype.kind in "fc" else np.dtype(float)


def real_type(dtype) -> np.dtype:
    """Return the type of the real part."""
    return np.empty(0, dtype).real.dtype


def wide(dtype) -> np.dtype:
    """Return the type to compute in: float32 for float16."""
    dtype = np.dtype(dtype)
    return np.dtype(np.float32) if dtype.char == "e" else dtype
