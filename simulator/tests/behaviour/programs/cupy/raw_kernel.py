"""cupy.RawKernel: what it passes on unchecked, and what it does check."""

import cupy as cp
import numpy as np

from tests.behaviour.marks import alone

ADD = r"""
extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
"""
STORE = r"""
extern "C" __global__ void store_float(float* out, float value) { out[0] = value; }
extern "C" __global__ void store_double(double* out, double value) { out[0] = value; }
extern "C" __global__ void store_int(int* out, int value) { out[0] = value; }
extern "C" __global__ void store_long(long long* out, long long value) { out[0] = value; }
extern "C" __global__ void store_bool(int* out, bool value) { out[0] = value; }
"""
WHERE = r"""
extern "C" __global__ void where_am_i(int* out) {
    int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    int size = blockDim.x * blockDim.y * blockDim.z;
    out[block * size + thread] = 100 * block + thread;
}
"""
COPY = r"""
extern "C" __global__ void copy(const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = x[i];
}
"""


def launch():
    """grid, block and arguments are tuples; the call returns None."""
    x = cp.arange(5, dtype=cp.float32)
    z = cp.empty_like(x)
    print(cp.RawKernel(ADD, "add")((1,), (32,), (x, x, z, np.int32(5))), z)


def launch_of_several_blocks():
    """Blocks and threads of three dimensions, x running fastest."""
    out = cp.full(24, -1, dtype=cp.int32)
    cp.RawKernel(WHERE, "where_am_i")((2, 1, 2), (3, 2), (out,))
    print(out)


def every_launch_shape_gives_the_same():
    """A grid-stride loop does not depend on the launch."""
    x = cp.arange(1000, dtype=cp.float32)
    for grid, block in ((1, 1), (1, 1024), (7, 33), (2000, 64)):
        y = cp.zeros_like(x)
        cp.RawKernel(COPY, "copy")((grid,), (block,), (x, y, np.int32(1000)))
        print(bool((x == y).all()))


def float64_array_for_float_pointer():
    """No check: a kernel of floats reads a float64 array's bytes."""
    x = cp.array([1.0, 2.0, 3.0])
    y = cp.zeros(6, dtype=cp.float32)
    cp.RawKernel(COPY, "copy")((1,), (32,), (x, y, np.int32(6)))
    print(y, y.view(cp.float64))


def python_float_for_float():
    """A Python float is passed as a double: its low bytes arrive, 0.0 for 2.5."""
    out = cp.full(1, 7, dtype=cp.float32)
    cp.RawKernel(STORE, "store_float")((1,), (1,), (out, 2.5))
    print(out)


def python_float_for_float_that_is_not_round():
    """0.1 as a double arrives in a float as its low four bytes, not as 0.1."""
    out = cp.zeros(1, dtype=cp.float32)
    cp.RawKernel(STORE, "store_float")((1,), (1,), (out, 0.1))
    print(out.get().view(np.uint32) == np.array([0.1]).view(np.uint32)[0], bool(out[0] < 0))


def numpy_double_for_float():
    """np.float64 for float is the same trap."""
    out = cp.full(1, 7, dtype=cp.float32)
    cp.RawKernel(STORE, "store_float")((1,), (1,), (out, np.float64(2.5)))
    print(out)


def numpy_float_for_float():
    """np.float32 is right; so is a Python float for double."""
    out, wide = cp.zeros(1, dtype=cp.float32), cp.zeros(1)
    cp.RawKernel(STORE, "store_float")((1,), (1,), (out, np.float32(2.5)))
    cp.RawKernel(STORE, "store_double")((1,), (1,), (wide, 2.5))
    print(out, wide)


def python_int_for_int():
    """A Python int is passed as a long long: its low four bytes are the int."""
    out = cp.zeros(1, dtype=cp.int32)
    kernel = cp.RawKernel(STORE, "store_int")
    for value in (5, -5, 2**32 + 3, True):
        kernel((1,), (1,), (out, value))
        print(out[0])


def python_int_for_long():
    """A Python int for long long is right."""
    out = cp.zeros(1, dtype=cp.int64)
    cp.RawKernel(STORE, "store_long")((1,), (1,), (out, 2**40))
    print(out)


def python_int_too_large():
    """A Python int beyond 64 bits is an OverflowError."""
    cp.RawKernel(STORE, "store_long")((1,), (1,), (cp.zeros(1, dtype=cp.int64), 2**64))


def python_int_for_float():
    """A Python int for float arrives as its bits."""
    out = cp.zeros(1, dtype=cp.float32)
    cp.RawKernel(STORE, "store_float")((1,), (1,), (out, 1))
    print(out.view(cp.int32), out[0] == 0)


