"""Special functions, on NumPy arrays of float64.

The scaled tail of the error function follows W. J. Cody, "Rational Chebyshev approximation for the
error function", Mathematics of Computation 23 (1969), 631-637: one quotient of polynomials in each
of two ranges.
"""

from __future__ import annotations

import math

import numpy as np

_MIDDLE = (
    (2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0, 6.61191906371416295e1,
     2.98635138197400131e2, 8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3,
     1.23033935479799725e3),
    (1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2,
     1.62138957456669019e3, 3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3,
     1.23033935480374942e3),
)
_FAR = (
    (1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1,
     1.25781726111229246e-1, 1.60837851487422766e-2, 6.58749161529837803e-4),
    (1.0, 2.56852019228982242e0, 1.87295284992346047e0, 5.27905102951428412e-1,
     6.05183413124413191e-2, 2.33520497626869185e-3),
)
_ROOT = 1 / math.sqrt(math.pi)


def _quotient(pair, x):
    return np.polyval(pair[0], x) / np.polyval(pair[1], x)


def _scaled_tail(y):
    """exp(y * y) * erfc(y) for y of at least 0.46875."""
    result = np.empty_like(y)
    far = y > 4
    near = ~far
    result[near] = _quotient(_MIDDLE, y[near])
    inverse = 1 / y[far] ** 2
    result[far] = (_ROOT - inverse * _quotient(_FAR, inverse)) / y[far]
    return result


def erf(x):
    """The error function."""
    return np.asarray(_each_erf(x), np.float64)


def erfc(x):
    """One less the error function, exact also where that is near one."""
    return np.asarray(_each_erfc(x), np.float64)


def erfcx(x):
    """exp(x * x) * erfc(x)."""
    x = np.asarray(x, np.float64)
    far = x > 0.46875
    result = np.exp(np.where(far, 0, x) ** 2) * erfc(x)
    result[far] = _scaled_tail(x[far])
    return result


def ndtr(x):
    """The area under the normal curve up to x."""
    return erfc(-np.asarray(x, np.float64) / math.sqrt(2)) / 2


def log_ndtr(x):
    """The logarithm of `ndtr`."""
    x = np.asarray(x, np.float64)
    left = np.minimum(x, -1.0)
    tail = np.log(erfcx(-left / math.sqrt(2)) / 2) - left * left / 2
    return np.where(x < -1, tail, np.log1p(-erfc(np.maximum(x, -1.0) / math.sqrt(2)) / 2))


def expit(x):
    """1 / (1 + exp(-x)), without overflow."""
    small = np.exp(-np.abs(x))
    return np.where(np.asarray(x) >= 0, 1, small) / (1 + small)


def log_expit(x):
    """The logarithm of `expit`."""
    return np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))


def logit(x):
    """The inverse of `expit`."""
    return np.log(x) - np.log1p(-np.asarray(x))


def _one_gammaln(x: float) -> float:
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):
        return math.inf


def _one_gamma(x: float) -> float:
    try:
        return math.gamma(x)
    except OverflowError:
        return math.inf
    except ValueError:
        return math.copysign(math.inf, x) if x == 0 else math.nan


_each_erf, _each_erfc = np.frompyfunc(math.erf, 1, 1), np.frompyfunc(math.erfc, 1, 1)
_each_gammaln = np.frompyfunc(_one_gammaln, 1, 1)
_each_gamma = np.frompyfunc(_one_gamma, 1, 1)


def gammaln(x):
    """The logarithm of the absolute value of the gamma function."""
    return np.asarray(_each_gammaln(x), np.float64)


def gamma(x):
    """The gamma function."""
    return np.asarray(_each_gamma(x), np.float64)


def xlogy(x, y):
    """x * log(y), 0 where x is 0."""
    return np.where((np.asarray(x) == 0) & ~np.isnan(y), 0.0, x * np.log(y))


def xlog1py(x, y):
    """x * log1p(y), 0 where x is 0."""
    return np.where((np.asarray(x) == 0) & ~np.isnan(y), 0.0, x * np.log1p(y))


def entr(x):
    """-x * log(x), 0 at 0 and -inf below."""
    return np.where(np.asarray(x) < 0, -np.inf, -xlogy(x, x))


def rel_entr(x, y):
    """x * log(x / y), 0 where x is 0, inf outside its domain."""
    x, y = np.broadcast_arrays(x, y)
    value = x * np.log(x / y)
    value = np.where((x == 0) & (y >= 0), 0.0, value)
    return np.where(((x > 0) & (y > 0)) | ((x == 0) & (y >= 0)) | np.isnan(x + y), value, np.inf)


def kl_div(x, y):
    """rel_entr(x, y) - x + y."""
    return rel_entr(x, y) - x + y
