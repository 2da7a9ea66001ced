"""Device memory: pointers, the memory they point into, and the pools it comes from."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import os
import sys
import threading
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterator

from cupy_backends.cuda.api import _contexts, _frees, runtime

from nogpu import engine
from nogpu.engine.arenas import Arena, Chunk
from nogpu.faces import table

from . import memory_hook
from . import stream as _streams

__all__ = """
    BaseMemory CFunctionAllocator ManagedMemory Memory MemoryAsync MemoryAsyncPool MemoryPointer
    MemoryPool PythonFunctionAllocator UnownedMemory alloc get_allocator malloc_async
    malloc_managed set_allocator using_allocator
""".split()  # `cupy.cuda` takes them over


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
    """Memory on a device."""

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
        self.device_id = _contexts.state.device
        self.ptr, self.size, self._allocation = 0, size, None
        if size > 0:
            _frees.free_waiting()
            try:
                self._allocation = engine.allocate(size, itemsize=_itemsize, unwritten=_unwritten,
                                                   device=self.device_id)  # fmt: skip
            except engine.OutOfMemory:
                raise runtime._error("cudaErrorMemoryAllocation") from None
            self.ptr = self._allocation.address

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        allocation = getattr(self, "_allocation", None)
        if allocation is not None and not is_finalizing():
            self._allocation = None
            _frees.free_later(allocation)


class ManagedMemory(Memory):
    """Memory that host and device share: here all of it is."""

    __slots__ = ()

    def prefetch(self, stream: _streams._BaseStream, *, device_id: int = 0) -> None:
        """Move it to where it is needed: it is there."""
        runtime.memPrefetchAsync(self.ptr, self.size, device_id, stream.ptr)

    def advise(self, advise: int, device: object) -> None:
        """Say how it is used on a device: nothing follows from that here."""
        runtime.memAdvise(self.ptr, self.size, advise, device.id)


class MemoryAsync(Memory):
    """Memory from the device's own pool, freed in the order of a stream."""

    __slots__ = ("stream_ref",)
    used = 0  # bytes of all

    def __init__(self, size: int, stream: object = None, **kwargs: object) -> None:
        super().__init__(size, **kwargs)
        self.stream_ref = stream
        MemoryAsync.used += size

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if getattr(self, "_allocation", None) is not None:
            MemoryAsync.used -= self.size
        super().__del__(is_finalizing)


class UnownedMemory(BaseMemory):
    """Memory that something else owns."""

    __slots__ = ("_owner",)

    def __init__(self, ptr: int, size: int, owner: object, device_id: int = -1) -> None:
        self.ptr, self.size, self._owner = int(ptr), int(size), owner
        if device_id < 0 and _contexts.several:
            device_id = runtime.pointerGetAttributes(self.ptr).device
        self.device_id = max(0, device_id)


def _address(memory: object) -> int:
    """An address given as a pointer, as an integer or as ctypes.c_void_p."""
    if isinstance(memory, MemoryPointer):
        return memory.ptr
    return memory if isinstance(memory, int) else memory.value


class MemoryPointer:
    """A place in device memory."""

    __slots__ = ("ptr", "mem", "device_id", "__weakref__")

    def __init__(self, mem: BaseMemory, offset: int) -> None:
        self.mem, self.device_id = mem, mem.device_id
        self.ptr = mem.ptr + int(offset)

    def __int__(self) -> int:
        return self.ptr

    def __len__(self) -> int:
        # The real type is compiled, and says its name with the module.
        raise TypeError("object of type 'cupy.cuda.memory.MemoryPointer' has no len()")

    def __bool__(self) -> bool:
        return True

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

    def memset(self, value: int, size: int) -> None:
        """Set bytes, on the legacy default stream."""
        if size > 0:
            runtime.memset(self.ptr, value, size)

    def memset_async(self, value: int, size: int, stream=None) -> None:
        """Set bytes, on a stream."""
        if size > 0:
            runtime.memsetAsync(self.ptr, value, size, _streams._handle(stream))

_COPIES = {  # method of a pointer: CUDA's kind of copy
    "copy_from_device": runtime.memcpyDefault,
    "copy_from_device_async": runtime.memcpyDeviceToDevice,
    "copy_from_host": runtime.memcpyHostToDevice,
    "copy_from_host_async": runtime.memcpyHostToDevice,
    "copy_to_host": runtime.memcpyDeviceToHost,
    "copy_to_host_async": runtime.memcpyDeviceToHost,
}


