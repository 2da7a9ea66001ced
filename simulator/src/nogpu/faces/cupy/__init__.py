"""CuPy as nogpu has it: NumPy's arrays on the engine's device memory.

It is not the CuPy of the CuPy team. `nogpu.install()` puts it in the place of CuPy; a name that
CuPy has and this lacks says so.
"""

# ruff: noqa: E402, I001
from __future__ import annotations

import numpy as _numpy
from numpy import (  # noqa: F401 -- CuPy hands on NumPy's types and constants
    base_repr, binary_repr, bool_, broadcast_shapes, byte, can_cast, cdouble, clongdouble,
    common_type, complex64, complex128, complexfloating, csingle, double, dtype, e, euler_gamma,
    finfo, float16, float32, float64, floating, format_float_positional,
    format_float_scientific, generic, get_printoptions, half, iinfo, index_exp, inexact, inf, int8,
    int16, int32, int64, int_, intc, integer, intp, isdtype, issubdtype, iterable, long, longlong,
    min_scalar_type, mintypecode, nan, ndindex, newaxis, number, pi, printoptions,
    promote_types, s_, set_printoptions, short, signedinteger, single, typename, ubyte, uint,
    uint8, uint16, uint32, uint64, uintc, uintp, ulong, ulonglong, unsignedinteger, ushort,
)  # fmt: skip
from numpy import bool  # noqa: A004, F401

from cupy._version import __version__  # noqa: F401
from nogpu.faces import missing as _missing
from cupy import cuda, exceptions  # noqa: F401
from cupy.exceptions import (  # noqa: F401
    AxisError, ComplexWarning, ModuleDeprecationWarning, RankWarning, TooHardError,
    VisibleDeprecationWarning,
)  # fmt: skip
from cupy._core import core as _core_core
from cupy._core.core import ndarray  # noqa: F401
from cupy._core._ufunc import ufunc  # noqa: F401
from cupy._math.ufuncs import UFUNCS as _UFUNCS

globals().update(_UFUNCS)

from cupy._core import _methods  # noqa: F401 -- gives ndarray its methods

from cupy._creation.basic import (  # noqa: F401
    empty, empty_like, eye, full, full_like, identity, ones, ones_like, zeros, zeros_like,
)
from cupy._creation.from_data import (  # noqa: F401
    array, asanyarray, asarray, ascontiguousarray, asfortranarray, asnumpy, copy, frombuffer,
    fromfile, fromfunction, fromiter, fromstring, genfromtxt, loadtxt,
)
from cupy._creation.matrix import diag, diagflat, tri, tril, triu, vander  # noqa: F401
from cupy._creation.ranges import arange, linspace, logspace, meshgrid, mgrid, ogrid  # noqa: F401
from cupy._indexing.generate import (  # noqa: F401
    c_, diag_indices, diag_indices_from, indices, ix_, mask_indices, r_, ravel_multi_index,
    tril_indices, tril_indices_from, triu_indices, triu_indices_from, unravel_index,
)
from cupy._indexing.indexing import (  # noqa: F401
    choose, compress, diagonal, extract, select, take, take_along_axis,
)
from cupy._indexing.insert import (  # noqa: F401
    fill_diagonal, place, put, put_along_axis, putmask,
)
from cupy._indexing.iterate import flatiter  # noqa: F401
from cupy._logic.comparison import allclose, array_equal, array_equiv, isclose  # noqa: F401
from cupy._logic.truth import all, alltrue, any, sometrue  # noqa: A004, F401
from cupy._logic.type_testing import (  # noqa: F401
    iscomplex, iscomplexobj, isfortran, isneginf, isposinf, isreal, isrealobj, isscalar,
)
from cupy._manipulation.basic import copyto  # noqa: F401
from cupy._manipulation.dims import (  # noqa: F401
    atleast_1d, atleast_2d, atleast_3d, broadcast, broadcast_arrays, broadcast_to, expand_dims,
    squeeze,
)
from cupy._manipulation.join import (  # noqa: F401
    column_stack, concat, concatenate, dstack, hstack, row_stack, stack, vstack,
)
from cupy._manipulation.kind import asarray_chkfinite, asfarray, astype, require  # noqa: F401
from cupy._manipulation.rearrange import flip, fliplr, flipud, roll, rot90  # noqa: F401
from cupy._manipulation.shape import ndim, ravel, reshape, shape, size  # noqa: F401
from cupy._manipulation.split import array_split, dsplit, hsplit, split, vsplit  # noqa: F401
from cupy._manipulation.tiling import repeat, tile  # noqa: F401
from cupy._manipulation.transpose import (  # noqa: F401
    matrix_transpose, moveaxis, rollaxis, swapaxes, transpose,
)
from cupy._math.misc import (  # noqa: A004, F401
    angle, clip, convolve, i0, imag, interp, max, min, nan_to_num, real, real_if_close, sinc,
    unwrap,
)
from cupy._math.rounding import around, fix, round, round_  # noqa: A004, F401
from cupy._math.sumprod import (  # noqa: A004, F401
    cumprod, cumproduct, cumsum, cumulative_prod, cumulative_sum, diff, ediff1d, gradient,
    nancumprod, nancumsum, nanprod, nansum, prod, product, sum, trapezoid, trapz,
)

Inf = Infinity = PINF = infty = inf
NAN = NaN = nan
NINF, NZERO, PZERO = -inf, -0.0, 0.0
permute_dims = transpose
amax, amin = max, min
float_, complex_, cfloat, singlecomplex = float64, complex128, cdouble, complex64


def get_array_module(*args: object):
    """CuPy where an argument lies on the device, otherwise NumPy."""
    import sys

    for item in args:
        if isinstance(item, ndarray) or _core_core._exports(item):
            return sys.modules[__name__]
    return _numpy


def result_type(*arrays_and_dtypes: object) -> dtype:
    """The dtype that results from promotion."""
    dtypes = [x.dtype if isinstance(x, ndarray) else x for x in arrays_and_dtypes]
    return _numpy.result_type(*dtypes)


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


def __getattr__(name: str) -> object:
    import importlib

    if name in _LAZY:
        module = importlib.import_module(_LAZY[name])
        found = module if _LAZY[name] == f"cupy.{name}" else getattr(module, name)
        globals()[name] = found
        return found
    raise _missing.error("cupy", name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})


from cupy._routines import *  # noqa: F403
