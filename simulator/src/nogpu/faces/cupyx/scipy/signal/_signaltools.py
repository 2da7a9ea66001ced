"""Convolution and correlation in any number of dimensions."""

import numpy as np
from cupy import _host, _tables

from nogpu.engine import images

MODES = ("full", "same", "valid")
MODE_ERROR = 'acceptable mode flags are "valid", "same", or "full"'


def _method(in1, in2):
    """What is exact for whole numbers and fast for others."""
    exact = np.result_type(in1.dtype, in2.dtype).kind not in "fc"
    return "direct" if exact or min(in1.size, in2.size) <= 64 else "fft"


def choose_conv_method(in1, in2, mode="full"):
    """Return "direct" or "fft", whichever `convolve` takes for two signals of one dimension."""
    if in1.ndim != 1 or in2.ndim != 1:
        raise NotImplementedError("Only 1d inputs are supported currently")
    return _method(in1, in2)


def _convolve(in1, in2, mode, method, flipped=False):
    _host.argument(in1)
    _host.argument(in2)
    if in1.ndim != in2.ndim:
        raise ValueError("in1 and in2 should have the same dimensionality")
    if mode not in MODES:
        raise ValueError(MODE_ERROR)
    if method not in ("auto", "direct", "fft"):
        raise ValueError('acceptable methods are "auto", "direct", or "fft"')
    first, second = in1.shape, in2.shape
    if mode == "valid":
        larger = [m >= n for m, n in zip(first, second)]
        if not (all(larger) or all(m <= n for m, n in zip(first, second))):
            raise ValueError(
                "For 'valid' mode, one must be at least as large as the other in every dimension")
    dtype = np.result_type(in1.dtype, in2.dtype)
    if method == "auto":
        method = _method(in1, in2)
    full = [m + n - 1 for m, n in zip(first, second)]
    shape = {
        "full": full, "same": first, "valid": [abs(m - n) + 1 for m, n in zip(first, second)],
    }[mode]
    if in1.size == 0 or in2.size == 0:
        return _host.device(np.zeros(0, dtype))
    kind = _host.wide(dtype)

    def work(x, k):
        x, k = x.astype(kind, copy=False), k.astype(kind, copy=False)
        if flipped:
            k = k[(slice(None, None, -1),) * k.ndim].conj()
        result = images.by_fft(x, k, kind) if method == "fft" else images.direct(x, k, kind)
        if method == "fft" and kind.kind in "iu":
            result = np.rint(result)
        return images.cut(result, first, second, mode)

    return _host.compute(work, [in1, in2], shape, dtype)


_tables.functions(
    globals(), lambda name: lambda *given: _convolve(*given, flipped=name == "correlate"), """
convolve(in1, in2, mode="full", method="auto"):
    Return the convolution of two arrays of as many dimensions.
correlate(in1, in2, mode="full", method="auto"):
    Return the cross-correlation of two arrays of as many dimensions.
""")


def fftconvolve(in1, in2, mode="full", axes=None):
    """Return the convolution, by Fourier transforms; floats for integers."""
    if axes is not None:
        raise NotImplementedError("nogpu's fftconvolve goes over all axes")
    as_float = [
        _host.copy(x, np.float64) if _host.argument(x).dtype.kind not in "fc" else x
        for x in (in1, in2)
    ]
    return _convolve(*as_float, mode, "fft")


oaconvolve = fftconvolve


def _of_images(name):
    def call(in1, in2, mode, boundary, fillvalue):
        if fillvalue:
            raise NotImplementedError("nogpu fills with zero only")
        if boundary != "fill":
            raise NotImplementedError("nogpu has the boundary 'fill' only")
        if in1.ndim != 2 or in2.ndim != 2:
            raise ValueError("convolve2d inputs must both be 2-D arrays")
        return _convolve(in1, in2, mode, "direct", name == "correlate2d")

    return call


_tables.functions(globals(), _of_images, """
convolve2d(in1, in2, mode="full", boundary="fill", fillvalue=0):
    Return the convolution of two images, zero outside.
correlate2d(in1, in2, mode="full", boundary="fill", fillvalue=0):
    Return the cross-correlation of two images, zero outside.
""")
