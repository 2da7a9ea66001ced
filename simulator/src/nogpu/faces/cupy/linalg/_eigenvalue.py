"""Eigenvalues and eigenvectors."""

from __future__ import annotations

import numpy as np
from cupy import _host
from cupy.linalg import _util


def _checked(a, UPLO=None):
    _util._assert_cupy_array(a)
    _util._assert_stacked_2d(a)
    _util._assert_stacked_square(a)
    if UPLO is not None and UPLO not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return _util.linalg_common_type(a)


def eigh(a, UPLO="L"):
    """Return the eigenvalues of symmetric matrices, upwards, and their vectors."""
    dtype = _checked(a, UPLO)
    layouts = [(a.shape[:-1], _host.real_type(dtype)), (a.shape, dtype)]
    return _host.compute_many(
        lambda v: np.linalg.eigh(v.astype(dtype, copy=False), UPLO), [a], layouts)


def eigvalsh(a, UPLO="L"):
    """Return the eigenvalues of symmetric matrices, upwards."""
    dtype = _checked(a, UPLO)
    return _host.compute(
        lambda v: np.linalg.eigvalsh(v.astype(dtype, copy=False), UPLO),
        [a], a.shape[:-1], _host.real_type(dtype))


def eig(a):
    """Return the eigenvalues and vectors of any square matrices, as complex numbers."""
    dtype = np.result_type(_checked(a), np.complex64)
    return _host.compute_many(
        lambda v: np.linalg.eig(v.astype(_host.floating(v.dtype), copy=False)),
        [a], [(a.shape[:-1], dtype), (a.shape, dtype)])


def eigvals(a):
    """Return the eigenvalues of any square matrices, as complex numbers."""
    dtype = np.result_type(_checked(a), np.complex64)
    return _host.compute(
        lambda v: np.linalg.eigvals(v.astype(_host.floating(v.dtype), copy=False)),
        [a], a.shape[:-1], dtype)
