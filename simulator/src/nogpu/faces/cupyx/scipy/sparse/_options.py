"""Warnings of sparse matrices."""

import warnings


class SparseWarning(Warning):
    """Something about a sparse matrix."""


class SparseEfficiencyWarning(SparseWarning):
    """Something that takes long with sparse matrices."""


def warn(text):
    """Warn of a name that goes away."""
    warnings.warn(text, DeprecationWarning, stacklevel=3)
