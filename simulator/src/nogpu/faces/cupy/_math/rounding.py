"""Rounding."""

from __future__ import annotations

import numpy as np
from cupy._core import core
from cupy._math.ufuncs import UFUNCS


def around(a, decimals=0, out=None):
    """Round half to even."""
    a = core._argument(a)
    if out is None:
        return core.compute(lambda x: np.round(x, decimals), [a], a.shape, a.dtype)
    target, view = out._view, a._view

    def work() -> None:
        target[...] = np.round(view, decimals)

    core._enqueue(work, a.nbytes)
    return out


round = round_ = around  # noqa: A001


def fix(x, out=None):
    """Round towards zero."""
    return UFUNCS["trunc"](x, out=out)
