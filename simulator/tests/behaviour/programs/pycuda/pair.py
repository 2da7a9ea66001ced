"""PyCUDA and CuPy together, in the primary context: autoprimaryctx."""

import cupy as cp
import numpy as np
import pycuda.autoprimaryctx
import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import SourceModule

MODULE = SourceModule(r"""
__global__ void twice(float* x) { x[threadIdx.x] *= 2; }
__global__ void spin(int* out, int value, long long cycles) {
    long long start = clock64();
    while (clock64() - start < cycles) __nanosleep(50000);
    if (out != nullptr) out[0] = value;
}
""")
TWICE, SPIN = MODULE.get_function("twice"), MODULE.get_function("spin")
LONG, ONE = np.int64(500_000_000), {"block": (1, 1, 1)}
raw = cp.RawKernel('extern "C" __global__ void plus(float* x) { x[threadIdx.x] += 1; }', "plus")


class Attempt:
    """Prints what an action gives, or the exception that it raises."""

    def __init__(self, action):
        try:
            print(action())
        except Exception as error:
            print(f"{type(error).__module__}.{type(error).__name__}: {error}")


def gpuarray_to_cupy():
    """cp.asarray of a GPUArray shares its memory."""
    g = gpuarray.arange(4, dtype=np.float32)
    x = cp.asarray(g)
    x += 1
    print(type(x).__name__, x, g, x.data.ptr == g.ptr)


def gpuarray_to_cupy_by_copy():
    """cp.array of a GPUArray copies."""
    g = gpuarray.arange(4, dtype=np.float32)
    cp.array(g)[0] = 9
    print(g)


def strided_gpuarray_to_cupy():
    """Strides are taken over."""
    g = gpuarray.arange(6, dtype=np.float32).reshape(2, 3)
    x = cp.asarray(g[:, 1:])
    print(x, x.strides, cp.asarray(g.T).strides)


def gpuarray_stays_alive():
    """The CuPy array keeps the GPUArray's memory."""
    import gc

    x = cp.asarray(gpuarray.arange(4, dtype=np.float32))
    gc.collect()
    print(x, type(x.data.mem).__name__, x.base)


def gpuarray_in_a_cupy_operation():
    """A GPUArray as an operand of CuPy's +."""
    g, x = gpuarray.arange(4, dtype=np.float32), cp.ones(4, dtype=cp.float32)
    Attempt(lambda: x + g)
    Attempt(lambda: type(g + x))
    Attempt(lambda: cp.sqrt(g))


def gpuarray_in_a_raw_kernel():
    """A GPUArray as an argument of a RawKernel: it works, or a TypeError, as recorded."""
    g = gpuarray.arange(4, dtype=np.float32)
    raw((1,), (4,), (g,))
    print(g)


def gpuarray_pointer_in_a_raw_kernel():
    """Its address as a number works."""
    g = gpuarray.arange(4, dtype=np.float32)
    raw((1,), (4,), (g.ptr,))
    print(g)


def cupy_to_gpuarray():
    """GPUArray(gpudata=x.data.ptr, base=x) shares the CuPy array's memory."""
    x = cp.arange(4, dtype=cp.float32)
    g = gpuarray.GPUArray(x.shape, x.dtype, gpudata=x.data.ptr, base=x)
    g.fill(3)
    print(x, g, g.base is x, type(g.gpudata).__name__)


def cupy_to_gpuarray_by_to_gpu():
    """to_gpu of a CuPy array, as recorded."""
    Attempt(lambda: gpuarray.to_gpu(cp.arange(4, dtype=cp.float32)))


def cupy_array_in_a_kernel():
    """A CuPy array passes to a PyCUDA kernel by its __cuda_array_interface__."""
    x = cp.arange(4, dtype=cp.float32)
    TWICE(x, block=(4, 1, 1))
    print(x)


def cupy_pointer_in_a_kernel():
    """Its address as np.uintp works."""
    x = cp.arange(4, dtype=cp.float32)
    TWICE(np.uintp(x.data.ptr), block=(4, 1, 1))
    print(x)


def cupy_pointer_object_in_a_kernel():
    """Its MemoryPointer as an argument, as recorded."""
    x = cp.arange(4, dtype=cp.float32)
    Attempt(lambda: TWICE(x.data, block=(4, 1, 1)))


def cupy_pointer_in_a_prepared_call():
    """A prepared call takes x.data.ptr."""
    x = cp.arange(4, dtype=cp.float32)
    TWICE.prepare("P").prepared_call((1, 1), (4, 1, 1), x.data.ptr)
    print(x)


def cupy_scalar_in_a_kernel():
    """A 0-d CuPy array is a pointer, not a value."""
    x = cp.array(1.5, dtype=cp.float32)
    TWICE(x, block=(1, 1, 1))
    print(x)


def cupy_array_by_memcpy():
    """memcpy_dtoh of a CuPy array: by address; by the array itself, as recorded."""
    x, y = cp.arange(4, dtype=cp.float32), np.zeros(4, dtype=np.float32)
    drv.memcpy_dtoh(y, x.data.ptr)
    print(y)
    try:
        drv.memcpy_dtoh(y, x)
    except Exception as error:
        print(type(error).__name__)


def holder_of_a_cupy_array():
    """A PointerHolderBase around a CuPy array."""

    class Holder(drv.PointerHolderBase):
        def __init__(self, x):
            super().__init__()
            self.x, self.gpudata = x, x.data.ptr

        def get_pointer(self):
            return self.x.data.ptr

    x, y = cp.arange(4, dtype=cp.float32), np.zeros(4, dtype=np.float32)
    Attempt(lambda: TWICE(Holder(x), block=(4, 1, 1)))
    drv.memcpy_dtoh(y, Holder(x))
    print(x, y)


