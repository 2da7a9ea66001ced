"""The runtime library: built once per compiler and version of its source, then loaded."""

from __future__ import annotations

import contextlib
import ctypes
import os
import tempfile
import threading
from ctypes import c_char_p, c_int, c_int64, c_uint32, c_uint64, c_void_p
from functools import lru_cache
from pathlib import Path

from . import cache, compiler, limits
from .errors import CompileError, EngineError
from .records import CounterTotals, FaultRecord, LaunchRequest, Place, Rows, Span

_FUNCTIONS = {
    "cs_start": (c_int, [c_int, c_uint64]),
    "cs_allocate": (c_uint64, [c_uint64, c_int]),
    "cs_free": (c_int, [c_uint64]),
    "cs_reserve": (c_uint64, [c_uint64, c_uint64]),
    "cs_unreserve": (c_int, [c_uint64]),
    "cs_place": (None, [c_uint64, c_uint64, c_int]),
    "cs_extend": (c_int, [c_uint64, c_uint64]),
    "cs_displace": (c_int, [c_uint64]),
    "cs_lookup": (c_int, [c_uint64, ctypes.POINTER(c_uint64), ctypes.POINTER(c_uint64)]),
    "cs_mark_written": (None, [c_uint64, c_uint64]),
    "cs_memory": (None, [ctypes.POINTER(c_uint64)] * 4),
    "cs_library": (c_void_p, [c_void_p, c_uint64, c_uint64, c_void_p, c_uint64, c_uint64,
                              c_uint64, c_uint64, c_uint64]),
    "cs_submit": (c_void_p, [ctypes.POINTER(LaunchRequest)]),
    "cs_wait": (c_int, [c_void_p, c_int]),
    "cs_cancel": (None, [c_void_p]),
    "cs_result": (None, [c_void_p, ctypes.POINTER(FaultRecord), ctypes.POINTER(c_char_p),
                         ctypes.POINTER(c_uint64)]),
    "cs_release": (None, [c_void_p]),
    "cs_counters": (None, [c_void_p, c_void_p, ctypes.POINTER(c_uint64), c_void_p,
                           ctypes.POINTER(c_uint64), ctypes.POINTER(CounterTotals)]),
    "cs_wait_nodes": (c_int, [c_void_p, c_int, c_int]),
    "cs_next_python": (c_uint64, [c_uint64, c_int]),
    "cs_queue_copy": (c_int, [ctypes.POINTER(Place), c_int, ctypes.POINTER(Rows), c_int]),
}  # fmt: skip
# Of streams, and so short that giving up the interpreter for them would cost more than they do.
# The runtime never waits for the interpreter while it holds the lock that they take.
_SHORT_FUNCTIONS = {
    "cs_stream": (c_void_p, [c_uint64, c_int]),
    "cs_stream_end": (None, [c_void_p]),
    "cs_event": (c_void_p, []),
    "cs_event_end": (None, [c_void_p]),
    "cs_event_state": (c_int, [c_void_p, ctypes.POINTER(c_int64), ctypes.POINTER(c_uint64)]),
    "cs_queue_kernel": (c_int, [ctypes.POINTER(Place), ctypes.POINTER(LaunchRequest)]),
    "cs_queue_fill": (None, [ctypes.POINTER(Place), c_uint64, c_uint32, c_uint64, c_uint32]),
    "cs_queue_python": (None, [ctypes.POINTER(Place)]),
    "cs_queue_join": (None, [ctypes.POINTER(Place), c_void_p, c_int]),
    "cs_queue_record": (None, [ctypes.POINTER(Place), c_void_p]),
    "cs_queue_wait": (None, [ctypes.POINTER(Place), c_void_p]),
    "cs_last_nodes": (c_int, [c_void_p, c_int, c_void_p, c_int]),
    "cs_fault_of": (c_uint64, [c_void_p]),
    "cs_take_fault": (c_int, [c_uint64, ctypes.POINTER(FaultRecord)]),
    "cs_printed": (c_uint64, [c_void_p, c_uint64]),
    "cs_released": (c_int, [c_void_p, c_int]),
    "cs_stop_python": (None, [c_int]),
    "cs_drop_everything": (c_int, []),
    "cs_record_spans": (None, [c_int]),
    "cs_spans": (c_int, [ctypes.POINTER(Span), c_int]),
}  # fmt: skip

_RUNTIME_FLAGS = [
    "-std=c++17", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-exceptions",
    "-fno-strict-aliasing", "-fno-stack-protector", "-U_FORTIFY_SOURCE", "-fno-omit-frame-pointer",
]  # fmt: skip
_lock = threading.Lock()
_loaded: ctypes.CDLL | None = None
_short: ctypes.PyDLL | None = None


@lru_cache(maxsize=1)
def engine_version() -> str:
    """A digest of the headers and the runtime: part of every key of the cache."""
    files = sorted([*compiler.INCLUDE.rglob("*.h"), *compiler.INCLUDE.rglob("*.cuh"),
                    *compiler.RUNTIME.iterdir()])  # fmt: skip
    return cache.key(*[(file.name, file.read_bytes()) for file in files if file.is_file()])


def load_library(data: bytes, mode: int) -> ctypes.CDLL:
    """Load a library from bytes, from a file of its own that is gone afterwards.

    The loader takes two loads of one path for one library, and then they would share their
    variables.
    """
    handle, path = tempfile.mkstemp(dir=cache.directory(), prefix="load-", suffix=".so")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        return ctypes.CDLL(path, mode=mode)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)


def compile_to_bytes(found: compiler.Compiler, arguments: list[str], source: str | None) -> bytes:
    """Run the compiler and return the library that it wrote."""
    with tempfile.TemporaryDirectory(prefix="nogpu-") as folder:
        output = Path(folder) / "library.so"
        status, log = found.run([*arguments, "-o", str(output)], source)
        if status != 0 or not output.exists():
            raise CompileError(f"the compiler failed ({found.identity}):\n{log}", log)
        return output.read_bytes()


def runtime() -> ctypes.CDLL:
    """The loaded runtime; the first call on a machine compiles it (a second or two)."""
    global _loaded
    if _loaded is not None:
        return _loaded
    with _lock:
        if _loaded is not None:
            return _loaded
        found = compiler.find()
        name = cache.key("runtime", engine_version(), found.identity, found.command)
        entry = cache.load(name)
        if entry is None:
            data = compile_to_bytes(
                found,
                [*_RUNTIME_FLAGS, "-x", "c++", str(compiler.RUNTIME / "runtime.cpp"),
                 "-lpthread"],
                None,
            )  # fmt: skip
            cache.store(name, {"runtime": engine_version()}, data)
        else:
            data = entry[1]
        library = load_library(data, os.RTLD_NOW | os.RTLD_GLOBAL)
        for function, (result, arguments) in _FUNCTIONS.items():
            getattr(library, function).restype = result
            getattr(library, function).argtypes = arguments
        workers = int(os.environ.get("NOGPU_WORKERS", "0")) or limits.worker_count()
        if library.cs_start(workers, limits.device_memory()) != 0:
            raise EngineError("no address space for the simulated device's memory")
        global _short
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
