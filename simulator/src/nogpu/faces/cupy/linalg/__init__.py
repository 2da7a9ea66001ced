"""Linear algebra."""

from cupy.linalg._decomposition import cholesky, qr, svd
from cupy.linalg._eigenvalue import eig, eigh, eigvals, eigvalsh
from cupy.linalg._norms import cond, det, matrix_rank, norm, slogdet
from cupy.linalg._product import cross, matmul, matrix_power, matrix_transpose
from cupy.linalg._solve import inv, lstsq, pinv, solve, tensorinv, tensorsolve
from numpy.linalg import LinAlgError

from nogpu.faces import missing as _missing

__all__ = [
    "LinAlgError", "cholesky", "cond", "cross", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv",
    "lstsq", "matmul", "matrix_power", "matrix_rank", "matrix_transpose", "norm", "pinv", "qr",
    "slogdet", "solve", "svd", "tensorinv", "tensorsolve",
]
__getattr__ = _missing.missing("cupy.linalg")
