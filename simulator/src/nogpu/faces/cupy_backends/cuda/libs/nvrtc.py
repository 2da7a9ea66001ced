"""NVRTC's place: the engine compiles with the host's C++ compiler instead."""

from __future__ import annotations

from nogpu import engine

_TEXTS = dict(enumerate("""
    NVRTC_SUCCESS NVRTC_ERROR_OUT_OF_MEMORY NVRTC_ERROR_PROGRAM_CREATION_FAILURE
    NVRTC_ERROR_INVALID_INPUT NVRTC_ERROR_INVALID_PROGRAM NVRTC_ERROR_INVALID_OPTION
    NVRTC_ERROR_COMPILATION
""".split()))


class NVRTCError(RuntimeError):
    """NVRTC refused or failed; ``status`` is its number."""

    def __init__(self, status: int) -> None:
        self.status = status
        text = _TEXTS.get(status, "NVRTC_ERROR unknown")
        super().__init__(f"{text} ({status})")

    def __reduce__(self) -> tuple:
        return (type(self), (self.status,))


def getVersion() -> tuple[int, int]:
    """The CUDA version whose language the simulator takes."""
    return divmod(engine.limits.CUDA_VERSION // 10, 100)


def getSupportedArchs() -> list[int]:
    """The compute capabilities that can be compiled for: the simulated device's."""
    major, minor = engine.limits.COMPUTE_CAPABILITY
    return [10 * major + minor]
