"""The chirp z-transform: a polynomial's values along a spiral, of which the circle is a case."""

import numpy as np
from cupy import _host


def _powers(w, k, m):
    """``w ** k``; without w steps of a circle in m parts."""
    return np.exp(-2j * np.pi * (k % m) / m) if w is None else complex(w) ** k


def _checked(m):
    if not isinstance(m, (int, np.integer)) or m < 1:
        raise ValueError(f"Invalid number of CZT data points ({m}) specified.")
    return int(m)


def czt(x, m=None, w=None, a=1 + 0j, *, axis=-1):
    """Return the z-transform at `czt_points`, by Bluestein's convolution."""
    x = _host.asarray(x)
    n = _checked(x.shape[axis])
    m = n if m is None else _checked(m)
    k = np.arange(max(m, n))
    chirp = _powers(w, k * k, 2 * m) if w is None else _powers(w, k * k / 2.0, m)
    length = 1 << (n + m - 2).bit_length()

    def work(v):
        v = np.moveaxis(v, axis, -1) * (complex(a) ** -k[:n] * chirp[:n])
        back = np.fft.fft(1 / np.concatenate([chirp[n - 1 : 0 : -1], chirp[:m]]), length)
        found = np.fft.ifft(np.fft.fft(v, length) * back)[..., n - 1 : n + m - 1] * chirp[:m]
        return np.moveaxis(found, -1, axis)

    shape, axis = list(x.shape), _host.one_axis(axis, x.ndim)
    shape[axis] = m
    return _host.compute(work, [x], shape, np.result_type(x.dtype, np.complex64))


def czt_points(m, w=None, a=1 + 0j):
    """Return the m points of `czt`: ``a / w ** k``."""
    k = np.arange(_checked(m))
    return _host.device(complex(a) / _powers(w, k, m))
