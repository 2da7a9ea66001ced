"""Factors of matrices."""

import numpy as np
from cupy import _host
from cupy.linalg import _util


def cholesky(a):
    """Return the lower factor of each positive definite matrix."""
    dtype = _util.type_of_stacked(a, square=True)
    _util.check("potrf", a, dtype)
    work = _util.each(np.linalg.cholesky)
    return _host.compute(lambda v: work(v.astype(dtype, copy=False)), [a], a.shape, dtype)


def qr(a, mode="reduced"):
    """Return an orthogonal and an upper triangular factor."""
    _util._assert_cupy_array(a)
    if mode not in ("reduced", "complete", "r", "raw"):
        raise ValueError(f"Unrecognized mode '{mode}'")
    _util._assert_stacked_2d(a)
    dtype = _util.linalg_common_type(a)
    *batch, m, n = a.shape
    k = min(m, n)

    def work(v):
        return np.linalg.qr(v.astype(dtype, copy=False), mode=mode)

    if mode == "r":
        return _host.compute(work, [a], (*batch, k, n), dtype)
    if mode == "raw":
        return _host.compute_many(work, [a], [((*batch, n, m), dtype), ((*batch, k), dtype)])
    inner = m if mode == "complete" else k
    return _host.compute_many(
        work, [a], [((*batch, m, inner), dtype), ((*batch, inner, n), dtype)])


def svd(a, full_matrices=True, compute_uv=True):
    """Return U, the singular values downwards, and V transposed."""
    _util._assert_cupy_array(a)
    _util._assert_stacked_2d(a)
    dtype = np.promote_types(a.dtype, np.float32)  # half precision is taken here
    real = _host.real_type(dtype)
    *batch, m, n = a.shape
    k = min(m, n)

    def work(v):
        return np.linalg.svd(v.astype(dtype, copy=False), full_matrices, compute_uv)

    _host.core._wait()  # as the real library does
    if not compute_uv:
        return _host.compute(work, [a], (*batch, k), real)
    rows, columns = (m, n) if full_matrices else (k, k)
    return _host.compute_many(work, [a], [
        ((*batch, m, rows), dtype), ((*batch, k), real), ((*batch, columns, n), dtype)])
