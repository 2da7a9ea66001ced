"""Convolution and correlation of signals, the chirp z-transform."""

from cupyx.scipy.signal import _czt, _signaltools

from nogpu.faces import table as _table

_functions = _table.functions_of(_czt, _signaltools)
globals().update(_functions)
__all__ = [*_functions]
