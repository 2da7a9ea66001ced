"""New arrays: empty, or of one value."""

from __future__ import annotations

import numpy as np
from cupy import _tables
from cupy._core import core
from cupy._core.core import ndarray


def empty(shape, dtype=float, order="C") -> ndarray:
    """Memory that nobody has written."""
    return ndarray(shape, dtype, order=order)


def _constant(name):
    value = int(name == "ones")

    def fill(shape, dtype, order):
        result = core._new(core.check_shape(shape), core.check_dtype(dtype), _order(order))
        target = result._view
        core._enqueue(lambda: target.fill(value), result.nbytes)
        return result

    return fill


zeros, ones = _tables.functions(globals(), _constant, """
zeros(shape, dtype=float, order="C") -> ndarray: Zeros.
ones(shape, dtype=float, order="C") -> ndarray: Ones.
""")


def full(shape, fill_value, dtype=None, order="C") -> ndarray:
    """One value everywhere; its dtype unless another is given."""
    if dtype is None:
        dtype = fill_value.dtype if isinstance(fill_value, (ndarray, np.ndarray, np.generic)) \
            else np.array(fill_value).dtype  # fmt: skip
    result = core._new(core.check_shape(shape), core.check_dtype(dtype), _order(order))
    return _fill(result, fill_value)


def _order(order: str | None) -> str:
    return core.check_order(order or "C", "CF")


def _like(a, dtype, order, subok, shape, unwritten=False) -> ndarray:
    if subok is not None:
        raise TypeError("subok is not supported yet")
    if order.upper() not in ("C", "F", "A", "K"):
        raise ValueError(f"order not understood: {order.upper()}")
    shape = shape or None  # the library's slip: () and 0 count as not given
    if not isinstance(a, ndarray):
        if core._exports(a):
            a = core.from_interface(a)
        else:
            a = np.asarray(a)
            dtype = a.dtype if dtype is None else dtype
            shape = core.check_shape(a.shape if shape is None else shape)
            return core._new(shape, core.check_dtype(dtype), "C", unwritten)
    dtype = core.check_dtype(a.dtype if dtype is None else dtype)
    shape = a.shape if shape is None else core.check_shape(shape)
    return core._new(
        shape, dtype, core.strides_like(a._view, shape, dtype.itemsize, order.upper()), unwritten)


def _fill(result: ndarray, value: object) -> ndarray:
    if isinstance(value, ndarray) and value.ndim:
        result[...] = value
    else:
        result.fill(value)
    return result


_LIKE = {
    "empty_like": lambda *like: _like(*like, unwritten=True),
    "zeros_like": lambda *like: _fill(_like(*like), 0),
    "ones_like": lambda *like: _fill(_like(*like), 1),
}
_tables.functions(globals(), _LIKE.get, """
empty_like(prototype, dtype=None, order="K", subok=None, shape=None) -> ndarray:
    Memory of the shape and dtype of another array.
zeros_like(a, dtype=None, order="K", subok=None, shape=None) -> ndarray:
    Zeros of the shape and dtype of another array.
ones_like(a, dtype=None, order="K", subok=None, shape=None) -> ndarray:
    Ones of the shape and dtype of another array.
""")


def full_like(a, fill_value, dtype=None, order="K", subok=None, shape=None) -> ndarray:
    """One value, in the shape and dtype of another array."""
    return _fill(_like(a, dtype, order, subok, shape), fill_value)


def eye(N, M=None, k=0, dtype=float, order="C") -> ndarray:
    """Ones on a diagonal."""
    M = N if M is None else M
    result = zeros((N, M), dtype, order)
    return core.compute(lambda: np.eye(N, M, k, result.dtype), [], result.shape, None, result)


def identity(n, dtype=float) -> ndarray:
    """Ones on the main diagonal of a square."""
    return eye(n, dtype=dtype)
