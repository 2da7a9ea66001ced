"""Assertions: NumPy's, of what is on the device or on the host."""

import numpy as np
from cupy import _host, _tables


def _values(x):
    if _host.is_array(x):
        return _host.look(x)
    return x.get() if hasattr(x, "get") and not isinstance(x, dict) else x


def assert_allclose(actual, desired, rtol=1e-7, atol=0, err_msg="", verbose=True):
    """Raise an AssertionError unless the values are equal up to the tolerances."""
    np.testing.assert_allclose(
        _values(actual), _values(desired), rtol=rtol, atol=atol, err_msg=err_msg, verbose=verbose)


def _of_values(name):
    function = getattr(np.testing, name)

    def check(x, y, *how):
        function(_values(x), _values(y), *how)

    return check


_tables.functions(globals(), _of_values, """
assert_array_almost_equal(x, y, decimal=6, err_msg="", verbose=True):
    Raise an AssertionError unless the values are equal up to so many decimals.
assert_array_almost_equal_nulp(x, y, nulp=1):
    Raise an AssertionError unless the values are that near to each other.
assert_array_max_ulp(a, b, maxulp=1, dtype=None):
    Raise an AssertionError where values are further apart than that.
assert_array_less(x, y, err_msg="", verbose=True):
    Raise an AssertionError unless every value of x is less than that of y.
""")


def assert_array_equal(x, y, err_msg="", verbose=True, strides_check=False, **kwargs):
    """Raise an AssertionError unless the values, and if asked the strides, are equal."""
    np.testing.assert_array_equal(
        _values(x), _values(y), err_msg=err_msg, verbose=verbose, **kwargs)
    if strides_check and x.strides != y.strides:
        raise AssertionError(
            f"Strides are not equal: {x.strides} and {y.strides}\n{err_msg}")


def assert_array_list_equal(xlist, ylist, err_msg="", verbose=True):
    """Raise an AssertionError unless the lists have equal arrays."""
    if len(xlist) != len(ylist):
        raise AssertionError(f"Lists of {len(xlist)} and of {len(ylist)} arrays\n{err_msg}")
    for x, y in zip(xlist, ylist):
        assert_array_equal(x, y, err_msg, verbose)
