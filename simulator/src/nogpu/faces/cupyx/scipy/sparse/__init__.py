"""Sparse matrices and arrays: four forms, their products, and the way to dense arrays and back."""

from cupyx.scipy.sparse import _construct, _matrices
from cupyx.scipy.sparse._matrices import get_index_dtype, sparray, spmatrix
from cupyx.scipy.sparse._options import SparseEfficiencyWarning, SparseWarning

from nogpu.faces import missing as _missing

_made = {_kind.__name__: _kind for _kind in _matrices._CLASSES.values()}
_made |= {_name: getattr(_construct, _name) for _name in _construct.__all__}
globals().update(_made)
_spbase = _matrices._spbase
__all__ = ["SparseEfficiencyWarning", "SparseWarning", "get_index_dtype", "sparray", "spmatrix",
           *_made]  # fmt: skip
__getattr__ = _missing.missing(__name__)