def _copy(name: str) -> Callable:
    kind, queued = _COPIES.get(name), name.endswith("_async")
    kinds = [_COPIES[name.replace("from", f"from_{end}")] if kind is None else kind
             for end in ("host", "device")]  # fmt: skip

    def copy(self: MemoryPointer, other: object, size: int, stream: object = None) -> None:
        if size > 0:
            is_device = isinstance(other, MemoryPointer)
            kind = kinds[is_device]
            if is_device and "_from" in name:
                engine.devices.peers.add((other.device_id, self.device_id))
            ends = (self.ptr, _address(other))
            ends = ends[::-1] if "_to_" in name else ends
            if queued:
                runtime.memcpyAsync(*ends, size, kind, _streams._handle(stream))
            else:
                runtime.memcpy(*ends, size, kind)

    return copy


table.methods(MemoryPointer, _copy, """
copy_from(self, mem: object, size: int) -> None:
    Copy bytes from host or device memory, on the legacy default stream.
copy_from_async(self, mem: object, size: int, stream=None) -> None:
    Copy bytes from host or device memory, on a stream.
copy_from_device(self, src: MemoryPointer, size: int) -> None:
    Copy bytes from device memory, on the legacy default stream.
copy_from_device_async(self, src: MemoryPointer, size: int, stream=None) -> None:
    Copy bytes from device memory, on a stream.
copy_from_host(self, mem: object, size: int) -> None:
    Copy bytes from host memory, on the legacy default stream.
copy_from_host_async(self, mem: object, size: int, stream=None) -> None:
    Copy bytes from host memory, on a stream: it must stay until that is done.
copy_to_host(self, mem: object, size: int) -> None:
    Copy bytes to host memory, on the legacy default stream.
copy_to_host_async(self, mem: object, size: int, stream=None) -> None:
    Copy bytes to host memory, on a stream.
""")


def _is_managed(pointer: MemoryPointer) -> bool:
    """Whether host and device share the memory, also as a block of a pool."""
    memory = pointer.mem
    return isinstance(getattr(getattr(memory, "_chunk", None), "mem", memory), ManagedMemory)


def _malloc(size: int) -> MemoryPointer:
    """The allocator without a pool."""
    return MemoryPointer(Memory(size), 0)


def malloc_managed(size: int) -> MemoryPointer:
    """Allocate memory that host and device share."""
    return MemoryPointer(ManagedMemory(size), 0)


def malloc_async(size: int) -> MemoryPointer:
    """Allocate from the device's own pool, in the order of the current stream."""
    return MemoryPointer(MemoryAsync(size, _streams.get_current_stream()), 0)


_current_allocator: Callable[[int], MemoryPointer] = _malloc
_thread_local = threading.local()


def get_allocator() -> Callable[[int], MemoryPointer]:
    """The function that gives device memory in this thread."""
    return getattr(_thread_local, "allocator", None) or _current_allocator


def _get_thread_local_allocator() -> Callable[[int], MemoryPointer] | None:
    return getattr(_thread_local, "allocator", None)


def _set_thread_local_allocator(allocator: Callable[[int], MemoryPointer] | None) -> None:
    _thread_local.allocator = allocator


def set_allocator(allocator: Callable[[int], MemoryPointer] | None = None) -> None:
    """Let all device memory come from ``allocator``; None is straight from the device."""
    global _current_allocator
    if getattr(_thread_local, "allocator", None) is not None:
        raise ValueError(
            "Can't change the global allocator inside `using_allocator` context manager")
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
    if getattr(allocator, "__func__", None) is MemoryPool.malloc:
        pool = allocator.__self__._pools[_contexts.state.device]
        return pool._give(nbytes, unwritten, itemsize)
    if allocator is _malloc:
        return MemoryPointer(Memory(nbytes, _unwritten=unwritten, _itemsize=itemsize), 0)
    return allocator(nbytes)


# pools

_UNIT = 512


class _Segment(BaseMemory):
    """Addresses that a pool places its blocks in.

    ``spread`` of 2 leaves as many addresses unused behind each block as it has, so that a kernel
    that runs over an array's end never finds a neighbour there.
    """

    __slots__ = ("_reserved",)

    def __init__(self, size: int, spread: int, device: int) -> None:
        self._reserved, self.size, self.device_id = 0, size, device
        try:
            self._reserved = self.ptr = engine.reserve(size * spread, size, device)
        except engine.OutOfMemory:
            raise runtime._error("cudaErrorMemoryAllocation") from None

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if self._reserved and not is_finalizing():
            engine.unreserve(self._reserved)


