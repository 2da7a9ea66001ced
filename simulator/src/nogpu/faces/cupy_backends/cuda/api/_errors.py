"""The errors of CUDA's two interfaces, by name: numbers and texts as CUDA 13 gives them."""

from __future__ import annotations

from nogpu import engine

# Number, the runtime's name after "cudaError", the driver's after "CUDA_ERROR_", and the text.
_ERRORS = (
    (1, "InvalidValue", "INVALID_VALUE", "invalid argument"),
    (2, "MemoryAllocation", "OUT_OF_MEMORY", "out of memory"),
    (3, "InitializationError", "NOT_INITIALIZED", "initialization error"),
    (9, "InvalidConfiguration", "", "invalid configuration argument"),
    (21, "InvalidMemcpyDirection", "", "invalid copy direction for memcpy"),
    (98, "InvalidDeviceFunction", "", "invalid device function"),
    (100, "NoDevice", "NO_DEVICE", "no CUDA-capable device is detected"),
    (101, "InvalidDevice", "INVALID_DEVICE", "invalid device ordinal"),
    (200, "", "INVALID_IMAGE", "device kernel image is invalid"),
    (201, "", "INVALID_CONTEXT", "invalid device context"),
    (301, "", "FILE_NOT_FOUND", "file not found"),
    (400, "InvalidResourceHandle", "INVALID_HANDLE", "invalid resource handle"),
    (401, "IllegalState", "ILLEGAL_STATE",
     "the operation cannot be performed in the present state"),
    (500, "", "NOT_FOUND", "named symbol not found"),
    (600, "NotReady", "NOT_READY", "device not ready"),
    (700, "IllegalAddress", "ILLEGAL_ADDRESS", "an illegal memory access was encountered"),
    (701, "", "LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"),
    (704, "PeerAccessAlreadyEnabled", "PEER_ACCESS_ALREADY_ENABLED",
     "peer access is already enabled"),
    (705, "PeerAccessNotEnabled", "PEER_ACCESS_NOT_ENABLED",
     "peer access has not been enabled"),
    (712, "HostMemoryAlreadyRegistered", "",
     "part or all of the requested memory range is already mapped"),
    (713, "HostMemoryNotRegistered", "",
     "pointer does not correspond to a registered memory region"),
    (719, "LaunchFailure", "LAUNCH_FAILED", "unspecified launch failure"),
    (720, "", "COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in cooperative launch"),
    (800, "NotPermitted", "NOT_PERMITTED", "operation not permitted"),
    (801, "NotSupported", "NOT_SUPPORTED", "operation not supported"),
    (900, "StreamCaptureUnsupported", "STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"),
    (901, "StreamCaptureInvalidated", "STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"),
    (902, "StreamCaptureMerge", "STREAM_CAPTURE_MERGE",
     "operation would result in a merge of separate capture sequences"),
    (903, "StreamCaptureUnmatched", "STREAM_CAPTURE_UNMATCHED",
     "capture was not ended in the same stream as it began"),
    (904, "StreamCaptureUnjoined", "STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"),
    (905, "StreamCaptureIsolation", "STREAM_CAPTURE_ISOLATION",
     "dependency created on uncaptured work in another stream"),
    (906, "StreamCaptureImplicit", "STREAM_CAPTURE_IMPLICIT",
     "operation would make the legacy stream depend on a capturing blocking stream"),
    (907, "CapturedEvent", "CAPTURED_EVENT",
     "operation not permitted on an event last recorded in a capturing stream"),
    (908, "StreamCaptureWrongThread", "STREAM_CAPTURE_WRONG_THREAD",
     "attempt to terminate a thread-local capture sequence from another thread"),
    (999, "Unknown", "UNKNOWN", "unknown error"),
)  # fmt: skip
# name: (number, text)
RUNTIME = {"cudaSuccess": (0, "no error")} | {
    f"cudaError{name}": (number, text) for number, name, _, text in _ERRORS if name
}
DRIVER = {"CUDA_SUCCESS": (0, "no error")} | {
    f"CUDA_ERROR_{name}": (number, text) for number, _, name, text in _ERRORS if name
}


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
