"""Sparse matrices on the host: NumPy arrays of values, rows and columns, in any order."""

from __future__ import annotations

from collections.abc import Callable

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


def pointers(major: np.ndarray, count: int) -> np.ndarray:
    """Return where each row begins among sorted entries, and the end."""
    result = np.empty(count + 1, np.int64)
    point(result, major)
    return result


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


def joined(
    function: Callable, a: Triple, b: Triple, dtype: np.dtype | None = None
) -> Triple:
    """Return a function of two matrices at every place where one of them has an entry."""
    a, b = canonical(*a), canonical(*b)
    row, column = (np.concatenate([a[i], b[i]]) for i in (1, 2))
    kinds = np.zeros(0, a[0].dtype), np.zeros(0, b[0].dtype)
    zeros = [np.zeros(len(b[0]), kinds[0].dtype), np.zeros(len(a[0]), kinds[1].dtype)]
    left = canonical(np.concatenate([a[0], zeros[0]]), row, column)
    right = canonical(np.concatenate([zeros[1], b[0]]), row, column)
    values = function(left[0], right[0])
    return (values if dtype is None else values.astype(dtype)), left[1], left[2]


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


def chosen(triple: Triple, rows: np.ndarray, columns: np.ndarray) -> Triple:
    """Return the matrix of the rows and columns with these numbers, which may repeat."""
    values, row, column = triple
    for numbers, axis in ((rows, 0), (columns, 1)):
        at = (row, column)[axis]
        order = np.argsort(numbers, kind="stable")
        low = np.searchsorted(numbers, at, "left", sorter=order)
        count = np.searchsorted(numbers, at, "right", sorter=order) - low
        entry = np.repeat(np.arange(len(at)), count)
        inner = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        new = order[np.repeat(low, count) + inner]
        values = values[entry]
        row, column = (new, column[entry]) if axis == 0 else (row[entry], new)
    return values, row, column


def looked_up(triple: Triple, row: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Return the values at single places, 0 where there is no entry."""
    values, have_row, have_column = canonical(*triple)
    width = int(max(have_column.max(initial=0), column.max(initial=0))) + 1
    keys = have_row.astype(object) * width + have_column if width > 2**31 else (
        have_row.astype(np.int64) * width + have_column)
    asked = row.astype(keys.dtype) * width + column
    at = np.searchsorted(keys, asked)
    there = at < len(keys)
    there[there] = keys[at[there]] == asked[there]
    result = np.zeros(row.shape, values.dtype)
    result[there] = values[at[there]]
    return result


def diagonals(values: np.ndarray, offsets: np.ndarray, shape: tuple[int, int]) -> Triple:
    """Return the entries of a matrix that is stored by diagonals, as SciPy's dia has them."""
    width = min(values.shape[1], shape[1])
    column = np.arange(width)
    row = column[None, :] - np.asarray(offsets, np.int64)[:, None]
    kept = (row >= 0) & (row < shape[0])
    return values[:, :width][kept], row[kept], np.broadcast_to(column, row.shape)[kept]