class PooledMemory(BaseMemory):
    """A block of a pool, which goes back to it with this object."""

    __slots__ = ("pool", "_chunk")

    def __init__(self, chunk: Chunk, pool: weakref.ref) -> None:
        self.ptr, self.size, self.device_id = chunk.ptr, chunk.size, chunk.mem.device_id
        self._chunk, self.pool = chunk, pool

    def free(self) -> None:
        """Give the block back to its pool."""
        chunk = self._chunk
        if chunk is None:
            return
        self._chunk = None
        pool = self.pool()
        if memory_hook._active and pool is not None:
            with memory_hook.told("free", device_id=self.device_id, mem_size=self.size,
                                  mem_ptr=self.ptr, pmem_id=id(self)):  # fmt: skip
                pool._take_back(chunk)
        elif pool is not None:
            pool._take_back(chunk)
        elif chunk.placed:
            engine.displace(chunk.ptr)
        self.ptr = 0

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if self._chunk is not None and not is_finalizing():
            self.free()


class SingleDeviceMemoryPool:
    """What a `MemoryPool` has for a device.

    A request is rounded up to 512 bytes and takes the smallest free chunk of its stream that is
    large enough, or new memory from ``allocator``; what is left of a chunk stays free. A block
    that comes back joins its free neighbours.

    An array may be deleted anywhere, also by the garbage collector while this pool works: then
    its block waits in `_returned` for the lock's holder.

    A block that comes back while a stream has work left may still be used by it. Its allocation
    stays until nothing is left (`_lingering`); the next block at its address succeeds it in the
    order of their stream.
    """

    def __init__(
        self, allocator: Callable[[int], MemoryPointer] | None = None, device: int | None = None
    ) -> None:
        self._device = _contexts.state.device if device is None else device
        self._allocator = allocator or _malloc
        self._lock = engine.forking.held("pools", threading.Lock())
        self._arenas: dict[object, Arena] = {}
        # What the blocks lie in. A block that the garbage collector deletes comes back with its
        # chunk; the memory must not be deleted beside it.
        self._memories: set[BaseMemory] = set()
        self._returned: deque[Chunk] = deque()
        self._lingering: dict[int, int] = {}  # address -> end
        self._used = self._total = self._limit = 0
        self._reference = weakref.ref(self)
        self._spread = 1
        self._pieces = self._allocator in (_malloc, malloc_managed)
        self.set_limit(**_parse_limit_string())

    # requests

    def malloc(self, size: int) -> MemoryPointer:
        """A block of at least ``size`` bytes."""
        return self._give(size, True)

    def _give(self, nbytes: int, unwritten: bool, itemsize: int | None = None) -> MemoryPointer:
        if nbytes < 0:
            raise OverflowError("can't convert negative value to size_t")
        size = (nbytes + _UNIT - 1) // _UNIT * _UNIT
        if not memory_hook._active:
            return self._pointer(nbytes, size, unwritten, itemsize)
        about = {"device_id": self._device, "size": nbytes, "mem_size": size}
        with memory_hook.told("malloc", **about) as after:
            after.update(mem_ptr=0, pmem_id=0)
            pointer = self._pointer(nbytes, size, unwritten, itemsize)
            after.update(mem_ptr=pointer.ptr, pmem_id=id(pointer.mem))
        return pointer

    def _pointer(
        self, nbytes: int, size: int, unwritten: bool, itemsize: int | None
    ) -> MemoryPointer:
        if not size:
            return MemoryPointer(Memory(0), 0)
        stream = _streams._local.stream
        key = stream.ptr
        if key == runtime.streamPerThread:
            key = (key, threading.get_ident())
        with self._lock:
            if self._returned:
                self._sort_in()
            arena = self._arenas.get(key)
            if arena is None:
                arena = self._arenas[key] = Arena(stream._engine)
            chunk = arena.take(size)
            if chunk is not None:
                if chunk.size > size:
                    self._split(chunk, size)
                self._used += size
        if chunk is None:
            memory = self._new_memory(size)
            with self._lock:
                arena = self._arenas.setdefault(key, arena)
                chunk = Chunk(memory, memory.ptr, size, arena)
                self._memories.add(memory)
                self._used += size
        if self._returned:
            self._settle()
        pooled = PooledMemory(chunk, self._reference)
        if type(chunk.mem) is _Segment:
            if self._lingering:
                self._succeed(chunk, nbytes, unwritten, itemsize)
            else:
                engine.place(chunk.ptr, nbytes, chunk.size * self._spread, itemsize=itemsize,
                             unwritten=unwritten, device=self._device)  # fmt: skip
            chunk.placed = True
        return MemoryPointer(pooled, 0)

    def _split(self, chunk: Chunk, size: int) -> None:
        rest = Chunk(chunk.mem, chunk.ptr + size * self._spread, chunk.size - size, chunk.arena)
        rest.prev, rest.next = chunk, chunk.next
        if rest.next is not None:
            rest.next.prev = rest
        chunk.next, chunk.size = rest, size
        chunk.arena.add(rest)

    def _succeed(self, chunk: Chunk, nbytes: int, unwritten: bool, itemsize: int | None) -> None:
        """Place a block where queued work may still use what was there."""
        end = chunk.ptr + chunk.size * self._spread
        with self._lock:
            self._end_lingering()
            there = [at for at, last in self._lingering.items() if at < end and last > chunk.ptr]
            only = there == [chunk.ptr] and self._lingering[chunk.ptr] <= chunk.ptr + chunk.size
            if only:
                del self._lingering[chunk.ptr]
        stream = chunk.arena.stream
        if only and not stream.capturing:
            _, settle = engine.succeed(chunk.ptr, nbytes, end - chunk.ptr, itemsize, unwritten)
            stream.run(settle, 0, "memory given out again")
            return
        if there:  # other sizes than before: order alone does not help
            _frees.wait_until_quiet()
            with self._lock:
                for at in there:
                    if self._lingering.pop(at, None) is not None or only:
                        engine.displace(at)
        engine.place(chunk.ptr, nbytes, end - chunk.ptr, itemsize=itemsize,
                     unwritten=unwritten, device=self._device)  # fmt: skip

    def _new_memory(self, size: int) -> BaseMemory:
        for attempt in range(3):
            if attempt == 2:
                gc.collect()
            if attempt:
                self.free_all_blocks()
            with self._lock:
                total, limit = self._total, self._limit
                refused = limit and total + size > limit
                if not refused:
                    self._total += size
            if refused:
                continue
            try:
                return self._ask(size)
            except BaseException as error:
                with self._lock:
                    self._total -= size
                if getattr(error, "status", None) != runtime.errorMemoryAllocation:
                    raise
        raise OutOfMemoryError(size, total, limit)

    def _ask(self, size: int) -> BaseMemory:
        with memory_hook.told("alloc", device_id=self._device, mem_size=size) as after:
            after["mem_ptr"] = 0
            if self._pieces:
                memory = _Segment(size, self._spread, self._device)
            else:
                memory = self._allocator(size).mem
            after["mem_ptr"] = memory.ptr
        return memory

    # blocks that come back

    def _take_back(self, chunk: Chunk) -> None:
        self._returned.append(chunk)
        self._settle()

    def _settle(self) -> None:
        # Whoever holds the lock (perhaps this thread, further up) settles when it is done.
        while self._returned and self._lock.acquire(False):
            try:
                self._sort_in()
            finally:
                self._lock.release()

    def _sort_in(self) -> None:
        """Let the returned blocks be free ones; the lock is held."""
        while self._returned:
            chunk = self._returned.popleft()
            self._used -= chunk.size
            if chunk.placed:
                chunk.placed = False
                if chunk.arena.stream.capturing or _frees.quiet():
                    engine.displace(chunk.ptr)
                else:
                    self._lingering[chunk.ptr] = chunk.ptr + chunk.size
            arena, after, before = chunk.arena, chunk.next, chunk.prev
            if after is not None and arena.remove(after):
                chunk.size += after.size
                chunk.next = after.next
                if chunk.next is not None:
                    chunk.next.prev = chunk
            if before is not None and arena.remove(before):
                before.size += chunk.size
                before.next = chunk.next
                if before.next is not None:
                    before.next.prev = before
                chunk = before
            arena.add(chunk)
        self._end_lingering()

    def _end_lingering(self) -> None:
        if self._lingering and _frees.quiet():
            for address in list(self._lingering):
                engine.displace(address)  # first: another thread may look without the lock
                del self._lingering[address]

    def _lingers(self, chunk: Chunk) -> bool:
        end = chunk.ptr + chunk.size * self._spread
        return any(chunk.ptr <= address < end for address in self._lingering)

    def free(self, ptr: int, size: int) -> None:
        """The blocks know their chunks: nothing can be freed by its address."""
        raise RuntimeError("Cannot free out-of-pool memory")

    def free_all_blocks(self, stream: _streams._BaseStream | None = None) -> None:
        """Give the chunks that are free as a whole back to the device.

        It waits for work that still uses some of them. A host function, which runs as a stream's
        work, cannot wait for that: called from there, it leaves those chunks in the pool.
        """
        gone = []
        with self._lock:
            self._sort_in()
        if self._lingering and _frees.may_wait():
            _frees.wait_until_quiet()
        with self._lock:
            self._sort_in()
            if stream is None:
                arenas = list(self._arenas.values())
            else:
                key = stream.ptr
                if key == runtime.streamPerThread:
                    key = (key, threading.get_ident())
                arenas = [self._arenas[key]] if key in self._arenas else []
            for arena in arenas:
                for found in arena.bins.values():
                    for chunk in list(found):
                        if chunk.prev is None and chunk.next is None and not self._lingers(chunk):
                            del found[chunk]
                            self._memories.discard(chunk.mem)
                            self._total -= chunk.size
                            gone.append(chunk)
                arena.compact()
        del gone, arenas
        self._settle()

    def free_all_free(self) -> None:
        """The old name of `free_all_blocks`."""
        warnings.warn("free_all_free is deprecated. Use free_all_blocks instead.",
                      DeprecationWarning, stacklevel=2)  # fmt: skip
        self.free_all_blocks()

    # figures

    def _bins(self) -> Iterator[dict[Chunk, None]]:
        return (found for arena in self._arenas.values() for found in arena.bins.values())

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        """Never have more than ``size`` bytes, or than a fraction of the device; 0: no limit."""
        self._limit = _limit(size, fraction)

    def get_limit(self) -> int:
        """The limit in bytes; 0: none."""
        return self._limit


