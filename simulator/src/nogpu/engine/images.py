"""Images and signals, on NumPy arrays: windows, convolutions, interpolation, labelled parts."""

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


# Interpolation: SciPy's own rules for what lies outside, by mode.

def _reflected(at, size, edge):
    """Places reflected at the edges, which come twice or once."""
    if size == 1:
        return np.zeros_like(at)
    period = 2 * size if edge else 2 * size - 2
    at = np.mod(at + (0.5 if edge else 0), period)
    half = at - 0.5 if edge else at
    return np.where(at < (size if edge else size - 1), half, period - at - (0.5 if edge else 0))


def _inside(at, size, mode):
    """Coordinates brought into an axis, and where they were outside of it for good."""
    outside = np.zeros(at.shape, bool)
    if mode == "constant":
        outside = (at < 0) | (at > size - 1)
    elif mode == "grid-constant":
        outside = (at <= -1) | (at >= size)
    elif mode == "nearest":
        at = np.clip(at, 0, size - 1)
    elif mode in ("reflect", "grid-mirror"):
        at = _reflected(at, size, True)
    elif mode == "mirror":
        at = _reflected(at, size, False)
    elif mode == "wrap":
        at = np.where((at < 0) | (at > size - 1), np.mod(at, max(size - 1, 1)), at)
    elif mode == "grid-wrap":
        at = np.mod(at, size)
    return at, outside


def _taps(index, size, mode):
    """The elements that indices just outside of an axis stand for; -1 for the constant."""
    if mode in ("reflect", "grid-mirror"):
        return _reflected(index.astype(float), size, True).astype(int)
    if mode in ("mirror", "constant", "wrap"):
        return _reflected(index.astype(float), size, False).astype(int)
    if mode == "grid-wrap":
        return index % size
    if mode == "grid-constant":
        return np.where((index < 0) | (index >= size), -1, index)
    return np.clip(index, 0, size - 1)


def _basis(order, x):
    """The B-spline of an order at x, by its recursion (de Boor 1978)."""
    if order == 0:
        return np.where((x >= -0.5) & (x < 0.5), 1.0, 0.0)
    half = (order + 1) / 2
    left, right = (half + x) * _basis(order - 1, x + 0.5), (half - x) * _basis(order - 1, x - 0.5)
    return (left + right) / order


