"""Images moved, turned and resized: values between the elements, by B-splines.

A spline goes through the elements with coefficients that a division of Fourier transforms finds
(Unser, Splines: a perfect fit for signal and image processing, 1999).
"""

import itertools
import math

import numpy as np
from cupy import _host, _tables
from cupyx.scipy.ndimage._filters import _result_type

# What a mode takes beyond the edges for the spline, and for the coordinates.
_EDGES = {
    "constant": ("mirror", None), "nearest": ("nearest", "nearest"), "mirror": ("mirror", "mirror"),
    "reflect": ("reflect", "reflect"), "grid-mirror": ("reflect", "reflect"),
    "wrap": ("mirror", "wrap"), "grid-wrap": ("grid-wrap", "grid-wrap"),
    "grid-constant": ("constant", None),
}  # fmt: skip
_MARGIN = 12  # elements added where no period fits what lies beyond the edges


def _folded(x, n, edge):
    """Coordinates along an axis of n elements, brought back between its edges."""
    beyond = {
        "nearest": lambda: np.clip(x, 0, n - 1),
        "mirror": lambda: n - 1 - np.abs(n - 1 - x % (2 * n - 2)),
        "reflect": lambda: n - 0.5 - np.abs(n - (x + 0.5) % (2 * n)),
        "wrap": lambda: x % (n - 1),
        "grid-wrap": lambda: x % n,
        None: lambda: x,
    }["nearest" if n == 1 and edge else edge]()
    return np.where((x < 0) | (x > n - 1), beyond, x)


def _basis(order, x):
    """The B-spline of an order around 0."""
    if order == 0:
        return np.ones_like(x)
    terms = ((-1) ** k * math.comb(order + 1, k) * np.maximum(x + (order + 1) / 2 - k, 0) ** order
             for k in range(order + 2))  # fmt: skip
    return sum(terms) / math.factorial(order)


def _coefficients(values, order, axis, edge):
    """What the splines along an axis are multiplied by."""
    v = np.moveaxis(values, axis, -1)
    n, reach = v.shape[-1], np.arange(-3, 4)
    if order < 2 or n == 1:
        return values
    back = v[..., ::-1]
    beyond = {"reflect": back, "nearest": back, "grid-wrap": v[..., :0]}.get(edge, back[..., 1:-1])
    period = np.concatenate([v, beyond], axis=-1)
    weights = np.zeros(period.shape[-1])
    np.add.at(weights, reach % len(weights), _basis(order, reach.astype(float)))
    v = np.fft.ifft(np.fft.fft(period) / np.fft.fft(weights))[..., :n]
    return np.moveaxis(v if np.iscomplexobj(values) else v.real, -1, axis)


