"""Right answers besides the solution, and wrong ones that are no known mistake."""

import helpers

helpers.start()

import numpy as np  # noqa: E402
from lone_workers import alone  # noqa: E402

from checks.machinery.task import replaced  # noqa: E402
from checks.threads_together import LARGEST, PAIRS, RMS_NORM, SOFTMAX  # noqa: E402


def kept_by_warps(digits):
    counts = np.zeros(10, int)
    for first in range(0, len(digits), 32):
        counts[digits[first:first + 32]] += 1  # NumPy loses the same additions
    return counts


def kept_by_unique(digits):
    warps = np.arange(digits.size) // 32
    return np.bincount(np.unique(10 * warps + digits) % 10, minlength=10)


# Lane 0 collects, and then all lanes ask it.
COLLECTED = r"""
extern "C" __global__ void largest(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = -1e30f;
    if (i < n) v = x[i];
    for (int step = 1; step < 32; step *= 2)
        v = fmaxf(v, __shfl_down_sync(0xffffffff, v, step));
    v = __shfl_sync(0xffffffff, v, 0);
    if (i < n) y[i] = v;
}
"""

# The two halves name only their own lanes, until they meet.
HALVES_FIRST = LARGEST.replace("step = 16; step", "step = 8; step").replace(
    "0xffffffff", "i & 16 ? 0xffff0000u : 0xffffu").replace(
    "    if (i < n) y", "    v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, 16));\n    if (i < n) y")

# Every lane asks the 16 lanes of its row, one after the other.
ASKING = r"""
extern "C" __global__ void softmax(const float* x, float* y, int rows) {
    int t = threadIdx.y * 16 + threadIdx.x, i = blockIdx.x * 256 + t, first = t % 32 & 16;
    float v = i < 16 * rows ? x[i] : 0.0f, top = -3.4e38f, sum = 0.0f;
    for (int k = 0; k < 16; k++) top = fmaxf(__shfl_sync(0xffffffffu, v, first + k), top);
    v = expf(v - top);
    for (int k = 0; k < 16; k++) sum += __shfl_sync(0xffffffffu, v, first + k);
    if (i < 16 * rows) y[i] = v / sum;
}
"""

# Threads without a row leave: nobody reads from their lanes.
LEAVING = SOFTMAX.replace(
    "float v = row < rows ? x[i] : 0", "if (row >= rows) return; float v = x[i]")

# Lanes without a row skip everything up to the end of the kernel: they have ended, too.
GUARDED = SOFTMAX.replace(
    "float v = row < rows ? x[i] : 0;", "if (row < rows) { float v = x[i];").replace(
    "if (row < rows) y[i] = power / sum;", "y[i] = power / sum; }")

# Each half of a warp names only its own lanes.
HALF_MASKS = LEAVING.replace("0xffffffff", "threadIdx.y % 2 ? 0xffff0000u : 0xffffu")

# The rows as groups of 16 lanes.
GROUPS = r"""
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void softmax(const float* x, float* y, int rows) {
    cg::thread_block_tile<16> lanes = cg::tiled_partition<16>(cg::this_thread_block());
    int row = blockIdx.x * 16 + threadIdx.y, i = row * 16 + threadIdx.x;
    float v = row < rows ? x[i] : 0.0f;
    float power = expf(v - cg::reduce(lanes, v, cg::greater<float>()));
    float sum = cg::reduce(lanes, power, cg::plus<float>());
    if (row < rows) y[i] = power / sum;
}
"""

# Every thread computes its whole row.
SERIAL = r"""
extern "C" __global__ void softmax(const float* x, float* y, int rows) {
    int row = blockIdx.x * 16 + threadIdx.y, j = threadIdx.x;
    if (row >= rows) return;
    float top = x[16 * row], sum = 0;
    for (int k = 0; k < 16; k++) top = fmaxf(top, x[16 * row + k]);
    for (int k = 0; k < 16; k++) sum += expf(x[16 * row + k] - top);
    y[16 * row + j] = expf(x[16 * row + j] - top) / sum;
}
"""

# A table for each half of the block, and one comparison for both bounds.
HALVES = r"""
extern "C" __global__ void pairs(const int* labels, const int* answers, int* counts, int n) {
    __shared__ unsigned mine[2][100];
    unsigned t = threadIdx.x, total = gridDim.x * blockDim.x;
    for (unsigned k = t; k < 200; k += blockDim.x) mine[k / 100][k % 100] = 0u;
    __syncthreads();
    for (unsigned i = t + blockIdx.x * blockDim.x; i < n; i += total) {
        unsigned label = labels[i], answer = answers[i];
        if (label < 10u && answer < 10u)
            atomicInc(&mine[t * 2 / blockDim.x][label * 10 + answer], 0xffffffffu);
    }
    __syncthreads();
    for (unsigned k = t; k < 100; k += blockDim.x)
        if (unsigned sum = mine[0][k] + mine[1][k]) atomicAdd(counts + k, (int)sum);
}
"""

