"""Images moved, turned and scaled by splines; the work is done on the host."""

import inspect

from cupy import _host, _tables

from nogpu.engine import images


def _on_host(name):
    function = getattr(images, name)
    names = list(inspect.signature(function).parameters)

    def call(image, *given, **more):
        arguments = dict(zip(names[1:], given)) | more
        out = arguments["output"]
        dtype = _host.argument(image).dtype
        arguments["output"] = out.dtype if _host.is_array(out) else dtype if out is None else out
        arrays = [key for key, one in arguments.items() if _host.is_array(one)]
        result = _host.compute_now(
            lambda v, *views: function(v, **arguments | dict(zip(arrays, views))),
            [image, *[arguments[key] for key in arrays]])
        if not _host.is_array(out):
            return result
        out[...] = result
        return out

    return call


_tables.functions(globals(), _on_host, """
map_coordinates(input, coordinates, output=None, order=3, mode="constant", cval=0.0,
    prefilter=True): Return an array's values at coordinates, by splines.
affine_transform(input, matrix, offset=0.0, output_shape=None, output=None, order=3,
    mode="constant", cval=0.0, prefilter=True, *, texture_memory=False):
    Return an image whose element o is the input's at ``matrix @ o + offset``.
shift(input, shift, output=None, order=3, mode="constant", cval=0.0, prefilter=True):
    Return an image moved along its axes.
zoom(input, zoom, output=None, order=3, mode="constant", cval=0.0, prefilter=True, *,
    grid_mode=False): Return an image made larger or smaller along its axes.
rotate(input, angle, axes=(1, 0), reshape=True, output=None, order=3, mode="constant",
    cval=0.0, prefilter=True): Return an image turned by an angle in degrees.
spline_filter(input, order=3, output=float, mode="mirror"):
    Return the coefficients of the spline through an image's elements.
spline_filter1d(input, order=3, axis=-1, output=float, mode="mirror"):
    Return the coefficients of splines along one axis.
""")
