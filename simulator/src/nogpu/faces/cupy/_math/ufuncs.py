"""CuPy's universal functions that are NumPy's loops."""

from __future__ import annotations

import numpy as np
from cupy._core import _routines_indexing, _routines_math
from cupy._core._ufunc import ufunc

_BOOLEAN_MINUS = (
    "cupy boolean subtract, the `-` operator, is deprecated, use the bitwise_xor, the `^` "
    "operator, or the logical_xor function instead."
)
_BOOLEAN_NEGATIVE = (
    "The cupy boolean negative, the `-` operator, is not supported, use the `~` operator or the "
    "logical_not function instead."
)


def _reduction(function):
    def method(array, axis=0, dtype=None, out=None, keepdims=False):
        if dtype is None:
            return function(array, axis=axis, out=out, keepdims=keepdims)
        return function(array, axis=axis, dtype=dtype, out=out, keepdims=keepdims)

    return method


def _scan(function):
    return lambda array, axis=0, dtype=None, out=None: function(array, axis, dtype, out)


def _make(name: str, loop: np.ufunc, **options: object) -> ufunc:
    return ufunc(f"cupy_{name}", loop, doc=f"Element-wise {name} of device arrays.", **options)


add = _make(
    "add", np.add,
    reduction=_reduction(_routines_math.sum), accumulate=_scan(_routines_math.cumsum),
    at=_routines_indexing.at(np.add, "iIqQlLefdFD", "cupy.add"),
)  # fmt: skip
subtract = _make(
    "subtract", np.subtract, refuse={"b": _BOOLEAN_MINUS},
    at=_routines_indexing.at(np.subtract, "iIqQlL", "cupy.subtract"),
)  # fmt: skip
multiply = _make(
    "multiply", np.multiply,
    reduction=_reduction(_routines_math.prod), accumulate=_scan(_routines_math.cumprod),
)  # fmt: skip
maximum = _make(
    "maximum", np.maximum, reduction=_reduction(_routines_math.amax),
    at=_routines_indexing.at(np.maximum, "iIqQlLfd", "cupy.maximum"),
)  # fmt: skip
minimum = _make(
    "minimum", np.minimum, reduction=_reduction(_routines_math.amin),
    at=_routines_indexing.at(np.minimum, "iIqQlLfd", "cupy.minimum"),
)  # fmt: skip
bitwise_and = _make(
    "bitwise_and", np.bitwise_and,
    at=_routines_indexing.at(np.bitwise_and, "iIqQlL", "cupy.bitwise_and"),
)  # fmt: skip
bitwise_or = _make(
    "bitwise_or", np.bitwise_or,
    at=_routines_indexing.at(np.bitwise_or, "iIqQlL", "cupy.bitwise_or"),
)  # fmt: skip
bitwise_xor = _make(
    "bitwise_xor", np.bitwise_xor,
    at=_routines_indexing.at(np.bitwise_xor, "iIqQlL", "cupy.bitwise_xor"),
)  # fmt: skip
negative = _make("negative", np.negative, refuse={"b": _BOOLEAN_NEGATIVE})
logical_and = _make("logical_and", np.logical_and, reduction=_reduction(_routines_math.all))
logical_or = _make("logical_or", np.logical_or, reduction=_reduction(_routines_math.any))

_SAME = (
    "absolute", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "cbrt",
    "ceil", "conjugate", "copysign", "cos", "cosh", "deg2rad", "divmod", "equal", "exp", "exp2",
    "expm1", "fabs", "float_power", "floor", "floor_divide", "fmax", "fmin", "fmod", "frexp", "gcd",
    "greater", "greater_equal", "heaviside", "hypot", "invert", "isfinite", "isinf", "isnan", "lcm",
    "ldexp", "left_shift", "less", "less_equal", "log", "log10", "log1p", "log2", "logaddexp",
    "logaddexp2", "logical_not", "logical_xor", "modf", "nextafter", "not_equal", "positive",
    "power", "rad2deg", "reciprocal", "remainder", "right_shift", "rint", "sign", "signbit", "sin",
    "sinh", "spacing", "sqrt", "square", "tan", "tanh", "true_divide", "trunc", "bitwise_count",
)  # fmt: skip
_ALIASES = {
    "divide": "true_divide", "mod": "remainder", "abs": "absolute", "conj": "conjugate",
    "degrees": "rad2deg", "radians": "deg2rad", "pow": "power", "bitwise_not": "invert",
    "bitwise_invert": "invert", "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift", "acos": "arccos", "acosh": "arccosh", "asin": "arcsin",
    "asinh": "arcsinh", "atan": "arctan", "atanh": "arctanh", "atan2": "arctan2",
}  # fmt: skip


def _integer_power(base: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """Negative exponents give what integer division gives: 0, or plus or minus 1."""
    result = np.power(base, np.maximum(exponent, 0))
    ones = np.where((base == 1) | ((base == -1) & (exponent % 2 == 0)), 1, 0)
    ones = np.where((base == -1) & (exponent % 2 != 0), -1, ones)
    return np.where(exponent < 0, ones, result)


UFUNCS = {name: value for name, value in list(globals().items()) if isinstance(value, ufunc)}
UFUNCS.update({name: _make(name, getattr(np, name)) for name in _SAME if hasattr(np, name)})
UFUNCS["power"]._integers = _integer_power
UFUNCS.update({alias: UFUNCS[name] for alias, name in _ALIASES.items()})
globals().update(UFUNCS)
