"""Sorting, searching and sets."""

import cupy as cp
import numpy as np


def sort_and_argsort():
    """sort returns a copy; the method sorts in place; argsort is stable."""
    x = cp.array([3, 1, 2, 1])
    print(cp.sort(x), cp.argsort(x), x)
    x.sort()
    print(x)


def sort_along_axes():
    """axis=None flattens."""
    x = cp.array([[3, 1], [2, 4]])
    print(cp.sort(x, axis=0).tolist(), cp.sort(x).tolist(), cp.sort(x, axis=None))


def sort_kinds():
    """kind may be stable only; another kind is an error or ignored, as recorded (ValueError)."""
    print(cp.sort(cp.array([2, 1]), kind="stable"))
    print(cp.sort(cp.array([2, 1]), kind="quicksort"))


def sort_of_zero_d():
    """A 0-d array cannot be sorted: AxisError."""
    cp.sort(cp.array(1))


def sort_in_place_of_a_view():
    """sort of a strided view in place: a NotImplementedError or a result, as recorded."""
    x = cp.array([3, 0, 1, 0, 2, 0])
    x[::2].sort()
    print(x)


def sort_puts_nan_last():
    """nan sorts last, -inf first."""
    print(cp.sort(cp.array([np.nan, 1.0, -np.inf, 0.0])))


def sort_of_booleans_and_complex():
    """Booleans and complex numbers sort."""
    print(cp.sort(cp.array([True, False])), cp.sort(cp.array([1 + 1j, 1 - 1j, 0j])))


def lexsort():
    """lexsort sorts by the last key first, the keys in one array."""
    print(cp.lexsort(cp.array([[1, 2, 3], [0, 1, 0]])))


def lexsort_of_a_tuple():
    """lexsort wants an array, not a tuple: an exception (AttributeError or TypeError)."""
    print(cp.lexsort((cp.array([1, 2, 3]), cp.array([0, 1, 0]))))


def partition():
    """partition and argpartition; here they sort completely."""
    x = cp.array([3, 1, 2, 0])
    print(cp.partition(x, 1), cp.argpartition(x, 1).shape)


def partition_out_of_bounds():
    """kth beyond the length is a ValueError."""
    cp.partition(cp.arange(3), 3)


def unique():
    """unique with its index, inverse and counts."""
    x = cp.array([2, 1, 2, 3])
    print(cp.unique(x), *cp.unique(x, return_index=True, return_inverse=True, return_counts=True))


def unique_along_an_axis():
    """unique rows."""
    print(cp.unique(cp.array([[1, 2], [1, 2], [0, 1]]), axis=0).tolist())


def searchsorted():
    """searchsorted from the left and the right, digitize."""
    x = cp.array([1, 2, 2, 3])
    print(cp.searchsorted(x, cp.array([2, 5])), cp.searchsorted(x, cp.array([2]), side="right"))
    print(cp.digitize(cp.array([0, 2]), x))


def searchsorted_of_a_number():
    """searchsorted of a Python number: a 0-d array or an exception, as recorded."""
    print(cp.searchsorted(cp.array([1, 2, 3]), 2))


def sets():
    """isin, intersect1d, setdiff1d and union1d."""
    a, b = cp.array([1, 2, 3]), cp.array([2, 3, 4])
    print(cp.isin(a, b), cp.intersect1d(a, b), cp.setdiff1d(a, b), cp.union1d(a, b))


def argsort_of_equal_keys():
    """Equal keys keep their order."""
    print(cp.argsort(cp.array([1, 0, 1, 0, 1, 0])))


def flip_and_rotate():
    """flip, rot90, moveaxis and swapaxes are views."""
    x = cp.arange(4).reshape(2, 2)
    print(cp.flip(x).tolist(), cp.rot90(x).tolist(), cp.flip(x, 0).strides)


def top_k_by_argpartition():
    """The k largest, by argsort of the negated."""
    x = cp.array([5, 1, 9, 7])
    print(cp.argsort(-x)[:2], cp.sort(x)[::-1][:2])


def nonzero_count_of_extremes():
    """argmax over an axis and take_along_axis agree."""
    x = cp.array([[1, 5], [7, 2]])
    i = x.argmax(axis=1, keepdims=True)
    print(cp.take_along_axis(x, i, axis=1).ravel())
