"""The CUDA vocabulary: one module per compiler and strictness, each kernel against NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from engine_support import array, launch, read

from nogpu import engine

SOURCE = r"""
#include <cuda_fp16.h>
#define G (blockIdx.x * blockDim.x + threadIdx.x)

__global__ void where(int* out) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    int width = gridDim.x * blockDim.x, height = gridDim.y * blockDim.y;
    out[(z * height + y) * width + x] = 1000000 * z + 1000 * y + x + (warpSize - 32);
}

template <typename T, int N> __global__ void __launch_bounds__(128) times(T* x, int n) {
    int i = G;
    if (i < n) x[i] *= N;
}
namespace inner {
struct Pair { float first; int second; };
__device__ float add(Pair p) { return p.first + p.second; }
__global__ void pairs(Pair p, float* out) { out[threadIdx.x] = add(p) + threadIdx.x; }
}  // namespace inner

__constant__ float coefficients[4];
__constant__ int three = 3;
__device__ int counter = 5;
static __device__ float table[4];
__global__ void constants(float* out) {
    out[threadIdx.x] = coefficients[threadIdx.x] * three + table[threadIdx.x];
    if (threadIdx.x == 0) atomicAdd(&counter, 2);
}

__global__ void transpose(const float* in, float* out, int n) {
    __shared__ float tile[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < n && y < n) tile[threadIdx.y][threadIdx.x] = in[y * n + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x;
    y = blockIdx.x * 16 + threadIdx.y;
    if (x < n && y < n) out[y * n + x] = tile[threadIdx.x][threadIdx.y];
}

__global__ void dynamic(const float* in, float* out) {
    extern __shared__ float buffer[];
    float* second = buffer + blockDim.x;
    buffer[threadIdx.x] = in[threadIdx.x];
    second[threadIdx.x] = 2 * in[threadIdx.x];
    __syncthreads();
    int other = blockDim.x - 1 - threadIdx.x;
    out[threadIdx.x] = buffer[other] + second[other];
}

__global__ void block_votes(int* out) {
    int even = threadIdx.x % 2 == 0;
    int count = __syncthreads_count(even), all = __syncthreads_and(threadIdx.x < 1000);
    int any = __syncthreads_or(threadIdx.x == 77), none = __syncthreads_or(0);
    if (threadIdx.x == 0) { out[0] = count; out[1] = all != 0; out[2] = any != 0; out[3] = none; }
}

__global__ void shuffles(int* out) {
    const unsigned full = 0xffffffffu;
    int t = threadIdx.x, row = 32 * 8;
    out[t] = __shfl_sync(full, t * 10, 5);
    out[row / 8 * 2 + t] = __shfl_up_sync(full, t * 10, 3);
    out[row / 8 * 4 + t] = __shfl_down_sync(full, t * 10, 3, 16);
    out[row / 8 * 6 + t] = __shfl_xor_sync(full, t * 10, 1);
}

__global__ void votes(unsigned* out) {
    const unsigned full = 0xffffffffu;
    int t = threadIdx.x;
    unsigned ballot = __ballot_sync(full, t % 3 == 0);
    int any = __any_sync(full, t == 7), all = __all_sync(full, t >= 0);
    unsigned branch = 0, same = __match_any_sync(full, t % 4);
    if (t % 2)
        branch = __activemask();
    else
        branch = __activemask();
    __syncwarp();
    out[t] = ballot;
    out[32 + t] = any * 10 + all;
    out[64 + t] = branch;
    out[96 + t] = same;
}

__global__ void warp_sums(const double* in, double* out) {
    double v = in[G];
    for (int offset = 16; offset; offset /= 2) v += __shfl_down_sync(0xffffffffu, v, offset);
    if (threadIdx.x % 32 == 0) atomicAdd(&out[0], v);
}

__global__ void atomics(int* i, unsigned* u, float* f, double* d, unsigned long long* l) {
    int t = G;
    atomicAdd(&i[0], t); atomicSub(&i[1], 1); atomicMin(&i[2], t - 50); atomicMax(&i[3], t);
    atomicAnd(&i[4], ~(1 << (t % 4))); atomicOr(&i[5], 1 << (t % 10)); atomicXor(&i[6], t);
    atomicExch(&i[7], 42);
    int old = i[8 + 0 * t] * 0;  // only to read something that nobody writes
    while (true) {
        old = atomicAdd(&i[9], 0);
        if (atomicCAS(&i[9], old, old + 2) == old) break;
    }
    atomicInc(&u[0], 9); atomicDec(&u[1], 9); atomicAdd_block(&u[2 + blockIdx.x], 1u);
    atomicAdd_system(&u[8], 1u);
    atomicAdd(&f[0], 0.5f); atomicExch(&f[1], 2.5f);
    atomicAdd(&d[0], 0.25);
    atomicAdd(&l[0], 1ull << 33); atomicMax(&l[1], (unsigned long long)t << 34);
}

__global__ void lock(int* mutex, volatile int* total) {
    bool done = false;
    while (!done) {
        if (atomicCAS(mutex, 0, 1) == 0) {
            *total = *total + 1;
            __threadfence();
            atomicExch(mutex, 0);
            done = true;
        }
    }
}

__global__ void vectors(const float4* in, float4* out, float2* halves, int2* whole, char4* small) {
    float4 v = in[threadIdx.x];
    v.x += 1; v.w *= 2;
    out[threadIdx.x] = v;
    halves[threadIdx.x] = make_float2(v.x, v.y);
    int2 w = {(int)v.x, 7};
    whole[threadIdx.x] = w;
    small[threadIdx.x] = make_char4(1, 2, 3, threadIdx.x);
    out[threadIdx.x + blockDim.x] = in[threadIdx.x];
    double2 d = make_double2(1, 2); uint3 u = make_uint3(1, 2, 3); dim3 b(4, 5);
    if (d.y + u.z + b.z != 6) out[0].x = -1;
}

__global__ void shared_vectors(float4* x) {
    __shared__ float4 tile[32];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = tile[31 - threadIdx.x];
}
union Both { float4 v; float f[4]; };
struct Particle { float x, y, z; int id; double weight; };
__global__ void structures(Particle* p, float4* v, int n) {
    int i = threadIdx.x;
    if (i < n / 2) {
        Particle keep = p[i];
        p[i] = p[n - 1 - i];
        p[n - 1 - i] = keep;
    }
    Both both;
    both.v = v[i];
    both.f[2] += 1;
    v[i] = both.v;
}
template <class T> __device__ T* dynamic_of() {
    extern __shared__ __align__(16) unsigned char raw[];
    return reinterpret_cast<T*>(raw);
}
template <class T> __global__ void reversed(T* x) {
    T* s = dynamic_of<T>();
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
typedef float (*Operation)(float, float);
__device__ float sum_of(float a, float b) { return a + b; }
__device__ float product_of(float a, float b) { return a * b; }
__device__ Operation operations[2] = {sum_of, product_of};
__device__ const float weights[3] = {1, 2, 3};
__global__ void pointers(float* x, int k) {
    x[threadIdx.x] = operations[k](x[threadIdx.x], weights[threadIdx.x % 3]);
    __syncthreads();
    if (threadIdx.x == 0) memcpy(x + 8, x, 4 * sizeof(float));
}

__global__ void halves(const __half* in, __half* out, float* wide) {
    int t = threadIdx.x;
    __half h = in[t];
    out[t] = __hadd(h, __float2half(1.0f)) * h;
    wide[t] = __half2float(h);
    __half2 two = __halves2half2(h, h), sum = __hadd2(two, two);
    wide[t + blockDim.x] = __low2float(sum) + (h > __float2half(2.0f) ? 100.0f : 0.0f);
}

__global__ void integers(int* out) {
    out[0] = __popc(0xf0f0u); out[1] = __clz(1); out[2] = __ffs(8); out[3] = (int)__brev(1u);
    out[4] = __float_as_int(1.0f); out[5] = __mulhi(1 << 20, 1 << 20); out[6] = __clz(0);
    out[7] = __popcll(~0ull); out[8] = (int)__byte_perm(0x03020100, 0x07060504, 0x5410);
    out[9] = __float2int_rn(2.5f); out[10] = __float2int_rz(-2.7f); out[11] = __float2int_rd(-2.1f);
    out[12] = __ffs(0); out[13] = min(3, -4) + max(7, 2); out[14] = abs(-9);
    out[15] = (int)__umulhi(0x80000000u, 4u); out[16] = (int)__funnelshift_l(0x80000000u, 1u, 1);
    out[17] = clock64() > 0; out[18] = __dp4a(0x01020304, 0x01010101, 5);
}

__global__ void reals(float* out, float x) {
    out[0] = rsqrtf(x); out[1] = __expf(x); out[2] = __sinf(x); out[3] = __fmaf_rn(x, 2.0f, 1.0f);
    out[4] = sqrt(x); out[5] = pow(x, 2); out[6] = fminf(x, 1.0f); out[7] = __ldg(&out[0]);
    out[8] = max(x, 9.0f); out[9] = fabs(-x); out[10] = sqrt(4.0); out[11] = __fdividef(x, 2.0f);
    out[12] = tanhf(x); out[13] = erff(x); out[14] = fma(x, x, x); out[15] = floor(x);
    out[16] = isnan(x) || isinf(x); out[17] = __saturatef(x);
    out[18] = __uint_as_float(0x40000000u);
    float s, c; sincosf(x, &s, &c); out[19] = s * s + c * c;
}

__global__ void lambda(int* out) {
    auto square = [&](auto v) { return v * v; };
    if constexpr (sizeof(int) == 4) out[threadIdx.x] = square((int)threadIdx.x);
}

__global__ void prints(int n) {
    if (threadIdx.x == 1) printf("%d of %s: %5.2f%c\n", n, "three", 1.5, '!');
}
"""
INSTANCES = ("times<float, 3>", "times<double, 2>", "times<int, 5>", "reversed<double>")


@pytest.fixture(scope="module", params=["nvrtc", "nvcc"])
def module(compiler: str, request: pytest.FixtureRequest) -> engine.Module:
    return engine.compile(SOURCE, ("-std=c++17",), INSTANCES, dialect=request.param)


@pytest.fixture
def run(module: engine.Module, checked: bool):
    def run_kernel(name: str, grid: tuple, block: tuple, *arguments: object, shared: int = 0):
        launch(module.kernel(name), grid, block, *arguments, shared=shared)

    return run_kernel


def test_three_dimensional_grid(run) -> None:
    out = array(np.zeros(4 * 6 * 10, np.int32), "out")
    run("where", (2, 3, 2), (5, 2, 2), out)
    z, y, x = np.mgrid[:4, :6, :10]
    assert (read(out, np.int32, (4, 6, 10)) == 1000000 * z + 1000 * y + x).all()


@pytest.mark.parametrize(("kind", "factor"), [("float", 3), ("double", 2), ("int", 5)])
def test_template_instances(run, kind: str, factor: int) -> None:
    values = np.arange(300, dtype={"float": "f4", "double": "f8", "int": "i4"}[kind])
    x = array(values, "x")
    run(f"times<{kind}, {factor}>", (3,), (128,), x, np.int32(250))
    expected = values.copy()
    expected[:250] *= factor
    assert (read(x, values.dtype) == expected).all()


def test_structure_by_value_and_namespace(run) -> None:
    out = array(np.zeros(4, np.float32), "out")
    pair = np.array([(1.5, 4)], dtype=[("first", "f4"), ("second", "i4")])
    run("inner::pairs", (1,), (4,), pair, out)
    assert (read(out, np.float32) == 5.5 + np.arange(4)).all()


def test_constant_and_device_variables(module, run) -> None:
    coefficients, table = module.variable("coefficients"), module.variable("table")
    counter = module.variable("counter")
    assert coefficients.nbytes == 16
    engine.copy_to_device(coefficients.address, np.array([1, 2, 3, 4], np.float32))
    engine.copy_to_device(table.address, np.array([10, 20, 30, 40], np.float32))
    engine.copy_to_device(counter.address, np.array([5], np.int32))
    assert engine.lookup(coefficients.address + 4).name == "coefficients"
    out = array(np.zeros(4, np.float32), "out")
    run("constants", (1,), (4,), out)
    assert (read(out, np.float32) == [13, 26, 39, 52]).all()
    assert read(counter, np.int32)[0] == 7


def test_shared_tile_with_barrier(run) -> None:
    values = np.random.default_rng(1).random((50, 50), np.float32)
    source, out = array(values, "in"), array(np.zeros_like(values), "out")
    run("transpose", (4, 4), (16, 16), source, out, np.int32(50))
    assert (read(out, np.float32, (50, 50)) == values.T).all()


def test_dynamic_shared_memory(run) -> None:
    values = np.arange(100, dtype=np.float32)
    source, out = array(values, "in"), array(np.zeros(100, np.float32), "out")
    run("dynamic", (1,), (100,), source, out, shared=800)
    assert (read(out, np.float32) == 3 * values[::-1]).all()


def test_barriers_that_count(run) -> None:
    out = array(np.zeros(4, np.int32), "out")
    run("block_votes", (1,), (101,), out)
    assert read(out, np.int32).tolist() == [51, 1, 1, 0]


def test_shuffles(run) -> None:
    out = array(np.zeros(4 * 64, np.int32), "out")
    run("shuffles", (1,), (64,), out)
    lane = np.arange(64) % 32
    first = np.arange(64) - lane
    rows = read(out, np.int32, (4, 64))
    assert (rows[0] == (first + 5) * 10).all()
    assert (rows[1] == np.where(lane < 3, np.arange(64), np.arange(64) - 3) * 10).all()
    down = np.where(lane % 16 + 3 > 15, np.arange(64), np.arange(64) + 3)
    assert (rows[2] == down * 10).all()
    assert (rows[3] == (np.arange(64) ^ 1) * 10).all()


def test_votes_and_active_mask(run) -> None:
    out = array(np.zeros(128, np.uint32), "out")
    run("votes", (1,), (32,), out)
    rows = read(out, np.uint32, (4, 32))
    lanes = np.arange(32)
    assert (rows[0] == sum(1 << t for t in range(0, 32, 3))).all()
    assert (rows[1] == 11).all()
    assert (rows[2] == np.where(lanes % 2, 0xAAAAAAAA, 0x55555555)).all()
    assert (rows[3] == [0x11111111 << (t % 4) for t in range(32)]).all()


def test_warp_reduction_of_doubles(run) -> None:
    values = np.random.default_rng(2).integers(0, 100, 512).astype(np.float64)
    source, out = array(values, "in"), array(np.zeros(1), "out")
    run("warp_sums", (4,), (128,), source, out)
    assert read(out, np.float64)[0] == values.sum()


def test_atomics(run) -> None:
    start = np.array([0, 0, 0, 0, 15, 0, 0, 0, 0, 0], np.int32)
    i, u = array(start, "i"), array(np.zeros(9, np.uint32), "u")
    f, d = array(np.zeros(2, np.float32), "f"), array(np.zeros(1), "d")
    wide = array(np.zeros(2, np.uint64), "l")
    run("atomics", (4,), (64,), i, u, f, d, wide)
    t = np.arange(256)
    expected = [t.sum(), -256, -50, 255, 0, 1023, np.bitwise_xor.reduce(t), 42, 0, 512]
    assert read(i, np.int32).tolist() == expected
    assert read(u, np.uint32).tolist() == [256 % 10, (0 - 256) % 10, 64, 64, 64, 64, 0, 0, 256]
    assert read(f, np.float32).tolist() == [128.0, 2.5]
    assert read(d, np.float64)[0] == 64.0
    assert read(wide, np.uint64).tolist() == [256 << 33, 255 << 34]


def test_spin_lock_makes_progress(run) -> None:
    mutex, total = array(np.zeros(1, np.int32), "mutex"), array(np.zeros(1, np.int32), "total")
    run("lock", (4,), (64,), mutex, total)
    assert read(total, np.int32)[0] == 256


def test_vector_types(run) -> None:
    values = np.arange(32, dtype=np.float32).reshape(8, 4)
    source, out = array(values, "in"), array(np.zeros((16, 4), np.float32), "out")
    halves = array(np.zeros((8, 2), np.float32), "halves")
    whole = array(np.zeros(16, np.int32), "whole")
    small = array(np.zeros((8, 4), np.int8), "small")
    run("vectors", (1,), (8,), source, out, halves, whole, small)
    expected = values + [1, 0, 0, 0]
    expected[:, 3] *= 2
    got = read(out, np.float32, (16, 4))
    assert (got[:8] == expected).all() and (got[8:] == values).all()
    assert (read(halves, np.float32, (8, 2)) == expected[:, :2]).all()
    assert (read(whole, np.int32, (8, 2))[:, 1] == 7).all()
    assert (read(small, np.int8, (8, 4)) == [[1, 2, 3, t] for t in range(8)]).all()


def test_vectors_in_shared_memory(run) -> None:
    values = np.arange(128, dtype=np.float32).reshape(32, 4)
    x = array(values, "x")
    run("shared_vectors", (1,), (32,), x)
    assert (read(x, np.float32, (32, 4)) == values[::-1]).all()


def test_structures_and_unions(run) -> None:
    kind = np.dtype([("x", "f4"), ("y", "f4"), ("z", "f4"), ("id", "i4"), ("weight", "f8")])
    values = np.zeros(20, kind)
    values["id"] = np.arange(20)
    particles, v = array(values, "p"), array(np.zeros((32, 4), np.float32), "v")
    run("structures", (1,), (32,), particles, v, np.int32(20))
    assert (read(particles, kind)["id"] == np.arange(20)[::-1]).all()
    assert (read(v, np.float32, (32, 4)) == [0, 0, 1, 0]).all()


def test_dynamic_shared_memory_of_a_template(run) -> None:
    x = array(np.arange(64.0), "x")
    run("reversed<double>", (1,), (64,), x, shared=512)
    assert (read(x, np.float64) == np.arange(64)[::-1]).all()


def test_function_pointers_constants_and_memcpy(run) -> None:
    x = array(np.arange(12, dtype=np.float32), "x")
    run("pointers", (1,), (8,), x, np.int32(1))
    expected = np.arange(8) * np.array([1, 2, 3, 1, 2, 3, 1, 2])
    assert (read(x, np.float32) == [*expected, *expected[:4]]).all()


def test_half_precision(run) -> None:
    special = [0, -0.0, 1, 2.5, 65504, 1e-7, 6e-8, -3.14159, np.inf, 1e-5, 0.333333, 1000]
    values = np.array(special, np.float16)
    n = len(values)
    source, out = array(values, "in"), array(np.zeros(n, np.float16), "out")
    wide = array(np.zeros(2 * n, np.float32), "wide")
    run("halves", (1,), (n,), source, out, wide)
    with np.errstate(all="ignore"):
        one = np.float16(1)
        assert np.array_equal(read(out, np.float16), (values + one) * values, equal_nan=True)
        got = read(wide, np.float32, (2, n))
        assert np.array_equal(got[0], values.astype(np.float32))
        doubled = (values + values).astype(np.float32) + np.where(values > 2, 100, 0)
        assert np.array_equal(got[1], doubled.astype(np.float32))


def test_integer_intrinsics(run) -> None:
    out = array(np.zeros(19, np.int32), "out")
    run("integers", (1,), (1,), out)
    expected = [8, 31, 4, -(2**31), 0x3F800000, 256, 32, 64, 0x05040100, 2, -2, -3, 0, 3, 9, 2, 3,
                1, 15]  # fmt: skip
    assert read(out, np.int32).tolist() == expected


def test_mathematical_functions(run) -> None:
    x = 1.7
    out = array(np.zeros(20, np.float32), "out")
    run("reals", (1,), (1,), out, np.float32(x))
    expected = [x**-0.5, math.exp(x), math.sin(x), 2 * x + 1, x**0.5, x * x, 1, x**-0.5, 9, x, 2,
                x / 2, math.tanh(x), math.erf(x), x * x + x, 1, 0, 1, 2, 1]  # fmt: skip
    assert np.allclose(read(out, np.float32), expected, rtol=2e-6)


def test_lambda_and_if_constexpr(run) -> None:
    out = array(np.zeros(8, np.int32), "out")
    run("lambda", (1,), (8,), out)
    assert (read(out, np.int32) == np.arange(8) ** 2).all()


def test_printf(run) -> None:
    said = []
    engine.set_printer(said.append)
    try:
        run("prints", (1,), (4,), np.int32(3))
    finally:
        engine.set_printer(None)
    assert b"".join(said) == b"3 of three:  1.50!\n"


PRINTED = [
    (r'"%d %s|", 1.5, 7u', "0 (no string)|"),  # a double's lower half is 0
    (r'"%d %d|", 1.5, 7', "0 1073217536|"),  # an H200's answer, as the next two
    (r'"%f|", 3', "0.000000|"),
    (r'"%d %d %f|", 1', "1 0 0.000000|"),
    (r'"%n|%d|", (int*)8, 5', "|5|"),
    (r'"%d %f %s|", 1', "1 0.000000 (no string)|"),
    (r'"%s %s|", (const char*)0, "x"', "(null) x|"),
    (r'"%lld %hhd %ld %zu|", -5000000000ll, 7, 8l, sizeof(int)', "-5000000000 7 8 4|"),
    (r'"[%5d] [%-5d] [%05d] [%+d] [%#x] [%5.1f]|", 42, 42, 42, 42, 255, 2.25f',
     "[   42] [42   ] [00042] [+42] [0xff] [  2.2]|"),
    (r'"[%10s] [%-4s] [%.2s]|", "abc", "abc", "abc"', "[       abc] [abc ] [ab]|"),
    (r'"%*d|%.*f|%c%%|", 6, 42, 2, 3.14159, 65', "    42|3.14|A%|"),
    (r'"%q %", 5', "%q %"),
    (r'"%d|", printf("a %d %d|", 1, 2)', "a 1 2|2|"),
]


def test_printf_reads_no_more_than_it_is_given(compiler: str) -> None:
    calls = "".join(f"    printf({call});\n" for call, _ in PRINTED)
    module = engine.compile(f"__global__ void prints() {{\n{calls}}}")
    said = []
    engine.set_printer(said.append)
    try:
        module.kernel("prints").launch((1,), (1,), [])
    finally:
        engine.set_printer(None)
    assert b"".join(said).decode() == "".join(text for _, text in PRINTED)
