"""Python's operators and NumPy's methods on ndarray."""

from __future__ import annotations

from cupy._core import _routines_indexing, _routines_math
from cupy._core._ufunc import operator
from cupy._core.core import ndarray
from cupy._math.ufuncs import UFUNCS


def _late(path: str, name: str):
    """A method that calls a function of a module imported at the first call."""

    def method(self, *args, **kwargs):
        import importlib

        return getattr(importlib.import_module(path), name)(self, *args, **kwargs)

    method.__name__ = name
    method.__qualname__ = f"ndarray.{name}"
    method.__doc__ = f"See cupy.{name}."
    return method


def _in_place(function):
    def method(self, other):
        return function(self, other, out=self)

    return method


def _method(function, name: str):
    def method(self, *args, **kwargs):
        return function(self, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"See cupy.{name}."
    return method


def install() -> None:
    """Give ndarray its operators and methods."""
    import numpy as np

    binary = {
        "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "true_divide",
        "floordiv": "floor_divide", "mod": "remainder", "pow": "power", "and": "bitwise_and",
        "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "left_shift", "rshift": "right_shift",
        "divmod": "divmod",
    }  # fmt: skip
    for short, name in binary.items():
        function, of_numpy = UFUNCS[name], getattr(np, name)
        setattr(ndarray, f"__{short}__", operator(function, of_numpy, f"__{short}__"))
        setattr(ndarray, f"__r{short}__", operator(function, of_numpy, f"__r{short}__", True))
        if short != "divmod":
            setattr(ndarray, f"__i{short}__", _in_place(function))
    for short, name in {
        "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal",
        "ne": "not_equal",
    }.items():  # fmt: skip
        setattr(ndarray, f"__{short}__", operator(UFUNCS[name], getattr(np, name), f"__{short}__"))
    for short, name in {"neg": "negative", "abs": "absolute", "invert": "invert"}.items():
        setattr(ndarray, f"__{short}__", _method(UFUNCS[name], name))
    ndarray.__pos__ = _method(UFUNCS["positive"], "positive")
    ndarray.__hash__ = None
    for name in ("sum", "prod", "mean", "var", "std", "all", "any", "cumsum", "cumprod", "argmax",
                 "argmin", "ptp", "clip"):  # fmt: skip
        setattr(ndarray, name, _method(getattr(_routines_math, name), name))
    ndarray.max = _method(_routines_math.amax, "max")
    ndarray.min = _method(_routines_math.amin, "min")
    ndarray.conj = _method(UFUNCS["conjugate"], "conj")
    ndarray.conjugate = _method(UFUNCS["conjugate"], "conjugate")
    ndarray.take = _method(_take, "take")
    for path, name in (
        ("cupy._math.rounding", "round"),
        ("cupy._manipulation.tiling", "repeat"),
        ("cupy._indexing.indexing", "choose"),
        ("cupy._indexing.indexing", "compress"),
        ("cupy._sorting.search", "searchsorted"),
        ("cupy.linalg._norms", "trace"),
        ("cupy.linalg._product", "dot"),
    ):
        setattr(ndarray, name, _late(path, name))
    ndarray.nonzero = _late("cupy._sorting.search", "nonzero")
    ndarray.searchsorted = _late("cupy._sorting.search", "_ndarray_searchsorted")
    ndarray.sort = _late("cupy._sorting.sort", "_ndarray_sort")
    ndarray.argsort = _late("cupy._sorting.sort", "_ndarray_argsort")
    ndarray.partition = _late("cupy._sorting.sort", "_ndarray_partition")
    ndarray.argpartition = _late("cupy._sorting.sort", "_ndarray_argpartition")
    ndarray.dot = _late("cupy.linalg._product", "_ndarray_dot")
    ndarray.trace = _late("cupy.linalg._norms", "_ndarray_trace")
    ndarray.__matmul__ = _late("cupy.linalg._product", "matmul")
    ndarray.__rmatmul__ = _reversed_matmul
    ndarray.__imatmul__ = _in_place_matmul


def _reversed_matmul(self, other):
    from cupy.linalg._product import matmul

    return matmul(other, self)


def _in_place_matmul(self, other):
    from cupy.linalg._product import matmul

    self[...] = matmul(self, other)
    return self


def _take(self, indices, axis=None, out=None):
    return _routines_indexing.take(self, indices, axis, out)
