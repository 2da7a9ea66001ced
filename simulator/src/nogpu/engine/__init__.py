"""The engine: CUDA C++ compiled for this machine's processor, with the errors a GPU hides.

It compiles kernels, owns "device" memory, runs grids of threads and reports faults. It knows
nothing of CuPy or PyCUDA, and imports nothing else of this project. Linux, on x86-64 and arm64.

Environment: ``CXX`` names the compiler, ``NOGPU_CACHE_DIR`` the folder of compiled kernels,
``NOGPU_WORKERS`` the number of threads that run blocks (one per processor by default).

Examples
--------
>>> import numpy as np
>>> from nogpu import engine
>>> module = engine.compile('''
... __global__ void scale(float* x, float a, int n) {
...     int i = blockIdx.x * blockDim.x + threadIdx.x;
...     if (i < n) x[i] *= a;
... }''')
>>> x = engine.allocate(4000, "x", itemsize=4)
>>> engine.copy_to_device(x.address, np.ones(1000, np.float32))
>>> arguments = [np.uint64(x.address).tobytes(), np.float32(2).tobytes(), np.int32(1000).tobytes()]
>>> module.kernel("scale").launch((4,), (256,), arguments)
>>> float(engine.view(x.address, 4000, np.float32).sum())
2000.0
"""

# ruff: noqa: F401, I001 -- what is imported here is what the engine offers
from . import forking, limits, streams
from .compiler import find as find_compiler
from .counters import Counts
from .errors import (
    CompileError, CompilerNotFound, EngineError, InvalidAddress, InvalidLaunch, KernelNotFound,
    LoadError, OptionError, OutOfMemory, RuntimeUnavailable, StreamError,
)
from .faults import (
    AssertionFault, BarrierFault, GlobalOutOfBounds, IntegerDivisionByZero,
    IntegerDivisionOverflow, KernelFault, KernelSignal, KernelTimeout, LocalOutOfBounds,
    MisalignedAccess, NotDeviceMemory, NullPointer, Race, SharedOutOfBounds, StackOverflow,
    StreamRace, UninitialisedRead, UseAfterFree,
)
from .memory import (
    Allocation, PageLocked, allocate, copy_to_device, displace, fill, free, lookup,
    mark_written, place, reserve, succeed, unreserve, usage, view,
)
from .module import Kernel, Module, compile, set_printer, use_compiler  # noqa: A004
from .streams import counting
from .switches import active as active_checks
from .switches import checks
