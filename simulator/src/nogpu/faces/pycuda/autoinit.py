"""Makes a context of its own on the default device, current at once.

It is not the primary context, in which CuPy works: see `pycuda.autoprimaryctx`.
"""

from __future__ import annotations

import atexit

import pycuda.driver as cuda
from pycuda.tools import make_default_context

cuda.init()
context = make_default_context()
device = context.get_device()


def _finish_up() -> None:
    global context
    from pycuda.tools import clear_context_caches

    if cuda.Context.get_current() is not None:
        context.pop()
    context = None
    clear_context_caches()


atexit.register(_finish_up)
