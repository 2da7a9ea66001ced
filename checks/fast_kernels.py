"""The tasks about fast kernels: products in tiles, and what they load."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np

from helpers import network

from .machinery.kernel_task import KernelTask, blank, counters, to_device, undivided, wasteful
from .machinery.task import Case, Task, no_python_loop


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

# two warm-ups of the lesson: loads of the simple product, and the useful share of the sums

loads = Task(
    "loads", lambda m, n, k: (2 * m * n * k, m * k + k * n),
    lambda: [(4096, 4096, 4096), (70, 90, 50), (1, 3, 1), (640_000, 32, 288)],
    mistakes=[
        ("one load for each multiply-add; it needs a number of A and one of B",
         lambda m, n, k: (m * n * k, m * k + k * n)),
        ("the numbers of C in place of those of A and B", lambda m, n, k: (2 * m * n * k, m * n)),
        ("the numbers of C as well: they are stored, and not loaded",
         lambda m, n, k: (2 * m * n * k, m * k + k * n + m * n)),
        ("the blocks rounded up: threads outside of C return and load nothing",
         lambda m, n, k: (2 * -(-m // 16) * -(-n // 16) * 256 * k, m * k + k * n)),
        ("the loads of one thread", lambda m, n, k: (2 * k, m * k + k * n)),
    ],
)


def _useful(m: int, n: int, high: int, wide: int, *,
            blocks: Callable = lambda size, tile: -(-size // tile)) -> float:
    return m * n / (blocks(m, high) * high * blocks(n, wide) * wide)


useful = Task(
    "useful", _useful, right=_useful,
    cases=lambda: [(70, 90, 16, 16), (128, 128, 128, 128), (640_000, 32, 128, 128), (1, 1, 16, 64),
                   (4097, 4097, 128, 128), (100, 301, 60, 50), (7, 9, 3, 5)],
    mistakes=[
        ("the useless share", lambda *sizes: 1 - _useful(*sizes)),
        ("all sums divided by the useful ones", lambda *sizes: 1 / _useful(*sizes)),
        ("one block more than needed where the sizes are multiples of the tile",
         {"blocks": lambda size, tile: size // tile + 1}),
        ("rows and columns of the tile exchanged",
         lambda m, n, high, wide: _useful(m, n, wide, high)),
        ("the blocks rounded up together: rows and columns are rounded up for themselves",
         lambda m, n, high, wide: _useful(m * n, 1, high * wide, 1)),
    ],
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

# limit: the part of the GPU that a profile says is the narrowest

def _limit(clocks: float, instructions: float, *, schedulers: int = 4, rate: float = 4) -> tuple:
    needed = max(clocks, instructions / schedulers)
    return "path" if clocks == needed else "schedulers", 1 / rate / needed


limit = Task(
    "limit", _limit, right=_limit,
    cases=lambda: [(3.0, 4.57), (0.31, 1.46), (0.5, 2.0), (1.22, 5.9), (0.51, 1.67), (0, 1),
                   (0.19, 1.13), (2, 9), (0.3, 1)],
    mistakes=[
        ("one scheduler: a multiprocessor has four", {"schedulers": 1}),
        ("one multiply-add of a warp in a clock: there are four", {"rate": 1}),
        ("the wider of the two parts: the limit is the one that needs more time",
         lambda clocks, instructions: ("path" if clocks < instructions / 4 else "schedulers",
                                       1 / 4 / max(1 / 4, min(clocks, instructions / 4)))),
        ("the path in every case", lambda clocks, _: ("path", min(1, 1 / 4 / max(clocks, 1 / 4)))),
        ("the schedulers' time only", lambda _, instructions: ("schedulers", 1 / instructions)),
        ("the part's time: the arithmetic's share is asked for",
         lambda clocks, instructions: (_limit(clocks, instructions)[0],
                                       max(clocks, instructions / 4))),
    ],
)
