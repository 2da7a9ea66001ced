"""CUDA's driver interface, as far as the simulator has it."""

from __future__ import annotations

from nogpu import engine

from . import _contexts
from ._errors import CUDADriverError  # noqa: F401
from ._errors import driver_error as _error  # noqa: F401


def get_build_version() -> int:
    """The version of CUDA whose language the simulator takes."""
    return engine.limits.CUDA_VERSION


def ctxGetCurrent() -> int:
    """The handle of the current context."""
    if not (_contexts.state.used or _contexts.state.stack):
        _contexts.set_device()
    return _contexts.current()


def ctxGetDevice() -> int:
    """The current device."""
    return _contexts.state.device


globals().update({f"CU_FUNC_ATTRIBUTE_{name}": number for number, name in enumerate("""
    MAX_THREADS_PER_BLOCK SHARED_SIZE_BYTES CONST_SIZE_BYTES LOCAL_SIZE_BYTES NUM_REGS PTX_VERSION
    BINARY_VERSION CACHE_MODE_CA MAX_DYNAMIC_SHARED_SIZE_BYTES PREFERRED_SHARED_MEMORY_CARVEOUT
""".split())})
