"""The functions of `cupy` that live in the libraries of routines."""

from cupy._statistics.order import amax, amin

max, min = amax, amin  # noqa: A001

__all__ = [name for name in dir() if not name.startswith("_")]
