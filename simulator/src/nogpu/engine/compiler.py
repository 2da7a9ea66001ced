"""The host's C++ compiler: finding it, its flags, running it, reading its complaints."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import platform
import re
import shlex
import shutil
import struct
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from .errors import CompileError, CompilerNotFound

INCLUDE = Path(__file__).parents[1] / "native" / "include"
PACKAGE = Path(__file__).parents[1]
RUNTIME = Path(__file__).parents[1] / "native" / "runtime"

_INSTALL = {
    "debian": "sudo apt install g++",
    "ubuntu": "sudo apt install g++",
    "fedora": "sudo dnf install gcc-c++",
    "rhel": "sudo dnf install gcc-c++",
    "arch": "sudo pacman -S gcc",
    "alpine": "sudo apk add g++",
    "suse": "sudo zypper install gcc-c++",
}

_COMMON = [
    "-x", "c++", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-exceptions",
    "-fno-strict-aliasing", "-fwrapv", "-fno-math-errno", "-fno-trapping-math",
    "-ffp-contract=off", "-fsigned-char", "-fno-stack-protector", "-fno-threadsafe-statics",
    "-fno-builtin-printf", "-fstack-clash-protection", "-U_FORTIFY_SOURCE", "-w",
]  # fmt: skip
# The kernel sees every load and store as one call of the runtime: no merging into vectors.
_CHECKED = {
    "gcc": [
        "-O2", "-fno-tree-vectorize", "-fsanitize=thread,bounds,integer-divide-by-zero",
        "--param=tsan-instrument-func-entry-exit=0", "--param=tsan-distinguish-volatile=1",
        # A copy that the compiler expands itself is not seen: leave all of them calls.
        "-fno-builtin-memcpy", "-fno-builtin-memmove", "-fno-builtin-memset",
        "-fno-tree-loop-distribute-patterns", "-fno-optimize-sibling-calls",
        # Of a shared array that no kernel writes all reads would be removed, since it is 0; they
        # are faults. (For clang the same is done in nogpu_prelude.h.)
        "-fno-ipa-reference-addressable",
        "-fno-plt",  # the runtime is called for every access
    ],
    "clang": [
        "-O2", "-fno-vectorize", "-fno-slp-vectorize", "-Wno-ignored-attributes",
        "-fsanitize=thread", "-fsanitize=array-bounds,integer-divide-by-zero",
        "-fno-optimize-sibling-calls", "-mllvm", "-tsan-instrument-func-entry-exit=0",
        "-mllvm", "-tsan-distinguish-volatile=1",
        "-mllvm", "-tsan-instrument-read-before-write=1",
    ],
}  # fmt: skip
# For counting, what the source says is what must be seen: no access twice in the code, none made
# of two. Two equal reads with no write between are one, and a read that a loop without writes
# repeats is made once before it: so do all compilers, the GPU's too. What a promise such as
# __restrict__ allows beyond that, each does in its own way: the promise is not passed on.
_COUNTED = {
    "gcc": [
        "-O1", "-finline-functions", "-finline-small-functions", "-fno-unroll-loops",
        "-fno-tree-dominator-opts", "-fno-thread-jumps", "-fno-tree-ch", "-fno-tree-phiprop",
        "-fno-tree-pre", "-fno-code-hoisting", "-fno-split-loops", "-fno-if-conversion",
        "-fno-if-conversion2", "-fno-tree-sink", "-fno-tree-tail-merge", "-fno-ipa-cp",
    ],
    "clang": [
        "-O1", "-finline-functions", "-fno-unroll-loops", "-mllvm", "-disable-licm-promotion",
        "-mllvm", "-simplifycfg-merge-cond-stores=0", "-mllvm", "-sink-common-insts=0",
        "-mllvm", "-hoist-common-insts=0", "-mllvm", "-enable-pre=0",
        "-mllvm", "-enable-load-pre=0",
    ],
}  # fmt: skip
_FAMILY = {
    # Without unique symbols: a template's __shared__ array must not be merged with the one of
    # the same name in another module. A loop that waits for memory to change is not finite.
    # Two kernels of equal code stay two, so that a fault names the right line.
    "gcc": [
        "-g1", "-fno-gnu-unique", "-fno-extern-tls-init", "-fno-finite-loops",
        "-fno-aggressive-loop-optimizations", "-fno-ipa-icf", "-fno-delete-null-pointer-checks",
    ],
    "clang": [
        "-gline-tables-only", "-fno-finite-loops", "-fno-delete-null-pointer-checks",
    ],
}
_MACHINE = {"x86_64": ["-msse4.2", "-mpopcnt"]}


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler and how to speak to it.

    Attributes
    ----------
    command : tuple of str
        The words that start it.
    family : str
        ``"gcc"`` or ``"clang"`` (also for zig's).
    identity : str
        Its version line: part of the cache's key.
    """

    command: tuple[str, ...]
    family: str
    identity: str
    is_zig: bool = field(default=False)

    def kernel_flags(self, checked: bool, counted: bool = False) -> list[str]:
        """Flags for a library of kernels, instrumented or not, with counters or not."""
        flags = _COMMON + _FAMILY[self.family]
        flags = flags + (_CHECKED[self.family] if checked else ["-O2"])
        if counted:
            flags = [flag for flag in flags if flag != "-O2"] + _COUNTED[self.family]
            flags += ["-D__restrict__=", "-D__restrict="]
        if self.is_zig:
            flags = [*flags, "-nostdinc++", "-UNDEBUG", "-fno-sanitize=undefined"]
            if checked:  # zig turns these on in its own way: ask again, last
                flags += ["-fsanitize=array-bounds,integer-divide-by-zero"]
            if platform.machine() == "x86_64":
                flags += ["-mcpu=x86_64_v2"]
        else:
            flags = flags + _MACHINE.get(platform.machine(), [])
            if checked:
                flags += [f"-Wl,--wrap={name}" for name in ("memcpy", "memmove", "memset")]
        return flags

    def machine(self) -> str:
        """The processors that its code runs on: part of every key of the cache."""
        words = [platform.machine(), f"{struct.calcsize('P')} bytes"]
        if any("native" in word for word in self.command):  # -march=native: this very processor
            with contextlib.suppress(OSError):
                lines = Path("/proc/cpuinfo").read_text().splitlines()
                names = ("flags", "Features", "model name", "CPU part")
                words += sorted({line for line in lines if line.startswith(names)})
        return "; ".join(words)

    def build(self, arguments: list[str], output: Path, text: str) -> tuple[int, str]:
        """Compile and link a library of kernels; the exit status and what was said."""
        if not self.is_zig:
            # -nostdlib keeps the sanitizer's own runtime out: ours stands behind its calls.
            command = [*arguments, "-nostdlib", "-Wl,--build-id=none", "-o", str(output), "-"]
            # Without the system's headers no kernel needs libc, which takes long to read.
            libc = [] if "-DCUSIM_LIBC=0" in arguments else ["-lc"]
            return self.run([*command, "-lm", *libc, "-lgcc"], text)
        # Zig links its runtime whatever it is told, unless it links in a step that knows nothing
        # of sanitizers.
        unlinked = output.with_suffix(".o")
        compile_only = [word for word in arguments if word != "-shared"]
        status, log = self.run([*compile_only, "-c", "-o", str(unlinked), "-"], text)
        if status != 0:
            return status, log
        link = ["-shared", "-fPIC", "-nostdlib", "-nodefaultlibs", str(unlinked), "-o", str(output)]
        return self.run([*link, "-fno-sanitize=all"])

    def run(self, arguments: list[str], source: str | None = None) -> tuple[int, str]:
        """Run with ``source`` on standard input; the exit status and what was said."""
        environment = dict(os.environ, LC_ALL="C", LANGUAGE="C")
        done = subprocess.run(
            [*self.command, *arguments],
            input=None if source is None else source.encode(),
            stdin=subprocess.DEVNULL if source is None else None,
            capture_output=True,
            env=environment,
            start_new_session=True,  # an interrupt of the notebook is ours to handle
            check=False,
        )
        return done.returncode, done.stderr.decode(errors="replace")


