"""Sparse matrices: two forms, their products, and the way to dense arrays and back."""

from cupyx.scipy.sparse._matrices import (
    coo_matrix,
    csr_matrix,
    eye,
    identity,
    issparse,
    isspmatrix,
    isspmatrix_coo,
    isspmatrix_csr,
    spmatrix,
)

from nogpu.faces import missing as _missing

__all__ = [
    "coo_matrix", "csr_matrix", "eye", "identity", "issparse", "isspmatrix", "isspmatrix_coo",
    "isspmatrix_csr", "spmatrix",
]
__getattr__ = _missing.missing(__name__)
