"""Whether a kernel's result is what the specification says."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from .. import backend
from .store import PIECE

# Relative tolerances where none is given: a few dozen roundings.
RTOL = {"float16": 1e-2, "float32": 1e-5, "float64": 1e-12}


def difference(got: np.ndarray, expected: np.ndarray, rtol: float | None,
               atol: float) -> str | None:
    """Say how `got` differs from `expected` of the same shape; None where it does not.

    Numbers agree when they differ by no more than `atol + rtol * abs(expected)`; nan agrees with
    nan, an infinity with itself, integers with equal ones.
    """
    if rtol is None:
        rtol = RTOL.get(got.dtype.name, 0.0)
    one, other = got.reshape(-1), np.ascontiguousarray(expected).reshape(-1)
    step = PIECE // got.itemsize

    def wrong(at: int) -> np.ndarray:
        g, e = one[at:at + step], other[at:at + step]
        same = g == e
        if same.all():
            return np.empty(0, np.intp)
        if got.dtype.kind in "fc":
            same |= np.isclose(g, e, rtol=rtol, atol=atol, equal_nan=True)
        return at + np.flatnonzero(~same)

    with ThreadPoolExecutor(backend.cores()) as pool:  # NumPy frees the interpreter meanwhile
        found = list(pool.map(wrong, range(0, one.size, step)))
    count = sum(places.size for places in found)
    if not count:
        return None
    first = next(places[0] for places in found if places.size)
    index = ", ".join(map(str, np.unravel_index(first, got.shape)))
    verb = "is" if count == 1 else "are"
    return (f"{count:,} of {one.size:,} numbers {verb} wrong, the first at [{index}]:"
            f" {one[first]} instead of {other[first]}")
