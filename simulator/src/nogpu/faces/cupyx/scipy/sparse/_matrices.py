"""Compressed rows and lists of coordinates."""

from __future__ import annotations

import numpy as np
from cupy import _host, _tables

from nogpu.faces import missing as _missing
from nogpu.faces import table

__all__ = """
    coo_matrix csr_matrix eye identity issparse isspmatrix isspmatrix_coo isspmatrix_csr spmatrix
""".split()
TYPES = "?fdFD"


def _check(dtype) -> np.dtype:
    dtype = np.dtype(dtype)
    if dtype.char not in TYPES:
        raise ValueError("Only bool, float32, float64, complex64 and complex128 are supported")
    return dtype


class spmatrix:  # noqa: N801
    """What the forms share."""

    __array_priority__ = 101
    format, ndim = "", 2

    def __getattr__(self, name):
        raise _missing.error(f"cupyx.scipy.sparse.{type(self).__name__}", name)

    def get_shape(self):
        """Return the shape."""
        return self.shape

    def __repr__(self):
        return (
            f"<{type(self).__module__.rpartition('.')[0]}.{type(self).__name__} of shape "
            f"{self.shape}, dtype {self.dtype}, with {self.nnz} stored elements>"
        )

    def _rows(self):
        return self.tocoo()

    def toarray(self, order=None, out=None):
        """Return a dense array; values at one place are summed."""
        m = self._rows()

        def work(values, row, column):
            dense = np.zeros(self.shape, values.dtype)
            np.add.at(dense, (row, column), values)
            return dense

        return _host.compute(
            work, [m.data, m.row, m.col], self.shape, self.dtype, out, order or "C")

    todense = toarray

    def dot(self, other):
        """Return the product with a vector, a matrix, a sparse matrix or a number."""
        if isinstance(other, spmatrix):
            if self.shape[1] != other.shape[0]:
                raise ValueError("dimension mismatch")
            return csr_matrix(self.toarray() @ other.toarray())
        if not _host.is_array(other) or other.ndim == 0:
            return self._scaled(other)
        if other.ndim > 2 or other.shape[0] != self.shape[1]:
            raise ValueError("dimension mismatch")
        m = self._rows()
        dtype = np.result_type(self.dtype, other.dtype)

        def work(values, row, column, dense):
            result = np.zeros((self.shape[0], *dense.shape[1:]), dtype)
            terms = values if dense.ndim == 1 else values[:, None]
            np.add.at(result, row, terms * dense[column])
            return result

        return _host.compute(
            work, [m.data, m.row, m.col, other], (self.shape[0], *other.shape[1:]), dtype)

    def _scaled(self, number):
        return self._with(self.data * number)

    def __matmul__(self, other):
        if np.isscalar(other):
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        return self.dot(other)

    def __mul__(self, other):
        return self.dot(other)

    def __rmul__(self, other):
        if np.isscalar(other):
            return self._scaled(other)
        return (self.T.dot(other.T)).T

    def __neg__(self):
        return self._with(-self.data)

    def __add__(self, other):
        return csr_matrix(self.toarray() + other.toarray())

    def __sub__(self, other):
        return csr_matrix(self.toarray() - other.toarray())

    def sum(self, axis=None, dtype=None, out=None):
        """Return the sum of the values, along an axis as a matrix of one row or column."""
        dense = self.toarray()
        return dense.sum(axis=axis, dtype=dtype, out=out, keepdims=axis is not None)

    def diagonal(self, k=0):
        """Return a diagonal, dense."""
        return self.toarray().diagonal(k).copy()

    def get(self, stream=None):
        """Return the same matrix of SciPy, which must be there."""
        import scipy.sparse

        m = self._rows()
        host = scipy.sparse.coo_matrix(
            (m.data.get(), (m.row.get(), m.col.get())), shape=self.shape)
        return host.asformat(self.format)

    @property
    def T(self):  # noqa: N802
        """The transpose."""
        return self.transpose()

    def transpose(self):
        """Return the transpose."""
        m = self._rows()
        turned = coo_matrix((m.data, (m.col, m.row)), shape=self.shape[::-1])
        return turned if self.format == "coo" else turned.tocsr()

    def astype(self, dtype):
        """Return a copy of another type."""
        return self._with(self.data.astype(_check(dtype)))

    def copy(self):
        """Return a copy."""
        return self._with(self.data.copy())


table.properties(spmatrix, """
dtype = data.dtype: The type of the values.
nnz = data.size: How many values are stored.
""")


