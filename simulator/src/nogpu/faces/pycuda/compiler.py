"""CUDA source to something that can be launched: here the simulator's engine is the compiler."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from nogpu import engine
from nogpu.faces import HEADERS, table
from nogpu.faces import missing as _missing

from . import _contexts, _modules

DEFAULT_NVCC_FLAGS = [
    _flag.strip() for _flag in os.environ.get("PYCUDA_DEFAULT_NVCC_FLAGS", "").split() if _flag
]
_CONTEXT = re.compile(r"\S+: (In (?:member )?function|At global scope|In instantiation)\b")
INCLUDE = Path(__file__).parent / "cuda"


def get_nvcc_version(nvcc: str) -> str:
    """What a compiler says of itself."""
    return "nogpu: no nvcc\n"


def _command(options: Sequence[str]) -> list[str]:
    return ["nvcc", "--cubin", *options, "kernel.cu"]


def _nvcc_says(log: str, shift: int) -> str:
    from cupy.cuda import compiler

    log = "".join(line for line in log.splitlines(True) if not _CONTEXT.match(line))
    text = compiler._as_nvrtc_says(log, "kernel.cu")
    return re.sub(r"(?m)^kernel\.cu\((\d+)\)",
                  lambda found: f"kernel.cu({int(found.group(1)) + shift})", text)  # fmt: skip


def _error(what: str, options: Sequence[str], stderr: str) -> Exception:
    from .driver import CompileError

    place = os.path.join(tempfile.gettempdir(), "nogpu", "kernel.cu")
    return CompileError(f"nvcc {what} of {place} failed", _command(options), "", stderr)


def _all_options(
    options: Sequence[str] | None, arch: str | None, code: str | None, include_dirs: Sequence[str]
) -> list[str]:
    given = DEFAULT_NVCC_FLAGS if options is None else options
    found = given[:]
    if arch is None:
        major, minor = engine.limits.COMPUTE_CAPABILITY
        arch = f"sm_{major}{minor}"
    found.extend(["-arch", arch])
    if code is not None:
        found.extend(["-code", code])
    return [*found, *(f"-I{folder}" for folder in include_dirs), f"-I{INCLUDE}", f"-I{HEADERS}"]


def _build(source: object, options: list[str], plain: bool, keep: bool = False) -> engine.Module:
    """Compile, and say what is wrong as nvcc does."""
    source = str(source)
    if keep:
        print(f"*** compiler output in {os.path.join(tempfile.gettempdir(), 'nogpu')}")
    arch = options[options.index("-arch") + 1]
    if not re.fullmatch(r"(sm|compute|lto)_\d{2,3}[af]?", arch):
        raise _error(
            "compilation", options,
            f"nvcc fatal   : Value '{arch}' is not defined for option 'gpu-architecture'\n")
    shift = int(plain)  # the line extern "C" { that nvcc would see first
    if plain:
        _refuse_templates(source, options)
    names = _modules.instances(source)
    try:
        return engine.compile(source, options, names, dialect="nvcc", name="kernel.cu")
    except engine.OptionError as error:
        raise _error("compilation", options, f"{error}\n") from None
    except engine.CompileError as error:
        what = "compilation"
        if "#include" in source and ("No such file" in str(error) or "not found" in str(error)):
            what = "preprocessing"
        raise _error(what, options, _nvcc_says(str(error), shift)) from None


def _refuse_templates(source: str, options: list[str]) -> None:
    """Templates cannot stand in ``extern "C"``, where SourceModule puts the source."""
    lines = [
        number
        for number, line in enumerate(engine.source.blank(source).split("\n"), 1)
        if line.split("<")[0].strip() == "template"
    ]
    if lines:
        text = "".join(
            f'kernel.cu({line + 1}): error: this declaration may not have extern "C" linkage\n'
            for line in lines)
        plural = "s" if len(lines) > 1 else ""
        text += f'\n{len(lines)} error{plural} detected in the compilation of "kernel.cu".\n'
        raise _error("compilation", options, text)


def compile_plain(
    source: str, options: list[str], keep: bool = False, nvcc: str = "nvcc",
    cache_dir: str | bool | None = None, target: str = "cubin",
) -> bytes:  # fmt: skip
    """Compile a source as it is; return an image for `pycuda.driver.module_from_buffer`."""
    options = options if "-arch" in options else [*options, "-arch", "sm_90"]
    module = _build(source, options, plain=False, keep=keep)
    return _image(source, options, module, plain=False)


def _image(source: str, options: Sequence[str], module: engine.Module, plain: bool) -> bytes:
    from cupy.cuda import compiler

    source = str(source)
    if plain and "#include" not in source:  # CuPy takes it, too
        source, plain = f'extern "C" {{\n{source}\n}}\n', False
    return compiler._image(source, options, module._names, "nvcc", plain=plain)


def preprocess_source(source: str, options: Sequence[str], nvcc: str) -> str:
    """The source; the engine's compiler preprocesses it."""
    return source