# No atomics in shared memory: a thread has some counters, and looks through the block's pairs.
OWNERS = r"""
extern "C" __global__ void pairs(const int* labels, const int* answers, int* counts, int n) {
    __shared__ int place[1024], mine[100];
    for (int k = threadIdx.x; k < 100; k += blockDim.x) mine[k] = 0;
    for (int first = blockIdx.x * blockDim.x; first < n; first += gridDim.x * blockDim.x) {
        int i = first + threadIdx.x, p = -1;
        if (i < n) {
            int a = labels[i], b = answers[i];
            if (a >= 0 && a < 10 && b >= 0 && b < 10) p = a * 10 + b;
        }
        place[threadIdx.x] = p;
        __syncthreads();
        for (int k = threadIdx.x; k < 100; k += blockDim.x)
            for (int j = 0; j < blockDim.x; j++) mine[k] += place[j] == k;
        __syncthreads();
    }
    for (int k = threadIdx.x; k < 100; k += blockDim.x) atomicAdd(&counts[k], mine[k]);
}
"""

# Halving in shared memory, without shuffles; and thread 0 that adds the sums of the warps.
TREE = r"""
extern "C" __global__ void rms_norm(const float* x, float* y, int columns) {
    __shared__ float sums[256];
    int t = threadIdx.x;
    x += blockIdx.x * columns;
    y += blockIdx.x * columns;
    float v = 0.0f;
    for (int j = t; j < columns; j += blockDim.x) v += x[j] * x[j];
    sums[t] = v;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) sums[t] += sums[t + half];
    }
    __syncthreads();
    float factor = rsqrtf(sums[0] / columns + 1e-5f);
    for (int j = t; j < columns; j += blockDim.x) y[j] = x[j] * factor;
}
"""
FIRST = replaced(RMS_NORM, "for (int w = 0; w < 8; w++) sum += of_warp[w];", """
    if (t == 0) {
        for (int w = 1; w < 8; w++) v += of_warp[w];
        of_warp[0] = v;
    }
    __syncthreads();
    sum = of_warp[0];""")

RIGHT = {
    "kept": [kept_by_warps, kept_by_unique],
    "largest": [LARGEST, COLLECTED, HALVES_FIRST],
    "softmax": [ASKING, LEAVING, GUARDED, HALF_MASKS, GROUPS],
    "rms_norm": [TREE, FIRST],
    "pairs": [HALVES, OWNERS],
}

