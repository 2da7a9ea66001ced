"""C++ for NumPy's universal functions, once their operands have the types that NumPy chose."""

from __future__ import annotations

import numpy as np

# By the ufunc's name; {0} and {1} are the operands, of one type unless said.
_EXPRESSIONS = {
    "add": "{0} + {1}", "subtract": "{0} - {1}", "multiply": "{0} * {1}", "divide": "{0} / {1}",
    "floor_divide": "py_floor_divide({0}, {1})", "remainder": "py_remainder({0}, {1})",
    "fmod": "fmod({0}, {1})", "power": "py_power({0}, {1})", "float_power": "pow({0}, {1})",
    "negative": "-{0}", "positive": "+{0}", "square": "{0} * {0}", "reciprocal": "1 / {0}",
    "absolute": "abs({0})", "fabs": "fabs({0})", "sign": "py_sign({0})",
    "less": "{0} < {1}", "less_equal": "{0} <= {1}", "greater": "{0} > {1}",
    "greater_equal": "{0} >= {1}", "equal": "{0} == {1}", "not_equal": "{0} != {1}",
    "logical_and": "{0} && {1}", "logical_or": "{0} || {1}", "logical_not": "!{0}",
    "logical_xor": "!{0} != !{1}", "bitwise_and": "{0} & {1}", "bitwise_or": "{0} | {1}",
    "bitwise_xor": "{0} ^ {1}", "invert": "~{0}", "left_shift": "{0} << {1}",
    "right_shift": "{0} >> {1}", "maximum": "py_maximum({0}, {1})",
    "minimum": "py_minimum({0}, {1})", "fmax": "max({0}, {1})", "fmin": "min({0}, {1})",
    "isnan": "isnan({0})", "isinf": "isinf({0})", "isfinite": "isfinite({0})",
    "signbit": "signbit({0})", "arctan2": "atan2({0}, {1})", "hypot": "hypot({0}, {1})",
    "copysign": "copysign({0}, {1})", "nextafter": "nextafter({0}, {1})", "conjugate": "conj({0})",
    "degrees": "{0} * 57.295779513082320877", "radians": "{0} * 0.017453292519943295769",
    "arcsin": "asin({0})", "arccos": "acos({0})", "arctan": "atan({0})", "arcsinh": "asinh({0})",
    "arccosh": "acosh({0})", "arctanh": "atanh({0})",
}  # fmt: skip
for _name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "exp2", "expm1", "log", "log2",
              "log10", "log1p", "sqrt", "cbrt", "floor", "ceil", "trunc", "rint"):  # fmt: skip
    _EXPRESSIONS[_name] = _name + "({0})"
_UNSIGNED_ABSOLUTE = "{0}"


def expression(name: str, dtype: np.dtype, *operands: str) -> str | None:
    """C++ for a ufunc of operands that have ``dtype`` already; None where there is none."""
    text = _EXPRESSIONS.get({"true_divide": "divide", "mod": "remainder"}.get(name, name))
    if text is None:
        return None
    kind = dtype.kind
    if kind == "c" and name.startswith("logical"):
        operands = tuple(f"({x}.real() != 0 || {x}.imag() != 0)" for x in operands)
    if kind == "c" and name == "power":
        text = "pow({0}, {1})"
    elif name == "absolute" and kind in "ub":
        text = _UNSIGNED_ABSOLUTE
    elif name == "conjugate" and kind != "c":
        text = "{0}"
    elif name == "invert" and kind == "b":
        text = "!{0}"
    elif kind == "b" and name in ("add", "maximum"):
        text = "{0} || {1}"
    elif kind == "b" and name in ("multiply", "minimum"):
        text = "{0} && {1}"
    elif kind in "iub" and name in ("floor", "ceil", "trunc", "rint"):
        text = "{0}"
    return f"({text.format(*operands)})"
