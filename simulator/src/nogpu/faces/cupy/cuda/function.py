"""Loaded modules, their kernels, and how arguments reach a kernel: as bytes, unchecked."""

from __future__ import annotations

import itertools
import math
import operator
import struct
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from cupy._core.core import ndarray
from cupy_backends.cuda.api import _contexts, _errors, driver

from nogpu import engine

from . import compiler
from . import stream as _streams
from .memory import Memory, MemoryPointer, PooledMemory

_handles = itertools.count(0x30000, 0x10)
_pack_address = struct.Struct("<Q").pack
_pack_integer = struct.Struct("<q").pack
_pack_float = struct.Struct("<d").pack
_NULL = bytes(8)

def _integer(value: int) -> bytes:
    try:
        return _pack_integer(value)
    except struct.error:
        raise OverflowError("Python int too large to convert to C long") from None


_BY_TYPE: dict[type, Callable[[object], bytes]] = {
    bool: lambda value: _pack_integer(value),  # with zeros behind it
    int: _integer,
    float: _pack_float,
    complex: lambda value: struct.pack("<dd", value.real, value.imag),
    type(None): lambda value: _NULL,
    MemoryPointer: lambda value: _pack_address(value.ptr),
    bytes: lambda value: value,  # our own structs, such as a CArray
}


def _argument(value: object) -> bytes:
    """An argument's bytes: a pointer for an array, the value itself for a number."""
    pack = _BY_TYPE.get(type(value))
    if pack is not None:
        return pack(value)
    if isinstance(value, ndarray):
        return _pack_address(value.data.ptr)
    if isinstance(value, np.ndarray):
        if value.size != 1:
            raise TypeError(
                f"You are trying to pass a numpy.ndarray of shape {value.shape} as a kernel "
                "parameter. Only numpy.ndarrays of size one can be passed by value. If you meant "
                "to pass a pointer to __global__ memory, you need to pass a cupy.ndarray instead.")
        return value.tobytes()
    if isinstance(value, np.generic):
        return value.tobytes()
    for kind in (bool, int, float, complex, MemoryPointer):
        if isinstance(value, kind):
            return _BY_TYPE[kind](value)
    raise TypeError(f"Unsupported type {type(value)}")


def _name_memory(pointer: MemoryPointer, name: str) -> None:
    """Let reports of faults call an array by the name of the parameter it was passed for."""
    engine.memory.rename(pointer.mem.ptr, name)


def _kept_by_its_pool(item: object) -> bool:
    """Whether freed memory stays valid while work is queued, so that nobody has to hold it."""
    mem = getattr(getattr(item, "data", item), "mem", None)
    return isinstance(mem, (PooledMemory, Memory))


def _launch(
    kernel: engine.Kernel, grid: tuple[int, int, int], block: tuple[int, int, int],
    arguments: list[bytes], shared: int, stream: object, keep: Sequence[object],
    cooperative: bool = False,
) -> None:  # fmt: skip
    queue = _streams._engine_stream(stream)
    _contexts.launch_module(kernel.module, queue)
    try:
        if not queue.capturing:  # as on a GPU: a freed block's next owner waits for its turn
            keep = [item for item in keep if not _kept_by_its_pool(item)]
        queue.launch(kernel, grid, block, arguments, shared, keep, cooperative)
    except engine.InvalidLaunch as error:
        # Of all that a launch's shape can be guilty of, the driver has one thing to say.
        raise _errors.noted(driver._error("CUDA_ERROR_INVALID_VALUE"), error) from error
    except engine.StreamError as error:
        raise _errors.launch_error(error) from None


def _sizes(what: str, sizes: tuple) -> tuple[int, int, int]:
    """Three numbers of at least 1; more than three are not looked at."""
    if type(sizes) is not tuple and not isinstance(sizes, tuple):
        raise TypeError(
            f"Argument '{what}' has incorrect type (expected tuple, got {type(sizes).__name__})")
    found = [max(1, operator.index(size)) for size in sizes[:3]]
    return (*found, *(1,) * (3 - len(found)))


def _resident(kernel: engine.Kernel, grid: tuple, block: tuple, shared: int) -> tuple:
    """The grid of a cooperative launch: no more blocks than the device holds at once."""
    most, wanted = kernel.resident_blocks(math.prod(block), shared), math.prod(grid)
    if wanted <= most:
        return grid
    if grid[1:] != (1, 1):
        sizes = " * ".join(map(str, grid))
        raise ValueError(f"The specified grid size ({sizes}) exceeds the limit ({most}).")
    warnings.warn(
        f"The grid size will be reduced from {wanted} to {most}, as the specified grid size "
        "exceeds the limit.", stacklevel=4)
    return most, 1, 1


