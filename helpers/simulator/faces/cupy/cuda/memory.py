"""Device memory: pointers, the memory they point into, and the pools it comes from."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

from cupy_backends.cuda.api import runtime

from helpers.simulator import engine

from . import stream as _streams


class OutOfMemoryError(MemoryError):
    """The device, or a pool's limit, has no room for a request."""

    def __init__(self, size: int, total: int, limit: int = 0) -> None:
        message = f"Out of memory allocating {size:,} bytes (allocated so far: {total:,} bytes"
        if limit:
            message += f", limit set to: {limit:,} bytes"
        super().__init__(message + ").")
        self._arguments = (size, total, limit)

    def __reduce__(self) -> tuple:
        return (type(self), self._arguments)


class BaseMemory:
    """Memory on a device.

    Attributes
    ----------
    ptr, size, device_id : int
        Address, bytes, device.
    """

    __slots__ = ("ptr", "size", "device_id", "__weakref__")

    def __int__(self) -> int:
        return self.ptr

    @property
    def device(self) -> object:
        """Its device."""
        from .device import Device

        return Device(self.device_id)


class Memory(BaseMemory):
    """Memory straight from the device, freed with this object."""

    __slots__ = ("_allocation",)

    def __init__(self, size: int, *, _unwritten: bool = True, _itemsize: int | None = None) -> None:
        self.ptr, self.size, self.device_id, self._allocation = 0, size, 0, None
        if size > 0:
            try:
                self._allocation = engine.allocate(size, itemsize=_itemsize, unwritten=_unwritten)
            except engine.OutOfMemory:
                raise runtime._error("cudaErrorMemoryAllocation") from None
            self.ptr = self._allocation.address

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        allocation = getattr(self, "_allocation", None)
        if allocation is not None and not is_finalizing():
            self._allocation = None
            allocation.free()


def _address(memory: object) -> int:
    """A host address given as an integer or as ctypes.c_void_p."""
    return memory if isinstance(memory, int) else memory.value


class MemoryPointer:
    """A place in device memory.

    Parameters
    ----------
    mem : BaseMemory
    offset : int
        Bytes from its begin.

    Attributes
    ----------
    ptr, device_id : int
    mem : BaseMemory
        Kept alive.
    """

    __slots__ = ("ptr", "mem", "device_id", "__weakref__")

    def __init__(self, mem: BaseMemory, offset: int) -> None:
        self.mem, self.device_id = mem, mem.device_id
        self.ptr = mem.ptr + int(offset)

    def __int__(self) -> int:
        return self.ptr

    @property
    def device(self) -> object:
        """Its device."""
        return self.mem.device

    def __add__(self, offset: int) -> MemoryPointer:
        if not isinstance(self, MemoryPointer):
            self, offset = offset, self
        return MemoryPointer(self.mem, self.ptr - self.mem.ptr + int(offset))

    __radd__ = __add__

    def __iadd__(self, offset: int) -> MemoryPointer:
        self.ptr += int(offset)
        return self

    def __sub__(self, offset: int) -> MemoryPointer:
        return self + -int(offset)

    def __isub__(self, offset: int) -> MemoryPointer:
        return self.__iadd__(-int(offset))

    def copy_from_device(self, src: MemoryPointer, size: int) -> None:
        """Copy bytes from device memory, on the legacy default stream."""
        if size > 0:
            runtime.memcpy(self.ptr, src.ptr, size, runtime.memcpyDefault)

    def copy_from_device_async(self, src: MemoryPointer, size: int, stream=None) -> None:
        """Copy bytes from device memory, on a stream."""
        if size > 0:
            runtime.memcpyAsync(self.ptr, src.ptr, size, runtime.memcpyDeviceToDevice,
                                _streams._handle(stream))  # fmt: skip

    def copy_from_host(self, mem: object, size: int) -> None:
        """Copy bytes from host memory, on the legacy default stream."""
        if size > 0:
            runtime.memcpy(self.ptr, _address(mem), size, runtime.memcpyHostToDevice)

    def copy_from_host_async(self, mem: object, size: int, stream=None) -> None:
        """Copy bytes from host memory, on a stream: it must stay until that is done."""
        if size > 0:
            runtime.memcpyAsync(self.ptr, _address(mem), size, runtime.memcpyHostToDevice,
                                _streams._handle(stream))  # fmt: skip

    def copy_from(self, mem: object, size: int) -> None:
        """Copy bytes from host or device memory."""
        if isinstance(mem, MemoryPointer):
            self.copy_from_device(mem, size)
        else:
            self.copy_from_host(mem, size)

    def copy_from_async(self, mem: object, size: int, stream=None) -> None:
        """Copy bytes from host or device memory, on a stream."""
        if isinstance(mem, MemoryPointer):
            self.copy_from_device_async(mem, size, stream)
        else:
            self.copy_from_host_async(mem, size, stream)

    def copy_to_host(self, mem: object, size: int) -> None:
        """Copy bytes to host memory, on the legacy default stream."""
        if size > 0:
            runtime.memcpy(_address(mem), self.ptr, size, runtime.memcpyDeviceToHost)

    def copy_to_host_async(self, mem: object, size: int, stream=None) -> None:
        """Copy bytes to host memory, on a stream."""
        if size > 0:
            runtime.memcpyAsync(_address(mem), self.ptr, size, runtime.memcpyDeviceToHost,
                                _streams._handle(stream))  # fmt: skip

    def memset(self, value: int, size: int) -> None:
        """Set bytes, on the legacy default stream."""
        if size > 0:
            runtime.memset(self.ptr, value, size)

    def memset_async(self, value: int, size: int, stream=None) -> None:
        """Set bytes, on a stream."""
        if size > 0:
            runtime.memsetAsync(self.ptr, value, size, _streams._handle(stream))


def _malloc(size: int) -> MemoryPointer:
    """The allocator without a pool."""
    return MemoryPointer(Memory(size), 0)


_current_allocator: Callable[[int], MemoryPointer] = _malloc
_thread_local = threading.local()


def get_allocator() -> Callable[[int], MemoryPointer]:
    """The function that gives device memory in this thread."""
    return getattr(_thread_local, "allocator", None) or _current_allocator


def set_allocator(allocator: Callable[[int], MemoryPointer] | None = None) -> None:
    """Let all device memory come from ``allocator``; None is straight from the device."""
    global _current_allocator
    if getattr(_thread_local, "allocator", None) is not None:
        raise ValueError(
            "Can't change the global allocator inside `using_allocator` context manager"
        )
    _current_allocator = allocator or _malloc


def alloc(size: int) -> MemoryPointer:
    """Device memory of ``size`` bytes, from the current allocator."""
    return get_allocator()(size)


def _allocate(nbytes: int, unwritten: bool, itemsize: int | None = None) -> MemoryPointer:
    """Memory for an array, through the current allocator.

    ``unwritten`` fills it with the pattern of memory never written; without it the caller writes
    the whole of it at once.
    """
    allocator = getattr(_thread_local, "allocator", None) or _current_allocator
    if allocator is _malloc:
        return MemoryPointer(Memory(nbytes, _unwritten=unwritten, _itemsize=itemsize), 0)
    return allocator(nbytes)
