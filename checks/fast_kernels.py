"""The tasks about fast kernels: products in tiles, and what limits them."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np

from helpers import network

from .machinery.kernel_task import KernelTask, blank, counters, to_device, undivided, wasteful
from .machinery.task import Case, Task


def _scores_launch(a: np.ndarray, b: np.ndarray) -> tuple[tuple, tuple, tuple]:
    (m, k), n = a.shape, len(b)
    arguments = to_device(a), to_device(b), blank((m, n), np.float32), *map(np.int32, (m, n, k))
    return (-(-n // 32), -(-m // 32)), (32, 32), arguments


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
    launch=_scores_launch,
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
         " by blockIdx.x", "r = blockIdx.x", "r = blockIdx.y"),
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

# linear: a linear layer of 32 columns a block, whole

LINEAR = r"""
extern "C" __global__ void linear(const float* x, const float* w, const float* bias, float* y,
                                  int m, int n, int k, int gelu) {
    __shared__ float as[64][33], bs[32][32];
    int tx = threadIdx.x, ty = threadIdx.y, lane = (8 * ty + tx) % 32, warp = ty / 4;
    int top = 64 * blockIdx.y, first = 32 * blockIdx.x;
    float sum[4][4] = {}, left[4], right[4];
    for (int p = 0; p < k; p += 32) {
        for (int r = 0; r < 64; r += 4) {
            int i = top + warp + r;
            as[warp + r][lane] = i < m ? x[i * k + p + lane] : 0;
        }
        for (int r = 0; r < 32; r += 4) bs[warp + r][lane] = w[(p + warp + r) * n + first + lane];
        __syncthreads();
        for (int q = 0; q < 32; q++) {
            for (int r = 0; r < 4; r++) left[r] = as[ty + 16 * r][q];
            for (int s = 0; s < 4; s++) right[s] = bs[q][tx + 8 * s];
            for (int r = 0; r < 4; r++)
                for (int s = 0; s < 4; s++) sum[r][s] += left[r] * right[s];
        }
        __syncthreads();
    }
    for (int s = 0; s < 4; s++) {
        int j = first + tx + 8 * s;
        for (int r = 0; r < 4; r++) {
            int i = top + ty + 16 * r;
            float z = sum[r][s] + bias[j];
            if (gelu) z = 0.5f * z * (1 + tanhf(0.7978846f * (z + 0.044715f * z * z * z)));
            if (i < m) y[i * n + j] = z;
        }
    }
}
"""


def _layer(m: int, n: int, k: int, gelu: int) -> Case:
    rng = np.random.default_rng(82)
    return (rng.standard_normal((m, k), np.float32), rng.standard_normal((k, n), np.float32),
            rng.standard_normal(n, np.float32), gelu)


def _linear_launch(x: np.ndarray, w: np.ndarray, bias: np.ndarray, gelu: int) -> tuple:
    (m, k), n = x.shape, w.shape[1]
    arrays = *map(to_device, (x, w, bias)), blank((m, n), np.float32)
    return (n // 32, -(-m // 64)), (8, 16), (*arrays, *map(np.int32, (m, n, k, gelu)))


def _shared_by_the_block(counts: object, x: np.ndarray, w: np.ndarray, *_: object) -> str | None:
    k, n = w.shape
    for name, most in ("x", x.size * n // 32), ("w", w.size * len(x) // 64):
        loads = sum(line.accesses for line in counts.lines
                    if (line.space, line.access, line.array) == ("global", "load", name))
        if loads > most:
            return (f"it loads {loads:,} numbers of {name}, where {most:,} are enough: let a block"
                    f" bring each of its numbers of {name} into shared memory once.")
    each = counts["shared_load_wavefronts"] / (len(x) // 64 * n // 32 * 4 * k)
    if each > 8.001:
        return (f"the loads of a warp from shared memory take {each:.3g} wavefronts for 16"
                " multiply-adds of a thread; 8 are enough: 4 numbers of x and 4 of w,"
                " loaded into registers without bank conflicts.")
    lines = [line for line in counts.lines if line.space == "global" and line.array != "bias"]
    return wasteful(SimpleNamespace(lines=lines)) or undivided(counts)


linear = KernelTask(
    "linear", lambda x, w, bias, gelu: (network.gelu if gelu else np.array)(_product(x, w) + bias),
    lambda: [_layer(*sizes) for sizes in ((256, 64, 64, 0), (300, 32, 32, 1), (1, 96, 64, 0),
                                          (130, 64, 96, 3))],
    launch=_linear_launch, right=LINEAR, result=3, given="", rtol=1e-5,
    mistakes=[
        ("the bias left out", " + bias[j]", ""),
        ("the bias of the first 32 columns of y in all blocks", "bias[j]", "bias[j - first]"),
        ("GELU in every case: it is wanted where gelu is not 0", "if (gelu) z", "z"),
        ("the bias added after GELU: it comes before",
         "sum[r][s] + bias[j]", "sum[r][s]", "y[i * n + j] = z", "y[i * n + j] = z + bias[j]"),
        ("no guard for the stores of the last block: m is any number", "if (i < m) y", "y"),
        ("blockIdx exchanged: x counts to the right, along n",
         "64 * blockIdx.y, first = 32 * blockIdx.x", "64 * blockIdx.x, first = 32 * blockIdx.y"),
        ("the first 32 columns of w only: block k across has the columns from 32 * k on",
         "* n + first + lane", "* n + lane"),
        ("a missing barrier: one before the slices are used, one before they are replaced",
         "        __syncthreads();\n        for", "        for"),
        ("a missing barrier: one before the slices are used, one before they are replaced",
         "        }\n        __syncthreads();\n    }", "        }\n    }"),
        ("the first slice only: k may be more than 32", "p < k;", "p < 32;"),
        ("the sums of the last slice only", "s++) sum[r][s]", "s++) sum[r][s] *= !!q, sum[r][s]"),
    ],
    rules=[counters(_shared_by_the_block)],
)

# two warm-ups of the lesson: clocks of the simple kernel's loads, and a tile for a shape


def _naive_clocks(columns: int, *, of_a: Callable = lambda columns: max(1, 32 // columns),
                  of_b: Callable = lambda columns: 1, rate: float = 4) -> tuple[int, float]:
    clocks = of_a(columns) + of_b(columns)
    return clocks, 1 / rate / clocks


naive_clocks = Task(
    "naive_clocks", _naive_clocks, right=_naive_clocks,
    cases=lambda: [(columns,) for columns in (16, 32, 8, 64, 1, 4, 2)],
    mistakes=[
        ("the rows of the whole block: a load is made by a warp, 32 threads",
         {"of_a": lambda columns: 256 // columns}),
        ("one line of A in every case: a warp may cover several rows of C",
         {"of_a": lambda columns: 1}),
        ("no load from A with 64 columns: half a row also wants a number of A",
         {"of_a": lambda columns: 32 // columns}),
        ("a line of B for each row of the warp: all rows want the same numbers of B",
         {"of_b": lambda columns: max(1, 32 // columns)}),
        ("the sectors of B: a line holds 32 floats, four sectors",
         {"of_b": lambda columns: max(1, min(columns, 32) // 8)}),
        ("64 numbers of B in one load: a warp has 32 threads",
         {"of_b": lambda columns: max(1, columns // 32)}),
        ("one multiply-add of a warp in a clock: there are four", {"rate": 1}),
    ],
)


def _best_tile(m: int, n: int, shares: dict, *,
               blocks: Callable = lambda size, side: -(-size // side),
               of: Callable = lambda expected, shares: expected) -> tuple:
    expected = {(high, wide): share * m * n / (blocks(m, high) * high * blocks(n, wide) * wide)
                for (high, wide), share in shares.items()}
    best = max(shares, key=of(expected, shares).get)
    return best, expected[best]


def _tile_cases() -> list[Case]:
    lesson = {(128, 16): 0.27, (128, 32): 0.37, (128, 128): 0.45}
    other = {(64, 64): 0.4, (16, 128): 0.3, (128, 16): 0.28, (32, 32): 0.34}
    return [(m, n, shares) for shares in (lesson, other) for m, n in (
        (640_000, 32), (4096, 4096), (300, 129), (17, 500), (500, 17), (7, 9), (130, 220))]


best_tile = Task(
    "best_tile", _best_tile, _tile_cases, right=_best_tile,
    mistakes=[
        ("the tile that is best in the large product: the useful part counts, too",
         {"of": lambda expected, shares: shares}),
        ("the tile with the largest useful part: its share in the large product counts, too",
         {"of": lambda expected, shares: {tile: expected[tile] / shares[tile] for tile in shares}}),
        ("one block more than needed where the sizes are multiples of the tile",
         {"blocks": lambda size, side: size // side + 1}),
        ("rows and columns of the tile exchanged",
         lambda m, n, shares: _best_tile(n, m, shares)),
        ("no rounding up: a block computes its whole tile", {"blocks": lambda a, b: a / b}),
    ],
)

# limit: the part of the GPU that a profile says is the narrowest, and whether it is full


def _limit(clocks: float, instructions: float, path: float, issued: float, *,
           schedulers: int = 4, rate: float = 4, full: float = 0.85) -> tuple:
    needed = max(clocks, instructions / schedulers)
    part, busy = ("path", path) if clocks == needed else ("schedulers", issued)
    return part if busy >= full else "waits", 1 / rate / needed


limit = Task(
    "limit", _limit, right=_limit,
    cases=lambda: [
        (3.0, 4.57, 0.97, 0.37), (0.31, 1.46, 0.55, 0.67), (0.5, 2.0, 0.9, 0.9), (1, 5, 0.72, 0.9),
        (0.51, 1.67, 0.72, 0.59), (0, 1, 0, 0.95), (0.19, 1.13, 0.59, 0.9), (1, 5, 0.68, 0.85),
        (0.3, 1, 0.85, 0.71), (2, 9, 0.75, 0.84), (0.5, 2, 0.8, 0.8), (0.5, 2, 0.88, 0.84),
        (0.5, 2.1, 0.86, 0.84), (0.5, 1.9, 0.84, 0.86)],
    mistakes=[
        ("one scheduler: a multiprocessor has four", {"schedulers": 1}),
        ("one multiply-add of a warp in a clock: there are four", {"rate": 1}),
        ("no verdict of waits: the limit has to be busy for 85% of the time", {"full": 0}),
        ("the wider of the two parts: the limit is the one that needs more time",
         lambda clocks, instructions, path, issued: (
             "waits", 1 / 4 / max(1 / 4, min(clocks, instructions / 4)))),
        ("the part's time: the arithmetic's share is asked for",
         lambda *seen: (_limit(*seen)[0], max(seen[0], seen[1] / 4))),
    ],
)
