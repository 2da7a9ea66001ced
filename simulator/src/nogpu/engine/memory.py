"""The simulated device's memory, seen from Python: addresses are plain integers."""

from __future__ import annotations

import ctypes
import sys
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from ctypes import byref, c_uint64
from dataclasses import dataclass, field

import numpy as np

from . import forking, native
from .errors import InvalidAddress, OutOfMemory, RuntimeUnavailable
from .plain import Plain

_HISTORY = 4096  # freed allocations that a report can still name
_lock = forking.held("memory", threading.RLock())
_live: dict[int, Allocation] = {}
_freed: OrderedDict[int, Allocation] = OrderedDict()
# Modules answer here for the addresses of their __device__ and __constant__ variables.
_variable_finders: list[weakref.WeakMethod] = []


_runtime_found: object = None


def _runtime():
    """The runtime, or what stands in for it where no compiler can build it."""
    global _runtime_found
    if _runtime_found is None:
        with _lock:
            if _runtime_found is None:
                try:
                    _runtime_found = native.runtime()
                except RuntimeUnavailable:
                    _runtime_found = Plain()
    return _runtime_found


@dataclass(eq=False)
class Allocation:
    """A piece of device memory.

    Attributes
    ----------
    address : int
        Of its first byte.
    nbytes : int
        Its size.
    name : str or None
        What reports call it.
    itemsize : int or None
        Bytes of an element, where the owner knows: reports count in elements.
    owner : object
        Whatever the caller wants to find again by address.
    device : int
        Whose memory it is.
    """

    address: int
    nbytes: int
    name: str | None = None
    itemsize: int | None = None
    owner: object = field(default=None, repr=False)
    is_variable: bool = False
    device: int = 0

    def __int__(self) -> int:
        return self.address

    def free(self) -> None:
        """Give it back: see :func:`free`."""
        free(self.address)


def allocate(
    nbytes: int, name: str | None = None, *, itemsize: int | None = None, owner: object = None,
    unwritten: bool = True, device: int = 0,
) -> Allocation:
    """Allocate device memory, aligned to 512 bytes.

    Parameters
    ----------
    nbytes : int
        Size in bytes; 0 is allowed and gets an address of its own.
    name : str, optional
        What reports call it.
    itemsize : int, optional
        Bytes of an element, for reports.
    owner : object, optional
        Kept with the allocation; :func:`lookup` gives it back.
    unwritten : bool
        Fill it with the pattern of memory never written, so that a kernel that reads it before
        anyone wrote it is caught. With False the caller promises to write it whole at once, and
        saves the time.
    device : int
        Whose memory it shall be.

    Raises
    ------
    OutOfMemory
        If the device is full.
    ValueError
        If ``nbytes`` is negative.
    """
    nbytes = int(nbytes)
    if nbytes < 0:
        raise ValueError(f"cannot allocate {nbytes} bytes")
    runtime = _runtime()
    address = runtime.cs_allocate(nbytes, int(unwritten), device) if nbytes < 2**62 else 0
    if not address:
        raise OutOfMemory(nbytes, *usage(device))
    allocation = Allocation(address, nbytes, name, itemsize, owner, False, device)
    with _lock:
        _live[address] = allocation
        _freed.pop(address, None)
    return allocation


def free(address: int, traces: bool = True) -> None:
    """Free the allocation that begins at ``address``.

    The address comes back late, so a kernel that still uses it is caught, unless without `traces`.

    Raises
    ------
    InvalidAddress
        If no live allocation begins there: freed twice, or never allocated.
    """
    address = int(address)
    with _lock:
        _end(address)
    _runtime().cs_free(address, int(traces))


def _end(address: int) -> None:
    """Move an allocation to those that were freed."""
    allocation = _live.pop(address, None)
    if allocation is None:
        before = _freed.get(address)
        if before is not None:
            raise InvalidAddress(f"{_describe(before)} is freed a second time")
        raise InvalidAddress(f"nothing was allocated at address {address:#x}")
    allocation.owner = None
    _freed[address] = allocation
    while len(_freed) > _HISTORY:
        _freed.popitem(last=False)


def reserve(extent: int, nbytes: int, device: int = 0) -> int:
    """Set addresses aside for a pool, which begins and ends allocations in them itself.

    Parameters
    ----------
    extent : int
        Bytes of addresses. Only what is placed and touched takes memory.
    nbytes : int
        What it counts as in :func:`usage`.
    device : int
        Whose memory it shall be.

    Returns
    -------
    int
        The first address, aligned to 512 bytes.

    Raises
    ------
    OutOfMemory
        If the device is full.
    """
    address = _runtime().cs_reserve(extent, nbytes, device) if extent < 2**62 else 0
    if not address:
        raise OutOfMemory(nbytes, *usage(device))
    return address


def unreserve(address: int) -> None:
    """Give a pool's addresses back; nothing may be placed in them any more."""
    if _runtime().cs_unreserve(address):
        raise InvalidAddress(f"no pool's addresses begin at {address:#x}")


