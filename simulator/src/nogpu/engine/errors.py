"""Errors of the engine that are not faults of a running kernel."""

from __future__ import annotations


class EngineError(Exception):
    """Base of all that the engine raises on its own account."""


class RuntimeUnavailable(EngineError):
    """The part that runs kernels cannot be built or loaded here: the message says why.

    Arrays work all the same.
    """


class CompilerNotFound(RuntimeUnavailable):
    """No C++ compiler on this machine: the message says how to get one."""


class LoadError(EngineError):
    """A compiled library cannot be loaded into this process."""


class CompileError(EngineError):
    """The source did not compile.

    Attributes
    ----------
    log : str
        What the compiler said, with the learner's own line numbers.
    """

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log


class OptionError(CompileError):
    """A compiler option that neither NVRTC nor nvcc has, or that the simulator cannot honour."""


class KernelNotFound(EngineError):
    """The module has no kernel, or no variable, of this name."""


class InvalidLaunch(EngineError):
    """A grid, block, amount of shared memory or argument list that a device would refuse.

    Attributes
    ----------
    code : str
        The CUDA driver's name for the error, e.g. ``"CUDA_ERROR_INVALID_VALUE"``.
    """

    def __init__(self, message: str, code: str = "CUDA_ERROR_INVALID_VALUE") -> None:
        super().__init__(message)
        self.code = code


class OutOfMemory(EngineError, MemoryError):
    """The device's memory is full, or has no free piece of this size.

    Attributes
    ----------
    requested, used, capacity : int
        Bytes.
    """

    def __init__(self, requested: int, used: int, capacity: int) -> None:
        text = f"out of memory: {requested:,} bytes requested, {used:,} of {capacity:,} in use"
        if requested <= capacity - used:
            text += ", and no piece of the rest is as large"
        super().__init__(text)
        self.requested, self.used, self.capacity = requested, used, capacity


class InvalidAddress(EngineError, ValueError):
    """A copy, set or view that leaves the allocation it begins in, or begins in none."""


class StreamError(EngineError):
    """A stream, an event or a capture was used in a way that CUDA refuses.

    Attributes
    ----------
    code : str
        The runtime's name for the error, e.g. ``"cudaErrorStreamCaptureUnsupported"``.
    """

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code
