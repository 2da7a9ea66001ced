"""The chirp z-transform: the z-transform at points of a spiral."""

from __future__ import annotations

import cupy
import numpy as np
from cupy import _host

from nogpu.engine import images


def czt_points(m, w=None, a=1 + 0j):
    """Return the points that `czt` transforms to."""
    m = _count(m, "m")
    k = cupy.arange(m)
    return a * cupy.exp(2j * np.pi * k / m) if w is None else a * cupy.asarray(w) ** -k


def _count(n, name):
    if int(n) != n or n < 1:
        raise ValueError(f"Invalid number of CZT data points ({n}) specified. n must be positive "
                         "and integer type.")  # fmt: skip
    return int(n)


class CZT:
    """A chirp z-transform of signals of one length."""

    def __init__(self, n, m=None, w=None, a=1 + 0j):
        self.n = _count(n, "n")
        self.m = self.n if m is None else _count(m, "m")
        self.w, self.a = w, a

    def __call__(self, x, *, axis=-1):
        """Transform a signal."""
        x = _host.asarray(x)
        if x.shape[axis] != self.n:
            raise ValueError(f"CZT defined for length {self.n}, not {x.shape[axis]}")
        kind = np.result_type(x.dtype, np.complex64) if x.dtype.char in "fF" else complex
        return _host.compute_now(lambda v: images.chirp_z(
            v, self.m, self.w, self.a, axis).astype(kind), [x])  # fmt: skip

    def points(self):
        """Return the points of the transform."""
        return czt_points(self.m, self.w, self.a)


class ZoomFFT(CZT):
    """A Fourier transform of a part of the frequencies."""

    def __init__(self, n, fn, m=None, *, fs=2, endpoint=False):
        m = _count(n, "n") if m is None else _count(m, "m")
        if np.size(fn) not in (1, 2):
            raise ValueError("fn must be a scalar or 2-length sequence")
        self.f1, self.f2 = (0.0, fn) if np.size(fn) == 1 else fn
        self.f1, self.f2, self.fs = float(self.f1), float(self.f2), fs
        step = (self.f2 - self.f1) / (fs * (m - 1 if endpoint and m > 1 else m))
        super().__init__(n, m, np.exp(-2j * np.pi * step), np.exp(2j * np.pi * self.f1 / fs))


def czt(x, m=None, w=None, a=1 + 0j, *, axis=-1):
    """Return the z-transform of a signal at m points of a spiral."""
    x = _host.asarray(x)
    return CZT(x.shape[axis], m, w, a)(x, axis=axis)


def zoom_fft(x, fn, m=None, *, fs=2, endpoint=False, axis=-1):
    """Return the Fourier transform of a signal at frequencies between the two of ``fn``."""
    x = _host.asarray(x)
    return ZoomFFT(x.shape[axis], fn, m, fs=fs, endpoint=endpoint)(x, axis=axis)
