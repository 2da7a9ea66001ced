"""Helpers for views and shapes."""

from cupy.lib import _shape_base, stride_tricks

from nogpu.faces import missing as _missing

__all__ = ["_shape_base", "stride_tricks"]

__getattr__ = _missing.missing(__name__)
