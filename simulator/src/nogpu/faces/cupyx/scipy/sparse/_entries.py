"""Sparse matrices on the host: NumPy arrays of values, rows and columns, in any order."""

from __future__ import annotations

import numpy as np

Triple = tuple[np.ndarray, np.ndarray, np.ndarray]  # values, rows, columns


def canonical(values: np.ndarray, row: np.ndarray, column: np.ndarray, by: str = "row") -> Triple:
    """Return the entries sorted by rows or by columns, those of one place added up."""
    order = np.lexsort((column, row) if by == "row" else (row, column))
    values, row, column = values[order], row[order], column[order]
    if values.size == 0:
        return values, row, column
    first = np.ones(len(row), bool)
    first[1:] = (row[1:] != row[:-1]) | (column[1:] != column[:-1])
    if not first.all():
        add = np.logical_or if values.dtype.kind == "b" else np.add
        values = add.reduceat(values, np.flatnonzero(first))
    return values, row[first], column[first]


def point(to: np.ndarray, major: np.ndarray) -> None:
    """Write where each row begins among sorted entries, piece by piece: there may be many rows."""
    for start in range(0, len(to), 1 << 20):
        part = to[start : start + (1 << 20)]
        part[:] = np.searchsorted(major, np.arange(start, start + len(part)))


def product(a: Triple, b: Triple, dtype: np.dtype) -> Triple:
    """Return the product of two matrices: each entry of the first meets a row of the second."""
    values, row, column = canonical(*b)
    start = np.searchsorted(row, a[2], "left")
    count = np.searchsorted(row, a[2], "right") - start
    left = np.repeat(np.arange(len(count)), count)
    inner = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    right = np.repeat(start, count) + inner
    return canonical(
        a[0][left].astype(dtype) * values[right].astype(dtype), a[1][left], column[right])


def without_zeros(values: np.ndarray, row: np.ndarray, column: np.ndarray) -> Triple:
    """Return the entries that are not 0."""
    kept = values != 0
    return values[kept], row[kept], column[kept]


def dense(triple: Triple, shape: tuple[int, int], order: str = "C") -> np.ndarray:
    """Return the whole matrix."""
    values, row, column = triple
    result = np.zeros(shape, values.dtype, order=order)
    add = np.logical_or if values.dtype.kind == "b" else np.add
    add.at(result, (row, column), values)
    return result
