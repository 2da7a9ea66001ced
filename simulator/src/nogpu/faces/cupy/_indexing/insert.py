"""Elements put by indices."""

from __future__ import annotations

import numpy as np
from cupy._core import core
from cupy._core.core import _SCALARS, ndarray
from cupy._creation.from_data import asarray


def put(a, ind, v, mode="wrap") -> None:
    """Set elements by flat index; indices wrap around or are clipped."""
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError("clipmode not understood")
    a = core._checked(a, "a")
    values = v if isinstance(v, ndarray) else asarray(v, a.dtype)
    partly, index, values = a._view, asarray(ind)._view, values._view
    if mode == "raise":  # the host has to look
        core._wait()
        if values.size and ((index < -partly.size) | (index >= partly.size)).any():
            raise IndexError("invalid entry in indices array")

    def work() -> None:
        if partly.size:
            np.put(partly, index, core.convert(values, partly.dtype), mode)

    core._enqueue(work, values.nbytes)


def place(arr, mask, vals) -> None:
    """Set elements where a mask is true, in their order."""
    mask, vals = asarray(mask), asarray(vals)
    if arr.size != mask.size:
        raise ValueError("Mask and data must be the same size.")
    core._wait()
    if not mask._view.any():
        return
    if not vals.size:
        raise ValueError("Cannot insert from an empty array.")
    np.place(core._argument(arr)._view, mask._view.reshape(arr.shape), vals._view)


def putmask(a, mask, values) -> None:
    """Set elements where a mask is true."""
    if not isinstance(a, ndarray):
        raise TypeError("`a` should be of type cupy.ndarray")
    mask = core._argument(mask)
    if mask.dtype != bool:
        mask = mask.astype(bool)
    if a.shape != mask.shape:
        raise ValueError("mask and data must be the same size")
    source = np.asarray(values) if isinstance(values, _SCALARS) else core._argument(values)._view
    if isinstance(values, ndarray) and not np.can_cast(values.dtype, a.dtype):
        raise TypeError(f"Cannot cast array data from {values.dtype!r} to {a.dtype!r} according "
                        "to the rule 'safe'")  # fmt: skip
    partly, where = a._view, mask._view
    core._enqueue(lambda: np.putmask(partly, where, core.convert(source, partly.dtype)), a.nbytes)


def fill_diagonal(a, val, wrap=False) -> None:
    """Set the diagonal."""
    source = np.asarray(val) if isinstance(val, (*_SCALARS, list)) else core._argument(val)._view
    partly = core._checked(a, "a")._view
    if partly.ndim < 2:
        raise ValueError("array must be at least 2-d")
    core._enqueue(lambda: np.fill_diagonal(partly, source, wrap), 0)


def put_along_axis(arr, indices, values, axis) -> None:
    """Set one element each along an axis."""
    partly, index = core._argument(arr)._view, core._argument(indices)._view
    source = np.asarray(values) if isinstance(values, _SCALARS) else core._argument(values)._view
    core._enqueue(lambda: np.put_along_axis(partly, index, source, axis), partly.nbytes)
