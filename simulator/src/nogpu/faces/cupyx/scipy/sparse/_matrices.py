"""Sparse matrices and arrays: compressed rows or columns, coordinates.

The work is done on the host (`_entries`), for which each operation waits.
"""

from __future__ import annotations

import math
import operator

import cupy
import numpy as np
from cupy import _host
from cupyx.scipy.sparse import _entries as entries

from nogpu.faces import missing as _missing
from nogpu.faces import table

TYPES = "?fdFD"
_NAMES = {"csr": "Compressed Sparse Row", "csc": "Compressed Sparse Column",
          "coo": "COOrdinate"}  # fmt: skip


def _check(dtype) -> np.dtype:
    dtype = np.dtype(dtype)
    if dtype.char not in TYPES:
        raise ValueError("Only bool, float32, float64, complex64 and complex128 are supported")
    return dtype


def _wide(dtype) -> np.dtype:
    """The type that a result is stored in: float64 for integers."""
    dtype = np.dtype(dtype)
    return dtype if dtype.char in TYPES else np.dtype(np.float64 if dtype.kind != "c" else "D")


class _spbase:
    """What all forms share."""

    __array_priority__ = 101
    format, ndim = "", 2
    _compressed = "csr"  # the form of results

    def __getattr__(self, name):
        kind = type(self).__name__
        raise _missing.error(f"cupyx.scipy.sparse.{kind}", name, f"'{kind}' object")

    # what it is made from

    def __init__(self, arg1, shape=None, dtype=None, copy=False):
        if shape is not None:
            shape = _shape(shape)
        if isinstance(arg1, tuple) and len(arg1) == self._parts and not np.isscalar(arg1[0]):
            self._take_parts(arg1, shape, dtype)
            return
        triple, found = _coordinates(arg1, shape)
        if dtype is None:
            _check(triple[0].dtype)
        else:
            triple = (triple[0].astype(_check(dtype)), *triple[1:])
        self._shape = shape or found
        self._store(triple, self._index_type())

    def _index_type(self):
        """The type of indices: int64 where int32 is too short for a side."""
        wide = max(self._shape, default=0) > np.iinfo(np.int32).max
        return np.dtype(np.int64 if wide else np.int32)

    def _indices(self, *arrays):
        """Index arrays in the type of indices."""
        kind = self._index_type()
        return [x if x.dtype == kind else x.astype(kind) for x in map(_host.asarray, arrays)]

    @classmethod
    def _from_parts(cls, *parts):
        """Make one from arrays that are taken as they are: its parts, then the shape."""
        *parts, shape = parts
        new = object.__new__(cls)
        new._shape = tuple(shape)
        for name, part in zip(cls._stored, parts):
            setattr(new, name, part)
        return new

    def _of(self, triple, shape=None, format=None, array=None):  # noqa: A002
        """A matrix or array as this one, of other entries."""
        array = isinstance(self, sparray) if array is None else array
        kind = _CLASSES[format or self.format, array]
        new = object.__new__(kind)
        new._shape = self._shape if shape is None else shape
        values = triple[0].astype(_wide(triple[0].dtype), copy=False)
        new._store((values, *triple[1:]), new._index_type())
        return new

    # properties

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
        turned = {"csr": "csc", "csc": "csr"}.get(self.format, self.format)
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
        return self._like(self.toarray().reshape(shape, order=order))

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

    def _scaled(self, number):
        return self._with(self.data * number)

    def multiply(self, other):
        """Return the product element by element."""
        if _is_number(other):
            return self._scaled(other)
        if isinstance(other, _spbase):
            return self._placed(cupy.multiply, other)
        dense = _host.on_host(other)
        if np.broadcast_shapes(dense.shape, self._shape) != self._shape:
            return self._placed(cupy.multiply, cupy.asarray(dense))
        values, *places = entries.canonical(*self._host())
        factors = np.broadcast_to(dense, self._shape)[tuple(places)]
        return self._of((values * factors, *places), format=self._compressed)

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
        return self._placed(cupy.divide, cupy.asarray(other))

    divide = __truediv__

    def _sum(self, other, sign, swapped=False):
        if _is_number(other):
            if other == 0:
                return (-self if swapped and sign < 0 else self.copy())
            raise NotImplementedError("adding a nonzero scalar to a sparse array is not supported")
        if isinstance(other, _spbase):
            if other._shape != self._shape:
                raise ValueError("inconsistent shapes")
            dtype = _wide(np.result_type(self.dtype, other.dtype))
            a, b = self._host(), other._host()
            values = np.concatenate([a[0].astype(dtype), sign * b[0].astype(dtype)])
            places = [np.concatenate([a[i], b[i]]) for i in (1, 2)]
            return self._of(entries.canonical(values, *places), format=self._compressed)
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

    def power(self, n, dtype=None):
        """Return each value to a power."""
        if not _is_number(n) or n == 0:
            raise NotImplementedError("zero power is not supported as it would densify the matrix")
        return self._with((self.data if dtype is None else self.data.astype(dtype)) ** n)

    def __pow__(self, other):
        return self.power(other)

    def _like(self, dense, format=None):  # noqa: A002
        """A dense array as a matrix or array of this kind."""
        return self._of(_of_dense(_host.on_host(dense)), dense.shape, format)

    def _placed(self, function, *others):
        """A function of the dense array and others, as a sparse one."""
        others = [x.toarray() if isinstance(x, _spbase) else x for x in others]
        return self._like(function(self.toarray(), *others), "csr")

    # sums and the like

    def _reduced(self, name, axis, *how):
        axis = None if axis is None else _axis(axis)
        keep = axis is not None and isinstance(self, spmatrix)
        return getattr(self.toarray(), name)(axis, *how, keepdims=keep)

    def _selected(self, name, axis):
        """max, min, argmax or argmin of all elements, or along an axis."""
        axis = None if axis is None else _axis(axis)
        found = getattr(cupy, name)(self.toarray(), axis)
        if axis is None or name.startswith("arg"):
            keep = axis is None or isinstance(self, sparray)
            return found if keep else cupy.expand_dims(found, axis)
        return _CLASSES["coo", isinstance(self, sparray)](cupy.expand_dims(found, axis))

    def count_nonzero(self, axis=None):
        """Return how many values are not 0."""
        triple = entries.without_zeros(*entries.canonical(*self._host()))
        return len(triple[0]) if axis is None else self._counted(triple, _axis(axis))

    def nonzero(self):
        """Return rows and columns of the values that are not 0."""
        return cupy.nonzero(self.toarray())

    def diagonal(self, k=0):
        """Return a diagonal, dense."""
        values, row, column = entries.canonical(*self._host())
        rows, columns = self._shape
        result = np.zeros(max(0, min(rows + min(k, 0), columns - max(k, 0))), self.dtype)
        kept = column.astype(np.int64) - row == k
        result[row[kept] + min(k, 0)] = values[kept]
        return _host.device(result)

    def trace(self, offset=0):
        """Return the sum of a diagonal."""
        return self.diagonal(offset).sum()

    # places: by the dense array

    def _set(self, index, value):
        dense = self.toarray()
        dense[index] = value.toarray() if isinstance(value, _spbase) else cupy.asarray(value)
        self._store(_of_dense(_host.on_host(dense)), self._index_type())

    def setdiag(self, values, k=0):
        """Set a diagonal, to a number or to an array's elements."""
        values, (rows, columns) = cupy.asarray(values), self._shape
        if values.ndim > 1:
            raise ValueError("values must be 0-d or 1-d")
        if k <= -rows or k >= columns:
            raise ValueError("k exceeds matrix dimensions")
        length = min(rows + min(k, 0), columns - max(k, 0))
        length = min(length, values.size) if values.ndim else length
        at = cupy.arange(length)
        self._set((at - min(k, 0), at + max(k, 0)), values[:length] if values.ndim else values)

    def _index(self, index):
        """An index of the dense array; a number stays an axis of a matrix."""
        index = index.toarray() if isinstance(index, _spbase) else index
        index = index if isinstance(index, tuple) else (index,)
        if any(one is None for one in index):
            raise IndexError("sparse matrices have two dimensions: no new axes")
        whole = len(index) == 2 and all(isinstance(one, (int, np.integer)) for one in index)
        if isinstance(self, spmatrix) and not whole and Ellipsis not in map(type, index):
            index = [slice(one, one + 1 or None) if isinstance(one, (int, np.integer))
                     and -n <= one < n else one for one, n in zip(index, self._shape)]  # fmt: skip
        return tuple(index)

    def __getitem__(self, index):
        found = self.toarray()[self._index(index)]
        return self._like(found) if found.ndim == 2 and not _pointwise(index) else found

    def __setitem__(self, index, value):
        self._set(self._index(index), value)

    def eliminate_zeros(self):
        """Take stored zeros out."""
        self._store(entries.without_zeros(*self._host()), self._index_type())

    def sum_duplicates(self):
        """Add up values at one place."""
        self._store(entries.canonical(*self._host(), self._by), self._index_type())

    _by = "row"


