"""Values and types of NumPy as CUDA C spells them, and text filled with them."""

from __future__ import annotations

import string
from collections.abc import Iterable

import numpy as np

_NAMES = {
    "bool": "bool", "int8": "signed char", "uint8": "unsigned char",
    "int16": "short", "uint16": "unsigned short", "int32": "int", "uint32": "unsigned int",
    "int64": "long long", "uint64": "unsigned long long", "float32": "float", "float64": "double",
}  # fmt: skip
_SUFFIXES = {"uint32": "u", "int64": "LL", "uint64": "ULL", "float32": "f"}
_ELSEWHERE = {
    "float16": "CUDA's is __half, from cuda_fp16.h",
    "complex64": "CUDA's is float2, or cuFloatComplex from cuComplex.h",
    "complex128": "CUDA's is double2, or cuDoubleComplex from cuComplex.h",
}


def c_type(dtype: object) -> str:
    """What CUDA C calls the numbers of a NumPy dtype: `c_type("float32")` is "float".

    Parameters
    ----------
    dtype
        Whatever `numpy.dtype` takes.

    Raises
    ------
    TypeError
        For a dtype that has no name in C, and for one of foreign byte order.
    """
    found = np.dtype(dtype)
    name = _NAMES.get(found.name)
    if name is None:
        there = ", ".join(_NAMES)
        hint = _ELSEWHERE.get(found.name, f"there are names for {there}")
        raise TypeError(f"dtype {found.name} has no name in C: {hint}.")
    if not found.isnative:
        raise TypeError(f"dtype {found.str!r} has its bytes in the other order: a kernel would read"
                        " other numbers. Convert it with .astype first.")
    return name


def c_literal(value: object, dtype: object) -> str:
    """A number as text that a CUDA compiler reads as exactly this number of this dtype.

    `c_literal(0.1, "float32")` is "0.1f". Negative numbers come in parentheses, so that they can
    stand behind a minus sign.

    Parameters
    ----------
    value : number
        Rounded to `dtype` where that is a floating-point type, as `dtype(value)` rounds.
    dtype
        One for which `c_type` has a name.

    Raises
    ------
    ValueError
        For nan and infinities, which no literal stands for, and for numbers that do not fit.
    TypeError
        For what is no real number, and as `c_type` does.

    Notes
    -----
    Floats are written with the fewest digits that only this number has (David Gay's shortest
    representation, which NumPy prints); the compiler rounds to the nearest and reads it back.
    """
    found = np.dtype(dtype)
    c_type(found)
    if isinstance(value, (complex, str, bytes)) or np.ndim(value) or not _is_number(value):
        raise TypeError(f"{value!r} is no real number, so there is no literal of it.")
    if found.kind == "f":
        return _float_literal(value, found)
    if value != value or value in (np.inf, -np.inf):
        raise ValueError(f"{value} does not fit into {found.name}.")
    whole = int(value)
    if whole != value:
        raise ValueError(f"{value} does not fit into {found.name}: it is no whole number.")
    if found.kind == "b":
        if whole not in (0, 1):
            raise ValueError(f"{value} does not fit into bool: only 0 and 1 do.")
        return "true" if whole else "false"
    info = np.iinfo(found)
    if not info.min <= whole <= info.max:
        raise ValueError(f"{value} does not fit into {found.name}, which goes from {info.min} to"
                         f" {info.max}.")
    suffix = _SUFFIXES.get(found.name, "")
    if whole == info.min and found.itemsize >= 4 and whole:
        # In C the sign is no part of a number, and the number without it does not fit.
        return f"(-{info.max}{suffix} - 1)"
    return f"{whole}{suffix}" if whole >= 0 else f"({whole}{suffix})"


def _is_number(value: object) -> bool:
    kind = getattr(value, "dtype", np.asarray(value).dtype).kind
    return kind in "biuf"


def _float_literal(value: object, dtype: np.dtype) -> str:
    if not np.isfinite(value):
        raise ValueError(f"{value} has no literal in C: a kernel that needs it must make it itself"
                         " (INFINITY, NAN), and coefficients should be finite.")
    with np.errstate(over="ignore", under="ignore"):
        rounded = dtype.type(value)
    if not np.isfinite(rounded):
        raise ValueError(f"{value} does not fit into {dtype.name}, whose largest number is"
                         f" {np.finfo(dtype).max}.")
    text = repr(rounded.item()) if dtype.itemsize == 8 else str(rounded)
    if not set(text) & set(".e"):
        text += ".0"
    text += _SUFFIXES.get(dtype.name, "")
    return f"({text})" if text.startswith("-") else text


def c_array(values: Iterable, dtype: object) -> str:
    """The literals of several numbers in braces, as a C array begins: "{1.0f, 0.5f}".

    Raises
    ------
    ValueError, TypeError
        As `c_literal`, with the number's position in front.
    """
    literals = []
    for index, value in np.ndenumerate(np.asarray(values)):
        where = index[0] if len(index) == 1 else index
        try:
            literals.append(c_literal(value, dtype))
        except (TypeError, ValueError) as error:
            raise type(error)(f"number {where}: {error}") from None
    return "{" + ", ".join(literals) + "}"


def fill(template: str, **values: object) -> str:
    """Replace each `$name` of a template by its value, as `string.Template` does.

    Braces stay as they are, of which C is full; `$$` is a dollar.

    Raises
    ------
    KeyError
        For a placeholder that no value was given for, naming it and its line.
    TypeError
        For a value that the template has no placeholder for, most often a misspelt name.
    ValueError
        For a `$` with no name behind it, naming its line.
    """
    found = string.Template(template)
    places: dict[str, int] = {}
    for match in found.pattern.finditer(template):
        line = template.count("\n", 0, match.start()) + 1
        if match["invalid"] is not None:
            raise ValueError(f"line {line} of the template has a $ with no name behind it: write $$"
                             " for a dollar.")
        name = match["named"] or match["braced"]
        if name:
            places.setdefault(name, line)
    for name, line in places.items():
        if name not in values:
            raise KeyError(f"line {line} of the template has a placeholder ${name}, and there is no"
                           f" value for it; given are {', '.join(values) or 'none'}.")
    if unused := sorted(set(values) - set(places)):
        raise TypeError(f"the template has no placeholder ${unused[0]}; it has"
                        f" {', '.join('$' + name for name in places) or 'none'}.")
    return found.substitute(values)
