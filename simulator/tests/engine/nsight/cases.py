"""The kernels whose counts are compared with Nsight Compute's, and what they are launched with.

Both sides use this file: `run.py` launches every case through CuPy for `record.py` to measure,
and `../test_counters.py` launches the same in the simulator. Nothing here needs a GPU.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass
class Case:
    """One launch.

    `arguments` holds NumPy arrays (copied to the device) and NumPy scalars, in order.
    """

    name: str
    kernel: str
    source: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: list = field(default_factory=list)


SIMPLE = r"""
extern "C" __global__ void copy_float32(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}
extern "C" __global__ void copy_uint8(const unsigned char* x, unsigned char* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}
extern "C" __global__ void copy_float64(const double* x, double* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}
extern "C" __global__ void copy_stride2(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[2 * i] = x[2 * i];
}
extern "C" __global__ void copy_offset(const float* x, float* y, int n, int offset) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i + offset];
}
extern "C" __global__ void copy_float4(const float4* x, float4* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}
extern "C" __global__ void scale_float4(const float4* x, float4* y, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 v = x[i];
        v.x *= a; v.y *= a; v.z *= a; v.w *= a;
        y[i] = v;
    }
}
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
extern "C" __global__ void grid_stride(const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = 2.0f * x[i];
}
extern "C" __global__ void even_lanes(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && threadIdx.x % 2 == 0) y[i] = x[i];
}
extern "C" __global__ void own_rows(const float* x, float* y, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0;
    for (int j = 0; j < columns; j++) sum += x[row * columns + j];
    y[row] = sum;
}
extern "C" __global__ void ragged(const int* lengths, const float* x, float* y) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int length = lengths[t];
    float sum = 0;
    for (int j = 0; j < length; j++) sum += x[j * 32 + threadIdx.x % 32];
    y[t] = sum;
}
"""

TRANSPOSE = r"""
extern "C" __global__ void transpose_naive(const float* x, float* y, int n) {
    int i = blockIdx.y * 32 + threadIdx.y, j = blockIdx.x * 32 + threadIdx.x;
    y[j * n + i] = x[i * n + j];
}
extern "C" __global__ void transpose_tile(const float* x, float* y, int n) {
    __shared__ float tile[32][32];
    int tx = threadIdx.x, ty = threadIdx.y;
    tile[ty][tx] = x[(blockIdx.y * 32 + ty) * n + blockIdx.x * 32 + tx];
    __syncthreads();
    y[(blockIdx.x * 32 + ty) * n + blockIdx.y * 32 + tx] = tile[tx][ty];
}
extern "C" __global__ void transpose_padded(const float* x, float* y, int n) {
    __shared__ float tile[32][33];
    int tx = threadIdx.x, ty = threadIdx.y;
    tile[ty][tx] = x[(blockIdx.y * 32 + ty) * n + blockIdx.x * 32 + tx];
    __syncthreads();
    y[(blockIdx.x * 32 + ty) * n + blockIdx.y * 32 + tx] = tile[tx][ty];
}
"""

REDUCTION = r"""
extern "C" __global__ void block_sum(const float* x, float* y, int n) {
    __shared__ float part[32];
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) sum += x[i];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    if (lane == 0) part[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        sum = lane < blockDim.x / 32 ? part[lane] : 0;
        for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
        if (lane == 0) y[blockIdx.x] = sum;
    }
}
extern "C" __global__ void tree_sum(const float* x, float* y, int n) {
    __shared__ float part[256];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    part[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int d = 128; d > 0; d /= 2) {
        if (t < d) part[t] += part[t + d];
        __syncthreads();
    }
    if (t == 0) y[blockIdx.x] = part[0];
}
extern "C" __global__ void tree_sum_strided(const float* x, float* y, int n) {
    __shared__ float part[256];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    part[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
        int k = 2 * d * t;
        if (k < 256) part[k] += part[k + d];
        __syncthreads();
    }
    if (t == 0) y[blockIdx.x] = part[0];
}
"""

HISTOGRAM = r"""
extern "C" __global__ void histogram_global(const int* x, int* bins, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bins[x[i]], 1);
}
extern "C" __global__ void histogram_shared(const int* x, int* bins, int n) {
    __shared__ int own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[x[i]], 1);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
