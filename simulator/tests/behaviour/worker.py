"""Runs programs one after another in this process and reports each on standard output.

What is wanted comes as JSON on standard input: the library, and the programs' names or "all", the
library's public names. Every report is one line of JSON: first {"ready": ...} with the versions, or
{"absent": reason}; then one per program. What a program prints, on the device too, goes to a file
that is read back.

PyCUDA's programs share the primary context with CuPy; one that is alone begins with an untouched
driver. On the simulator programs that are alone fork from one process that has done the imports.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import platform
import re
import sys
import tempfile
import warnings

from machine import use_libraries

import nogpu

from .collect import programs

PATH = re.compile(r"(?<![\w.])(?:/[\w.+-]+){2,}")
SUGGESTION = re.compile(r"\. Did you mean:? '[^']*'\?$")  # Python's own, from 3.13 on
ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{5,}\b")

MODULES = {
    "cupy": (
        "cupy",
        "cupyx",
        "cupy.cuda",
        "cupy.linalg",
        "cupy.fft",
        "cupy.random",
        "cupy.lib.stride_tricks",
        "cupyx.profiler",
        "cupy.cuda.compiler",
        "cupy.cuda.device",
        "cupy.cuda.function",
        "cupy.cuda.graph",
        "cupy.cuda.memory",
        "cupy.cuda.memory_hooks",
        "cupy.cuda.memory_hooks.debug_print",
        "cupy.cuda.pinned_memory",
        "cupy.cuda.profiler",
        "cupy.cuda.stream",
        "cupy.lib",
        "cupy.polynomial",
        "cupy.polynomial.polynomial",
        "cupy.polynomial.polyutils",
        "cupy.testing",
        "cupy_backends.cuda.api.driver",
        "cupy_backends.cuda.api.runtime",
        "cupy_backends.cuda.libs",
        "cupy_backends.cuda.libs.nvrtc",
        "cupyx.scipy",
        "cupyx.scipy.ndimage",
        "cupyx.scipy.signal",
        "cupyx.scipy.sparse",
        "cupyx.scipy.special",
    ),
    "pycuda": (
        "pycuda",
        "pycuda._driver",
        "pycuda.autoprimaryctx",
        "pycuda.characterize",
        "pycuda.compiler",
        "pycuda.cumath",
        "pycuda.curandom",
        "pycuda.driver",
        "pycuda.elementwise",
        "pycuda.gpuarray",
        "pycuda.reduction",
        "pycuda.scan",
        "pycuda.tools",
    ),
}
# What programs that are alone find imported; the driver is untouched then.
BEFORE_FORKING = {
    "cupy": ("cupy",),
    "pycuda": ("cupy", "pycuda.driver", "pycuda.gpuarray", "pycuda.compiler"),
}
CLASSES = {
    "cupy": (
        "ndarray", "ufunc", "RawKernel", "RawModule", "ElementwiseKernel", "ReductionKernel",
    ),
    "cupy.cuda": (
        "Device", "Stream", "ExternalStream", "Event", "Graph", "MemoryPool", "PinnedMemoryPool",
        "MemoryPointer", "UnownedMemory", "Function", "Module",
    ),
    "cupy.random": ("RandomState", "Generator"),
    "pycuda.driver": (
        "Device", "Context", "Stream", "Event", "Function", "Module", "DeviceAllocation",
        "PooledDeviceAllocation", "PagelockedHostAllocation", "ManagedAllocation",
        "PointerHolderBase", "CompileError", "In", "InOut", "Memcpy2D", "device_attribute",
        "function_attribute", "ctx_flags", "event_flags", "host_alloc_flags", "mem_attach_flags",
        "func_cache", "limit", "DeviceMemoryPool", "PageLockedMemoryPool",
    ),
    "pycuda.compiler": ("SourceModule", "DynamicSourceModule"),
    "pycuda.gpuarray": ("GPUArray", "vec"),
    "pycuda.elementwise": ("ElementwiseKernel",),
    "pycuda.reduction": ("ReductionKernel",),
    "pycuda.tools": ("DeviceMemoryPool", "PageLockedMemoryPool", "DeviceData"),
}


def normal(text: str) -> str:
    """Replace what differs from machine to machine: paths with their lines, addresses."""
    text = PATH.sub("<path>", text)
    text = re.sub(r"(<path>[^\n]{0,4}?(?:line |:|\())\d+", r"\1<line>", text)
    return ADDRESS.sub("<address>", text)


def name_of(kind: type) -> str:
    """Return module.Type, without the module for a builtin."""
    if kind.__module__ == "builtins":
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def describe(error: BaseException) -> str:
    """Say an exception as it is recorded. A compiler's log belongs to the compiler: left out."""
    name = name_of(type(error))
    if name.endswith((".CompileException", ".CompileError")):
        return f"{name}: (the compiler's log)"
    text = SUGGESTION.sub("", f"{name}: {error}")
    return normal(text).rstrip(": ")


def show_warning(message, category, *_):
    """Print a warning where it happens: it is a part of the behaviour."""
    print(f"{name_of(category)}: {normal(str(message))}")