def _figure(name: str) -> Callable:
    figures = {
        "n_free_blocks": lambda pool: sum(map(len, pool._bins())),
        "used_bytes": lambda pool: pool._used,
        "free_bytes": lambda pool: sum(chunk.size for found in pool._bins() for chunk in found),
        "total_bytes": lambda pool: pool._total,
    }

    def figure(self: SingleDeviceMemoryPool) -> int:
        with self._lock:
            self._sort_in()
            return figures[name](self)

    return figure


table.methods(SingleDeviceMemoryPool, _figure, """
n_free_blocks(self) -> int: How many chunks are free.
used_bytes(self) -> int: Bytes in blocks that are in use.
free_bytes(self) -> int: Bytes in free chunks.
total_bytes(self) -> int: Bytes that it has from the device.
""")


def _limit(size: int | None, fraction: float | None) -> int:
    """A limit in bytes, given as it is or as a fraction of the device."""
    if size is None:
        size = 0
        if fraction is not None:
            if not 0 <= fraction <= 1:
                raise ValueError(f"memory limit fraction out of range: {fraction}")
            size = int(fraction * runtime.memGetInfo()[1])
    elif fraction is not None:
        raise ValueError("size and fraction cannot be specified at one time")
    if size < 0:
        raise ValueError(f"memory limit size out of range: {size}")
    return int(size)


