"""Device memory, page-locked and managed memory, and what goes in between."""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable

import numpy as np
from cupy_backends.cuda.api import _contexts as _driver
from cupy_backends.cuda.api import _errors, _frees, runtime

from nogpu import engine
from nogpu.faces import table

from . import _contexts, _streams
from ._contexts import ArgumentError, Dependent, failed, need

__all__ = """
    AlignedHostAllocation DeviceAllocation HostAllocation HostPointer ManagedAllocation Memcpy2D
    Memcpy3D PagelockedHostAllocation PointerHolderBase RegisteredHostMemory aligned_empty
    managed_empty mem_alloc mem_alloc_pitch mem_get_address_range mem_get_info memcpy_dtod
    memcpy_dtod_async memcpy_dtoh memcpy_dtoh_async memcpy_htod memcpy_htod_async memcpy_peer
    memcpy_peer_async memset_d16 memset_d16_async memset_d2d16 memset_d2d32 memset_d2d8
    memset_d32 memset_d32_async memset_d8 memset_d8_async pagelocked_empty register_host_memory
""".split()  # `_driver` takes them over

class _Buffer(ctypes.Structure):
    """Python's Py_buffer."""

    _fields_ = [
        ("buf", ctypes.c_void_p), ("obj", ctypes.py_object), ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t), ("readonly", ctypes.c_int), ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p), ("internal", ctypes.c_void_p),
    ]  # fmt: skip


_ANY_CONTIGUOUS, _WRITABLE = 0x98, 0x01
_get_buffer = ctypes.pythonapi.PyObject_GetBuffer
_get_buffer.argtypes = [ctypes.py_object, ctypes.POINTER(_Buffer), ctypes.c_int]
_release_buffer = ctypes.pythonapi.PyBuffer_Release
_release_buffer.argtypes = [ctypes.POINTER(_Buffer)]
_release_buffer.restype = None


class HostBuffer:
    """The memory behind an object with the buffer protocol: contiguous in C's order or Fortran's.

    Attributes
    ----------
    address, nbytes : int
    """

    def __init__(self, item: object, writable: bool = False) -> None:
        buffer = _Buffer()
        _get_buffer(item, buffer, _ANY_CONTIGUOUS | (_WRITABLE if writable else 0))
        self.address, self.nbytes = buffer.buf or 0, buffer.len
        self._item = item  # its memory stays where it is while it lives
        _release_buffer(buffer)


class Place:
    """Something with an address in the device's memory."""

    def __int__(self) -> int:
        return self._address

    __index__ = __int__

    def as_buffer(self, size: int, offset: int = 0) -> memoryview:
        """Its bytes; on a GPU no processor can read them."""
        return memoryview((ctypes.c_uint8 * size).from_address(int(self) + offset))


class DeviceAllocation(Place, Dependent):
    """Device memory, freed with this object."""

    def __init__(self, *arguments: object) -> None:
        raise _contexts.no_constructor()

    @classmethod
    def _of(cls, nbytes: int, routine: str = "cuMemAlloc") -> DeviceAllocation:
        need(routine)
        if nbytes == 0:
            raise failed(routine, "CUDA_ERROR_INVALID_VALUE")
        self = object.__new__(cls)
        self._allocation = None
        self._enter_context()
        _frees.free_waiting()
        try:
            self._allocation = engine.allocate(nbytes, device=_driver.state.device)
        except engine.OutOfMemory:
            raise failed(routine, "CUDA_ERROR_OUT_OF_MEMORY") from None
        self._address = self._allocation.address
        return self

    def free(self) -> None:
        """Give it back, when no stream has work left; called by a host function that a stream
        runs, it does not wait for that, and the memory is freed later."""
        if self._allocation is None:
            raised = failed("device_allocation::free", "CUDA_ERROR_INVALID_HANDLE")
            raise _errors.noted(raised, f"the memory at {self._address:#x} is freed a second time")
        allocation, self._allocation = self._allocation, None
        if _frees.may_wait():
            _frees.wait_until_quiet()
        _frees.free_later(allocation)

    def __del__(self, is_finalizing=sys.is_finalizing) -> None:
        allocation = getattr(self, "_allocation", None)
        if allocation is not None and not is_finalizing():
            self._allocation = None
            _frees.free_later(allocation)

    def __hash__(self) -> int:
        return hash(self._address)


