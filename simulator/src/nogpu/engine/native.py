"""The runtime library: built once per compiler and version of its source, then loaded."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import platform
import shlex
import tempfile
import threading
from ctypes import POINTER, c_char_p, c_int, c_int64, c_uint32, c_uint64, c_void_p
from functools import lru_cache
from pathlib import Path

from . import cache, compiler, devices, forking, limits, records
from .errors import EngineError, RuntimeUnavailable

_FUNCTIONS = {
    "cs_start": (c_int, [c_int, c_uint64, c_uint64, c_int]),
    "cs_allocate": (c_uint64, [c_uint64, c_int, c_int]),
    "cs_free": (c_int, [c_uint64, c_int]),
    "cs_reserve": (c_uint64, [c_uint64, c_uint64, c_int]),
    "cs_unreserve": (c_int, [c_uint64]),
    "cs_place": (None, [c_uint64, c_uint64, c_uint64, c_int]),
    "cs_extend": (c_int, [c_uint64, c_uint64, c_uint64]),
    "cs_displace": (c_int, [c_uint64]),
    "cs_lookup": (c_int, [c_uint64, POINTER(c_uint64), POINTER(c_uint64)]),
    "cs_mark_written": (None, [c_uint64, c_uint64]),
    "cs_memory": (None, [c_int, POINTER(c_uint64), POINTER(c_uint64)]),
    "cs_library": (c_void_p, [c_void_p, c_uint64, c_uint64, c_void_p, c_uint64, c_uint64,
                              c_uint64, c_uint64, c_uint64]),
    "cs_pinned_allocate": (c_uint64, [c_uint64, POINTER(c_int64)]),
    "cs_pinned_free": (None, [c_uint64]),
    "cs_protect_pinned": (None, [c_uint64, c_uint64, c_int]),
    "cs_shadow": (None, [c_void_p]),
    "cs_submit": (c_void_p, [POINTER(records.LaunchRequest)]),
    "cs_wait": (c_int, [c_void_p, c_int]),
    "cs_cancel": (None, [c_void_p]),
    "cs_result": (None, [c_void_p, POINTER(records.FaultRecord), POINTER(c_char_p),
                         POINTER(c_uint64)]),
    "cs_release": (None, [c_void_p]),
    "cs_counters": (None, [c_void_p, c_void_p, POINTER(c_uint64), c_void_p,
                           POINTER(c_uint64), POINTER(records.CounterTotals)]),
    "cs_wait_nodes": (c_int, [c_void_p, c_int, c_int]),
    "cs_next_python": (c_uint64, [c_uint64, c_int]),
    "cs_queue_copy": (c_int, [POINTER(records.Place), c_int, POINTER(records.Rows), c_int]),
}  # fmt: skip
# Of streams, and so short that giving up the interpreter for them would cost more than they do.
# The runtime never waits for the interpreter while it holds the lock that they take.
_SHORT_FUNCTIONS = {
    "cs_stream": (c_void_p, [c_uint64, c_int, c_int, c_int]),
    "cs_stream_end": (None, [c_void_p]),
    "cs_event": (c_void_p, []),
    "cs_event_end": (None, [c_void_p]),
    "cs_event_state": (c_int, [c_void_p, POINTER(c_int64), POINTER(c_uint64)]),
    "cs_queue_kernel": (c_int, [POINTER(records.Place), POINTER(records.LaunchRequest)]),
    "cs_queue_fill": (None, [POINTER(records.Place), c_uint64, c_uint32, c_uint64, c_uint32]),
    "cs_queue_python": (None, [POINTER(records.Place)]),
    "cs_queue_join": (None, [POINTER(records.Place), c_void_p, c_int]),
    "cs_queue_record": (None, [POINTER(records.Place), c_void_p]),
    "cs_queue_wait": (None, [POINTER(records.Place), c_void_p]),
    "cs_last_nodes": (c_int, [c_void_p, c_int, c_void_p, c_int]),
    "cs_apart": (None, [c_uint32, c_void_p, c_int]),
    "cs_take_order_conflicts": (c_int, [POINTER(records.OrderConflict), c_int]),
    "cs_take_touches": (c_int, [POINTER(records.Touch)]),
    "cs_fault_of": (c_uint64, [c_void_p]),
    "cs_take_fault": (c_int, [c_uint64, POINTER(records.FaultRecord)]),
    "cs_printed": (c_uint64, [c_void_p, c_uint64]),
    "cs_released": (c_int, [c_void_p, c_int]),
    "cs_stop_python": (None, [c_int]),
    "cs_drop_everything": (c_int, []),
    "cs_record_spans": (None, [c_int]),
    "cs_spans": (c_int, [POINTER(records.Span), c_int]),
}  # fmt: skip

_RUNTIME_FLAGS = [
    "-std=c++17", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-exceptions",
    "-fno-strict-aliasing", "-fno-stack-protector", "-U_FORTIFY_SOURCE", "-fomit-frame-pointer",
]  # fmt: skip
_lock = forking.held("runtime", threading.RLock())
_loading = forking.held("loading", threading.RLock())
_loaded: ctypes.CDLL | None = None
_short: ctypes.PyDLL | None = None
_failure: RuntimeUnavailable | None = None
_loads = itertools.count(1)


@lru_cache(maxsize=1)
def engine_version() -> str:
    """A digest of all that shapes an entry of the cache and is not in its key otherwise."""
    native = compiler.INCLUDE.parent
    files = sorted(path for path in native.rglob("*") if path.is_file())
    files += [Path(__file__).with_name(name) for name in ("symbols.py", "unset.py")]
    return cache.key(*[(str(file.relative_to(native.parent)), file.read_bytes()) for file in files])


class _Unfit(Exception):
    """A place from which no library can be loaded, whatever it holds: the message says why."""


def load_library(data: bytes, mode: int = os.RTLD_LOCAL) -> ctypes.CDLL:
    """Load a library from bytes, under a name of its own.

    The loader takes two loads of one path for one library, and then they would share their
    variables.

    Raises
    ------
    OSError
        With the loader's words, where the library is at fault.
    RuntimeUnavailable
        Where neither a file nor memory may hold code.
    """
    reasons = []
    for load in (_load_from_file, _load_from_memory):
        try:
            return load(data, mode)
        except _Unfit as error:
            reasons.append(str(error))
    raise RuntimeUnavailable(
        f"Compiled kernels cannot be loaded: {'; '.join(reasons)}. Let NOGPU_CACHE_DIR name a "
        "folder on a file system from which programs may run"
    )


def _load_from_file(data: bytes, mode: int) -> ctypes.CDLL:
    """From a file in the cache's folder that is gone afterwards."""
    path = None
    try:
        folder = cache.directory()
        if os.statvfs(folder).f_flag & os.ST_NOEXEC:
            raise _Unfit(f"{folder} is on a file system that is mounted noexec")
        handle, path = tempfile.mkstemp(dir=folder, prefix="load-", suffix=".so")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        return _open_library(path, mode)
    except EngineError as error:
        raise _Unfit(str(error)) from None
    except OSError as error:
        if error.errno is None:  # the loader's
            raise
        raise _Unfit(str(error)) from None
    finally:
        if path is not None:
            with contextlib.suppress(OSError):
                os.unlink(path)


