"""Images and signals, on NumPy arrays: windows, convolutions, labelled parts."""

from __future__ import annotations

import itertools

import numpy as np

PADDING = {
    "reflect": "symmetric", "constant": "constant", "nearest": "edge", "mirror": "reflect",
    "wrap": "wrap", "grid-mirror": "symmetric", "grid-wrap": "wrap", "grid-constant": "constant",
}


def windows(v, sizes, origins, mode, cval):
    """Return a view with a window of the padded array around each element."""
    widths = []
    for size, origin in zip(sizes, origins):
        before = size // 2 + origin
        widths.append((before, size - 1 - before))
    extra = {"constant_values": cval} if PADDING[mode] == "constant" else {}
    padded = np.pad(v, widths, PADDING[mode], **extra)
    return np.lib.stride_tricks.sliding_window_view(padded, sizes)


def weigh(v, w, origins, mode, cval):
    """Return the sum of products of weights and the window around each element."""
    kind = np.result_type(v.dtype, w.dtype, np.float64)
    around = windows(v.astype(kind, copy=False), w.shape, origins, mode, cval)
    axes = tuple(range(v.ndim, 2 * v.ndim))
    return np.tensordot(around, w.astype(kind), (axes, tuple(range(w.ndim))))


def by_label(v, parts, wanted, average):
    """Return sums or means of the elements with each wanted label; of all without labels."""
    if parts is None:
        return v.mean() if average else v.sum()
    v, parts = np.broadcast_arrays(v, parts)
    if wanted is None:
        chosen = v[parts > 0]
        return chosen.mean() if average else chosen.sum()
    found, inverse = np.unique(parts, return_inverse=True)
    totals = np.bincount(inverse.ravel(), v.ravel().astype(np.float64))
    if average:
        totals = totals / np.bincount(inverse.ravel())
    places = np.minimum(np.searchsorted(found, wanted), len(found) - 1)
    return np.where(found[places] == wanted, totals[places], np.nan if average else 0.0)


def direct(x, k, kind):
    """Add a shifted copy for each element of the smaller array."""
    if k.size > x.size:
        x, k = k, x
    shape = [m + n - 1 for m, n in zip(x.shape, k.shape)]
    result = np.zeros(shape, kind)
    for place in itertools.product(*map(range, k.shape)):
        window = tuple(slice(i, i + n) for i, n in zip(place, x.shape))
        result[window] += x * k[place]
    return result


def by_fft(x, k, kind):
    """Multiply Fourier transforms."""
    shape = [m + n - 1 for m, n in zip(x.shape, k.shape)]
    axes = tuple(range(x.ndim))
    if kind.kind == "c":
        return np.fft.ifftn(np.fft.fftn(x, shape, axes) * np.fft.fftn(k, shape, axes), axes=axes)
    spectrum = np.fft.rfftn(x, shape, axes) * np.fft.rfftn(k, shape, axes)
    return np.fft.irfftn(spectrum, shape, axes)


def cut(full, first, second, mode):
    """Return the middle of a full convolution, as large as a mode wants it."""
    if mode == "full":
        return full
    size = first if mode == "same" else [abs(m - n) + 1 for m, n in zip(first, second)]
    start = [(n - wanted) // 2 for n, wanted in zip(full.shape, size)]
    return full[tuple(slice(i, i + n) for i, n in zip(start, size))]
