"""A launch's arguments, copied into the simulator's memory and back."""

from __future__ import annotations

import sys

import numpy as np
from numpy.lib.array_utils import byte_bounds

_SCALARS = {bool: np.bool_, int: np.int64, float: np.float64, complex: np.complex128}


def _host_array(value: object) -> tuple[np.ndarray, int] | None:
    """An array argument's values with its layout kept, and where it lies; None for a scalar."""
    if isinstance(value, np.ndarray) and value.ndim:
        return value, _as_on_device(value)
    wrapped = getattr(value, "array", None)  # PyCUDA's In, Out and InOut
    if type(value).__name__ in ("In", "Out", "InOut") and isinstance(wrapped, np.ndarray):
        return wrapped, _as_on_device(wrapped)
    if type(value).__name__.endswith("DeviceAllocation"):
        return _bytes_of(value)
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is None or not hasattr(value, "get"):
        return None
    values = np.asarray(value.get())
    strides = interface.get("strides")
    if strides is None or tuple(strides) == values.strides:
        return np.ascontiguousarray(values), interface["data"][0]
    return _laid_out(values, tuple(strides)), interface["data"][0]


def as_host(value: object) -> np.ndarray:
    """The values of a device array, a host array or a scalar."""
    found = _host_array(value)
    return np.asarray(value) if found is None else found[0]


def _bytes_of(allocation: object) -> tuple[np.ndarray, int]:
    """Memory from PyCUDA's `mem_alloc`: it has a size but no type."""
    driver = sys.modules["pycuda.driver"]
    address = int(allocation)
    base, size = driver.mem_get_address_range(address)
    values = np.empty(size, np.uint8)
    driver.memcpy_dtoh(values, base)
    return values[address - int(base) :], address


def _as_on_device(array: np.ndarray) -> int:
    """Where a host array would lie if the memory it is a view of began at a round address.

    Round addresses 512 times as far from each other: neighbours on the host stay apart.
    """
    whole = array
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    begin = byte_bounds(whole)[0]
    return 512 * begin + array.__array_interface__["data"][0] - begin


def _laid_out(values: np.ndarray, strides: tuple[int, ...]) -> np.ndarray:
    """The same values in memory of their own, with these strides."""
    low = sum(min(0, (n - 1) * s) for n, s in zip(values.shape, strides))
    high = sum(max(0, (n - 1) * s) for n, s in zip(values.shape, strides)) + values.itemsize
    if not values.size:
        return values
    memory = np.zeros(high - low, np.uint8)
    result = np.ndarray(values.shape, values.dtype, memory, -low, strides)
    result[...] = values
    return result


class Arguments:
    """Copies of a launch's arguments in the simulator's memory.

    Arrays that overlap (two views of one array, say) overlap there as well.

    Parameters
    ----------
    engine : module
    values : sequence
        As they are given to the kernel: device arrays, NumPy scalars, Python numbers.
    names : list of str
        One for each: what reports call the arrays.
    unwritten : sequence of str
        Names of arrays whose content nobody has written: reading it is a fault.
    """

    def __init__(self, engine, values: list, names: list[str], unwritten: tuple[str, ...]) -> None:
        self._engine = engine
        self._views: dict[str, tuple[np.ndarray, int]] = {}  # values as given, place in memory
        self._blocks: list[tuple[int, int, list[str]]] = []  # low, high, who lies in it
        self._unwritten = set(unwritten)
        unknown = self._unwritten - set(names)
        if unknown:
            raise ValueError(
                f"unwritten={sorted(unknown)}: the kernel's parameters are {', '.join(names)}"
            )
        self._items: list[str | bytes] = []
        for name, value in zip(names, values):
            found = _host_array(value)
            if found is None:
                self._items.append(_scalar(name, value))
            else:
                self._views[name] = found
                if type(value).__name__ == "Out":  # PyCUDA copies it back, and nothing in
                    self._unwritten.add(name)
                self._items.append(name)
        spans = []
        for name, (array, address) in self._views.items():
            low, high = byte_bounds(array)
            before = array.__array_interface__["data"][0] - low
            spans.append((address - before, address - before + high - low, name))
        for low, high, name in sorted(spans):
            last = self._blocks[-1] if self._blocks else None
            if last is not None and low < last[1]:
                self._blocks[-1] = (last[0], max(high, last[1]), [*last[2], name])
            else:
                self._blocks.append((low, high, [name]))
        self._allocations: list = []
        self._addresses: dict[str, int] = {}

    def copy_in(self) -> list[bytes]:
        """Fresh copies of all; the launch's arguments as bytes."""
        self.free()
        for low, high, members in self._blocks:
            first = self._views[members[0]][0]
            # Sectors begin at multiples of 32 bytes: where the array began, its copy begins too.
            lead = low % 32
            block = self._engine.allocate(lead + high - low, members[0], itemsize=first.itemsize)
            self._allocations.append(block)
            for name in members:
                array, address = self._views[name]
                at = block.address + lead + address - low
                self._addresses[name] = at
                if name not in self._unwritten and array.size:
                    self._write(array, at)
        return [
            np.uint64(self._addresses[item]).tobytes() if isinstance(item, str) else item
            for item in self._items
        ]

    def _write(self, array: np.ndarray, at: int) -> None:
        low, high = byte_bounds(array)
        start = at - (array.__array_interface__["data"][0] - low)
        if array.flags.c_contiguous:
            self._engine.copy_to_device(start, array)
            return
        memory = self._engine.view(start, high - low, np.uint8)
        self._engine.mark_written(start, high - low)
        np.ndarray(array.shape, array.dtype, memory, at - start, array.strides)[...] = array

    def results(self) -> dict[str, np.ndarray]:
        """What the arrays hold now, by name, in the shapes in which they were given."""
        found = {}
        for name, (array, _) in self._views.items():
            low, high = byte_bounds(array)
            at = self._addresses[name]
            start = at - (array.__array_interface__["data"][0] - low)
            if not array.size:
                found[name] = array.copy()
                continue
            memory = self._engine.view(start, high - low, np.uint8)
            inside = np.ndarray(array.shape, array.dtype, memory, at - start, array.strides)
            found[name] = inside.copy()
        return found

    def free(self) -> None:
        """Give the memory back."""
        for allocation in self._allocations:
            self._engine.free(allocation.address)
        self._allocations, self._addresses = [], {}


def _scalar(name: str, value: object) -> bytes:
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tobytes()
    for kind, dtype in _SCALARS.items():
        if type(value) is kind:
            return dtype(value).tobytes()
    if hasattr(value, "tobytes"):
        return value.tobytes()
    raise TypeError(
        f"argument {name!r} is a {type(value).__name__}: inspect copies device arrays, NumPy "
        "scalars and Python numbers"
    )
