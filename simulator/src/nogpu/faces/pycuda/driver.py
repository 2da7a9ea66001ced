# ruff: noqa: F401, F403, F405 (this module has all names of the compiled one)
"""The driver's interface: devices, contexts, memory, streams, and the ways to call a kernel."""

from __future__ import annotations

import re
import struct
import warnings
from collections.abc import Callable, Sequence
from time import time

import numpy as np

from nogpu.faces import table

from ._driver import *
from ._driver import Error, Function, MemoryError, RuntimeError
from ._memory import ManagedAllocation, PointerHolderBase, mem_alloc, memcpy_dtoh, memcpy_htod
from ._pools import PooledDeviceAllocation
from ._streams import Event

ManagedAllocationOrStub = ManagedAllocation
CUDA_DEBUGGING = False


def set_debugging(flag: bool = True) -> None:
    """Accepted; the simulator checks kernels anyway."""
    global CUDA_DEBUGGING
    CUDA_DEBUGGING = flag


class CompileError(Error):
    """A source did not compile."""

    def __init__(
        self, msg: str, command_line: Sequence[str], stdout: str = "", stderr: str = ""
    ) -> None:
        super().__init__(msg, command_line, stdout, stderr)
        self.msg, self.command_line = msg, command_line
        self.stdout, self.stderr = stdout, stderr

    def __str__(self) -> str:
        parts = [self.msg]
        if self.command_line:
            parts.append(f"[command: {' '.join(self.command_line)}]")
        if self.stdout:
            parts.append(f"[stdout:\n{self.stdout}]")
        if self.stderr:
            parts.append(f"[stderr:\n{self.stderr}]")
        return "\n".join(parts)


# arguments


class ArgumentHandler:
    """An array of the host as an argument of a kernel."""

    def __init__(self, ary: np.ndarray) -> None:
        self.array, self.dev_alloc = ary, None

    def get_device_alloc(self) -> DeviceAllocation:
        """Device memory of the array's size, made at the first call."""
        if self.dev_alloc is None:
            try:
                self.dev_alloc = mem_alloc_like(self.array)
            except AttributeError:
                raise TypeError(
                    f"could not determine array length of '{type(self.array)}': "
                    "unsupported array type or not an array") from None
        return self.dev_alloc

    def pre_call(self, stream: object) -> None:
        """Before the launch."""


class In(ArgumentHandler):
    """Copied to the device before the launch; the copy waits, whatever the stream."""

    def pre_call(self, stream: object) -> None:
        memcpy_htod(self.get_device_alloc(), self.array)


class Out(ArgumentHandler):
    """Copied back after the launch, from the default stream, whatever the kernel's."""

    def post_call(self, stream: object) -> None:
        """After the launch."""
        memcpy_dtoh(self.array, self.get_device_alloc())


class InOut(In, Out):
    """Copied there before, and back after."""


def letter_of(dtype: np.dtype) -> str:
    """A type's letter for `_pack`; of a vector type its size and ``s``."""
    return f"{dtype.itemsize}s" if dtype.char == "V" else dtype.char


def _pack(letters: str, values: Sequence[object]) -> bytes:
    """Bytes at their places, as a C struct has them; ``F`` and ``D`` are complex numbers."""
    one_by_one = re.findall(r"\d*\D", letters)
    if len(values) != len(one_by_one):
        raise struct.error(f"pack requires exactly {len(one_by_one)} arguments")
    flat = []
    for letter, value in zip(one_by_one, values):
        if letter in "FD":
            number = complex(value)
            flat += [number.real, number.imag]
        elif letter[-1] == "s" and isinstance(value, (np.void, np.ndarray)):
            flat.append(value.tobytes())
        else:
            flat.append(value)
    return struct.pack(letters.replace("F", "ff").replace("D", "dd"), *flat)