def place(
    address: int, nbytes: int, extent: int = 0, *, itemsize: int | None = None,
    unwritten: bool = True, device: int = 0,
) -> Allocation:  # fmt: skip
    """Begin an allocation of exactly ``nbytes`` (not 0) at an address of a pool's.

    The pool sees to it that allocations do not overlap. Of the ``extent`` bytes of addresses
    that this one may have to itself, none is freed memory any more. Otherwise as :func:`allocate`.
    """
    _runtime().cs_place(address, nbytes, max(extent, nbytes), unwritten)
    allocation = Allocation(address, nbytes, None, itemsize, None, False, device)
    _live[address] = allocation
    _freed.pop(address, None)
    return allocation


def succeed(
    address: int, nbytes: int, extent: int, itemsize: int | None = None, unwritten: bool = True
) -> tuple[Allocation, Callable[[], None]]:
    """Place an allocation where one still is that queued work uses; ``extent`` as in `place`.

    Both are valid until the function that comes back is called: queue it where the first one's
    work is done.
    """
    # A stream's worker settles while the next block may already succeed this one: the lock keeps
    # the moment between displacing and placing to itself.
    with _lock:
        if _runtime().cs_extend(address, nbytes, extent):
            raise InvalidAddress(f"nothing was placed at address {address:#x}")
        before = _live.get(address)
        longest, device = (max(nbytes, before.nbytes), before.device) if before else (nbytes, 0)
        allocation = Allocation(address, longest, None, itemsize, None, False, device)
        _live[address] = allocation

    def settle() -> None:
        with _lock:
            if _live.get(address) is allocation:
                allocation.nbytes = nbytes
                _runtime().cs_displace(address)
                _runtime().cs_place(address, nbytes, extent, unwritten)

    return allocation, settle


def displace(address: int) -> None:
    """End an allocation that was placed: a kernel that still uses it is caught.

    Its bytes stay as they are until something else is placed there.
    """
    with _lock:
        _end(address)
        _runtime().cs_displace(address)


def usage(device: int = 0) -> tuple[int, int]:
    """Bytes of a device's memory in use, and in all."""
    used, capacity = c_uint64(), c_uint64()
    _runtime().cs_memory(device, byref(used), byref(capacity))
    return used.value, capacity.value


def lookup(address: int) -> Allocation | None:
    """The live allocation, or the module's variable, that holds ``address``; None if none does."""
    state, base, _ = _native_lookup(int(address))
    if state == 1:
        return _live.get(base)
    return _find_variable(int(address))


def find(address: int) -> Allocation | None:
    """`lookup`, quick where an allocation begins."""
    return _live.get(address) or lookup(address)


def rename(address: int, name: str) -> None:
    """Let reports call the allocation that begins at ``address`` by another name."""
    allocation = _live.get(address)
    if allocation is not None:
        allocation.name = name


def snapshot(address: int) -> Allocation | None:
    """What a report needs of the live allocation that holds ``address``, as it is now."""
    found = _live.get(address)
    if found is None:
        state, base, _ = _native_lookup(address)
        found = _live.get(base) if state == 1 else None
    if found is None:
        return None
    return Allocation(found.address, found.nbytes, found.name, found.itemsize, None, False,
                      found.device)  # fmt: skip


def _native_lookup(address: int) -> tuple[int, int, int]:
    base, size = c_uint64(), c_uint64()
    if not 0 <= address < 2**64:
        return 0, 0, 0
    state = _runtime().cs_lookup(address, byref(base), byref(size))
    return state, base.value, size.value


def nearest(address: int) -> tuple[str, Allocation | None]:
    """For reports: ``("live" | "freed" | "outside", allocation)``.

    Outside every allocation, the one nearest is given.
    """
    state, base, size = _native_lookup(int(address))
    if state == 1:
        return "live", _live.get(base)
    if state == 2:
        return "freed", _freed.get(base, Allocation(base, size))
    variable = _find_variable(int(address))
    if variable is not None:
        return "live", variable
    return "outside", _live.get(base)


def _find_variable(address: int) -> Allocation | None:
    finders = filter(None, [reference() for reference in list(_variable_finders)])
    found = (finder(address) for finder in finders)
    return next((one for one in found if one is not None), None)


def register_variables(finder: Callable[[int], Allocation | None]) -> None:
    """Make a module's variables known to copies and reports by address.

    ``finder`` is a bound method, and is forgotten with the object that it belongs to.
    """
    with _lock:
        _variable_finders[:] = [r for r in _variable_finders if r() is not None]
        _variable_finders.append(weakref.WeakMethod(finder))


def _describe(allocation: Allocation) -> str:
    if allocation.name:
        return f"array '{allocation.name}'"
    return f"the array of {allocation.nbytes:,} bytes at {allocation.address:#x}"


