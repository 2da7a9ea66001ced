"""Prepared launches: prepare, prepared_call and its relatives."""

import numpy as np
import pycuda.autoprimaryctx
import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import SourceModule

CODE = r"""
__global__ void axpy(float a, const float* x, float* y) {
    y[threadIdx.x] += a * x[threadIdx.x]; }
__global__ void set(long long* x, int a, short b, double c) { x[0] = a; x[1] = b; x[2] = 10 * c; }
__global__ void reverse(int* x) { extern __shared__ int s[]; s[threadIdx.x] = x[threadIdx.x];
    __syncthreads(); x[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x]; }
"""
MODULE = SourceModule(CODE)
axpy = MODULE.get_function("axpy")
x = gpuarray.to_gpu(np.arange(3, dtype=np.float32))
y = gpuarray.to_gpu(np.ones(3, dtype=np.float32))


def prepared_call():
    """prepare takes a type for each argument, returns the function; pointers are numbers."""
    print(axpy.prepare("fPP") is axpy, axpy.arg_format)
    print(axpy.prepared_call((1, 1), (3, 1, 1), 2.0, x.gpudata, y.gpudata), y)


def types_in_a_list():
    """Types may be NumPy's types, dtypes, letters; anything else counts as a pointer."""
    axpy.prepare([np.float32, "P", None])
    print(axpy.arg_format)
    print(axpy.prepare([np.dtype("f4"), np.intp, object]).arg_format)


def python_numbers():
    """Python's numbers are packed by the types."""
    out = gpuarray.zeros(3, np.int64)
    MODULE.get_function("set").prepare("Pihd").prepared_call(
        (1, 1), (1, 1, 1), out.gpudata, -7, 3, 0.5)
    print(out)


def address_as_an_int():
    """A pointer may be an int: x.ptr."""
    axpy.prepare("fPP").prepared_call((1, 1), (3, 1, 1), 1.0, x.ptr, y.ptr)
    print(y)


def gpuarray_itself():
    """A GPUArray where a pointer belongs is an error of struct, or works, as recorded."""
    axpy.prepare("fPP").prepared_call((1, 1), (3, 1, 1), 1.0, x, y)
    print(y)


def numpy_scalars():
    """NumPy's scalars go where they can be packed."""
    axpy.prepare("fPP").prepared_call((1, 1), (3, 1, 1), np.float64(1.5), x.gpudata, y.gpudata)
    print(y)


def too_few_arguments():
    """One argument too few is struct's error."""
    axpy.prepare("fPP").prepared_call((1, 1), (3, 1, 1), 1.0, x.gpudata)


def too_many_arguments():
    """One too many is struct's error, too."""
    axpy.prepare("fPP").prepared_call((1, 1), (3, 1, 1), 1.0, x.gpudata, y.gpudata, 3)


def number_that_does_not_fit():
    """A number that does not fit is struct's error."""
    MODULE.get_function("set").prepare("Pihd").prepared_call(
        (1, 1), (1, 1, 1), x.gpudata, 1 << 40, 3, 0.5)


def float_for_an_int():
    """A float where an int was prepared is struct's error."""
    MODULE.get_function("set").prepare("Pihd").prepared_call(
        (1, 1), (1, 1, 1), x.gpudata, 1.5, 3, 0.5)


def wrong_types_prepared():
    """Types that are not the kernel's: the launch is refused: LaunchError, or not."""
    axpy.prepare("fPPd").prepared_call((1, 1), (3, 1, 1), 1.0, x.gpudata, y.gpudata, 1.0)


def not_prepared():
    """Without prepare it is an AttributeError."""
    MODULE.get_function("reverse").prepared_call((1, 1), (1, 1, 1), x.gpudata)


def unknown_letter():
    """A letter that is no type is struct's error, at the call."""
    axpy.prepare("fPZ")
    axpy.prepared_call((1, 1), (3, 1, 1), 1.0, x.gpudata, y.gpudata)


def block_left_out():
    """Without a block the next argument is taken for one: a DeprecationWarning, then an error."""
    try:
        axpy.prepare("fPP").prepared_call((1, 1), 1.0, x.gpudata, y.gpudata)
    except Exception as error:
        print(type(error).__name__)


def block_in_prepare():
    """A block given to prepare is a TypeError since CUDA 4's interface."""
    axpy.prepare("fPP", block=(3, 1, 1))


def shared_size():
    """shared_size is the dynamic shared memory."""
    z = gpuarray.arange(4, dtype=np.int32)
    MODULE.get_function("reverse").prepare("P").prepared_call(
        (1, 1), (4, 1, 1), z.gpudata, shared_size=16)
    print(z)


def unknown_keyword():
    """An unknown keyword is a TypeError."""
    axpy.prepare("fPP").prepared_call((1, 1), (3, 1, 1), 1.0, x.gpudata, y.gpudata, shared=4)


def prepared_async_call():
    """prepared_async_call takes a stream after the block; None is the default stream."""
    s = drv.Stream()
    drv.Context.synchronize()
    axpy.prepare("fPP").prepared_async_call((1, 1), (3, 1, 1), s, 2.0, x.gpudata, y.gpudata)
    s.synchronize()
    axpy.prepared_async_call((1, 1), (3, 1, 1), None, 2.0, x.gpudata, y.gpudata)
    print(y)


def prepared_timed_call():
    """prepared_timed_call returns a function that waits and gives seconds."""
    timer = axpy.prepare("fPP").prepared_timed_call((1, 1), (3, 1, 1), 2.0, x.gpudata, y.gpudata)
    print(callable(timer), type(timer()).__name__, 0 <= timer() < 5, y)


def too_large_a_block():
    """A block of too many threads is a LogicError."""
    axpy.prepare("fPP").prepared_call((1, 1), (2048, 1, 1), 1.0, x.gpudata, y.gpudata)


def get_function_again():
    """get_function again gives another object, which is not prepared."""
    axpy.prepare("fPP")
    print(hasattr(MODULE.get_function("axpy"), "arg_format"))
