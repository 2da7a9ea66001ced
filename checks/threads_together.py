"""The tasks about threads together: a histogram, running sums, compaction."""

from __future__ import annotations

import numpy as np

from .machinery.kernel_task import KernelTask, blank, counters, to_device, undivided
from .machinery.task import Case

# histogram: numbers outside 0 to 255 are left out

HISTOGRAM = r"""
extern "C" __global__ void histogram(const int* x, int* counts, int n) {
    __shared__ int mine[256];
    for (int k = threadIdx.x; k < 256; k += blockDim.x) mine[k] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int value = x[i];
        if (value >= 0 && value < 256) atomicAdd(&mine[value], 1);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < 256; k += blockDim.x) atomicAdd(&counts[k], mine[k]);
}
"""


def _histogram_cases() -> list[Case]:
    rng = np.random.default_rng(75)
    plain = rng.integers(0, 256, 40_000).astype(np.int32)  # more than a short counts
    holes = rng.choice([*range(-3, 300), 65_543, -65_529], 2001).astype(np.int32)
    skewed = np.where(rng.random(2500) < 0.9, 7, rng.integers(0, 256, 2500)).astype(np.int32)
    return [(plain, (3,), (256,)), (plain, (1,), (256,)), (holes, (2,), (256,)),
            (skewed, (3,), (96,)), (holes[:10], (2,), (32,)), (plain[:77], (1,), (1,))]


def _few_global_atomics(counts: object, x: np.ndarray, grid: tuple, block: tuple) -> str | None:
    if sentence := undivided(counts, load=4 * x.size):
        return sentence
    requests, enough = counts["global_atomic_requests"], 8 * grid[0]
    if requests > enough:
        return (f"{grid[0]} blocks make {requests} atomic requests to global memory for {x.size:,}"
                f" numbers, {enough} would do: count in shared memory first.")
    return None


histogram = KernelTask(
    "histogram", lambda x, grid, block: np.bincount(
        x[(x >= 0) & (x < 256)], minlength=256).astype(np.int32), _histogram_cases,
    launch=lambda x, grid, block: (
        grid, block, (to_device(x), to_device(np.zeros(256, np.int32)), np.int32(x.size))),
    right=HISTOGRAM, given="", parameters="const int* x, int* counts, int n",
    mistakes=[
        ("a plain addition to the global counters, which several blocks make at once",
         "atomicAdd(&counts[k], mine[k])", "counts[k] += mine[k]"),
        ("a plain addition in shared memory, or a barrier that is missing there",
         "atomicAdd(&mine[value], 1)", "mine[value]++"),
        ("values outside 0 to 255 counted, outside the array",
         "if (value >= 0 && value < 256) ", ""),
        ("values outside 0 to 255 counted, outside the array",
         "if (value >= 0 && value < 256) ", "",
         "&mine[value]", "mine + value"),
        ("the value 256 counted as well: 256 counters end at 255", "value < 256", "value <= 256"),
        ("counters that are not set to zero: shared memory holds what was there before",
         "mine[k] = 0;", ";"),
        ("one element a thread: with fewer threads than elements the rest is not counted",
         "i += gridDim.x * blockDim.x", "i += n"),
        ("every block counting everything: start at the block's own first element and go on by all"
         " threads of the grid",
         "blockIdx.x * blockDim.x + threadIdx.x", "threadIdx.x",
         "i += gridDim.x * blockDim.x", "i += blockDim.x"),
        ("counters cleared as if each block had 256 threads",
         "for (int k = threadIdx.x; k < 256; k += blockDim.x) mine[k] = 0",
         "mine[threadIdx.x] = 0"),
    ],
    rules=[counters(_few_global_atomics, np.arange(4096, dtype=np.int32) % 256, (3,), (256,))],
)

# scan: running sums

SCAN = r"""
extern "C" __global__ void scan(const int* x, int* y, int n) {
    __shared__ int of_warp[32];
    int t = threadIdx.x, lane = t % 32, warps = blockDim.x / 32;
    int carried = 0;
    for (int first = 0; first < n; first += blockDim.x) {
        int i = first + t, v = i < n ? x[i] : 0;
        for (int step = 1; step < 32; step *= 2) {
            int before = __shfl_up_sync(0xffffffffu, v, step);
            if (lane >= step) v += before;
        }
        if (lane == 31) of_warp[t / 32] = v;
        __syncthreads();
        v += carried;
        for (int w = 0; w < warps; w++) {
            if (w < t / 32) v += of_warp[w];
            carried += of_warp[w];
        }
        if (i < n) y[i] = v;
        __syncthreads();
    }
}
"""


def _scan_cases() -> list[Case]:
    rng = np.random.default_rng(76)
    return [(rng.integers(-50, 100, n).astype(np.int32), (block,))
            for n, block in ((32, 32), (128, 128), (1000, 256), (777, 32), (3, 64), (2049, 1024))
            ] + [(rng.integers(0, 9999, 33_000).astype(np.int32), (64,))]  # beyond a float's digits


