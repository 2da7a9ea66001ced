"""Generated kernels against NumPy: expressions, stencils, reductions, scans, histograms, sorts."""

from __future__ import annotations

import numpy as np
import pytest
from engine_support import array, launch, read

from nogpu import engine

SEED, EXPRESSIONS = 20240607, 40


def expression(rng: np.random.Generator, depth: int, ints: bool) -> tuple[str, str]:
    """A random expression of x and y, in CUDA and in NumPy."""
    if depth == 0 or rng.random() < 0.1:
        leaf = rng.choice(["x", "y", str(int(rng.integers(1, 9)))])
        if leaf in "xy":
            return leaf, leaf
        return (leaf, f"np.int32({leaf})") if ints else (f"{leaf}.0f", f"np.float32({leaf})")
    a, na = expression(rng, depth - 1, ints)
    b, nb = expression(rng, depth - 1, ints)
    if ints:
        operator = rng.choice(["+", "-", "*", "^", "&", "|", "min", "max", "<"])
    else:
        operator = rng.choice(["+", "-", "*", "fminf", "fmaxf", "fabsf", "sqrtf", "?"])
    if operator == "min" or operator == "fminf":
        return f"{operator}({a}, {b})", f"np.minimum({na}, {nb})"
    if operator == "max" or operator == "fmaxf":
        return f"{operator}({a}, {b})", f"np.maximum({na}, {nb})"
    if operator == "<":
        return f"({a} < {b} ? {a} : {b} + 1)", f"np.where({na} < {nb}, {na}, {nb} + np.int32(1))"
    if operator == "?":
        return f"({a} > {b} ? {a} : -{b})", f"np.where({na} > {nb}, {na}, -({nb}))"
    if operator == "fabsf":
        return f"fabsf({a})", f"np.abs({na})"
    if operator == "sqrtf":
        return f"sqrtf(fabsf({a}))", f"np.sqrt(np.abs({na}))"
    return f"({a} {operator} {b})", f"({na} {operator} {nb})"


def expressions() -> list[tuple[str, str, bool]]:
    rng = np.random.default_rng(SEED)
    rows = []
    for k in range(EXPRESSIONS):
        ints = bool(k % 2)
        rows.append((*expression(rng, int(rng.integers(1, 5)), ints), ints))
    return rows


