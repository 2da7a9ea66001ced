"""Copies between arrays."""

from __future__ import annotations

import numpy as np
from cupy._core import core
from cupy._core.core import _SCALARS, ndarray


def copyto(dst, src, casting="same_kind", where=None) -> None:
    """Copy values, broadcast and cast; only where a mask is true."""
    if not isinstance(dst, ndarray):
        raise TypeError(f"Unsupported type {type(dst)}")
    if isinstance(src, _SCALARS):
        source = np.asarray(src)
        fits = np.can_cast(np.result_type(dst.dtype, src), dst.dtype, casting)
    else:
        src = core._argument(src)
        source, fits = src._view, np.can_cast(src.dtype, dst.dtype, casting)
    if not fits:
        raise TypeError(
            f"Cannot cast {getattr(src, 'dtype', type(src))!s} to {dst.dtype!s} in {casting} "
            "casting mode"
        )
    if where is not None:
        where = core._argument(where)._view if not isinstance(where, bool) else np.asarray(where)
    if dst.size == 0:
        return
    if source.ndim > dst.ndim:
        source = source.reshape(source.shape[source.ndim - dst.ndim :])
    np.broadcast_shapes(source.shape, dst.shape)
    view, dtype = dst._view, dst.dtype

    def work() -> None:
        with np.errstate(all="ignore"):
            if where is None:
                np.copyto(view, core.convert(source, dtype), casting="unsafe")
            else:
                np.copyto(view, core.convert(source, dtype), where=where, casting="unsafe")

    core._enqueue(work, max(dst.nbytes, source.nbytes))
