"""Functions that make sparse matrices and arrays."""

from __future__ import annotations

import numpy as np
from cupy import _host, _tables
from cupyx.scipy.sparse import _matrices
from cupyx.scipy.sparse._matrices import _CLASSES, sparray, spmatrix


def _made(triple, shape, format, dtype=None, array=False):  # noqa: A002
    values, row, column = triple
    values = values.astype(_matrices._wide(values.dtype) if dtype is None else dtype)
    made = _CLASSES["coo", array](
        (_host.device(values), (_host.device(row), _host.device(column))), shape=shape)
    return made.asformat(format or "coo")


def _sparse(item, dtype=None):
    """A block: sparse, or made so."""
    if isinstance(item, _matrices._spbase):
        return item
    dense = np.atleast_2d(_host.on_host(item) if _host.is_array(item) else np.asarray(item))
    return _CLASSES["coo", False](_host.device(dense.astype(_matrices._wide(dense.dtype))))


def diags(diagonals, offsets=0, shape=None, format=None, dtype=None):  # noqa: A002
    """Return a matrix with these diagonals."""
    if np.isscalar(offsets):
        diagonals, offsets = [diagonals], [offsets]
        if np.ndim(diagonals[0]) == 2:
            diagonals = list(diagonals[0])
    made = [np.atleast_1d(_host.on_host(d) if _host.is_array(d) else np.asarray(d))
            for d in diagonals]  # fmt: skip
    offsets = [int(k) for k in (_host.on_host(offsets) if _host.is_array(offsets) else offsets)]
    if len(made) != len(offsets):
        raise ValueError("Different number of diagonals and offsets.")
    if shape is None:
        size = len(made[0]) + abs(offsets[0])
        shape = (size, size)
    parts = []
    for one, k in zip(made, offsets):
        length = min(shape[0] + min(k, 0), shape[1] - max(k, 0))
        if length < 0:
            raise ValueError(f"Offset {k} out of bounds")
        if len(one) not in (1, length) and len(one) < length:
            raise ValueError(f"Diagonal length (index {k}) does not agree with matrix size")
        at = np.arange(length)
        values = np.broadcast_to(one, length) if len(one) == 1 else one[:length]
        parts.append((values, at - min(k, 0), at + max(k, 0)))
    triple = [np.concatenate([part[i] for part in parts]) for i in range(3)]
    return _made(triple, shape, format, dtype)


def eye(m, n=None, k=0, dtype="d", format=None):  # noqa: A002
    """Return ones on a diagonal."""
    shape = (m, m if n is None else n)
    length = max(0, min(shape[0] + min(k, 0), shape[1] - max(k, 0)))
    at = np.arange(length)
    return _made((np.ones(length), at - min(k, 0), at + max(k, 0)), shape, format or "csr",
                 dtype)  # fmt: skip


def _blocks(blocks, format, dtype, array=None):  # noqa: A002
    grid = [[None if b is None else _sparse(b) for b in row] for row in blocks]
    present = [b for row in grid for b in row if b is not None]
    heights, widths = [None] * len(grid), [None] * max(map(len, grid))
    for i, row in enumerate(grid):
        for j, block in enumerate(row):
            if block is None:
                continue
            for sizes, at, size, name in ((heights, i, block.shape[0], "row"),
                                          (widths, j, block.shape[1], "column")):  # fmt: skip
                if sizes[at] not in (None, size):
                    raise ValueError(f"blocks[{i},:] has incompatible {name} dimensions")
                sizes[at] = size
    heights, widths = [n or 0 for n in heights], [n or 0 for n in widths]
    kind = np.result_type(*[b.dtype for b in present]) if dtype is None else dtype
    parts = [(np.zeros(0, kind), np.zeros(0, int), np.zeros(0, int))]
    for i, row in enumerate(grid):
        for j, block in enumerate(row):
            if block is not None:
                values, at, column = block._host()
                parts.append((values.astype(kind), at.astype(np.int64) + sum(heights[:i]),
                              column.astype(np.int64) + sum(widths[:j])))  # fmt: skip
    triple = [np.concatenate([part[k] for part in parts]) for k in range(3)]
    array = any(isinstance(b, sparray) for b in present) if array is None else array
    same = {b.format for b in present}
    format = format or (same.pop() if len(same) == 1 else "coo")  # noqa: A001
    return _made(triple, (sum(heights), sum(widths)), format, kind,
                 array)  # fmt: skip


