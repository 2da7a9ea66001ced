"""The array, its universal functions, and the kernels that a program writes itself."""

from cupy._core import core

ndarray = core.ndarray
