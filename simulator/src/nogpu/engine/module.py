"""From CUDA source to something that can be launched."""

from __future__ import annotations

import ctypes
import dataclasses
import hashlib
import math
import os
import re
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from ctypes import byref, c_char_p, c_uint64, c_void_p
from pathlib import Path

from . import (
    cache,
    compiler,
    counters,
    devices,
    faults,
    forking,
    headers,
    limits,
    memory,
    native,
    options,
    records,
    source,
    switches,
    symbols,
    unset,
)
from .counters import Counts, read_counts, record, recorders_now
from .errors import CompileError, EngineError, InvalidLaunch, KernelNotFound, LoadError
from .records import CheckBits, FaultKind, JobBits

_SLICE_MS = 50  # how long a wait keeps the interpreter from seeing an interrupt
# A compiler's words for a union whose member has a copy of its own.
_COPIES_A_UNION = re.compile(r"union member|variant (?:field|member)")
_OWN_HEADERS = {
    str(path.relative_to(compiler.INCLUDE))
    for path in compiler.INCLUDE.rglob("*")
    if path.is_file()
}


def _write_to_stdout(text: bytes) -> None:
    os.write(1, text)


_printer: Callable[[bytes], None] = _write_to_stdout


def set_printer(printer: Callable[[bytes], None] | None) -> Callable[[bytes], None]:
    """Where the text of a kernel's ``printf`` goes after its launch; None: file descriptor 1.

    Returns where it went before.
    """
    global _printer
    before, _printer = _printer, printer or _write_to_stdout
    return before