def _coordinates(source, shape, dtype):
    """Return data, row, column and shape of what a matrix can be made from."""
    if isinstance(source, spmatrix):
        m = source.tocoo()
        return m.data, m.row, m.col, m.shape
    if hasattr(source, "tocoo"):  # SciPy's
        m = source.tocoo()
        return (*(_host.device(x) for x in (m.data, m.row, m.col)), m.shape)
    if _host.is_array(source):
        if source.ndim > 2:
            raise ValueError("expected dimension <= 2 array or matrix")
        dense = source.reshape((1, -1)) if source.ndim < 2 else source
        row, column = _host.compute_now(np.nonzero, [dense])
        values = _host.compute(
            lambda v, i, j: v[i, j], [dense, row, column], row.shape, dense.dtype)
        return values, row, column, dense.shape
    if isinstance(source, tuple) and len(source) == 2 and not np.iterable(source[0]):
        empty = _host.device(np.zeros(0, np.int32))
        return _host.device(np.zeros(0, dtype or float)), empty, empty, source
    if isinstance(source, tuple) and len(source) == 2:
        values, (row, column) = source
        for x in (values, row, column):
            _host.argument(x)
        if shape is None:
            if not row.size:
                raise ValueError("cannot infer dimensions from zero sized index arrays")
            shape = int(row.max()) + 1, int(column.max()) + 1
        return values, row, column, shape
    raise ValueError("Unsupported initializer format")


def _index(x):
    return _host.copy(x, np.int32) if x.dtype != np.int32 else x


class coo_matrix(spmatrix):  # noqa: N801
    """A matrix as lists of values and their coordinates."""

    format = "coo"

    def __init__(self, arg1, shape=None, dtype=None, copy=False):
        data, row, column, found = _coordinates(arg1, shape, dtype)
        if dtype is not None and data.dtype != np.dtype(dtype):
            data = data.astype(dtype)
        _check(data.dtype)
        self.data, self.row, self.col = data, _index(row), _index(column)
        self.shape = tuple(int(n) for n in (shape or found))

    def _with(self, data):
        return coo_matrix((data, (self.row, self.col)), shape=self.shape)

    def tocoo(self, copy=False):
        """Return itself."""
        return self

    def tocsr(self, copy=False):
        """Return the matrix by compressed rows, values at one place summed; it waits."""
        return csr_matrix(self)


class csr_matrix(spmatrix):  # noqa: N801
    """A matrix by compressed rows."""

    format = "csr"

    def __init__(self, arg1, shape=None, dtype=None, copy=False):
        if isinstance(arg1, tuple) and len(arg1) == 3:
            data, indices, indptr = (_host.argument(x) for x in arg1)
            if shape is None:
                shape = indptr.size - 1, int(indices.max()) + 1 if indices.size else 0
            self.data = data if dtype is None else data.astype(dtype)
            self.indices, self.indptr = _index(indices), _index(indptr)
        else:
            if isinstance(arg1, csr_matrix):
                data, row, column, found = *_coordinates(arg1, shape, dtype)[:3], arg1.shape
            else:
                data, row, column, found = _coordinates(arg1, shape, dtype)
            shape = tuple(int(n) for n in (shape or found))
            if dtype is not None and data.dtype != np.dtype(dtype):
                data = data.astype(dtype)
            self.data, self.indices, self.indptr = _host.compute_now(
                lambda v, i, j: _compress(v, i, j, shape), [data, row, column])
        _check(self.data.dtype)
        self.shape = tuple(int(n) for n in shape)

    def _with(self, data):
        return csr_matrix((data, self.indices, self.indptr), shape=self.shape)

    def tocsr(self, copy=False):
        """Return itself."""
        return self

    def tocoo(self, copy=False):
        """Return the matrix by coordinates."""
        row = _host.compute(
            lambda p: np.repeat(np.arange(len(p) - 1), np.diff(p)),
            [self.indptr], (self.data.size,), np.int32)
        return coo_matrix((self.data, (row, self.indices)), shape=self.shape)


def _compress(values, row, column, shape):
    places, inverse = np.unique(
        row.astype(np.int64) * max(shape[1], 1) + column, return_inverse=True)
    data = np.zeros(len(places), values.dtype)
    np.add.at(data, inverse.ravel(), values)
    counts = np.bincount(places // max(shape[1], 1), minlength=shape[0])
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return data, (places % max(shape[1], 1)).astype(np.int32), indptr.astype(np.int32)


def eye(m, n=None, k=0, dtype="d", format=None):  # noqa: A002
    """Return ones on a diagonal."""
    dense = np.eye(m, n, k, dtype=dtype)
    row, column = np.nonzero(dense)
    made = coo_matrix(
        tuple([_host.device(dense[row, column]), (_host.device(row), _host.device(column))]),
        shape=dense.shape)
    return made if format == "coo" else made.tocsr()


def identity(n, dtype="d", format=None):  # noqa: A002
    """Return the identity."""
    return eye(n, n, 0, dtype, format)


_KINDS = {"issparse": spmatrix, "isspmatrix_csr": csr_matrix, "isspmatrix_coo": coo_matrix}
issparse, *_ = _tables.functions(
    globals(), lambda name: lambda x: isinstance(x, _KINDS[name]), """
issparse(x): Whether it is a sparse matrix on the device.
isspmatrix_csr(x): Whether it is one by compressed rows.
isspmatrix_coo(x): Whether it is one by coordinates.
""")
isspmatrix = issparse
