"""The methods that the routines give to ndarray, and its operators and protocols.

`core` has the array, its memory and its views, and knows no routine. The routines are functions
of arrays; here they become methods.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

import numpy as np
from cupy._core import (
    _routines_indexing,
    _routines_linalg,
    _routines_math,
    _routines_sorting,
    core,
    dlpack,
)
from cupy._core._ufunc import _prefers_itself, operator
from cupy._core.core import ndarray
from cupy._creation.from_data import array
from cupy._indexing import indexing, insert
from cupy._indexing.iterate import flatiter
from cupy._manipulation.tiling import repeat
from cupy._math.rounding import around
from cupy._math.ufuncs import BINARY, COMPARE, UFUNCS, UNARY
from cupy._sorting.search import nonzero, searchsorted
from cupy.linalg._norms import _ndarray_trace

from nogpu.faces import table


def _conj(array: ndarray) -> ndarray:
    return UFUNCS["conjugate"](array) if array.dtype.kind == "c" else array


_METHODS = {
    "sum": _routines_math.sum, "prod": _routines_math.prod, "mean": _routines_math.mean,
    "var": _routines_math.var, "std": _routines_math.std, "all": _routines_math.all,
    "any": _routines_math.any, "max": _routines_math.amax, "min": _routines_math.amin,
    "cumsum": _routines_math.cumsum, "cumprod": _routines_math.cumprod,
    "argmax": _routines_math.argmax, "argmin": _routines_math.argmin, "ptp": _routines_math.ptp,
    "clip": _routines_math.clip, "conj": _conj, "conjugate": _conj,
    "round": around, "take": _routines_indexing.take, "choose": indexing.choose,
    "compress": indexing.compress, "repeat": repeat, "nonzero": nonzero,
    "searchsorted": searchsorted, "sort": _routines_sorting._ndarray_sort,
    "argsort": _routines_sorting._ndarray_argsort,
    "partition": _routines_sorting._ndarray_partition,
    "argpartition": _routines_sorting._ndarray_argpartition, "dot": _routines_linalg.dot,
    "trace": _ndarray_trace,
}  # fmt: skip


def _method(function: Callable, name: str) -> Callable:
    def method(self, *args, **kwargs):
        return function(self, *args, **kwargs)

    method.__name__, method.__qualname__ = name, f"ndarray.{name}"
    method.__doc__ = f"See cupy.{name}."
    return method


def _in_place(function: Callable) -> Callable:
    return lambda self, other: function(self, other, out=self)


def _in_place_matmul(self: ndarray, other: object) -> ndarray:
    self[...] = _routines_linalg.matmul(self, other)
    return self


def _scatter(name: str) -> Callable:
    return lambda self, slices, value: _routines_indexing.scatter(
        self, slices, value, name.removeprefix("scatter_"))


_EXPORTS = {"__dlpack__": dlpack.export, "toDlpack": dlpack.export_capsule}

# NumPy's protocols


def _array_ufunc(self, ufunc: np.ufunc, method: str, *inputs: object, **kwargs: object):
    for item in inputs:
        if not (isinstance(item, (ndarray, np.ndarray, *core._SCALARS)) or core._exports(item)):
            return NotImplemented
    out = kwargs.get("out")
    if isinstance(out, tuple):
        kwargs["out"] = out[0] if len(out) == 1 else out
    function = getattr(importlib.import_module("cupy"), ufunc.__name__, None)
    if function is None or ufunc is not getattr(np, ufunc.__name__, None):
        return NotImplemented
    if getattr(function, "_compares", False):
        inputs = [x.item() if isinstance(x, np.ndarray) and x.ndim == 0 else x for x in inputs]
    if method == "__call__":
        return function(*inputs, **kwargs)
    return getattr(function, method)(*inputs, **kwargs)


def _array_function(self, function, types, args, kwargs):
    names = (getattr(function, "__module__", None) or "numpy").split(".")[1:]
    place: object = importlib.import_module("cupy")
    for name in names:
        if not name.startswith("_"):
            place = getattr(place, name, None)
    found = getattr(place, function.__name__, None)
    if found is None or found is function:
        return NotImplemented
    for kind in types:
        if not issubclass(kind, (ndarray, np.ndarray)):
            return NotImplemented
    return found(*args, **kwargs)


def _install() -> None:
    for name, function in _METHODS.items():
        setattr(ndarray, name, _method(function, name))
    for short, name in (BINARY | COMPARE).items():
        function, of_numpy = UFUNCS[name], getattr(np, name)
        setattr(ndarray, f"__{short}__", operator(function, of_numpy, f"__{short}__"))
        if short in BINARY:
            setattr(ndarray, f"__r{short}__", operator(function, of_numpy, f"__r{short}__", True))
        if short in BINARY and short != "divmod":
            setattr(ndarray, f"__i{short}__", _in_place(function))
    for short, name in UNARY.items():
        setattr(ndarray, f"__{short}__", _method(UFUNCS[name], name))
    ndarray.__hash__ = None
    ndarray.__matmul__ = lambda self, other: (
        NotImplemented if _prefers_itself(other) else _routines_linalg.matmul(self, other))
    ndarray.__rmatmul__ = lambda self, other: _routines_linalg.matmul(other, self)
    ndarray.__imatmul__ = _in_place_matmul
    ndarray.__getitem__ = _routines_indexing.getitem
    ndarray.__setitem__ = _routines_indexing.setitem
    ndarray.__reduce__ = lambda self: (array, (self.get(order="A"),))
    ndarray.__array_ufunc__, ndarray.__array_function__ = _array_ufunc, _array_function
    ndarray.flat = property(flatiter, doc="An iterator over the elements in C order.")
    table.methods(ndarray, _scatter, """
    scatter_add(self, slices: object, value: object) -> None: Deprecated: add.at.
    scatter_max(self, slices: object, value: object) -> None: Deprecated: maximum.at.
    scatter_min(self, slices: object, value: object) -> None: Deprecated: minimum.at.
    """)
    table.methods(ndarray, _EXPORTS.get, """
    __dlpack__(self, **options: object) -> object: Export through DLPack.
    toDlpack(self) -> object: Export through DLPack, in the old way.
    """)
    table.methods(ndarray, lambda name: insert.put, """
    put(self, indices: object, values: object, mode: str = "wrap") -> None:
        Set elements by flat index; indices wrap around.
    """)


_install()
