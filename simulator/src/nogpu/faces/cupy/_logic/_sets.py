"""Sets: what two arrays share."""

from __future__ import annotations

import numpy as np
from cupy import _host


def isin(element, test_elements, assume_unique=False, invert=False):
    """Return which elements are among the test elements."""
    _host.argument(element)
    _host.argument(test_elements)
    return _host.compute(
        lambda v, w: np.isin(v, w, invert=invert), [element, test_elements], element.shape, bool)


def in1d(ar1, ar2, assume_unique=False, invert=False):
    """Return which elements of the flattened ar1 are in ar2."""
    return isin(_host.argument(ar1).ravel(), ar2, assume_unique, invert)


def intersect1d(arr1, arr2, assume_unique=False, return_indices=False):
    """Return the sorted values that are in both; it waits."""
    return _host.compute_now(
        lambda v, w: np.intersect1d(v, w, assume_unique, return_indices),
        [_host.argument(arr1), _host.argument(arr2)])


def setdiff1d(ar1, ar2, assume_unique=False):
    """Return the values of ar1 that are not in ar2; it waits."""
    return _host.compute_now(
        lambda v, w: np.setdiff1d(v, w, assume_unique),
        [_host.argument(ar1), _host.argument(ar2)])


def setxor1d(ar1, ar2, assume_unique=False):
    """Return the sorted values that are in one array only; it waits."""
    return _host.compute_now(
        lambda v, w: np.setxor1d(v, w, assume_unique),
        [_host.argument(ar1), _host.argument(ar2)])


def union1d(arr1, arr2):
    """Return the sorted values that are in either; it waits."""
    return _host.compute_now(np.union1d, [_host.argument(arr1), _host.argument(arr2)])
