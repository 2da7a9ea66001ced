"""Ranges and grids."""

from __future__ import annotations

import math

import numpy as np
from cupy._core import core
from cupy._core.core import ndarray
from cupy._manipulation.dims import broadcast_to
from cupy._math.ufuncs import UFUNCS


def _number(value: object) -> object:
    return value.item() if isinstance(value, ndarray) else value


def arange(start, stop=None, step=1, dtype=None) -> ndarray:
    """Numbers at equal distances, without the stop."""
    start, stop, step = _number(start), _number(stop), _number(step)
    if stop is None:
        start, stop = 0, start
    if step is None:
        step = 1
    if dtype is None:
        dtype = np.result_type(*[np.asarray(x).dtype for x in (start, stop, step)])
        if any(isinstance(x, np.generic) for x in (start, stop, step)):
            dtype = np.result_type(start, stop, step)
    dtype = core.check_dtype(dtype)
    size = max(math.ceil((stop - start) / step), 0)
    if size == 0:
        return ndarray((0,), dtype)
    if dtype.kind == "b":
        if size > 2:
            raise TypeError("no fill-function for data-type.")
        return core.compute(lambda: np.arange(start, stop, step, dtype), [], (size,), dtype)
    result = core._new((size,), dtype)
    target = result._view

    def work() -> None:
        if dtype.kind in "iu" and all(isinstance(x, (int, np.integer)) for x in (start, step)):
            target[...] = np.arange(size, dtype=dtype) * dtype.type(step) + dtype.type(start)
        else:
            wide = np.result_type(dtype, np.float64 if dtype.kind != "c" else np.complex128)
            target[...] = core.convert(np.arange(size).astype(wide) * step + start, dtype)

    core._enqueue(work, result.nbytes)
    return result


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    """``num`` numbers from start to stop."""
    if isinstance(start, ndarray) or isinstance(stop, ndarray):
        made = core.compute_now(
            lambda a, b: np.linspace(a, b, num, endpoint, retstep, dtype, axis), [start, stop])
        return made
    if num < 0:
        raise ValueError("linspace with num<0 is not supported")
    host = np.linspace(start, stop, num, endpoint, retstep, dtype, axis)
    values, step = host if retstep else (host, None)
    result = core.compute(lambda: values, [], values.shape, core.check_dtype(values.dtype))
    return (result, step) if retstep else result


def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0) -> ndarray:
    """Numbers at equal ratios."""
    result = UFUNCS["power"](base, linspace(start, stop, num, endpoint, axis=axis))
    return result if dtype is None else result.astype(dtype)


def meshgrid(*xi, **kwargs) -> tuple[ndarray, ...]:
    """Grids of coordinates from one-dimensional arrays."""
    indexing = kwargs.pop("indexing", "xy")
    copy = bool(kwargs.pop("copy", True))
    sparse = bool(kwargs.pop("sparse", False))
    if kwargs:
        raise TypeError(f"meshgrid() got an unexpected keyword argument '{next(iter(kwargs))}'")
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    if any(x.ndim != 1 for x in xi):
        raise ValueError("input has to be 1d")
    if not all(isinstance(x, ndarray) for x in xi):
        raise ValueError("input has to be cupy.ndarray")
    if len(xi) <= 1:
        return xi
    grids = []
    n = len(xi)
    for i, x in enumerate(xi):
        where = {0: 1, 1: 0}.get(i, i) if indexing == "xy" else i
        grids.append(x.reshape(*(-1 if k == where else 1 for k in range(n))))
    if not sparse:
        shape = np.broadcast_shapes(*[g.shape for g in grids])
        grids = [broadcast_to(g, shape) for g in grids]
    return tuple(g.copy() if copy else g for g in grids)


class nd_grid:  # noqa: N801 -- the library's name
    """``mgrid`` and ``ogrid``: grids by slices."""

    def __init__(self, sparse: bool = False) -> None:
        self.sparse = sparse

    def __getitem__(self, key):
        made = (np.ogrid if self.sparse else np.mgrid)[key]
        if isinstance(made, np.ndarray):
            return core.from_host(made)
        return [core.from_host(one) for one in made]


mgrid, ogrid = nd_grid(False), nd_grid(True)
