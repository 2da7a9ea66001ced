"""CUDA's driver interface, as far as the simulator has it."""

from __future__ import annotations

from nogpu import engine

from . import _contexts, _errors


class CUDADriverError(RuntimeError):
    """A call of the driver failed; ``status`` is CUDA's number for it."""

    def __init__(self, status: int) -> None:
        self.status = int(status)
        name, text = _errors.by_number(_errors.DRIVER, self.status)
        super().__init__(f"{name}: {text}")

    def __reduce__(self) -> tuple:
        return (type(self), (self.status,))


def _error(name: str) -> CUDADriverError:
    """The exception of an error's name, e.g. ``CUDA_ERROR_INVALID_VALUE``."""
    return CUDADriverError(_errors.DRIVER[name][0])


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
