"""Special functions."""

from cupyx.scipy.special import _elementwise, _logsumexp

from nogpu.faces import table as _table

_functions = _table.functions_of(_elementwise, _logsumexp)
globals().update(_functions)
__all__ = [*_functions]