def spline_coefficients(v, order, mode="mirror", axes=None):
    """Return the coefficients of the spline that passes through all elements."""
    result = v.astype(np.result_type(v.dtype, np.float64))
    if order < 2:
        return result
    weights = [_basis(order, float(k)) for k in range(order // 2 + 1)]
    for axis in range(v.ndim) if axes is None else axes:
        size = v.shape[axis]
        if size == 1:
            continue
        matrix, rows = np.zeros((size, size)), np.arange(size)
        for k in range(-(order // 2), order // 2 + 1):
            place = _taps(rows + k, size, mode if mode in ("reflect", "grid-wrap", "grid-mirror")
                          else "mirror")  # fmt: skip
            np.add.at(matrix, (rows, place), weights[abs(k)])
        moved = np.moveaxis(result, axis, 0)
        solved = np.linalg.solve(matrix, moved.reshape(size, -1)).reshape(moved.shape)
        result = np.moveaxis(solved, 0, axis)
    return result


def interpolate(v, coordinates, order=3, mode="constant", cval=0.0, prefilter=True):
    """Return the spline through an array's elements at coordinates, one array for each axis."""
    given, shift = v, [0] * v.ndim
    if prefilter and order > 1 and mode in ("nearest", "grid-constant"):
        width = 12  # the spline of what lies outside, far enough for its tail to vanish
        extra = {"constant_values": cval} if mode == "grid-constant" else {}
        given = np.pad(v, width, "edge" if mode == "nearest" else "constant", **extra)
        shift = [width] * v.ndim
    work = spline_coefficients(given, order, mode) if prefilter else given.astype(
        np.result_type(v.dtype, np.float64))
    result = np.zeros(coordinates[0].shape, work.dtype)
    outside, parts = np.zeros(coordinates[0].shape, bool), []
    for axis, at in enumerate(coordinates):
        at, out = _inside(np.asarray(at, np.float64), v.shape[axis], mode)
        outside |= out
        at = np.where(out, 0, at) + shift[axis]
        first = np.floor(at + (0 if order % 2 else 0.5)).astype(int) - order // 2
        parts.append([(_taps(first + k, work.shape[axis], mode), _basis(order, at - (first + k)))
                      for k in range(order + 1)])  # fmt: skip
    for chosen in itertools.product(*parts):
        weight, missing = 1.0, np.zeros(result.shape, bool)
        index = []
        for place, one in chosen:
            missing |= place < 0
            index.append(place)
            weight = weight * one
        result += weight * np.where(missing, cval, work[tuple(index)])
    return np.where(outside, cval, result)


def chirp_z(x, m, w, a, axis):
    """Return the z-transform at m points a * w**-k, by Bluestein's algorithm."""
    x = np.moveaxis(np.asarray(x), axis, -1)
    n = x.shape[-1]
    k = np.arange(max(m, n), dtype=np.float64)
    chirp = np.exp(-1j * np.pi * k**2 / m) if w is None else np.power(w, k**2 / 2.0)
    length = 1 << int(n + m - 2).bit_length()
    tail = 1 / np.hstack([chirp[n - 1:0:-1], chirp[:m]])
    spectrum = np.fft.fft(x * (np.power(a, -k[:n]) * chirp[:n]), length)
    result = np.fft.ifft(spectrum * np.fft.fft(tail, length))[..., n - 1:n + m - 1] * chirp[:m]
    return np.moveaxis(result, -1, axis)


# SciPy's functions of images; ``output`` is the dtype of the result.

def _mapped(v, coordinates, output, order, mode, cval, prefilter):
    if not 0 <= order <= 5:
        raise RuntimeError("spline order not supported")
    if mode not in PADDING:
        raise ValueError(f"boundary mode not supported (actual: {mode})")
    kind = np.dtype(v.dtype if output is None else output)
    if kind.kind in "iu" and mode == "constant" and not np.isfinite(cval):
        raise NotImplementedError("a cval that is not finite does not fit an integer output")
    result = interpolate(v, coordinates, order, mode, cval, prefilter)
    return (np.rint(result) if kind.kind in "iu" else result).astype(kind)


def _grid(shape):
    return [axis.astype(np.float64) for axis in np.indices(shape)]


def _sequence(value, ndim):
    return [float(one) for one in np.broadcast_to(value, ndim)]


def map_coordinates(input, coordinates, output=None, order=3, mode="constant",  # noqa: A002
                    cval=0.0, prefilter=True):  # fmt: skip
    """Return an array's values at coordinates, by splines."""
    coordinates = np.asarray(coordinates)
    if coordinates.shape[0] != input.ndim:
        raise RuntimeError("invalid shape for coordinate array")
    return _mapped(input, list(coordinates), output, order, mode, cval, prefilter)


def affine_transform(input, matrix, offset=0.0, output_shape=None, output=None,  # noqa: A002
                     order=3, mode="constant", cval=0.0, prefilter=True, *,
                     texture_memory=False):  # fmt: skip
    """Return an image whose element o is the input's at ``matrix @ o + offset``."""
    ndim, matrix = input.ndim, np.asarray(matrix, np.float64)
    if matrix.ndim not in (1, 2):
        raise RuntimeError("matrix must be 1 or 2 dimensional")
    if matrix.ndim == 1:
        matrix = np.diag(matrix)
    if matrix.shape in ((ndim + 1, ndim + 1), (ndim, ndim + 1)):
        matrix, offset = matrix[:ndim, :ndim], matrix[:ndim, ndim]
    if matrix.shape != (ndim, ndim):
        raise RuntimeError("improper affine shape")
    grid = _grid(input.shape if output_shape is None else output_shape)
    offset = _sequence(offset, ndim)
    places = [sum(matrix[i, j] * grid[j] for j in range(ndim)) + offset[i] for i in range(ndim)]
    return _mapped(input, places, output, order, mode, cval, prefilter)


def shift(input, shift, output=None, order=3, mode="constant", cval=0.0,  # noqa: A002
          prefilter=True):  # fmt: skip
    """Return an image moved along its axes."""
    grid = _grid(input.shape)
    places = [axis - by for axis, by in zip(grid, _sequence(shift, input.ndim))]
    return _mapped(input, places, output, order, mode, cval, prefilter)


def zoom(input, zoom, output=None, order=3, mode="constant", cval=0.0, prefilter=True,  # noqa: A002
         *, grid_mode=False):  # fmt: skip
    """Return an image made larger or smaller along its axes."""
    factors = _sequence(zoom, input.ndim)
    shape = tuple(int(round(size * by)) for size, by in zip(input.shape, factors))
    places = []
    for axis, size, new in zip(_grid(shape), input.shape, shape):
        if grid_mode:
            places.append((axis + 0.5) * (size / new) - 0.5)
        else:
            places.append(axis * ((size - 1) / (new - 1) if new > 1 else 0))
    return _mapped(input, places, output, order, mode, cval, prefilter)


def rotate(input, angle, axes=(1, 0), reshape=True, output=None, order=3,  # noqa: A002
           mode="constant", cval=0.0, prefilter=True):  # fmt: skip
    """Return an image turned in the plane of two axes, by an angle in degrees."""
    first, second = sorted(axis % input.ndim for axis in axes)
    if first == second:
        raise ValueError("axes should be different")
    turn = np.exp(1j * np.radians(angle)) if angle % 90 else 1j ** int(angle // 90)
    matrix = np.array([[turn.real, turn.imag], [-turn.imag, turn.real]])
    size = np.array([input.shape[first], input.shape[second]], np.float64)
    new = size
    if reshape:
        corners = matrix @ np.array([[0, 0, size[0], size[0]], [0, size[1], 0, size[1]]])
        new = np.trunc(np.ptp(corners, axis=1) + 0.5)
    centre = (size - 1) / 2 - matrix @ ((new - 1) / 2)
    shape, whole, offset = list(input.shape), np.eye(input.ndim), np.zeros(input.ndim)
    for i, axis in enumerate((first, second)):
        shape[axis], offset[axis] = int(new[i]), centre[i]
        for j, other in enumerate((first, second)):
            whole[axis, other] = matrix[i, j]
    return affine_transform(
        input, whole, offset, tuple(shape), output, order, mode, cval, prefilter)


def spline_filter(input, order=3, output=np.float64, mode="mirror"):  # noqa: A002
    """Return the coefficients of the spline through an image's elements."""
    if order < 2 or order > 5:
        raise RuntimeError("spline order not supported")
    return spline_coefficients(input, order, mode).astype(output)


def spline_filter1d(input, order=3, axis=-1, output=np.float64, mode="mirror"):  # noqa: A002
    """Return the coefficients of splines along one axis."""
    if order < 0 or order > 5:
        raise RuntimeError("spline order not supported")
    return spline_coefficients(input, order, mode, [axis]).astype(output)