@lru_cache(maxsize=16)
def _probe(command: tuple[str, ...], stamp: float) -> Compiler | None:
    del stamp  # a compiler that was updated in place is probed again
    try:
        done = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode != 0 or not done.stdout:
        return None
    family = "clang" if "clang" in done.stdout else "gcc"
    is_zig = "ziglang" in command or command[0].endswith("zig")
    return Compiler(command, family, done.stdout.splitlines()[0], is_zig)


def probe(command: str | tuple[str, ...]) -> Compiler | None:
    """The compiler behind a command such as ``"g++"`` or ``"ccache g++ -m64"``, or None."""
    words = tuple(shlex.split(command)) if isinstance(command, str) else tuple(command)
    if not words:
        return None
    path = shutil.which(words[0])
    if path is None:
        return None
    try:
        stamp = os.stat(path).st_mtime
    except OSError:
        stamp = 0.0
    return _probe((path, *words[1:]), stamp)


def find() -> Compiler:
    """The first compiler of ``$CXX``, ``c++``, ``g++``, ``clang++`` and the ziglang wheel.

    Raises
    ------
    CompilerNotFound
        With the line that installs one on this system.
    """
    given = os.environ.get("CXX")
    for command in (given, "c++", "g++", "clang++"):
        found = probe(command) if command else None
        if found:
            return found
    if importlib.util.find_spec("ziglang") is not None:
        found = probe((sys.executable, "-m", "ziglang", "c++"))
        if found:
            return found
    wrong = f" CXX names {given}, which is none that works." if given else ""
    raise CompilerNotFound(
        "nogpu compiles CUDA kernels with this machine's C++ compiler, and there is none."
        f"{wrong} Install one with: {install_line()}"
    )


