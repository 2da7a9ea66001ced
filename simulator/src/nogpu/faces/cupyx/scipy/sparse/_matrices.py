"""Sparse matrices and arrays: compressed rows or columns, coordinates, diagonals.

The work is done on the host (`nogpu.engine.sparse`), for which each operation waits.
"""

from __future__ import annotations

import math
import operator

import cupy
import numpy as np
from cupy import _host
from cupyx.scipy.sparse import _options

from nogpu.engine import sparse as entries
from nogpu.faces import missing as _missing
from nogpu.faces import table

TYPES = "?fdFD"
_NAMES = {"csr": "Compressed Sparse Row", "csc": "Compressed Sparse Column",
          "coo": "COOrdinate", "dia": "DIAgonal"}  # fmt: skip


def _check(dtype) -> np.dtype:
    dtype = np.dtype(dtype)
    if dtype.char not in TYPES:
        raise ValueError("Only bool, float32, float64, complex64 and complex128 are supported")
    return dtype


def _wide(dtype) -> np.dtype:
    """The type that a result is stored in: float64 for integers."""
    dtype = np.dtype(dtype)
    return dtype if dtype.char in TYPES else np.dtype(np.float64 if dtype.kind != "c" else "D")


def get_index_dtype(arrays=(), maxval=None, check_contents=False):
    """Return int32 where all indices fit into it, otherwise int64."""
    limit = np.iinfo(np.int32).max
    if maxval is not None and maxval > limit:
        return np.int64
    for one in arrays if isinstance(arrays, (tuple, list)) else (arrays,):
        if np.can_cast(one.dtype, np.int32):
            continue
        values = _host.on_host(one) if check_contents else None
        if values is None or values.size and (values.max() > limit or values.min() < ~limit):
            return np.int64
    return np.int32


