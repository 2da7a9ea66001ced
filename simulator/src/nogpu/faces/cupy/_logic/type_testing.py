"""Questions about types."""

from __future__ import annotations

import numpy as np
from cupy._core import core
from cupy._core.core import ndarray


def iscomplex(x):
    """Where the imaginary part is not zero."""
    if isinstance(x, ndarray):
        return core.compute(np.iscomplex, [x], x.shape, np.dtype(bool))
    return np.iscomplex(x)


def isreal(x):
    """Where the imaginary part is zero."""
    if isinstance(x, ndarray):
        return core.compute(np.isreal, [x], x.shape, np.dtype(bool))
    return np.isreal(x)


def iscomplexobj(x) -> bool:
    """Whether the dtype is complex."""
    return x.dtype.kind == "c" if isinstance(x, ndarray) else np.iscomplexobj(x)


def isrealobj(x) -> bool:
    """Whether the dtype is real."""
    return not iscomplexobj(x)


def isfortran(a) -> bool:
    """Whether the array is Fortran- and not C-contiguous."""
    return a.flags.fnc


def isscalar(element) -> bool:
    """Whether it is a scalar."""
    return np.isscalar(element)


def isneginf(x, out=None):
    """Where it is minus infinity."""
    return core.compute(np.isneginf, [core._argument(x)], x.shape, np.dtype(bool))


def isposinf(x, out=None):
    """Where it is plus infinity."""
    return core.compute(np.isposinf, [core._argument(x)], x.shape, np.dtype(bool))