def _sampled(v, at, order, mode, cval, prefilter):
    """The spline through the elements of v at coordinates: one row of them for each axis."""
    edge, fold = _EDGES[mode]
    inside = [(x >= 0) & (x <= n - 1) for x, n in zip(at, v.shape)]
    if prefilter and order > 1 and mode in ("nearest", "grid-constant"):
        how = {} if mode == "nearest" else {"constant_values": cval}
        v = np.pad(v, _MARGIN, "constant" if how else "edge", **how)
        at = [x + _MARGIN for x in at]
    at = [_folded(x, n, fold) for x, n in zip(at, v.shape)]
    if prefilter:
        for axis in range(v.ndim):
            v = _coefficients(v, order, axis, edge)
    first = [np.floor(x if order % 2 else x + 0.5) - order // 2 for x in at]
    total = np.zeros(at[0].shape, np.result_type(v, float))
    for steps in itertools.product(range(order + 1), repeat=v.ndim):
        near = [low + step for low, step in zip(first, steps)]
        weight = math.prod(_basis(order, x - one) for x, one in zip(at, near))
        index = [_folded(one, n, "nearest" if edge == "constant" else edge)
                 for one, n in zip(near, v.shape)]  # fmt: skip
        part = v[tuple(one.astype(np.int64) for one in index)]
        if edge == "constant":
            part = np.where(np.all([a == b for a, b in zip(index, near)], axis=0), part, cval)
        total += weight * part
    return total if mode != "constant" else np.where(np.all(inside, axis=0), total, cval)


def _interpolated(array, shape, inputs, coordinates, output, order, mode, cval, prefilter):
    dtype, out = _result_type(_host.argument(array), output)
    if not 0 <= order <= 5:
        raise ValueError("spline order is not supported")
    if mode not in _EDGES:
        raise ValueError(f"boundary mode ({mode}) is not supported")
    if mode == "constant" and dtype.kind in "iub" and not np.isfinite(cval):
        raise NotImplementedError("Non-finite cval is not supported for outputs with integer dtype")

    def work(v, *more):
        result = _sampled(np.asarray(v), coordinates(*more), order, mode, cval, prefilter)
        return _host.core.convert(np.rint(result) if dtype.kind in "iu" else result, dtype)

    return _host.compute(work, [array, *inputs], shape, dtype, out)


def map_coordinates(input, coordinates, output=None, order=3, mode="constant",  # noqa: A002
                    cval=0.0, prefilter=True):
    """Return the values at coordinates, one row of them for each axis."""
    return _interpolated(input, coordinates.shape[1:], [coordinates], lambda c: c.astype(float),
                         output, order, mode, cval, prefilter)  # fmt: skip


def _straight(input, matrix, offset, shape, *how):  # noqa: A002
    """The values at ``matrix @ place + offset``; a vector is a matrix's diagonal."""
    shape, n = tuple(shape), input.ndim

    def coordinates():
        grid = np.indices(shape, float).reshape(n, -1)
        placed = matrix[:, None] * grid if matrix.ndim == 1 else matrix @ grid
        return (placed + np.broadcast_to(offset, n)[:, None]).reshape(n, *shape)

    return _interpolated(input, shape, [], coordinates, *how)


def affine_transform(input, matrix, offset=0.0, output_shape=None, output=None,  # noqa: A002
                     order=3, mode="constant", cval=0.0, prefilter=True, *, texture_memory=False):
    """Return the values at ``matrix @ place + offset`` for each place of the result."""
    matrix, offset, n = _host.on_host(matrix).astype(float), _host.on_host(offset), input.ndim
    if matrix.ndim == 2 and matrix.shape[1] == n + 1:
        matrix, offset = matrix[:n, :n], matrix[:n, n]
    if output_shape is None:
        output_shape = output.shape if _host.is_array(output) else input.shape
    return _straight(
        input, matrix, offset, output_shape, output, order, mode, cval, prefilter)


def _shift(shape, shift):
    return np.ones(len(shape)), -_host.on_host(shift).astype(float), shape


def _zoom(shape, zoom, grid_mode):
    new = [round(n * factor) for n, factor in
           zip(shape, np.broadcast_to(_host.on_host(zoom), len(shape)))]  # fmt: skip
    less = 0 if grid_mode else 1  # elements are areas, or points
    step = np.array([(n - less) / (m - less) if m > less else 1 for n, m in zip(shape, new)])
    return step, (step - 1) / 2 * grid_mode, new


def _rotate(shape, angle, axes, reshape):
    axes = sorted(_host.one_axis(axis, len(shape)) for axis in axes)
    c, s = (round(of(math.radians(angle)), 15) for of in (math.cos, math.sin))
    turn, new = np.array([[c, s], [-s, c]]), np.array(shape)
    old = new[axes]
    if reshape:
        corners = turn @ [[0, 0, old[0], old[0]], [0, old[1], 0, old[1]]]
        new[axes] = (np.ptp(corners, axis=1) + 0.5).astype(int)
    matrix, offset = np.eye(len(shape)), np.zeros(len(shape))
    matrix[np.ix_(axes, axes)] = turn
    offset[axes] = (old - 1) / 2 - turn @ ((new[axes] - 1) / 2)
    return matrix, offset, new.tolist()


def _moved(name):
    place, count = {"shift": (_shift, 1), "zoom": (_zoom, 1), "rotate": (_rotate, 3)}[name]

    def move(input, *given, **more):  # noqa: A002
        _host.argument(input)
        return _straight(input, *place(input.shape, *given[:count], **more), *given[count:])

    return move


_tables.functions(globals(), _moved, """
shift(input, shift, output=None, order=3, mode="constant", cval=0.0, prefilter=True):
    Return the array moved by ``shift`` elements.
zoom(input, zoom, output=None, order=3, mode="constant", cval=0.0, prefilter=True, *,
        grid_mode=False): Return the array resized; in ``grid_mode`` elements are areas, not points.
rotate(input, angle, axes=(1, 0), reshape=True, output=None, order=3, mode="constant", cval=0.0,
        prefilter=True): Return the array turned by an angle in degrees in the plane of two axes.
""")


def spline_filter1d(input, order=3, axis=-1, output=np.float64, mode="mirror"):  # noqa: A002
    """Return the coefficients of the splines along an axis."""
    dtype, out = _result_type(input, output)
    return _host.compute(lambda v: _coefficients(v, order, axis, _EDGES[mode][0]), [input],
                         input.shape, dtype, out)  # fmt: skip


def spline_filter(input, order=3, output=np.float64, mode="mirror"):  # noqa: A002
    """Return the coefficients of the spline through the elements."""
    for axis in range(input.ndim):
        input = spline_filter1d(input, order, axis, output, mode)  # noqa: A001
    return input
