"""Right answers besides the solution, and wrong ones that are no known mistake."""

import helpers

helpers.start()

import cupy as cp  # noqa: E402
import numpy as np  # noqa: E402

from checks import fast_kernels  # noqa: E402

# The slice of b is stored transposed and read by rows; the padding serves the stores.
SCORES = r"""
extern "C" __global__ void scores(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float left[32][32], right[32 * 33];
    int y = threadIdx.y, x = threadIdx.x, slices = (k + 31) / 32;
    int row = 32 * blockIdx.y + y, column = 32 * blockIdx.x + x, other = 32 * blockIdx.x + y;
    double sum = 0;
    for (int s = 0; s < slices; s++) {
        int at = 32 * s + x;
        left[y][x] = 0;
        right[x * 33 + y] = 0;
        if (row < m && at < k) left[y][x] = a[row * k + at];
        if (other < n && at < k) right[x * 33 + y] = b[other * k + at];
        __syncthreads();
        for (int q = 0; q < 32; q++) sum += left[y][q] * right[q * 33 + x];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}
"""
SCORES_WITHOUT_TILES = r"""
extern "C" __global__ void scores(const float* a, const float* b, float* c, int m, int n, int k) {
    int i = 32 * blockIdx.y + threadIdx.y, j = 32 * blockIdx.x + threadIdx.x;
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int p = 0; p < k; p++) sum += a[i * k + p] * b[j * k + p];
    c[i * n + j] = sum;
}
"""
# The four images lie in shared memory as a whole, and the zeros are made where they are needed.
WHOLE_IMAGES = r"""
extern "C" __global__ void conv2(const float* x, const float* w, float* y, int n) {
    __shared__ float images[256 * 33], weights[32 * 32];
    int t = threadIdx.x + 8 * threadIdx.y, first = 256 * blockIdx.x;
    for (int e = t; e < 256 * 32; e += 256)
        images[e / 32 * 33 + e % 32] = first + e / 32 < 64 * n ? x[32 * first + e] : 0;
    float sum[32];
    for (int s = 0; s < 32; s++) sum[s] = 0;
    for (int di = -1; di <= 1; di++)
        for (int dj = -1; dj <= 1; dj++) {
            __syncthreads();
            for (int e = t; e < 1024; e += 256) weights[e] = w[1024 * (3 * di + dj + 4) + e];
            __syncthreads();
            for (int c = 0; c < 32; c++) {
                float left[8];
                for (int r = 0; r < 8; r++) {
                    int pixel = threadIdx.y + 32 * r, i = pixel / 8 % 8 + di, j = pixel % 8 + dj;
                    left[r] = (unsigned)i < 8 && (unsigned)j < 8
                              ? images[(pixel + 8 * di + dj) * 33 + c] : 0;
                }
                for (int s = 0; s < 4; s++) {
                    float weight = weights[32 * c + threadIdx.x + 8 * s];
                    for (int r = 0; r < 8; r++) sum[4 * r + s] += left[r] * weight;
                }
            }
        }
    for (int s = 0; s < 32; s++) {
        int row = first + threadIdx.y + s / 4 * 32;
        if (row < 64 * n) y[row * 32 + threadIdx.x + s % 4 * 8] = sum[s];
    }
}
"""
# Each thread has four neighbouring columns, and loads their weights as a float4.
FOURS = (fast_kernels.CONV2.replace("as[256][33], bs[32][32]", "as[256][33]")
         .replace("    int tx", "    __shared__ __align__(16) float bs[32][32];\n    int tx")
         .replace("left[8], right[4];", "left[8];\n    __align__(16) float right[4];")
         .replace("for (int s = 0; s < 4; s++) right[s] = bs[q][tx + 8 * s];",
                  "*(float4*)right = *(float4*)&bs[q][4 * tx];")
         .replace("for (int s = 0; s < 4; s++) if (row < 64 * n)"
                  " y[row * 32 + tx + 8 * s] = sum[r][s]",
                  "if (row < 64 * n) *(float4*)&y[row * 32 + 4 * tx] ="
                  " make_float4(sum[r][0], sum[r][1], sum[r][2], sum[r][3])"))
NO_REGISTERS = fast_kernels.CONV2.replace("sum[r][s] += left[r] * right[s]",
                                          "sum[r][s] += as[ty + 32 * r][q] * bs[q][tx + 8 * s]")
