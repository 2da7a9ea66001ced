"""Which context is current in a thread: the driver's stack, which CuPy and PyCUDA share.

CuPy works in a device's primary context: setting the device, which every copy to the host does,
puts it in the place of whatever is current. A kernel belongs to the context that was current when
it was first launched, and cannot be launched in another one. PyCUDA makes other contexts. The
current device is that of the current context.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from nogpu import engine

from ._errors import driver_error

PRIMARY = 1  # the first device's primary context's handle; those of the others follow


class _State(threading.local):
    def __init__(self) -> None:
        self.stack: list[int] = []
        self.used = False  # whether this thread has worked with CuPy
        self.device = 0


state = _State()
initialised = False
several = engine.devices.count > 1
told: list[Callable[[], None]] = []  # is called when a thread's device has changed
_kernels: dict[object, int] = {}  # where CuPy's own kernels were loaded
foreign_streams: dict[int, int] = {}  # PyCUDA's streams by their handle, and their contexts
foreign_contexts: dict[int, int] = {}  # PyCUDA's contexts by their handle, and their devices


def current() -> int:
    """The handle of the current context; 0 where there is none."""
    return state.stack[-1] if state.stack else 0


def set_device(device: int | None = None) -> None:
    """Put a device's primary context, the current one's by default, in the current one's place."""
    global initialised
    initialised = state.used = True
    state.stack[-1:] = [PRIMARY + (state.device if device is None else device)]
    if several:
        settle()


def settle() -> None:
    """Let the thread's device be that of its current context, which has changed."""
    context = current()
    device = foreign_contexts.get(context, context - PRIMARY) if context else 0
    if device != state.device:
        state.device = device
        for call in told:
            call()


def launch(key: object, queue: engine.streams.Stream) -> int:
    """Refuse a kernel of CuPy's own that was loaded in another context; return the current one.

    ``key`` says which kernel, None where it does not matter; CuPy loads each on each device.
    ``queue`` is its stream, which must belong to the current context and device.
    """
    if not state.used:
        set_device()
    stack = state.stack
    if not stack:
        raise driver_error("CUDA_ERROR_INVALID_CONTEXT")
    context = stack[-1]
    home = foreign_streams and foreign_streams.get(queue.handle)
    if (home and home != context) or (several and queue.device != state.device):
        raise driver_error("CUDA_ERROR_INVALID_HANDLE")
    if key is not None:
        key = (key, queue.device) if several else key
        if _kernels.setdefault(key, context) != context:
            raise driver_error("CUDA_ERROR_INVALID_HANDLE")
    return context


def launch_module(module: object, queue: engine.streams.Stream) -> None:
    """The same for a kernel of a module, which keeps its contexts itself, one for each device."""
    context, loaded = launch(None, queue), vars(module).setdefault("_contexts", {})
    if loaded.setdefault(queue.device, context) != context:
        raise driver_error("CUDA_ERROR_INVALID_HANDLE")
