"""Launching functions: blocks, grids, arguments, streams, time."""

import numpy as np
import pycuda.autoprimaryctx
import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import SourceModule

from tests.behaviour.marks import alone

CODE = r"""
__global__ void where(int* x) {
    int i = ((blockIdx.y * gridDim.x + blockIdx.x) * blockDim.y + threadIdx.y) * blockDim.x
        + threadIdx.x;
    x[i] = 1000 * blockIdx.y + 100 * blockIdx.x + 10 * threadIdx.y + threadIdx.x;
}
__global__ void shape(int* x) {
    if (threadIdx.x || blockIdx.x || blockIdx.y || blockIdx.z) return;
    x[0] = blockDim.x; x[1] = blockDim.y; x[2] = blockDim.z;
    x[3] = gridDim.x; x[4] = gridDim.y; x[5] = gridDim.z; }
__global__ void axpy(float a, const float* x, float* y) {
    y[threadIdx.x] += a * x[threadIdx.x]; }
__global__ void set(int* x, int value) { x[0] = value; }
__global__ void set_double(double* x, double value) { x[0] = value; }
__global__ void reverse(int* x) { extern __shared__ int s[]; s[threadIdx.x] = x[threadIdx.x];
    __syncthreads(); x[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x]; }
struct Pair { int a; float b; };
__global__ void unpack(float* x, Pair p) { x[0] = p.a; x[1] = p.b; }
__global__ void nothing() {}
__global__ void is_null(int* x, const int* p) { x[0] = p == nullptr; }
"""
MODULE = SourceModule(CODE)


def block_and_grid():
    """block has three numbers, the grid two or one; both by keyword."""
    x = gpuarray.zeros(12, np.int32)
    MODULE.get_function("where")(x, block=(2, 3, 1), grid=(2, 1))
    print(x)


def grid_forms():
    """The grid may have 1, 2 or 3 numbers; (1, 1) unless said."""
    x = gpuarray.zeros(6, np.int32)
    for grid in ({}, {"grid": (3,)}, {"grid": (3, 2)}, {"grid": (3, 2, 4)}):
        MODULE.get_function("shape")(x, block=(5, 1, 1), **grid)
        print(x)


def block_of_one_number():
    """block=(5,) is an error, or works, as recorded (TypeError, ArgumentError)."""
    try:
        x = gpuarray.zeros(6, np.int32)
        MODULE.get_function("shape")(x, block=(5,))
        print(x)
    except Exception as error:
        print(type(error).__name__)


def block_of_two_numbers():
    """block=(5, 2) is an error, or works, as recorded (ArgumentError)."""
    try:
        x = gpuarray.zeros(6, np.int32)
        MODULE.get_function("shape")(x, block=(5, 2))
        print(x)
    except Exception as error:
        print(type(error).__name__)


def block_as_a_number():
    """block=5 is a TypeError."""
    MODULE.get_function("nothing")(block=5)


def block_of_floats():
    """A float in block is an error of the binding."""
    try:
        MODULE.get_function("nothing")(block=(4.0, 1, 1))
        print("done")
    except Exception as error:
        print(type(error).__name__)


def grid_as_a_number():
    """grid=3 is an error of the binding."""
    try:
        MODULE.get_function("nothing")(block=(1, 1, 1), grid=3)
        print("done")
    except Exception as error:
        print(type(error).__name__)


def grid_of_floats():
    """grid=(2.0, 1) is an error of the binding, as recorded."""
    try:
        MODULE.get_function("nothing")(block=(1, 1, 1), grid=(2.0, 1))
        print("done")
    except Exception as error:
        print(type(error).__name__)


def numpy_numbers_in_block_and_grid():
    """NumPy's integers in block and grid: accepted or not, as recorded."""
    try:
        MODULE.get_function("nothing")(block=(np.int64(4), 1, 1), grid=(np.int64(2), 1))
        print("done")
    except Exception as error:
        print(type(error).__name__)


def block_in_a_list():
    """Lists instead of tuples."""
    try:
        MODULE.get_function("nothing")(block=[4, 1, 1], grid=[2, 1])
        print("done")
    except Exception as error:
        print(type(error).__name__, error)


def no_block():
    """Without block: ValueError."""
    MODULE.get_function("nothing")()


def no_block_but_a_grid():
    """With a grid only: ValueError, too."""
    MODULE.get_function("nothing")(grid=(1, 1))


def unknown_keyword():
    """An unknown keyword is a ValueError that names it."""
    MODULE.get_function("nothing")(block=(1, 1, 1), foo=1)


def block_by_position():
    """A tuple by position is no block: ValueError."""
    MODULE.get_function("nothing")((1, 1, 1))


def block_of_too_many_threads():
    """More than 1024 threads are a LogicError."""
    MODULE.get_function("nothing")(block=(2048, 1, 1))