class spmatrix:  # noqa: N801
    """What matrices have and arrays have not: ``*`` is the product of matrices."""

    def _star(self, other):
        return self._matmul(other)

    def __pow__(self, other):
        if self._shape[0] != self._shape[1]:
            raise TypeError("matrix is not square")
        if not isinstance(other, (int, np.integer)) or other < 0:
            raise ValueError("exponent must be an integer >= 0")
        one, at = np.ones(self._shape[0], self.dtype), np.arange(self._shape[0])
        result = self._of((one, at, at), format="csr")
        for _ in range(int(other)):
            result = result @ self
        return result

    def getnnz(self, axis=None):
        """Return how many values are stored."""
        return self._getnnz(axis)

    def get_shape(self):
        """Return the shape."""
        return self._shape


class sparray:  # noqa: N801
    """What arrays have and matrices have not: ``*`` works element by element."""

    def _star(self, other):
        return self.multiply(other)


class _Coordinates(_spbase):
    """A matrix as lists of values and their coordinates."""

    format, _parts, _stored = "coo", 2, ("data", "row", "col")
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

    def _ascends(self, least):
        major, minor = self._host()[1:] if self.format == "csr" else self._host()[:0:-1]
        return bool(((np.diff(minor) >= least) | (np.diff(major) > 0)).all())

    def sort_indices(self):
        """Bring the entries of each row or column into order."""
        values, row, column = self._host()
        order = np.lexsort((column, row) if self.format == "csr" else (row, column))
        minor = column if self.format == "csr" else row
        self.data = _host.device(values[order])
        self.indices = _host.device(minor[order].astype(self.indices.dtype))


