"""Arrays passed to and from other libraries by DLPack."""

from __future__ import annotations

import ctypes
import itertools
import sys
import warnings
import weakref

import numpy as np
from cupy._core import core
from cupy.cuda import memory as _memory

from nogpu import engine

__all__ = ["fromDlpack", "from_dlpack"]

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
_KINDS = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_OF_KIND = {code: kind for kind, code in _KINDS.items()}


class _Device(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("number", ctypes.c_int32)]


class _Type(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]


def _of_python(name: str, result: object, *arguments: object):
    """A function of Python's C interface."""
    function = getattr(ctypes.pythonapi, name)
    function.restype, function.argtypes = result, arguments
    return function


_capsule, _name = ctypes.py_object, ctypes.c_char_p
_new_capsule = _of_python("PyCapsule_New", _capsule, ctypes.c_void_p, _name, ctypes.c_void_p)
_pointer_of = _of_python("PyCapsule_GetPointer", ctypes.c_void_p, _capsule, _name)
_is_valid = _of_python("PyCapsule_IsValid", ctypes.c_int, _capsule, _name)
_rename = _of_python("PyCapsule_SetName", ctypes.c_int, _capsule, _name)

_exported: dict[int, tuple] = {}  # by number: what must live until the other library is done
_numbers = itertools.count(1)
_ALONE = 2  # references: the table's, and the argument's of the call that counts


@_Deleter
def _release(address):
    _exported.pop(_Managed.from_address(address).context, None)


def _sweep():
    """Forget what nobody took: a capsule that only this module still holds, under its old name.

    A destructor in Python would run while the capsule dies, perhaps with an exception set.
    """
    for number in list(_exported):
        alone = sys.getrefcount(_exported[number][0]) <= _ALONE
        if alone and _is_valid(_exported[number][0], b"dltensor"):
            _exported.pop(number, None)


def export_capsule(array) -> object:
    """Return a capsule named "dltensor" that keeps the array alive."""
    if array.dtype.kind not in _KINDS:
        raise TypeError(f"dtype is not supported: {array.dtype}")
    sizes = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
    steps = (ctypes.c_int64 * max(array.ndim, 1))(
        *(step // array.itemsize for step in array.strides))
    managed = _Managed()
    tensor = managed.tensor
    tensor.data = array.data.ptr
    tensor.device = _Device(CUDA, array.data.device_id)
    tensor.ndim = array.ndim
    tensor.dtype = _Type(_KINDS[array.dtype.kind], array.itemsize * 8, 1)
    tensor.shape, tensor.strides = sizes, steps
    tensor.byte_offset = 0
    number = next(_numbers)
    managed.context, managed.deleter = number, _release
    capsule = _new_capsule(ctypes.addressof(managed), b"dltensor", None)
    _sweep()
    _exported[number] = (capsule, managed, sizes, steps, array)
    return capsule


def export(array, *, stream=None, max_version=None, dl_device=None, copy=None) -> object:
    """Answer ``__dlpack__``: let ``stream`` wait for the current one, and return a capsule."""
    device = array.__dlpack_device__() if dl_device is None else tuple(map(int, dl_device))
    if device == (CPU, 0):  # NumPy exports a copy
        if copy is not None and not copy:
            raise ValueError("GPU memory cannot be exported to CPU without copy.")
        return array.get().__dlpack__(**({"max_version": max_version} if max_version else {}))
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
        event = engine.streams.Event(timing=False)
        core._stream.get_current_stream()._engine.record(event)
        engine.streams.from_handle(int(stream)).wait(event)
    return export_capsule(array)


class _Imported:
    """Owns what another library exported; released with the last array that looks at it."""

    def __init__(self, address: int) -> None:
        managed = _Managed.from_address(address)
        if managed.deleter:
            weakref.finalize(self, managed.deleter, address).atexit = False


def _from_capsule(capsule):
    if not _is_valid(capsule, b"dltensor"):
        raise ValueError("A DLPack tensor object cannot be consumed multiple times")
    address = _pointer_of(capsule, b"dltensor")
    tensor = _Managed.from_address(address).tensor
    if tensor.device.kind not in (CUDA, CUDA_HOST, CUDA_MANAGED):
        raise ValueError("Unsupported device type in DLPack: it is not on the device")
    if tensor.dtype.lanes != 1 or tensor.dtype.code not in _OF_KIND:
        raise TypeError(f"Unsupported type in DLPack: code {tensor.dtype.code}, "
                        f"{tensor.dtype.lanes} lanes")
    dtype = np.dtype(f"{_OF_KIND[tensor.dtype.code]}{tensor.dtype.bits // 8}")
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = None
    nbytes = dtype.itemsize
    if tensor.strides:
        strides = tuple(tensor.strides[i] * dtype.itemsize for i in range(tensor.ndim))
        nbytes += sum((n - 1) * max(step, 0) for n, step in zip(shape, strides))
    else:
        nbytes *= int(np.prod(shape, dtype=np.int64))
    start = (tensor.data or 0) + tensor.byte_offset
    number = tensor.device.number
    _rename(capsule, b"used_dltensor")
    owner = _Imported(address)
    memory = _memory.UnownedMemory(start, nbytes if all(shape) else 0, owner, number)
    return core.ndarray(shape, dtype, _memory.MemoryPointer(memory, 0), strides)


def fromDlpack(dltensor):  # noqa: N802
    """Return an array for a capsule; deprecated, use `from_dlpack`."""
    warnings.warn(
        "This function is deprecated and will be removed in a future release. "
        "Use the cupy.from_dlpack() array constructor instead.",
        DeprecationWarning, stacklevel=2)
    return _from_capsule(dltensor)


def from_dlpack(array, /, *, device=None, copy=None):
    """Return an array that shares the memory of another library's array; TypeError for host's."""
    if not hasattr(array, "__dlpack_device__"):
        raise ValueError(
            "A DLPack tensor object cannot be consumed multiple times "
            f"(or object was not a DLPack capsule). Got: {array!r}")
    kind, _ = array.__dlpack_device__()
    if int(kind) == CPU:
        raise TypeError(
            "CPU arrays cannot be directly imported to CuPy. "
            "Use `cupy.array(numpy.from_dlpack(input))` instead.")
    stream = core._stream.get_current_stream().ptr
    result = _from_capsule(array.__dlpack__(stream=stream or 1))
    return result.copy() if copy else result
