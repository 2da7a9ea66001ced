"""Sets: what two arrays share."""

import numpy as np
from cupy import _host, _tables


def isin(element, test_elements, assume_unique=False, invert=False):
    """Return which elements are among the test elements."""
    _host.argument(element)
    _host.argument(test_elements)
    return _host.compute(
        lambda v, w: np.isin(v, w, invert=invert), [element, test_elements], element.shape, bool)


def in1d(ar1, ar2, assume_unique=False, invert=False):
    """Return which elements of the flattened ar1 are in ar2."""
    return isin(_host.argument(ar1).ravel(), ar2, assume_unique, invert)


_tables.functions(globals(), _tables.now(), """
intersect1d(arr1: array, arr2: array, assume_unique=False, return_indices=False):
    Return the sorted values that are in both; it waits.
setdiff1d(ar1: array, ar2: array, assume_unique=False):
    Return the values of ar1 that are not in ar2; it waits.
setxor1d(ar1: array, ar2: array, assume_unique=False):
    Return the sorted values that are in one array only; it waits.
union1d(arr1: array, arr2: array): Return the sorted values that are in either; it waits.
""")
