"""Counting."""

import numpy as np
from cupy import _host


def count_nonzero(a, axis=None):
    """Count what is not zero, over all or along axes."""
    a = _host.asarray(a)
    axes = _host.axes_of(axis, a.ndim)
    return _host.compute(
        lambda v: np.count_nonzero(v, axis=axes), [a], _host.reduced(a.shape, axes, False),
        np.int64)
