"""Matrices: diagonals and triangles."""

from __future__ import annotations

import numpy as np
from cupy import _tables
from cupy._core import core
from cupy._core.core import ndarray
from cupy._creation.from_data import asarray


def diag(v, k=0) -> ndarray:
    """The diagonal of a matrix, or a matrix with this diagonal."""
    if not isinstance(v, ndarray):
        v = core.from_host(np.asarray(v))
    if v.ndim == 1:
        size = v.size + abs(k)
        return core.compute(lambda a: np.diag(a, k), [v], (size, size), v.dtype)
    if v.ndim == 2:
        return v.diagonal(k).copy()
    raise ValueError("Input must be 1- or 2-d.")


def diagflat(v, k=0) -> ndarray:
    """A matrix whose diagonal is the flattened input."""
    return diag(asarray(v).ravel(), k)


def tri(N, M=None, k=0, dtype=float) -> ndarray:
    """Ones at and below a diagonal."""
    M = N if M is None else M
    dtype = core.check_dtype(dtype)
    return core.compute(lambda: np.tri(N, M, k, dtype), [], (N, M), dtype)


def _triangle(name):
    function = getattr(np, name)

    def call(m, k):
        m = asarray(m)
        shape = m.shape if m.ndim > 1 else (m.size, m.size)
        return core.compute(lambda a: function(a, k), [m], shape, m.dtype)

    return call


_tables.functions(globals(), _triangle, """
tril(m, k=0) -> ndarray: The lower triangle.
triu(m, k=0) -> ndarray: The upper triangle.
""")


def vander(x, N=None, increasing=False) -> ndarray:
    """Powers of a vector as columns."""
    return core.compute_now(lambda a: np.vander(a, N, increasing), [asarray(x)])
