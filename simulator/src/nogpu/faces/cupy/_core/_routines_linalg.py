"""Products of arrays, as operators and methods call them."""

import numpy as np
from cupy import _host
from cupy._core import core

MISMATCH = "Axis dimension mismatch"
LEAST_INNER = 32  # shorter sums of integers are left to NumPy
MOST_INNER = 2**19  # four products of 16-bit numbers, so many times, stay below 2**53


def _for_gemm(a, dtype):
    """Copy what a matrix product cannot read: neither order, or another type."""
    if a.dtype == dtype and (a.flags.c_contiguous or a.flags.f_contiguous):
        return a
    return _host.copy(a, dtype)


def _product_of_integers(x, y, dtype):
    """Multiply by floating-point products of 16-bit parts, each of them exact.

    NumPy's own loop for integers is many times slower than BLAS. Overflow wraps, as there.
    """
    bits = 8 * dtype.itemsize
    unsigned = np.dtype(f"u{dtype.itemsize}")
    count = max(bits // 16, 1)

    def parts(v):
        v = v.astype(dtype).view(unsigned)
        return [((v >> (16 * i)) & 0xFFFF).astype(np.float64) if count > 1
                else v.astype(np.float64) for i in range(count)]

    left, right = parts(x), parts(y)
    total = np.zeros((), np.uint64)
    for shift in range(count):
        terms = sum(np.matmul(left[i], right[shift - i]) for i in range(shift + 1))
        total = total + (terms.astype(np.uint64) << np.uint64(16 * shift))
    return total.astype(unsigned).view(dtype)


def _fits(a, b, shape, out):
    """Whether NumPy's product has the result's shape as it is."""
    if min(a.ndim, b.ndim) < 2:
        return False
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return (*batch, a.shape[-2], b.shape[-1]) == shape == out.shape


def _matmul_into(a, b, out):
    """Queue a product whose result NumPy writes in place."""
    x, y, target = a._view, b._view, out._view
    core._enqueue(lambda: np.matmul(x, y, out=target), a.nbytes + b.nbytes + out.nbytes,
                  name="matmul", asks=False)  # fmt: skip
    return out


def _product(a, b, shape, dtype, out=None):
    work = _host.wide(dtype)
    inner = a.shape[-1]
    if dtype.kind in "iu" and LEAST_INNER <= inner < MOST_INNER:
        return _host.compute(
            lambda x, y: _product_of_integers(x, y, dtype).reshape(shape),
            [a, b], shape, dtype, out, asks=False)

    if out is not None and work == a.dtype == b.dtype == out.dtype and _fits(a, b, shape, out):
        return _matmul_into(a, b, out)

    def matmul(x, y):
        return np.matmul(x.astype(work, copy=False), y.astype(work, copy=False)).reshape(shape)

    return _host.compute(matmul, [a, b], shape, dtype, out, asks=False)


def dot(a, b, out=None):
    """Return the product of the last axis of a with the last but one of b."""
    _host.typed(a, "a")
    _host.typed(b, "b")
    dtype = np.promote_types(a.dtype, b.dtype)
    if out is not None:
        _host.typed(out, "out")
        if out.dtype != dtype:
            raise ValueError("Not supported dtype combination.")
        if not out.flags.c_contiguous:
            raise ValueError("Output array must be C-contiguous")
    if a.ndim == 0 or b.ndim == 0:
        return _host.compute(
            lambda x, y: np.multiply(x, y, dtype=dtype), [a, b], a.shape or b.shape, dtype, out)
    other = max(b.ndim - 2, 0)
    if a.shape[-1] != b.shape[other]:
        raise ValueError(MISMATCH)
    return tensordot_core(a, b, (a.ndim - 1,), (other,), dtype, out)


def tensordot_core(a, b, a_axes, b_axes, dtype, out=None):
    """Contract the axes given; they must fit."""
    a_free = [i for i in range(a.ndim) if i not in a_axes]
    b_free = [i for i in range(b.ndim) if i not in b_axes]
    shape = tuple(a.shape[i] for i in a_free) + tuple(b.shape[i] for i in b_free)
    inner = _host.size_of([a.shape[i] for i in a_axes])
    rows = _host.size_of([a.shape[i] for i in a_free])
    columns = _host.size_of([b.shape[i] for i in b_free])
    left = a.transpose(tuple([*a_free, *a_axes])).reshape(rows, inner)
    right = b.transpose(tuple([*b_axes, *b_free])).reshape(inner, columns)
    if dtype.kind in "fc":
        left, right = _for_gemm(left, dtype), _for_gemm(right, dtype)
    return _product(left, right, shape, dtype, out)


def matmul(a, b, out=None):
    """Return the product of matrices, their batches broadcast."""
    _host.typed(a, "a")
    _host.typed(b, "b")
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError("Scalar operands are not allowed, use '*' instead")
    dtype = np.promote_types(a.dtype, b.dtype)
    if a.shape[-1] != b.shape[max(b.ndim - 2, 0)]:
        raise ValueError(MISMATCH)
    rows, columns = a.shape[-2:-1], b.shape[-1:] if b.ndim > 1 else ()
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    shape = (*batch, *rows, *columns)
    if out is not None and _host.typed(out, "out").shape != shape:
        raise ValueError("Output array has an invalid size")
    if out is not None:
        core.check_cast(dtype, out.dtype, "same_kind", "out dtype")
    if max(a.ndim, b.ndim) > 2:  # a batched product reads rows that lie one after the other
        a, b = _host.contiguous(a, dtype), _host.contiguous(b, dtype)
    elif dtype.kind in "fc":
        a, b = _for_gemm(a, dtype), _for_gemm(b, dtype)
    return _product(a, b, shape, dtype, out)
