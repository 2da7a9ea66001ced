"""Filters: sums of products over a window around each element."""

import numpy as np
from cupy import _host, _tables

from nogpu.engine import images


def _checked(array, origin, mode):
    _host.argument(array)
    if mode not in images.PADDING:
        raise RuntimeError(f"boundary mode not supported (actual: {mode})")
    if np.iterable(origin):
        if len(origin) != array.ndim:
            raise ValueError("The number of origins must equal the array's dimensions")
        return [int(one) for one in origin]
    return [int(origin)] * array.ndim


def _result_type(array, output):
    if output is None:
        return array.dtype, None
    if _host.is_array(output):
        return output.dtype, output
    return np.dtype(output), None


def _weigh(array, weights, output, mode, cval, origins, flipped):
    dtype, out = _result_type(array, output)
    if weights.ndim != array.ndim:
        raise RuntimeError("filter weights array has incorrect shape")
    sizes = weights.shape
    if flipped:  # a convolution is a correlation with the weights reversed
        origins = [-o - (1 - n % 2) for o, n in zip(origins, sizes)]

    def work(v, w):
        w = w[(slice(None, None, -1),) * w.ndim] if flipped else w
        return images.weigh(v, w, origins, mode, cval)

    return _host.compute(work, [array, weights], array.shape, dtype, out)


def _weighted(name):
    def filter(input, weights, output, mode, cval, origin):
        origins = _checked(input, origin, mode)
        return _weigh(input, _host.argument(weights), output, mode, cval, origins,
                      name == "convolve")

    return filter


correlate, convolve = _tables.functions(globals(), _weighted, """
correlate(input, weights, output=None, mode="reflect", cval=0.0, origin=0):
    Return the correlation with weights; the edges are extended by ``mode``.
convolve(input, weights, output=None, mode="reflect", cval=0.0, origin=0):
    Return the convolution with weights; the edges are extended by ``mode``.
""")


def _along(array, weights, axis):
    axis = _host.one_axis(axis, _host.argument(array).ndim)
    if _host.argument(weights).ndim != 1:
        raise RuntimeError("incorrect filter size")
    return weights.reshape(tuple(weights.size if i == axis else 1 for i in range(array.ndim))), axis


def _origin_along(origin, axis, ndim):
    return [origin if i == axis else 0 for i in range(ndim)]


def _weighted_along(name):
    function = {"correlate1d": correlate, "convolve1d": convolve}[name]

    def filter(input, weights, axis, output, mode, cval, origin):
        weights, axis = _along(input, weights, axis)
        return function(
            input, weights, output, mode, cval, _origin_along(origin, axis, input.ndim))

    return filter


correlate1d, _ = _tables.functions(globals(), _weighted_along, """
correlate1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    Return the correlation along one axis.
convolve1d(input, weights, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
    Return the convolution along one axis.
""")


def gaussian_filter1d(input, sigma, axis=-1, order=0, output=None, mode="reflect",  # noqa: A002
                      cval=0.0, truncate=4.0, *, radius=None):
    """Return the convolution with a Gaussian along one axis."""
    if order:
        raise NotImplementedError("nogpu has the Gaussian only, not its derivatives")
    radius = int(float(truncate) * float(sigma) + 0.5) if radius is None else int(radius)
    x = np.arange(-radius, radius + 1)
    weights = np.exp(-0.5 / (sigma * sigma) * x**2)
    return correlate1d(input, _host.device(weights / weights.sum()), axis, output, mode, cval)


def gaussian_filter(input, sigma, order=0, output=None, mode="reflect", cval=0.0,  # noqa: A002
                    truncate=4.0, *, radius=None):
    """Return the convolution with a Gaussian along every axis."""
    _checked(input, 0, mode)
    sigmas = list(sigma) if np.iterable(sigma) else [sigma] * input.ndim
    dtype, out = _result_type(input, output)
    work = np.result_type(dtype, np.float32)
    result = _host.copy(input, work)
    for axis, one in enumerate(sigmas):
        if one > 1e-15:
            result = gaussian_filter1d(
                result, one, axis, order, work, mode, cval, truncate, radius=radius)
    return _host.compute(lambda v: v, [result], input.shape, dtype, out)


def _sizes(array, size, footprint=None):
    if footprint is not None:
        raise NotImplementedError("nogpu's filters have sizes, no footprints")
    return tuple(size) if np.iterable(size) else (size,) * array.ndim


def _of_window(name):
    function = {"uniform": np.mean, "maximum": np.max, "minimum": np.min}[name.split("_")[0]]

    def filter(input, size, *given):
        *footprint, output, mode, cval, origin = given
        origins = _checked(input, origin, mode)
        sizes = _sizes(input, size, *footprint)
        dtype, out = _result_type(input, output)
        axes = tuple(range(input.ndim, 2 * input.ndim))

        def work(v):
            return function(images.windows(v, sizes, origins, mode, cval), axis=axes)

        return _host.compute(work, [input], input.shape, dtype, out)

    return filter


_tables.functions(globals(), _of_window, """
uniform_filter(input, size=3, output=None, mode="reflect", cval=0.0, origin=0):
    Return the mean of a window around each element.
maximum_filter(input, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0):
    Return the maximum of a window around each element.
minimum_filter(input, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0):
    Return the minimum of a window around each element.
""")
