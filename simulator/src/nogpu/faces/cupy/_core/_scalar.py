"""C++'s names for dtypes."""

from __future__ import annotations

import numpy as np

_NAMES = {
    "?": "bool",
    "b": "signed char",
    "h": "short",
    "i": "int",
    "l": "long long",
    "q": "long long",
    "B": "unsigned char",
    "H": "unsigned short",
    "I": "unsigned int",
    "L": "unsigned long long",
    "Q": "unsigned long long",
    "e": "float16",
    "f": "float",
    "d": "double",
    "F": "complex<float>",
    "D": "complex<double>",
}


def get_typename(dtype: np.typing.DTypeLike) -> str:
    """The C++ type of a dtype's elements."""
    dtype = np.dtype(dtype)
    try:
        return _NAMES[dtype.char]
    except KeyError:
        raise ValueError(f"Unsupported dtype {dtype}") from None
