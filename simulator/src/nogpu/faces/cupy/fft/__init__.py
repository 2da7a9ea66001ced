"""Discrete Fourier transforms."""

from cupy.fft import _fft, config

from nogpu.faces import table as _table

globals().update(_table.functions_of(_fft))
__all__ = ["config", *_table.functions_of(_fft)]
