"""Arrays as text: NumPy's, of the values copied to the host."""

from __future__ import annotations

import numpy as np
from cupy import _host


def _values(x):
    return _host.look(x) if _host.is_array(x) else np.asarray(x)


def array_repr(arr, max_line_width=None, precision=None, suppress_small=None):
    """Return what `repr` gives, with parameters."""
    return np.array_repr(_values(arr), max_line_width, precision, suppress_small)


def array_str(arr, max_line_width=None, precision=None, suppress_small=None):
    """Return what `str` gives, with parameters."""
    return np.array_str(_values(arr), max_line_width, precision, suppress_small)


def array2string(a, *args, **kwargs):
    """Return a text of an array, with NumPy's parameters."""
    return np.array2string(_values(a), *args, **kwargs)
