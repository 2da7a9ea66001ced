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
    if not _contexts.state.used:
        _contexts.set_device()
    return _contexts.current()


def ctxGetDevice() -> int:
    """The current device."""
    return 0


CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0
CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1
CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES = 2
CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3
CU_FUNC_ATTRIBUTE_NUM_REGS = 4
CU_FUNC_ATTRIBUTE_PTX_VERSION = 5
CU_FUNC_ATTRIBUTE_BINARY_VERSION = 6
CU_FUNC_ATTRIBUTE_CACHE_MODE_CA = 7
CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 9
