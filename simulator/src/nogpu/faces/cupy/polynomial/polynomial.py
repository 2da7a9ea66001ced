"""Polynomials as arrays of coefficients, the lowest power first."""

import numpy as np
from cupy import _host, _tables
from cupy._manipulation.transpose import moveaxis


def polyvander(x, deg):
    """Return the powers of x up to a degree, along a new last axis."""
    deg = int(deg)
    if deg < 0:
        raise ValueError("degree must be non-negative")
    _host.argument(x)
    dtype = _host.floating(x.dtype)
    shape = (deg + 1, *(x.shape or (1,)))  # as it lies in memory
    powers = _host.compute(
        lambda v: np.moveaxis(np.polynomial.polynomial.polyvander(v, deg), -1, 0).reshape(shape),
        [x], shape, dtype)
    return moveaxis(powers, 0, -1)


_tables.functions(globals(), _tables.now(np.polynomial.polynomial), """
polycompanion(c: array): Return the companion matrix; it waits.
polyvalfromroots(x: array, r: array, tensor=True):
    Return at x the value of the polynomial with these roots; it waits.
""")


def polyval(x, c, tensor=True):
    """Return the polynomial's value at x."""
    _host.argument(x)
    _host.argument(c)
    dtype = np.result_type(_host.floating(x.dtype), c.dtype)
    shape = (*c.shape[1:], *x.shape) if tensor else np.broadcast_shapes(c.shape[1:], x.shape)
    return _host.compute(
        lambda v, w: np.polynomial.polynomial.polyval(v, w, tensor), [x, c], shape, dtype)
