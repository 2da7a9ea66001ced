"""Helpers for views and shapes."""

from cupy.lib import _shape_base, stride_tricks

__all__ = ["_shape_base", "stride_tricks"]
