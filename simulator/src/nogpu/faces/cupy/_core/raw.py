"""Kernels from CUDA source: `RawKernel` and `RawModule`."""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from cupy.cuda import compiler, function, memory
from cupy_backends.cuda.api import _contexts, driver

from nogpu import engine
from nogpu.faces import table

_modules: dict[tuple, function.Module] = {}
_lock = engine.forking.held("kernels of a library", threading.RLock())
_CUCOMPLEX = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]cuComplex\.h[>"]', re.M)


def _check_options(options: tuple) -> None:
    if not isinstance(options, tuple):
        raise TypeError(
            "Argument 'options' has incorrect type "
            f"(expected tuple, got {type(options).__name__})")


def _source(code: str, backend: str, translate_cucomplex: bool) -> str:
    """What the compiler gets."""
    if backend not in ("nvrtc", "nvcc"):
        raise ValueError(f"Invalid backend {backend}")
    if translate_cucomplex:
        code = _CUCOMPLEX.sub("", code)
        code = f'#include <cupy/cuComplex_bridge.h>\n#line 1 "kernel.cu"\n{code}'
    return code


def _load(
    code: str | None, path: str | None, options: tuple, backend: str, names: tuple = (),
    translate_cucomplex: bool = False,
) -> function.Module:  # fmt: skip
    """The loaded module. The same source with the same options is one module on each device."""
    key = (code, path, options, backend, names, translate_cucomplex, _contexts.state.device)
    with _lock:
        module = _modules.get(key)
        if module is None:
            if path is not None:
                module = function.Module()
                module.load_file(path)
            else:
                source = _source(code, backend, translate_cucomplex)
                module = function.Module._of(compiler._compile(source, options, names, backend))
            _modules[key] = module
        return module


class RawKernel:
    """A kernel written in CUDA C++, compiled when it is first used."""

    def __init__(
        self, code: str, name: str, options: tuple = (), backend: str = "nvrtc",
        translate_cucomplex: bool = False, *, enable_cooperative_groups: bool = False,
        jitify: bool | None = None,
    ) -> None:  # fmt: skip
        _check_options(options)
        _warn_jitify(jitify)
        self._code, self._path, self._name = code, None, name
        self._options, self._backend = options, backend
        self._translate, self._cooperative = translate_cucomplex, enable_cooperative_groups
        self._names: tuple = ()
        self._kernel: function.Function | None = None
        self.__name__ = name

    @classmethod
    def _of(cls, module: RawModule, name: str) -> RawKernel:
        kernel = cls(
            module._code, name, module._options, module._backend, module._translate,
            enable_cooperative_groups=module._cooperative)
        kernel._path, kernel._names = module._path, module._names
        return kernel

    def __getstate__(self) -> dict:
        return {**self.__dict__, "_kernel": None}

    def __call__(self, *arguments: object, **kwargs: object) -> None:
        """Launch: ``kernel(grid, block, args, *, shared_mem=0)``."""
        kernel = self._kernel
        if kernel is None or _contexts.several:
            kernel = self.kernel
        if len(arguments) != 3:
            arguments = _three(arguments, kwargs)
        unknown = kwargs.keys() - {"shared_mem", "stream", "size_t_shared_mem"}
        if unknown:
            name = next(key for key in kwargs if key in unknown)
            raise TypeError(f"__call__() got an unexpected keyword argument '{name}'")
        kernel(*arguments, enable_cooperative_groups=self._cooperative, **kwargs)

    @property
    def kernel(self) -> function.Function:
        """The kernel as loaded on the current device; compiles where need be."""
        if self._kernel is None or self._kernel.device != _contexts.state.device:
            self.compile()
        return self._kernel

    def compile(self, log_stream: TextIO | None = None) -> None:
        """Compile now."""
        module = _load(self._code, self._path, self._options, self._backend, self._names,
                       self._translate)  # fmt: skip
        self._kernel = module.get_function(self._name)

    # what the driver knows of it

    @property
    def attributes(self) -> dict[str, int]:
        """All of the properties below, by name."""
        return {name: getattr(self, name) for name in _ATTRIBUTES}

    @property
    def const_size_bytes(self) -> int:
        """Constant memory of its module."""
        module = self.kernel.module._module
        rows = module._first.description["data"]
        declared = engine.source.blank(module.source)
        return sum(
            row[3] for row in rows
            if re.search(rf"__constant__[^;{{}}()=]*\b{re.escape(row[0])}\b", declared)
        )  # fmt: skip

    @property
    def max_dynamic_shared_size_bytes(self) -> int:
        """How much dynamic shared memory a launch may ask for. It can be set."""
        kernel = self.kernel._kernel
        if getattr(self.kernel, "_dynamic", None) is None:
            return kernel.max_dynamic_shared + kernel.static_shared
        return self.kernel._dynamic

    @max_dynamic_shared_size_bytes.setter
    def max_dynamic_shared_size_bytes(self, nbytes: int) -> None:
        try:
            self.kernel._kernel.max_dynamic_shared = int(nbytes)
        except engine.InvalidLaunch as error:
            raise driver._error("CUDA_ERROR_INVALID_VALUE") from error
        self.kernel._dynamic = int(nbytes)

    @property
    def preferred_shared_memory_carveout(self) -> int:
        """The part of L1 wished for as shared memory, in percent; -1 leaves it to the driver."""
        return getattr(self.kernel, "_carveout", -1)

    @preferred_shared_memory_carveout.setter
    def preferred_shared_memory_carveout(self, percent: int) -> None:
        if not -1 <= percent <= 100:
            raise driver._error("CUDA_ERROR_INVALID_VALUE")
        self.kernel._carveout = int(percent)


_ATTRIBUTES = (
    "max_threads_per_block", "shared_size_bytes", "const_size_bytes", "local_size_bytes",
    "num_regs", "ptx_version", "binary_version", "cache_mode_ca",
    "max_dynamic_shared_size_bytes", "preferred_shared_memory_carveout",
)  # fmt: skip


def _capability() -> int:
    major, minor = engine.limits.COMPUTE_CAPABILITY
    return 10 * major + minor


def _three(arguments: tuple, kwargs: dict) -> tuple:
    """grid, block and args where some came by name."""
    if len(arguments) > 3:
        raise TypeError(
            f"__call__() takes exactly 3 positional arguments ({len(arguments)} given)")
    missing = ("grid", "block", "args")[len(arguments) :]
    if not all(name in kwargs for name in missing):
        raise TypeError(
            f"__call__() takes exactly 3 positional arguments ({len(arguments)} given)")
    return (*arguments, *[kwargs.pop(name) for name in missing])


def _warn_jitify(jitify: bool | None) -> None:
    if jitify:
        warnings.warn(
            "jitify is deprecated and has no effect here", DeprecationWarning, stacklevel=3)


class RawModule:
    """A module of kernels and variables, from CUDA source or from a file."""

    _records_source = True  # `nogpu.inspect.sources` finds it without wrapping the class

    def __init__(
        self, *positional: object, code: str | None = None, path: str | None = None,
        options: tuple = (), backend: str = "nvrtc", translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False, name_expressions: Sequence[str] | None = None,
        jitify: bool | None = None,
    ) -> None:  # fmt: skip
        if positional:
            raise TypeError(
                f"__init__() takes exactly 0 positional arguments ({len(positional)} given)")
        if (code is None) == (path is None):
            raise TypeError(
                "Exactly one of `code` and `path` keyword arguments must be given.")
        _check_options(options)
        if path is not None and name_expressions is not None:
            raise ValueError("need CUDA C++ code for the requested kernels")
        _warn_jitify(jitify)
        self._code, self._path = code, str(Path(path)) if path is not None else None
        self._options, self._backend = options, backend
        self._names = tuple(name_expressions or ())
        self._translate, self._cooperative = translate_cucomplex, enable_cooperative_groups
        self._given_names = name_expressions
        self._module: function.Module | None = None

    def __getstate__(self) -> dict:
        return {**self.__dict__, "_module": None}

    @property
    def module(self) -> function.Module:
        """The module as loaded on the current device; compiles where need be."""
        if self._module is None or self._module.device != _contexts.state.device:
            self.compile()
        return self._module

    def compile(self, log_stream: TextIO | None = None) -> None:
        """Compile now."""
        self._module = _load(
            self._code, self._path, self._options, self._backend, self._names, self._translate)

    def get_function(self, name: str) -> RawKernel:
        """A kernel, by its name or by its name expression."""
        kernel = RawKernel._of(self, name)
        kernel._kernel = self.module.get_function(name)
        return kernel

    def get_global(self, name: str) -> memory.MemoryPointer:
        """A pointer to a ``__device__`` or ``__constant__`` variable; its size is not known."""
        module = self.module
        address = module.get_global_var(name)
        return memory.MemoryPointer(memory.UnownedMemory(address, 0, module, 0), 0)


_MADE_OF = """
options = _options: The compiler's options.
code = _code: The source.
file_path = _path: The file it was loaded from.
backend = _backend: The compiler: "nvrtc" or "nvcc".
"""
table.properties(RawKernel, _MADE_OF + """
name = _name: The kernel's name in the source.
enable_cooperative_groups = _cooperative: Whether it is launched cooperatively.
max_threads_per_block = kernel._kernel.max_threads: The largest block that it can be launched with.
shared_size_bytes = kernel._kernel.static_shared: Static shared memory of a block.
""")
table.properties(RawModule, _MADE_OF + """
name_expressions = _given_names: The instances of templates that were asked for.
enable_cooperative_groups = _cooperative: Whether its kernels are launched cooperatively.
""")
for _name, _value, _doc in (
    ("local_size_bytes", 0, "Local memory of a thread: nothing spills here."),
    ("num_regs", 0, "Registers of a thread. The simulator has none and says 0."),
    ("ptx_version", _capability(), "The compute capability it was compiled for, times ten."),
    ("binary_version", _capability(), "The compute capability it was compiled for, times ten."),
    ("cache_mode_ca", 0, "Whether global memory is cached in L1 by option."),
):
    setattr(RawKernel, _name, property(lambda self, value=_value: value, doc=_doc))
