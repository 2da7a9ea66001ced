"""Questions about types."""

from __future__ import annotations

import numpy as np
from cupy import _tables
from cupy._core.core import ndarray
from cupy._math.ufuncs import UFUNCS


def _where(name):
    of_numpy = getattr(np, name)
    return lambda x: _tables.elementwise(of_numpy, x) if isinstance(x, ndarray) else of_numpy(x)


_tables.functions(globals(), _where, """
iscomplex(x): Where the imaginary part is not zero.
isreal(x): Where the imaginary part is zero.
""")
_tables.functions(globals(), lambda name: getattr(np, name), """
isscalar(element) -> bool: Whether it is a scalar.
""")


def iscomplexobj(x) -> bool:
    """Whether the dtype is complex."""
    return x.dtype.kind == "c" if isinstance(x, ndarray) else np.iscomplexobj(x)


def isrealobj(x) -> bool:
    """Whether the dtype is real."""
    return not iscomplexobj(x)


def isfortran(a) -> bool:
    """Whether the array is Fortran- and not C-contiguous."""
    return a.flags.fnc


def _infinite(negative: bool):
    def call(x, out):
        if x.dtype.kind == "c":
            raise TypeError(f"This operation is not supported for {x.dtype} values because it "
                            "would be ambiguous.")  # fmt: skip
        return UFUNCS["logical_and"](
            UFUNCS["isinf"](x), UFUNCS["signbit"](x) == negative, out=out)

    return call


_tables.functions(globals(), lambda name: _infinite(name == "isneginf"), """
isneginf(x: array, out=None): Where it is minus infinity.
isposinf(x: array, out=None): Where it is plus infinity.
""")
