"""CuPy's universal functions that are NumPy's loops."""

from __future__ import annotations

import numpy as np
from cupy._core._ufunc import ufunc

from nogpu.engine.translate import BOOLEAN_SUBTRACT

_NAMES = """
    absolute add arccos arccosh arcsin arcsinh arctan arctan2 arctanh bitwise_and bitwise_count
    bitwise_or bitwise_xor cbrt ceil conjugate copysign cos cosh deg2rad divmod equal exp exp2
    expm1 fabs float_power floor floor_divide fmax fmin fmod frexp gcd greater greater_equal
    heaviside hypot invert isfinite isinf isnan lcm ldexp left_shift less less_equal log log10
    log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor maximum minimum
    modf multiply negative nextafter not_equal positive power rad2deg reciprocal remainder
    right_shift rint sign signbit sin sinh spacing sqrt square subtract tan tanh true_divide trunc
"""
_ALIASES = {
    "divide": "true_divide", "mod": "remainder", "abs": "absolute", "conj": "conjugate",
    "degrees": "rad2deg", "radians": "deg2rad", "pow": "power", "bitwise_not": "invert",
    "bitwise_invert": "invert", "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift", "acos": "arccos", "acosh": "arccosh", "asin": "arcsin",
    "asinh": "arcsinh", "atan": "arctan", "atanh": "arctanh", "atan2": "arctan2",
}  # fmt: skip
# Python's operators and the functions behind them.
BINARY = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "true_divide",
    "floordiv": "floor_divide", "mod": "remainder", "pow": "power", "and": "bitwise_and",
    "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "left_shift", "rshift": "right_shift",
    "divmod": "divmod",
}  # fmt: skip
COMPARE = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
            "eq": "equal", "ne": "not_equal"}  # fmt: skip
UNARY = {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}
# The kinds of dtype that a function refuses, and what it says.
_REFUSED = {
    "subtract": {"b": BOOLEAN_SUBTRACT},
    "negative": {"b": (
        "The cupy boolean negative, the `-` operator, is not supported, use the `~` operator or "
        "the logical_not function instead.")},
    "positive": {"b": "The cupy boolean positive, the `+` operator, is not supported."},
    "gcd": {"b": "gcd cannot be computed with boolean arrays"},
    "lcm": {"b": "lcm cannot be computed with boolean arrays"},
}  # fmt: skip


def _integer_power(base: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """Negative exponents give what integer division gives: 0, or plus or minus 1."""
    result = np.power(base, np.maximum(exponent, 0))
    ones = np.where((base == 1) | ((base == -1) & (exponent % 2 == 0)), 1, 0)
    ones = np.where((base == -1) & (exponent % 2 != 0), -1, ones)
    return np.where(exponent < 0, ones, result)


UFUNCS: dict[str, ufunc] = {
    name: ufunc(f"cupy_{name}", getattr(np, name), doc=f"Element-wise {name} of device arrays.",
                refuse=_REFUSED.get(name))
    for name in _NAMES.split() if hasattr(np, name)
}  # fmt: skip
UFUNCS["power"]._integers = _integer_power
UFUNCS["reciprocal"]._integers = lambda x: np.where(x == 0, 0, np.reciprocal(x))
UFUNCS |= {alias: UFUNCS[name] for alias, name in _ALIASES.items()}
globals().update(UFUNCS)
