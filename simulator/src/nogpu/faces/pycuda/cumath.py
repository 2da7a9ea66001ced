"""Functions of elements, with the names of `math`."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from nogpu.faces import table

from . import driver as drv
from . import gpuarray
from .gpuarray import GPUArray


def _unary(name: str, function: Callable) -> Callable:
    def apply(array, stream_or_out=None, *, out=None, stream=None):
        if stream_or_out is not None:  # PyCUDA takes it and does nothing with it
            warnings.warn("please use 'out' or 'stream' keyword arguments", DeprecationWarning,
                          stacklevel=2)  # fmt: skip
        if array.dtype.kind not in "fc":
            raise drv.CompileError(
                f"{name} does not compile for {array.dtype}", [], "",
                f'error: calling a constexpr __host__ function("{name}") from a __global__ '
                "function is not allowed: CUDA has no such function of integers\n")
        out = array._new_like_me() if out is None else out
        return array._map(function, out, stream, kernel=function)

    apply.__name__ = name
    apply.__doc__ = f"``{name}`` of each element."
    return apply


for _name, _function in {
    "ceil": np.ceil, "floor": np.floor, "fabs": np.fabs, "exp": np.exp, "log": np.log,
    "log10": np.log10, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh,
    "tanh": np.tanh,
}.items():  # fmt: skip
    globals()[_name] = _unary(_name, _function)


def _two(function: Callable, one: GPUArray, other: GPUArray, stream: object) -> GPUArray:
    gpuarray._need(one, other)
    x, y = gpuarray._flat(one), gpuarray._flat(other)
    return gpuarray._run(one._new_like_me(), lambda: function(x, y), stream, one, other,
                         kernel=function)  # fmt: skip


def fmod(arg, mod, stream=None):
    """The rest of a division, with the sign of the dividend."""
    return _two(np.fmod, arg, mod, stream)


def ldexp(significand, exponent, stream=None):
    """``significand * 2**exponent``."""
    return _two(lambda x, y: np.ldexp(x, y.astype(np.int32)), significand, exponent, stream)


def _parts(name: str) -> Callable:
    function = getattr(np, name)

    def split(arg, stream):
        return tuple(
            arg._map(lambda x, part=part: function(x)[part], arg._new_like_me(), stream,
                     kernel=(name, part))
            for part in (0, 1)
        )  # fmt: skip

    return split


table.functions(globals(), _parts, """
frexp(arg, stream=None): Significands and exponents.
modf(arg, stream=None): Fractional and integral parts.
""")
