"""Filters of images."""

from cupyx.scipy.ndimage._filters import (
    convolve,
    convolve1d,
    correlate,
    correlate1d,
    gaussian_filter,
    gaussian_filter1d,
    maximum_filter,
    minimum_filter,
    uniform_filter,
)
from cupyx.scipy.ndimage._measurements import mean, sum, sum_labels  # noqa: A004

from nogpu.faces import missing as _missing

__all__ = [
    "convolve", "convolve1d", "correlate", "correlate1d", "gaussian_filter", "gaussian_filter1d",
    "maximum_filter", "mean", "minimum_filter", "sum", "sum_labels", "uniform_filter",
]
__getattr__ = _missing.missing(__name__)