def _loads_once(counts: object, x: np.ndarray, block: tuple) -> str | None:
    requests, least = counts["global_load_requests"], x.size // 32
    if requests > least:
        return (f"it takes {requests:,} load requests for {x.size:,} numbers, {least} would do:"
                " each is loaded once, 32 at a time by neighbouring lanes.")
    return None


scan = KernelTask(
    "scan", lambda x, block: np.cumsum(x, dtype=np.int32), _scan_cases,
    launch=lambda x, block: (
        (1,), block, (to_device(x), blank(x.shape, np.int32), np.int32(x.size))),
    right=SCAN, given="", parameters="const int* x, int* y, int n",
    mistakes=[
        ("every warp begins at zero: the sums of the warps before are missing",
         "if (w < t / 32) v += of_warp[w];", ""),
        ("every tile begins at zero: the sum of the tiles before is missing", "v += carried;", ""),
        ("a sum up to the element before, without the element itself",
         "y[i] = v;", "y[i] = v - x[i];"),
        ("lanes that add what is not before them: without `if (lane >= step)` the first lanes add"
         " themselves",
         "if (lane >= step) ", ""),
        ("sums in float, which are whole numbers only up to 16,777,216",
         "int carried", "float carried",
         "i = first + t, v =", "i = first + t; float v =",
         "int before", "float before",
         "__shared__ int", "__shared__ float"),
        ("steps of 1 up to 8 only: a warp needs 16 as well", "step < 32", "step < 16"),
        ("a missing barrier at the end of a tile: the next tile overwrites sums that other warps"
         " still read",
         "        __syncthreads();\n    }\n}", "    }\n}"),
        ("no guard where x is loaded: threads beyond the end scan zeros",
         "v = i < n ? x[i] : 0", "v = x[i]"),
        ("no guard where y is written", "if (i < n) y[i]", "y[i]"),
        ("the shuffle inside the branch: all lanes of the mask must come to it",
         "int before = __shfl_up_sync(0xffffffffu, v, step);", "",
         "v += before", "v += __shfl_up_sync(0xffffffffu, v, step)"),
    ],
    rules=[counters(_loads_once, np.ones(1024, np.int32), (128,))],
)

# compact: the elements that a mask keeps

COMPACT = r"""
extern "C" __global__
void compact(const float* x, const bool* mask, const int* ends, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        if (mask[i]) y[ends[i] - 1] = x[i];
}
"""


def _compact_cases() -> list[Case]:
    rng = np.random.default_rng(77)
    cases = []
    for n, share, grid, block in ((40_000, 0.3, 4, 256), (1000, 0.7, 1, 96), (77, 1.1, 3, 64),
                                  (500, 0.01, 2, 32), (130, 0.5, 1, 1)):
        mask = rng.random(n) < share
        mask[n // 2] = True
        cases.append((rng.standard_normal(n, np.float32), mask, (grid,), (block,)))
    return cases


def _compact_launch(x: np.ndarray, mask: np.ndarray, grid: tuple, block: tuple) -> tuple:
    ends = np.cumsum(mask, dtype=np.int32)
    return grid, block, (to_device(x), to_device(mask), to_device(ends),
                         blank(int(ends[-1]), np.float32), np.int32(x.size))


def _many_lanes(counts: object, x: np.ndarray, mask: np.ndarray, grid: tuple,
                block: tuple) -> str | None:
    if counts["global_atomic_requests"]:
        return "it uses atomics, where each kept element has a place of its own."
    return undivided(counts, load=3 * x.size, store=x.size)


compact = KernelTask(
    "compact", lambda x, mask, grid, block: x[mask], _compact_cases, launch=_compact_launch,
    result=3, right=COMPACT, given="",
    parameters="const float* x, const bool* mask, const int* ends, float* y, int n",
    mistakes=[
        ("one place too far: `ends` counts the element itself, so the first one has 1 and goes to"
         " place 0",
         "ends[i] - 1", "ends[i]"),
        ("elements that are not kept written as well, to the place of the one before",
         "if (mask[i]) y[ends[i] - 1]", "if (ends[i] > 0) y[ends[i] - 1]"),
        ("elements that stay where they were, with gaps between them",
         "y[ends[i] - 1] = x[i]", "if (i < ends[n - 1]) y[i] = x[i]"),
        ("one element a thread: with fewer threads than elements the rest is left out",
         "i += gridDim.x * blockDim.x", "i += n"),
        ("the places used to read x: `ends` says where to write",
         "y[ends[i] - 1] = x[i]", "if (i < ends[n - 1]) y[i] = x[ends[i] - 1]"),
        ("`i <= n` in place of `i < n`, or no guard: an element too many", "i < n", "i <= n"),
        ("elements that are not kept written as well: those before the first kept one have no"
         " place",
         "if (mask[i]) ", ""),
    ],
    rules=[counters(_many_lanes, np.arange(1024, dtype=np.float32), np.ones(1024, bool), (4,),
                    (256,))],
)
