"""A launch's arguments, copied into the simulator's memory and back."""

from __future__ import annotations

import sys
from collections.abc import Sequence

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
        self._engine, self._values, self._names = engine, values, names
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

    def misfits(self, sizes: Sequence[int], packed: bool) -> list[str]:
        """What the bytes of the arguments and those of the kernel's parameters differ in."""
        found = []
        if len(self._items) != len(sizes):
            found.append(f"{len(self._items)} arguments are passed, the kernel takes {len(sizes)}")
        for name, value, item, size in zip(self._names, self._values, self._items, sizes):
            given = 8 if isinstance(item, str) else len(item)
            if isinstance(value, int) and -(2 ** (8 * size - 1)) <= value < 2 ** (8 * size):
                continue  # its first bytes are the number itself
            if given != size:
                what = f"{name}: {given} bytes are passed ({type(value).__name__}), {size} declared"
                so = (f"the kernel reads the first {size}" if given > size
                      else "the kernel reads on in what lies behind")  # fmt: skip
                found.append(f"{what}: {so}{', and all that follow are shifted' * packed}")
        return found

    def copy_in(self, kernel: object, packed: bool) -> list[bytes] | bytes:
        """Fresh copies of all; the arguments as a launch takes them, PyCUDA's in one buffer."""
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
                    if array.flags.c_contiguous:
                        self._engine.copy_to_device(at, array)
                    else:
                        self._inside(name, write=True)[...] = array
        items = [
            np.uint64(self._addresses[item]).tobytes() if isinstance(item, str) else item
            for item in self._items
        ]
        if not packed:
            return items[: len(kernel.parameter_sizes)]
        buffer = b""
        for value, item in zip(self._values, items):
            step = value.dtype.alignment if isinstance(value, np.generic) else 8
            buffer = buffer.ljust(-(-len(buffer) // step) * step, b"\0") + item
        return buffer.ljust(kernel.parameter_bytes, b"\xcd")  # not passed: whatever lies there

    def _inside(self, name: str, write: bool = False) -> np.ndarray:
        """An array's copy as a view of the simulator's memory."""
        array = self._views[name][0]
        low, high = byte_bounds(array)
        lead = array.__array_interface__["data"][0] - low
        start = self._addresses[name] - lead
        memory = self._engine.view(start, high - low, np.uint8)
        if write:
            self._engine.mark_written(start, high - low)
        return np.ndarray(array.shape, array.dtype, memory, lead, array.strides)

    def results(self) -> dict[str, np.ndarray]:
        """What the arrays hold now, by name, in the shapes in which they were given."""
        return {
            name: self._inside(name).copy() if array.size else array.copy()
            for name, (array, _) in self._views.items()
        }

    def free(self) -> None:
        """Give the memory back, without traces: nobody else has its addresses."""
        for allocation in self._allocations:
            self._engine.free(allocation.address, traces=False)
        self._allocations, self._addresses = [], {}


def _scalar(name: str, value: object) -> bytes:
    if type(value) in _SCALARS:
        value = _SCALARS[type(value)](value)
    if hasattr(value, "tobytes"):
        return value.tobytes()
    raise TypeError(
        f"argument {name!r} is a {type(value).__name__}: inspect copies device arrays, NumPy "
        "scalars and Python numbers"
    )
