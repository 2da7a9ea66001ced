"""The errors of CUDA's two interfaces, by name: numbers and texts as CUDA 13 gives them."""

from __future__ import annotations

import re

from nogpu import engine

# Number, the runtime's name after "cudaError", and the text; last the driver's name after
# "CUDA_ERROR_" where it is not the same in capitals ("" for none).
_ERRORS = (
    (1, "InvalidValue", "invalid argument"),
    (2, "MemoryAllocation", "out of memory", "OUT_OF_MEMORY"),
    (3, "InitializationError", "initialization error", "NOT_INITIALIZED"),
    (9, "InvalidConfiguration", "invalid configuration argument", ""),
    (21, "InvalidMemcpyDirection", "invalid copy direction for memcpy", ""),
    (98, "InvalidDeviceFunction", "invalid device function", ""),
    (100, "NoDevice", "no CUDA-capable device is detected"),
    (101, "InvalidDevice", "invalid device ordinal"),
    (200, "", "device kernel image is invalid", "INVALID_IMAGE"),
    (201, "", "invalid device context", "INVALID_CONTEXT"),
    (301, "", "file not found", "FILE_NOT_FOUND"),
    (400, "InvalidResourceHandle", "invalid resource handle", "INVALID_HANDLE"),
    (401, "IllegalState", "the operation cannot be performed in the present state"),
    (500, "", "named symbol not found", "NOT_FOUND"),
    (600, "NotReady", "device not ready"),
    (700, "IllegalAddress", "an illegal memory access was encountered"),
    (701, "", "too many resources requested for launch", "LAUNCH_OUT_OF_RESOURCES"),
    (704, "PeerAccessAlreadyEnabled", "peer access is already enabled"),
    (705, "PeerAccessNotEnabled", "peer access has not been enabled"),
    (712, "HostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped", ""),
    (713, "HostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region", ""),
    (719, "LaunchFailure", "unspecified launch failure", "LAUNCH_FAILED"),
    (720, "", "too many blocks in cooperative launch", "COOPERATIVE_LAUNCH_TOO_LARGE"),
    (800, "NotPermitted", "operation not permitted"),
    (801, "NotSupported", "operation not supported"),
    (900, "StreamCaptureUnsupported", "operation not permitted when stream is capturing"),
    (901, "StreamCaptureInvalidated", "operation failed due to a previous error during capture"),
    (902, "StreamCaptureMerge", "operation would result in a merge of separate capture sequences"),
    (903, "StreamCaptureUnmatched", "capture was not ended in the same stream as it began"),
    (904, "StreamCaptureUnjoined", "capturing stream has unjoined work"),
    (905, "StreamCaptureIsolation", "dependency created on uncaptured work in another stream"),
    (906, "StreamCaptureImplicit",
     "operation would make the legacy stream depend on a capturing blocking stream"),
    (907, "CapturedEvent",
     "operation not permitted on an event last recorded in a capturing stream"),
    (908, "StreamCaptureWrongThread",
     "attempt to terminate a thread-local capture sequence from another thread"),
    (999, "Unknown", "unknown error"),
)  # fmt: skip
# name: (number, text)
RUNTIME = {"cudaSuccess": (0, "no error")}
DRIVER = {"CUDA_SUCCESS": (0, "no error")}
for _number, _name, _text, *_other in _ERRORS:
    if _name:
        RUNTIME[f"cudaError{_name}"] = _number, _text
    _driver = _other[0] if _other else re.sub(r"\B([A-Z])", r"_\1", _name).upper()
    if _driver:
        DRIVER[f"CUDA_ERROR_{_driver}"] = _number, _text


def _say_status(error: RuntimeError, status: int) -> None:
    error.status = int(status)
    name, text = f"error {error.status}", "unrecognized error code"
    for one, (number, meaning) in error._table.items():
        if number == error.status:
            name, text = one, meaning
    RuntimeError.__init__(error, f"{name}: {text}")


def _reduce(error: RuntimeError) -> tuple:
    return (type(error), (error.status,))


class CUDARuntimeError(RuntimeError):
    """A call of the runtime failed; ``status`` is CUDA's number for it."""

    __module__ = "cupy_backends.cuda.api.runtime"
    __init__, __reduce__, _table = _say_status, _reduce, RUNTIME


class CUDADriverError(RuntimeError):
    """A call of the driver failed; ``status`` is CUDA's number for it."""

    __module__ = "cupy_backends.cuda.api.driver"
    __init__, __reduce__, _table = _say_status, _reduce, DRIVER


def runtime_error(name: str) -> CUDARuntimeError:
    """The exception of an error's name, e.g. ``cudaErrorInvalidValue``."""
    return CUDARuntimeError(RUNTIME[name][0])


def noted(error: Exception, reason: object) -> Exception:
    """The error with what the simulator knows of its reason as a note."""
    error.__notes__ = [f"nogpu: {reason}"]
    return error


def launch_error(error: engine.StreamError) -> CUDADriverError:
    """What a launch says of a stream that the engine refuses."""
    return CUDADriverError(RUNTIME[error.code][0])


def driver_error(name: str) -> CUDADriverError:
    """The exception of an error's name, e.g. ``CUDA_ERROR_INVALID_VALUE``."""
    return CUDADriverError(DRIVER[name][0])
