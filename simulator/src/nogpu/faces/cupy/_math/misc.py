"""Functions that are no ufunc of NumPy's."""

from __future__ import annotations

import numpy as np
from cupy._core import core
from cupy._core._fusion_thread_local import fusable
from cupy._core.core import _SCALARS, ndarray
from cupy._statistics.correlation import _slide


def _elementwise(function, *inputs, dtype=None):
    """Queue a NumPy function that works element by element."""
    inputs = [x if isinstance(x, (ndarray, *_SCALARS)) else core._argument(x) for x in inputs]
    if dtype is None:
        ones = [np.ones(1, x.dtype) if isinstance(x, ndarray) else x for x in inputs]
        dtype = np.asarray(function(*ones)).dtype
    return core.compute(function, inputs, core.broadcast_shape(inputs), dtype)


@fusable
def clip(a, a_min, a_max, out=None):
    """Values between limits; one of them may be None."""
    return core._argument(a).clip(a_min, a_max, out)


def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    """nan and infinities replaced."""
    x = core._argument(x)
    result = _elementwise(lambda a: np.nan_to_num(a, nan=nan, posinf=posinf, neginf=neginf), x)
    if not copy:
        x[...] = result
        return x
    return result


def sinc(x):
    """sin(pi x) / (pi x)."""
    return _elementwise(np.sinc, x)


def i0(x):
    """Modified Bessel function of order 0."""
    return _elementwise(np.i0, x)


def angle(z, deg=False):
    """The angle of complex numbers."""
    return _elementwise(lambda a: np.angle(a, deg), z)


def real(val):
    """The real part."""
    return val.real if isinstance(val, ndarray) else np.real(val)


def imag(val):
    """The imaginary part."""
    return val.imag if isinstance(val, ndarray) else np.imag(val)


def real_if_close(a, tol=100):
    """Real where the imaginary parts are negligible."""
    return core.compute_now(lambda x: np.real_if_close(x, tol), [core._argument(a)])


def unwrap(p, discont=None, axis=-1, *, period=2 * np.pi):
    """Angles without jumps."""
    return core.compute_now(lambda a: np.unwrap(a, discont, axis, period=period), [p])


def convolve(a, v, mode="full"):
    """Discrete convolution of two vectors."""
    return _slide(np.convolve, a, v, mode)


def interp(x, xp, fp, left=None, right=None, period=None):
    """Linear interpolation."""
    return core.compute_now(
        lambda a, b, c: np.interp(a, b, c, left, right, period), [x, xp, fp]
    )


def max(a, axis=None, out=None, keepdims=False):  # noqa: A001
    """The largest."""
    return a.max(axis=axis, out=out, keepdims=keepdims)


def min(a, axis=None, out=None, keepdims=False):  # noqa: A001
    """The smallest."""
    return a.min(axis=axis, out=out, keepdims=keepdims)
