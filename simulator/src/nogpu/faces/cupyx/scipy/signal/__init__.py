"""Convolution and correlation of signals."""

from cupyx.scipy.signal._signaltools import (
    convolve,
    convolve2d,
    correlate,
    correlate2d,
    fftconvolve,
    oaconvolve,
)

from nogpu.faces import missing as _missing

__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "fftconvolve", "oaconvolve"]
__getattr__ = _missing.missing(__name__)