class PageLocked:
    """Page-locked host memory, freed with this object.

    Attributes
    ----------
    address : int
        A multiple of 512.
    """

    def __init__(self, nbytes: int) -> None:
        global _locked_low, _locked_high, _locked_shift
        shift, runtime = ctypes.c_int64(), _runtime()
        self._plain, self.address = None, 0
        if not isinstance(runtime, Plain):
            self.address = runtime.cs_pinned_allocate(max(nbytes, 1), byref(shift))
        if self.address:
            for function in _told:
                function()
            with _lock:
                _locked_low = min(_locked_low, self.address)
                _locked_high = max(_locked_high, self.address + nbytes)
                _locked_shift = shift.value
        else:
            self._plain = np.empty(nbytes + 512, np.uint8)
            self.address = -(-self._plain.ctypes.data // 512) * 512

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if self._plain is None and not is_finalizing():
            _runtime().cs_pinned_free(self.address)


_told: list[Callable[[], None]] = []  # called when there is any
_locked_low, _locked_high, _locked_shift = 2**64, 0, 0  # of all page-locked memory


def is_page_locked(address: int) -> bool:
    """Whether it lies in a `PageLocked`, or has."""
    return _locked_low <= address < _locked_high


def _engines(address: int) -> int:
    """Where the engine itself reads and writes what a program has at this address."""
    return address + _locked_shift if _locked_low <= address < _locked_high else address


def _check_range(address: int, nbytes: int, what: str) -> Allocation:
    if nbytes < 0:
        raise ValueError(f"{what}: {nbytes} bytes")
    allocation = lookup(address)
    if allocation is None:
        state, near = nearest(address)
        if state == "freed" and near is not None:
            raise InvalidAddress(f"{what}: {_describe(near)} was freed")
        raise InvalidAddress(f"{what}: {address:#x} is not an address of device memory")
    left = allocation.address + max(allocation.nbytes, 0) - address
    if nbytes > left:
        raise InvalidAddress(
            f"{what}: {nbytes:,} bytes from offset {address - allocation.address:,}, but "
            f"{_describe(allocation)} has {allocation.nbytes:,} bytes"
        )
    return allocation


def view(address: int, nbytes: int, dtype: np.typing.DTypeLike = np.uint8) -> np.ndarray:
    """A NumPy array over device memory itself: no copy, and valid until it is freed.

    Parameters
    ----------
    address, nbytes : int
        A range within one allocation.
    dtype : dtype
        ``nbytes`` must be a multiple of its size.

    Returns
    -------
    ndarray, shape (nbytes // itemsize,)

    Notes
    -----
    What is written through the view counts as written. Only a value that equals the pattern of
    unwritten memory is in doubt: see :func:`mark_written`.
    """
    address, nbytes = int(address), int(nbytes)
    dtype = np.dtype(dtype)
    if nbytes % dtype.itemsize:
        raise ValueError(f"{nbytes} bytes are no multiple of {dtype} ({dtype.itemsize} bytes)")
    if nbytes == 0:
        return np.empty(0, dtype)
    _check_range(address, nbytes, "view")
    buffer = (ctypes.c_uint8 * nbytes).from_address(address)
    return np.frombuffer(buffer, dtype=dtype)


def mark_written(address: int, nbytes: int) -> None:
    """Tell the checks that the host wrote the whole of an allocation through a view.

    Unwritten memory is recognised by its content. Random integers hit that content once in 2**32
    words; a caller that has just filled an allocation removes even that doubt.
    """
    _runtime().cs_mark_written(int(address), int(nbytes))


def copy_to_device(destination: int, source: object) -> None:
    """Copy from a host buffer (C-contiguous) to device memory."""
    data = np.ascontiguousarray(source).reshape(-1).view(np.uint8)
    raw_copy(destination, data.ctypes.data, data.nbytes, "HtoD")


def raw_copy(destination: int, source: int, nbytes: int, kind: str) -> None:
    """Copy bytes between host and device addresses; device ranges are checked.

    ``kind`` is ``"HtoD"``, ``"DtoH"`` or ``"DtoD"``.
    """
    if nbytes == 0:
        return
    if kind[0] == "D":
        _check_range(int(source), nbytes, f"copy {kind} (source)")
    if kind[-1] == "D":
        _check_range(int(destination), nbytes, f"copy {kind} (destination)")
    ctypes.memmove(_engines(int(destination)), _engines(int(source)), nbytes)
    if kind[-1] == "D":
        mark_written(destination, nbytes)


def fill(address: int, value: int, count: int, width: int = 1) -> None:
    """Set ``count`` elements of ``width`` bytes (1, 2 or 4) to ``value``, as cuMemsetD8/16/32."""
    if width not in (1, 2, 4):
        raise ValueError(f"elements of {width} bytes: 1, 2 or 4 are possible")
    if count == 0:
        return
    dtype = np.dtype(f"u{width}")
    whole = view(address, int(count) * width, dtype)
    whole[:] = np.array(int(value) & (2 ** (8 * width) - 1), dtype)
    mark_written(address, whole.nbytes)