class _spbase:
    """What all forms share."""

    __array_priority__ = 101
    format, ndim = "", 2

    def __getattr__(self, name):
        kind = type(self).__name__
        raise _missing.error(f"cupyx.scipy.sparse.{kind}", name, f"'{kind}' object")

    # what it is made from

    def __init__(self, arg1, shape=None, dtype=None, copy=False, *, maxprint=50):
        self.maxprint = maxprint
        if shape is not None:
            shape = _shape(shape)
        if isinstance(arg1, tuple) and len(arg1) == self._parts and not np.isscalar(arg1[0]):
            self._take_parts(arg1, shape, dtype)
            return
        triple, found, kinds = _coordinates(arg1, shape)
        if dtype is None:
            _check(triple[0].dtype)
        else:
            triple = (triple[0].astype(_check(dtype)), *triple[1:])
        self._shape = shape or found
        self._store(triple, self._index_type(kinds))

    def _index_type(self, kinds=()):
        """The type of new indices: sparse arrays keep int64, matrices only where it is needed."""
        wide = max(self._shape, default=0) > np.iinfo(np.int32).max
        keep = isinstance(self, sparray) and any(np.dtype(k).itemsize == 8 for k in kinds)
        return np.dtype(np.int64 if wide or keep else np.int32)

    def _indices(self, *arrays):
        """Index arrays in one type, the smallest that holds them for a matrix."""
        arrays = [_host.asarray(x) for x in arrays]
        contents = not isinstance(self, sparray)
        kind = get_index_dtype(arrays, max(self._shape), contents)
        return [x if x.dtype == kind else x.astype(kind) for x in arrays]

    @classmethod
    def _from_parts(cls, *parts, **how):
        """Make one from arrays that are taken as they are: its parts, then the shape."""
        *parts, shape = parts
        new = object.__new__(cls)
        new.maxprint, new._shape = how.get("maxprint", 50), tuple(shape)
        for name, part in zip(cls._stored, parts):
            setattr(new, name, part)
        return new

    def _of(self, triple, shape=None, format=None, array=None):  # noqa: A002
        """A matrix or array as this one, of other entries."""
        array = isinstance(self, sparray) if array is None else array
        kind = _CLASSES[format or (self.format if self.format != "dia" else "csr"), array]
        new = object.__new__(kind)
        new.maxprint, new._shape = 50, self._shape if shape is None else shape
        own = [getattr(self, name).dtype for name in self._stored[1:]]
        values = triple[0]
        wide = any(kind.itemsize == 8 for kind in own) or max(new._shape) > 2**31 - 1
        new._store((values.astype(_wide(values.dtype), copy=False), *triple[1:]),
                   np.dtype(np.int64 if wide else np.int32))  # fmt: skip
        return new

    # properties

    @property
    def shape(self):
        """Rows and columns."""
        return self._shape

    @property
    def dtype(self):
        """The type of the values."""
        return self.data.dtype

    @property
    def nnz(self):
        """How many values are stored."""
        return self._getnnz()

    size = nnz

    def _getnnz(self, axis=None):
        if axis is None:
            return int(self.data.size)
        axis = _axis(axis)
        return self._counted(self._host(), axis)

    def _counted(self, triple, axis):
        """How many entries each column, or each row, has."""
        at, count = triple[2 if axis == 0 else 1], self._shape[1 - axis]
        return _host.compute(lambda: np.bincount(at, minlength=count), [], (count,), np.int64)

    @property
    def T(self):  # noqa: N802
        """The transpose."""
        return self.transpose()

    mT = T  # noqa: N815

    def __len__(self):
        raise TypeError("sparse array length is ambiguous; use getnnz() or shape[0]")

    def __bool__(self):
        if self._shape == (1, 1):
            return self.nnz != 0
        raise ValueError("The truth value of an array with more than one element is ambiguous. "
                         "Use a.any() or a.all().")  # fmt: skip

    def __repr__(self):
        kind = "array" if isinstance(self, sparray) else "matrix"
        return (f"<{_NAMES[self.format]} sparse {kind} of dtype '{self.dtype}'\n"
                f"\twith {self.nnz} stored elements and shape {self._shape}>")  # fmt: skip

    def __str__(self):
        values, row, column = self._host()
        rows = [f"  ({i}, {j})\t{v}" for v, i, j in zip(values, row, column)]
        return "\n".join([repr(self), "  Coords\tValues", *rows[: self.maxprint]])

    def __iter__(self):
        return (self[i] for i in range(self._shape[0]))

    def __reduce__(self):
        parts = [getattr(self, name) for name in self._stored]
        return type(self)._from_parts, (*parts, self._shape)

    # other forms

    def asformat(self, format, copy=False):  # noqa: A002
        """Return it in another form."""
        if format is None or format == self.format:
            return self.copy() if copy else self
        if format not in _NAMES:
            raise ValueError(f"Format {format} is unknown.")
        if format == "dia":
            raise NotImplementedError("nogpu makes no dia of other forms, as CuPy")
        return self._of(self._host(), format=format)

    def toarray(self, order=None, out=None):
        """Return a dense array; values at one place are summed."""
        if order not in (None, "C", "F"):
            raise ValueError("order not understood")
        triple = self._host()
        return _host.compute(
            lambda: entries.dense(triple, self._shape), [], self._shape, self.dtype, out,
            order or "C")

    todense = toarray

    def get(self, stream=None):
        """Return the same of SciPy, which must be there."""
        import scipy.sparse

        values, row, column = self._host()
        kind = "array" if isinstance(self, sparray) else "matrix"
        return getattr(scipy.sparse, f"coo_{kind}")(
            (values, (row, column)), shape=self._shape).asformat(self.format)

    def copy(self):
        """Return a copy."""
        return self._from_parts(*[getattr(self, name).copy() for name in self._stored], self._shape)

    def astype(self, dtype, casting="unsafe", copy=True):
        """Return it with values of another type."""
        if not copy and self.dtype == np.dtype(dtype):
            return self
        return self._with(self.data.astype(_check(dtype)))

    def _with(self, data):
        """It with other values at the same places."""
        data = data if data.dtype.char in TYPES else data.astype(_wide(data.dtype))
        rest = [getattr(self, name) for name in self._stored[1:]]
        return self._from_parts(data, *rest, self._shape)

    def transpose(self, axes=None, copy=False):
        """Return the transpose."""
        if axes is not None and tuple(axes) != (1, 0):
            raise ValueError("Sparse matrices do not support an 'axes' parameter because swapping "
                             "dimensions is the only logical permutation.")  # fmt: skip
        values, row, column = self._host()
        turned = {"csr": "csc", "csc": "csr", "dia": "csc"}.get(self.format, self.format)
        return self._of((values, column, row), self._shape[::-1], turned)

    def reshape(self, *shape, order="C"):
        """Return it in another shape."""
        shape = shape[0] if len(shape) == 1 and not np.isscalar(shape[0]) else shape
        total, known = math.prod(self._shape), math.prod(n for n in shape if n != -1)
        shape = tuple(int(total // max(known, 1) if n == -1 else n) for n in shape)
        if len(shape) != 2:
            raise ValueError("matrix shape must be two-dimensional")
        if math.prod(shape) != total:
            raise ValueError(f"cannot reshape array of size {total} into shape {shape}")
        values, row, column = self._host()
        if order == "F":
            places = row.astype(np.int64) + column.astype(np.int64) * self._shape[0]
            new = places % shape[0], places // shape[0]
        else:
            places = row.astype(np.int64) * self._shape[1] + column
            new = places // max(shape[1], 1), places % max(shape[1], 1)
        return self._of((values, *new), shape)

    # products

    def dot(self, other):
        """Return the product with a vector, a matrix, a sparse matrix or a number."""
        return self * other if _is_number(other) else self @ other

    def __matmul__(self, other):
        if _is_number(other):
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        return self._matmul(other)

    def _matmul(self, other):
        if isinstance(other, _spbase):
            if self._shape[1] != other._shape[0]:
                raise ValueError("dimension mismatch")
            dtype = _wide(np.result_type(self.dtype, other.dtype))
            result = entries.product(self._host(), other._host(), dtype)
            return self._of(result, (self._shape[0], other._shape[1]), "csr")
        if not _host.is_array(other):
            return NotImplemented
        if other.ndim > 2 or other.ndim < 1 or other.shape[0] != self._shape[1]:
            raise ValueError("dimension mismatch")
        values, row, column = self._host()
        dtype = np.result_type(self.dtype, other.dtype)

        def work(dense):
            result = np.zeros((self._shape[0], *dense.shape[1:]), dtype)
            np.add.at(result, row, (values if dense.ndim == 1 else values[:, None]) * dense[column])
            return result

        shape = (self._shape[0], *other.shape[1:])
        return _host.compute(work, [other], shape, _wide(dtype))

    def __rmatmul__(self, other):
        if _is_number(other):
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        return (self.T._matmul(other.T)).T

    # element by element

    def _scaled(self, number, divide=False):
        data = self.data / number if divide else self.data * number
        return self._with(data)

    def multiply(self, other):
        """Return the product element by element."""
        if _is_number(other):
            return self._scaled(other)
        if isinstance(other, _spbase):
            if other._shape != self._shape:
                return self.multiply(other.toarray())
            dtype = _wide(np.result_type(self.dtype, other.dtype))
            result = entries.joined(np.multiply, self._host(), other._host(), dtype)
            return self._of(entries.without_zeros(*result), format="csr")
        dense = _host.on_host(_host.asarray(other))
        shape = np.broadcast_shapes(self._shape, dense.shape)
        if shape != self._shape:
            return type(self)(self.toarray() * _host.asarray(other))
        values, row, column = self._host()
        whole = np.broadcast_to(dense, shape)[row, column]
        return self._of((values * whole, row, column), format="coo")

    def __mul__(self, other):
        if _is_number(other):
            return self._scaled(other)
        return self._star(other)

    def __rmul__(self, other):
        if _is_number(other):
            return self._scaled(other)
        return self._star(other) if isinstance(self, sparray) else self.__rmatmul__(other)

    def __truediv__(self, other):
        if _is_number(other):
            kind = np.result_type(self.dtype, type(other) if not hasattr(other, "dtype") else other)
            kind = np.result_type(kind, np.float64) if kind.kind in "biuf" else kind
            return self._with(self.data.astype(kind) / other)
        if isinstance(other, _spbase):
            return self.toarray() / other.toarray()
        values, row, column = self._host()
        dense = np.broadcast_to(_host.on_host(_host.asarray(other)), self._shape)
        return self._of((values / dense[row, column], row, column), format="coo")

    divide = __truediv__

    def _changed(self, other, divide):
        if not _is_number(other):
            return NotImplemented
        if self.dtype.kind == "b":
            self.data = self.data.astype(np.float64)
        if divide:
            self.data /= other
        else:
            self.data *= other
        return self

    def __imul__(self, other):
        return self._changed(other, False)

    def __itruediv__(self, other):
        return self._changed(other, True)

    def _sum(self, other, sign, swapped=False):
        if _is_number(other):
            if other == 0:
                return (-self if swapped and sign < 0 else self.copy())
            raise NotImplementedError("adding a nonzero scalar to a sparse array is not supported")
        if isinstance(other, _spbase):
            if other._shape != self._shape:
                raise ValueError("inconsistent shapes")
            function = np.add if sign > 0 else np.subtract
            dtype = _wide(np.result_type(self.dtype, other.dtype))
            a, b = ((x[0].astype(dtype), *x[1:]) for x in (self._host(), other._host()))
            form = "csc" if self.format == "csc" else "csr"
            return self._of(entries.joined(function, a, b, dtype), format=form)
        dense = self.toarray()
        if sign > 0:
            return dense + other
        return other - dense if swapped else dense - other

    def __add__(self, other):
        return self._sum(other, 1)

    __radd__ = __add__

    def __sub__(self, other):
        return self._sum(other, -1)

    def __rsub__(self, other):
        return self._sum(other, -1, swapped=True)

    def __neg__(self):
        if self.dtype.kind == "b":
            raise NotImplementedError("negating a boolean sparse array is not supported")
        return self._with(-self.data)

    def __abs__(self):
        return self._with(abs(self.data))

    def __round__(self, ndigits=0):
        return self._with(cupy.round(self.data, ndigits))

    def power(self, n, dtype=None):
        """Return each value to a power."""
        if not _is_number(n):
            raise NotImplementedError("input is not scalar")
        if n == 0:
            raise NotImplementedError("zero power is not supported as it would densify the matrix")
        data = self.data if dtype is None else self.data.astype(dtype)
        return self._with(data ** n)

    def __pow__(self, other):
        return self.power(other)

    def _compared(self, other, function):
        a = self._host()
        if isinstance(other, _spbase):
            if other._shape != self._shape:
                raise ValueError("inconsistent shapes")
            if function(0, 0):
                return self._of(_of_dense(function(
                    entries.dense(a, self._shape), entries.dense(other._host(), self._shape))))
            return self._of(entries.without_zeros(*entries.joined(function, a, other._host())))
        if not _is_number(other):
            return function(self.toarray(), other)
        if function(0, other):
            return self._of(_of_dense(function(entries.dense(a, self._shape), other)))
        values, row, column = entries.canonical(*a)
        return self._of(entries.without_zeros(function(values, other), row, column))

    def _extreme(self, other, function):
        if _is_number(other):
            if function(0, other) == 0:
                values, row, column = entries.canonical(*self._host())
                return self._of((function(values, other), row, column))
            return self._of(_of_dense(function(entries.dense(self._host(), self._shape), other)))
        if not isinstance(other, _spbase):
            return function(self.toarray(), other)
        return self._of(entries.without_zeros(
            *entries.joined(function, self._host(), other._host())))  # fmt: skip

    def maximum(self, other):
        """Return the larger of two values at each place."""
        return self._extreme(other, np.maximum)

    def minimum(self, other):
        """Return the smaller of two values at each place."""
        return self._extreme(other, np.minimum)

    def conj(self, copy=True):
        """Return the conjugate."""
        return self._with(self.data.conj()) if self.dtype.kind == "c" or copy else self

    conjugate = conj

    @property
    def real(self):
        """The real parts."""
        return self._with(self.data.real.copy())

    @property
    def imag(self):
        """The imaginary parts."""
        return self._with(self.data.imag.copy())

    # sums and the like

    def _reduced(self, values, axis, out=None, dtype=None):
        """What a reduction over an axis returns: a matrix of one row or column, or a vector."""
        if axis is None:
            result = _host.device(np.asarray(values, dtype))
        else:
            values = np.asarray(values, dtype)
            if not isinstance(self, sparray):
                values = np.expand_dims(values, _axis(axis))
            result = _host.device(values)
        if out is None:
            return result
        if out.shape != result.shape:
            raise ValueError("dimensions do not match")
        out[...] = result
        return out

    def sum(self, axis=None, dtype=None, out=None):
        """Return the sum of the values, along an axis as a matrix of one row or column."""
        axis = None if _whole(axis) else axis
        values, row, column = entries.canonical(*self._host())
        if values.dtype.kind == "b":
            values = values.astype(np.int64)
        if axis is None:
            return self._reduced(values.sum(dtype=dtype), None, out)
        axis = _axis(axis)
        count, kind = self._shape[1 - axis], np.dtype(values.dtype if dtype is None else dtype)
        shape = (count,) if isinstance(self, sparray) else (1, count) if axis == 0 else (count, 1)

        def work():
            total = np.zeros(count, kind)
            np.add.at(total, column if axis == 0 else row, values)
            return total.reshape(shape)

        if out is not None and out.shape != shape:
            raise ValueError("dimensions do not match")
        return _host.compute(work, [], shape, kind, out)

    def mean(self, axis=None, dtype=None, out=None):
        """Return the mean of all elements, or along an axis."""
        axis = None if _whole(axis) else _axis(axis)
        kind = np.dtype(np.float64) if self.dtype.kind in "biu" else self.dtype
        kind = kind if dtype is None else np.dtype(dtype)
        count = math.prod(self._shape) if axis is None else self._shape[axis]
        total = _host.on_host(self.sum(axis, kind))
        with np.errstate(all="ignore"):
            values = np.asarray(total / np.asarray(count, total.dtype), kind)
        result = _host.device(values)
        if out is None:
            return result
        out[...] = result
        return out

    def _selected(self, name, axis, explicit=False):
        """max, min and the like: of all elements, or of the stored ones alone."""
        if 0 in self._shape:
            raise ValueError("zero-size array to reduction operation")
        axis = None if _whole(axis) else _axis(axis)
        values, row, column = entries.canonical(*self._host())
        place = name.startswith("arg")
        if axis is None:
            if place:
                whole = row.astype(np.int64) * self._shape[1] + column
                found = _argument(name, values, whole, math.prod(self._shape), explicit)
                return _host.device(np.int64(found))
            kept = values if explicit or len(values) == math.prod(self._shape) else [*values, 0]
            return _host.device(np.asarray(getattr(np, name)(kept), self.dtype))
        major, minor = (column, row) if axis == 0 else (row, column)
        order = np.lexsort((minor, major))
        values, major, minor = values[order], major[order], minor[order]
        if self._shape[1 - axis] > 2**28:
            raise cupy.cuda.memory.OutOfMemoryError(16 * self._shape[1 - axis], 0)
        starts = entries.pointers(major, self._shape[1 - axis])
        length, made = self._shape[axis], []
        for start, end in zip(starts[:-1], starts[1:]):
            one = values[start:end]
            if place:
                made.append(_argument(name, one, minor[start:end], length, explicit))
            else:
                kept = one if explicit and len(one) or len(one) == length else [*one, 0]
                made.append(getattr(np, name)(kept))
        if place or isinstance(self, sparray) and explicit:
            result = np.asarray(made, np.int64 if place else self.dtype)
            return self._reduced(result, axis)
        at = np.arange(len(made))
        result, zero = np.asarray(made, self.dtype), np.zeros(len(made), np.int64)
        shape = (1, len(made)) if axis == 0 else (len(made), 1)
        triple = (result, zero, at) if axis == 0 else (result, at, zero)
        return self._of(entries.without_zeros(*triple), shape, "coo")

    def count_nonzero(self, axis=None):
        """Return how many values are not 0."""
        triple = entries.without_zeros(*entries.canonical(*self._host()))
        return len(triple[0]) if axis is None else self._counted(triple, _axis(axis))

    def nonzero(self):
        """Return rows and columns of the values that are not 0."""
        _, row, column = entries.without_zeros(*entries.canonical(*self._host()))
        return _host.device(row), _host.device(column)

    def diagonal(self, k=0):
        """Return a diagonal, dense."""
        rows, columns = self._shape
        if k <= -rows or k >= columns:
            return _host.device(np.empty(0, self.dtype))
        values, row, column = entries.canonical(*self._host())
        result = np.zeros(min(rows + min(k, 0), columns - max(k, 0)), self.dtype)
        kept = column.astype(np.int64) - row == k
        result[row[kept] + min(k, 0)] = values[kept]
        return _host.device(result)

    def trace(self, offset=0):
        """Return the sum of a diagonal."""
        return self.diagonal(offset).sum()

    # places

    def setdiag(self, values, k=0):
        """Set a diagonal, to a number or to an array's elements."""
        values = _host.on_host(_host.asarray(values))
        if values.ndim > 1:
            raise ValueError("values must be 0-d or 1-d")
        rows, columns = self._shape
        if k <= -rows or k >= columns:
            raise ValueError("k exceeds matrix dimensions")
        length = min(rows + min(k, 0), columns - max(k, 0))
        if values.ndim:
            length = min(length, len(values))
            values = values[:length]
        at = np.arange(length)
        self._put(at - min(k, 0), at + max(k, 0), np.broadcast_to(values, length))

    def _put(self, row, column, values):
        """Set single places; of a place that comes several times the last value counts."""
        have = entries.canonical(*self._host())
        values = values.astype(self.dtype)
        keys = {(i, j): v for i, j, v in zip(have[1].tolist(), have[2].tolist(), have[0])}
        keys.update(((i, j), v) for i, j, v in zip(row.tolist(), column.tolist(), values))
        where = np.array(list(keys), np.int64).reshape(-1, 2)
        kinds = [getattr(self, name).dtype for name in self._stored[1:]]
        self._store((np.array(list(keys.values()), self.dtype), where[:, 0], where[:, 1]),
                    max(kinds, key=lambda kind: kind.itemsize))  # fmt: skip

    def _chosen(self, index):
        """Row and column of an index: each a number, or an array of numbers and its kind."""
        if isinstance(index, _spbase) or _host.is_array(index) and index.ndim == 2 \
                and index.dtype.kind == "b":  # fmt: skip
            dense = index.toarray() if isinstance(index, _spbase) else index
            return *np.nonzero(_host.on_host(dense)), "points", None
        index = index if isinstance(index, tuple) else (index,)
        if any(one is None for one in index):
            raise IndexError("sparse matrices have two dimensions: no new axes")
        if Ellipsis in [one for one in index if one is Ellipsis]:
            at = next(i for i, one in enumerate(index) if one is Ellipsis)
            rest = len(index) - 1
            index = (*index[:at], *[slice(None)] * (2 - rest), *index[at + 1:])
        if len(index) > 2:
            raise IndexError("invalid number of indices")
        index = (*index, *[slice(None)] * (2 - len(index)))
        made, kinds = [], []
        for one, size in zip(index, self._shape):
            if isinstance(one, slice):
                made.append(np.arange(*one.indices(size), dtype=np.int64))
                kinds.append("slice")
                continue
            if not _host.is_array(one) and isinstance(one, (int, np.integer)):
                if not -size <= one < size:
                    raise IndexError(f"index ({one}) out of range")
                made.append(np.array([int(one) % size]))
                kinds.append("number")
                continue
            values = _host.on_host(one) if _host.is_array(one) else np.asarray(one)
            if values.dtype.kind == "b":
                if values.shape != (size,):
                    raise IndexError("boolean index has wrong shape")
                values = np.flatnonzero(values)
            if values.size == 0:
                values = values.astype(np.int64)
            if values.dtype.kind not in "iu":
                raise IndexError("arrays used as indices must be of integer (or boolean) type")
            if values.size and (values.max() >= size or values.min() < -size):
                raise IndexError("index out of range")
            made.append(np.where(values < 0, values + size, values))
            kinds.append("array" if values.ndim else "number")
        return *made, *kinds

    def __getitem__(self, index):
        rows, columns, *kinds = self._chosen(index)
        mine = self._host()
        if kinds == ["number", "number"]:
            found = entries.looked_up(mine, rows.ravel(), columns.ravel())
            return _host.device(found.reshape(()))
        pointwise = kinds[0] == "points" or kinds == ["array", "array"] and not (
            rows.ndim == 2 and columns.ndim <= 2 and rows.shape[1:] == (1,))
        if pointwise:
            rows, columns = np.broadcast_arrays(rows, columns)
            return _host.device(
                entries.looked_up(mine, rows.ravel(), columns.ravel()).reshape(rows.shape))
        if "array" in kinds and "number" in kinds or kinds == ["array", "array"]:
            rows, columns = rows.ravel(), columns.ravel()
        shape = (len(rows), len(columns))
        chosen = entries.chosen(entries.canonical(*mine), rows, columns)
        result = self._of(chosen, shape)
        if isinstance(self, sparray) and "number" in kinds:
            return result.toarray().ravel()
        return result

    def __setitem__(self, index, value):
        rows, columns, *kinds = self._chosen(index)
        if kinds[0] != "points" and kinds != ["array", "array"]:
            rows, columns = rows.reshape(-1, 1), columns.reshape(1, -1)
        rows, columns = np.broadcast_arrays(rows, columns)
        if isinstance(value, _spbase):
            value = value.toarray()
        value = np.broadcast_to(_host.on_host(_host.asarray(value)), rows.shape)
        self._put(rows.ravel(), columns.ravel(), value.ravel())

    def eliminate_zeros(self):
        """Take stored zeros out."""
        self._store(entries.without_zeros(*self._host()), self._kind())

    def sum_duplicates(self):
        """Add up values at one place."""
        self._store(entries.canonical(*self._host(), self._by), self._kind())

    def _kind(self):
        return getattr(self, self._stored[-1]).dtype

    _by = "row"


class spmatrix:  # noqa: N801
    """What matrices have and arrays have not: ``*`` is the product of matrices."""

    def _star(self, other):
        return self._matmul(other)

    def __pow__(self, other):
        return _matrix_power(self, other)

    def get_shape(self):
        """Return the shape."""
        return self._shape

    def set_shape(self, shape):
        """Set the shape in place."""
        new = self.reshape(shape)
        self._shape = new._shape
        for name in self._stored:
            setattr(self, name, getattr(new, name))

    shape = property(get_shape, set_shape, doc="Rows and columns.")

    def getnnz(self, axis=None):
        """Return how many values are stored."""
        return self._getnnz(axis)

    def getformat(self):
        """Return the form's name."""
        return self.format

    def getmaxprint(self):
        """Return how many values are printed."""
        return self.maxprint

    def asfptype(self):
        """Return it with values of a floating type."""
        return self if self.dtype.kind in "fc" else self.astype(np.float64)

    def getrow(self, i):
        """Return a row as a matrix."""
        return self.tocsr()[i, :]

    def getcol(self, j):
        """Return a column as a matrix."""
        return self.tocsr()[:, j]

    def getH(self):  # noqa: N802
        """Return the conjugate of the transpose."""
        return self.T.conj()

    @property
    def H(self):  # noqa: N802
        """The conjugate of the transpose; deprecated."""
        _options.warn("`spmatrix.H` is deprecated; use `.T.conj()` instead.")
        return self.getH()

    @property
    def A(self):  # noqa: N802
        """The dense array; deprecated."""
        _options.warn("`spmatrix.A` is deprecated; use `.toarray()` instead.")
        return self.toarray()


class sparray:  # noqa: N801
    """What arrays have and matrices have not: ``*`` works element by element."""

    def _star(self, other):
        return self.multiply(other)


class _Coordinates(_spbase):
    """A matrix as lists of values and their coordinates."""

    format, _parts, _stored = "coo", 2, ("data", "row", "col")
    has_canonical_format = False

    def _take_parts(self, parts, shape, dtype):
        values, (row, column) = parts
        values, row, column = (_host.asarray(x) for x in (values, row, column))
        if not values.size == row.size == column.size:
            raise ValueError("row, column, and data array must all be the same length")
        if any(x.ndim != 1 for x in (values, row, column)):
            raise ValueError("row, column, and data arrays must be 1-D")
        if shape is None:
            if not row.size:
                raise ValueError("cannot infer dimensions from zero sized index arrays")
            shape = int(row.max()) + 1, int(column.max()) + 1
        for name, places, size in (("row", row, shape[0]), ("column", column, shape[1])):
            if places.size and int(places.max()) >= size:
                raise ValueError(f"{name} index exceeds matrix dimensions")
            if places.size and int(places.min()) < 0:
                raise ValueError(f"negative {name} index found")
        self._shape = shape
        self.data = values if dtype is None else values.astype(dtype)
        _check(self.data.dtype)
        self.row, self.col = self._indices(row, column)

    def _store(self, triple, kind):
        self.data = _host.device(triple[0])
        self.row, self.col = (_host.device(x.astype(kind)) for x in triple[1:])

    def _host(self):
        return tuple(_host.look(x) for x in (self.data, self.row, self.col))

    def sum_duplicates(self):
        """Add up values at one place."""
        super().sum_duplicates()
        self.has_canonical_format = True

    @property
    def coords(self):
        """Rows and columns."""
        return self.row, self.col


class _Compressed(_spbase):
    """A matrix by compressed rows or columns."""

    _parts, _stored = 3, ("data", "indices", "indptr")

    def _take_parts(self, parts, shape, dtype):
        data, indices, indptr = (_host.asarray(x) for x in parts)
        if any(x.ndim != 1 for x in (data, indices, indptr)):
            raise ValueError("data, indices, and indptr should be 1-D")
        if data.size != indices.size:
            raise ValueError("indices and data should have the same size")
        major = indptr.size - 1
        if shape is None:
            minor = int(indices.max()) + 1 if indices.size else 0
            shape = (major, minor) if self.format == "csr" else (minor, major)
        if shape[self.format == "csc"] != major:
            raise ValueError(f"index pointer size ({indptr.size}) should be "
                             f"({shape[self.format == 'csc'] + 1})")  # fmt: skip
        self._shape = shape
        self.data = data if dtype is None else data.astype(dtype)
        _check(self.data.dtype)
        if indptr.size and int(indptr[0]) != 0:
            raise ValueError("index pointer should start with 0")
        used = int(indptr[-1]) if indptr.size else 0
        if used < self.data.size:
            self.data, indices = self.data[:used], indices[:used]
        self.indices, self.indptr = self._indices(indices, indptr)

    def _store(self, triple, kind):
        values, row, column = entries.canonical(*triple, self._by)
        major, minor = (row, column) if self.format == "csr" else (column, row)
        self.data, self.indices = _host.device(values), _host.device(minor.astype(kind))
        self.indptr = cupy.empty(self._shape[self.format == "csc"] + 1, kind)
        _host.change(self.indptr, lambda to: entries.point(to, major))

    def _host(self):
        values, minor, starts = (_host.look(getattr(self, name)) for name in self._stored)
        major = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        return (values, major, minor) if self.format == "csr" else (values, minor, major)

    @property
    def has_sorted_indices(self):
        """Whether the entries of each row or column are in order."""
        _, row, column = self._host()
        major, minor = (row, column) if self.format == "csr" else (column, row)
        return bool(((np.diff(minor.astype(np.int64)) >= 0) | (np.diff(major) > 0)).all())

    @property
    def has_canonical_format(self):
        """Whether the entries are in order, one for each place."""
        _, row, column = self._host()
        major, minor = (row, column) if self.format == "csr" else (column, row)
        return bool(((np.diff(minor.astype(np.int64)) > 0) | (np.diff(major) > 0)).all())

    def sort_indices(self):
        """Bring the entries of each row or column into order."""
        values, row, column = self._host()
        order = np.lexsort((column, row) if self.format == "csr" else (row, column))
        minor = column if self.format == "csr" else row
        self.data = _host.device(values[order])
        self.indices = _host.device(minor[order].astype(self.indices.dtype))

    def sorted_indices(self):
        """Return a copy whose entries are in order."""
        new = self.copy()
        new.sort_indices()
        return new

    def prune(self):
        """Cut arrays that are longer than the entries need."""
        used = int(self.indptr[-1])
        self.data, self.indices = self.data[:used], self.indices[:used]


class _Rows(_Compressed):
    """A matrix by compressed rows."""

    format = "csr"


class _Columns(_Compressed):
    """A matrix by compressed columns."""

    format, _by = "csc", "column"


class _Diagonals(_spbase):
    """A matrix by its diagonals."""

    format, _parts, _stored = "dia", 2, ("data", "offsets")

    def _take_parts(self, parts, shape, dtype):
        data, offsets = _host.asarray(parts[0]), _host.asarray(parts[1])
        if shape is None:
            raise ValueError("expected a shape argument")
        self._shape = shape
        self.data = cupy.atleast_2d(data if dtype is None else data.astype(dtype))
        _check(self.data.dtype)
        self.offsets = cupy.atleast_1d(self._indices(offsets)[0])
        if self.data.shape[0] != self.offsets.size:
            raise ValueError(f"number of diagonals ({self.data.shape[0]}) does not match the "
                             f"number of offsets ({self.offsets.size})")  # fmt: skip
        if len(np.unique(_host.look(self.offsets))) != self.offsets.size:
            raise ValueError("offset array contains duplicate values")

    def _store(self, triple, kind):
        raise ValueError("unrecognized form for dia_matrix constructor")

    def _host(self):
        return entries.diagonals(_host.look(self.data), _host.look(self.offsets), self._shape)

    def _getnnz(self, axis=None):
        if axis is not None:
            raise NotImplementedError("getnnz over an axis is not implemented for DIA format")
        return len(self._host()[0])

    @property
    def nnz(self):
        """How many places the diagonals have in the matrix."""
        return self._getnnz()

    def count_nonzero(self, axis=None):
        """Return how many values are not 0."""
        if axis is not None:
            raise NotImplementedError("count_nonzero over an axis is not implemented for DIA")
        return super().count_nonzero()


def _argument(name, values, places, length, explicit):
    """Where the largest or the smallest element is, the places without an entry being 0."""
    largest = "max" in name
    if len(values) < length and not explicit:
        taken = np.zeros(min(len(values), length) + 1, bool)
        taken[places[places < len(taken)]] = True
        values, places = np.append(values, 0), np.append(places, np.argmin(taken))
    if not len(values):
        return 0
    best = (np.nanmax if largest else np.nanmin)(values) if "nan" in name else (
        np.max if largest else np.min)(values)
    hits = np.isnan(values) if np.isnan(best) else values == best
    return int(places[hits].min())


def _of_dense(dense):
    row, column = np.nonzero(dense)
    return dense[row, column], row, column


def _axis(axis):
    if isinstance(axis, tuple):
        if len(axis) != 1:
            raise ValueError("axis out of range")
        axis = axis[0]
    axis = operator.index(axis)
    if not -2 <= axis < 2:
        raise ValueError("axis out of range")
    return axis % 2


def _whole(axis):
    """Whether all axes are meant."""
    if isinstance(axis, tuple):
        known = [_axis(one) for one in axis]
        if len(set(known)) != len(known):
            raise ValueError("duplicate value in axis")
        return len(known) == 2
    return axis is None


def _is_number(item):
    return np.isscalar(item) or _host.is_array(item) and item.ndim == 0


def _shape(shape):
    shape = tuple(int(operator.index(n)) for n in shape)
    if len(shape) != 2:
        raise ValueError("invalid shape: two dimensions are supported")
    if min(shape) < 0:
        raise ValueError("'shape' elements cannot be negative")
    return shape


def _coordinates(source, shape):
    """Return entries on the host, the shape, and types of indices that a matrix is made from."""
    if isinstance(source, _spbase):
        return source._host(), source._shape, [
            getattr(source, name).dtype for name in source._stored[1:]]
    if hasattr(source, "tocoo"):  # SciPy's
        m = source.tocoo()
        return (m.data, m.row, m.col), m.shape, [m.row.dtype]
    if isinstance(source, tuple) and len(source) == 2 and np.isscalar(source[0]):
        return (np.zeros(0), np.zeros(0, int), np.zeros(0, int)), _shape(source), []
    if isinstance(source, tuple) and len(source) == 2:
        made = coo_array(source, shape=shape)
        return made._host(), made._shape, [made.row.dtype]
    if _host.is_array(source) or isinstance(source, (np.ndarray, list)):
        dense = _host.on_host(source)
        if dense.ndim > 2:
            raise TypeError("expected dimension <= 2 array or matrix")
        dense = dense.reshape(1, -1) if dense.ndim < 2 else dense
        return _of_dense(dense), dense.shape, []
    raise ValueError("Unsupported initializer format")


_CLASSES = {}
for _base in (_Coordinates, _Rows, _Columns, _Diagonals):
    for _kind, _mixin in (("matrix", spmatrix), ("array", sparray)):
        _name = f"{_base.format}_{_kind}"
        _CLASSES[_base.format, _kind == "array"] = globals()[_name] = type(
            _name, (_mixin, _base), {"__module__": __name__, "__doc__": _base.__doc__})
coo_array = _CLASSES["coo", True]


def _matrix_power(matrix, power):
    if matrix.shape[0] != matrix.shape[1]:
        raise TypeError("matrix is not square")
    if not isinstance(power, (int, np.integer)) or power < 0:
        raise ValueError("exponent must be an integer >= 0")
    result = _CLASSES["csr", isinstance(matrix, sparray)](cupy.eye(matrix.shape[0])).astype(
        _wide(matrix.dtype))
    for _ in range(int(power)):
        result = result @ matrix
    return result


def _to(name):
    def convert(self, copy):
        return self.asformat(name.removeprefix("to"), copy)

    return convert


def _compare(name):
    function = getattr(operator, name.strip("_"))
    return lambda self, other: self._compared(other, function)


def _each(name):
    function = getattr(cupy, name)
    return lambda self: self._with(function(self.data))


table.methods(_spbase, _to, """
tocoo(self, copy=False): Return the matrix by coordinates.
tocsr(self, copy=False): Return the matrix by compressed rows, values at one place summed.
tocsc(self, copy=False): Return the matrix by compressed columns, values at one place summed.
todia(self, copy=False): Return the matrix by diagonals; only one that is so already can.
""")
table.methods(_spbase, _compare, """
__eq__(self, other): Where values are equal.
__ne__(self, other): Where they are not.
__lt__(self, other): Where they are less.
__le__(self, other): Where they are less or equal.
__gt__(self, other): Where they are greater.
__ge__(self, other): Where they are greater or equal.
""")
_spbase.__hash__ = None
table.methods(_spbase, _each, "\n".join(
    f"{_name}(self): Return {_name} of each value." for _name in """
    sin sinh tan tanh arcsin arcsinh arctan arctanh sqrt sign floor ceil rint trunc expm1 log1p
    deg2rad rad2deg
""".split()))  # fmt: skip
table.methods(_spbase, lambda name: lambda self, axis, out, explicit: self._selected(
    name, axis, explicit), "\n".join(
    f"{_name}(self, axis=None, out=None, *, explicit=False): Return {_name} of the elements."
    for _name in "max min argmax argmin nanmax nanmin".split()).replace("*, ", ""))  # fmt: skip
