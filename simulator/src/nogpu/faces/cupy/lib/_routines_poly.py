"""Polynomials as arrays of coefficients, the highest power first. Most of this waits."""

from __future__ import annotations

import numpy as np
from cupy import _host
from cupy.lib._polynomial import coefficients, evaluate, poly1d


def poly(seq_of_zeros):
    """Return the coefficients of the polynomial with these roots."""
    return _host.compute_now(np.poly, [_host.argument(seq_of_zeros)])


def roots(p):
    """Return the roots, as the eigenvalues of the companion matrix."""
    return _host.compute_now(np.roots, [coefficients(p)])


def _two(function, a1, a2):
    result = _host.compute_now(
        lambda p, q: np.atleast_1d(function(p, q)), [coefficients(a1), coefficients(a2)])
    return poly1d(result) if isinstance(a1, poly1d) or isinstance(a2, poly1d) else result


def polyadd(a1, a2):
    """Return the sum of two polynomials."""
    return _two(np.polyadd, a1, a2)


def polysub(a1, a2):
    """Return the difference of two polynomials."""
    return _two(np.polysub, a1, a2)


def polymul(a1, a2):
    """Return the product of two polynomials."""
    return _two(np.polymul, a1, a2)


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