PATTERNS = r"""
__global__ void stencil(const float* in, float* out, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float sum = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            sum += in[min(max(y + dy, 0), h - 1) * w + min(max(x + dx, 0), w - 1)];
    out[y * w + x] = sum;
}
__global__ void reduce(const int* in, int* out, int n) {
    extern __shared__ int part[];
    int t = threadIdx.x, sum = 0;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) sum += in[i];
    part[t] = sum;
    __syncthreads();
    for (int s = 1; s < blockDim.x; s *= 2) {
        if (t % (2 * s) == 0 && t + s < blockDim.x) part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0) atomicAdd(out, part[0]);
}
__device__ unsigned finished = 0;
__global__ void reduce_in_one(const int* in, int* partial, int* out, int n) {
    __shared__ int sum;
    __shared__ bool last;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    int mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        mine += in[i];
    for (int s = 16; s; s /= 2) mine += __shfl_xor_sync(0xffffffffu, mine, s);
    if (threadIdx.x % 32 == 0) atomicAdd(&sum, mine);
    __syncthreads();
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int total = 0;
        for (int b = 0; b < gridDim.x; b++) total += partial[b];
        *out = total;
    }
}
__global__ void scan(const int* in, int* out, int n) {
    __shared__ int buffer[2][1024];
    int t = threadIdx.x, from = 0;
    buffer[0][t] = t < n ? in[t] : 0;
    __syncthreads();
    for (int offset = 1; offset < blockDim.x; offset *= 2) {
        int v = buffer[from][t];
        if (t >= offset) v += buffer[from][t - offset];
        buffer[1 - from][t] = v;
        from = 1 - from;
        __syncthreads();
    }
    if (t < n) out[t] = buffer[from][t];
}
__global__ void histogram(const unsigned char* in, int* out, int n) {
    __shared__ int bins[256];
    for (int b = threadIdx.x; b < 256; b += blockDim.x) bins[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[in[i]], 1);
    __syncthreads();
    for (int b = threadIdx.x; b < 256; b += blockDim.x) atomicAdd(&out[b], bins[b]);
}
__global__ void bitonic(float* x) {
    __shared__ float s[512];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (int k = 2; k <= blockDim.x; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) {
            int other = t ^ j;
            if (other > t && (((t & k) == 0) == (s[t] > s[other]))) {
                float keep = s[t];
                s[t] = s[other];
                s[other] = keep;
            }
            __syncthreads();
        }
    x[blockIdx.x * blockDim.x + t] = s[t];
}
__global__ void bytes(const unsigned char* in, unsigned char* out, short* wide, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[n - 1 - i] = 255 - in[i];
        wide[i] = in[i] * 3;
    }
}
__global__ void wait_for_neighbour(int* flags, int* out) {
    int t = threadIdx.x;
    if (t < blockDim.x - 1) while (atomicAdd(&flags[t + 1], 0) == 0) {}
    out[t] = atomicAdd(&flags[blockDim.x], 1);
    atomicExch(&flags[t], 1);
}
__global__ void chain(const float* in, float* out, volatile int* ready, int n) {
    // Each block waits for the one before it, as a look-back scan does.
    __shared__ float before;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) {
        if (blockIdx.x > 0) {
            while (ready[blockIdx.x - 1] == 0) __nanosleep(20);
            __threadfence();
            before = out[blockIdx.x * blockDim.x - 1];
        } else before = 0;
        float sum = before;
        for (int j = 0; j < blockDim.x && i + j < n; j++) out[i + j] = sum += in[i + j];
        __threadfence();
        ready[blockIdx.x] = 1;
    }
}
"""


def all_kernels() -> str:
    """The patterns and the generated expressions in one source."""
    text = PATTERNS
    for k, (cuda, _, ints) in enumerate(expressions()):
        kind = "int" if ints else "float"
        text += (
            f"__global__ void expression{k}(const {kind}* a, const {kind}* b, {kind}* out, int n)"
            " { int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
            f"  if (i < n) {{ {kind} x = a[i], y = b[i]; out[i] = {cuda}; }} }}\n"
        )
    return text


@pytest.fixture(scope="module")
def module(compiler: str) -> engine.Module:
    return engine.compile(all_kernels())


