"""Page-locked and managed host memory; In, Out and InOut; constant memory."""

import numpy as np
import pycuda.autoprimaryctx
import pycuda.driver as drv
from pycuda.compiler import SourceModule

from tests.behaviour.marks import alone

CODE = r"""
__constant__ float weights[4];
__device__ int counter = 5;
__global__ void twice(float* x) { x[threadIdx.x] *= 2; }
__global__ void copy(float* y, const float* x) { y[threadIdx.x] = x[threadIdx.x]; }
__global__ void weigh(float* x) { x[threadIdx.x] *= weights[threadIdx.x]; }
__global__ void count(int* out) { out[0] = counter++; }
"""
MODULE = SourceModule(CODE)


def pagelocked_empty():
    """pagelocked_empty is a NumPy array whose base holds the memory."""
    x = drv.pagelocked_empty((2, 3), np.float32)
    print(type(x).__name__, x.shape, x.dtype, x.flags.c_contiguous, type(x.base).__name__)
    print(x.base.get_flags(), x.base.get_device_pointer() > 0, type(x.base).__module__)


def pagelocked_of_a_number():
    """A shape can be one number, a dtype a text, the order F."""
    x = drv.pagelocked_empty(3, "f8")
    print(x.shape, drv.pagelocked_zeros((2, 3), np.int32, "F").strides)


def pagelocked_like():
    """pagelocked_empty_like and pagelocked_zeros_like keep shape, type and order."""
    x = drv.pagelocked_zeros_like(np.ones((2, 3), dtype=np.int16, order="F"))
    print(x.strides, x.dtype, x.sum(), drv.pagelocked_empty_like(np.ones(3)).shape)


def pagelocked_like_a_strided_array():
    """An array with gaps has no order: ValueError."""
    drv.pagelocked_empty_like(np.arange(8)[::2])


def pagelocked_free():
    """free() of the base gives the memory back; again is a LogicError."""
    x = drv.pagelocked_empty(3, np.float32)
    base = x.base
    print(base.free())
    base.free()


def aligned_memory():
    """aligned_empty begins at a multiple of the alignment."""
    x = drv.aligned_empty((3, 5), np.float32, alignment=4096)
    print(x.ctypes.data % 4096, x.shape, drv.aligned_zeros(3, np.int32).sum())


def register_host_memory():
    """register_host_memory pins memory that exists; with NumPy 2 it fails: SystemError."""
    try:
        y = drv.register_host_memory(drv.aligned_empty(1024, np.float32))
        print(type(y).__name__, y.shape, type(y.base).__name__)
    except Exception as error:
        print(type(error).__name__)


def managed_memory():
    """A kernel and NumPy work on the same managed array."""
    x = drv.managed_empty(4, np.float32, mem_flags=drv.mem_attach_flags.GLOBAL)
    x[:] = [1, 2, 3, 4]
    MODULE.get_function("twice")(x, block=(4, 1, 1))
    drv.Context.synchronize()
    print(x, type(x.base).__name__)


def copies_with_pagelocked_memory():
    """Asynchronous copies there and back on a stream."""
    x, y = drv.pagelocked_zeros(4, np.float32), drv.pagelocked_zeros(4, np.float32)
    x[:] = [1, 2, 3, 4]
    a, s = drv.mem_alloc(16), drv.Stream()
    drv.memcpy_htod_async(a, x, s)
    MODULE.get_function("twice")(a, block=(4, 1, 1), stream=s)
    drv.memcpy_dtoh_async(y, a, s)
    s.synchronize()
    print(y)


def asynchronous_copy_of_pageable_memory():
    """An asynchronous copy of ordinary memory is accepted."""
    x, y, a = np.arange(4, dtype=np.float32), np.zeros(4, dtype=np.float32), drv.mem_alloc(16)
    drv.memcpy_htod_async(a, x)
    drv.memcpy_dtoh_async(y, a, stream=None)
    drv.Context.synchronize()
    print(y)


def in_argument():
    """In copies to the device before the launch, and nothing back."""
    x, y = np.arange(4, dtype=np.float32), np.zeros(4, dtype=np.float32)
    MODULE.get_function("copy")(drv.Out(y), drv.In(x), block=(4, 1, 1))
    MODULE.get_function("twice")(drv.In(x), block=(4, 1, 1))
    print(x, y)


def inout_argument():
    """InOut copies there and back."""
    x = np.arange(4, dtype=np.float32)
    MODULE.get_function("twice")(drv.InOut(x), block=(4, 1, 1))
    print(x)


def inout_on_a_stream():
    """Given a stream, they copy all the same; the result is there when the call returns."""
    x = np.arange(4, dtype=np.float32)
    print(MODULE.get_function("twice")(drv.InOut(x), block=(4, 1, 1), stream=drv.Stream()))
    drv.Context.synchronize()
    print(x.shape)


def in_with_a_strided_array():
    """An array with gaps is a ValueError."""
    MODULE.get_function("twice")(drv.In(np.arange(8, dtype=np.float32)[::2]), block=(4, 1, 1))


def in_with_a_list():
    """A list is a TypeError with the reason."""
    MODULE.get_function("twice")(drv.In([1.0, 2.0]), block=(2, 1, 1))


def in_with_an_empty_array():
    """An empty array is a LogicError: no memory of 0 bytes."""
    MODULE.get_function("twice")(drv.In(np.zeros(0, dtype=np.float32)), block=(1, 1, 1))


def out_with_a_readonly_array():
    """Out with a read-only array is a ValueError, after the launch."""
    y = np.zeros(4, dtype=np.float32)
    y.flags.writeable = False
    MODULE.get_function("twice")(drv.InOut(y), block=(4, 1, 1))


def argument_handlers():
    """In and Out keep the array; memory is there from the first use."""
    x = np.zeros(4)
    h = drv.In(x)
    print(h.array is x, h.dev_alloc, type(h.get_device_alloc()).__name__)
    print(isinstance(drv.InOut(x), drv.In), issubclass(drv.InOut, drv.Out))


def constant_memory():
    """get_global is (address, bytes); memcpy_htod fills constant memory."""
    address, nbytes = MODULE.get_global("weights")
    print(type(address).__name__, nbytes)
    drv.memcpy_htod(address, np.array([1, 10, 100, 1000], dtype=np.float32))
    x = np.ones(4, dtype=np.float32)
    MODULE.get_function("weigh")(drv.InOut(x), block=(4, 1, 1))
    print(x)


@alone
def constant_memory_with_too_much():
    """More than the variable holds: LogicError, or silence, as recorded."""
    address, _ = MODULE.get_global("weights")
    drv.memcpy_htod(address, np.zeros(1 << 20, dtype=np.float32))


def device_variable():
    """A __device__ variable keeps its value between launches, and can be read."""
    module, out = SourceModule(CODE), np.zeros(1, dtype=np.int32)
    for _ in range(2):
        module.get_function("count")(drv.Out(out), block=(1, 1, 1))
        print(out)
    print(drv.from_device(module.get_global("counter")[0], (), np.int32))


def two_modules_have_their_own_variables():
    """The same source twice: two modules, two variables."""
    a, b = SourceModule(CODE), SourceModule(CODE)
    print(a.get_global("counter")[0] == b.get_global("counter")[0])
