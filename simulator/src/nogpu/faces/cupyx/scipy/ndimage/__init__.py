"""Filters of images, images moved and resized, sums of parts."""

from cupyx.scipy.ndimage import _filters, _interpolation, _measurements

from nogpu.faces import table as _table

_functions = _table.functions_of(_filters, _interpolation, _measurements)
globals().update(_functions)
__all__ = [*_functions]
