"""The version of CuPy whose interface this is."""

__version__ = "14.2.0"
