"""Eigenvalues and eigenvectors."""

import numpy as np
from cupy import _host, _tables
from cupy.linalg import _util


def _eigen(name):
    function, vectors = getattr(np.linalg, name), "vals" not in name

    def call(a, *uplo):
        dtype = _util.type_of_stacked(a, square=True)
        if uplo and uplo[0] not in ("L", "U"):
            raise ValueError("UPLO argument must be 'L' or 'U'")
        of_values = _host.real_type(dtype) if uplo else np.result_type(dtype, np.complex64)
        layouts = [(a.shape[:-1], of_values), (a.shape, dtype if uplo else of_values)]

        def work(v):
            return function(v.astype(dtype, copy=False), *uplo)

        if vectors:
            return _host.compute_many(work, [a], layouts)
        return _host.compute(work, [a], *layouts[0])

    return call


_tables.functions(globals(), _eigen, """
eigh(a, UPLO="L"): Return the eigenvalues of symmetric matrices, upwards, and their vectors.
eigvalsh(a, UPLO="L"): Return the eigenvalues of symmetric matrices, upwards.
eig(a): Return the eigenvalues and vectors of any square matrices, as complex numbers.
eigvals(a): Return the eigenvalues of any square matrices, as complex numbers.
""")
