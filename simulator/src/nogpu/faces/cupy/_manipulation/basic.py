"""Copies between arrays."""

from __future__ import annotations

import numpy as np
from cupy._core import core
from cupy._core._fusion_thread_local import fusable
from cupy._core.core import ndarray


@fusable
def copyto(dst, src, casting="same_kind", where=None) -> None:
    """Copy values, broadcast and cast; only where a mask is true."""
    if not isinstance(dst, ndarray):
        raise TypeError(f"Unsupported type {type(dst)}")
    if type(src) in (bool, int, float, complex):
        source, fits = np.empty((), dst.dtype), True
        with np.errstate(all="ignore"):
            np.copyto(source, src, casting)  # refuses what does not fit
    elif isinstance(src, (np.ndarray, np.generic)):
        if src.size != 1:
            raise ValueError("non-scalar numpy.ndarray cannot be used for copyto")
        source, fits = np.asarray(src).reshape(()), np.can_cast(src.dtype, dst.dtype, casting)
    else:
        src = core._argument(src)
        source, fits = src._view, np.can_cast(src.dtype, dst.dtype, casting)
    if not fits:
        raise TypeError(
            f"Cannot cast {src.dtype!s} to {dst.dtype!s} in {casting} "
            "casting mode")
    if where is not None:
        scalar = isinstance(where, core._SCALARS)
        where = np.asarray(bool(where)) if scalar else core._argument(where)._view
        core.check_cast(where.dtype, np.dtype(bool), "safe")
    extra = max(source.ndim - dst.ndim, 0)
    if any(n not in (m, 1) for n, m in zip(source.shape[::-1], dst.shape[::-1])) or any(
            n != 1 for n in source.shape[:extra]):
        raise ValueError(f"could not broadcast input array from shape {source.shape} into shape "
                         f"{dst.shape}")  # fmt: skip
    if dst.size == 0:
        return
    if source.ndim > dst.ndim:
        source = source.reshape(source.shape[source.ndim - dst.ndim :])
    if where is None and isinstance(src, ndarray):
        core._fill_from(dst, core._wrap(source, src))
        return
    target, dtype = dst._view, dst.dtype
    where = True if where is None else where
    core._enqueue(
        lambda: np.copyto(target, core.convert(source, dtype), where=where, casting="unsafe"),
        max(dst.nbytes, source.nbytes))