def block_of_too_many_threads_in_all():
    """64 x 32 threads are too many, too: LogicError, at the launch or before."""
    MODULE.get_function("nothing")(block=(64, 32, 1))


def block_of_zero():
    """A block of 0 threads is a LogicError."""
    MODULE.get_function("nothing")(block=(0, 1, 1))


def grid_of_zero():
    """A grid of 0 blocks is a LogicError."""
    MODULE.get_function("nothing")(block=(1, 1, 1), grid=(0, 1))


def grid_too_high():
    """More than 65535 blocks in y are a LogicError."""
    MODULE.get_function("nothing")(block=(1, 1, 1), grid=(1, 65536))


def too_few_arguments():
    """A missing argument is not noticed: the launch works, whatever the kernel reads."""
    MODULE.get_function("is_null")(gpuarray.zeros(1, np.int32), block=(1, 1, 1))
    drv.Context.synchronize()
    print("launched")


def too_many_arguments():
    """An argument too many: LaunchError."""
    x = gpuarray.zeros(1, np.int32)
    MODULE.get_function("set")(x, np.int32(1), np.int32(2), block=(1, 1, 1))


def argument_for_a_kernel_without_any():
    """An argument for a kernel that takes none: LaunchError."""
    MODULE.get_function("nothing")(np.int32(1), block=(1, 1, 1))


def float64_for_a_float():
    """float64 where the kernel has int, as the last argument: too many bytes, LaunchError."""
    x = gpuarray.zeros(1, np.int32)
    MODULE.get_function("set")(x, np.float64(1), block=(1, 1, 1))


def float64_for_a_first_float():
    """float64 for a leading float: no error where padding takes it, and another number."""
    x, y = gpuarray.zeros(2, np.float32), gpuarray.zeros(2, np.float32)
    MODULE.get_function("axpy")(np.float64(3), x, y, block=(2, 1, 1))
    print(y)


def float32_for_an_int():
    """The bytes of a float32 where the kernel has int: no error, another number."""
    x = gpuarray.zeros(1, np.int32)
    MODULE.get_function("set")(x, np.float32(1), block=(1, 1, 1))
    print(x)


def int16_for_an_int():
    """A number with too few bytes: what the kernel sees of it."""
    x = gpuarray.zeros(1, np.int32)
    MODULE.get_function("set")(x, np.int16(7), block=(1, 1, 1))
    print(x.get() % 65536)


def python_int():
    """A Python int is a TypeError that says which argument."""
    MODULE.get_function("set")(gpuarray.zeros(1, np.int32), 5, block=(1, 1, 1))


def python_float():
    """A Python float is a TypeError."""
    MODULE.get_function("set_double")(gpuarray.zeros(1, np.float64), 5.0, block=(1, 1, 1))


def python_bool_and_none():
    """None and True are refused: TypeError."""
    try:
        MODULE.get_function("set")(None, np.int32(1), block=(1, 1, 1))
    except TypeError as error:
        print("TypeError:", error)
    MODULE.get_function("set")(gpuarray.zeros(1, np.int32), True, block=(1, 1, 1))


def numpy_bool():
    """np.bool_ is no np.number: TypeError."""
    MODULE.get_function("set")(gpuarray.zeros(1, np.int32), np.bool_(True), block=(1, 1, 1))


def numpy_scalars():
    """np.int32 and np.float64 go by value, with their bytes."""
    x, y = gpuarray.zeros(1, np.int32), gpuarray.zeros(1, np.float64)
    MODULE.get_function("set")(x, np.int32(-5), block=(1, 1, 1))
    MODULE.get_function("set_double")(y, np.float64(0.5), block=(1, 1, 1))
    print(x, y)


def null_pointer():
    """np.intp(0), or np.uint64(0), is a null pointer."""
    x = gpuarray.zeros(1, np.int32)
    MODULE.get_function("is_null")(x, np.intp(0), block=(1, 1, 1))
    print(x)


def an_address_as_a_number():
    """np.intp(address) passes a pointer; an int does not."""
    x = gpuarray.zeros(1, np.int32)
    MODULE.get_function("set")(np.uintp(x.ptr), np.int32(3), block=(1, 1, 1))
    print(x)


def numpy_array_by_value():
    """A NumPy array as an argument goes by value, as bytes: for a pointer it is nonsense."""
    x = gpuarray.zeros(2, np.float32)
    pair = np.array([(3, 0.5)], dtype=[("a", np.int32), ("b", np.float32)])
    MODULE.get_function("unpack")(x, pair, block=(1, 1, 1))
    print(x)


def struct_by_value():
    """A structured scalar (np.void) goes by value."""
    x = gpuarray.zeros(2, np.float32)
    pair = np.array([(3, 0.5)], dtype=[("a", np.int32), ("b", np.float32)])
    MODULE.get_function("unpack")(x, pair[0], block=(1, 1, 1))
    print(x)


