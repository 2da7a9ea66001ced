"""The array, its universal functions, and the kernels that a program writes itself."""

from cupy._core import _accelerator, core

from nogpu.faces import table as _table

globals().update(_table.functions_of(_accelerator))
ndarray = core.ndarray
