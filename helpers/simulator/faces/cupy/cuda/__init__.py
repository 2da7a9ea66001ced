# ruff: noqa: F401 (names that CuPy has here)
"""CUDA's devices, streams, memory and compiler, as the simulator has them."""

from cupy_backends.cuda.api import driver, runtime

from . import graph, memory, stream
from .memory import MemoryPointer, alloc, get_allocator, set_allocator
from .stream import Event, ExternalStream, Stream, get_current_stream, get_elapsed_time
