"""Polynomials, the lowest power first."""

from cupy.polynomial import polynomial, polyutils

__all__ = ["polynomial", "polyutils"]
