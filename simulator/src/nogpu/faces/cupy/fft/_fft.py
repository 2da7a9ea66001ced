"""Discrete Fourier transforms."""

from __future__ import annotations

from functools import partial

import numpy as np
from cupy import _host

NORMS = (None, "backward", "ortho", "forward")


def _checked(a, norm):
    if norm not in NORMS:
        raise ValueError(
            f'Invalid norm value {norm}, should be "backward", "ortho", or "forward".')
    if not _host.is_array(a):
        raise TypeError("The input array a must be a cupy.ndarray")
    single = a.dtype.char in "efF"
    return np.dtype(np.complex64 if single else np.complex128)


def _input(v, kind):
    """Return values of the precision to compute in."""
    if v.dtype.kind == "c":
        return v.astype(kind, copy=False)
    return v.astype(_host.real_type(kind), copy=False)


def _points(n):
    if n < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    return int(n)


def _one(function, a, n, axis, norm, length=None, real_output=False):
    kind = _checked(a, norm)
    axis = _host.one_axis(axis, a.ndim)
    if n is None:
        n = a.shape[axis] if not real_output else 2 * (a.shape[axis] - 1)
    n = _points(n)
    shape = list(a.shape)
    shape[axis] = n if length is None else length(n)
    dtype = _host.real_type(kind) if real_output else kind
    return _host.compute(
        lambda v: function(_input(v, kind), n, axis, norm), [a], shape, dtype)


def fft(a, n=None, axis=-1, norm=None):
    """Return the discrete Fourier transform along an axis."""
    return _one(np.fft.fft, a, n, axis, norm)


def ifft(a, n=None, axis=-1, norm=None):
    """Return the inverse transform."""
    return _one(np.fft.ifft, a, n, axis, norm)


def _real_part(v):
    return v.real if v.dtype.kind == "c" else v


def rfft(a, n=None, axis=-1, norm=None):
    """Return the transform of real values, its first half."""
    return _one(lambda v, *how: np.fft.rfft(_real_part(v), *how), a, n, axis, norm,
                lambda n: n // 2 + 1)


def irfft(a, n=None, axis=-1, norm=None):
    """Return the real values of which `rfft` is the transform."""
    return _one(np.fft.irfft, a, n, axis, norm, real_output=True)


def hfft(a, n=None, axis=-1, norm=None):
    """Return the transform of a signal with Hermitian symmetry."""
    return _one(np.fft.hfft, a, n, axis, norm, real_output=True)


def ihfft(a, n=None, axis=-1, norm=None):
    """Return the inverse of `hfft`."""
    return _one(lambda v, *how: np.fft.ihfft(_real_part(v), *how), a, n, axis, norm,
                lambda n: n // 2 + 1)


def _many(function, a, s, axes, norm, kind_of="complex"):
    kind = _checked(a, norm)
    if s is not None and axes is not None and len(s) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    if axes is None:
        axes = range(a.ndim) if s is None else range(a.ndim - len(s), a.ndim)
    axes = tuple(_host.one_axis(i, a.ndim) for i in axes)
    sizes = [a.shape[i] for i in axes] if s is None else [
        a.shape[i] if n is None else n for i, n in zip(axes, s)]
    if s is None and kind_of == "real" and sizes:
        sizes[-1] = 2 * (sizes[-1] - 1)
    sizes = [_points(n) for n in sizes]
    shape = list(a.shape)
    for i, n in zip(axes, sizes):
        shape[i] = n
    if kind_of == "half" and axes:
        shape[axes[-1]] = sizes[-1] // 2 + 1
    dtype = _host.real_type(kind) if kind_of == "real" else kind
    if not axes:
        return _host.copy(a, dtype)

    def work(v):
        v = _input(v, kind)
        return function(_real_part(v) if kind_of == "half" else v, sizes, axes, norm)

    return _host.compute(work, [a], shape, dtype)


def fftn(a, s=None, axes=None, norm=None):
    """Return the transform over several axes, all of them for None."""
    return _many(np.fft.fftn, a, s, axes, norm)


def ifftn(a, s=None, axes=None, norm=None):
    """Return the inverse of `fftn`."""
    return _many(np.fft.ifftn, a, s, axes, norm)


def rfftn(a, s=None, axes=None, norm=None):
    """Return the transform of real values over several axes, half of the last."""
    return _many(np.fft.rfftn, a, s, axes, norm, "half")


def irfftn(a, s=None, axes=None, norm=None):
    """Return the inverse of `rfftn`."""
    return _many(np.fft.irfftn, a, s, axes, norm, "real")


def _two(function, inverse_of):
    def transform(a, s=None, axes=(-2, -1), norm=None):
        return function(a, s, axes, norm)

    transform.__name__ = transform.__qualname__ = inverse_of
    transform.__doc__ = f"Return what `{function.__name__}` gives for two axes."
    return transform


fft2 = _two(fftn, "fft2")
ifft2 = _two(ifftn, "ifft2")
rfft2 = _two(rfftn, "rfft2")
irfft2 = _two(irfftn, "irfft2")


def fftfreq(n, d=1.0):
    """Return the frequencies of a transform of length n."""
    return _host.device(np.fft.fftfreq(n, d))


def rfftfreq(n, d=1.0):
    """Return the frequencies of a transform of n real values."""
    return _host.device(np.fft.rfftfreq(n, d))


def _shift(function, x, axes):
    if isinstance(axes, int):
        axes = (axes,)
    if axes is not None:
        axes = tuple(_host.one_axis(i, x.ndim) for i in axes)
    return _host.compute(partial(function, axes=axes), [_host.argument(x)], x.shape, x.dtype)


def fftshift(x, axes=None):
    """Move the frequency zero to the middle."""
    return _shift(np.fft.fftshift, x, axes)


def ifftshift(x, axes=None):
    """Undo `fftshift`."""
    return _shift(np.fft.ifftshift, x, axes)
