"""Which machine the tests run on: with a GPU the real libraries answer, without one nogpu."""

from __future__ import annotations

import ctypes
from functools import cache

import nogpu
from nogpu import children, finder


@cache
def gpu_answers() -> bool:
    """Whether the CUDA driver has a device; `pytest --nogpu` tests nogpu on every machine."""
    if finder.is_installed():
        return False
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int()
    return not cuda.cuInit(0) and not cuda.cuDeviceGetCount(ctypes.byref(count)) and count.value > 0


def use_libraries() -> None:
    """Let `import cupy` and `import pycuda` find what this machine is tested with."""
    if not gpu_answers() and not finder.is_installed():
        install_here()


def install_here() -> None:
    """Install nogpu in this process and not in its children, such as notebooks of the same run."""
    nogpu.install()
    children.leave()
