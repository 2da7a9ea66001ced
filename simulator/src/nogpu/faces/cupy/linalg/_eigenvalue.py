"""Eigenvalues and eigenvectors."""

import numpy as np
from cupy import _host
from cupy.linalg import _util


def _checked(a, UPLO=None):
    dtype = _util.type_of_stacked(a, square=True)
    if UPLO not in (None, "L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return dtype


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
