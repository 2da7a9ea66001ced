"""Makes the primary context current, in which CuPy works, too."""

from __future__ import annotations

import atexit

import pycuda.driver as cuda
from pycuda.tools import _clean_up, make_default_context

cuda.init()


def _retain_primary_context(device: cuda.Device) -> cuda.Context:
    context = device.retain_primary_context()
    context.push()
    return context


context = make_default_context(_retain_primary_context)
device = context.get_device()
atexit.register(_clean_up, globals())