def python_bool_for_bool():
    """A Python bool is passed as a bool."""
    out = cp.zeros(1, dtype=cp.int32)
    cp.RawKernel(STORE, "store_bool")((1,), (1,), (out, True))
    print(out)


def python_complex():
    """A Python complex is passed as complex128: two doubles."""
    code = 'extern "C" __global__ void parts(double* x, double2 z) { x[0] = z.x; x[1] = z.y; }'
    out = cp.zeros(2)
    cp.RawKernel(code, "parts")((1,), (1,), (out, 2.5 - 1j))
    print(out)


def struct_by_value():
    """A NumPy structured scalar is passed by value as a struct."""
    code = r"""
    struct Point { int a; float b; };
    extern "C" __global__ void read(float* out, Point p) { out[0] = p.a + p.b; }"""
    out = cp.zeros(1, dtype=cp.float32)
    point = np.array((2, 0.5), dtype=[("a", "i4"), ("b", "f4")])
    cp.RawKernel(code, "read")((1,), (1,), (out, point))
    print(out)


def numpy_array_of_one():
    """A NumPy array of one element is passed by value."""
    out = cp.zeros(1, dtype=cp.int32)
    cp.RawKernel(STORE, "store_int")((1,), (1,), (out, np.array([6], dtype=np.int32)))
    print(out)


def numpy_array_argument():
    """A NumPy array of several elements is a TypeError."""
    cp.RawKernel(STORE, "store_int")((1,), (1,), (np.zeros(3, dtype=np.int32), 1))


def list_argument():
    """A list is a TypeError."""
    cp.RawKernel(STORE, "store_int")((1,), (1,), ([0], 1))


def string_argument():
    """A string is a TypeError."""
    cp.RawKernel(STORE, "store_int")((1,), (1,), ("x", 1))


def none_is_a_null_pointer():
    """None is passed as a null pointer."""
    code = 'extern "C" __global__ void is_null(int* out, float* p) { out[0] = p == nullptr; }'
    out = cp.zeros(1, dtype=cp.int32)
    cp.RawKernel(code, "is_null")((1,), (1,), (out, None))
    print(out)


def memory_pointer_argument():
    """A MemoryPointer, x.data, is a pointer; so is its integer for a 64-bit parameter."""
    out = cp.zeros(4, dtype=cp.int32)
    kernel = cp.RawKernel(STORE, "store_int")
    kernel((1,), (1,), (out.data + 4, np.int32(5)))
    kernel((1,), (1,), (out.data.ptr + 8, np.int32(6)))
    print(out)


def transposed_view_is_ignored():
    """A transpose is passed as its buffer: the kernel sees the elements in memory order."""
    x = cp.arange(6, dtype=cp.float32).reshape(2, 3)
    y = cp.zeros(6, dtype=cp.float32)
    cp.RawKernel(COPY, "copy")((1,), (32,), (x.T, y, np.int32(6)))
    print(y, x.T.ravel())


def strided_view_is_ignored():
    """A strided slice keeps its offset and loses its strides."""
    x = cp.arange(10, dtype=cp.float32)
    y = cp.zeros(3, dtype=cp.float32)
    cp.RawKernel(COPY, "copy")((1,), (32,), (x[2::3], y, np.int32(3)))
    print(y, x[2::3])


