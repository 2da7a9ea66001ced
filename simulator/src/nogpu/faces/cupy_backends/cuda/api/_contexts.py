"""Which context is current in a thread: the driver's stack, which CuPy and PyCUDA share.

CuPy works in the primary context: setting the device, which every copy to the host does, puts it
in the place of whatever is current. A kernel belongs to the context that was current when it was
first launched, and cannot be launched in another one. PyCUDA makes other contexts.
"""

from __future__ import annotations

import threading

from ._errors import driver_error

PRIMARY = 1  # the primary context's handle


class _State(threading.local):
    def __init__(self) -> None:
        self.stack: list[int] = []
        self.used = False  # whether this thread has worked with CuPy


state = _State()
initialised = False
_kernels: dict[object, int] = {}  # where CuPy's own kernels were loaded
foreign_streams: dict[int, int] = {}  # PyCUDA's streams by their handle, and their contexts


def current() -> int:
    """The handle of the current context; 0 where there is none."""
    return state.stack[-1] if state.stack else 0


def set_device() -> None:
    """Put the primary context in the place of the current one."""
    global initialised
    initialised = state.used = True
    state.stack[-1:] = [PRIMARY]


def launch(key: object, stream: int = 0) -> None:
    """Refuse a kernel of CuPy's own that was loaded in another context.

    Parameters
    ----------
    key : object
        Which kernel; None where it does not matter.
    stream : int
        The handle of the stream that it is to run on.
    """
    if not state.used:
        set_device()
    context = state.stack[-1] if state.stack else 0
    if not context:
        raise driver_error("CUDA_ERROR_INVALID_CONTEXT")
    if stream and foreign_streams.get(stream, context) != context:
        raise driver_error("CUDA_ERROR_INVALID_HANDLE")
    if key is not None and _kernels.setdefault(key, context) != context:
        raise driver_error("CUDA_ERROR_INVALID_HANDLE")


def launch_module(module: object, stream: int = 0) -> None:
    """The same for a kernel of a module, which keeps its context itself."""
    launch(None, stream)
    if module.__dict__.setdefault("_context", state.stack[-1]) != state.stack[-1]:
        raise driver_error("CUDA_ERROR_INVALID_HANDLE")