def _parse_limit_string(limit: str | None = None) -> dict[str, float | None]:
    """The limit that ``CUPY_GPU_MEMORY_LIMIT`` sets: bytes, or a percentage."""
    if limit is None:
        limit = os.environ.get("CUPY_GPU_MEMORY_LIMIT")
    size = fraction = None
    if limit is not None and limit.endswith("%"):
        fraction = float(limit[:-1]) / 100
    elif limit is not None:
        size = int(limit)
    return {"size": size, "fraction": fraction}


class MemoryPool:
    """Device memory that is kept when it is freed, and given out again: of the current device."""

    def __init__(self, allocator: Callable[[int], MemoryPointer] | None = None) -> None:
        every = range(engine.devices.count)
        self._pools = [SingleDeviceMemoryPool(allocator, device) for device in every]


def _of_current_device(method: Callable) -> Callable:
    @functools.wraps(method)
    def call(self: MemoryPool, *args: object, **kwargs: object) -> object:
        return method(self._pools[_contexts.state.device], *args, **kwargs)

    return call


for _name in """
    malloc free free_all_blocks free_all_free n_free_blocks used_bytes free_bytes total_bytes
    set_limit get_limit
""".split():
    setattr(MemoryPool, _name, _of_current_device(getattr(SingleDeviceMemoryPool, _name)))


