"""The array, its universal functions, and the kernels that a program writes itself."""

from cupy._core import core
from cupy._core._accelerator import (  # noqa: F401 -- CuPy has them here
    get_reduction_accelerators,
    get_routine_accelerators,
    set_reduction_accelerators,
    set_routine_accelerators,
)

ndarray = core.ndarray
