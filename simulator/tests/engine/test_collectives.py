"""cub's collectives, thrust's and cuda::std's small names, copies that may be asynchronous."""

from __future__ import annotations

import numpy as np
import pytest
from engine_support import array, pack, read

from nogpu import engine
from nogpu.faces import HEADERS

THREADS, ITEMS = 96, 4
OPTIONS = ("-std=c++17", f"-I{HEADERS}")
SOURCE = r"""
#include <cub/cub.cuh>

struct Larger {
    __device__ float operator()(float a, float b) const { return a > b ? a : b; }
};
struct Running {
    int total;
    __device__ int operator()(int sum) { int before = total; total += sum; return before; }
};

template <int WHAT> __global__ void reductions(const float* x, float* out, int n) {
    typedef cub::BlockReduce<float, 96> Block;
    typedef cub::WarpReduce<float> Warp;
    typedef cub::WarpReduce<float, 8> Eighth;
    __shared__ union { typename Block::TempStorage block; float other[2]; } temp;
    __shared__ Warp::TempStorage warps[3];
    __shared__ Eighth::TempStorage eighths[12];
    int t = threadIdx.x;
    float items[4] = {x[4 * t], x[4 * t + 1], x[4 * t + 2], x[4 * t + 3]};
    float result = -1;
    if (WHAT == 0) result = Block(temp.block).Sum(items[0]);
    if (WHAT == 1) result = Block(temp.block).Sum(items[0], n);
    if (WHAT == 2) result = Block(temp.block).Sum(items);
    if (WHAT == 3) result = Block(temp.block).Reduce(items[0], Larger());
    if (WHAT == 4) result = Block(temp.block).Reduce(items[0], cub::Min(), n);
    if (WHAT == 5) result = Block().Reduce(items, cub::Max());
    if (WHAT == 6) result = Warp(warps[t / 32]).Sum(items[0]);
    if (WHAT == 7) result = Warp(warps[t / 32]).Reduce(items[0], cub::Max(), 5);
    if (WHAT == 8) result = Eighth(eighths[t / 8]).Sum(items[0]);
    if (WHAT == 9) {
        result = Block(temp.block).Sum(items[0]);
        result += Block(temp.block).Sum(items[1]);
    }
    out[t] = result;
}

template <int WHAT> __global__ void scans(const int* x, int* out) {
    typedef cub::BlockScan<int, 96> Block;
    typedef cub::WarpScan<int> Warp;
    __shared__ typename Block::TempStorage temp;
    __shared__ Warp::TempStorage warps[3];
    int t = threadIdx.x, v = x[t], sum = 0, r = 0;
    int items[4] = {x[4 * t], x[4 * t + 1], x[4 * t + 2], x[4 * t + 3]};
    Running running = {1000};
    if (WHAT == 0) Block(temp).InclusiveSum(v, r);
    if (WHAT == 1) { Block(temp).ExclusiveSum(v, r, sum); r += 10000 * sum; }
    if (WHAT == 2) Block(temp).ExclusiveScan(v, r, 7, cub::Max());
    if (WHAT == 3) Block(temp).InclusiveScan(v, r, cub::Min());
    if (WHAT == 4) Block(temp).ExclusiveSum(v, r, running);
    if (WHAT == 5) Block(temp).InclusiveSum(v, r, running);
    if (WHAT == 6) Block(temp).InclusiveSum(items, items);
    if (WHAT == 7) Block(temp).ExclusiveSum(items, items);
    if (WHAT == 8) { Warp(warps[t / 32]).InclusiveSum(v, r, sum); r += 10000 * sum; }
    if (WHAT == 9) Warp(warps[t / 32]).ExclusiveSum(v, r);
    if (WHAT == 10) Warp(warps[t / 32]).ExclusiveScan(v, r, 3, cub::Max());
    if (WHAT == 11) r = Warp(warps[t / 32]).Broadcast(v, 9);
    if (WHAT == 6 || WHAT == 7) for (int i = 0; i < 4; i++) out[4 * t + i] = items[i];
    else out[t] = r;
}

template <cub::BlockLoadAlgorithm L, cub::BlockStoreAlgorithm S>
__global__ void moves(const int* x, int* out, int n) {
    typedef cub::BlockLoad<int, 96, 4, L> Load;
    typedef cub::BlockStore<int, 96, 4, S> Store;
    __shared__ union { typename Load::TempStorage load; typename Store::TempStorage store; } temp;
    int items[4];
    Load(temp.load).Load(x, items, n, -1);
    for (int i = 0; i < 4; i++) items[i] += 1000 * (4 * threadIdx.x + i);
    __syncthreads();
    Store(temp.store).Store(out, items, n);
}
"""
LOADS = ["DIRECT", "STRIPED", "TRANSPOSE", "WARP_TRANSPOSE"]
NAMES = [
    *(f"reductions<{k}>" for k in range(10)), *(f"scans<{k}>" for k in range(12)),
    *(f"moves<cub::BLOCK_LOAD_{k}, cub::BLOCK_STORE_{k}>" for k in LOADS),
]  # fmt: skip
X = np.random.default_rng(3).integers(0, 90, THREADS * ITEMS).astype(np.int32)