class MemoryAsyncPool:
    """The device's own pool, with a stream's order for requests and frees."""

    def __init__(self, pool_handles: str | int = "current") -> None:
        self.memoryAsyncHasStat = True
        self._total = MemoryAsync.used
        self.set_limit(**_parse_limit_string())

    def malloc(self, size: int) -> MemoryPointer:
        """Memory of ``size`` bytes, in whole units of 512."""
        size = -(-size // _UNIT) * _UNIT
        total, needed = self.total_bytes(), MemoryAsync.used + size
        if needed > max(total, self._limit):
            raise OutOfMemoryError(size, total, self._limit)
        memory = malloc_async(size)
        self._total = max(total, needed)
        return memory

    def free_all_blocks(self, stream: _streams._BaseStream | None = None) -> None:
        """Free what was given back."""
        (stream or _streams.get_current_stream()).synchronize()
        _frees.free_waiting()
        self._total = MemoryAsync.used

    def n_free_blocks(self) -> int:
        """CUDA's pool does not tell."""
        raise NotImplementedError("This function is not supported in MemoryAsyncPool")

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        """Never have more than ``size`` bytes, or than a fraction of the device; 0: no limit."""
        self._limit = _limit(size, fraction) or 2**64 - 1


_ASYNC_FIGURES = {
    "used_bytes": lambda pool: MemoryAsync.used,
    "free_bytes": lambda pool: pool.total_bytes() - MemoryAsync.used,
    "total_bytes": lambda pool: max(pool._total, MemoryAsync.used),
    "get_limit": lambda pool: pool._limit,
}
table.methods(MemoryAsyncPool, _ASYNC_FIGURES.get, """
used_bytes(self) -> int: Bytes in use.
free_bytes(self) -> int: Bytes that the pool has and nobody uses.
total_bytes(self) -> int: Bytes that the pool has from the device.
get_limit(self) -> int: The limit in bytes, the largest number of 64 bits where there is none.
""")


class PythonFunctionAllocator:
    """An allocator made of two functions: ``malloc(size, device)`` and ``free(ptr, device)``."""

    def __init__(self, malloc_func: Callable, free_func: Callable) -> None:
        self._malloc_func, self._free_func = malloc_func, free_func

    def malloc(self, size: int) -> MemoryPointer:
        """Memory of ``size`` bytes."""
        return MemoryPointer(_FunctionMemory(size, self._malloc_func, self._free_func), 0)


class CFunctionAllocator(PythonFunctionAllocator):
    """An allocator made of two C functions: ``malloc(param, size, device)``, ``free(param, ptr,
    device)``."""

    def __init__(self, param: int, malloc_func: int, free_func: int, owner: object) -> None:
        take = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        give = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
        self._owner, taken, given = owner, take(malloc_func), give(free_func)
        self._malloc_func = lambda size, device: taken(param, size, device) or 0
        self._free_func = lambda ptr, device: given(param, ptr, device)


class _FunctionMemory(BaseMemory):
    __slots__ = ("_free",)

    def __init__(self, size: int, malloc_func: Callable, free_func: Callable) -> None:
        self.size, self.device_id, self.ptr = size, _contexts.state.device, 0
        self._free = None
        if size > 0:
            self.ptr = malloc_func(size, self.device_id)
            self._free = free_func

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if getattr(self, "_free", None) is not None and not is_finalizing():
            self._free(self.ptr, self.device_id)


@contextlib.contextmanager
def using_allocator(
    allocator: Callable[[int], MemoryPointer] | None = None,
) -> Iterator[None]:
    """Let this thread's device memory come from ``allocator``; None is straight from the device."""
    before = _get_thread_local_allocator()
    _set_thread_local_allocator(allocator or _malloc)
    try:
        yield
    finally:
        _set_thread_local_allocator(before)


_default_memory_pool = MemoryPool()
# Arrays keep their distance, whatever was cut out of one block.
for _pool in _default_memory_pool._pools:
    _pool._spread = 2
_current_allocator = _default_memory_pool.malloc
