"""The tasks about threads together: lost counts, a warp's largest, softmax, long rows, pairs."""

from __future__ import annotations

import numpy as np

from helpers.network import softmax as softmax_of

from .machinery.kernel_task import KernelTask, blank, counters, to_device, undivided
from .machinery.task import Case, Mistake, Task

# two warm-ups of the lesson: what a warp leaves of its counts, and a warp's largest number


def _kept(digits: np.ndarray) -> np.ndarray:
    warps = digits.reshape(-1, 32)
    return np.array([(warps == digit).any(axis=1).sum() for digit in range(10)])


def _digits_cases() -> list[Case]:
    rng = np.random.default_rng(74)
    edges = np.isin(np.arange(64), [31, 32])  # the last lane of a warp, and the first
    return [(rng.integers(0, 10, 352),), (np.repeat(rng.integers(0, 10, 12), 16),),
            (np.cumsum(edges),), (3 * edges.astype(np.int32),)]


kept = Task(
    "kept", _kept, _digits_cases,
    mistakes=[
        ("all digits counted: lanes of a warp with the same digit add 1 only once",
         lambda digits: np.bincount(digits, minlength=10)),
    ],
)

LARGEST = r"""
extern "C" __global__ void largest(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = i < n ? x[i] : -3.4e38f;
    for (int step = 16; step > 0; step /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, step));
    if (i < n) y[i] = v;
}
"""
SHUFFLES_ALONE = [(r"\b__shared__\b|\b__syncthreads\b", "{} is not needed: the lanes of a warp can"
                   " exchange values by shuffles alone.")]

largest = KernelTask(
    "largest",
    lambda x, grid, block: np.maximum.reduceat(x, np.arange(0, x.size, 32)).repeat(32)[:x.size],
    lambda: [((scale * np.random.default_rng(n).standard_normal(n) - shift).astype(np.float32),
              (grid,), (block,)) for n, grid, block, scale, shift in (
                  (1000, 8, 128, 1, 0), (33, 3, 32, 1e28, 9e29), (1, 1, 64, 1, 7),
                  (33_000, 33, 1024, 1, -5))],
    launch=lambda x, grid, block: (grid, block, (
        to_device(x), blank(x.shape, np.float32), np.int32(x.size))), right=LARGEST,
    given=LARGEST[:LARGEST.index("    float")] + LARGEST[LARGEST.index("    if"):],
    mistakes=[
        ("a lane without a number that brings 0, which may be larger than all numbers",
         "-3.4e38f", "0"),
        ("the largest of each half of a warp: the steps begin with 16", "step = 16", "step = 8"),
        ("the sum, not the largest", "v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, step))",
         "v += __shfl_xor_sync(0xffffffff, v, step)"),
    ],
    rules=[counters(lambda counts, x, *_: undivided(counts, load=x.size, store=x.size),
                    np.ones(1000, np.float32), (4,), (256,))],
    refused=SHUFFLES_ALONE,
)

# softmax: rows of 16, two of them in a warp

SOFTMAX = r"""
extern "C" __global__ void softmax(const float* x, float* y, int rows) {
    int row = blockIdx.x * 16 + threadIdx.y, i = row * 16 + threadIdx.x;
    float v = row < rows ? x[i] : 0;
    float top = v;
    for (int step = 8; step > 0; step /= 2) {
        top = fmaxf(top, __shfl_xor_sync(0xffffffff, top, step));
    }
    float power = expf(v - top), sum = power;
    for (int step = 8; step > 0; step /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, step);
    }
    if (row < rows) y[i] = power / sum;
}
"""


def _softmax_cases() -> list[Case]:
    rng = np.random.default_rng(82)
    scores = [3 * rng.standard_normal((rows, 16), np.float32) for rows in (40, 37, 1, 18, 2100)]
    scores[0][::2] += 200  # rows of a warp with maxima far apart
    scores[1][1::3] -= 1e6
    return [(x,) for x in (*scores, 1e10 * scores[3], np.eye(33, 16, 3, dtype=np.float32) - 9)]


