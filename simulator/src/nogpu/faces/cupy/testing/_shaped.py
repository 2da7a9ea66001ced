"""Arrays to test with, of NumPy or of CuPy."""

import cupy
import numpy as np


def _as(xp, values, dtype, order):
    values = np.asarray(values)
    if np.dtype(dtype).kind == "b":
        values = values % 2 == 0
    elif np.dtype(dtype).kind == "c":
        values = values + values * 1j
    return (xp or cupy).array(np.array(values.astype(dtype), order=order, copy=True))


def shaped_arange(shape, xp=None, dtype=np.float32, order="C"):
    """Return 1, 2, 3, ... in a shape."""
    return _as(xp, np.arange(1, np.prod(shape, dtype=int) + 1).reshape(shape), dtype, order)


def shaped_reverse_arange(shape, xp=None, dtype=np.float32):
    """Return ..., 3, 2, 1 in a shape."""
    return _as(xp, np.arange(np.prod(shape, dtype=int), 0, -1).reshape(shape), dtype, "C")


def shaped_linspace(start, stop, shape, xp=None, dtype=np.float32):
    """Return evenly spaced numbers in a shape."""
    count = np.prod(shape, dtype=int)
    return _as(xp, np.linspace(start, stop, count).reshape(shape), dtype, "C")


def shaped_random(shape, xp=None, dtype=np.float32, scale=10, seed=0, order="C"):
    """Return random numbers below a scale, the same for one seed."""
    values = np.random.default_rng(seed).random(shape)
    if np.dtype(dtype).kind == "b":
        return (xp or cupy).array(np.asarray(values < 0.5))
    if np.dtype(dtype).kind == "c":
        values = values + 1j * np.random.default_rng([seed, 1]).random(shape)
    values = np.asarray(values * scale).astype(dtype)
    return (xp or cupy).array(np.array(values, order=order, copy=True))


def empty(xp=None, dtype=np.float32):
    """Return an array without elements."""
    return (xp or cupy).zeros((0,), dtype)
