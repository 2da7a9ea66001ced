"""Sparse matrices: two forms, their products, and the way to dense arrays and back."""

from cupyx.scipy.sparse import _matrices

from nogpu.faces import missing as _missing

__all__ = _matrices.__all__
globals().update({_name: getattr(_matrices, _name) for _name in __all__})
__getattr__ = _missing.missing(__name__)
