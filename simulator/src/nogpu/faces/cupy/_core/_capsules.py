"""DLPack: memory handed from one library to another as a capsule with its shape and type.

The structures are those of DLPack 0.8, and of 1.0 for a versioned capsule.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import sys
import weakref
from typing import NamedTuple

import numpy as np

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


class _Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32),
                ("context", ctypes.c_void_p), ("deleter", _Deleter), ("flags", ctypes.c_uint64),
                ("tensor", _Tensor)]  # fmt: skip


_FORMS = {b"dltensor": _Managed, b"dltensor_versioned": _Versioned}


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


def _releaser(form: type) -> object:
    @_Deleter
    def release(address: int) -> None:
        _exported.pop(form.from_address(address).context, None)

    return release


_release = {form: _releaser(form) for form in _FORMS.values()}


def _sweep() -> None:
    """Forget what nobody took: a capsule that only this module still holds, under its old name.

    A destructor in Python would run while the capsule dies, perhaps with an exception set.
    """
    for number in list(_exported):
        alone = sys.getrefcount(_exported[number][0]) <= _ALONE
        if alone and any(_is_valid(_exported[number][0], name) for name in _FORMS):
            _exported.pop(number, None)


def export(
    address: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype,
    device: tuple[int, int], keep: object, versioned: bool = False, flags: int = 0,
) -> object:  # fmt: skip
    """Return a capsule that keeps an object alive; strides are in bytes."""
    if dtype.kind not in _KINDS:
        raise TypeError(f"dtype is not supported: {dtype}")
    ndim = len(shape)
    sizes = (ctypes.c_int64 * max(ndim, 1))(*shape)
    steps = (ctypes.c_int64 * max(ndim, 1))(*(step // dtype.itemsize for step in strides))
    name = b"dltensor_versioned" if versioned else b"dltensor"
    managed = _FORMS[name]()
    if versioned:
        managed.major, managed.minor, managed.flags = 1, 0, flags
    tensor = managed.tensor
    tensor.data, tensor.device, tensor.ndim = address, _Device(*device), ndim
    tensor.dtype = _Type(_KINDS[dtype.kind], dtype.itemsize * 8, 1)
    tensor.shape, tensor.strides, tensor.byte_offset = sizes, steps, 0
    number = next(_numbers)
    managed.context, managed.deleter = number, _release[type(managed)]
    capsule = _new_capsule(ctypes.addressof(managed), name, None)
    _sweep()
    _exported[number] = (capsule, managed, sizes, steps, keep)
    return capsule


class _Imported:
    """Owns what another library exported; released with the last array that looks at it."""

    def __init__(self, managed: object, address: int) -> None:
        if managed.deleter:
            weakref.finalize(self, managed.deleter, address).atexit = False


class Tensor(NamedTuple):
    """What a capsule holds; ``owner`` has to live as long as the memory is used."""

    address: int
    nbytes: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: np.dtype
    device: tuple[int, int]
    owner: object


def is_capsule(item: object) -> bool:
    """Whether an object is a capsule of DLPack that nobody has taken yet."""
    return type(item).__name__ == "PyCapsule" and any(_is_valid(item, name) for name in _FORMS)


def take(capsule: object, kinds: tuple[int, ...]) -> Tensor:
    """Take over what a capsule holds, which must lie on a device of one of these kinds.

    ValueError for another device or a capsule that is taken already, TypeError for another type.
    """
    name = next((name for name in _FORMS if _is_valid(capsule, name)), None)
    if name is None:
        raise ValueError("A DLPack tensor object cannot be consumed multiple times")
    address = _pointer_of(capsule, name)
    managed = _FORMS[name].from_address(address)
    tensor = managed.tensor
    if tensor.device.kind not in kinds:
        raise ValueError("Unsupported device type in DLPack: it is not on the device")
    if tensor.dtype.lanes != 1 or tensor.dtype.code not in _OF_KIND:
        raise TypeError(f"Unsupported type in DLPack: code {tensor.dtype.code}, "
                        f"{tensor.dtype.lanes} lanes")  # fmt: skip
    dtype = np.dtype(f"{_OF_KIND[tensor.dtype.code]}{tensor.dtype.bits // 8}")
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides, nbytes = None, math.prod(shape) * dtype.itemsize
    if tensor.strides:
        strides = tuple(tensor.strides[i] * dtype.itemsize for i in range(tensor.ndim))
        reach = sum((n - 1) * max(step, 0) for n, step in zip(shape, strides))
        nbytes = reach + dtype.itemsize if all(shape) else 0
    start = (tensor.data or 0) + tensor.byte_offset
    _rename(capsule, _USED[name])
    device = tensor.device.kind, tensor.device.number
    return Tensor(start, nbytes, shape, strides, dtype, device, _Imported(managed, address))


_USED = {name: b"used_" + name for name in _FORMS}  # capsules keep the address of their name
