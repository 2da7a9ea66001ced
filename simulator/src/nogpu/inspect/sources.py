"""The CUDA source behind a kernel object, whichever library made it.

A `RawKernel` carries its source. The functions of a `RawModule` or a PyCUDA `SourceModule` do
not: `record_sources` wraps the two classes so that it is known from then on.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """What is needed to compile a kernel again."""

    code: str
    kernel: str
    options: tuple[str, ...] = ()
    dialect: str = "nvrtc"
    extern_c: bool = False
    """Whether all of it is compiled inside ``extern "C"``, as PyCUDA does."""

    @property
    def compiled(self) -> str:
        """The text for the compiler, with the lines of `code`."""
        return f'extern "C" {{ {self.code}\n}}\n' if self.extern_c else self.code


def _from_cupy(code: str, kernel: str, options: Sequence[str], backend: str) -> Source:
    """The source of a kernel of CuPy's, which lets NVRTC treat denormal numbers as 0."""
    flush = ("-ftz=true",) if backend == "nvrtc" else ()
    return Source(code, kernel, (*flush, *options), backend)


# Of each function that a module handed out. The function itself is kept, so that its id stays its.
_recorded: dict[int, tuple[object, Source]] = {}


def record_sources(needs: str | None = None) -> None:
    """Let every `RawModule` and `SourceModule` made from now on remember its source.

    Kernels of nogpu's `RawModule` know their source without it. Calling again is harmless; a
    library that is not there is left alone, and nothing that the classes do changes.

    Parameters
    ----------
    needs : {None, "pycuda"}
        With "pycuda", PyCUDA is imported for this; else it is wrapped where it is imported already.
    """
    cupy = sys.modules.get("cupy")
    if hasattr(cupy, "RawModule"):
        _wrap_raw_module(cupy)
    wanted = needs == "pycuda" or "pycuda" in sys.modules
    if wanted and importlib.util.find_spec("pycuda") is not None:
        try:
            compiler = importlib.import_module("pycuda.compiler")
        except Exception:  # without a driver PyCUDA fails in its own ways, and says so when used
            return
        _wrap_source_module(compiler)


def _wrap_raw_module(cupy: object) -> None:
    original = cupy.RawModule
    if getattr(original, "_records_source", False):  # a wrapped class, or nogpu's own
        return

    # A subclass, because the class of the real library is no Python class and cannot be changed.
    class RawModule(original):
        __doc__ = original.__doc__
        _records_source = True

        def __init__(self, *args: object, **kwargs: object) -> None:
            super().__init__(*args, **kwargs)
            self._source_parts = (
                kwargs.get("code", args[0] if args else None),
                tuple(kwargs.get("options", ())),
                kwargs.get("backend", "nvrtc"),
            )

        def get_function(self, name: str) -> object:
            function = super().get_function(name)
            code, options, backend = self._source_parts
            if code is not None:
                _recorded[id(function)] = function, _from_cupy(code, name, options, backend)
            return function

    # Under this name pickle finds it.
    RawModule.__module__, RawModule.__qualname__ = cupy.__name__, original.__qualname__
    cupy.RawModule = RawModule


def _wrap_source_module(compiler: object) -> None:
    module = compiler.SourceModule
    if getattr(module, "_records_source", False):
        return
    initialise, get_function = module.__init__, module.get_function
    signature = inspect.signature(initialise)

    @functools.wraps(initialise)
    def __init__(self, source: str, *args: object, **kwargs: object) -> None:
        initialise(self, source, *args, **kwargs)
        given = signature.bind(self, source, *args, **kwargs).arguments
        options = tuple(given.get("options") or ())
        options += tuple(f"-I{folder}" for folder in given.get("include_dirs") or ())
        self._source_parts = (source, options, bool(given.get("no_extern_c", False)))

    @functools.wraps(get_function)
    def find_function(self, name: str) -> object:
        function = get_function(self, name)
        code, options, plain = self._source_parts
        _recorded[id(function)] = function, Source(code, name, options, "nvcc", not plain)
        return function

    module.__init__, module.get_function, module._records_source = __init__, find_function, True


def find_source(kernel: object) -> Source:
    """The source of a kernel object.

    Raises
    ------
    TypeError
        Where it cannot be known: the message says what to do.
    """
    known = _recorded.get(id(kernel))
    if known is not None and known[0] is kernel:
        return known[1]
    code, name = getattr(kernel, "code", None), getattr(kernel, "name", None)
    if isinstance(code, str) and isinstance(name, str):
        options = getattr(kernel, "options", ()) or ()
        return _from_cupy(code, name, options, getattr(kernel, "backend", "nvrtc") or "nvrtc")
    behind = getattr(kernel, "_kernel", None)  # in a function of the simulator's PyCUDA
    if hasattr(getattr(behind, "module", None), "source"):
        kernel, name = behind, behind.name
    module = getattr(kernel, "module", None)
    if hasattr(module, "source") and isinstance(name, str):  # a kernel of the simulator's engine
        options = (f"-std={module.options.standard}", *module.options.preprocessor)
        return Source(module.source, name, options, module.dialect)
    raise TypeError(
        f"inspect cannot find the source of this {type(kernel).__name__}. Give it a RawKernel, an "
        "ElementwiseKernel, or a function of a RawModule or SourceModule that was made after "
        "nogpu.inspect.sources.record_sources()."
    )


def parameter_names(source: Source, count: int) -> list[str]:
    """What the kernel calls its parameters; ``argument 0`` and so on where that is not plain."""
    from ..engine.source import scan

    plain = re.sub(r"<.*", "", source.kernel, flags=re.DOTALL).rsplit("::", 1)[-1].strip()
    for kernel in scan(source.code).kernels:
        names = [name.removeprefix("_raw_") for name in kernel.parameters]
        known = kernel.name.rsplit("::", 1)[-1] == plain and len(names) == count
        if known and all(names) and len(set(names)) == count:
            return names
    return [f"argument {i}" for i in range(count)]
