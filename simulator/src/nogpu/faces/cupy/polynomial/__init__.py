"""Polynomials, the lowest power first."""

from cupy.polynomial import polynomial, polyutils

from nogpu.faces import missing as _missing

__all__ = ["polynomial", "polyutils"]

__getattr__ = _missing.missing(__name__)
