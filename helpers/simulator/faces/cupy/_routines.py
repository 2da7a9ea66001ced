"""The functions of `cupy` that live in the libraries of routines."""

from cupy._math._convolve import convolve
from cupy._sorting.count import count_nonzero
from cupy._sorting.search import (
    argmax,
    argmin,
    argwhere,
    extract,
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
from cupy._statistics.order import amax, amin, nanmax, nanmin, percentile, ptp, quantile
from cupy.linalg._einsum import einsum
from cupy.linalg._product import (
    cross,
    dot,
    inner,
    kron,
    matmul,
    matrix_transpose,
    outer,
    tensordot,
    trace,
    vdot,
)

max, min = amax, amin  # noqa: A001

__all__ = [name for name in dir() if not name.startswith("_")]
