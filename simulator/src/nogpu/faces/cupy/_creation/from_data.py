"""Arrays from what is there already: on the host, on the device, or in another library."""

from __future__ import annotations

import numpy as np
from cupy._core import core
from cupy._core._fusion_thread_local import fusable
from cupy._core.core import ndarray

from nogpu.faces import table


def array(obj, dtype=None, copy=True, order="K", subok=False, ndmin=0, *, blocking=False):
    """A device array of anything array-like."""
    if subok:
        raise NotImplementedError("subok=True is not supported")
    order = "K" if order is None else order
    if not isinstance(obj, ndarray) and core._exports(obj):
        obj = core.from_interface(obj)
    if isinstance(obj, ndarray):
        result = _of_device(obj, dtype, copy, order)
    elif hasattr(obj, "__cupy_get_ndarray__"):
        result = _of_device(obj.__cupy_get_ndarray__(), dtype, copy, order)
    elif isinstance(obj, (list, tuple)) and _holds_device_arrays(obj):
        result = _stacked(obj, dtype)
        if core.check_order(order) == "F":
            result = result.copy("F")
    else:
        host = np.asarray(obj) if dtype is None else np.asarray(obj, core.check_dtype(dtype))
        core.check_dtype(host.dtype)
        result = core.from_host(host, order, blocking)
    if result.ndim < ndmin:
        view = result._view.reshape((1,) * (ndmin - result.ndim) + result.shape)
        result = core._wrap(view, result)
        result._base = None
    return result


def _of_device(obj: ndarray, dtype, copy, order) -> ndarray:
    if dtype is None and obj.dtype.kind in "Mm":  # memory of other libraries, only held
        return obj
    dtype = obj.dtype if dtype is None else core.check_dtype(dtype)
    if obj.data.device_id != core._contexts.state.device:
        obj, copy = obj.copy(order), None
    result = obj.astype(dtype, order=order, copy=bool(copy))
    if copy is not None and not copy and result is not obj:
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    return result


def _holds_device_arrays(obj: object) -> bool:
    if isinstance(obj, (list, tuple)):
        return any(_holds_device_arrays(item) for item in obj)
    return isinstance(obj, ndarray)


def _stacked(obj, dtype) -> ndarray:
    parts = []
    for item in obj:
        if isinstance(item, (list, tuple)):
            item = _stacked(item, None) if _holds_device_arrays(item) else array(item)
        elif isinstance(item, np.ndarray):
            raise TypeError(core._IMPLICIT)
        elif not isinstance(item, ndarray):
            item = array(item)
        parts.append(item)
    if len({part.shape for part in parts}) > 1:
        raise ValueError(
            "setting an array element with a sequence. The requested array has an inhomogeneous "
            "shape")
    if dtype is None:
        dtype = np.result_type(*[part.dtype for part in parts])
    result = core._new((len(parts), *parts[0].shape), core.check_dtype(dtype))
    for number, part in enumerate(parts):
        if part.size:
            core._fill_from(core._wrap(result._view[number, ...], result), part)
    return result


def asarray(a, dtype=None, order=None, *, copy=None, blocking=False) -> ndarray:
    """A device array; the argument itself where nothing has to change."""
    return array(a, dtype, copy, order, blocking=blocking)


asanyarray = asarray


def ascontiguousarray(a, dtype=None) -> ndarray:
    """C-contiguous, with at least one axis."""
    return array(a, dtype, None, "C", ndmin=1)


def asfortranarray(a, dtype=None) -> ndarray:
    """Fortran-contiguous."""
    return array(a, dtype, None, "F")


@fusable
def copy(a, order="K") -> ndarray:
    """A copy."""
    return array(a, order=order)


def asnumpy(a, stream=None, order="C", out=None, *, blocking=True) -> np.ndarray:
    """A host array of anything array-like."""
    if isinstance(a, ndarray):
        return a.get(stream=stream, order=order, out=out, blocking=blocking)
    if core._exports(a) or hasattr(a, "__cupy_get_ndarray__"):
        return array(a).get(stream=stream, order=order, out=out, blocking=blocking)
    host = np.asarray(a, order=order)
    if out is not None:
        out[...] = host
        return out
    return host


def _on_host(name):
    function = getattr(np, name)
    return lambda *args, **kwargs: core._to_device(function(*args, **kwargs))


table.functions(globals(), _on_host, """
frombuffer(*args, **kwargs) -> ndarray: From a buffer on the host.
fromfile(*args, **kwargs) -> ndarray: From a file.
fromfunction(*args, **kwargs) -> ndarray: From a function of indices.
fromiter(*args, **kwargs) -> ndarray: From an iterator.
fromstring(*args, **kwargs) -> ndarray: From a string.
loadtxt(*args, **kwargs) -> ndarray: From a text file.
genfromtxt(*args, **kwargs) -> ndarray: From a text file with gaps.
""")