WRONG = {
    "kept": [
        (lambda digits: np.minimum(np.bincount(digits, minlength=10), digits.size // 32),
         "values are wrong"),
        (lambda digits: np.bincount(digits, minlength=10) // 32, "expected"),
        (lambda digits: list(kept_by_warps(digits)), "expected"),
    ],
    "largest": [
        (LARGEST.replace("for (", "if (i < n) for ("), ""),
        (LARGEST.replace("float v = i < n ? x[i] : -3.4e38f;",
                         "if (i >= n) return; float v = x[i];"), ""),
        (LARGEST.replace("0xffffffff", "0xffff"), "takes no part"),
        (LARGEST.replace("0xffffffff", "i & 16 ? 0xffff0000u : 0xffffu"), ""),
        (LARGEST.replace("i < n ? x[i] : -3.4e38f", "x[i < n ? i : n - 1]"), "would do"),
        (LARGEST.replace("-3.4e38f", "-1000"), "values are wrong"),
        (LARGEST.replace("shfl_xor", "shfl_down"), "values are wrong"),
        (LARGEST.replace("step > 0", "step > 1"), "values are wrong"),
        (LARGEST.replace("fmaxf", "fminf"), "values are wrong"),
        (LARGEST.replace("if (i < n) y", "y"), "an access outside an array"),
        (alone(LARGEST), ""),
        (replaced(LARGEST, "float v", "__shared__ float tile[32]; float v"), "is not needed"),
    ],
    "softmax": [
        (alone(SOFTMAX), ""),
        (SOFTMAX.replace("sum += __shfl_xor", "sum += __shfl_down"), ""),
        (SOFTMAX.replace("if (row < rows) y[i]", "y[i]"), ""),
        (SOFTMAX.replace("0xffffffff", "0xffff"), "does not name it"),
        (SERIAL, "where 976 would do"),
        (SOFTMAX.replace("row < rows ? x[i] : 0", "x[min(i, 16 * rows - 1)]"),
         "where 976 would do"),
        (ASKING.replace("t % 32 & 16", "0"), "values are wrong"),
        (ASKING.replace("-3.4e38f", "-100"), "values are wrong"),
        (SOFTMAX.replace("expf(", "exp(double("), ""),
        (SOFTMAX.replace("blockIdx.x * 16", "blockIdx.x * 8"), ""),
        (replaced(SOFTMAX, "float v = row", "__shared__ float tile[256]; float v = row"),
         "is not needed"),
    ],
    "rms_norm": [
        (FIRST.replace("}\n    __syncthreads();\n    sum", "}\n    sum"), ""),
        (RMS_NORM.replace("if (t % 32 == 0) of_warp[t / 32] = v;\n    __syncthreads();",
                          "__syncthreads();\n    if (t % 32 == 0) of_warp[t / 32] = v;"), ""),
        (RMS_NORM.replace("sum / columns", "sum"), ""),
        (RMS_NORM.replace("sum / columns", "sum / 256"), ""),
        (RMS_NORM.replace("j += 256", "j += columns"), ""),
        (RMS_NORM.replace("step = 16", "step = 8"), ""),
        (TREE.replace("t < half", "t < 128"), ""),
        (RMS_NORM.replace("float v = 0, sum", "float v = 0; float sum").replace(
            "int j = t; j < columns; j += 256) v", "int j = 0; j < columns; j++) v").replace(
            "sum += of_warp[w];", "sum += of_warp[w] / 256;"), "would do"),
        ("""
extern "C" __global__ void rms_norm(const float* x, float* y, int columns) {
    __shared__ float sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    float v = 0;
    x += blockIdx.x * columns;
    for (int j = threadIdx.x; j < columns; j += 256) v += x[j] * x[j];
    atomicAdd(&sum, v);
    __syncthreads();
    for (int j = threadIdx.x; j < columns; j += 256)
        y[blockIdx.x * columns + j] = x[j] / sqrtf(sum / columns + 1e-5f);
}""", "is not needed"),
    ],
    "pairs": [
        (replaced(PAIRS, "answer < 10", "answer <= 10"), ""),
        (replaced(PAIRS, "10 * label + answer", "10 * answer + label"), ""),
        (PAIRS.replace("i += step", "i += n"), ""),
        (PAIRS.replace("if (digits) ", ""), ""),
        (PAIRS.replace("atomicAdd(&counts[k], mine[k])", "counts[k] += mine[k]"), ""),
        (alone(PAIRS), "hardly one loads"),
        (alone(PAIRS, "blockIdx.x"), "the first block updates most"),
        (PAIRS.replace("answer = answers[i];", "answer = answers[i]; ((int*)labels)[i] = 0;"),
         "changed one of its inputs"),
        (PAIRS.replace("i < n;", "i <= n;"), "an access outside an array"),
        (r"""
extern "C" __global__ void pairs(const int* labels, const int* answers, int* counts, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        if ((unsigned)labels[i] < 10u && (unsigned)answers[i] < 10u)
            atomicAdd(&counts[10 * labels[i] + answers[i]], 1);
}""", ""),
        (HALVES.replace("k < 200", "k < 100"), ""),
    ],
}


def random_rows(rng):
    spread = np.float32(rng.choice([1, 30]))
    return (spread * rng.standard_normal((rng.integers(1, 70), 16), np.float32),)


def random_long_rows(rng):
    shape = int(rng.integers(1, 5)), int(rng.choice([1, 31, 257, 900, 3000]))
    return (rng.standard_normal(shape, np.float32),)


def random_pairs(rng):
    n, grid, block = int(rng.integers(1, 500)), int(rng.integers(1, 4)), int(rng.integers(1, 300))
    labels, answers = rng.integers(-1, 12, (2, n)).astype(np.int32)
    return labels, answers, (grid,), (block,)


def random_warps(rng):
    block, n = 32 * int(rng.integers(1, 9)), int(rng.integers(1, 700))
    x = rng.choice([1, 1e20]) * rng.standard_normal(n) - rng.choice([0, 9])
    return x.astype(np.float32), (-(-n // block),), (block,)


INPUTS = {"largest": random_warps, "softmax": random_rows, "rms_norm": random_long_rows,
          "pairs": random_pairs}
