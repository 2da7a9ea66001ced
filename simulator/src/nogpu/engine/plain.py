"""Device memory without a compiled runtime: where no C++ compiler is found, arrays still work.

The same functions as the runtime's, over one anonymous mapping. Nothing runs on it but host code,
so there is nothing to check here.
"""

from __future__ import annotations

import ctypes
import mmap
import threading
from bisect import bisect_left, bisect_right, insort
from collections import OrderedDict

from . import devices, forking, limits

_GRANULE = 512
_GAP = 512
_FREED = 1000  # allocations that a lookup still names
_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)
_UNWRITTEN = (0xFFF5C0DE).to_bytes(4, "little")


class Plain:
    """Stands in for the runtime library where only memory is asked for."""

    def __init__(self) -> None:
        capacity = limits.device_memory()
        extent = min(4 * capacity, limits.address_space() // 2)
        while True:
            try:
                self._map = mmap.mmap(
                    -1, extent, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE
                )
                break
            except OSError:
                extent //= 2
                if extent < 2**26:
                    raise
        self.capacity = min(capacity, extent // 4)
        self._keep = ctypes.c_char.from_buffer(self._map)
        self._low = ctypes.addressof(self._keep)
        self._start = -(-self._low // _GRANULE) * _GRANULE
        self._high = self._low + extent
        self._cursor, self._used = self._start, [0] * devices.count
        self._taken: dict[int, int] = {}  # begins of allocations and segments -> ends
        self._begins: list[int] = []
        self._counted: dict[int, tuple[int, int]] = {}  # device and size
        self._live: dict[int, int] = {}  # what lookups find: address -> size
        self._addresses: list[int] = []
        self._freed: OrderedDict[int, int] = OrderedDict()
        self._lock = forking.held("memory without a runtime", threading.RLock())

    def _gap(self, cursor: int, need: int) -> int:
        at = cursor
        index = bisect_right(self._begins, at)
        if index:
            at = max(at, self._taken[self._begins[index - 1]] + _GAP)
        while True:
            at = -(-at // _GRANULE) * _GRANULE
            if at + need + _GAP > self._high:
                return 0
            if index == len(self._begins) or self._begins[index] >= at + need + _GAP:
                return at
            at = self._taken[self._begins[index]] + _GAP
            index += 1

    def cs_reserve(self, extent: int, size: int, device: int) -> int:
        with self._lock:
            if self._used[device] + size > self.capacity:
                return 0
            at = self._gap(self._cursor, extent) or self._gap(self._start, extent)
            if at:
                self._cursor = at + extent
                self._taken[at] = at + extent
                insort(self._begins, at)
                self._counted[at] = device, size
                self._used[device] += size
            return at

    def cs_unreserve(self, address: int) -> int:
        with self._lock:
            if address not in self._taken:
                return -1
            end = self._taken.pop(address)
            del self._begins[bisect_left(self._begins, address)]
            device, size = self._counted.pop(address)
            self._used[device] -= size
            page = mmap.PAGESIZE
            first = -(-(address - self._low) // page) * page
            last = (end - self._low) // page * page
            if last > first and hasattr(mmap, "MADV_DONTNEED"):
                self._map.madvise(mmap.MADV_DONTNEED, first, last - first)
            return 0

    def cs_place(self, address: int, size: int, extent: int, fill: int) -> None:
        with self._lock:
            self._freed.pop(address, None)
            self._live[address] = size
            insort(self._addresses, address)
        if fill:
            pattern = _UNWRITTEN * min(-(-size // 4), 16384)
            for start in range(0, size, len(pattern)):
                ctypes.memmove(address + start, pattern, min(len(pattern), size - start))

    def cs_extend(self, address: int, size: int, extent: int) -> int:
        with self._lock:
            if address not in self._live:
                return -1
            self._live[address] = max(size, self._live[address])
            return 0

    def cs_displace(self, address: int) -> int:
        with self._lock:
            size = self._live.pop(address, None)
            if size is None:
                return -1
            del self._addresses[bisect_left(self._addresses, address)]
            self._freed[address] = size
            if len(self._freed) > _FREED:
                self._freed.popitem(last=False)
            return 0

    def cs_allocate(self, size: int, fill: int, device: int) -> int:
        at = self.cs_reserve(max(size, 1), max(size, 1), device)
        if at:
            self.cs_place(at, max(size, 1), max(size, 1), fill)
        return at

    def cs_free(self, address: int, traces: int) -> int:
        if self.cs_displace(address):
            return -1
        if not traces:
            del self._freed[address]
        return self.cs_unreserve(address)

    def cs_lookup(self, address: int, base, size) -> int:
        state, found = self._look(address)
        base._obj.value = found
        sizes = self._freed if state == 2 else self._live
        size._obj.value = sizes.get(found, 0)
        return state

    def _look(self, address: int) -> tuple[int, int]:
        with self._lock:
            index = bisect_right(self._addresses, address)
            below = self._addresses[index - 1] if index else 0
            if below and address - below < self._live[below]:
                return 1, below
            for start, size in self._freed.items():
                if 0 <= address - start < size:
                    return 2, start
            if not self._low <= address < self._high:
                return 0, 0
            if index < len(self._addresses):
                above = self._addresses[index]
                if not below or above - address < address - below - self._live[below]:
                    return 0, above
            return 0, below

    def cs_mark_written(self, address: int, nbytes: int) -> None:
        pass

    def cs_memory(self, device: int, used, capacity) -> None:
        used._obj.value, capacity._obj.value = self._used[device], self.capacity