def install_line() -> str:
    """The command that installs a C++ compiler on this system."""
    if os.environ.get("CONDA_PREFIX"):
        return "conda install -c conda-forge cxx-compiler"
    if sys.platform == "darwin":
        return "xcode-select --install"
    try:
        release = Path("/etc/os-release").read_text()
    except OSError:
        release = ""
    names = " ".join(re.findall(r"^(?:ID|ID_LIKE)=\"?([^\"\n]*)", release, re.M)).split()
    for name in names:
        for system, line in _INSTALL.items():
            if name == system or name.startswith(system):
                return line
    return f"{sys.executable} -m pip install ziglang"


# CUDA that the simulator has not got: named in the error when the compiler stumbles over it.
_LACKING = re.compile(
    r"^(nvcuda|wmma|mma|thrust|cub|cuda|cute|cutlass|texture|surface|tex[123]D\w*|surf[123]D\w*|"
    r"cu(?:da|blas|fft|rand|sparse|solver)[A-Z_]\w*|cu[A-Z][a-z]\w+|CU[a-z]\w+|nvtx\w+|"
    r"curand\w*|malloc|free|alloca|atomic\w+|__\w+)$"
)
_REMOVED = re.compile(r"__(?:shfl(?:_up|_down|_xor)?|ballot|any|all)")
_UNKNOWN = re.compile(
    r"[‘'](?:nogpu::)?(\w+)[’'] (?:was not declared|has not been declared|does not name|is not a "
    r"class|undeclared|in namespace)|use of undeclared identifier '(\w+)'|unknown type name '(\w+)'"
    r"|no member named '(\w+)'|no (?:template|type) named '(\w+)'|'(\w+)' is not a class"
)
_NO_MEMBER = re.compile(
    r"[‘'](\w+)[’'] (?:is not a (?:class )?(?:template )?member of|in namespace) [‘']"
    r"((?:cub|thrust|cuda|nvcuda|cooperative_groups)\b[\w:]*)[’']"
)


def explain(
    log: str, launches: bool = False, absent: Sequence[str] = (), assembles: bool = False
) -> CompileError:
    """An error from what the compiler said, engine internals taken out.

    ``launches`` says that the source has a launch with ``<<< >>>``, ``absent`` are headers of
    CUDA's libraries that it includes and nogpu has not got, ``assembles`` that it has inline PTX.
    """
    kept = []
    skip = False
    for line in log.splitlines():
        internal = str(INCLUDE) in line or "nogpu_entries" in line or "<built-in>" in line
        if re.match(r"\S+:\d+:\d+: |\S+:\d+: |In file included", line) or line[:1].strip():
            skip = internal and "error" not in line
        if not skip:
            kept.append(line.replace(f"{INCLUDE}/", ""))
    text = "\n".join(kept).strip() or log.strip()
    lacking = []
    for found in _UNKNOWN.finditer(log):
        name = next(group for group in found.groups() if group)
        if _LACKING.match(name) and name not in lacking:
            lacking.append(name)
    notes = [
        f"{name}: devices of compute capability 7.0 and higher have {name}_sync in its place."
        if _REMOVED.fullmatch(name)
        else f"{name}: if this is CUDA's, nogpu lacks it."
        if name.startswith("__") or name in ("malloc", "free")
        else f"{name}: nogpu lacks it."
        for name in lacking
    ]
    notes += [f"{header}: nogpu lacks this header." for header in absent]
    for name, space in _NO_MEMBER.findall(log):
        notes.append(f"{space}::{name}: nogpu lacks it.")
    if assembles:
        notes.append("Inline PTX (asm): nogpu lacks it.")
    if launches or "<<<" in log:
        notes.append(
            "A launch with <<< >>>: nogpu lacks it in host code, and takes it in kernels, as nvcc "
            "does, with the option -rdc=true."
        )
    message = "\n".join([text, *notes])
    return CompileError(message, text)