def test_random_expressions(module: engine.Module, checked: bool) -> None:
    rng = np.random.default_rng(SEED + 1)
    for k, (cuda, numpy_text, ints) in enumerate(expressions()):
        n = int(rng.integers(1, 3000))
        block = int(rng.integers(1, 257))
        if ints:
            x, y = rng.integers(-(2**31), 2**31, (2, n), dtype=np.int32)
        else:
            x, y = (rng.standard_normal((2, n)) * 8).astype(np.float32)
        with np.errstate(all="ignore"):
            values = {"np": np, "x": x, "y": y}
            expected = np.broadcast_to(eval(numpy_text, values), n).astype(x.dtype)  # noqa: S307
        a, b, out = array(x, "a"), array(y, "b"), engine.allocate(x.nbytes, "out")
        launch(module.kernel(f"expression{k}"), (-(-n // block),), (block,), a, b, out, np.int32(n))
        got = read(out, x.dtype)
        for allocation in (a, b, out):
            allocation.free()
        assert np.array_equal(got, expected, equal_nan=not ints), cuda


def test_stencil(module: engine.Module, checked: bool) -> None:
    values = np.random.default_rng(3).integers(0, 9, (37, 61)).astype(np.float32)
    padded = np.pad(values, 1, mode="edge")
    expected = sum(padded[r : r + 37, c : c + 61] for r in range(3) for c in range(3))
    source, out = array(values, "in"), engine.allocate(values.nbytes, "out")
    launch(module.kernel("stencil"), (8, 5), (8, 8), source, out, np.int32(61), np.int32(37))
    assert (read(out, np.float32, (37, 61)) == expected).all()


@pytest.mark.parametrize(("grid", "block", "n"), [(1, 1, 5), (3, 100, 1000), (7, 256, 9999)])
def test_reductions(module: engine.Module, checked: bool, grid: int, block: int, n: int) -> None:
    values = np.random.default_rng(n).integers(-1000, 1000, n, dtype=np.int32)
    source, out = array(values, "in"), array(np.zeros(1, np.int32), "out")
    launch(module.kernel("reduce"), (grid,), (block,), source, out, np.int32(n), shared=4 * block)
    assert read(out, np.int32)[0] == values.sum()
    partial = engine.allocate(4 * grid, "partial")
    block = -(-block // 32) * 32
    kernel = module.kernel("reduce_in_one")
    launch(kernel, (grid,), (block,), source, partial, out, np.int32(n))
    assert read(out, np.int32)[0] == values.sum()


@pytest.mark.parametrize("n", [1, 33, 700, 1024])
def test_scan(module: engine.Module, checked: bool, n: int) -> None:
    values = np.random.default_rng(n).integers(-9, 9, n, dtype=np.int32)
    source, out = array(values, "in"), engine.allocate(values.nbytes, "out")
    launch(module.kernel("scan"), (1,), (1024,), source, out, np.int32(n))
    assert (read(out, np.int32) == np.cumsum(values)).all()


def test_histogram_of_bytes(module: engine.Module, checked: bool) -> None:
    values = np.random.default_rng(5).integers(0, 256, 10007, dtype=np.uint8)
    source, out = array(values, "in"), array(np.zeros(256, np.int32), "out")
    launch(module.kernel("histogram"), (6,), (96,), source, out, np.int32(len(values)))
    assert (read(out, np.int32) == np.bincount(values, minlength=256)).all()


def test_sort(module: engine.Module, checked: bool) -> None:
    values = np.random.default_rng(6).random((4, 512), np.float32)
    x = array(values, "x")
    launch(module.kernel("bitonic"), (4,), (512,), x)
    assert (read(x, np.float32, (4, 512)) == np.sort(values, axis=1)).all()


def test_neighbouring_bytes_are_no_race(module: engine.Module, checked: bool) -> None:
    values = np.random.default_rng(7).integers(0, 256, 1003, dtype=np.uint8)
    source, out = array(values, "in"), engine.allocate(1003, "out")
    wide = engine.allocate(2006, "wide")
    launch(module.kernel("bytes"), (9,), (128,), source, out, wide, np.int32(1003))
    assert (read(out, np.uint8) == 255 - values[::-1]).all()
    assert (read(wide, np.int16) == values.astype(np.int16) * 3).all()


def test_blocks_that_wait_for_each_other(module: engine.Module, checked: bool) -> None:
    values = np.random.default_rng(8).integers(0, 9, 1000).astype(np.float32)
    source, out = array(values, "in"), engine.allocate(4000, "out")
    ready = array(np.zeros(32, np.int32), "ready")
    launch(module.kernel("chain"), (32,), (32,), source, out, ready, np.int32(1000))
    assert (read(out, np.float32) == np.cumsum(values)).all()


def test_threads_that_wait_for_each_other(module: engine.Module, checked: bool) -> None:
    """The last thread goes first: every thread spins until the next one has been."""
    flags, out = array(np.zeros(41, np.int32), "flags"), array(np.zeros(40, np.int32), "out")
    launch(module.kernel("wait_for_neighbour"), (1,), (40,), flags, out)
    assert (read(out, np.int32) == np.arange(40)[::-1]).all()
