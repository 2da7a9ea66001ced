"""The functions of `cupy` that live in the libraries of routines."""

# ruff: noqa: F401
from cupy._binary.packing import packbits, unpackbits
from cupy._core.dlpack import from_dlpack, fromDlpack
from cupy._functional.piecewise import piecewise
from cupy._io.formatting import array2string, array_repr, array_str
from cupy._io.npz import load, save, savez, savez_compressed
from cupy._io.text import savetxt
from cupy._logic._sets import in1d, intersect1d, isin, setdiff1d, setxor1d, union1d
from cupy._manipulation.add_remove import (
    append,
    delete,
    resize,
    trim_zeros,
    unique,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)
from cupy._math.window import bartlett, blackman, hamming, hanning, kaiser
from cupy._misc.byte_bounds import byte_bounds
from cupy._misc.memory_ranges import may_share_memory, shares_memory
from cupy._misc.who import who
from cupy._padding.pad import pad
from cupy._sorting.count import count_nonzero
from cupy._sorting.search import (
    argmax,
    argmin,
    argwhere,
    flatnonzero,
    nanargmax,
    nanargmin,
    nonzero,
    searchsorted,
    where,
)
from cupy._sorting.sort import argpartition, argsort, lexsort, msort, partition, sort, sort_complex
from cupy._statistics.correlation import corrcoef, correlate, cov
from cupy._statistics.histogram import bincount, digitize, histogram, histogram2d, histogramdd
from cupy._statistics.meanvar import (
    average,
    mean,
    median,
    nanmean,
    nanmedian,
    nanstd,
    nanvar,
    std,
    var,
)
from cupy._statistics.order import nanmax, nanmin, percentile, ptp, quantile
from cupy.lib._polynomial import poly1d
from cupy.lib._routines_poly import poly, polyadd, polyfit, polymul, polysub, polyval, roots
from cupy.lib._shape_base import apply_along_axis, apply_over_axes
from cupy.linalg._einsum import einsum
from cupy.linalg._norms import trace
from cupy.linalg._product import cross, dot, inner, kron, matmul, outer, tensordot, vdot

__all__ = [name for name in dir() if not name.startswith("_")]
