"""Memory pools: blocks that were freed are kept and given again."""

from __future__ import annotations

import numpy as np

from nogpu.faces import table

from . import _memory
from ._contexts import ArgumentError, failed

__all__ = """
    DeviceMemoryPool PageLockedMemoryPool PooledDeviceAllocation PooledHostAllocation bitlog2
""".split()  # `_driver` takes them over

_BITS = 4  # of the mantissa that a size class keeps


def bitlog2(number: int) -> int:
    """The position of the highest bit that is set."""
    return max(0, int(number).bit_length() - 1)


def _shift(value: int, by: int) -> int:
    return value << by if by >= 0 else value >> -by


class _Pool:
    """Blocks by size class."""

    def __init__(self) -> None:
        self._free: dict[int, list] = {}
        # Blocks in use, by id: the garbage collector would delete what only their holders have
        # together with these, and the block that comes back would be no memory any more.
        self._used: dict[int, object] = {}
        self._active_bytes = self._managed_bytes = 0
        self._holding = True

    @property
    def held_blocks(self) -> int:
        """Blocks kept and not in use."""
        return sum(map(len, self._free.values()))

    @property
    def active_blocks(self) -> int:
        """Blocks in use."""
        return len(self._used)

    def bin_number(self, size: int) -> int:
        """The size class of so many bytes."""
        exponent = bitlog2(size)
        return exponent << _BITS | _shift(size, _BITS - exponent) & (1 << _BITS) - 1

    def alloc_size(self, bin: int) -> int:  # noqa: A002
        """The bytes of a block of a size class."""
        exponent, mantissa = bin >> _BITS, bin & (1 << _BITS) - 1
        ones = max(0, _shift(1, exponent - _BITS) - 1)
        return _shift(1 << _BITS | mantissa, exponent - _BITS) | ones

    def free_held(self) -> None:
        """Give back what is not in use."""
        for number, blocks in self._free.items():
            self._managed_bytes -= len(blocks) * self.alloc_size(number)
        self._free.clear()

    def stop_holding(self) -> None:
        """Give back what is not in use, now and later."""
        self._holding = False
        self.free_held()

    def _take(self, size: int) -> tuple[int, object]:
        number = self.bin_number(size)
        blocks = self._free.get(number)
        nbytes = self.alloc_size(number)
        if blocks:
            block = blocks.pop()
        else:
            block = self._new(nbytes)
            self._managed_bytes += nbytes
        self._used[id(block)] = block
        self._active_bytes += size
        return number, block

    def _give(self, number: int, block: object, size: int) -> None:
        del self._used[id(block)]
        self._active_bytes -= size
        if self._holding:
            self._free.setdefault(number, []).append(block)
        else:
            self._managed_bytes -= self.alloc_size(number)


table.properties(_Pool, """
managed_bytes = _managed_bytes: Bytes kept or in use.
active_bytes = _active_bytes: Bytes in use.
""")


class _Pooled:
    """A block in use; it goes back with this object."""

    def __init__(self, pool: _Pool, size: int) -> None:
        self._pool = None
        self._number, self._block = pool._take(size)
        self._pool, self._asked = pool, size

    def free(self) -> None:
        """Give it back to the pool."""
        if self._pool is None:
            raise failed(f"{self._what}::free", "CUDA_ERROR_INVALID_HANDLE")
        pool, self._pool = self._pool, None
        pool._give(self._number, self._block, self._asked)
        self._block = None

    def __del__(self) -> None:
        if self._pool is not None:
            self.free()

    def __len__(self) -> int:
        return self._asked


class PooledDeviceAllocation(_memory.Place, _Pooled):
    """A block of a `DeviceMemoryPool`."""

    _what = "pooled_device_allocation"

    def __init__(self, pool: DeviceMemoryPool, size: int) -> None:
        super().__init__(pool, size)
        self._address = int(self._block)

    def __hash__(self) -> int:
        return hash(self._address)


class DeviceMemoryPool(_Pool):
    """A pool of device memory; ``allocate`` is an allocator for GPUArrays."""

    _new = staticmethod(_memory.mem_alloc)

    def allocate(self, size: int) -> PooledDeviceAllocation:
        """A block of at least so many bytes."""
        if isinstance(size, bool) or not isinstance(size, (int, np.integer)):
            raise ArgumentError("DeviceMemoryPool.allocate: a size is a whole number")
        return PooledDeviceAllocation(self, int(size))


class PooledHostAllocation(_Pooled):
    """A block of a `PageLockedMemoryPool`; an array's ``base``."""

    _what = "pooled_host_allocation"


class PageLockedMemoryPool(_Pool):
    """A pool of page-locked memory; ``allocate`` gives NumPy arrays."""

    def _new(self, nbytes: int) -> object:
        return _memory.pagelocked_empty(nbytes, np.uint8)

    def allocate(self, shape: object, dtype: object, order: str = "C") -> np.ndarray:
        """An array in page-locked memory."""
        nbytes, interface = _memory.host_array(shape, dtype, order)
        block = PooledHostAllocation(self, nbytes)
        block.__array_interface__ = interface(block._block.ctypes.data)
        return np.asarray(block)