def _arguments(args: Sequence[object]) -> tuple[list, bytes, list[int]]:
    """The handlers among the arguments, all arguments' bytes, and the pointers by position."""
    handlers, letters, values, pointers = [], "", [], []
    for position, value in enumerate(args):
        address = 0
        managed = isinstance(getattr(value, "base", None), ManagedAllocation)
        if isinstance(value, (np.number, np.void)):
            letter = letter_of(value.dtype)
        elif isinstance(value, np.ndarray) and not managed:
            letter = f"{value.nbytes}s"
        else:
            if managed:
                address = int(value.base)
            elif isinstance(value, (DeviceAllocation, PooledDeviceAllocation)):
                address = int(value)
            elif isinstance(value, ArgumentHandler):
                handlers.append(value)
                address = int(value.get_device_alloc())
            else:
                address = _foreign_pointer(position, value)
            letter, value = "P", address
        letters += letter
        values.append(value)
        pointers.append(address)
    return handlers, _pack(letters, values), pointers


def _foreign_pointer(position: int, value: object) -> int:
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface:
        return interface["data"][0]
    try:
        return int(np.uintp(value.gpudata))
    except AttributeError:
        raise TypeError(f"invalid type on parameter #{position} (0-based)") from None


# launches


def _check_block(function: Function, block: Sequence[int]) -> None:
    function._module._check_context("cuFuncSetBlockShape")
    bound = function._set_block_shape
    if not hasattr(block, "__iter__"):
        kind = type(block).__name__
        raise TypeError(f"{bound} argument after * must be an iterable, not {kind}")
    bound(*block)


def _function_call(function: Function, *args: object, **kwargs: object) -> float | None:
    """Launch. Nobody counts the arguments or compares their types with the kernel's."""
    grid, stream = kwargs.pop("grid", (1, 1)), kwargs.pop("stream", None)
    block, shared = kwargs.pop("block", None), kwargs.pop("shared", 0)
    kwargs.pop("texrefs", [])
    time_kernel = kwargs.pop("time_kernel", False)
    if kwargs:
        raise ValueError(f"extra keyword arguments: {','.join(kwargs)}")
    if block is None:
        raise ValueError("must specify block size")
    _check_block(function, block)
    handlers, buffer, pointers = _arguments(args)
    for handler in handlers:
        handler.pre_call(stream)
    late = [handler for handler in handlers if hasattr(handler, "post_call")]
    if stream is not None:
        assert not time_kernel, "Can't time the kernel on an asynchronous invocation"
    elif time_kernel:
        Context.synchronize()
    begun = time()
    function._launch_kernel(grid, block, buffer, shared, stream, pointers)
    if stream is None and (late or time_kernel):
        Context.synchronize()
    seconds = time() - begun
    for handler in late:
        handler.post_call(stream)
    return seconds if time_kernel else None


def _function_prepare(
    function: Function, arg_types: Sequence[object], texrefs: object = None
) -> Function:
    """Say the arguments' types once, for `prepared_call` and its relatives."""
    function.texrefs = texrefs or []
    letters = ""
    for kind in arg_types:
        if isinstance(kind, str):
            letters += kind
        elif isinstance(kind, np.dtype):
            letters += letter_of(kind)
        elif isinstance(kind, type) and issubclass(kind, np.number):
            letters += np.dtype(kind).char
        else:
            letters += np.dtype(np.uintp).char
    function.arg_format = letters
    return function


def _prepared_launch(
    function: Function, grid: tuple, block: tuple, stream: object, args: Sequence, kwargs: dict
) -> None:
    shared = kwargs.pop("shared_size", 0)
    if kwargs:
        raise TypeError(f"unknown keyword arguments: {', '.join(kwargs)}")
    buffer = _pack(function.arg_format, args)
    pointers = [
        int(value) if letter in "PLlQqNn" and hasattr(value, "__index__") else 0
        for letter, value in zip(function.arg_format, args)
    ]
    function._launch_kernel(grid, block, buffer, shared, stream, pointers)


def _block_given(function: Function, block: object, name: str) -> bool:
    """Check the block's shape; without one, as before 2011, the argument is another, and warn."""
    if isinstance(block, tuple):
        _check_block(function, block)
        return True
    warnings.warn(
        f"Not passing the block size to {name} is deprecated as of version 2011.1.",
        DeprecationWarning, stacklevel=3)
    return False


