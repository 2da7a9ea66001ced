"""Linear algebra."""

from cupy.linalg import _decomposition, _eigenvalue, _norms, _solve
from cupy.linalg._product import cross, matmul, matrix_power, matrix_transpose
from numpy.linalg import LinAlgError

from nogpu.faces import table as _table

_functions = _table.functions_of(_decomposition, _eigenvalue, _norms, _solve)
del _functions["trace"]
globals().update(_functions)
__all__ = ["LinAlgError", "cross", "matmul", "matrix_power", "matrix_transpose", *_functions]