_GRIDS = {"bmat": lambda blocks: blocks, "hstack": lambda blocks: [list(blocks)],
          "vstack": lambda blocks: [[one] for one in blocks]}  # fmt: skip
_tables.functions(
    globals(), lambda name: lambda blocks, *how: _blocks(_GRIDS[name](blocks), *how), """
bmat(blocks, format=None, dtype=None):
    Return a matrix put together from a grid of blocks; None is a block of zeros.
hstack(blocks, format=None, dtype=None): Return matrices side by side.
vstack(blocks, format=None, dtype=None): Return matrices one below the other.
""")


def kron(A, B, format=None):  # noqa: A002, N803
    """Return the Kronecker product."""
    array = isinstance(A, sparray) or isinstance(B, sparray)
    a, b = _sparse(A)._host(), _sparse(B)._host()
    rows, columns = _sparse(B).shape
    values = np.multiply.outer(a[0], b[0]).ravel()
    row = np.add.outer(a[1].astype(np.int64) * rows, b[1]).ravel()
    column = np.add.outer(a[2].astype(np.int64) * columns, b[2]).ravel()
    shape = tuple(m * n for m, n in zip(_sparse(A).shape, (rows, columns)))
    return _made((values, row, column), shape, format, None, array)


def random(m, n, density=0.01, format="coo", dtype=None,  # noqa: A002
           random_state=None, data_rvs=None):  # fmt: skip
    """Return a matrix of uniform numbers at random places."""
    if not 0 <= density <= 1:
        raise ValueError("density expected to be 0 <= density <= 1")
    dtype = np.dtype(float if dtype is None else dtype)
    if dtype.char not in "fd":
        raise NotImplementedError(f"type {dtype} not supported")
    import cupy

    state = random_state
    if not isinstance(state, cupy.random.RandomState):
        state = cupy.random.RandomState(state) if state is not None else (
            cupy.random.get_random_state())
    count = int(density * m * n)
    places = _host.on_host(state.choice(m * n, size=count, replace=False)) if m * n < 1e7 else (
        np.unique(_host.on_host(state.randint(0, m * n, size=count, dtype=np.int64))))
    values = state.random_sample(len(places)) if data_rvs is None else data_rvs(len(places))
    return _made((_host.on_host(values), places // max(n, 1), places % max(n, 1)), (m, n), format,
                 dtype)  # fmt: skip


_KINDS = {"issparse": _matrices._spbase, "isspmatrix": spmatrix} | {
    f"isspmatrix_{name}": _CLASSES[name, False] for name in ("csr", "csc", "coo")}
_tables.functions(globals(), lambda name: lambda x: isinstance(x, _KINDS[name]), """
issparse(x): Whether it is sparse, on the device.
isspmatrix(x): Whether it is a sparse matrix on the device, and no sparse array.
isspmatrix_csr(x): Whether it is one by compressed rows.
isspmatrix_csc(x): Whether it is one by compressed columns.
isspmatrix_coo(x): Whether it is one by coordinates.
""")

def identity(n, dtype="d", format=None):  # noqa: A002
    """Return the identity."""
    return eye(n, n, 0, dtype, format)


__all__ = [name for name, value in list(globals().items())
           if callable(value) and not name.startswith("_")
           and getattr(value, "__module__", "") == __name__]  # fmt: skip