@pytest.fixture(scope="module")
def module(compiler: str) -> engine.Module:
    return engine.compile(SOURCE, OPTIONS, NAMES, dialect="nvrtc")


def run(module: engine.Module, name: str, dtype: type, *more: object) -> np.ndarray:
    x, out = array(X.astype(dtype), "x"), array(np.full(len(X), -9, dtype), "out")
    try:
        module.kernel(name).launch((1,), (THREADS,), pack(x, out, *more), time_limit=30)
        return read(out, dtype)
    finally:
        x.free()
        out.free()


V = X.reshape(THREADS, ITEMS)
FIRST = V[:, 0]
WARPS = FIRST.reshape(-1, 32)
REDUCED = [
    FIRST.sum(), FIRST[:50].sum(), X.sum(), FIRST.max(), FIRST[:50].min(), X.max(),
    WARPS.sum(1), WARPS[:, :5].max(1), FIRST.reshape(-1, 8).sum(1),
]  # fmt: skip


@pytest.mark.parametrize("what, expected", list(enumerate(REDUCED)))
def test_reductions(module: engine.Module, checked: bool, what: int, expected) -> None:
    found = run(module, f"reductions<{what}>", np.float32, np.int32(50))
    expected = np.atleast_1d(expected)
    assert (found[:THREADS : THREADS // len(expected)] == expected).all()


def test_storage_that_is_used_again_without_a_barrier_is_a_race(module: engine.Module) -> None:
    with pytest.raises(engine.Race, match=r"writes 4 bytes at temp\[1\]") as caught:
        run(module, "reductions<9>", np.float32, np.int32(50))
    assert "Sum(items[1])" in caught.value.text


B = X[:THREADS]
W = B.reshape(-1, 32)
SCANNED = [
    B.cumsum(), B.cumsum() - B + 10000 * B.sum(),
    np.maximum.accumulate(np.r_[7, B[:-1]]), np.minimum.accumulate(B),
    1000 + B.cumsum() - B, 1000 + B.cumsum(), X.cumsum(), X.cumsum() - X,
    (W.cumsum(1) + 10000 * W.sum(1, keepdims=True)).ravel(), (W.cumsum(1) - W).ravel(),
    np.maximum.accumulate(np.c_[[3, 3, 3], W[:, :-1]], 1).ravel(), np.repeat(W[:, 9], 32),
]  # fmt: skip


@pytest.mark.parametrize("what, expected", list(enumerate(SCANNED)))
def test_scans(module: engine.Module, checked: bool, what: int, expected: np.ndarray) -> None:
    assert (run(module, f"scans<{what}>", np.int32)[: len(expected)] == expected).all()


@pytest.mark.parametrize("kind", LOADS)
def test_loads_and_stores(module: engine.Module, kind: str) -> None:
    name = f"moves<cub::BLOCK_LOAD_{kind}, cub::BLOCK_STORE_{kind}>"
    found = run(module, name, np.int32, np.int32(len(X) - 6))
    place = np.arange(len(X))
    if kind == "STRIPED":  # item i of a thread lies `THREADS` further than item i - 1
        place = place % THREADS * ITEMS + place // THREADS
    assert (found[:-6] == X[:-6] + 1000 * place[:-6]).all() and (found[-6:] == -9).all()


def test_a_block_of_another_size_is_a_fault(module: engine.Module) -> None:
    out = array(np.zeros(64, np.int32), "out")
    with pytest.raises(engine.AssertionFault, match="as many threads as cub was told"):
        module.kernel("scans<0>").launch((1,), (32,), pack(out, out), time_limit=30)
    out.free()


NAMES_OF_STD = r"""
#include <cuda/std/tuple>
#include <cuda/std/complex>
#include <cuda/functional>
#include <thrust/pair.h>
#include <thrust/complex.h>
__device__ cuda::std::tuple<int, float> both(int x) { return cuda::std::make_tuple(x, x * 0.5f); }
extern "C" __global__ void f(float* out) {
    auto [a, b] = both(3);
    int c;
    float d;
    cuda::std::tie(c, d) = both(5);
    auto p = thrust::make_pair(1, 2.5f);
    cuda::std::array<int, 3> three = {1, 2, 3};
    thrust::complex<float> z = thrust::exp(thrust::complex<float>(0, 1)) * 2.0f;
    cuda::std::swap(a, c);
    out[0] = a; out[1] = b; out[2] = c; out[3] = d; out[4] = p.second; out[5] = three[2];
    out[6] = cuda::std::numeric_limits<float>::digits;
    out[7] = cuda::std::max(2.0f, d) + cuda::std::clamp(5, 1, 3);
    out[8] = cuda::std::is_same_v<cuda::std::remove_cvref_t<const int&>, int>;
    out[9] = cuda::std::get<1>(both(7));
    out[10] = cuda::std::sqrt(16.0f) + cuda::std::abs(cuda::std::complex<float>(3, 4));
    out[11] = cuda::maximum<>{}(3.0f, 4.0f) + cuda::std::plus<>{}(1, 2.5f);
    out[12] = z.real(); out[13] = thrust::arg(z); out[14] = (z * conj(z)).real();
    out[15] = cuda::std::is_signed<int>::value + cuda::std::is_unsigned_v<uint8_t>;
}
"""


@pytest.mark.parametrize("dialect, first", [
    ("nvrtc", ""), ("nvcc", ""), ("nvcc", "#include <cstdio>\n"),
])  # fmt: skip
def test_names_of_thrust_and_std(compiler: str, dialect: str, first: str) -> None:
    module = engine.compile(first + NAMES_OF_STD, OPTIONS, dialect=dialect)
    out = array(np.zeros(16, np.float32), "out")
    module.kernel("f").launch((1,), (1,), pack(out))
    expected = [5, 1.5, 3, 2.5, 2.5, 3, 24, 5.5, 1, 3.5, 9, 7.5, 2 * np.cos(1), 1, 4, 2]
    np.testing.assert_allclose(read(out, np.float32), np.float32(expected), rtol=1e-6)
    out.free()


COPIES = r"""
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>
template <int WHAT> __global__ void f(const int* x, int* out, int n) {
    __shared__ __align__(16) int tile[256];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    auto block = cooperative_groups::this_thread_block();
    int t = threadIdx.x;
    if (t == 0) init(&bar, n);
    __syncthreads();
    if (WHAT == 0) {
        auto pipe = cuda::make_pipeline();
        pipe.producer_acquire();
        cuda::memcpy_async(&tile[t * 4], &x[t * 4], cuda::aligned_size_t<16>(16), pipe);
        pipe.producer_commit();
        cuda::pipeline_consumer_wait_prior<0>(pipe);
        __syncthreads();
    }
    if (WHAT == 1) {
        cuda::memcpy_async(block, tile, x, sizeof tile, bar);
        bar.arrive_and_wait();
    }
    if (WHAT == 2) {
        __pipeline_memcpy_async(&tile[t * 4], &x[t * 4], 16, 8);
        __pipeline_commit();
        __pipeline_wait_prior(0);
        auto token = bar.arrive();
        bar.wait(token);
    }
    if (WHAT == 3) cuda::memcpy_async(block, tile, x, sizeof tile, bar);
    for (int i = 0; i < 4; i++) out[t * 4 + i] = tile[255 - t * 4 - i];
}
"""


@pytest.fixture(scope="module")
def copies(compiler: str) -> engine.Module:
    return engine.compile(COPIES, OPTIONS, [f"f<{k}>" for k in range(4)], dialect="nvrtc")


def copied(copies: engine.Module, what: int, expected: int = 64) -> np.ndarray:
    x, out = array(np.arange(256, dtype=np.int32), "x"), array(np.zeros(256, np.int32), "out")
    try:
        arguments = pack(x, out, np.int32(expected))
        copies.kernel(f"f<{what}>").launch((1,), (64,), arguments, time_limit=30)
        return read(out, np.int32)
    finally:
        x.free()
        out.free()


@pytest.mark.parametrize("what", [0, 1, 2])
def test_copies_are_there_after_the_wait(copies: engine.Module, checked: bool, what: int) -> None:
    expected = np.arange(256)
    if what == 2:  # the last 8 of 16 bytes are filled with zeros
        expected = np.where(expected % 4 < 2, expected, 0)
    assert (copied(copies, what) == expected[::-1]).all()


def test_a_copy_that_nobody_waits_for_is_a_race(copies: engine.Module) -> None:
    with pytest.raises(engine.Race, match=r"tile\["):
        copied(copies, 3)


def test_a_barrier_of_a_part_of_the_block_is_lacking(copies: engine.Module) -> None:
    with pytest.raises(engine.AssertionFault, match="nogpu lacks cuda::barrier of a part"):
        copied(copies, 1, 32)


@pytest.mark.parametrize("words, declaration", [
    ("nogpu lacks cuda::pipeline of a block", "cuda::pipeline<cuda::thread_scope_block> p"),
    ("nogpu lacks cuda::barrier of other scopes", "cuda::barrier<cuda::thread_scope_device> b"),
])  # fmt: skip
def test_other_scopes_are_lacking(compiler: str, words: str, declaration: str) -> None:
    with pytest.raises(engine.CompileError, match=words):
        engine.compile(
            f"#include <cuda/pipeline>\n__global__ void f() {{ {declaration}; }}", OPTIONS
        )


@pytest.mark.parametrize("dialect", ["nvrtc", "nvcc"])
def test_complex_numbers_of_c(compiler: str, dialect: str) -> None:
    text = """#include <cuComplex.h>
    __global__ void f(const cuDoubleComplex* x, cuDoubleComplex* out) {
        cuDoubleComplex a = x[0], b = x[1];
        out[0] = cuCadd(a, cuConj(b)); out[1] = cuCmul(a, b); out[2] = cuCdiv(a, b);
        out[3] = cuCfma(a, b, a); out[4] = make_cuDoubleComplex(cuCabs(a), cuCimag(b));
        cuComplex half = cuCdivf(cuComplexDoubleToFloat(a), make_cuComplex(2.0f, 0.0f));
        out[5] = cuComplexFloatToDouble(half);
    }"""
    a, b = 3.0 - 4.0j, -1.5 + 0.25j
    x, out = array(np.array([a, b]), "x"), array(np.zeros(6, complex), "out")
    engine.compile(text, OPTIONS, dialect=dialect).kernel("f").launch((1,), (1,), pack(x, out))
    expected = [a + b.conjugate(), a * b, a / b, a * b + a, abs(a) + 0.25j, a / 2]
    np.testing.assert_allclose(read(out, np.complex128), expected, rtol=1e-7)
    x.free()
    out.free()
