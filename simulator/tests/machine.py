"""Which machine the tests run on: with a GPU the real libraries answer, without one nogpu."""

from __future__ import annotations

import ctypes
import os
from functools import cache


@cache
def gpu_answers() -> bool:
    """Whether the CUDA driver has a device; never where COURSE_BACKEND says "simulator"."""
    if os.environ.get("COURSE_BACKEND") == "simulator":
        return False
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int()
    return not cuda.cuInit(0) and not cuda.cuDeviceGetCount(ctypes.byref(count)) and count.value > 0


def use_libraries() -> None:
    """Let `import cupy` and `import pycuda` find what this machine is tested with."""
    if not gpu_answers():
        import nogpu

        nogpu.install()
