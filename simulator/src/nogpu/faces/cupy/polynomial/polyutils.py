"""What polynomials of every kind need."""

import numpy as np
from cupy import _host


def trimseq(seq):
    """Return a view without the zeros of the highest powers; it waits."""
    if seq.size == 0:
        return seq
    places = np.flatnonzero(_host.look(seq))
    return seq[:int(places[-1]) + 1 if places.size else 1]


def as_series(alist, trim=True):
    """Return vectors of one type, trimmed."""
    arrays = [_host.argument(a) for a in alist]
    for a in arrays:
        if a.size == 0:
            raise ValueError("Coefficient array is empty")
        if a.ndim > 1:
            raise ValueError("Coefficient array is not 1-d")
    dtype = np.result_type(*(_host.floating(a.dtype) for a in arrays))
    flat = [a.reshape((-1,)) for a in arrays]
    return [_host.copy(trimseq(a) if trim else a, dtype) for a in flat]


def trimcoef(c, tol=0):
    """Return the coefficients without the highest ones that are no larger than ``tol``."""
    if tol < 0:
        raise ValueError("tol must be non-negative")
    places = np.flatnonzero(np.abs(_host.look(_host.argument(c))) > tol)
    return c[:int(places[-1]) + 1].copy() if places.size else c[:1] * 0
