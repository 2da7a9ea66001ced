"""The tasks about fast kernels: tiles, warps, registers, wide loads, sectors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .machinery.kernel_task import KernelTask, blank, counters, to_device, wasteful
from .machinery.task import Case, Mistake, Task, no_python_loop


def _launch_in_tiles(side: int, block: tuple, axis: int) -> Callable:
    """The launch of a product in square tiles, whose columns lie along `axis` of b."""

    def launch(a: np.ndarray, b: np.ndarray) -> tuple:
        (m, k), n = a.shape, b.shape[axis]
        args = to_device(a), to_device(b), blank((m, n), np.float32), *map(np.int32, (m, n, k))
        return (-(-n // side), -(-m // side)), block, args

    return launch


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)


# scores: a @ b.T in tiles

SCORES = r"""
extern "C" __global__ void scores(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float as[32][32], bs[32][33];
    int y = threadIdx.y, x = threadIdx.x;
    int i = blockIdx.y * 32 + y, j = blockIdx.x * 32 + x, r = blockIdx.x * 32 + y;
    float sum = 0;
    for (int p = 0; p < k; p += 32) {
        as[y][x] = i < m && p + x < k ? a[i * k + p + x] : 0;
        bs[y][x] = r < n && p + x < k ? b[r * k + p + x] : 0;
        __syncthreads();
        for (int q = 0; q < 32; q++) sum += as[y][q] * bs[x][q];
        __syncthreads();
    }
    if (i < m && j < n) c[i * n + j] = sum;
}
"""


def _scores_cases() -> list[Case]:
    rng = np.random.default_rng(81)
    return [(rng.standard_normal((m, k), np.float32), rng.standard_normal((n, k), np.float32))
            for m, n, k in ((64, 64, 64), (32, 64, 96), (40, 70, 50), (33, 5, 20), (1, 37, 65))]


def _loads_tiles(counts: object, a: np.ndarray, b: np.ndarray) -> str | None:
    (m, k), n = a.shape, len(b)
    most = (m * n // 32) * (k // 32) * 8
    if counts["global_load_sectors"] > most:
        return (f"the loads touch {counts['global_load_sectors']:,} sectors for {m} x {n} x {k};"
                f" with tiles in shared memory {most:,} suffice.")
    return wasteful(counts)


scores = KernelTask(
    "scores", lambda a, b: _product(a, b.T), _scores_cases, result=2, right=SCORES, given="",
    launch=_launch_in_tiles(32, (32, 32), 0),
    parameters="const float* a, const float* b, float* c, int m, int n, int k",
    mistakes=[
        ("b read as if it had k rows: here row j of b belongs to column j of c",
         "r < n && p + x < k ? b[r * k + p + x]",
         "p + y < k && j < n && (p + y) * n + j < n * k ? b[(p + y) * n + j]",
         "bs[x][q]", "bs[q][x]"),
        ("the slice of b stored by rows and read by columns: it is as[y][q] * bs[x][q]",
         "bs[x][q]", "bs[q][x]"),
        ("no zeros where a slice reaches beyond k: the numbers there belong to another row",
         "i < m && p + x < k", "i < m && i * k + p + x < m * k",
         "r < n && p + x < k", "r < n && r * k + p + x < n * k"),
        ("the row of b taken from blockIdx.y: a block needs rows of a by blockIdx.y, and rows of b"
         " by blockIdx.x",
         "r = blockIdx.x", "r = blockIdx.y"),
        ("the rest of k left out: the number of slices is rounded up", "p < k;", "p + 32 <= k;"),
        ("the sum of the last slice only", "for (int q", "sum = 0; for (int q"),
        ("no barrier before the slices are used: some warps read what is not yet written",
         "        __syncthreads();\n        for", "        for"),
        ("no barrier before the slices are replaced: slower warps still read them",
         "bs[x][q];\n        __syncthreads();", "bs[x][q];"),
    ],
    rules=[counters(_loads_tiles)],
    rtol=1e-5,
)

# softmax: a warp for each row

SOFTMAX = r"""
extern "C" __global__ void softmax(const float* x, float* y, int rows, int columns) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    x += (long long)row * columns;
    y += (long long)row * columns;
    float top = -3.4e38f, sum = 0;
    for (int j = lane; j < columns; j += 32) top = fmaxf(top, x[j]);
    for (int step = 16; step > 0; step /= 2)
        top = fmaxf(top, __shfl_xor_sync(0xffffffff, top, step));
    for (int j = lane; j < columns; j += 32) sum += expf(x[j] - top);
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, step);
    for (int j = lane; j < columns; j += 32) y[j] = expf(x[j] - top) / sum;
}
"""


def _softmax(x: np.ndarray) -> np.ndarray:
    x = x.astype(np.float64)
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)


def _softmax_cases() -> list[Case]:
    rng = np.random.default_rng(82)
    cases = [3 * rng.standard_normal(shape, np.float32)
             for shape in ((8, 16), (4, 64), (5, 100), (7, 33), (1, 1), (6, 250))]
    cases += [cases[1] + np.float32(200), cases[2] - np.float32(300)]
    masked = rng.standard_normal((3, 33_001), np.float32)  # more columns than a short counts
    masked[rng.random(masked.shape) < 0.999] = -np.inf
    masked[:, 30] = 1
    early = cases[2].copy()
    early[:3, 5] = early[3:, 98] = 150  # the largest is not the last element of its lane, or is
    return [(x,) for x in (*cases, masked, early, cases[3] - np.float32(1e6))]


def _uses_shuffles(counts: object, x: np.ndarray) -> str | None:
    most = 3 * x.shape[0] * -(-x.shape[1] // 32)
    if counts["global_load_requests"] > most:
        return (f"its warps load {counts['global_load_requests']:,} times from global memory for"
                f" {x.shape[0]} rows of {x.shape[1]}; three passes over each row, 32 neighbours at"
                f" a time, are {most}.")
    return None


softmax = KernelTask(
    "softmax", _softmax, _softmax_cases, right=SOFTMAX, given="",
    launch=lambda x: ((-(-len(x) // 4),), (128,), (
        to_device(x), blank(x.shape, np.float32), *map(np.int32, x.shape))),
    parameters="const float* x, float* y, int rows, int columns",
    mistakes=[
        Mistake.replacing("the maximum not subtracted: expf overflows from 88.8 on, and falls to"
                          " zero below -104",
                          "x[j] - top", "x[j]", times=2),
        ("each lane dividing by the sum of its own elements: the lanes' sums must be added",
         "sum += __shfl", "sum += 0 * __shfl"),
        ("each lane subtracting the maximum of its own elements",
         "top = fmaxf(top, __shfl_xor_sync(0xffffffff, top, step))",
         "__shfl_xor_sync(0xffffffff, top, step)"),
        ("__shfl_down_sync, after which only lane 0 has the whole sum: with __shfl_xor_sync all"
         " lanes have it",
         "sum += __shfl_xor_sync", "sum += __shfl_down_sync"),
        Mistake.replacing("shuffles that begin with step 8: nothing goes from one half of the warp"
                          " to the other",
                          "int step = 16", "int step = 8", times=2),
        ("a maximum that begins with 0: a row of large negative numbers underflows",
         "top = -3.4e38f", "top = 0"),
        ("the last element of each lane in place of its largest",
         "top = fmaxf(top, x[j])", "top = x[j]"),
        ("a maximum that begins too high: a row may be below it", "top = -3.4e38f", "top = -1e5f"),
        Mistake.replacing("one element a lane: the loop along the row is missing",
                          "j += 32", "j += columns", times=3),
    ],
    rules=[counters(_uses_shuffles, *_softmax_cases()[5])],
    refused=[(r"\b__shared__\b|\b__syncthreads\b", "{} is not needed: the lanes of a warp can"
              " exchange values by shuffles alone.")],
    rtol=3e-6,
)

# register_tile: 4 x 4 sums in a thread

REGISTER_TILE = r"""
extern "C" __global__ void register_tile(const float* a, const float* b, float* c,
                                         int m, int n, int k) {
    __shared__ float as[64][16], bs[16][64];
    int x = threadIdx.x, y = threadIdx.y, t = 16 * y + x;
    int top = blockIdx.y * 64, left = blockIdx.x * 64;
    float sum[4][4] = {};
    for (int p = 0; p < k; p += 16) {
        for (int e = t; e < 64 * 16; e += 256) {
            int i = top + e / 16, j = p + e % 16;
            as[e / 16][e % 16] = i < m && j < k ? a[i * k + j] : 0;
            i = p + e / 64, j = left + e % 64;
            bs[e / 64][e % 64] = i < k && j < n ? b[i * n + j] : 0;
        }
        __syncthreads();
        for (int q = 0; q < 16; q++) {
            float l[4], r[4];
            for (int i = 0; i < 4; i++) {
                l[i] = as[y + 16 * i][q];
                r[i] = bs[q][x + 16 * i];
            }
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) sum[i][j] += l[i] * r[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            int row = top + y + 16 * i, column = left + x + 16 * j;
            if (row < m && column < n) c[row * n + column] = sum[i][j];
        }
}
"""


def _product_cases() -> list[Case]:
    rng = np.random.default_rng(83)
    return [(rng.standard_normal((m, k), np.float32), rng.standard_normal((k, n), np.float32))
            for m, n, k in ((64, 64, 32), (64, 128, 16), (51, 90, 37), (130, 3, 20))]


def _few_loads(counts: object, a: np.ndarray, b: np.ndarray) -> str | None:
    warps, steps = 8, a.shape[1]
    loads = counts["shared_load_requests"] / warps / steps
    if loads > 8.001:
        return (f"each warp loads {loads:.3g} times from shared memory in a step; 8 loads are"
                " enough: 4 numbers of as and 4 of bs, kept in registers.")
    return None


_BEGUN = REGISTER_TILE[:REGISTER_TILE.index("        for (int q")] + "}"

register_tile = KernelTask(
    "register_tile", _product, _product_cases, result=2,
    launch=_launch_in_tiles(64, (16, 16), 1), right=REGISTER_TILE, given=_BEGUN,
    parameters="const float* a, const float* b, float* c, int m, int n, int k",
    mistakes=[
        ("neighbouring rows and columns computed, and stored 16 apart",
         "as[y + 16 * i][q]", "as[4 * y + i][q]",
         "bs[q][x + 16 * i]", "bs[q][4 * x + i]"),
        ("x and y exchanged: y counts rows, x columns",
         "as[y + 16 * i][q]", "as[x + 16 * i][q]",
         "bs[q][x + 16 * i]", "bs[q][y + 16 * i]"),
        ("only the diagonal of the 4 x 4 sums computed: each number of as is multiplied by each of"
         " bs",
         "sum[i][j] += l[i] * r[j]", "sum[i][j] += (i == j) * l[i] * r[j]"),
        ("the sums stored turned over: sum[i][j] belongs to row i and column j",
         "= sum[i][j]", "= sum[j][i]"),
        ("no barrier at the end of a round: slower warps still read the slices",
         "        }\n        __syncthreads();\n    }", "        }\n    }"),
        ("half of the slice used: it is 16 deep", "q < 16", "q < 8"),
    ],
    rules=[counters(_few_loads)],
    rtol=1e-5,
)

# copy4: a copy, 16 bytes at a time

COPY4 = r"""
extern "C" __global__ void copy4(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
    for (int j = i; j < n / 4; j += step) ((float4*)y)[j] = ((const float4*)x)[j];
    for (int j = n / 4 * 4 + i; j < n; j += step) y[j] = x[j];
}
"""


def _copy4_cases() -> list[Case]:
    rng = np.random.default_rng(84)
    shapes = [(1024, (2,), (128,)), (1024, (9,), (33,)), (1003, (1,), (64,)), (514, (4,), (256,)),
              (3, (1,), (32,)), (140_003, (300,), (64,)), (5, (2,), (1,)), (7, (1,), (2,)),
              (11, (1,), (1,))]
    return [(rng.standard_normal(n, np.float32), grid, block) for n, grid, block in shapes]


def _sixteen_bytes(counts: object, x: np.ndarray, grid: tuple, block: tuple) -> str | None:
    loads, stores = counts["global_load_requests"], counts["global_store_requests"]
    least = x.size // 128
    if max(loads, stores) > least:
        return (f"its warps load {loads} times and store {stores} times for {x.size} floats; with"
                f" 16 bytes a lane {least} of each do.")
    return None


copy4 = KernelTask(
    "copy4", lambda x, grid, block: x, _copy4_cases, right=COPY4,
    launch=lambda x, grid, block: (
        grid, block, (to_device(x), blank(x.shape, np.float32), np.int32(x.size))),
    parameters="const float* x, float* y, int n", given=COPY4[:COPY4.index("    for")] + "}",
    mistakes=[
        ("the last one, two or three elements left out: n / 4 cuts them off",
         "    for (int j = n / 4 * 4 + i; j < n; j += step) y[j] = x[j];\n", ""),
        ("n / 4 rounded up: the last float4 reaches beyond the arrays",
         "j < n / 4;", "j < (n + 3) / 4;"),
        ("float4s beyond the last whole one: there are n / 4, counted from 0",
         "j < n / 4;", "j < n;"),
        ("float4s beyond the last whole one: there are n / 4, counted from 0",
         "j < n / 4;", "j <= n / 4;"),
        ("one float4 a thread: with fewer threads than float4s, the rest stays as it was",
         "j < n / 4; j += step", "j < n / 4; j += n"),
        ("every fourth float4 only: indices of float4s count float4s, not floats",
         "((float4*)y)[j] = ((const float4*)x)[j]",
         "if (4 * j < n / 4) ((float4*)y)[4 * j] = ((const float4*)x)[4 * j]"),
    ],
    rules=[counters(_sixteen_bytes)],
)

# naive_sectors: sectors of the naive product


def _naive_sectors(m: int, n: int, k: int, columns: int) -> int:
    """Counted for one warp, since all are alike where m, n and k are multiples of 256."""
    t = np.arange(32)
    i, j = t // columns, t % columns
    of_a = sum(len(np.unique((i * k + p) * 4 // 32)) for p in range(8))
    of_b = sum(len(np.unique((p * n + j) * 4 // 32)) for p in range(8))
    return m * n // 32 * (k // 8) * (of_a + of_b)


def _sectors(m: int, n: int, k: int, columns: int, *, most: int = 32,
             of_a: Callable = lambda across: 32 // across,
             of_b: Callable = lambda across: max(1, across // 8)) -> int:
    """The formula: what a warp's loads of A and of B touch for one element of k, for all warps."""
    across = min(columns, most)
    return m * n // 32 * k * (of_a(across) + of_b(across))


naive_sectors = Task(
    "naive_sectors", _naive_sectors,
    lambda: [(m, n, k, columns) for columns in (32, 16, 8, 64, 4, 2, 1)
             for m, n, k in ((256, 512, 768), (512, 256, 256))] + [(4096, 4096, 4096, 32)],
    right=_sectors,
    mistakes=[
        ("a warp of more than 32 columns: with 64 columns a warp has half a row",
         {"most": 64, "of_a": lambda across: max(1, 32 // across)}),
        ("a load of each thread counted by itself: a warp's loads share sectors",
         {"of_a": lambda across: 32, "of_b": lambda across: 32}),
        ("numbers of B counted, not sectors: a sector holds 8 floats",
         {"of_b": lambda across: across}),
        ("parts of a sector: even one float touches a whole one",
         {"of_b": lambda across: across / 8}),
        ("one sector of A for all columns: a warp that covers several rows of C needs several",
         {"of_a": lambda across: 1}),
        ("four sectors of B for all columns", {"of_b": lambda across: 4}),
    ],
    rules=[no_python_loop((256, 256, 256, 32), (4096, 256, 256, 32), (256, 4096, 256, 32),
                          (256, 256, 4096, 32))],
)