@alone
def numpy_array_for_a_pointer():
    """A float array of the host for a pointer: LaunchError at once, or LogicError later."""
    y = gpuarray.zeros(2, np.float32)
    x = np.ones(2, dtype=np.float32)
    MODULE.get_function("axpy")(np.float32(1), x, y, block=(2, 1, 1))
    drv.Context.synchronize()


@alone
def int32_for_a_pointer():
    """A 32-bit number where a pointer belongs: the kernel writes somewhere, LogicError after."""
    MODULE.get_function("set")(np.int32(16), np.int32(3), block=(1, 1, 1))
    drv.Context.synchronize()


@alone
def memory_fault():
    """A null pointer written to: LogicError at the next wait, and at everything after it."""
    MODULE.get_function("set")(np.intp(0), np.int32(3), block=(1, 1, 1))
    try:
        drv.Context.synchronize()
    except drv.Error as error:
        print(type(error).__name__, error)
    drv.mem_alloc(16)


def same_array_twice():
    """One array for two arguments."""
    x = gpuarray.to_gpu(np.arange(3, dtype=np.float32))
    MODULE.get_function("axpy")(np.float32(2), x, x, block=(3, 1, 1))
    print(x)


def an_argument_by_keyword():
    """Kernel arguments have no names: ValueError."""
    MODULE.get_function("set")(x=gpuarray.zeros(1, np.int32), block=(1, 1, 1))


def pointer_holder():
    """A PointerHolderBase as an argument: accepted, or a TypeError, as recorded."""

    class Holder(drv.PointerHolderBase):
        def get_pointer(self):
            return x.ptr

    x = gpuarray.zeros(1, np.int32)
    MODULE.get_function("set")(Holder(), np.int32(3), block=(1, 1, 1))
    print(x)


def pointer_holder_with_gpudata():
    """An object with gpudata counts as an array."""

    class Holder:
        gpudata = 0

    x, h = gpuarray.zeros(1, np.int32), Holder()
    h.gpudata = x.ptr
    MODULE.get_function("set")(h, np.int32(3), block=(1, 1, 1))
    print(x)


def cuda_array_interface():
    """An object with __cuda_array_interface__ is accepted."""

    class Exporter:
        def __init__(self, x):
            self.__cuda_array_interface__ = {"data": (x.ptr, False)}

    x = gpuarray.zeros(1, np.int32)
    MODULE.get_function("set")(Exporter(x), np.int32(3), block=(1, 1, 1))
    print(x)


def unhashable_argument():
    """A list is a TypeError, of one kind or the other."""
    MODULE.get_function("set")([1, 2], np.int32(3), block=(1, 1, 1))


def shared_memory():
    """shared is the amount of dynamic shared memory in bytes."""
    x = gpuarray.arange(8, dtype=np.int32)
    MODULE.get_function("reverse")(x, block=(8, 1, 1), shared=32)
    print(x)


def too_much_dynamic_shared_memory():
    """More than 48 KB without asking: LogicError."""
    x = gpuarray.arange(8, dtype=np.int32)
    MODULE.get_function("reverse")(x, block=(8, 1, 1), shared=49_153)


def more_dynamic_shared_memory_by_request():
    """set_attribute raises the limit, where there is one."""
    x, f = gpuarray.arange(8, dtype=np.int32), MODULE.get_function("reverse")
    names = drv.function_attribute
    print(f.set_attribute(names.MAX_DYNAMIC_SHARED_SIZE_BYTES, 60_000))
    f(x, block=(8, 1, 1), shared=60_000)
    print(x)


def time_kernel():
    """time_kernel waits and returns seconds."""
    seconds = MODULE.get_function("nothing")(block=(1, 1, 1), time_kernel=True)
    print(type(seconds).__name__, 0 < seconds < 5)


def time_kernel_on_a_stream():
    """time_kernel with a stream is an AssertionError."""
    MODULE.get_function("nothing")(block=(1, 1, 1), stream=drv.Stream(), time_kernel=True)


def stream():
    """A stream by keyword; the call returns None."""
    x, s = gpuarray.zeros(1, np.int32), drv.Stream()
    drv.Context.synchronize()
    print(MODULE.get_function("set")(x, np.int32(4), block=(1, 1, 1), stream=s))
    s.synchronize()
    print(x)


def stream_that_is_a_number():
    """A handle as a number is an error of the binding."""
    try:
        MODULE.get_function("nothing")(block=(1, 1, 1), stream=0)
        print("done")
    except Exception as error:
        print(type(error).__name__)


def device_printf():
    """printf of a kernel appears when the context is synchronised."""
    code = r'__global__ void k() { printf("thread %d of %d\n", threadIdx.x, blockDim.x); }'
    k = SourceModule("#include <stdio.h>\n" + code).get_function("k")
    k(block=(2, 1, 1))
    drv.Context.synchronize()
