"""Discrete Fourier transforms."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
from cupy import _host, _tables
from cupy.fft import _callbacks

NORMS = (None, "backward", "ortho", "forward")


def _checked(a, norm, real=False):
    if norm not in NORMS:
        raise ValueError(
            f'Invalid norm value {norm}, should be "backward", "ortho", or "forward".')
    if not _host.is_array(a):
        raise TypeError("The input array a must be a cupy.ndarray")
    if real and a.dtype.kind == "c":
        warnings.warn("Casting complex values to real discards the imaginary part",
                      np.exceptions.ComplexWarning, stacklevel=4)  # fmt: skip
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


def _real_part(v):
    return v.real if v.dtype.kind == "c" else v


def _kind(name: str) -> str:
    """What a transform makes: of real values half of theirs, or complex or real ones."""
    if name.startswith(("rfft", "ihfft")):
        return "half"
    return "real" if name.startswith(("irfft", "hfft")) else "complex"


def _along_one(name):
    function, makes = getattr(np.fft, name), _kind(name)

    def transform(a, n, axis, norm):
        kind = _checked(a, norm, makes == "half")
        axis = _host.one_axis(axis, a.ndim)
        if n is None:
            n = 2 * (a.shape[axis] - 1) if makes == "real" else a.shape[axis]
        n = _points(n)
        shape = list(a.shape)
        shape[axis] = n // 2 + 1 if makes == "half" else n
        dtype = _host.real_type(kind) if makes == "real" else kind

        def work(v):
            v = _input(v, kind)
            return function(_real_part(v) if makes == "half" else v, n, axis, norm)

        return _host.compute(work, [a], shape, dtype)

    return _callbacks.around(transform, makes)


_tables.functions(globals(), _along_one, """
fft(a, n=None, axis=-1, norm=None): Return the discrete Fourier transform along an axis.
ifft(a, n=None, axis=-1, norm=None): Return the inverse transform.
rfft(a, n=None, axis=-1, norm=None): Return the transform of real values, its first half.
irfft(a, n=None, axis=-1, norm=None): Return the real values of which `rfft` is the transform.
hfft(a, n=None, axis=-1, norm=None): Return the transform of a signal with Hermitian symmetry.
ihfft(a, n=None, axis=-1, norm=None): Return the inverse of `hfft`.
""")


def _along_many(name):
    function, makes = getattr(np.fft, name.replace("2", "n")), _kind(name)

    def transform(a, s, axes, norm):
        kind = _checked(a, norm, makes == "half")
        if s is not None and axes is not None and len(s) != len(axes):
            raise ValueError("Shape and axes have different lengths.")
        if axes is None:
            axes = range(a.ndim) if s is None else range(a.ndim - len(s), a.ndim)
        axes = tuple(_host.one_axis(i, a.ndim) for i in axes)
        sizes = [a.shape[i] if s is None or s[at] is None else s[at] for at, i in enumerate(axes)]
        if s is None and makes == "real" and sizes:
            sizes[-1] = 2 * (sizes[-1] - 1)
        sizes = [_points(n) for n in sizes]
        shape = list(a.shape)
        for i, n in zip(axes, sizes):
            shape[i] = n
        if makes == "half" and axes:
            shape[axes[-1]] = sizes[-1] // 2 + 1
        dtype = _host.real_type(kind) if makes == "real" else kind
        if not axes:
            return _host.copy(a, dtype)

        def work(v):
            v = _input(v, kind)
            return function(_real_part(v) if makes == "half" else v, sizes, axes, norm)

        return _host.compute(work, [a], shape, dtype)

    return _callbacks.around(transform, makes)


_tables.functions(globals(), _along_many, """
fftn(a, s=None, axes=None, norm=None):
    Return the transform over several axes, all of them for None.
ifftn(a, s=None, axes=None, norm=None): Return the inverse of `fftn`.
rfftn(a, s=None, axes=None, norm=None):
    Return the transform of real values over several axes, half of the last.
irfftn(a, s=None, axes=None, norm=None): Return the inverse of `rfftn`.
fft2(a, s=None, axes=(-2, -1), norm=None): Return what `fftn` gives for two axes.
ifft2(a, s=None, axes=(-2, -1), norm=None): Return what `ifftn` gives for two axes.
rfft2(a, s=None, axes=(-2, -1), norm=None): Return what `rfftn` gives for two axes.
irfft2(a, s=None, axes=(-2, -1), norm=None): Return what `irfftn` gives for two axes.
""")
_tables.functions(globals(), _tables.on_host(np.fft), """
fftfreq(n, d=1.0): Return the frequencies of a transform of length n.
rfftfreq(n, d=1.0): Return the frequencies of a transform of n real values.
""")


def _shift(name):
    function = getattr(np.fft, name)

    def shift(x, axes):
        if axes is not None:
            axes = tuple(_host.one_axis(i, x.ndim) for i in np.atleast_1d(axes).tolist())
        return _host.compute(partial(function, axes=axes), [x], x.shape, x.dtype)

    return shift


_tables.functions(globals(), _shift, """
fftshift(x: any, axes=None): Move the frequency zero to the middle.
ifftshift(x: any, axes=None): Undo `fftshift`.
""")
