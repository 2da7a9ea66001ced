"""Memory pools, names of C types, arguments of generated kernels, contexts' caches."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence

import numpy as np

from nogpu.faces import missing as _missing

from . import _contexts, characterize
from . import driver as cuda
from ._pools import DeviceMemoryPool, PageLockedMemoryPool, bitlog2  # noqa: F401

# the default context


def make_default_context(ctx_maker: Callable | None = None) -> cuda.Context:
    """A context on the device that CUDA_DEVICE or ~/.cuda_device names, or on the first."""
    make = ctx_maker or (lambda device: device.make_context())
    if cuda.Device.count() == 0:
        raise RuntimeError("No CUDA enabled device found. Please check your installation.")
    return make(get_default_device())


def get_default_device(default: int = 0) -> cuda.Device:
    """The device that the environment names."""
    named = _contexts.chosen_device()
    return cuda.Device(default if named is None else int(named))


def _clean_up(namespace: dict) -> None:
    """At the program's end: leave the context that `autoinit` and its like made current."""
    if cuda.Context.get_current() is not None:
        namespace["context"].pop()
    namespace["context"] = None
    clear_context_caches()


# caches by context

context_dependent_memoized_functions: list[Callable] = []


def context_dependent_memoize(function: Callable) -> Callable:
    """Call ``function`` once for a context and its arguments."""
    caches: dict = {}

    @functools.wraps(function)
    def call(*args: object) -> object:
        cache = caches.setdefault(cuda.Context.get_current(), {})
        if args not in cache:
            cache[args] = function(*args)
        return cache[args]

    call._pycuda_ctx_dep_memoize_dic = caches
    context_dependent_memoized_functions.append(call)
    return call


def clear_context_caches() -> None:
    """Forget what was remembered for contexts."""
    for function in context_dependent_memoized_functions:
        function._pycuda_ctx_dep_memoize_dic.clear()


# the device's limits


class DeviceData:
    """Limits of a device, for `OccupancyRecord`."""

    def __init__(self, dev: cuda.Device | None = None) -> None:
        dev = dev or cuda.Context.get_device()
        names = cuda.device_attribute
        self.max_threads = dev.get_attribute(names.MAX_THREADS_PER_BLOCK)
        self.warp_size = dev.get_attribute(names.WARP_SIZE)
        per_processor = dev.get_attribute(names.MAX_THREADS_PER_MULTIPROCESSOR)
        self.warps_per_mp = per_processor // self.warp_size
        self.thread_blocks_per_mp = 16
        self.registers = dev.get_attribute(names.MAX_REGISTERS_PER_BLOCK)
        self.shared_memory = dev.get_attribute(names.MAX_SHARED_MEMORY_PER_BLOCK)
        self.smem_alloc_granularity = self.smem_granularity = 256
        self.register_allocation_unit = "warp"


