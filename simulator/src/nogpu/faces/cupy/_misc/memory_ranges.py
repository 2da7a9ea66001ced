"""Whether arrays share memory."""

import numpy as np
from cupy._misc.byte_bounds import byte_bounds


def may_share_memory(a, b, max_work=None):
    """Return whether the ranges of memory from first to last byte overlap."""
    if not a.size or not b.size:
        return False
    (a_low, a_high), (b_low, b_high) = byte_bounds(a), byte_bounds(b)
    return a_low < b_high and b_low < a_high


def shares_memory(a, b, max_work=None):
    """Return whether any byte belongs to both."""
    return bool(may_share_memory(a, b) and np.shares_memory(a._view, b._view))