def _load_from_memory(data: bytes, mode: int) -> ctypes.CDLL:
    """From memory that has a descriptor, where no folder will do."""
    try:
        with open(os.memfd_create("nogpu"), "wb") as file:
            file.write(data)
            file.flush()
            # Descriptors get the same number again: the path is spelled differently each time.
            spelling = "".join("./" if bit == "0" else ".//" for bit in f"{next(_loads):b}")
            return _open_library(f"/proc/self/fd/{spelling}{file.fileno()}", mode)
    except OSError as error:
        if error.errno is None:  # the loader's
            raise
        raise _Unfit(f"memory: {error}") from None


def _open_library(path: str, mode: int) -> ctypes.CDLL:
    try:
        with _loading:
            return ctypes.CDLL(path, mode=mode | os.RTLD_NOW)
    except OSError as error:
        # Also where the mount's options do not tell: a security module may forbid it.
        if "failed to map segment" in str(error) or "Operation not permitted" in str(error):
            raise _Unfit(str(error)) from None
        raise


def _compile_runtime(found: compiler.Compiler) -> bytes:
    """Run the compiler on the runtime and return the library that it wrote."""
    source = [*_RUNTIME_FLAGS, "-x", "c++", str(compiler.RUNTIME / "runtime.cpp"), "-lpthread"]
    try:
        with tempfile.TemporaryDirectory(prefix="nogpu-") as folder:
            output = Path(folder) / "library.so"
            status, log = found.run([*source, "-o", str(output)])
            if status == 0 and output.exists():
                return output.read_bytes()
    except OSError as error:
        log = str(error)
    lines = [line.strip() for line in log.splitlines() if line.strip()] or ["it gave no reason"]
    first = next((line for line in lines if "error" in line.lower()), lines[0])
    raise RuntimeUnavailable(
        f"nogpu needs a C++ compiler to run kernels, and {shlex.join(found.command)} "
        f"({found.identity}) cannot build its runtime: {first}. Let CXX name another compiler, or "
        f"install one with: {compiler.install_line()}"
    )