extern "C" __global__ void count_one(const int* x, int* count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 100) atomicAdd(count, 1);
}
extern "C" __global__ void sum_one(const float* x, float* sum, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(sum, x[i]);
}
extern "C" __global__ void tickets(const int* x, int* next, int* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = atomicAdd(&next[x[i]], 1);
}
extern "C" __global__ void swap_all(const int* x, int* slots, int* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = atomicCAS(&slots[x[i]], 0, i + 1);
}
extern "C" __global__ void sum_shared(const float* x, float* y) {
    __shared__ float own[32];
    if (threadIdx.x < 32) own[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&own[threadIdx.x % 8], x[blockIdx.x * blockDim.x + threadIdx.x]);
    __syncthreads();
    if (threadIdx.x < 32) y[blockIdx.x * 32 + threadIdx.x] = own[threadIdx.x];
}
"""

_MATMUL = r"""
extern "C" __global__ void NAME(const float* a, const float* b, float* c, int n) {
    __shared__ float as[SIZE][SIZE], bs[SIZE][SIZE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * SIZE + ty, column = blockIdx.x * SIZE + tx;
    float sum = 0;
    for (int k0 = 0; k0 < n; k0 += SIZE) {
        as[ty][tx] = a[row * n + k0 + tx];
        bs[ty][tx] = b[(k0 + ty) * n + column];
        __syncthreads();
        LOOP
        for (int k = 0; k < SIZE; k++) sum += as[ty][k] * bs[k][tx];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
"""


def _matmul(name: str, size: int, unroll: bool) -> str:
    text = _MATMUL.replace("NAME", name).replace("SIZE", str(size))
    return text.replace("LOOP", "" if unroll else "#pragma unroll 1")


MATMUL = (
    _matmul("matmul_tile32", 32, True)
    + _matmul("matmul_tile16", 16, True)
    + _matmul("matmul_tile32_rolled", 32, False)
    + _matmul("matmul_tile16_rolled", 16, False)
    + r"""
extern "C" __global__ void matmul_naive(const float* a, const float* b, float* c, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}
"""
)

# One warp a block reads or writes where an array of indices says: the rules for banks and
# sectors by themselves. An index below zero leaves the lane out.
_PATTERN = r"""
extern "C" __global__ void shared_read_LABEL(const int* at, TYPE* y) {
    __shared__ TYPE tile[COUNT];
    int t = threadIdx.x, k = at[t];
    for (int i = t; i < COUNT; i += 32) tile[i] = ZERO;
    __syncwarp();
    TYPE v = ZERO;
    if (k >= 0) v = tile[k];
    y[blockIdx.x * 32 + t] = v;
}
extern "C" __global__ void shared_write_LABEL(const int* at, TYPE* y) {
    __shared__ TYPE tile[COUNT];
    int t = threadIdx.x, k = at[t];
    for (int i = t; i < COUNT; i += 32) tile[i] = ZERO;
    __syncwarp();
    TYPE v = y[blockIdx.x * 32 + t];
    if (k >= 0) tile[k] = v;
    __syncwarp();
    y[blockIdx.x * 32 + t] = tile[t];
}
extern "C" __global__ void global_read_LABEL(const int* at, const TYPE* x, TYPE* y) {
    int t = threadIdx.x, k = at[t];
    if (k >= 0) y[blockIdx.x * 32 + t] = x[k];
}
extern "C" __global__ void global_write_LABEL(const int* at, const TYPE* x, TYPE* y) {
    int t = threadIdx.x, k = at[t];
    TYPE v = x[blockIdx.x * 32 + t];
    if (k >= 0) y[k] = v;
}
"""
_TYPES = {
    1: ("b1", "unsigned char", "0"),
    4: ("b4", "float", "0.0f"),
    8: ("b8", "float2", "make_float2(0.0f, 0.0f)"),
    16: ("b16", "float4", "make_float4(0.0f, 0.0f, 0.0f, 0.0f)"),
}
SLOTS = 1024
PATTERNS = "".join(
    _PATTERN.replace("LABEL", label).replace("TYPE", kind).replace("ZERO", zero)
    .replace("COUNT", str(SLOTS))
    for label, kind, zero in _TYPES.values()
)  # fmt: skip
_DTYPES = {
    1: np.dtype(np.uint8), 4: np.dtype(np.float32),
    8: np.dtype((np.float32, 2)), 16: np.dtype((np.float32, 4)),
}  # fmt: skip
ATOMIC_PATTERN = r"""
extern "C" __global__ void shared_atomic(const int* at, int* y) {
    __shared__ int tile[1024];
    int t = threadIdx.x, k = at[t];
    for (int i = t; i < 1024; i += 32) tile[i] = 0;
    __syncwarp();
    if (k >= 0) atomicAdd(&tile[k], t);
    __syncwarp();
    y[blockIdx.x * 32 + t] = tile[t];
}
extern "C" __global__ void shared_atomic_float(const int* at, float* y) {
    __shared__ float tile[1024];
    int t = threadIdx.x, k = at[t];
    for (int i = t; i < 1024; i += 32) tile[i] = 0;
    __syncwarp();
    if (k >= 0) atomicAdd(&tile[k], (float)t);
    __syncwarp();
    y[blockIdx.x * 32 + t] = tile[t];
}
extern "C" __global__ void global_atomic(const int* at, int* y) {
    int t = threadIdx.x, k = at[t];
    if (k >= 0) atomicAdd(&y[k], t);
}
extern "C" __global__ void global_atomic_old(const int* at, int* y, int* old) {
    int t = threadIdx.x, k = at[t];
    if (k >= 0) old[blockIdx.x * 32 + t] = atomicAdd(&y[k], t);
}
"""


def patterns() -> dict[str, np.ndarray]:
    """Which slot each lane of a warp uses; -1: none."""
    lane = np.arange(32)
    random = np.random.default_rng(7)
    found = {f"stride {s}": lane * s % SLOTS for s in (1, 2, 3, 4, 8, 16, 32, 33)}
    found |= {
        "one slot": lane * 0 + 5,
        "two slots": lane % 2 * 32,
        "pairs": lane // 2,
        "pairs, spread": lane // 2 * 32,
        "fours": lane // 4,
        "twice xor 2": (lane & 1) | (lane >> 2 << 1),
        "halves alike": lane % 16,
        "quarters alike": lane % 8,
        "reversed": 31 - lane,
        "lower half": np.where(lane < 16, lane, -1),
        "even lanes": np.where(lane % 2 == 0, lane, -1),
        "one lane": np.where(lane == 9, 9, -1),
        "lanes 0 and 16, one bank": np.where(lane % 16 == 0, lane // 16 * 32, -1),
        "offset": lane + 3,
    }
    for n in (16, 64, 256, 1024):
        found[f"random of {n}"] = random.integers(0, n, 32)
        found[f"random of {n}, half on"] = np.where(
            random.random(32) < 0.5, random.integers(0, n, 32), -1
        )
    return {name: np.asarray(at, np.int32) for name, at in found.items()}


def _pattern_cases() -> list[Case]:
    rows = []
    for name, at in patterns().items():
        for width, (label, _, _) in _TYPES.items():
            slots = np.zeros(SLOTS, _DTYPES[width])
            for where in ("shared_read", "shared_write", "global_read", "global_write"):
                used = at[at >= 0]
                if where.endswith("write") and len(set(used)) != len(used):
                    continue  # a race
                if width == 1 and not where.startswith("global"):
                    continue
                if where.startswith("global") and not name.startswith(("random", "rev", "off")):
                    continue
                arguments = [at, slots] if where.startswith("shared") else [at, slots, slots]
                kernel, grid = f"{where}_{label}", (1,) if where == "global_write" else (4,)
                rows.append(Case(f"{kernel}: {name}", kernel, PATTERNS, grid, (32,), arguments))
        if not name.startswith(("random", "one", "two", "pairs", "stride 1", "stride 32")):
            continue
        integers, floats = np.zeros(SLOTS, np.int32), np.zeros(SLOTS, np.float32)
        for kernel, arguments in (
            ("shared_atomic", [at, integers]),
            ("shared_atomic_float", [at, floats]),
            ("global_atomic", [at, integers]),
            ("global_atomic_old", [at, integers, integers]),
        ):
            rows.append(Case(f"{kernel}: {name}", kernel, ATOMIC_PATTERN, (4,), (32,), arguments))
    return rows


def cases() -> list[Case]:
    """Every launch, in the order in which they are measured."""
    random = np.random.default_rng(1)
    n = 1 << 20
    x = random.random(2 * n + 64, dtype=np.float32)
    y = np.zeros(2 * n, np.float32)
    i32, f32 = np.int32, np.float32
    rows = []

    def add(kernel: str, source: str, grid: tuple, block: tuple, *arguments: object,
            name: str = "") -> None:
        rows.append(Case(name or kernel, kernel, source, grid, block, list(arguments)))

    add("copy_float32", SIMPLE, (4096,), (256,), x, y, i32(n))
    add("copy_float32", SIMPLE, (4096,), (256,), x, y, i32(1_000_003), name="copy_float32, cut")
    add("copy_uint8", SIMPLE, (4096,), (256,), x.view(np.uint8), y.view(np.uint8), i32(n))
    add("copy_float64", SIMPLE, (4096,), (256,), x[: 2 * n].view(np.float64),
        y.view(np.float64), i32(n))
    add("copy_stride2", SIMPLE, (4096,), (256,), x, y, i32(n))
    for offset in (1, 3, 8):
        add("copy_offset", SIMPLE, (4096,), (256,), x, y, i32(n), i32(offset),
            name=f"copy_offset {offset}")
    add("copy_float4", SIMPLE, (1024,), (256,), x, y, i32(n // 4))
    add("scale_float4", SIMPLE, (1024,), (256,), x, y, f32(2), i32(n // 4))
    add("saxpy", SIMPLE, (4096,), (256,), f32(2), x, y, i32(n))
    add("grid_stride", SIMPLE, (132,), (256,), x, y, i32(n))
    add("even_lanes", SIMPLE, (4096,), (256,), x, y, i32(n))
    add("own_rows", SIMPLE, (16,), (256,), x, y, i32(4000), i32(64))
    add("ragged", SIMPLE, (16,), (128,), random.integers(0, 40, 2048, dtype=i32), x, y)
    size = 2048
    for kernel in ("transpose_naive", "transpose_tile", "transpose_padded"):
        square = np.zeros(size * size, np.float32)
        add(kernel, TRANSPOSE, (size // 32, size // 32), (32, 32), square, square, i32(size))
    add("block_sum", REDUCTION, (128,), (256,), x, y, i32(n))
    add("block_sum", REDUCTION, (100,), (512,), x, y, i32(1_000_003), name="block_sum, cut")
    add("tree_sum", REDUCTION, (1024,), (256,), x, y, i32(n // 4))
    add("tree_sum_strided", REDUCTION, (1024,), (256,), x, y, i32(n // 4))
    values = random.integers(0, 256, n, dtype=i32)
    bins = np.zeros(256, i32)
    add("histogram_global", HISTOGRAM, (4096,), (256,), values, bins, i32(n))
    add("histogram_shared", HISTOGRAM, (128,), (256,), values, bins, i32(n))
    add("count_one", HISTOGRAM, (256,), (256,), values, bins, i32(65536))
    add("sum_one", HISTOGRAM, (256,), (256,), x, y, i32(65536))
    add("tickets", HISTOGRAM, (256,), (256,), values, bins, np.zeros(65536, i32), i32(65536))
    add("swap_all", HISTOGRAM, (256,), (256,), values, bins, np.zeros(65536, i32), i32(65536))
    add("sum_shared", HISTOGRAM, (64,), (256,), x, y)
    side = 128
    for kernel, tile in (
        ("matmul_tile32", 32), ("matmul_tile32_rolled", 32), ("matmul_tile16", 16),
        ("matmul_tile16_rolled", 16), ("matmul_naive", 16),
    ):  # fmt: skip
        a, b, c = x[: side**2], x[side**2 : 2 * side**2], y[: side**2]
        add(kernel, MATMUL, (side // tile, side // tile), (tile, tile), a, b, c, i32(side))
    return rows + _pattern_cases()
