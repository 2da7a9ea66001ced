"""The errors of CUDA's two interfaces, by name: numbers and texts as CUDA 13 gives them."""

from __future__ import annotations

# name of the runtime's error: (number, text)
RUNTIME = {
    "cudaSuccess": (0, "no error"),
    "cudaErrorInvalidValue": (1, "invalid argument"),
    "cudaErrorMemoryAllocation": (2, "out of memory"),
    "cudaErrorInitializationError": (3, "initialization error"),
    "cudaErrorInvalidConfiguration": (9, "invalid configuration argument"),
    "cudaErrorInvalidMemcpyDirection": (21, "invalid copy direction for memcpy"),
    "cudaErrorInvalidDeviceFunction": (98, "invalid device function"),
    "cudaErrorNoDevice": (100, "no CUDA-capable device is detected"),
    "cudaErrorInvalidDevice": (101, "invalid device ordinal"),
    "cudaErrorPeerAccessAlreadyEnabled": (704, "peer access is already enabled"),
    "cudaErrorPeerAccessNotEnabled": (705, "peer access has not been enabled"),
    "cudaErrorInvalidResourceHandle": (400, "invalid resource handle"),
    "cudaErrorIllegalState": (401, "the operation cannot be performed in the present state"),
    "cudaErrorNotReady": (600, "device not ready"),
    "cudaErrorIllegalAddress": (700, "an illegal memory access was encountered"),
    "cudaErrorHostMemoryAlreadyRegistered": (
        712, "part or all of the requested memory range is already mapped"),
    "cudaErrorHostMemoryNotRegistered": (
        713, "pointer does not correspond to a registered memory region"),
    "cudaErrorLaunchFailure": (719, "unspecified launch failure"),
    "cudaErrorNotPermitted": (800, "operation not permitted"),
    "cudaErrorNotSupported": (801, "operation not supported"),
    "cudaErrorStreamCaptureUnsupported": (
        900, "operation not permitted when stream is capturing"),
    "cudaErrorStreamCaptureInvalidated": (
        901, "operation failed due to a previous error during capture"),
    "cudaErrorStreamCaptureMerge": (
        902, "operation would result in a merge of separate capture sequences"),
    "cudaErrorStreamCaptureUnmatched": (
        903, "capture was not ended in the same stream as it began"),
    "cudaErrorStreamCaptureUnjoined": (904, "capturing stream has unjoined work"),
    "cudaErrorStreamCaptureIsolation": (
        905, "dependency created on uncaptured work in another stream"),
    "cudaErrorStreamCaptureImplicit": (
        906, "operation would make the legacy stream depend on a capturing blocking stream"),
    "cudaErrorCapturedEvent": (
        907, "operation not permitted on an event last recorded in a capturing stream"),
    "cudaErrorStreamCaptureWrongThread": (
        908, "attempt to terminate a thread-local capture sequence from another thread"),
    "cudaErrorUnknown": (999, "unknown error"),
}  # fmt: skip

# name of the driver's error: (number, text)
DRIVER = {
    "CUDA_SUCCESS": (0, "no error"),
    "CUDA_ERROR_INVALID_VALUE": (1, "invalid argument"),
    "CUDA_ERROR_OUT_OF_MEMORY": (2, "out of memory"),
    "CUDA_ERROR_NOT_INITIALIZED": (3, "initialization error"),
    "CUDA_ERROR_NO_DEVICE": (100, "no CUDA-capable device is detected"),
    "CUDA_ERROR_INVALID_DEVICE": (101, "invalid device ordinal"),
    "CUDA_ERROR_INVALID_IMAGE": (200, "device kernel image is invalid"),
    "CUDA_ERROR_INVALID_CONTEXT": (201, "invalid device context"),
    "CUDA_ERROR_FILE_NOT_FOUND": (301, "file not found"),
    "CUDA_ERROR_INVALID_HANDLE": (400, "invalid resource handle"),
    "CUDA_ERROR_ILLEGAL_STATE": (401, "the operation cannot be performed in the present state"),
    "CUDA_ERROR_NOT_FOUND": (500, "named symbol not found"),
    "CUDA_ERROR_NOT_READY": (600, "device not ready"),
    "CUDA_ERROR_ILLEGAL_ADDRESS": (700, "an illegal memory access was encountered"),
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": (701, "too many resources requested for launch"),
    "CUDA_ERROR_LAUNCH_FAILED": (719, "unspecified launch failure"),
    "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE": (720, "too many blocks in cooperative launch"),
    "CUDA_ERROR_NOT_PERMITTED": (800, "operation not permitted"),
    "CUDA_ERROR_NOT_SUPPORTED": (801, "operation not supported"),
    "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED": (
        900, "operation not permitted when stream is capturing"),
    "CUDA_ERROR_UNKNOWN": (999, "unknown error"),
}  # fmt: skip


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


def driver_error(name: str) -> CUDADriverError:
    """The exception of an error's name, e.g. ``CUDA_ERROR_INVALID_VALUE``."""
    return CUDADriverError(DRIVER[name][0])