def _function_prepared_call(
    function: Function, grid: tuple, block: tuple, *args: object, **kwargs: object
) -> None:
    """Launch on the default stream."""
    if not _block_given(function, block, "prepared_call"):
        args = (block, *args)
    _prepared_launch(function, grid, block, None, args, kwargs)


def _function_prepared_async_call(
    function: Function, grid: tuple, block: tuple, stream: object, *args: object, **kwargs: object
) -> None:
    """Launch on a stream; None is the default one."""
    if not _block_given(function, block, "prepared_async_call"):
        args, stream = (stream, *args), block
    _prepared_launch(function, grid, block, stream, args, kwargs)


def _function_prepared_timed_call(
    function: Function, grid: tuple, block: tuple, *args: object, **kwargs: object
) -> object:
    """Launch; return a function that waits and gives seconds."""
    start, end = Event(), Event()
    start.record()
    _prepared_launch(function, grid, block, None, args, kwargs)
    end.record()

    def get_call_time() -> float:
        end.synchronize()
        return end.time_since(start) * 1e-3

    return get_call_time


def _function_getattr(function: Function, name: str) -> int:
    """Attributes of a kernel by name: ``num_regs``, ``shared_size_bytes``, ..."""
    return function.get_attribute(getattr(function_attribute, name.upper()))


for _public in ("__call__ prepare prepared_call prepared_async_call prepared_timed_call "
                "__getattr__").split():  # fmt: skip
    _own = f"_function_{_public.strip('_')}"
    _method = globals()[_own]
    _method.__qualname__ = f"_add_functionality.<locals>.{_own[1:]}"  # as errors name it
    setattr(Function, _public, _method)


# arrays


def _host_array(name: str) -> Callable:
    """``empty`` or ``zeros``, of a shape or with that, the type and the order of an array."""
    kind = name.partition("_")[0]

    def make(*given: object) -> np.ndarray:
        if name.endswith("_like"):
            array, *how = given
            given = (array.shape, array.dtype, _order(array), *how)
        result = globals()[f"{kind}_empty"](*given)
        if "_zeros" in name:
            result.fill(0)
        return result

    return make


table.functions(globals(), _host_array, """
pagelocked_zeros(shape, dtype, order="C", mem_flags=0) -> np.ndarray: Page-locked, and 0.
pagelocked_empty_like(array, mem_flags=0) -> np.ndarray:
    Page-locked, with an array's shape, type and order.
pagelocked_zeros_like(array, mem_flags=0) -> np.ndarray: The same, and 0.
aligned_zeros(shape, dtype, order="C", alignment=4096) -> np.ndarray: Aligned, and 0.
aligned_empty_like(array, alignment=4096) -> np.ndarray:
    Aligned, with an array's shape, type and order.
aligned_zeros_like(array, alignment=4096) -> np.ndarray: The same, and 0.
managed_zeros(shape, dtype, order="C", mem_flags=0) -> np.ndarray:
    Shared by host and device, and 0.
managed_empty_like(array, mem_flags=0) -> np.ndarray:
    Shared by host and device, with an array's shape, type and order.
managed_zeros_like(array, mem_flags=0) -> np.ndarray: The same, and 0.
""")


def _order(array: np.ndarray) -> str:
    if array.flags.c_contiguous:
        return "C"
    if array.flags.f_contiguous:
        return "F"
    raise ValueError("could not detect array order")


def mem_alloc_like(ary: np.ndarray) -> DeviceAllocation:
    """Device memory of an array's size."""
    return mem_alloc(ary.nbytes)


def to_device(bf_obj: object) -> DeviceAllocation:
    """Device memory with a copy of a buffer."""
    content = memoryview(bf_obj).tobytes()
    result = mem_alloc(len(content))
    memcpy_htod(result, content)
    return result


def from_device(devptr: object, shape: object, dtype: object, order: str = "C") -> np.ndarray:
    """A copy of device memory as an array."""
    result = np.empty(shape, dtype, order)
    memcpy_dtoh(result, devptr)
    return result


def from_device_like(devptr: object, other_ary: np.ndarray) -> np.ndarray:
    """A copy of device memory, with an array's shape and type."""
    result = np.empty_like(other_ary)
    memcpy_dtoh(result, devptr)
    return result
