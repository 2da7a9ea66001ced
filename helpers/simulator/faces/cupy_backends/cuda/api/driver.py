"""CUDA's driver interface, as far as the simulator has it."""

from __future__ import annotations

from . import _errors


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
