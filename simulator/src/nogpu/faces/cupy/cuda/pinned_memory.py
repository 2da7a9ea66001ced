"""Page-locked host memory. Here all host memory is alike, but copies tell it apart as CUDA does."""

from __future__ import annotations

import ctypes
import operator
import sys
import threading
import weakref
from collections import defaultdict, deque
from collections.abc import Callable
from functools import lru_cache

from cupy_backends.cuda.api import runtime

from nogpu import engine

__all__ = """
    PinnedMemory PinnedMemoryPointer PinnedMemoryPool alloc_pinned_memory
    set_pinned_memory_allocator
""".split()  # `cupy.cuda` takes them over


class PinnedMemory:
    """Page-locked host memory, freed with this object."""

    def __init__(self, size: int, flags: int = 0) -> None:
        self.size, self.ptr = size, 0
        if size > 0:
            self.ptr = runtime.hostAlloc(size, flags)

    def __int__(self) -> int:
        return self.ptr

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        ptr, self.ptr = self.ptr, 0
        if ptr and not is_finalizing():
            runtime.freeHost(ptr)


class PinnedMemoryPointer:
    """A place in page-locked memory; a buffer from there to the memory's end."""

    # Before Python 3.12 a class written in Python can only be a buffer by way of ctypes.

    def __new__(cls, mem: PinnedMemory, offset: int) -> PinnedMemoryPointer:
        offset = int(offset)
        pointer = _buffer_type(max(0, mem.size - offset)).from_address(mem.ptr + offset)
        pointer.mem, pointer.ptr = mem, mem.ptr + offset
        return pointer

    def __init__(self, mem: PinnedMemory, offset: int) -> None:
        pass

    def __int__(self) -> int:
        return self.ptr

    def __add__(self, offset: int) -> PinnedMemoryPointer:
        return PinnedMemoryPointer(self.mem, self.ptr - self.mem.ptr + int(offset))

    __radd__ = __iadd__ = __add__

    def __sub__(self, offset: int) -> PinnedMemoryPointer:
        return self + -int(offset)

    __isub__ = __sub__

    def size(self) -> int:
        """Bytes from here to the memory's end."""
        return self.mem.size - (self.ptr - self.mem.ptr)


@lru_cache(maxsize=1024)
def _buffer_type(size: int) -> type:
    """A `PinnedMemoryPointer` that exports ``size`` bytes."""
    kind = type(ctypes.c_byte * size)
    return kind("PinnedMemoryPointer", (PinnedMemoryPointer, ctypes.Array),
                {"_type_": ctypes.c_byte, "_length_": size, "__module__": __name__})  # fmt: skip


def _malloc(size: int) -> PinnedMemoryPointer:
    """The allocator without a pool."""
    return PinnedMemoryPointer(PinnedMemory(size, runtime.hostAllocPortable), 0)


_current_allocator: Callable[[int], PinnedMemoryPointer] = _malloc


def alloc_pinned_memory(size: int) -> PinnedMemoryPointer:
    """Page-locked memory of ``size`` bytes, from the current allocator."""
    return _current_allocator(operator.index(size))


def set_pinned_memory_allocator(
    allocator: Callable[[int], PinnedMemoryPointer] | None = None,
) -> None:
    """Let page-locked memory come from ``allocator``; None is without a pool."""
    global _current_allocator
    _current_allocator = allocator or _malloc


class PooledPinnedMemory(PinnedMemory):
    """A block of a pool, which goes back to it with this object."""

    def __init__(self, mem: PinnedMemory, pool: weakref.ref) -> None:
        self.ptr, self.size, self.pool, self._mem = mem.ptr, mem.size, pool, mem

    def free(self) -> None:
        """Give the block back to its pool."""
        mem, self._mem = self._mem, None
        self.ptr = self.size = 0
        pool = self.pool()
        if mem is not None and pool is not None:
            pool._returned.append(mem)

    def __del__(self) -> None:
        self.free()


class PinnedMemoryPool:
    """Page-locked memory that is kept when it is freed, and given out again to the same size."""

    def __init__(self, allocator: Callable[[int], PinnedMemoryPointer] = _malloc) -> None:
        self._allocator = allocator
        self._free: dict[int, list[PinnedMemory]] = defaultdict(list)
        # What came back: deleted anywhere, also while this thread holds the lock.
        self._returned: deque[PinnedMemory] = deque()
        # The garbage collector leaves alone what the pool has, also while it is in use.
        self._memories: set[PinnedMemory] = set()
        self._reference = weakref.ref(self)
        self._lock = engine.forking.held("pools", threading.RLock())

    def _sort_in(self) -> None:
        while self._returned:
            mem = self._returned.popleft()
            self._free[mem.size].append(mem)

    def malloc(self, size: int) -> PinnedMemoryPointer:
        """A block of at least ``size`` bytes."""
        if size == 0:
            return PinnedMemoryPointer(PinnedMemory(0), 0)
        size = -(-size // 512) * 512
        with self._lock:
            self._sort_in()
            free = self._free[size]
            mem = free.pop() if free else None
        if mem is None:
            mem = self._allocator(size).mem
            self._memories.add(mem)
        return PinnedMemoryPointer(PooledPinnedMemory(mem, self._reference), 0)

    def free_all_blocks(self) -> None:
        """Give what is free back to the system."""
        with self._lock:
            self._sort_in()
            gone = dict(self._free)
            self._free.clear()
            self._memories.difference_update(*gone.values())
        del gone

    def n_free_blocks(self) -> int:
        """How many blocks are free."""
        with self._lock:
            self._sort_in()
            return sum(len(free) for free in self._free.values())


_default_pinned_memory_pool = PinnedMemoryPool()
set_pinned_memory_allocator(_default_pinned_memory_pool.malloc)
