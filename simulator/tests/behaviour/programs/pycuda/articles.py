"""Programs after an article that is often followed: PyCUDA, alone and beside CuPy."""

import numpy as np

from tests.behaviour.marks import alone


class Generator:
    """The source of a kernel that takes several elements a thread, and what it does to an array."""

    def source(self, steps):
        return f"""
        __global__ void scale(float* data, float factor, int n) {{
            int first = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
            for (int i = 0; i < {steps}; ++i) {{
                int at = first + i * all;
                if (at < n) data[at] *= factor;
            }}
        }}"""

    def run(self, steps, n=100_003, threads=256):
        from pycuda import gpuarray
        from pycuda.compiler import SourceModule

        host = np.random.default_rng(steps).random(n, dtype=np.float32)
        data = gpuarray.to_gpu(host)
        blocks = (n + threads * steps - 1) // (threads * steps)
        scale = SourceModule(self.source(steps)).get_function("scale")
        scale(data, np.float32(2.5), np.int32(n), block=(threads, 1, 1), grid=(blocks, 1))
        return bool(np.allclose(data.get(), host * 2.5))


@alone
def a_generated_kernel():
    """A kernel made from an f-string, for several numbers of elements a thread: right."""
    import pycuda.autoinit

    print([Generator().run(steps) for steps in (1, 3, 4, 8)])


@alone
def a_python_number_for_the_factor():
    """Python's 2.5 for a float is refused, where CuPy passes a double: TypeError."""
    import pycuda.autoinit
    from pycuda import gpuarray
    from pycuda.compiler import SourceModule

    data = gpuarray.zeros(10, np.float32)
    scale = SourceModule(Generator().source(1)).get_function("scale")
    scale(data, 2.5, np.int32(10), block=(32, 1, 1))


@alone
def a_pointer_wrapped_for_cupy():
    """UnownedMemory around a GPUArray's pointer, and cp.asarray, which does the same."""
    import cupy as cp
    import pycuda.autoprimaryctx
    from pycuda import gpuarray

    given = gpuarray.to_gpu(np.arange(1000, dtype=np.float32))
    memory = cp.cuda.UnownedMemory(int(given.gpudata), given.nbytes, given)
    view = cp.ndarray(given.shape, given.dtype, cp.cuda.MemoryPointer(memory, 0))
    view *= 2
    print(given.get()[:3], cp.asarray(given).data.ptr == view.data.ptr)


@alone
def a_device_allocation_cannot_be_made():
    """DeviceAllocation(pointer) cannot be called from Python: RuntimeError."""
    import cupy as cp
    import pycuda.autoprimaryctx
    import pycuda.driver as drv

    drv.DeviceAllocation(cp.arange(10).data.ptr)


@alone
def the_third_argument_is_the_allocator():
    """GPUArray(shape, dtype, pointer) takes the pointer for an allocator: TypeError."""
    import cupy as cp
    import pycuda.autoprimaryctx
    from pycuda import gpuarray

    x = cp.arange(10, dtype=cp.float32)
    gpuarray.GPUArray(x.shape, x.dtype, x.data.ptr)


@alone
def the_way_that_works():
    """gpudata= and base=: PyCUDA sees CuPy's array."""
    import cupy as cp
    import pycuda.autoprimaryctx
    from pycuda import gpuarray

    x = cp.arange(10, dtype=cp.float32)
    y = gpuarray.GPUArray(x.shape, x.dtype, gpudata=x.data.ptr, base=x)
    y *= np.float32(3)
    print(x)


@alone
def autoinit_and_a_kernel_before_cupy():
    """The article's order: a kernel compiled before CuPy's first array fails later: LogicError."""
    import pycuda.autoinit
    from pycuda import gpuarray
    from pycuda.compiler import SourceModule

    scale = SourceModule(Generator().source(1)).get_function("scale")
    data = gpuarray.to_gpu(np.ones(10, np.float32))
    arguments = (data, np.float32(2), np.int32(10))
    scale(*arguments, block=(32, 1, 1))
    import cupy as cp

    print(data.get()[0], cp.arange(3).sum())
    scale(*arguments, block=(32, 1, 1))
