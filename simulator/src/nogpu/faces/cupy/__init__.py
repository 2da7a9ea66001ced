"""CuPy as nogpu has it: NumPy's arrays on the engine's device memory.

It is not the CuPy of the CuPy team. `nogpu.install()` puts it in the place of CuPy; a name that
CuPy has and this lacks says so.
"""

# ruff: noqa: I001
from __future__ import annotations

import numpy as _numpy
from numpy import (  # noqa: F401 -- CuPy hands on NumPy's types and constants
    base_repr, binary_repr, bool_, broadcast_shapes, byte, cdouble, clongdouble, complex64,
    complex128, complexfloating, csingle, double, dtype, e, euler_gamma, finfo, float16, float32,
    float64, floating, format_float_positional, format_float_scientific, generic,
    get_printoptions, half, iinfo, index_exp, inexact, inf, int8, int16, int32, int64, int_, intc,
    integer, intp, isdtype, issubdtype, iterable, long, longlong, mintypecode, nan, ndindex,
    newaxis, number, pi, printoptions, promote_types, s_, set_printoptions, short, signedinteger,
    single, typename, ubyte, uint, uint8, uint16, uint32, uint64, uintc, uintp, ulong, ulonglong,
    unsignedinteger, ushort,
)  # fmt: skip
from numpy import bool  # noqa: A004, F401

from nogpu.faces import missing as _missing
from cupy import _routines, cuda, exceptions  # noqa: F401
from cupy._core import _methods  # noqa: F401 -- gives ndarray its methods
from cupy._core import core as _core_core
from cupy._core._ufunc import ufunc  # noqa: F401
from cupy._core.core import ndarray
from cupy._routines import broadcast, c_, flatiter, mgrid, ogrid, poly1d, r_  # noqa: F401
from cupy._routines import polyadd, polymul, polysub  # noqa: F401
from cupy._routines import cross, dot, einsum, inner, kron, matmul, outer  # noqa: F401
from cupy._routines import tensordot, trace, vdot  # noqa: F401
from cupy._version import __version__  # noqa: F401
from cupy.exceptions import (  # noqa: F401
    AxisError, ComplexWarning, ModuleDeprecationWarning, RankWarning, TooHardError,
    VisibleDeprecationWarning,
)  # fmt: skip

globals().update(_routines.FUNCTIONS)
Inf = Infinity = PINF = infty = inf
NAN = NaN = nan
NINF, NZERO, PZERO = -inf, -0.0, 0.0
permute_dims = _routines.FUNCTIONS["transpose"]
amax, amin = _routines.FUNCTIONS["max"], _routines.FUNCTIONS["min"]
float_, complex_, cfloat, singlecomplex = float64, complex128, cdouble, complex64


def get_array_module(*args: object):
    """CuPy where an argument lies on the device, otherwise NumPy."""
    import sys

    for item in args:
        kind = type(item).__module__
        if isinstance(item, ndarray) or _core_core._exports(item) or kind.startswith("cupyx."):
            return sys.modules[__name__]
    return _numpy


def result_type(*arrays_and_dtypes: object) -> dtype:
    """The dtype that results from promotion."""
    dtypes = [x.dtype if isinstance(x, ndarray) else x for x in arrays_and_dtypes]
    return _numpy.result_type(*dtypes)


def can_cast(from_: object, to: object, casting: str = "safe") -> _numpy.bool:
    """Whether a cast between types is allowed by a rule."""
    return _numpy.can_cast(from_.dtype if isinstance(from_, ndarray) else from_, to, casting)


def common_type(*arrays: ndarray) -> type:
    """The type of inexact numbers that the arrays have in common."""
    if "b" in [array.dtype.kind for array in arrays]:
        raise TypeError("can't get common type for non-numeric array")
    kinds = [array.dtype if array.dtype.kind in "fc" else float64 for array in arrays]
    return _numpy.result_type(*kinds).type if kinds else float16


def min_scalar_type(a: object) -> dtype:
    """The smallest type that holds a number; the type of an array."""
    return a.dtype if isinstance(a, ndarray) else _numpy.min_scalar_type(a)


def is_available() -> bool:  # noqa: F811
    """Whether kernels can run: the simulator always answers."""
    return True


def show_config(*, _full: bool = False) -> None:
    """Print what runs here: the simulator, its compiler and its limits."""
    import sys

    from cupyx._runtime import get_runtime_info

    sys.stdout.write(str(get_runtime_info(full=_full)))
    sys.stdout.flush()


def get_default_memory_pool():
    """The pool that arrays come from."""
    from cupy.cuda import memory

    return memory._default_memory_pool


def get_default_pinned_memory_pool():
    """The pool that pinned host memory comes from."""
    from cupy.cuda import pinned_memory

    return pinned_memory._default_pinned_memory_pool


_LAZY = {
    "testing": "cupy.testing", "polynomial": "cupy.polynomial", "random": "cupy.random",
    "fft": "cupy.fft", "linalg": "cupy.linalg", "lib": "cupy.lib",
    "RawKernel": "cupy._core.raw", "RawModule": "cupy._core.raw",
    "ElementwiseKernel": "cupy._core._kernel", "ReductionKernel": "cupy._core._reduction",
    "fuse": "cupy._core.fusion", "vectorize": "cupy._functional.vectorize",
}  # fmt: skip


__getattr__ = _missing.missing(__name__, _LAZY)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