def reversed_view_is_ignored():
    """A reversed view points at its last element."""
    x = cp.arange(4, dtype=cp.float32)
    print((x[::-1].data.ptr - x.data.ptr) // 4)


def grid_of_an_int():
    """grid must be a tuple: TypeError."""
    cp.RawKernel(STORE, "store_int")(1, (1,), (cp.zeros(1, dtype=cp.int32), 1))


def block_of_an_int():
    """block must be a tuple: TypeError."""
    cp.RawKernel(STORE, "store_int")((1,), 1, (cp.zeros(1, dtype=cp.int32), 1))


def grid_of_numpy_integers():
    """NumPy integers in grid and block are fine."""
    out = cp.zeros(1, dtype=cp.int32)
    cp.RawKernel(STORE, "store_int")((np.int64(1),), (np.int32(1),), (out, 3))
    print(out)


def grid_of_zero():
    """grid (0,) still runs one block."""
    out = cp.zeros(1, dtype=cp.int32)
    cp.RawKernel(STORE, "store_int")((0,), (1,), (out, 3))
    print(out)


def negative_grid():
    """A negative grid acts as one block."""
    out = cp.zeros(1, dtype=cp.int32)
    cp.RawKernel(STORE, "store_int")((-5,), (1,), (out, 3))
    print(out)


def grid_of_four_dimensions():
    """More than three dimensions: as recorded."""
    out = cp.zeros(1, dtype=cp.int32)
    cp.RawKernel(STORE, "store_int")((1, 1, 1, 1), (1,), (out, 3))
    print(out)


def block_of_too_many_threads():
    """More than 1024 threads are a CUDADriverError."""
    cp.RawKernel(STORE, "store_int")((1,), (1025,), (cp.zeros(1, dtype=cp.int32), 1))


def block_too_deep():
    """More than 64 threads in z are a CUDADriverError."""
    cp.RawKernel(STORE, "store_int")((1,), (1, 1, 65), (cp.zeros(1, dtype=cp.int32), 1))


def grid_too_tall():
    """More than 65535 blocks in y are a CUDADriverError."""
    cp.RawKernel(STORE, "store_int")((1, 65536), (1,), (cp.zeros(1, dtype=cp.int32), 1))


def shared_memory_too_large():
    """More dynamic shared memory than 48 KiB, without asking first, is a CUDADriverError."""
    out = cp.zeros(1, dtype=cp.int32)
    cp.RawKernel(STORE, "store_int")((1,), (1,), (out, 1), shared_mem=50_000)


def shared_memory_after_asking():
    """max_dynamic_shared_size_bytes raises the limit to what the device has."""
    out = cp.zeros(1, dtype=cp.int32)
    kernel = cp.RawKernel(STORE, "store_int")
    kernel.max_dynamic_shared_size_bytes = 60_000
    kernel((1,), (1,), (out, 8), shared_mem=60_000)
    print(out, kernel.max_dynamic_shared_size_bytes)


def shared_memory_beyond_the_device():
    """Asking for a megabyte of shared memory is a CUDADriverError."""
    cp.RawKernel(STORE, "store_int").max_dynamic_shared_size_bytes = 1_000_000


def dynamic_shared_memory():
    """extern __shared__ has the bytes of shared_mem."""
    code = r"""
    extern "C" __global__ void turn(int* x) {
        extern __shared__ int tile[];
        tile[threadIdx.x] = x[threadIdx.x];
        __syncthreads();
        x[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
    }"""
    x = cp.arange(64, dtype=cp.int32)
    cp.RawKernel(code, "turn")((1,), (64,), (x,), shared_mem=64 * 4)
    print(x[:3], x[-1])


def unknown_keyword():
    """An unknown keyword is a TypeError."""
    cp.RawKernel(STORE, "store_int")((1,), (1,), (cp.zeros(1, dtype=cp.int32), 1), shared=0)


def missing_argument_of_the_call():
    """Without arguments the call is a TypeError."""
    cp.RawKernel(STORE, "store_int")((1,), (1,))


def options_must_be_a_tuple():
    """options in a list are a TypeError."""
    cp.RawKernel(STORE, "store_int", options=["-O3"])


def options_define():
    """-D defines a macro."""
    code = 'extern "C" __global__ void k(int* out) { out[0] = FACTOR; }'
    out = cp.zeros(1, dtype=cp.int32)
    cp.RawKernel(code, "k", options=("-DFACTOR=42",))((1,), (1,), (out,))
    print(out)


def unknown_option():
    """An option that the compiler does not know is a CompileException."""
    cp.RawKernel(STORE, "store_int", options=("--no-such-option",)).compile()


def unknown_name():
    """A kernel's name that the source lacks is a CUDADriverError at the first use."""
    kernel = cp.RawKernel(STORE, "stroe_int")
    print("made")
    kernel((1,), (1,), (cp.zeros(1, dtype=cp.int32), 1))


def missing_extern_c():
    """Without extern "C" the name is mangled and not found: CUDADriverError."""
    cp.RawKernel("__global__ void plain(int* out) { out[0] = 1; }", "plain").compile()


def compile_error():
    """A syntax error is a CompileException at compilation, not before."""
    kernel = cp.RawKernel('extern "C" __global__ void k(int* x) { x[0] = ; }', "k")
    print("made")
    kernel.compile()


def compile_error_names_the_identifier():
    """The log names the undeclared identifier and the line."""
    code = 'extern "C" __global__ void k(int* x) {\n  x[0] = undeclared_thing;\n}'
    try:
        cp.RawKernel(code, "k").compile()
    except cp.cuda.compiler.CompileException as error:
        print('identifier "undeclared_thing" is undefined' in str(error), "(2)" in str(error))


def compile_exception_attributes():
    """The exception can show the numbered source."""
    import io

    file = io.StringIO()
    try:
        cp.RawKernel('extern "C" __global__ void k() { oops }', "k").compile()
    except cp.cuda.compiler.CompileException as error:
        error.dump(file)
        print(isinstance(error, Exception), "oops" in file.getvalue(), "oops" in error.source)


def include_of_a_missing_header():
    """A header that is not there is a CompileException."""
    cp.RawKernel('#include "no_such_header.h"\nextern "C" __global__ void k() {}', "k").compile()


def standard_headers():
    """Headers of the host's library are not there for NVRTC: what is found is recorded."""
    for header in ("cstdint", "cuda_fp16.h", "math.h", "vector", "cuda/std/array"):
        code = f'#include <{header}>\nextern "C" __global__ void k() {{}}'
        try:
            cp.RawKernel(code, "k").compile()
            print(header, "found")
        except cp.cuda.compiler.CompileException:
            print(header, "not found")


def attributes():
    """A kernel knows its static limits."""
    kernel = cp.RawKernel(STORE, "store_int")
    print(kernel.max_threads_per_block, kernel.shared_size_bytes, kernel.local_size_bytes)
    print(kernel.name, sorted(kernel.attributes))


def static_shared_memory():
    """shared_size_bytes counts static shared memory."""
    code = r"""
    extern "C" __global__ void k(int* out) {
        __shared__ int tile[256];
        tile[threadIdx.x] = threadIdx.x;
        __syncthreads();
        out[threadIdx.x] = tile[255 - threadIdx.x];
    }"""
    print(cp.RawKernel(code, "k").shared_size_bytes)


def launch_bounds():
    """__launch_bounds__ is a limit for the launch: CUDADriverError above it."""
    code = 'extern "C" __global__ void __launch_bounds__(64) k(int* out) { out[0] = 1; }'
    kernel = cp.RawKernel(code, "k")
    print(kernel.max_threads_per_block)
    kernel((1,), (128,), (cp.zeros(1, dtype=cp.int32),))


def pickles():
    """A kernel can be pickled with its source."""
    import pickle

    out = cp.zeros(1, dtype=cp.int32)
    pickle.loads(pickle.dumps(cp.RawKernel(STORE, "store_int")))((1,), (1,), (out, 9))
    print(out)


def denormals_are_flushed():
    """Raw kernels are compiled with -ftz=true, too."""
    code = 'extern "C" __global__ void k(float* x) { x[0] = x[0] * 0.5f; x[1] = x[1] + 0.0f; }'
    x = cp.array([2e-38, 1e-40], dtype=cp.float32)
    cp.RawKernel(code, "k")((1,), (1,), (x,))
    print(x.get() == 0)


def fast_math_option():
    """--use_fast_math is accepted."""
    code = 'extern "C" __global__ void k(float* x) { x[0] = sinf(x[0]); }'
    x = cp.zeros(1, dtype=cp.float32)
    cp.RawKernel(code, "k", options=("--use_fast_math",))((1,), (1,), (x,))
    print(x)


def cpp_standard():
    """C++17 is the default: if constexpr compiles."""
    code = r"""
    template <int N> __device__ int f() { if constexpr (N > 1) return N; else return 0; }
    extern "C" __global__ void k(int* out) { out[0] = f<3>() + (int)(__cplusplus / 100); }"""
    out = cp.zeros(1, dtype=cp.int32)
    cp.RawKernel(code, "k")((1,), (1,), (out,))
    print(out - 3)


def warp_shuffle():
    """A warp's sum by shuffles."""
    code = r"""
    extern "C" __global__ void k(int* x) {
        int v = x[threadIdx.x];
        for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
        if (threadIdx.x == 0) x[0] = v;
    }"""
    x = cp.arange(32, dtype=cp.int32)
    cp.RawKernel(code, "k")((1,), (32,), (x,))
    print(x[0])


def warp_votes():
    """ballot, any, all and popc."""
    code = r"""
    extern "C" __global__ void k(unsigned* out) {
        unsigned odd = __ballot_sync(0xffffffffu, threadIdx.x % 2);
        bool all = __all_sync(0xffffffffu, threadIdx.x < 32), any = __any_sync(0xffffffffu, 0);
        if (threadIdx.x == 0) { out[0] = odd; out[1] = __popc(odd); out[2] = all; out[3] = any; }
    }"""
    out = cp.zeros(4, dtype=cp.uint32)
    cp.RawKernel(code, "k")((1,), (32,), (out,))
    print(out)


def atomics():
    """Atomic additions lose nothing; atomicMax, CAS and Exch return the old value."""
    code = r"""
    extern "C" __global__ void k(int* x, float* f) {
        atomicAdd(&x[0], 1); atomicMax(&x[1], (int)threadIdx.x); atomicAdd(f, 0.5f);
        if (blockIdx.x == 0 && threadIdx.x == 0)
            x[2] = atomicCAS(&x[3], 0, 7) + atomicExch(&x[4], 9);
    }"""
    x, f = cp.zeros(5, dtype=cp.int32), cp.zeros(1, dtype=cp.float32)
    cp.RawKernel(code, "k")((10,), (100,), (x, f))
    print(x[:2], f, x[3:])


def vector_types():
    """float4 loads work on aligned pointers."""
    code = r"""
    extern "C" __global__ void k(const float4* x, float* out) {
        float4 v = x[1];
        out[0] = v.x + v.y * 10 + v.z * 100 + v.w * 1000;
    }"""
    out = cp.zeros(1, dtype=cp.float32)
    cp.RawKernel(code, "k")((1,), (1,), (cp.arange(8, dtype=cp.float32), out))
    print(out)


def half_type():
    """__half of cuda_fp16.h."""
    code = r"""
    #include <cuda_fp16.h>
    extern "C" __global__ void k(__half* x) { x[0] = __float2half(__half2float(x[0]) + 0.5f); }"""
    x = cp.ones(1, dtype=cp.float16)
    cp.RawKernel(code, "k")((1,), (1,), (x,))
    print(x)


def device_printf():
    """printf in a kernel appears when the device is synchronised."""
    code = 'extern "C" __global__ void k(int n) { printf("n is %d, x is %.2f\\n", n, 1.5); }'
    cp.RawKernel(code, "k")((1,), (1,), (np.int32(3),))
    cp.cuda.Device().synchronize()
    print("synchronised")


def int32_index_overflow():
    """i * n in int wraps: a product of 65536 and 65536 is 0."""
    code = 'extern "C" __global__ void k(int* out, unsigned n) { out[0] = n * n; }'
    out = cp.ones(1, dtype=cp.int32)
    cp.RawKernel(code, "k")((1,), (1,), (out, np.uint32(65536)))
    print(out)


def too_many_arguments():
    """Arguments beyond the kernel's parameters are ignored: nothing counts them."""
    code = 'extern "C" __global__ void k(int* out) { out[0] = 5; }'
    out = cp.zeros(1, dtype=cp.int32)
    cp.RawKernel(code, "k")((1,), (1,), (out, 1, 2, 3))
    print(out)


@alone
def out_of_bounds_write_far_away():
    """A write a terabyte away is an illegal address, reported at the next synchronisation:
    CUDARuntimeError."""
    code = 'extern "C" __global__ void k(int* x, long long i) { x[i] = 1; }'
    cp.RawKernel(code, "k")((1,), (1,), (cp.zeros(1, dtype=cp.int32), 2**38))
    print("launched")
    cp.cuda.Device().synchronize()


@alone
def after_an_illegal_address_everything_fails():
    """After a fault every later call fails the same way: CUDARuntimeError."""
    code = 'extern "C" __global__ void k(int* x, long long i) { x[i] = 1; }'
    cp.RawKernel(code, "k")((1,), (1,), (cp.zeros(1, dtype=cp.int32), 2**38))
    try:
        cp.cuda.Device().synchronize()
    except cp.cuda.runtime.CUDARuntimeError as error:
        print(error)
    cp.zeros(3) + 1
    cp.cuda.Device().synchronize()


@alone
def null_pointer_write():
    """A write through a null pointer is an illegal address: CUDARuntimeError."""
    cp.RawKernel(STORE, "store_int")((1,), (1,), (None, np.int32(1)))
    cp.cuda.Device().synchronize()


@alone
def trap():
    """__trap() stops the kernel: CUDARuntimeError."""
    cp.RawKernel('extern "C" __global__ void k() { __trap(); }', "k")((1,), (1,), ())
    cp.cuda.Device().synchronize()


@alone
def device_assert():
    """A failed assert is a CUDARuntimeError."""
    code = 'extern "C" __global__ void k(int n) { assert(n > 3); }'
    cp.RawKernel(code, "k")((1,), (1,), (np.int32(1),))
    cp.cuda.Device().synchronize()


def out_of_bounds_within_the_pool():
    """A write past the end but inside the pool's block of 512 bytes is not reported."""
    x = cp.zeros(4, dtype=cp.int32)
    code = 'extern "C" __global__ void k(int* x) { x[5] = 1; }'
    cp.RawKernel(code, "k")((1,), (1,), (x,))
    cp.cuda.Device().synchronize()
    print(x)