_Compressed.has_sorted_indices = property(
    lambda self: self._ascends(0),
    doc="Whether the entries of each row or column are in order; looking waits.")
_Compressed.has_canonical_format = property(
    lambda self: self._ascends(1),
    doc="Whether they are in order, and there is one at each place; looking waits.")


class _Rows(_Compressed):
    """A matrix by compressed rows."""

    format = "csr"


class _Columns(_Compressed):
    """A matrix by compressed columns."""

    format, _by, _compressed = "csc", "column", "csc"


def _of_dense(dense):
    row, column = np.nonzero(dense)
    return dense[row, column], row, column


def _pointwise(index):
    """Whether an index names single places: two arrays."""
    arrays = [one for one in index if not isinstance(one, (slice, int, np.integer))] if isinstance(
        index, tuple) else []
    return len(arrays) == 2 and Ellipsis not in map(type, arrays) and any(
        np.ndim(one) < 2 for one in arrays)


def _axis(axis):
    axis = operator.index(axis)
    if not -2 <= axis < 2:
        raise ValueError("axis out of range")
    return axis % 2


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
    """Return entries on the host, and the shape, of what a matrix is made from."""
    if isinstance(source, _spbase):
        return source._host(), source._shape
    if hasattr(source, "tocoo"):  # SciPy's
        m = source.tocoo()
        return (m.data, m.row, m.col), m.shape
    if isinstance(source, tuple) and len(source) == 2 and np.isscalar(source[0]):
        return (np.zeros(0), np.zeros(0, int), np.zeros(0, int)), _shape(source)
    if isinstance(source, tuple) and len(source) == 2:
        made = coo_array(source, shape=shape)
        return made._host(), made._shape
    if _host.is_array(source) or isinstance(source, (np.ndarray, list)):
        dense = _host.on_host(source)
        if dense.ndim > 2:
            raise TypeError("expected dimension <= 2 array or matrix")
        dense = dense.reshape(1, -1) if dense.ndim < 2 else dense
        return _of_dense(dense), dense.shape
    raise ValueError("Unsupported initializer format")


