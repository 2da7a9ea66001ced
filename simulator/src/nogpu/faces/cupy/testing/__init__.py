"""Assertions across libraries, and arrays to test with."""

from cupy.testing import _array, _random, _shaped

from nogpu.faces import table as _table

_functions = _table.functions_of(_array, _random, _shaped)
globals().update(_functions)
__all__ = [*_functions]