class OccupancyRecord:
    """How many of a multiprocessor's warps a launch can keep busy."""

    def __init__(
        self, devdata: DeviceData, threads: int, shared_mem: int = 0, registers: int = 0
    ) -> None:
        if threads > devdata.max_threads:
            raise ValueError("too many threads")
        warps = -(-threads // devdata.warp_size)
        step = devdata.smem_alloc_granularity
        shared, regs = -(-shared_mem // step) * step, warps * devdata.warp_size * registers
        if regs > devdata.registers:
            raise ValueError("too many registers")
        if shared > devdata.shared_memory:
            raise ValueError("too much smem")
        limits = [(devdata.thread_blocks_per_mp, "device"),
                  (devdata.warps_per_mp // warps, "warps")]  # fmt: skip
        if regs:
            limits.append((devdata.registers // regs, "regs"))
        if shared:
            limits.append((devdata.shared_memory // shared, "smem"))
        self.tb_per_mp_limits = limits
        self.tb_per_mp, self.limited_by = min(limits)
        self.warps_per_mp = self.tb_per_mp * warps
        self.occupancy = self.warps_per_mp / devdata.warps_per_mp


# names of C types

_by_name: dict[str, np.dtype] = {}
_by_dtype: dict[np.dtype, str] = {}


def get_or_register_dtype(c_names: str | list[str], dtype: object = None) -> np.dtype:
    """The dtype of a C name; with ``dtype``, make the name known."""
    names = [c_names] if isinstance(c_names, str) else list(c_names)
    if dtype is None:
        return _by_name[names[0]]
    dtype = np.dtype(dtype)
    for name in names:
        if name in _by_name and _by_name[name] != dtype:
            raise RuntimeError(f"name '{name}' already registered to different dtype")
        _by_name[name] = dtype
    _by_dtype.setdefault(dtype, names[0])
    return dtype


def register_dtype(dtype: object, c_names: str | list[str]) -> None:
    """Make a dtype's names in C known."""
    get_or_register_dtype(c_names, dtype)


for _names, _dtype in (
    (["bool"], np.bool_), (["char", "signed char"], np.int8), (["unsigned char"], np.uint8),
    (["short", "signed short", "signed short int", "short int", "short signed int"], np.int16),
    (["unsigned short", "unsigned short int", "short unsigned int"], np.uint16),
    (["int", "signed int"], np.int32), (["unsigned", "unsigned int"], np.uint32),
    (["long", "long int"], np.int64), (["unsigned long", "unsigned long int"], np.uint64),
    (["float"], np.float32), (["double"], np.float64),
    (["pycuda::complex<float>"], np.complex64), (["pycuda::complex<double>"], np.complex128),
):  # fmt: skip
    get_or_register_dtype(_names, _dtype)


def dtype_to_ctype(dtype: object, with_fp_tex_hack: bool = False) -> str:
    """The name in C of a dtype."""
    if dtype is None:
        raise ValueError("dtype may not be None")
    dtype = np.dtype(dtype)
    try:
        return _by_dtype[dtype]
    except KeyError:
        raise ValueError(f"unable to map dtype '{dtype}'") from None


# arguments of generated kernels


class DtypedArgument:
    """An argument with a type and a name."""

    def __init__(self, dtype: object, name: str) -> None:
        self.dtype, self.name = np.dtype(dtype), name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.dtype})"


class VectorArg(DtypedArgument):
    """A pointer."""

    struct_char = "P"

    def declarator(self) -> str:
        """Its declaration in C."""
        return f"{dtype_to_ctype(self.dtype)} *{self.name}"


class ScalarArg(DtypedArgument):
    """A number."""

    def declarator(self) -> str:
        """Its declaration in C."""
        return f"{dtype_to_ctype(self.dtype)} {self.name}"

    @property
    def struct_char(self) -> str:
        """Its letter for `struct`."""
        return cuda.letter_of(self.dtype)


def parse_c_arg(c_arg: str) -> DtypedArgument:
    """A declaration in C as an argument."""
    text = re.sub(r"\b(const|volatile|__restrict__|restrict)\b", "", c_arg)
    found = re.search(r"(\**)\s*(\w+)((?:\s*\[[ 0-9]*\])*)\s*$", text)
    if found is None:
        raise ValueError(f"couldn't parse C declarator '{text}'")
    stars, name, brackets = found.groups()
    kind = " ".join(text[: found.start()].split())
    if kind not in _by_name:
        raise ValueError(f"unknown type '{kind}'")
    return (VectorArg if stars or brackets else ScalarArg)(_by_name[kind], name)


def get_arg_type(c_arg: str) -> str:
    """The letter of a declaration for `struct`."""
    return parse_c_arg(c_arg).struct_char


def parse_arguments(arguments: str | list) -> list[DtypedArgument]:
    """Declarations, separated by commas, as arguments."""
    if isinstance(arguments, str):
        return [parse_c_arg(one) for one in arguments.split(",")]
    return list(arguments)


def passed_to_kernel(
    kernel: str, values: Sequence, arguments: Sequence[DtypedArgument]
) -> tuple[list, list]:
    """The arrays among a generated kernel's arguments, and what is passed for each argument."""
    vectors, passed = [], []
    for value, argument in zip(values, arguments):
        if isinstance(argument, VectorArg):
            if not value.flags.forc:
                raise RuntimeError(f"{kernel} cannot deal with non-contiguous arrays")
            vectors.append(value)
            value = value.gpudata
        passed.append(value)
    return vectors, passed


def generated_module(source: str, options: list[str] | None, keep: bool) -> object:
    """The module of a generated kernel, named as in C; complex numbers are C++."""
    from .compiler import SourceModule

    complex_numbers = "complex<" in source
    if complex_numbers:
        source = "#include <pycuda-complex.hpp>\n" + source.replace(
            "__global__ void", 'extern "C" __global__ void', 1)
    return SourceModule(source, options=options, keep=keep, no_extern_c=complex_numbers)


class DebugMemoryPool(DeviceMemoryPool):
    """A pool that asks at the keyboard: not here."""

    def __init__(self, interactive: bool = True, logfile: object = None) -> None:
        raise NotImplementedError(_missing.explain("pycuda.tools.DebugMemoryPool"))


def mark_cuda_test(inner_f: Callable) -> Callable:
    """Run a test in a context of its own."""

    @functools.wraps(inner_f)
    def test(*args: object, **kwargs: object) -> None:
        cuda.init()
        context = make_default_context()
        try:
            inner_f(*args, **kwargs)
        finally:
            context.pop()
            context.detach()
            clear_context_caches()

    return test


platform_bits = characterize.platform_bits
