"""Convolution and correlation of signals."""

from cupyx.scipy._missing import missing
from cupyx.scipy.signal._signaltools import (
    convolve,
    convolve2d,
    correlate,
    correlate2d,
    fftconvolve,
    oaconvolve,
)

__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "fftconvolve", "oaconvolve"]
__getattr__ = missing(__name__)
