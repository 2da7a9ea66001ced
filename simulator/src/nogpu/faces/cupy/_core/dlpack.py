"""Arrays passed to and from other libraries by DLPack."""

from __future__ import annotations

import warnings

from cupy._core import _capsules, core
from cupy.cuda import memory as _memory
from cupy_backends.cuda.api import runtime

__all__ = ["fromDlpack", "from_dlpack"]

_ON_DEVICE = (_capsules.CUDA, _capsules.CUDA_HOST, _capsules.CUDA_MANAGED)


def export_capsule(array, device=None, versioned=False) -> object:
    """Return a capsule that keeps the array alive."""
    device = array.__dlpack_device__() if device is None else device
    return _capsules.export(
        array.data.ptr, array.shape, array.strides, array.dtype, device, array, versioned)


def export(array, *, stream=None, max_version=None, dl_device=None, copy=None) -> object:
    """Answer ``__dlpack__``: let ``stream`` wait for the current one, and return a capsule."""
    device = array.__dlpack_device__() if dl_device is None else tuple(map(int, dl_device))
    versioned = max_version is not None and max_version[0] >= 1
    if device == (_capsules.CPU, 0):
        managed = _memory._is_managed(array.data)
        if copy is not None and not copy and not managed:
            raise ValueError("GPU memory cannot be exported to CPU without copy.")
        if managed and not copy:
            core._wait()
            return export_capsule(array, device, versioned)
        host = array.get()  # NumPy exports the copy
        return host.__dlpack__(**({"max_version": max_version} if max_version else {}))
    if device != array.__dlpack_device__():
        raise BufferError("unsupported device requested.")
    if copy:
        raise BufferError("copy=True only supported for copy to CPU.")
    stream = 1 if stream is None else stream
    if stream < -1:
        raise ValueError("On CUDA, the valid stream for the DLPack protocol is -1, 1, 2, or any "
                         f"larger value, but {stream} was provided")  # fmt: skip
    if stream == 0:
        warnings.warn("Stream 0 is passed from a library that you are converting to; CuPy assumes "
                      "0 as a legacy default stream. Please report this problem to the library as "
                      "this violates the DLPack protocol.", stacklevel=2)  # fmt: skip
    if stream != -1 and (stream or 1) != (core._stream.get_current_stream().ptr or 1):
        runtime._stream(stream).follow(core._stream.get_current_stream()._engine)
    return export_capsule(array, None, versioned)


def _from_capsule(capsule):
    found = _capsules.take(capsule, _ON_DEVICE)
    memory = _memory.UnownedMemory(found.address, found.nbytes, found.owner, found.device[1])
    return core.ndarray(found.shape, found.dtype, _memory.MemoryPointer(memory, 0), found.strides)


def fromDlpack(dltensor):  # noqa: N802
    """Return an array for a capsule; deprecated, use `from_dlpack`."""
    warnings.warn(
        "This function is deprecated and will be removed in a future release. "
        "Use the cupy.from_dlpack() array constructor instead.",
        DeprecationWarning, stacklevel=2)
    return _from_capsule(dltensor)


def from_dlpack(array, /, *, device=None, copy=None):
    """Return an array that shares the memory of another library's array; TypeError for host's."""
    if device is not None:
        raise NotImplementedError("from_dlpack() does not support the device argument yet.")
    if _capsules.is_capsule(array):
        return _from_capsule(array)
    if not hasattr(array, "__dlpack_device__"):
        raise ValueError(
            "A DLPack tensor object cannot be consumed multiple times "
            f"(or object was not a DLPack capsule). Got: {array!r}")
    kind, _ = array.__dlpack_device__()
    if int(kind) == _capsules.CPU:
        raise TypeError(
            "CPU arrays cannot be directly imported to CuPy. "
            "Use `cupy.array(numpy.from_dlpack(input))` instead.")
    stream = core._stream.get_current_stream().ptr or 1
    try:
        asked = {} if copy is None else {"copy": copy}
        capsule = array.__dlpack__(stream=stream, max_version=(1, 0), **asked)
    except TypeError:  # a library that knows no versions
        capsule = array.__dlpack__(stream=stream)
    return _from_capsule(capsule)
