"""The array, its universal functions, and the kernels that a program writes itself."""

from cupy._core import core
from cupy._core._accelerator import (  # noqa: F401 -- CuPy has them here
    get_reduction_accelerators,
    get_routine_accelerators,
    set_reduction_accelerators,
    set_routine_accelerators,
)

ndarray = core.ndarray
_ACCELERATORS = [1]  # the real library's number for CUB, its default


def get_routine_accelerators() -> list[int]:
    """Which libraries routines use; here NumPy works, whatever this says."""
    return list(_ACCELERATORS)


def get_reduction_accelerators() -> list[int]:
    """Which libraries reductions use; here NumPy works, whatever this says."""
    return list(_ACCELERATORS)