class PointerHolderBase(Place):
    """Base of classes that hold a pointer: they define ``get_pointer``."""

    def __init__(self) -> None:
        pass

    def get_pointer(self) -> int:
        raise TypeError("Pure virtual function called")

    def __int__(self) -> int:
        return self.get_pointer()

    __index__ = __int__


def pointer(item: object, function: str) -> int:
    """A device address, as the binding converts its arguments."""
    if isinstance(item, (int, Place, HostAllocation)):
        return int(item)
    raise mismatch(function, item)


def mismatch(function: str, *items: object) -> ArgumentError:
    """The binding's error for arguments whose types fit no signature."""
    names = ", ".join(type(item).__name__ for item in items)
    return ArgumentError(
        f"Python argument types in\n    pycuda._driver.{function}({names})\n"
        "did not match C++ signature")


def whole(item: object, function: str) -> int:
    """A size or count, as the binding converts it."""
    if not isinstance(item, int):
        raise mismatch(function, item)
    if item < 0:
        raise OverflowError("can't convert negative value to unsigned int")
    return int(item)


def mem_alloc(bytes: int) -> DeviceAllocation:  # noqa: A002
    """Device memory."""
    nbytes = whole(bytes, "mem_alloc")
    if nbytes >= 2**62:
        raise failed("cuMemAlloc", "CUDA_ERROR_OUT_OF_MEMORY")
    return DeviceAllocation._of(nbytes)