softmax = KernelTask(
    "softmax", lambda x: softmax_of(x.astype(np.float64)).astype(np.float32), _softmax_cases,
    launch=lambda x: ((-(-len(x) // 16),), (16, 16), (
        to_device(x), blank(x.shape, np.float32), np.int32(len(x)))),
    right=SOFTMAX, given="",
    mistakes=[
        ("the maximum not subtracted: expf overflows from 88.8 on, and falls to zero below -104",
         "expf(v - top)", "expf(v)"),
        Mistake.replacing("shuffles that begin with step 16: they mix the two rows of a warp",
                          "step = 8", "step = 16", times=2),
        ("a maximum that begins with 0: a row of large negative numbers underflows",
         "top = v", "top = fmaxf(v, 0)"),
    ],
    rules=[counters(lambda counts, x: undivided(counts, load=x.size, store=x.size),
                    np.ones((61, 16), np.float32))],
    refused=SHUFFLES_ALONE,
    rtol=3e-6, single=True,
)

# rms_norm: rows of any length, a block for each, whose threads all need the block's sum

RMS_NORM = r"""
extern "C" __global__ void rms_norm(const float* x, float* y, int columns) {
    __shared__ float of_warp[8];
    int first = blockIdx.x * columns, t = threadIdx.x;
    float v = 0, sum = 0;
    for (int j = t; j < columns; j += 256) v += x[first + j] * x[first + j];
    for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(0xffffffff, v, step);
    if (t % 32 == 0) of_warp[t / 32] = v;
    __syncthreads();
    for (int w = 0; w < 8; w++) sum += of_warp[w];
    float root = sqrtf(sum / columns + 1e-5f);
    for (int j = t; j < columns; j += 256) y[first + j] = x[first + j] / root;
}
"""

rms_norm = KernelTask(
    "rms_norm", lambda x: x / np.sqrt((x * x).mean(axis=1, keepdims=True) + np.float32(1e-5)),
    lambda: [(np.random.default_rng(86).standard_normal(shape, np.float32) * size,) for *shape, size
             in ((3, 1000, 2), (2, 256, 1e-3), (5, 37, 3), (1, 1, 2), (2, 40_000, 1))],
    launch=lambda x: ((len(x),), (256,), (
        to_device(x), blank(x.shape, np.float32), np.int32(x.shape[1]))),
    right=RMS_NORM, given="",
    mistakes=[
        ("the sum of one warp only: the sums of all eight must be added", "w < 8", "w < 1"),
        ("no barrier before the sums of the other warps are read", "__syncthreads();", ""),
    ],
    rules=[counters(lambda counts, x: undivided(counts, load=2 * x.size, store=x.size),
                    np.ones((4, 1024), np.float32))],
    refused=[(r"\batomic\w+", "{} is not needed: a sum can be made by shuffles and a barrier.")],
    rtol=1e-5, single=True,
)

# pairs: a table of how often each label got each answer; what is no digit is left out

PAIRS = r"""
extern "C" __global__ void pairs(const int* labels, const int* answers, int* counts, int n) {
    __shared__ int mine[100];
    for (int k = threadIdx.x; k < 100; k += blockDim.x) mine[k] = 0;
    __syncthreads();
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        int label = labels[i], answer = answers[i];
        bool digits = label >= 0 && label < 10 && answer >= 0 && answer < 10;
        if (digits) atomicAdd(&mine[10 * label + answer], 1);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < 100; k += blockDim.x) atomicAdd(&counts[k], mine[k]);
}
"""


def _pairs(labels: np.ndarray, answers: np.ndarray, grid: tuple, block: tuple) -> np.ndarray:
    counts = np.zeros((10, 10), np.int32)
    digits = (labels >= 0) & (labels < 10) & (answers >= 0) & (answers < 10)
    np.add.at(counts, (labels[digits], answers[digits]), 1)
    return counts


def _pairs_cases() -> list[Case]:
    rng = np.random.default_rng(75)
    cases = []
    for n, grid, block in ((40_000, 131, 256), (40_000, 1, 256), (2001, 2, 256), (2500, 3, 96),
                           (10, 2, 32), (77, 1, 1)):
        labels = rng.integers(0, 10, n)
        answers = np.where(rng.random(n) < 0.9, labels, rng.integers(0, 10, n))
        if n < 2500:  # holes: also such that 10 * label + answer is a place of the table
            labels[1::3] = rng.choice([-1, 10, 255, 2**31 - 1, -2**31, 429_496_730], n)[1::3]
            answers[::4] = rng.choice([-1, 10, 12, 300, 65_536, -2**31], n)[::4]
        cases.append((labels.astype(np.int32), answers.astype(np.int32), (grid,), (block,)))
    return cases


def _few_global_atomics(counts: object, labels: np.ndarray, answers: np.ndarray, grid: tuple,
                        block: tuple) -> str | None:
    many = (requests := counts["global_atomic_requests"]) > (enough := 4 * grid[0])
    return undivided(counts, load=2 * labels.size) or (
        f"{grid[0]} blocks make {requests} atomic requests to global memory for {labels.size:,}"
        f" pairs, {enough} would do: count in shared memory first." if many else None)


pairs = KernelTask(
    "pairs", _pairs, _pairs_cases, result=2,
    launch=lambda labels, answers, grid, block: (grid, block, (
        *map(to_device, (labels, answers, np.zeros((10, 10), np.int32))), np.int32(labels.size))),
    right=PAIRS, given="",
    mistakes=[
        ("a plain addition in shared memory, or a barrier that is missing there",
         "atomicAdd(&mine[10 * label + answer], 1)", "mine[10 * label + answer]++"),
        ("pairs counted whose place exists, although one of both is no digit: 10 * 0 + 12 is the"
         " place of (1, 2)",
         "label >= 0 && label < 10 && answer >= 0 && answer < 10",
         "10 * label + answer >= 0 && 10 * label + answer < 100"),
        ("counters that are not set to zero: shared memory holds what was there before",
         "mine[k] = 0;", ";"),
    ],
    rules=[counters(_few_global_atomics, *np.divmod(np.arange(4000, dtype=np.int32) % 100, 10),
                    (3,), (256,))],
)