def compile(  # noqa: A001
    source: str,
    nvcc: str = "nvcc",
    options: list[str] | None = None,
    keep: bool = False,
    no_extern_c: bool = False,
    arch: str | None = None,
    code: str | None = None,
    cache_dir: str | None = None,
    include_dirs: Sequence[str] | None = None,
    target: str = "cubin",
) -> bytes:
    """Compile; return an image for `pycuda.driver.module_from_buffer`.

    It holds the source for the simulator and is no cubin.
    """
    found = _all_options(options, arch, code, include_dirs or ())
    module = _build(source, found, plain=not no_extern_c, keep=keep)
    return _image(source, found, module, plain=not no_extern_c)


class CudaModule:
    """Kernels and variables of a module by name."""

    def _bind_module(self) -> None:
        self.get_global = self.module.get_global


table.methods(CudaModule, lambda name: lambda self, what: getattr(self.module, name)(what), """
get_function(self, name: str) -> object: A kernel.
get_texref(self, name: str) -> object: Texture references went with CUDA 12.
get_surfref(self, name: str) -> object: Surface references went with CUDA 12.
""")


class SourceModule(CudaModule):
    """CUDA source, compiled and loaded at once; ``nvcc``, ``keep``, ``code`` are without effect."""

    def __init__(
        self, source: str, nvcc: str = "nvcc", options: list[str] | None = None, keep: bool = False,
        no_extern_c: bool = False, arch: str | None = None, code: str | None = None,
        cache_dir: str | None = None, include_dirs: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        found = _all_options(options, arch, code, include_dirs or ())
        self._source, self._options, self._no_extern_c = source, tuple(options or ()), no_extern_c
        module = _build(source, found, plain=not no_extern_c, keep=keep)
        _contexts.need("cuModuleLoadDataEx", " - ")
        self.module = _modules.load(module, plain=not no_extern_c)
        self._bind_module()


class DynamicModule(CudaModule):
    """Sources that may launch kernels from kernels, and are linked: here they become one source."""

    def __init__(
        self, nvcc: str = "nvcc", link_options: object = None, keep: bool = False,
        no_extern_c: bool = False, arch: str | None = None, code: str | None = None,
        cache_dir: str | None = None, include_dirs: Sequence[str] | None = None,
        message_handler: object = None, log_verbose: bool = False, cuda_libdir: object = None,
    ) -> None:  # fmt: skip
        _contexts.need("cuCtxGetDevice")
        self.keep, self.no_extern_c, self.arch, self.code = keep, no_extern_c, arch, code
        self.include_dirs, self.module = include_dirs, None
        self._sources: list[str] = []
        self._given: list[str] = []

    def add_source(
        self, source: str, nvcc_options: list[str] | None = None, name: str = "kernel.ptx"
    ) -> DynamicModule:
        """A source more; it is compiled by `link`."""
        self._sources.append(str(source))
        self._given += [one for one in nvcc_options or () if one not in self._given]
        return self

    def add_stdlib(self, libname: str) -> DynamicModule:
        """CUDA's library for launches by kernels is part of the simulator; others are not."""
        if libname != "cudadevrt":
            raise NotImplementedError(f"nogpu lacks the library {libname}")
        return self

    def link(self) -> DynamicModule:
        """Compile, and load."""
        made = SourceModule(
            "\n#line 1\n".join(self._sources), options=self._given, keep=self.keep,
            no_extern_c=self.no_extern_c, arch=self.arch, code=self.code,
            include_dirs=self.include_dirs)
        self.module = made.module
        self._bind_module()
        return self


table.methods(DynamicModule, _missing.refused("pycuda.compiler.DynamicModule"), """
add_data(self, data, input_type, name="unknown") -> None: Compiled code is not taken here.
add_file(self, filename, input_type) -> None: Compiled code is not taken here.
""")


class DynamicSourceModule(DynamicModule):
    """One source whose kernels may launch kernels."""

    def __init__(
        self, source: str, nvcc: str = "nvcc", options: list[str] | None = None, keep: bool = False,
        no_extern_c: bool = False, arch: str | None = None, code: str | None = None,
        cache_dir: str | None = None, include_dirs: Sequence[str] | None = None,
        cuda_libdir: object = None,
    ) -> None:  # fmt: skip
        super().__init__(nvcc, None, keep, no_extern_c, arch, code, cache_dir, include_dirs)
        given = DEFAULT_NVCC_FLAGS if options is None else options
        self.add_source(source, [*given, "-rdc=true", "-lcudadevrt"])
        self.add_stdlib("cudadevrt").link()
