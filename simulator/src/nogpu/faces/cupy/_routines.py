"""The functions of `cupy`, from the modules of routines."""

# ruff: noqa: F401, I001
from cupy._binary import packing
from cupy._core import dlpack
from cupy._creation import basic, from_data, matrix, ranges
from cupy._creation.ranges import mgrid, ogrid
from cupy._functional import piecewise
from cupy._indexing import generate, indexing, insert
from cupy._indexing.generate import c_, r_
from cupy._indexing.iterate import flatiter
from cupy._io import formatting, npz, text
from cupy._logic import _sets, comparison, truth, type_testing
from cupy._manipulation import (
    add_remove, basic as copies, dims, join, kind, rearrange, shape, split, tiling, transpose,
)  # fmt: skip
from cupy._manipulation.dims import broadcast
from cupy._math import misc, rounding, sumprod, window
from cupy._math.ufuncs import UFUNCS
from cupy._misc import byte_bounds, memory_ranges, who
from cupy._padding import pad
from cupy._sorting import count, search, sort
from cupy._statistics import correlation, histogram, meanvar, order
from cupy.lib import _routines_poly, _shape_base
from cupy.lib._polynomial import poly1d, polyadd, polymul, polysub
from cupy.linalg._einsum import einsum
from cupy.linalg._norms import trace
from cupy.linalg._product import cross, dot, inner, kron, matmul, outer, tensordot, vdot

from nogpu.faces import table

FUNCTIONS = UFUNCS | table.functions_of(
    packing, dlpack, basic, from_data, matrix, ranges, piecewise, generate, indexing, insert,
    formatting, npz, text, _sets, comparison, truth, type_testing, add_remove, copies, dims, join,
    kind, rearrange, shape, split, tiling, transpose, misc, rounding, sumprod, window, byte_bounds,
    memory_ranges, who, pad, count, search, sort, correlation, histogram, meanvar, order,
    _routines_poly, _shape_base)