class Function:
    """A kernel of a loaded module."""

    def __init__(self, module: Module, name: str) -> None:
        self.module, self.device, self.ptr = module, module.device, next(_handles)
        self._kernel = module._find_kernel(name)
        scan = module._kernel_scan(name)
        self._names = scan.parameters if scan is not None else ()

    def __call__(
        self, grid: tuple, block: tuple, args: Sequence[object],
        size_t_shared_mem: int | None = None, *, shared_mem: int = 0, stream: object = None,
        enable_cooperative_groups: bool = False,
    ) -> None:  # fmt: skip
        if size_t_shared_mem is not None:
            shared_mem = size_t_shared_mem
        grid, block = _sizes("grid", grid), _sizes("block", block)
        kernel = self._kernel
        packed = [_argument(value) for value in args]
        wanted = len(kernel.parameter_sizes)
        if len(packed) < wanted:
            raise engine.InvalidLaunch(
                f"kernel '{kernel.name}' takes {wanted} arguments, and {len(packed)} were passed: "
                "a GPU would take whatever lies behind them in memory")
        for name, value in zip(self._names, args):
            data = getattr(value, "data", value)
            if type(data) is MemoryPointer:
                _name_memory(data, name)
        if enable_cooperative_groups:
            grid = _resident(kernel, grid, block, int(shared_mem))
        _launch(kernel, grid, block, packed[:wanted], int(shared_mem), stream, args,
                enable_cooperative_groups)

    def linear_launch(
        self, size: int, args: Sequence[object], shared_mem: int = 0, block_max_size: int = 128,
        stream: object = None, enable_cooperative_groups: bool = False,
    ) -> None:  # fmt: skip
        """Launch as many blocks as ``size`` threads need."""
        grid, block = _linear(size, block_max_size)
        self(grid, block, args, shared_mem=shared_mem, stream=stream,
             enable_cooperative_groups=enable_cooperative_groups)


def _linear(size: int, block_size: int) -> tuple[tuple, tuple]:
    blocks = min(2**31 - 1, -(-size // block_size))
    return (blocks, 1, 1), (min(block_size, size), 1, 1)


class Module:
    """A module of kernels and variables, loaded from an image."""

    def __init__(self) -> None:
        self.ptr, self.mapping, self._module = 0, None, None

    @classmethod
    def _of(cls, module: engine.Module) -> Module:
        result = cls()
        result._use(module)
        return result

    def _use(self, module: engine.Module) -> None:
        self._module, self.ptr, self.device = module, next(_handles), _contexts.state.device

    def load(self, cubin: bytes) -> None:
        """Load an image that `compile_using_nvrtc` made."""
        content = compiler._open_image(cubin)
        if content is None:
            raise driver._error("CUDA_ERROR_INVALID_IMAGE")
        self._use(
            compiler._compile(
                content["source"], content["options"], content["names"], content["backend"]))

    def load_file(self, filename: str | bytes) -> None:
        """Load an image from a file."""
        try:
            image = Path(filename if isinstance(filename, str) else filename.decode()).read_bytes()
        except OSError:
            raise driver._error("CUDA_ERROR_FILE_NOT_FOUND") from None
        self.load(image)

    def _kernel_scan(self, name: str) -> object:
        base = name.split("<", 1)[0].strip().lstrip("&")
        for kernel in self._module._scan.kernels:
            if kernel.name == base:
                return kernel
        return None

    def _find_kernel(self, name: str) -> engine.Kernel:
        """A kernel that is ``extern "C"``, or one of the name expressions."""
        scan = self._kernel_scan(name)
        if name not in self._module._names and (scan is None or not scan.extern_c):
            raise driver._error("CUDA_ERROR_NOT_FOUND")
        try:
            return self._module.kernel(name)
        except engine.KernelNotFound:
            raise driver._error("CUDA_ERROR_NOT_FOUND") from None
        except engine.CompileError as error:  # too many bytes of parameters
            source = self._module.source
            raise compiler.CompileException(str(error), source, name, (), "nvrtc") from None

    def get_function(self, name: str) -> Function:
        """A kernel by its name."""
        if self._module is None:
            raise driver._error("CUDA_ERROR_INVALID_HANDLE")
        if self.mapping is not None:
            name = self.mapping.get(name, name)
        return Function(self, name)

    def get_global_var(self, name: str) -> int:
        """The address of a ``__device__`` or ``__constant__`` variable."""
        try:
            return self._module.variable(name).address
        except engine.KernelNotFound:
            raise driver._error("CUDA_ERROR_NOT_FOUND") from None