def runtime_key(found: compiler.Compiler) -> str:
    """The name of the entry of the cache that holds the runtime."""
    return cache.key("runtime", engine_version(), found.identity, found.command, _RUNTIME_FLAGS,
                     found.machine())  # fmt: skip


def _load_runtime() -> ctypes.CDLL:
    """The runtime from the cache, or compiled anew where the entry is missing or does not load."""
    found = compiler.find()
    name = runtime_key(found)
    entry = cache.load(name)
    if entry is not None:
        with contextlib.suppress(OSError):
            return load_library(entry[1], os.RTLD_GLOBAL)
    data = _compile_runtime(found)
    cache.store(name, {"runtime": engine_version()}, data)
    try:
        return load_library(data, os.RTLD_GLOBAL)
    except OSError as error:
        raise RuntimeUnavailable(
            f"nogpu's runtime, built by {shlex.join(found.command)} ({found.identity}), "
            f"cannot be loaded: {error}. Let CXX name a compiler for this machine "
            f"({platform.machine()})"
        ) from None


def runtime() -> ctypes.CDLL:
    """The loaded runtime; the first call on a machine compiles it (a second or two).

    Raises
    ------
    RuntimeUnavailable
        If it cannot be built or loaded; then each call raises the same, since arrays may be in
        memory by now that kernels do not reach.
    """
    global _loaded, _short, _failure
    if _loaded is not None:
        return _loaded
    with _lock:
        if _loaded is not None:
            return _loaded
        if _failure is not None:
            raise RuntimeUnavailable(
                f"{_failure}. This process has gone on without: start Python again after that"
            )
        try:
            library = _load_runtime()
            for function, (result, arguments) in _FUNCTIONS.items():
                getattr(library, function).restype = result
                getattr(library, function).argtypes = arguments
            workers = int(os.environ.get("NOGPU_WORKERS", "0")) or limits.worker_count()
            # What is left is for the workers' stacks and all else.
            addresses = limits.address_space() // 4 * 3
            memory = limits.device_memory()
            if library.cs_start(workers, memory, addresses, devices.count) != 0:
                raise RuntimeUnavailable(
                    "The system grants no address space for the simulated device's memory "
                    "(see ulimit -v)"
                )
        except RuntimeUnavailable as error:
            _failure = error
            raise
        _short = ctypes.PyDLL(library._name, handle=library._handle)
        for function, (result, arguments) in _SHORT_FUNCTIONS.items():
            getattr(_short, function).restype = result
            getattr(_short, function).argtypes = arguments
        _loaded = library
        return library


def short() -> ctypes.PyDLL:
    """The runtime again, for the short calls of streams, which keep the interpreter."""
    if _short is None:
        runtime()
    return _short
