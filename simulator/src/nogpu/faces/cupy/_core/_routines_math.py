"""Reductions and scans: NumPy's, accumulated at least as well as a GPU's trees do it."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from cupy import _host
from cupy._core import core
from cupy._core.core import ndarray
from cupy._math.ufuncs import UFUNCS

_LONG = 1024  # elements from which on a running sum in float32 would show


def reduce(
    array: ndarray, function: Callable[[np.ndarray, tuple, bool], np.ndarray], dtype: np.dtype,
    axis: object, out: ndarray | None, keepdims: bool, empty: str | None = None,
) -> ndarray:  # fmt: skip
    """Queue ``function(view, axes, keepdims)`` over the axes.

    ``empty`` is the operation's name where an empty reduction has no answer.
    """
    axes = _host.axes_of(axis, core._checked(array, "a").ndim)
    shape = _host.reduced(array.shape, axes, keepdims)
    if empty is not None and math.prod(shape) and array.size == 0:
        raise ValueError(
            f"zero-size array to reduction operation {empty} which has no identity")
    if out is not None and not isinstance(out, ndarray):
        raise TypeError(f"Unsupported type {type(out)}")
    return core.compute(lambda view: function(view, axes, keepdims), [array], shape, dtype, out,
                        asks=False)


def accumulator(array: ndarray, axes: tuple, dtype: np.dtype) -> np.dtype:
    """The type to add up in: wider where NumPy would run along without pairing."""
    if dtype == np.float16:
        return np.dtype(np.float32)
    if dtype.char in "fF" and axes:
        count = math.prod(array.shape[axis] for axis in axes)
        last = min(range(array.ndim), key=lambda axis: (abs(array.strides[axis]), -axis))
        if count > _LONG and (last not in axes or array.shape[last] < count):
            return np.dtype(np.float64 if dtype.char == "f" else np.complex128)
    return dtype


def sum_dtype(array: ndarray, dtype: object) -> np.dtype:
    """Small integers are added up in 64 bits."""
    if dtype is not None:
        return core.check_dtype(dtype)
    if array.dtype.kind in "bi":
        return np.dtype(np.int64)
    if array.dtype.kind == "u":
        return np.dtype(np.uint64)
    return array.dtype


def sum(array, axis=None, dtype=None, out=None, keepdims=False) -> ndarray:  # noqa: A001
    """Add up along axes."""
    return _total(np.add, array, axis, dtype, out, keepdims)


def prod(array, axis=None, dtype=None, out=None, keepdims=False) -> ndarray:
    """Multiply along axes."""
    return _total(np.multiply, array, axis, dtype, out, keepdims)


def _total(loop, array, axis, dtype, out, keepdims):
    dtype = sum_dtype(array, dtype)
    wide = accumulator(array, _host.axes_of(axis, array.ndim), dtype)
    source = array
    if array.dtype.kind in "fc" and dtype.kind in "iu":
        source = array.astype(dtype)
    return reduce(
        source,
        lambda view, axes, keep: loop.reduce(view, axis=axes, dtype=wide, keepdims=keep),
        dtype, axis, out, keepdims)


def by_ufunc(loop: np.ufunc, name: str | None = None, dtype: object = None) -> Callable:
    """A reduction by a ufunc: ``max``, ``min``, and with a dtype of its own ``all``, ``any``."""

    def method(array, axis=None, out=None, keepdims=False):
        return reduce(
            array,
            lambda view, axes, keep: loop.reduce(view, axis=axes, keepdims=keep),
            array.dtype if dtype is None else np.dtype(dtype), axis, out, keepdims, name)

    return method


def position(function: Callable, name: str) -> Callable[..., ndarray]:
    """``argmax`` or ``argmin``."""

    def method(array, axis=None, dtype=None, out=None, keepdims=False):
        if axis is not None:
            (axis,) = _host.axes_of(axis, array.ndim)
        return reduce(
            array, lambda view, axes, keep: function(view, axis=axis, keepdims=keep),
            np.dtype(np.int64 if dtype is None else dtype), axis, out, keepdims, name)

    return method


def scan(loop: np.ufunc) -> Callable[..., ndarray]:
    """``cumsum`` or ``cumprod``."""

    def method(array, axis=None, dtype=None, out=None):
        if not isinstance(array, ndarray):
            raise TypeError("Only cupy arrays can be scanned")
        dtype = sum_dtype(array, dtype)
        source = array.ravel() if axis is None else array
        if axis is None:
            axis = 0
        else:
            (axis,) = _host.axes_of(axis, source.ndim)
        if array.dtype.kind in "fc" and dtype.kind in "iu":
            source = source.astype(dtype)
        wide = {"e": np.float32, "f": np.float64, "F": np.complex128}.get(dtype.char, dtype)
        return core.compute(
            lambda view: loop.accumulate(view, axis=axis, dtype=wide),
            [source], source.shape, dtype, out)

    return method


amax, amin = by_ufunc(np.maximum, "CUPY_CUB_MAX"), by_ufunc(np.minimum, "CUPY_CUB_MIN")
all, any = by_ufunc(np.logical_and, dtype=bool), by_ufunc(np.logical_or, dtype=bool)  # noqa: A001
argmax, argmin = position(np.argmax, "CUPY_CUB_ARGMAX"), position(np.argmin, "CUPY_CUB_ARGMIN")
cumsum, cumprod = scan(np.add), scan(np.multiply)


def mean(array, axis=None, dtype=None, out=None, keepdims=False) -> ndarray:
    """Average along axes; float64 for integers, float16 by way of float32."""
    dtype = core.check_dtype(_host.floating(array.dtype) if dtype is None else dtype)
    wide = accumulator(array, _host.axes_of(axis, array.ndim), dtype)

    def compute(view, axes, keep):
        count = math.prod(view.shape[i] for i in axes)
        total = np.add.reduce(view, axis=axes, dtype=wide, keepdims=keep)
        return np.true_divide(total, wide.type(count))

    return reduce(array, compute, dtype, axis, out, keepdims)


def var(array, axis=None, dtype=None, out=None, ddof=0, keepdims=False) -> ndarray:
    """Variance along axes."""
    dtype = core.check_dtype(_host.floating(array.dtype) if dtype is None else dtype)
    result_dtype = np.dtype(dtype.char.lower()) if dtype.kind == "c" else dtype
    wide = {"e": np.float32, "f": np.float64, "F": np.complex128}.get(dtype.char, dtype)

    def compute(view, axes, keep):
        count = math.prod(view.shape[i] for i in axes)
        middle = np.add.reduce(view, axis=axes, dtype=wide, keepdims=True) / max(count, 1)
        distance = np.abs(view - middle) ** 2
        total = np.add.reduce(distance, axis=axes, keepdims=keep)
        return np.true_divide(total, count - ddof if count > ddof else np.nan)

    return reduce(array, compute, result_dtype, axis, out, keepdims)


def std(array, axis=None, dtype=None, out=None, ddof=0, keepdims=False) -> ndarray:
    """Standard deviation along axes."""
    result = var(array, axis, dtype, None, ddof, keepdims)
    return UFUNCS["sqrt"](result, out=out if out is not None else result)


def ptp(array, axis=None, out=None, keepdims=False) -> ndarray:
    """Largest less smallest."""
    high, low = amax(array, axis, None, keepdims), amin(array, axis, None, keepdims)
    return UFUNCS["subtract"](high, low, out=out)


def clip(array, min=None, max=None, out=None) -> ndarray:  # noqa: A002
    """Values between limits; one of them may be None."""
    maximum, minimum = UFUNCS["maximum"], UFUNCS["minimum"]
    if min is None and max is None:
        return UFUNCS["maximum"](array, array, out=out)
    if min is None:
        return minimum(array, max, out=out)
    if max is None:
        return maximum(array, min, out=out)
    for limit in (min, max):
        if isinstance(limit, np.ndarray):
            raise TypeError(f"Unsupported type {type(limit)}")
    return minimum(maximum(array, min), max, out=out)


def _reduction_of_ufunc(function: Callable) -> Callable:
    def method(array, axis=0, dtype=None, out=None, keepdims=False):
        if dtype is None:
            return function(array, axis=axis, out=out, keepdims=keepdims)
        return function(array, axis=axis, dtype=dtype, out=out, keepdims=keepdims)

    return method


for _name, _function in {
    "add": sum, "multiply": prod, "maximum": amax, "minimum": amin, "logical_and": all,
    "logical_or": any,
}.items():  # fmt: skip
    UFUNCS[_name]._reduction = _reduction_of_ufunc(_function)
UFUNCS["add"]._accumulate, UFUNCS["multiply"]._accumulate = cumsum, cumprod