class _Build:
    """One loaded library: the module instrumented, or not."""

    def __init__(self, description: dict, data: bytes) -> None:
        self.description = description
        self.data = data
        runtime = native.runtime()
        try:
            self.library = native.load_library(data)
        except OSError as error:
            missing = re.search(r"undefined symbol: (\S+)", str(error))
            if missing is None:
                raise LoadError(f"the compiled library cannot be loaded: {error}") from None
            raise CompileError(
                f"{symbols.plain_name(missing.group(1))}: declared but not defined in this "
                "source, or CUDA that nogpu lacks"
            ) from None
        names = description["entries"]
        try:
            table = (records.Entry * len(names)).in_dll(self.library, "nogpu_entries")
            marker = self.library.nogpu_tls_marker_address
        except (ValueError, AttributeError) as error:
            raise LoadError(f"this is no library of kernels: {error}") from None
        self.entries = {name: table[i] for i, name in enumerate(names)}
        self.base = ctypes.cast(marker, c_void_p).value - description["marker_function"]
        data_rows = description["data"]
        low = min((row[2] for row in data_rows), default=0) & ~15
        high = max((row[2] + row[3] for row in data_rows), default=0)
        high = low + -(-(high - low) // 16) * 16
        self.data_low = self.base + low if data_rows else 0
        self.variables = {row[1]: (self.base + row[2], row[3]) for row in data_rows}
        self.native = runtime.cs_library(
            ctypes.cast(marker, c_void_p), description["marker"], description["tls_size"],
            _rows([(row[2] - low, row[3], 0) for row in data_rows]), len(data_rows), self.data_low,
            self.data_low + (high - low if data_rows else 0), self.base,
            self.base + description["image"],
        )
        self.data_offset = low
        self._located: dict[int, tuple[str, int] | None] = {}

    def locate(self, address: int) -> tuple[str, int] | None:
        """File and line of an instruction, None where the debug information has nothing."""
        if not self.base <= address < self.base + self.description["image"]:
            return None
        if address not in self._located:
            ours = str(compiler.PACKAGE)
            self._located[address] = symbols.source_line(self.data, address - self.base, ours)
        return self._located[address]


def _rows(values: Sequence[tuple[int, int, int]]) -> ctypes.Array:
    array = (records.Symbol * max(1, len(values)))()
    for i, (offset, size, dynamic) in enumerate(values):
        array[i] = records.Symbol(offset, size, dynamic, 0)
    return array


class Module:
    """Compiled CUDA source: its kernels and its variables.

    Made by :func:`compile`, which compiles one of its libraries: the instrumented one, the plain
    one or the one that counts. The others are compiled when a launch first needs them.
    ``__device__`` and ``__constant__`` variables keep the address that they got first, and another
    library works on a copy that is carried over around each of its launches.
    A library stays loaded until the process ends.
    """

    def __init__(
        self, text: str, given: options.Options, names: tuple[str, ...], dialect: str, name: str,
        with_compiler: compiler.Compiler, counted: bool,
    ) -> None:
        self.source, self.options, self.dialect, self.name = text, given, dialect, name
        self.compiler = with_compiler
        self.from_cache: bool | None = None
        self._names = names
        self._lock = threading.RLock()
        self._builds: dict[tuple[bool, bool], _Build] = {}
        self._first: _Build | None = None
        self._variables: dict[str, memory.Allocation] = {}
        self._kernels: dict[str, Kernel] = {}
        self._dynamic_names: list[str] = []
        self._unions = 0
        self._has_children = given.relocatable and source.launches_kernels(text)
        self._scan = source.scan(text)
        if self._scan.needs_preprocessor:
            self._scan_preprocessed()
        self._absent = self._absent_headers()
        for position, what in self._scan.refused + self._scan.host_calls * (dialect == "nvcc"):
            line = text.count("\n", 0, position) + 1
            log = f"{name}:{line}:1: error: {what}"
            raise CompileError(log, log)
        if dialect == "nvrtc" and with_compiler.is_zig:
            self._refuse_system_headers()
        self.build(bool(switches.enabled()), counted)
        if self._first.description["data"]:
            memory.register_variables(self._find_variable)
        _modules.add(self)

    # ---- compilation ---------------------------------------------------------------------

    def _scan_preprocessed(self) -> None:
        arguments = ["-E", "-P", "-x", "c++", f"-std={self._standard()}", "-D__CUDACC__",
                     *self.options.preprocessor, f"-I{compiler.INCLUDE}", "-w", "-"]  # fmt: skip
        done = subprocess.run(
            [*self.compiler.command, *arguments], input=self.source.encode(),
            capture_output=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            return  # the compilation proper will say what is wrong
        seen = source.scan(done.stdout.decode(errors="replace"))
        known = {kernel.name for kernel in self._scan.kernels}
        self._scan.kernels += [k for k in seen.kernels if k.name not in known]
        self._scan.dynamic_shared += [
            n for n in seen.dynamic_shared if n not in self._scan.dynamic_shared
        ]

    def _standard(self) -> str:
        standard = self.options.standard
        return standard if self.dialect == "nvrtc" else standard.replace("c++", "gnu++")

    def _architecture(self) -> int:
        """What ``__CUDA_ARCH__`` says: 7.5 where there is inline PTX, which nogpu lacks.

        Programs have it for what came with 8.0, and C++ in its place for older devices.
        """
        major, minor = (7, 5) if source.assembles(self.source) else limits.COMPUTE_CAPABILITY
        return major * 100 + minor * 10

    def _entry_names(self) -> list[tuple[str, str]]:
        """Names of the kernels that the library must offer, each with its launch bounds."""
        rows = [(k.name, k.launch_bounds) for k in self._scan.kernels if not k.is_template]
        known = {name for name, _ in rows}
        rows += [(name, "") for name in self._names if name not in known]
        return rows

    def _arguments(self, checked: bool, counted: bool) -> list[str]:
        libc = self.dialect == "nvcc" and any(
            name not in self._absent and not self._found(name, str(compiler.PACKAGE))
            for name in self._scan.includes
        )
        arguments = [*self.compiler.kernel_flags(checked, counted), f"-std={self._standard()}"]
        if self.dialect == "nvrtc":
            # -w would silence the very errors that make it strict.
            arguments = [a for a in arguments if a != "-w"] + ["-pedantic-errors", "-Werror=vla"]
            arguments += ["-nostdinc"]
        left = [o for o in self.options.preprocessor if o[:2] not in ("-D", "-U")]
        if "include" not in self.source and "-include" not in left:
            left = []  # folders, in which nothing is looked for
        return [
            *arguments, f"-DCUSIM_CHECKED={int(checked)}",
            f"-DCUSIM_COUNTED={int(counted)}",
            f"-DCUSIM_UNIONS={self._unions}", f"-DCUSIM_ARCH={self._architecture()}",
            f"-DCUSIM_NVCC={int(self.dialect == 'nvcc')}", f"-DCUSIM_LIBC={int(libc)}",
            *left,
            *(["-DNDEBUG"] if "-DNDEBUG" in self.options.preprocessor else []),
            # As a system folder, so that -pedantic-errors spares our own headers.
            "-isystem", str(compiler.INCLUDE), "-include", headers.PRELUDE,
        ]  # fmt: skip

    def _text(self, counted: bool) -> str:
        rows = self._entry_names()
        entries = "".join(f"    CUSIM_ENTRY({bound or 0}, {name}),\n" for name, bound in rows)
        dynamic = ""
        if self._dynamic_names:
            labels = "".join(
                f'    ".globl {n}\\n.hidden {n}\\n.type {n},@object\\n"\n'
                f'    ".size {n},{limits.SHARED_PER_BLOCK_OPTIN}\\n{n}:\\n"\n'
                for n in self._dynamic_names
            )
            dynamic = (
                '__asm__(".pushsection .tbss.nogpu_dynamic,\\"awT\\",@nobits\\n.balign 128\\n"\n'
                f'{labels}    ".zero {limits.SHARED_PER_BLOCK_OPTIN}\\n.popsection\\n");\n'
            )
        definitions = _definitions(self.options.preprocessor)
        renamed = counters.RENAMED if counted else ""
        text = source.rewrite(
            self.source, self._scan, self._absent if self.dialect == "nvcc" else ()
        )
        if self._has_children:
            front, text = source.rewrite_launches(text)
            definitions += f'#include "nogpu_children.h"\n{front}\n'
        return (
            f'{renamed}{definitions}#line 1 "{self.name}"\n'
            f"{text}\n"
            f'#line 1 "nogpu_entries.h"\n{dynamic}'
            f"{_ASSERT}"
            "#define CUSIM_EXPORT extern \"C\" __attribute__((visibility(\"default\")))\n"
            "CUSIM_EXPORT __attribute__((no_sanitize(\"thread\"))) "
            "void* nogpu_tls_marker_address() {\n"
            "    static thread_local char nogpu_marker[16];\n    return nogpu_marker;\n}\n"
            "CUSIM_EXPORT const nogpu::Entry nogpu_entries[] = {\n"
            f"{entries}    {{nullptr, nullptr, nullptr, 0, 0}}}};\n"
        )

    def build(self, checked: bool, counted: bool = False) -> _Build:
        """The library with or without instrumentation, compiled or from the cache."""
        kind = (checked or counted, counted)
        with self._lock:
            if kind not in self._builds:
                self._dynamic_names = list(self._scan.dynamic_shared)
                build = self._compile(*kind)
                if self._first is None:
                    self._first = build
                self._builds[kind] = build
            return self._builds[kind]

    def _compile(self, checked: bool, counted: bool) -> _Build:
        while True:
            try:
                return self._compile_once(checked, counted)
            except CompileError as error:
                if self._unions == 2 or not _COPIES_A_UNION.search(str(error)):
                    raise
                self._unions += 1  # see nogpu_types.h

    def _compile_once(self, checked: bool, counted: bool) -> _Build:
        arguments, text = self._arguments(checked, counted), self._text(counted)
        found = self.compiler
        native.runtime()  # where there is none, its reason is clearer than any that follows
        name = cache.key(
            "module", native.engine_version(), found.identity, found.command, found.machine(),
            arguments, text, os.getcwd() if self._scan.needs_preprocessor else "",
        )  # fmt: skip
        entry = cache.load(name)
        if entry is not None and _unchanged(entry[0].get("included", {})):
            try:
                build = _Build(*entry)
                self.from_cache = True
                return build
            except LoadError:
                pass  # for another machine, say: compile it once more
        self.from_cache = False
        description, data = self._run_compiler(arguments, text)
        self._check_limits(description)
        cache.store(name, description, data)
        return _Build(description, data)

    def _found(self, header: str, within: str = "") -> bool:
        """Tell whether a header is the engine's or lies in a folder that the options name.

        ``within`` is what such a folder's path has to begin with.
        """
        folders = ["", *(o[2:] for o in self.options.preprocessor if o.startswith("-I"))]
        return header in _OWN_HEADERS or any(
            os.path.exists(os.path.join(f, header)) for f in folders if f.startswith(within)
        )

    def _absent_headers(self) -> list[str]:
        """Headers of CUDA's libraries that nogpu has not got.

        nvcc finds them, and often only the host's code, which is not there, needs them: its
        source is compiled without them. CuPy's NVRTC finds few of them.
        """
        return [h for h in self._scan.includes if source.of_cuda(h) and not self._found(h)]

    def _refuse_system_headers(self) -> None:
        """NVRTC finds no header of the system; zig's compiler cannot be kept from finding them."""
        for name in self._scan.includes:
            if not self._found(name):
                log = f'{self.name}: error: cannot open source file "{name}"'
                raise CompileError(log, log)

    def _run_compiler(self, arguments: list[str], text: str) -> tuple[dict, bytes]:
        with tempfile.TemporaryDirectory(prefix="nogpu-") as folder:
            output, needed = Path(folder, "kernels.so"), Path(folder, "needed.d")
            command = [*arguments, "-MD", "-MF", str(needed), "-MT", "x"]
            asking = command
            if "-DCUSIM_CHECKED=1" in command:
                asking = [word for word in command if word != "-w"]
                asking += unset.FLAGS[self.compiler.family]
            place = headers.precompiled(self.compiler, arguments, Path(folder))
            faster = [place if word == headers.PRELUDE else word for word in asking]
            status, log = self.compiler.build(faster, output, text)
            if status != 0 and headers.NAME in log:  # it is to name the headers themselves
                status, log = self.compiler.build(asking, output, text)
            if status != 0 and "warning:" in log:  # its errors, without what was asked for
                status, log = self.compiler.build(command, output, text)
            if status != 0 or not output.exists():
                asm, launches = source.assembles(self.source), source.launches_kernels(self.source)
                raise compiler.explain(log, launches, self._absent, asm)
            data = output.read_bytes()
            included = _user_headers(needed)
        description = symbols.describe(data)
        dynamic = {symbols.plain_name(n) for n in self._dynamic_names}
        for row in description["shared"]:
            row[4] |= row[0] in dynamic and row[2] == limits.SHARED_PER_BLOCK_OPTIN
        description["entries"] = [row[0] for row in self._entry_names()]
        kernels = [kernel.name.rsplit("::", 1)[-1] for kernel in self._scan.kernels]
        description["unset"] = unset.find(log, self.source, self.name, kernels)
        description["included"] = included
        description["marker_function"] = symbols.address_of(data, "nogpu_tls_marker_address")
        return description, data

    def _check_limits(self, description: dict) -> None:
        sizes: dict[str, int] = {}
        for row in description["shared"]:
            if not row[4]:
                sizes[row[3]] = sizes.get(row[3], 0) + row[2]
        for owner, size in sizes.items():
            if size > limits.SHARED_PER_BLOCK:
                raise CompileError(
                    f"ptxas error   : Entry function '{owner}' uses too much shared data "
                    f"({size:#x} bytes, {limits.SHARED_PER_BLOCK:#x} max)"
                )

    # ---- kernels and variables ---------------------------------------------------------------

    @property
    def kernel_names(self) -> list[str]:
        """Names of the kernels that can be had without naming template arguments."""
        return [name for name, _ in self._entry_names()]

    def kernel(self, name: str) -> Kernel:
        """A kernel by its name, or by a template expression given to :func:`compile`.

        Raises
        ------
        KernelNotFound
            If the source has no such kernel.
        """
        name = name.strip()
        if name not in self._kernels:
            if name not in self.kernel_names:
                templates = [k.name for k in self._scan.kernels if k.is_template]
                raise KernelNotFound(
                    f"no kernel '{name}' in this source: it has "
                    f"{', '.join(self.kernel_names) or 'none'}"
                    + (f"; templates to instantiate: {', '.join(templates)}" if templates else "")
                )
            self._kernels[name] = Kernel(self, name)
        return self._kernels[name]

    def variable(self, name: str) -> memory.Allocation:
        """A ``__device__``, ``__constant__`` or ``__managed__`` variable: address and size.

        Raises
        ------
        KernelNotFound
            If the source has no such variable, or no kernel uses it and the compiler dropped it.
        """
        plain = name.rsplit("::", 1)[-1].strip()
        build = self._first
        for row in build.description["data"]:
            if name in (row[0], row[1]) or plain == row[0]:
                return self._variable(row)
        raise KernelNotFound(f"no variable '{name}' in this source")

    def _variable(self, row: list) -> memory.Allocation:
        if row[1] not in self._variables:
            address, size = self._first.variables[row[1]]
            self._variables[row[1]] = memory.Allocation(
                address, size, row[0], None, self, is_variable=True
            )
        return self._variables[row[1]]

    def _find_variable(self, address: int) -> memory.Allocation | None:
        for row in self._first.description["data"]:
            start, size = self._first.variables[row[1]]
            if start <= address < start + size:
                return self._variable(row)
        return None

    def _copies(self, build: _Build) -> list[records.Copy]:
        if build is self._first:
            return []
        return [
            records.Copy(address, self._first.variables[mangled][0], size)
            for mangled, (address, size) in build.variables.items()
            if mangled in self._first.variables and self._first.variables[mangled][1] == size
        ]


# What the C library's own assert calls.
_ASSERT = """#if CUSIM_LIBC && defined(__GLIBC__)
extern "C" __attribute__((visibility("hidden"), noreturn))
void __assert_fail(const char* text, const char*, unsigned line, const char* where) noexcept {
    nogpu_assert_failed(text, (int)line, where);
}
#endif
"""
_modules: weakref.WeakSet[Module] = weakref.WeakSet()


def _forget_compilations() -> None:
    """In a child of fork: what another thread was compiling there is compiled again here."""
    for module in list(_modules):
        module._lock = threading.RLock()


forking.call_in_child(_forget_compilations)


def _definitions(preprocessor: Sequence[str]) -> str:
    """-D and -U as lines after our own headers, which a macro called ``N`` would ruin."""
    lines = []
    for option in preprocessor:
        if option.startswith("-D"):
            name, given, value = option[2:].partition("=")
            lines.append(f"#define {name} {value if given else '1'}\n")
        elif option.startswith("-U"):
            lines.append(f"#undef {option[2:]}\n")
    return "".join(lines)


def _user_headers(needed: object) -> dict[str, str]:
    """Digests of the files that the source includes, from the compiler's list."""
    try:
        words = needed.read_text().replace("\\\n", " ").split(":", 1)[1].split()
    except (OSError, IndexError):
        return {}
    result = {}
    for word in words:
        if word.startswith((str(compiler.INCLUDE), "/usr/")) or word in ("-", "<stdin>"):
            continue
        if word.endswith(headers.NAME):
            continue
        digest = _digest(word)
        if digest:
            result[os.path.abspath(word)] = digest
    return result


def _digest(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError:
        return ""


def _unchanged(included: dict[str, str]) -> bool:
    return all(_digest(path) == digest for path, digest in included.items())


_compiler_override: compiler.Compiler | None = None


def use_compiler(command: str | None) -> compiler.Compiler | None:
    """Compile kernels with this command from now on (None: whatever is found first).

    Raises
    ------
    ValueError
        If the command is no C++ compiler.
    """
    global _compiler_override
    if command is None:
        _compiler_override = None
        return None
    found = compiler.probe(command)
    if found is None:
        raise ValueError(f"{command!r} is no C++ compiler on this machine")
    _compiler_override = found
    return found


def compile(  # noqa: A001  -- as in `re.compile`: called through the engine's name
    text: str,
    options_given: Sequence[str] = (),
    names: Sequence[str] = (),
    *,
    dialect: str = "nvrtc",
    name: str = "kernel.cu",
    counted: bool = False,
) -> Module:
    """Compile CUDA C++.

    Parameters
    ----------
    text : str
        The source.
    options_given : sequence of str
        Compiler options as for NVRTC or nvcc: ``-DN=4``, ``-I folder``, ``-std=c++17``; those
        that mean nothing to a simulator are accepted and ignored.
    names : sequence of str
        Template instances to offer, such as ``"copy<float, 4>"``.
    dialect : {"nvrtc", "nvcc"}
        NVRTC knows no headers of the C library and no extensions of GNU; nvcc knows both.
    name : str
        What the source file is called in messages.
    counted : bool
        Begin with the library that counts: for a module whose launches are all counted.

    Raises
    ------
    CompileError
        With the compiler's words and the line numbers of ``text``.
    CompilerNotFound
        If this machine has no C++ compiler.

    Examples
    --------
    >>> module = compile("__global__ void zero(int* x) { x[threadIdx.x] = 0; }")
    >>> module.kernel_names
    ['zero']
    """
    if dialect not in ("nvrtc", "nvcc"):
        raise ValueError(f"dialect {dialect!r}: 'nvrtc' or 'nvcc'")
    if not isinstance(text, str):
        raise TypeError(f"the source must be a str, not {type(text).__name__}")
    given = options.parse(options_given)
    names = tuple(dict.fromkeys(item.strip() for item in names))
    safe_name = re.sub(r'["\\\n]', "_", name)
    found = _compiler_override or compiler.find()
    return Module(text, given, names, dialect, safe_name, found, counted)


class Kernel:
    """A kernel that can be launched.

    Attributes
    ----------
    parameter_sizes, parameter_offsets : tuple of int
        Bytes of each parameter, and where it lies in a packed buffer.
    max_dynamic_shared : int
        How much dynamic shared memory a launch may ask for; up to 227 KB less the static part can
        be set, 48 KB less the static part is what it starts with.
    """

    def __init__(self, module: Module, name: str) -> None:
        self.module, self.name = module, name
        entry = module._first.entries[name]
        numbers = ctypes.c_uint32 * entry.parameters
        self.parameter_sizes = tuple(numbers.from_address(entry.sizes or 0))
        alignments = numbers.from_address(entry.alignments or 0)
        offsets, at = [], 0
        for size, alignment in zip(self.parameter_sizes, alignments):  # noqa: B905 -- equal
            at = -(-at // alignment) * alignment
            offsets.append(at)
            at += size
        self.parameter_offsets, self.parameter_bytes = tuple(offsets), at
        if at > limits.PARAMETER_BYTES:
            raise CompileError(
                f"kernel '{name}': formal parameter space overflowed ({at} bytes required, max "
                f"{limits.PARAMETER_BYTES} bytes allowed)"
            )
        self.max_threads = min(entry.max_threads or 1024, limits.MAX_THREADS_PER_BLOCK)
        self.static_shared = self._static_shared()
        self._max_dynamic = limits.SHARED_PER_BLOCK - self.static_shared
        self._tables: dict[bool, tuple] = {}  # what every launch passes, per build

    def __repr__(self) -> str:
        return f"<Kernel {self.name} of {self.module.name}>"

    @property
    def _base_name(self) -> str:
        return re.sub(r"<.*", "", self.name).rsplit("::", 1)[-1].strip()

    def _shared_rows(self, build: _Build) -> list[list]:
        """The shared arrays that the kernel may use: those inside others only by launching them."""
        if self.module._has_children:
            return build.description["shared"]
        others = {k.name.rsplit("::", 1)[-1] for k in self.module._scan.kernels}
        others.discard(self._base_name)
        return [row for row in build.description["shared"] if row[3] not in others]

    def _static_shared(self) -> int:
        base = self._base_name
        owners: dict[str, int] = {}
        for row in self.module._first.description["shared"]:
            if not row[4]:
                owners[row[3]] = owners.get(row[3], 0) + row[2]
        return owners.get(base, 0)

    @property
    def max_dynamic_shared(self) -> int:
        """Bytes of dynamic shared memory that a launch may ask for."""
        return self._max_dynamic

    @max_dynamic_shared.setter
    def max_dynamic_shared(self, nbytes: int) -> None:
        most = limits.SHARED_PER_BLOCK_OPTIN - self.static_shared
        if not 0 <= nbytes <= most:
            raise InvalidLaunch(f"{nbytes} bytes of dynamic shared memory: 0 to {most} is possible")
        self._max_dynamic = int(nbytes)

    def launch(
        self, grid: Sequence[int], block: Sequence[int], arguments: Sequence[bytes] | bytes = (),
        shared: int = 0, *, time_limit: float | None = None, counters: bool = False,
        one_worker: bool = False, cooperative: bool = False, device: int = 0,
    ) -> Counts | None:
        """Run the kernel over a grid and wait for it.

        Parameters
        ----------
        grid, block : sequence of 1 to 3 int
            Blocks in the grid, threads in a block: ``(x, y, z)``.
        arguments : sequence of bytes, or bytes
            Raw bytes by position, as the real launchers pass them: one item per parameter, or
            all in one buffer at :attr:`parameter_offsets`. A shorter item is filled up with
            bytes that nobody chose; nothing is converted.
        shared : int
            Bytes of dynamic shared memory.
        time_limit : float, optional
            Seconds.
        counters : bool
            Count what the launch asks of memory, and return it; see also :func:`counting`.
        one_worker : bool
            Run the blocks one after another, in order: what several of them meet over is then the
            same each time.
        cooperative : bool
            Run all blocks at once, so that they can wait for each other (``grid_group::sync``).
        device : int
            Where it runs.

        Returns
        -------
        Counts or None
            With ``counters=True`` the counts.

        Raises
        ------
        KernelFault
            One of its kinds, if the kernel was at fault.
        KernelTimeout
            After ``time_limit`` seconds.
        InvalidLaunch
            For a launch that a device of compute capability 9.0 would refuse.
        KeyboardInterrupt
            The kernel is stopped first.
        """
        recorders = recorders_now(counters)
        prepared = self.prepare(
            grid, block, arguments, shared, counting=bool(recorders), cooperative=cooperative,
            device=device,
        )  # fmt: skip
        prepared.request.checks |= JobBits.OneWorker * one_worker
        self._run(prepared, recorders, time_limit)
        return recorders[-1] if counters else None

    def _run(
        self, prepared: PreparedLaunch, recorders: Sequence[Counts], time_limit: float | None
    ) -> None:
        """Run a prepared launch and wait for it."""
        runtime = native.runtime()
        job = runtime.cs_submit(byref(prepared.request))
        if not job:
            raise MemoryError("no memory for nogpu's worker threads")
        timed_out = _wait(runtime, job, time_limit)
        fault_record = records.FaultRecord()
        output, length = c_char_p(), c_uint64()
        runtime.cs_result(job, byref(fault_record), byref(output), byref(length))
        printed = ctypes.string_at(output, length.value) if length.value else b""
        if recorders and not fault_record.kind and not timed_out:
            record(recorders, read_counts(runtime, job, prepared.place()))
        runtime.cs_release(job)
        if fault_record.kind == FaultKind.Cancelled and not timed_out:
            raise EngineError(
                f"kernel '{self.name}' runs in the parent process: this is a child of a fork that "
                "was made while this thread waited for it"
            )
        if printed:
            _printer(printed)
        if timed_out:
            fault = faults.KernelTimeout(
                f"kernel '{self.name}' was stopped after its time limit of {time_limit} s"
            )
            fault.kernel = self.name
            raise fault
        if fault_record.kind:
            raise prepared.fault(fault_record)

    def resident_blocks(self, threads: int, shared: int = 0) -> int:
        """Blocks of so many threads and bytes of dynamic shared memory that run at once."""
        return limits.resident_blocks(threads, shared + self.static_shared)

    def prepare(
        self, grid: Sequence[int], block: Sequence[int], arguments: Sequence[bytes] | bytes = (),
        shared: int = 0, *, counting: bool = False, mask: int | None = None,
        cooperative: bool = False, device: int = 0,
    ) -> PreparedLaunch:
        """Check a launch and pack its arguments; it can then be queued any number of times.

        Parameters as for :meth:`launch`, which also says what a wrong launch raises. It will run
        with the checks of ``mask`` (see `switches`), or else with those that are on now. All blocks
        of a ``cooperative`` launch run at once, so that they can wait for each other.
        """
        grid, block = _triple(grid, "grid"), _triple(block, "block")
        self._check_launch(grid, block, shared)
        if cooperative and math.prod(grid) > self.resident_blocks(math.prod(block), shared):
            raise InvalidLaunch(
                f"a cooperative launch of {math.prod(grid):,} blocks: the device holds "
                f"{self.resident_blocks(math.prod(block), shared)} of them at once",
                "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
            )
        pointers, buffers = self._pack(arguments)
        mask = switches.enabled() if mask is None else mask
        build = self.module.build(bool(mask), counting)
        if mask & CheckBits.Uninitialised and build.description.get("unset"):
            self._check_unset(build.description["unset"])
        table = self._tables.get((bool(mask), counting))
        if table is None:
            rows = self._shared_rows(build)
            copies = self.module._copies(build)
            table = (
                _rows([(row[1], row[2], row[4]) for row in rows]), len(rows),
                (records.Copy * max(1, len(copies)))(*copies), len(copies),
            )  # fmt: skip
            self._tables[bool(mask), counting] = table
        request = records.LaunchRequest()
        request.entry = ctypes.addressof(build.entries[self.name])
        request.library = build.native
        request.grid[:] = grid
        request.block[:] = block
        request.dynamic_shared = int(shared)
        request.checks = mask | JobBits.Count * counting | JobBits.Cooperative * cooperative
        request.arguments = ctypes.addressof(pointers)
        request.shared = ctypes.addressof(table[0])
        request.shared_count = table[1]
        request.copies = ctypes.addressof(table[2])
        request.copy_count = table[3]
        if devices.count > 1:
            request.device, request.reach = device, devices.reach(device)
        arrays = [memory.snapshot(int.from_bytes(b[:8], "little")) for b in buffers if len(b) >= 8]
        return PreparedLaunch(
            self, build, int(shared), request, (pointers, buffers, table),
            tuple(found for found in arrays if found is not None),
        )  # fmt: skip

    def _place(self, build: _Build, shared: int) -> faults.Place:
        description = build.description
        base = build.data_offset
        return faults.Place(
            kernel=self.name, source=self.module.source, source_name=self.module.name,
            locate=build.locate, shared=self._shared_rows(build),
            data=[[r[0], r[1], r[2] - base, r[3]] for r in description["data"]],
            dynamic_bytes=shared,
        )

    def _check_launch(self, grid: tuple, block: tuple, shared: int) -> None:
        for what, sizes, most in (
            ("grid", grid, limits.MAX_GRID),
            ("block", block, limits.MAX_BLOCK),
        ):
            for axis, size, limit in zip("xyz", sizes, most):  # noqa: B905 -- all of three
                if not 1 <= size <= limit:
                    raise InvalidLaunch(f"{what} {sizes}: {axis} must be 1 to {limit:,}")
        threads = block[0] * block[1] * block[2]
        if threads > limits.MAX_THREADS_PER_BLOCK:
            raise InvalidLaunch(
                f"block {block} has {threads:,} threads: at most "
                f"{limits.MAX_THREADS_PER_BLOCK:,} are possible"
            )
        if threads > self.max_threads:
            raise InvalidLaunch(
                f"block {block} has {threads} threads, but kernel '{self.name}' was compiled with "
                f"__launch_bounds__({self.max_threads})",
                "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
            )
        if not 0 <= shared <= self._max_dynamic:
            raise InvalidLaunch(
                f"{shared:,} bytes of dynamic shared memory: kernel '{self.name}' may have "
                f"{self._max_dynamic:,}, beside {self.static_shared:,} static"
            )

    def _check_unset(self, rows: list[list]) -> None:
        """Refuse a launch of a kernel of which the compiler knows that it reads an unset local."""
        for variable, line, kernel in rows:
            if kernel == self._base_name:
                module = self.module
                place = faults.Place(self.name, module.source, module.name, None, [], [], 0)
                raise faults.unset(variable, line, place)

    def _pack(self, arguments: Sequence[bytes] | bytes) -> tuple[ctypes.Array, list]:
        """An array of pointers to the arguments, and what keeps them alive."""
        sizes = self.parameter_sizes
        if isinstance(arguments, (bytes, bytearray, memoryview)):
            whole = bytes(arguments)
            if len(whole) < self.parameter_bytes:
                raise InvalidLaunch(
                    f"kernel '{self.name}' takes {self.parameter_bytes} bytes of arguments, "
                    f"and {len(whole)} were passed"
                )
            offsets = self.parameter_offsets
            items = [whole[o : o + s] for o, s in zip(offsets, sizes)]  # noqa: B905
        else:
            items = [bytes(item) for item in arguments]
            if len(items) != len(sizes):
                raise InvalidLaunch(
                    f"kernel '{self.name}' takes {len(sizes)} arguments, and {len(items)} "
                    "were passed"
                )
        # Where an item is too short a launcher reads on into whatever lies behind it.
        buffers = [
            ctypes.create_string_buffer(item.ljust(size, b"\xcd"), max(len(item), size))
            for item, size in zip(items, sizes)  # noqa: B905
        ]
        pointers = (c_void_p * max(1, len(buffers)))(*[ctypes.addressof(b) for b in buffers])
        return pointers, buffers


class PreparedLaunch:
    """A launch with all that the runtime needs to know of it, see :meth:`Kernel.prepare`."""

    __slots__ = ("kernel", "request", "_build", "_shared", "_keep", "_arrays")

    def __init__(
        self, kernel: Kernel, build: _Build, shared: int, request: records.LaunchRequest,
        keep: tuple, arrays: tuple[memory.Allocation, ...],
    ) -> None:
        self.kernel, self.request, self._arrays = kernel, request, arrays
        self._build, self._shared, self._keep = build, shared, keep

    def fault(self, record: records.FaultRecord) -> faults.KernelFault:
        """The exception for a fault that the runtime recorded."""
        return faults.build(record, self.place())

    def run(self) -> None:
        """Run it now and wait for it; it is counted where launches are (`streams.counting`)."""
        request, (_, buffers, _) = self.request, self._keep
        recorders = recorders_now(False)
        again = self.kernel.prepare(
            tuple(request.grid), tuple(request.block), [buffer.raw for buffer in buffers],
            request.dynamic_shared, counting=bool(recorders), mask=request.checks & switches.ALL,
            cooperative=bool(request.checks & JobBits.Cooperative), device=request.device,
        )  # fmt: skip
        self.kernel._run(again, recorders, None)

    def place(self) -> faults.Place:
        """What names the addresses of this launch in reports."""
        device = self.request.device if devices.count > 1 else None
        return dataclasses.replace(
            self.kernel._place(self._build, self._shared), arrays=self._arrays, device=device
        )


def print_text(text: bytes) -> None:
    """Hand on what kernels printed: see :func:`set_printer`."""
    _printer(text)


def _triple(sizes: Sequence[int] | int, what: str) -> tuple[int, int, int]:
    if isinstance(sizes, int):
        sizes = (sizes,)
    values = tuple(int(size) for size in sizes)
    if not 1 <= len(values) <= 3:
        raise InvalidLaunch(f"{what} {values}: one to three numbers")
    return (*values, *(1,) * (3 - len(values)))


def _wait(runtime: ctypes.CDLL, job: int, time_limit: float | None) -> bool:
    """Wait for a job; True when it had to be stopped because its time was up."""
    start = time.monotonic()
    slice_ms = _SLICE_MS
    try:
        while True:
            if time_limit is not None:
                left = time_limit - (time.monotonic() - start)
                slice_ms = max(0, min(_SLICE_MS, int(left * 1000) + 1))
            if runtime.cs_wait(job, slice_ms):
                return False
            if time_limit is not None and time.monotonic() - start >= time_limit:
                _stop(runtime, job)
                return True
    except BaseException:
        _stop(runtime, job)
        runtime.cs_release(job)
        raise


def _stop(runtime: ctypes.CDLL, job: int) -> None:
    while True:
        runtime.cs_cancel(job)
        if runtime.cs_wait(job, 20):
            return


