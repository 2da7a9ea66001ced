"""The array, its universal functions, and the kernels that a program writes itself."""

from cupy._core import core

ndarray = core.ndarray
_ACCELERATORS = [1]  # the real library's number for CUB, its default


def get_routine_accelerators() -> list[int]:
    """Which libraries routines use; here NumPy works, whatever this says."""
    return list(_ACCELERATORS)


def get_reduction_accelerators() -> list[int]:
    """Which libraries reductions use; here NumPy works, whatever this says."""
    return list(_ACCELERATORS)
