"""Polynomials as arrays of coefficients, the highest power first. Most of this waits."""

import numpy as np
from cupy import _host, _tables
from cupy.lib._polynomial import coefficients, evaluate

from nogpu.faces import table

_MARKS = {"array": _tables.MARKS["array"], "polynomial": lambda p, name: coefficients(p)}
table.functions(globals(), _tables.now(), """
poly(seq_of_zeros: array): Return the coefficients of the polynomial with these roots.
roots(p: polynomial): Return the roots, as the eigenvalues of the companion matrix.
""", _MARKS)


def polyval(p, x):
    """Return the polynomial's value at x."""
    return evaluate(p, x)


def polyfit(x, y, deg, rcond=None, full=False, w=None, cov=False):
    """Return the polynomial that fits best, by least squares."""
    _host.argument(x)
    _host.argument(y)
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if x.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if x.size == 0:
        raise TypeError("expected non-empty vector for x")
    if y.ndim not in (1, 2):
        raise TypeError("expected 1D or 2D array for y")
    if x.size != y.shape[0]:
        raise TypeError("expected x and y to have same length")
    inputs = [x, y] if w is None else [x, y, _host.argument(w)]

    def work(a, b, weights=None):
        found = np.polyfit(a, b, deg, rcond, full, weights, cov)
        return found if not full else tuple(np.asarray(one) for one in found)

    return _host.compute_now(work, inputs)