def contexts():
    """CuPy works in the primary context: the current one of PyCUDA."""
    import pycuda.autoprimaryctx as auto

    print(cp.cuda.driver.ctxGetCurrent() == auto.context.handle)
    print(drv.Context.get_current() == auto.context)


def pycuda_stream_in_cupy():
    """A PyCUDA stream becomes CuPy's by from_external or ExternalStream with its handle."""
    s, x = drv.Stream(), cp.arange(4, dtype=cp.float32)
    drv.Context.synchronize()
    with cp.cuda.ExternalStream(s.handle) as t:
        x += 1
    s.synchronize()
    print(x, t.ptr == s.handle, s.is_done())


def pycuda_stream_by_from_external():
    """Stream.from_external wants __cuda_stream__, which a PyCUDA stream lacks: an error."""
    Attempt(lambda: cp.cuda.Stream.from_external(drv.Stream()))


def work_waits_in_a_shared_stream():
    """CuPy's work on a PyCUDA stream waits for PyCUDA's kernel there."""
    s, x = drv.Stream(1), cp.zeros(1, dtype=cp.int32)
    cp.cuda.Device().synchronize()
    SPIN(x, np.int32(7), LONG, **ONE, stream=s)
    with cp.cuda.ExternalStream(s.handle):
        y = x + 1
        print(s.is_done())
        print(y)


def cupy_stream_in_pycuda():
    """PyCUDA takes no foreign stream: an error of the binding, whether object or number."""
    s = cp.cuda.Stream()
    for stream in (s, s.ptr):
        try:
            TWICE(cp.zeros(1, dtype=cp.float32), **ONE, stream=stream)
            print("done")
        except Exception as error:
            print(type(error).__name__)


def null_streams_are_one():
    """Both libraries' default streams are one: no wait is needed between them."""
    x = cp.zeros(1, dtype=cp.int32)
    cp.cuda.Device().synchronize()
    SPIN(x, np.int32(7), LONG, **ONE)
    print(x + 1)


def cupy_on_a_non_blocking_stream_does_not_wait():
    """CuPy on a non-blocking stream does not wait for PyCUDA's default stream."""
    x, e = cp.zeros(1, dtype=cp.int32), drv.Event()
    cp.cuda.Device().synchronize()
    SPIN(x, np.int32(7), LONG, **ONE)
    e.record()
    with cp.cuda.Stream(non_blocking=True) as s:
        print(x + 1, e.query())
    drv.Context.synchronize()
    s.synchronize()


def pycuda_event_waits_for_cupy():
    """A PyCUDA event recorded on the default stream waits for CuPy's work there."""
    e, x = drv.Event(), cp.zeros(10, dtype=cp.float32)
    x += 1
    e.record()
    e.synchronize()
    print(e.query(), cp.cuda.Stream.null.done)


def nvrtc_module():
    """module_from_buffer loads what CuPy's NVRTC compiled."""
    code = 'extern "C" __global__ void k(int* x) { x[0] = 5; }'
    image, _ = cp.cuda.compiler.compile_using_nvrtc(code)
    x = gpuarray.zeros(1, np.int32)
    drv.module_from_buffer(image).get_function("k")(x, block=(1, 1, 1))
    print(x)


def cupy_module_of_a_cubin():
    """CuPy's Module loads what PyCUDA's nvcc compiled."""
    from pycuda.compiler import compile

    module = cp.cuda.Module()
    module.load(compile("__global__ void k(int* x) { x[0] = 5; }"))
    x = cp.zeros(1, dtype=cp.int32)
    module.get_function("k")((1,), (1,), (x,))
    print(x)


def pool_of_cupy_for_pycuda():
    """CuPy's allocator for GPUArrays: gpudata is a MemoryPointer, as recorded."""
    def allocate(n):
        return cp.cuda.alloc(n)

    Attempt(lambda: gpuarray.zeros(4, np.float32, allocator=allocate))


def pycuda_allocator_for_cupy():
    """A PyCUDA allocation as CuPy memory, by UnownedMemory."""
    a = drv.to_device(np.arange(4, dtype=np.float32))
    memory = cp.cuda.UnownedMemory(int(a), 16, a)
    print(cp.ndarray(4, cp.float32, memptr=cp.cuda.MemoryPointer(memory, 0)))


def memory_is_counted_apart():
    """PyCUDA's memory does not show in CuPy's pool."""
    before = cp.get_default_memory_pool().used_bytes()
    g = gpuarray.zeros(1000, np.float32)
    print(cp.get_default_memory_pool().used_bytes() - before, g.nbytes)


def dlpack():
    """GPUArray has no DLPack: from_dlpack is an error."""
    Attempt(lambda: cp.from_dlpack(gpuarray.zeros(2, np.float32)))


def constant_memory_from_cupy():
    """A PyCUDA module's constant memory as a CuPy array."""
    module = SourceModule("__constant__ float w[2]; __global__ void k(float* x) { x[0] = w[1]; }")
    address, nbytes = module.get_global("w")
    memory = cp.cuda.UnownedMemory(address, nbytes, module)
    w = cp.ndarray(2, cp.float32, memptr=cp.cuda.MemoryPointer(memory, 0))
    w[...] = cp.array([3, 4], dtype=cp.float32)
    x = cp.zeros(1, dtype=cp.float32)
    module.get_function("k")(x, **ONE)
    print(x)
