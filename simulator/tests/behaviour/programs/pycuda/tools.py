"""pycuda.tools, pycuda.characterize and the memory pools."""

import numpy as np
import pycuda.autoprimaryctx
import pycuda.driver as drv
from pycuda import characterize, gpuarray, tools


class Attempt:
    """Prints what an action gives, or the exception that it raises."""

    def __init__(self, action):
        try:
            print(action())
        except Exception as error:
            print(f"{type(error).__module__}.{type(error).__name__}: {error}")


def pool():
    """A DeviceMemoryPool's allocate is an allocator; its blocks are counted."""
    pool = tools.DeviceMemoryPool()
    print(pool.held_blocks, pool.active_blocks)
    g = gpuarray.zeros(100, np.float32, allocator=pool.allocate)
    print(pool.held_blocks, pool.active_blocks, type(g.gpudata).__name__)
    del g
    print(pool.held_blocks, pool.active_blocks)


def pool_reuses():
    """The pool gives a freed block again."""
    pool = tools.DeviceMemoryPool()
    a = pool.allocate(1000)
    first = int(a)
    a.free()
    print(int(pool.allocate(900)) == first, pool.managed_bytes, pool.active_bytes)


def pool_does_not_mix_sizes():
    """A block of another size class is a new one."""
    pool = tools.DeviceMemoryPool()
    a = pool.allocate(1000)
    a.free()
    b = pool.allocate(5000)
    print(pool.held_blocks, pool.active_blocks, a is b)


def pool_free_twice():
    """free() twice of a pooled allocation is an error."""
    a = tools.DeviceMemoryPool().allocate(16)
    a.free()
    Attempt(a.free)


def pool_free_held():
    """free_held gives the held blocks back; stop_holding holds no more."""
    pool = tools.DeviceMemoryPool()
    pool.allocate(16).free()
    a = pool.allocate(16)
    print(pool.held_blocks, pool.active_blocks)
    a.free()
    pool.free_held()
    print(pool.held_blocks)
    a = pool.allocate(16)
    pool.stop_holding()
    a.free()
    print(pool.held_blocks)


def pool_of_nothing():
    """0 bytes from a pool: as recorded."""
    Attempt(lambda: type(tools.DeviceMemoryPool().allocate(0)).__name__)


def bin_sizes():
    """The pool's size classes: bin_number and alloc_size."""
    pool = tools.DeviceMemoryPool()
    for n in (1, 16, 100, 1000, 4096, 5000, 1_000_000):
        Attempt(lambda n=n: (pool.bin_number(n), pool.alloc_size(pool.bin_number(n))))


def pooled_allocation_is_a_pointer():
    """A pooled allocation goes where a pointer goes."""
    a, y = tools.DeviceMemoryPool().allocate(16), np.zeros(4, dtype=np.int32)
    drv.memcpy_htod(a, np.arange(4, dtype=np.int32))
    drv.memcpy_dtoh(y, a)
    print(y, type(a).__name__, isinstance(a, drv.PooledDeviceAllocation))


def pagelocked_pool():
    """PageLockedMemoryPool gives NumPy arrays."""
    pool = tools.PageLockedMemoryPool()
    x = pool.allocate((2, 3), np.float32)
    print(type(x).__name__, x.shape, type(x.base).__name__, pool.active_blocks)


def bitlog2():
    """bitlog2 is the position of the highest bit."""
    print([tools.bitlog2(n) for n in (1, 2, 3, 4, 1023, 1024)])


def device_data():
    """DeviceData and OccupancyRecord."""
    d = tools.DeviceData()
    print(d.max_threads, d.warp_size, d.shared_memory)
    Attempt(lambda: tools.OccupancyRecord(d, 256).occupancy)
    Attempt(lambda: tools.OccupancyRecord(d, 2048))


def dtype_to_ctype():
    """Names of C types."""
    print([tools.dtype_to_ctype(t) for t in ("f4", "f8", "i4", "u4", "i8", "u1", "i2", "?")])
    Attempt(lambda: tools.dtype_to_ctype(np.complex64))
    Attempt(lambda: tools.dtype_to_ctype(np.float16))
    Attempt(lambda: tools.dtype_to_ctype("S3"))


def parse_c_arg():
    """C declarations become VectorArg and ScalarArg."""
    for text in ("float *x", "const float* x", "int n", "unsigned long long *p", "double x[]"):
        Attempt(lambda text=text: repr(tools.parse_c_arg(text)))
    Attempt(lambda: tools.parse_c_arg("no_such_type x"))
    Attempt(lambda: tools.get_arg_type("float *x"))


def argument_classes():
    """VectorArg and ScalarArg: declarator, struct_char."""
    v, s = tools.VectorArg(np.float32, "x"), tools.ScalarArg(np.int32, "n")
    print(v.declarator(), v.struct_char, s.declarator(), s.struct_char, v.name, s.dtype)


def context_dependent_memoize():
    """A function is called once for a context and its arguments."""
    calls = []

    @tools.context_dependent_memoize
    def square(n):
        calls.append(n)
        return n * n

    print(square(3), square(3), square(4), calls)
    tools.clear_context_caches()
    print(square(3), calls)


def dependable_platform():
    """characterize: platform_bits, and what else is there."""
    print(characterize.platform_bits(), characterize.has_double_support())
    print([n for n in ("has_stack", "sizeof", "platform_bits") if hasattr(characterize, n)])


def sizeof():
    """sizeof asks the compiler for a type's size."""
    Attempt(lambda: characterize.sizeof("float4"))
    Attempt(lambda: characterize.sizeof("pair", "struct pair { char a; double b; };"))


def mark_cuda_test():
    """Decorators for tests are there."""
    print([hasattr(tools, n) for n in ("mark_cuda_test", "DebugMemoryPool", "get_default_device",
                                       "register_dtype", "make_default_context")])


def registered_dtype():
    """get_or_register_dtype makes a C name known."""
    pair = np.dtype([("a", np.int32), ("b", np.float32)])
    Attempt(lambda: tools.get_or_register_dtype("my_pair", pair) == pair)
    Attempt(lambda: tools.dtype_to_ctype(pair))
    Attempt(lambda: tools.parse_c_arg("my_pair *x"))


def device_memory_pool_and_pointers():
    """A pool's block in a kernel by a GPUArray, and its address."""
    pool = tools.DeviceMemoryPool()
    g = gpuarray.to_gpu(np.arange(3, dtype=np.float32), allocator=pool.allocate)
    print(g + g, (g + g).allocator == pool.allocate, int(g.gpudata) == g.ptr)
