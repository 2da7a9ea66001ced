"""Rounding."""

import numpy as np
from cupy import _tables
from cupy._core import core
from cupy._core._fusion_thread_local import fusable
from cupy._creation.from_data import asarray
from cupy._math.ufuncs import UFUNCS


@fusable
def around(a, decimals=0, out=None):
    """Round half to even."""
    a = asarray(a)
    dtype = np.dtype(np.float16) if a.dtype == bool else a.dtype
    if out is not None:
        core.check_cast(dtype, core._argument(out).dtype, "same_kind", "output operand")
    return core.compute(lambda x: np.round(x.astype(dtype, copy=False), decimals), [a], a.shape,
                        dtype, out)  # fmt: skip


round = around  # noqa: A001
round_ = _tables.deprecated(around, "Please use `round` instead.")


def fix(x, out=None):
    """Round towards zero."""
    return UFUNCS["trunc"](x, out=out)
