"""Makes the primary context current, in which CuPy works, too."""

from __future__ import annotations

import atexit

import pycuda.driver as cuda
from pycuda.tools import make_default_context

cuda.init()


def _retain_primary_context(device: cuda.Device) -> cuda.Context:
    context = device.retain_primary_context()
    context.push()
    return context


context = make_default_context(_retain_primary_context)
device = context.get_device()


def _finish_up() -> None:
    global context
    from pycuda.tools import clear_context_caches

    if cuda.Context.get_current() is not None:
        context.pop()
    context = None
    clear_context_caches()


atexit.register(_finish_up)
