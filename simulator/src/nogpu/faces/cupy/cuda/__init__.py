"""CUDA's devices, streams, memory and compiler, as the simulator has them."""

# ruff: noqa: F401, F403 -- names that CuPy has here
from __future__ import annotations

import contextlib
import sys as _sys
import warnings

from cupy._environment import get_cuda_path, get_hipcc_path, get_nvcc_path, get_rocm_path
from cupy_backends.cuda.api import driver, runtime
from cupy_backends.cuda.libs import nvrtc

from nogpu.faces import missing as _missing

from . import memory_hooks, nvtx, profiler
from .device import Device, get_device_id
from .graph import Graph
from .memory import *
from .memory_hook import MemoryHook
from .pinned_memory import *
from .stream import Event, ExternalStream, Stream, get_current_stream, get_elapsed_time

_sys.modules[f"{__name__}.runtime"] = runtime  # for `import cupy.cuda.runtime`
# Found when they are asked for: what compiles and launches kernels.
_LAZY = {"compiler": "cupy.cuda.compiler"} | dict.fromkeys(
    ("function", "Function", "Module"), "cupy.cuda.function")


__getattr__ = _missing.missing(__name__, _LAZY)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})


def is_available() -> bool:
    """Whether there is a device: the simulator's is always there."""
    return runtime.getDeviceCount() > 0


def get_local_runtime_version() -> int:
    """The version of CUDA whose language the simulator takes."""
    return runtime._getLocalRuntimeVersion()


@contextlib.contextmanager
def profile():
    """Let a profiler look at a block; `cupyx.profiler.profile` is its new name."""
    warnings.warn(
        "cupy.cuda.profile has been deprecated since CuPy v10 and will be removed in the "
        "future. Use cupyx.profiler.profile instead.",
        stacklevel=3,
    )
    profiler.start()
    try:
        yield
    finally:
        profiler.stop()