def mem_alloc_pitch(width: int, height: int, access_size: int) -> tuple[DeviceAllocation, int]:
    """Memory for rows that begin at multiples of 512 bytes; and the distance of two rows."""
    pitch = -(-width // 512) * 512
    return DeviceAllocation._of(pitch * height, "cuMemAllocPitch"), pitch


def mem_get_info() -> tuple[int, int]:
    """Bytes free, and in all."""
    need("cuMemGetInfo")
    _frees.free_waiting()
    used, capacity = engine.usage(_driver.state.device)
    return capacity - used, capacity


def mem_get_address_range(address: object) -> tuple[int, int]:
    """Beginning and size of the allocation that an address lies in."""
    found = engine.lookup(pointer(address, "mem_get_address_range"))
    if found is None:
        raise failed("cuMemGetAddressRange", "CUDA_ERROR_NOT_FOUND")
    return found.address, found.nbytes


# copies


def _copy(
    routine: str, destination: int, source: int, nbytes: int, kind: str, stream: object,
    keep: tuple = (), pinned: bool = False,
) -> None:  # fmt: skip
    need(routine)
    queue = _streams.queue_of(stream)
    try:
        queue.copy(destination, source, nbytes, kind, keep, pinned=pinned)
    except engine.InvalidAddress as error:
        raise refused(routine, error) from None
    except engine.StreamError as error:
        raise _contexts.stream_failed(routine, error) from None


def refused(routine: str, error: engine.InvalidAddress) -> Exception:
    """A copy that leaves its memory: CUDA's error, with what the simulator knows about it."""
    return _errors.noted(failed(routine, "CUDA_ERROR_INVALID_VALUE"), error)


def _between(name: str) -> Callable:
    """Copies between host and device, and back."""
    to_device, queued = "htod" in name, name.endswith("_async")
    kind = "HtoD" if to_device else "DtoH"
    routine = f"cuMemcpy{kind}{'Async' if queued else ''}"

    def copy(dest: object, src: object, stream: object = None) -> None:
        if to_device:
            address, host = pointer(dest, name), HostBuffer(src)
            ends = address, host.address
        else:
            host, address = HostBuffer(dest, writable=True), pointer(src, name)
            ends = host.address, address
        pinned = queued and runtime._is_pinned(host.address)
        _copy(routine, *ends, host.nbytes, kind, stream, (host,), pinned)
        if not queued:
            _streams.queue_of(None).synchronize()

    return copy


def _within(name: str) -> Callable:
    """Copies within a device, and between two: an address tells its device."""
    queued = name.endswith("_async")
    name = "memcpy_dtod_async" if queued else "memcpy_dtod"
    routine = f"cuMemcpyDtoD{'Async' if queued else ''}"

    def copy(dest: object, src: object, size: int, *contexts_and_stream: object) -> None:
        stream = contexts_and_stream[-1] if queued else None
        ends = pointer(dest, name), pointer(src, name)
        _copy(routine, *ends, whole(size, name), "DtoD", stream)

    return copy


table.functions(globals(), _between, """
memcpy_htod(dest: object, src: object) -> None: Copy host to device, and wait.
memcpy_htod_async(dest: object, src: object, stream: object = None) -> None:
    Queue a copy from host to device.
memcpy_dtoh(dest: object, src: object) -> None: Copy device to host, and wait.
memcpy_dtoh_async(dest: object, src: object, stream: object = None) -> None:
    Queue a copy from device to host.
""")
table.functions(globals(), _within, """
memcpy_dtod(dest: object, src: object, size: int) -> None: Copy within the device.
memcpy_dtod_async(dest: object, src: object, size: int, stream: object = None) -> None:
    Queue a copy within the device.
memcpy_peer(dest: object, src: object, size: int, dest_context: object = None,
        src_context: object = None) -> None: Copy between devices.
memcpy_peer_async(dest: object, src: object, size: int, dest_context: object = None,
        src_context: object = None, stream: object = None) -> None: Queue `memcpy_peer`.
""")


def _fill(routine: str, dest: object, value: int, count: int, width: int, stream: object) -> None:
    address = pointer(dest, routine)
    need(routine)
    try:
        value, count = whole(value, routine), whole(count, routine)
        if value >= 2 ** (8 * width):
            raise OverflowError("value too large to convert")
        _streams.queue_of(stream).fill(address, value, count, width)
    except engine.InvalidAddress as error:
        raise refused(routine, error) from None


def _memset(name: str) -> Callable:
    """Filling a line, or the rows of a rectangle, with elements of 8, 16 or 32 bits."""
    rows, bits, queued = re.fullmatch(r"memset_d(2d)?(\d+)(_async)?", name).groups()
    width = int(bits) // 8
    routine = f"cuMemsetD{'2D' if rows else ''}{bits}{'Async' if queued else ''}"

    def fill(dest: object, data: int, size: int, stream: object = None) -> None:
        _fill(routine, dest, data, size, width, stream)

    def fill_rows(dest: object, pitch: int, data: int, columns: int, height: int) -> None:
        first = pointer(dest, name)
        for row in range(height):
            _fill(routine, first + row * pitch, data, columns, width, None)

    return fill_rows if rows else fill


table.functions(globals(), _memset, """
memset_d8(dest: object, data: int, size: int) -> None: Set bytes.
memset_d16(dest: object, data: int, size: int) -> None: Set elements of two bytes.
memset_d32(dest: object, data: int, size: int) -> None: Set elements of four bytes.
memset_d8_async(dest: object, data: int, size: int, stream: object = None) -> None:
    Queue `memset_d8`.
memset_d16_async(dest: object, data: int, size: int, stream: object = None) -> None:
    Queue `memset_d16`.
memset_d32_async(dest: object, data: int, size: int, stream: object = None) -> None:
    Queue `memset_d32`.
memset_d2d8(dest: object, pitch: int, data: int, width: int, height: int) -> None:
    Set a rectangle of bytes.
memset_d2d16(dest: object, pitch: int, data: int, width: int, height: int) -> None:
    Set a rectangle of elements of two bytes.
memset_d2d32(dest: object, pitch: int, data: int, width: int, height: int) -> None:
    Set a rectangle of elements of four bytes.
""")


class Memcpy2D:
    """A copy of a rectangle: set source, destination, pitches and sizes, then call it."""

    depth, src_z, dst_z, src_height, dst_height = 1, 0, 0, 0, 0  # a box has more of them

    def __init__(self) -> None:
        self.src_x_in_bytes = self.src_y = self.dst_x_in_bytes = self.dst_y = 0
        self.src_pitch = self.dst_pitch = self.width_in_bytes = self.height = 0
        self._source = self._destination = None

    def __call__(self, stream: object = None, aligned: bool = True) -> None:
        if isinstance(stream, bool):
            stream = None
        if self._source is None or self._destination is None:
            raise failed("cuMemcpy2D", "CUDA_ERROR_INVALID_VALUE")
        (source_kind, source), (kind, destination) = self._source, self._destination
        kind, keep = f"{source_kind}to{kind}", (source, destination)
        for plane in range(self.depth):
            to = (self.dst_z + plane) * self.dst_height + self.dst_y
            origin = (self.src_z + plane) * self.src_height + self.src_y
            for row in range(self.height):
                _copy("cuMemcpy2D",
                      _start(destination) + (to + row) * self.dst_pitch + self.dst_x_in_bytes,
                      _start(source) + (origin + row) * self.src_pitch + self.src_x_in_bytes,
                      self.width_in_bytes, kind, stream, keep)  # fmt: skip
        if stream is None:
            _streams.queue_of(None).synchronize()


class Memcpy3D(Memcpy2D):
    """A copy of a box."""


def _end_setter(name: str) -> Callable:
    """What sets a copy's source or destination, on the host or on the device."""
    source, on_host = "_src_" in name, name.endswith("_host")

    def set_end(self: Memcpy2D, place: object) -> None:
        end = HostBuffer(_loose(place), not source) if on_host else pointer(place, name)
        setattr(self, "_source" if source else "_destination", ("H" if on_host else "D", end))

    return set_end


table.methods(Memcpy2D, _end_setter, """
set_src_host(self, buffer: object) -> None: Take the source from the host.
set_dst_host(self, buffer: object) -> None: Copy to the host.
set_src_device(self, address: object) -> None: Take the source from the device.
set_dst_device(self, address: object) -> None: Copy to the device.
""")
Memcpy2D.set_src_unified = Memcpy2D.set_src_device
Memcpy2D.set_dst_unified = Memcpy2D.set_dst_device


def _start(end: HostBuffer | int) -> int:
    return end.address if isinstance(end, HostBuffer) else end


def _loose(buffer: object) -> object:
    """An array with gaps in its rows is allowed here: its memory from the first to the last."""
    if isinstance(buffer, np.ndarray) and not buffer.flags.forc:
        nbytes = sum((n - 1) * s for n, s in zip(buffer.shape, buffer.strides)) + buffer.itemsize
        raw = (ctypes.c_uint8 * nbytes).from_address(buffer.ctypes.data)
        raw._owner = buffer
        return raw
    return buffer


# host memory that the device can reach


def host_array(shape: object, dtype: object, order: str) -> tuple[int, Callable[[int], dict]]:
    """An array's bytes, and what gives its array interface for an address."""
    dtype = np.dtype(dtype)
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    strides = np.ndarray(shape, dtype, np.empty(max(nbytes, 1), np.uint8), order=order).strides
    return nbytes, lambda address: {
        "shape": shape, "typestr": dtype.str, "descr": dtype.descr, "version": 3,
        "strides": strides, "data": (address, False),
    }  # fmt: skip


class HostPointer(Dependent):
    """Memory of the host that the device knows."""

    def get_device_pointer(self) -> int:
        """The device's address of it."""
        return self._address


class HostAllocation(HostPointer):
    """Memory of the host made for the device; an array's ``base``."""

    _what, _routine = "pagelocked_host_allocation", "cuMemHostAlloc"

    @classmethod
    def _array(cls, shape: object, dtype: object, order: str, flags: int) -> np.ndarray:
        nbytes, interface = host_array(shape, dtype, order)
        self = object.__new__(cls)
        if cls is not AlignedHostAllocation:
            need(self._routine)
            self._enter_context()
        self._flags = int(flags)
        self._obtain(nbytes)
        self._alive = True
        self.__array_interface__ = interface(self._address)
        return np.asarray(self)

    def _obtain(self, nbytes: int) -> None:
        self._memory = engine.PageLocked(nbytes)
        self._address = self._memory.address
        runtime._pin(self._address, max(nbytes, 1))

    def get_flags(self) -> int:
        """The flags that it was made with; the device reaches all of it."""
        return self._flags | 2

    def free(self) -> None:
        """Give it back; here it lives on while arrays use it."""
        if not self._alive:
            raise failed(f"{self._what}::free", "CUDA_ERROR_INVALID_HANDLE")
        self._alive = False
        runtime._unpin(self._address)

    def __int__(self) -> int:
        return self._address

    def __del__(self, is_finalizing=sys.is_finalizing) -> None:
        if not is_finalizing() and getattr(self, "_alive", False):
            self.free()


class PagelockedHostAllocation(HostAllocation):
    """Page-locked memory."""


class AlignedHostAllocation(HostAllocation):
    """Ordinary memory that begins where it should."""

    _what = "aligned_host_allocation"

    def _obtain(self, nbytes: int) -> None:
        step = max(1, self._flags)
        self._memory = np.empty(nbytes + step, np.uint8)
        self._address = -(-self._memory.ctypes.data // step) * step


class ManagedAllocation(HostAllocation):
    """Memory that host and device share: device memory, which the host can reach here."""

    _what, _routine = "managed_allocation", "cuMemAllocManaged"

    def _obtain(self, nbytes: int) -> None:
        self._memory = engine.allocate(nbytes, unwritten=False, device=_driver.state.device)
        self._address = self._memory.address

    def attach(self, flags: int, stream: object = None) -> None:
        """Say who uses it; nothing follows from that here."""

    def __del__(self, is_finalizing=sys.is_finalizing) -> None:
        if not is_finalizing() and getattr(self, "_memory", None) is not None:
            memory, self._memory = self._memory, None
            _frees.free_later(memory)


class RegisteredHostMemory(HostPointer):
    """Memory that was there before and is page-locked now; an array's ``base``."""

    def unregister(self) -> None:
        """Let it be ordinary memory again."""
        if not self._alive:
            raise failed("registered_host_memory::unregister", "CUDA_ERROR_INVALID_HANDLE")
        self._alive = False
        runtime._unpin(self._address)

    @property
    def base(self) -> object:
        """The array that was registered."""
        return self._given


_ARRAYS = {
    "pagelocked_empty": PagelockedHostAllocation, "aligned_empty": AlignedHostAllocation,
    "managed_empty": ManagedAllocation,
}  # fmt: skip
table.functions(globals(), lambda name: _ARRAYS[name]._array, """
pagelocked_empty(shape: object, dtype: object, order: str = "C", mem_flags: int = 0) -> np.ndarray:
    An array in page-locked memory.
aligned_empty(shape: object, dtype: object, order: str = "C", alignment: int = 4096):
    An array that begins at a multiple of ``alignment``.
managed_empty(shape: object, dtype: object, order: str = "C", mem_flags: int = 0) -> np.ndarray:
    An array that host and device share.
""")


def register_host_memory(ary: np.ndarray, flags: int = 0) -> np.ndarray:
    """The same memory, page-locked."""
    self = object.__new__(RegisteredHostMemory)
    self._enter_context()
    self._given, self._address, self._alive = ary, ary.ctypes.data, True
    runtime._pin(self._address, max(ary.nbytes, 1))
    self.__array_interface__ = {**ary.__array_interface__, "strides": ary.strides}
    return np.asarray(self)
