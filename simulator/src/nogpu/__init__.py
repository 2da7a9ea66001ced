"""CuPy and PyCUDA without a GPU, with the errors that a GPU hides."""

from .finder import install, uninstall

__all__ = ["install", "uninstall"]
