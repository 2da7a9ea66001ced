"""Convolution of sequences."""

from __future__ import annotations

import numpy as np

from cupy._statistics.correlation import _slide


def convolve(a, v, mode="full"):
    """Return the convolution of two sequences."""
    return _slide(np.convolve, a, v, mode)