ONE_BY_ONE = r"""
extern "C" __global__ void conv2(const float* x, const float* w, float* y, int n) {
    for (int e = 8 * threadIdx.y + threadIdx.x; e < 256 * 32; e += 256) {
        int row = 256 * blockIdx.x + e / 32, o = e % 32;
        if (row >= 64 * n) return;
        float sum = 0;
        for (int k = 0; k < 288; k++) {
            int i = row / 8 % 8 + k / 96 - 1, j = row % 8 + k / 32 % 3 - 1;
            if (i >= 0 && i < 8 && j >= 0 && j < 8)
                sum += x[(row / 64 * 64 + 8 * i + j) * 32 + k % 32] * w[32 * k + o];
        }
        y[32 * row + o] = sum;
    }
}
"""


def loads_in_sum(m, n, k):
    """Each of the m * n threads makes k rounds of two loads."""
    return sum((m * n * k, m * n * k)), k * (m + n)


def loads_by_formula(m, n, k):
    """Two loads for each multiply-add."""
    return 2 * m * n * k, m * k + k * n


def each_by_formula(high, wide):
    """All loads of a round, divided by its multiply-adds."""
    return (high + wide) / (high * wide)


def each_by_side(high, wide):
    """A number of A serves `wide` multiply-adds, and a number of B `high`."""
    return 1 / wide + 1 / high


def useful_by_loop(m, n, high, wide):
    """Each direction by itself."""
    share = 1.0
    for length, side in ((m, high), (n, wide)):
        share *= length / (side * ((length + side - 1) // side))
    return share


def sectors_by_table(m, n, k, columns):
    each = {1: 33, 2: 17, 4: 9, 8: 5, 16: 4, 32: 5, 64: 5}
    return m * n * k // 32 * each[columns]


def most_by_clocks(m, n, k, global_loads, shared_loads):
    arithmetic, path = m * n * k // 32 / 4, global_loads + shared_loads
    return arithmetic / max(arithmetic, path)


def half_done(m, n, k, columns):
    if columns > 32:
        raise NotImplementedError()
    return sectors_by_table(m, n, k, columns)


def some_scores(rng):
    m, n, k = (int(size) for size in rng.integers(1, 41, 3))
    return rng.standard_normal((m, k), np.float32), rng.standard_normal((n, k), np.float32)


def some_images(rng):
    """One image, because a block takes as long for one as for four."""
    return (rng.standard_normal((1, 8, 8, 32), np.float32),
            rng.standard_normal((288, 32), np.float32))


INPUTS = {"scores": some_scores, "conv2": some_images}
RIGHT = {
    "scores": [SCORES, cp.RawKernel(SCORES, "scores")],
    "conv2": [WHOLE_IMAGES, FOURS],
    "loads": [loads_by_formula, loads_in_sum],
    "loads_each": [each_by_formula, each_by_side],
    "useful": [useful_by_loop],
    "naive_sectors": [sectors_by_table],
    "most": [most_by_clocks],
}


def sectors_by_loop(m, n, k, columns):
    across = min(columns, 32)
    return sum(m * n // 32 * (32 // across + max(1, across // 8)) for _ in range(k))


WRONG = {
    "scores": [
        (SCORES_WITHOUT_TILES, "with tiles in shared memory"),
        (SCORES.replace("32 * 33", "32 * 32").replace("* 33", "* 32"), "bank conflicts"),
        (SCORES.replace("int k)", "long long k)"), "A launch does not convert arguments"),
        (SCORES.replace("row * n + column", "row * m + column"), "of the kernel scores"),
        (SCORES.replace("__global__ void scores", "/* YOUR CODE HERE */ __global__ void scores")
         .replace("row * n + column", "row * m + column"), "of the kernel scores"),
    ],
    "conv2": [
        (NO_REGISTERS, "take 64 wavefronts"),
        (ONE_BY_ONE, "let a block bring each weight into shared memory once"),
        (fast_kernels.CONV2.replace("as[256][33]", "as[256][32]"), "take 36 wavefronts"),
        (fast_kernels.CONV2.replace("if (row < 64 * n) y", "y"), "an access outside an array"),
        (WHOLE_IMAGES.replace("            __syncthreads();\n            for (int e",
                              "            for (int e"), "race"),
    ],
    "loads": [(lambda m, n, k: 2 * m * n * k, "a tuple")],
    "loads_each": [(lambda high, wide: (high + wide) // (high * wide), "expected")],
    "useful": [(lambda m, n, high, wide: m * n / (m // high * high * n // wide * wide),
                "expected")],
    "most": [(lambda m, n, k, global_loads, shared_loads: 1, "expected")],
    "naive_sectors": [
        (lambda m, n, k, columns: 0, "expected"),
        (half_done, "it raised NotImplementedError"),
        (lambda m, n, k, columns: m * n * k // 32 * 5, "columns=16"),
        (sectors_by_loop, "it loops in Python"),
    ],
}
