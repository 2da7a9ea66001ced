"""Sparse matrices and arrays: three forms, their products, and the way to dense arrays and back."""

from cupyx.scipy.sparse import _construct, _matrices
from cupyx.scipy.sparse._matrices import sparray, spmatrix


class SparseWarning(Warning):
    """Something about a sparse matrix."""


class SparseEfficiencyWarning(SparseWarning):
    """Something that takes long with sparse matrices."""


_made = {_kind.__name__: _kind for _kind in _matrices._CLASSES.values()}
_made |= {_name: getattr(_construct, _name) for _name in _construct.__all__}
globals().update(_made)
_spbase = _matrices._spbase
__all__ = ["SparseEfficiencyWarning", "SparseWarning", "sparray", "spmatrix",
           *_made]  # fmt: skip