class Capture:
    """Collects what is written to file descriptor 1, by Python or by the device's printf."""

    def __init__(self):
        self._file = tempfile.TemporaryFile()
        os.dup2(self._file.fileno(), 1)
        try:  # the device's printf goes through C's stdout: it must not wait in a buffer there
            libc = ctypes.CDLL(None)
            libc.setvbuf(ctypes.c_void_p.in_dll(libc, "stdout"), None, 2, 0)
            self._flush_c = libc.fflush
        except (OSError, TypeError, AttributeError, ValueError):
            self._flush_c = None

    def take(self) -> str:
        """Return what was written since the last call."""
        sys.stdout.flush()
        if self._flush_c is not None:
            self._flush_c(None)
        self._file.seek(0)
        text = self._file.read().decode(errors="replace")
        self._file.seek(0)
        self._file.truncate()
        return text


def open_backend(library: str) -> dict[str, str]:
    """Import the real libraries where a GPU answers, the simulator's faces elsewhere.

    Raises
    ------
    Exception
        Of any kind, where neither is there.
    """
    use_libraries()
    # Eight programs show what a GPU does where order between streams is missing.
    nogpu.checks(order=False)
    versions = {}
    if library == "pycuda":
        import pycuda.autoprimaryctx

        versions = {"pycuda": pycuda.VERSION_TEXT}
    import cupy
    import numpy

    device = cupy.cuda.runtime.getDeviceProperties(0)
    capability = f"{device['major']}.{device['minor']}"
    cupy.arange(2).sum().item()
    return {
        "device": device["name"].decode(),
        "compute_capability": capability,
        "cupy": cupy.__version__,
        "cuda_runtime": str(cupy.cuda.runtime.runtimeGetVersion()),
        "cuda_driver": str(cupy.cuda.runtime.driverGetVersion()),
        "numpy": numpy.__version__,
        "python": platform.python_version(),
        **versions,
    }


def public_names(library: str) -> dict[str, list[str]]:
    """Return `dir()` of the library's modules and classes above, public names only."""
    found = {}
    for module in MODULES[library]:
        try:
            found[module] = dir(importlib.import_module(module))
        except Exception as error:  # a part of the library that cannot work on this machine
            print(f"{module} cannot be imported: {describe(error)}", file=sys.stderr)
    for module, classes in CLASSES.items():
        for name in classes if module in found else ():
            kind = getattr(importlib.import_module(module), name, None)
            if kind is not None:
                found[f"{module}.{name}"] = dir(kind)
    return {
        key: sorted(one for one in names if not one.startswith("_"))
        for key, names in found.items()
    }


def broken_context(library: str) -> str:
    """Put the device back as a program expects it; say what is wrong if that fails."""
    import cupy

    if library == "pycuda":
        import pycuda.autoprimaryctx
        import pycuda.driver

        if pycuda.driver.Context.get_current() != pycuda.autoprimaryctx.context:
            return "another context is current"

    try:
        cupy.cuda.Stream.null.use()
        cupy.cuda.set_allocator(cupy.get_default_memory_pool().malloc)
        cupy.cuda.runtime.deviceSynchronize()
    except Exception as error:
        return describe(error)
    return ""


def run(program, capture: Capture, untouched: bool = False) -> dict:
    """Run one program in a fresh namespace; return its report."""
    report = {"name": program.name, "error": ""}
    final = ""
    capture.take()
    namespace = {"__name__": f"behaviour_{program.chapter}", "__file__": str(program.path)}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = show_warning
            exec(program.code(), namespace)
    except Exception as error:
        report["error"] = type(error).__name__
        final = describe(error) + "\n"
        error.__traceback__ = None
    namespace.clear()
    gc.collect()
    broken = "" if untouched else broken_context(program.library)
    report["output"] = (normal(capture.take()) + final).splitlines() or ["(no output)"]
    report["broken"] = broken
    return report


def main() -> None:
    """Answer on the original standard output; run what standard input asks for."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    capture = Capture()
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", buffering=1)

    def say(message):
        print(json.dumps(message), file=answers, flush=True)

    wanted = json.load(sys.stdin)
    library, untouched = wanted["library"], wanted["untouched"]
    versions = {}
    try:
        if wanted["simulator"]:
            nogpu.install()
            for module in BEFORE_FORKING[library]:
                importlib.import_module(module)
        if not untouched and not wanted["fork"]:
            versions = open_backend(library)
    except Exception as error:
        say({"absent": describe(error)})
        return
    say({"ready": versions})
    if wanted["names"] == "all":
        say({"names": public_names(library)})
        return
    known = {program.name: program for program in programs(library)}
    gc.collect()
    gc.freeze()  # so that collecting after a program looks at what the program made, and no more
    for name in wanted["names"]:
        if wanted["fork"]:
            child = os.fork()
            if child:
                status = os.waitpid(child, 0)[1]
                if status:
                    os._exit(os.waitstatus_to_exitcode(status) & 255)
                continue
            if not untouched:
                open_backend(library)
        report = run(known[name], capture, untouched)
        say(report)
        if wanted["fork"] or report["broken"]:  # what follows would only see the same error again
            break
    answers.flush()
    os._exit(0)  # no clean-up of a context that may be broken or still busy


if __name__ == "__main__":
    main()
