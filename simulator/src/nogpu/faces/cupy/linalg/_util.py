"""Checks and types that the solvers share."""

from __future__ import annotations

import numpy as np
from cupy import _host
from cupyx._ufunc_config import geterr
from numpy.linalg import LinAlgError


def _assert_cupy_array(*arrays):
    for a in arrays:
        if not _host.is_array(a):
            raise LinAlgError(
                f"cupy.linalg only supports cupy.ndarray, got {type(a).__module__}."
                f"{type(a).__qualname__}")


def _refusal(wrong, text):
    def check(*arrays):
        for a in arrays:
            if wrong(a):
                raise LinAlgError(text.format(a))

    return check


_given = "{0.ndim}-dimensional array given. Array must be "
_assert_2d = _refusal(lambda a: a.ndim != 2, _given + "two-dimensional")
_assert_stacked_2d = _refusal(lambda a: a.ndim < 2, _given + "at least two-dimensional")
_assert_stacked_square = _refusal(
    lambda a: a.shape[-2] != a.shape[-1], "Last 2 dimensions of the array must be square")


def linalg_common_type(*arrays, reject_float16=True):
    """Return the type to compute in: single or double, real or complex."""
    types = [a.dtype for a in arrays]
    if reject_float16 and any(kind.char == "e" for kind in types):
        raise TypeError("float16 is unsupported in linalg")
    return np.result_type(*(_host.wide(_host.floating(kind)) for kind in types))


def type_of_stacked(a, square=False) -> np.dtype:
    """Return the type to compute in, once it is an array of (square) matrices."""
    _assert_cupy_array(a)
    _assert_stacked_2d(a)
    if square:
        _assert_stacked_square(a)
    return linalg_common_type(a)


def raises() -> bool:
    """Whether `cupyx.errstate(linalg="raise")` asks for exceptions."""
    return geterr().get("linalg") == "raise"


def check(name, a, dtype):
    """Raise for a matrix that ``getrf`` or ``potrf`` cannot take apart, where exceptions are
    wanted: a singular one, or one that is not positive definite; this waits."""
    if not raises():
        return
    find = {"getrf": _zero_pivot, "potrf": _minor}[name]
    info = [find(one) for one in _host.look(a).astype(dtype).reshape(-1, *a.shape[-2:])]
    if any(info):
        letter = {"f": "s", "d": "d", "F": "c", "D": "z"}[np.dtype(dtype).char]
        raise LinAlgError(
            f"Error reported by {letter}{name} in cuSOLVER. devInfo = {info}. "
            "Please refer to the cuSOLVER documentation.")


def _zero_pivot(matrix) -> int:
    """Return the number of the first pivot that is zero, counted from one, or zero."""
    left = matrix.copy()
    for i in range(len(left)):
        best = i + int(np.argmax(np.abs(left[i:, i])))
        if left[best, i] == 0:
            return i + 1
        left[[i, best]] = left[[best, i]]
        left[i + 1:] -= np.outer(left[i + 1:, i] / left[i, i], left[i])
    return 0


def _minor(matrix) -> int:
    for n in range(1, len(matrix) + 1):
        try:
            np.linalg.cholesky(matrix[:n, :n])
        except LinAlgError:
            return n
    return 0


def each(function, failed=np.nan):
    """Apply a NumPy function to stacked matrices; those that it refuses become ``failed``."""

    def apply(v, *others):
        try:
            return function(v, *others)
        except LinAlgError:
            pass
        batch = v.shape[:-2]
        if not batch:
            shape = function(np.broadcast_to(np.eye(v.shape[-1], dtype=v.dtype), v.shape), *others)
            return np.full_like(shape, failed)
        parts = [
            apply(v[i], *[other[i] for other in others]) for i in range(batch[0])
        ]
        return np.stack(parts)

    return apply