_CLASSES = {}
for _base in (_Coordinates, _Rows, _Columns):
    for _kind, _mixin in (("matrix", spmatrix), ("array", sparray)):
        _name = f"{_base.format}_{_kind}"
        _CLASSES[_base.format, _kind == "array"] = globals()[_name] = type(
            _name, (_mixin, _base), {"__module__": __name__, "__doc__": _base.__doc__})
coo_array = _CLASSES["coo", True]


def _to(name):
    def convert(self, copy):
        return self.asformat(name.removeprefix("to"), copy)

    return convert


def _compare(name):
    function = getattr(operator, name.strip("_"))

    def compare(self, other):
        other = other.item() if _host.is_array(other) and not other.ndim else other
        if not _is_number(other) or function(0, other):
            return self._placed(function, other)
        values, *places = entries.canonical(*self._host())
        kept = entries.without_zeros(function(values, other), *places)
        return self._of(kept, format=self._compressed)

    return compare


def _each(name):
    function = getattr(cupy, name.strip("_"))
    return lambda self, *how: self._with(function(self.data, *how))


for _name in ("real", "imag"):
    setattr(_spbase, _name, property(
        lambda self, name=_name: self._with(getattr(self.data, name).copy()),
        doc=f"The {_name}{'inary' * (_name == 'imag')} parts."))
table.properties(_spbase, """
shape = _shape: Rows and columns.
dtype = data.dtype: The type of the values.
""")
table.methods(_spbase, _to, """
tocoo(self, copy=False): Return the matrix by coordinates.
tocsr(self, copy=False): Return the matrix by compressed rows, values at one place summed.
tocsc(self, copy=False): Return the matrix by compressed columns, values at one place summed.
""")
table.methods(_spbase, lambda name: lambda self, *how: self._reduced(name, *how), """
sum(self, axis=None, dtype=None, out=None):
    Return the sum of the values, along an axis as a matrix of one row or column.
mean(self, axis=None, dtype=None, out=None): Return the mean of all elements, or along an axis.
""")
table.methods(_spbase, _compare, "\n".join(
    f"__{_name}__(self, other): Where values compare so." for _name in "eq ne lt le gt ge".split()))
_spbase.__hash__ = None
table.methods(_spbase, _each, "\n".join(
    f"{_name}(self): Return {_name} of each value." for _name in """
    sin sinh tan tanh arcsin arcsinh arctan arctanh sqrt sign floor ceil rint trunc expm1 log1p
    deg2rad rad2deg conj conjugate __abs__
""".split()) + "\n__round__(self, ndigits=0): Return the values rounded.")  # fmt: skip
table.methods(_spbase, lambda name: lambda self, axis, out: self._selected(name, axis), "\n".join(
    f"{_name}(self, axis=None, out=None): Return {_name} of the elements."
    for _name in "max min argmax argmin nanmax nanmin".split()))  # fmt: skip
