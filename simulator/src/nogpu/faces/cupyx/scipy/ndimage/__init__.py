"""Filters of images, sums of parts."""

from cupyx.scipy.ndimage import _filters, _measurements

from nogpu.faces import table as _table

_functions = _table.functions_of(_filters, _measurements)
globals().update(_functions)
__all__ = [*_functions]
