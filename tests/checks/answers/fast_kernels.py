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
# Other names, slices 8 deep, and the slice of x stored transposed.
TURNED = r"""
extern "C" __global__ void linear(const float* x, const float* w, const float* bias, float* y,
                                  int m, int n, int k, int gelu) {
    __shared__ float left[8][65], right[8 * 32];
    int t = threadIdx.x + 8 * threadIdx.y, top = blockIdx.y * 64, wide = blockIdx.x * 32;
    float sum[16];
    for (int s = 0; s < 16; s++) sum[s] = 0;
    for (int p = 0; p < k; p += 8) {
        for (int e = t; e < 64 * 8; e += 128) {
            left[e % 8][e / 8] = 0;
            if (top + e / 8 < m) left[e % 8][e / 8] = x[(top + e / 8) * k + p + e % 8];
        }
        for (int e = t; e < 8 * 32; e += 128) right[e] = w[(p + e / 32) * n + wide + e % 32];
        __syncthreads();
        for (int q = 0; q < 8; q++) {
            float weight[4];
            for (int s = 0; s < 4; s++) weight[s] = right[32 * q + threadIdx.x + 8 * s];
            for (int r = 0; r < 4; r++) {
                float number = left[q][threadIdx.y + 16 * r];
                for (int s = 0; s < 4; s++) sum[4 * r + s] += number * weight[s];
            }
        }
        __syncthreads();
    }
    for (int s = 0; s < 16; s++) {
        int row = top + threadIdx.y + s / 4 * 16, column = wide + threadIdx.x + s % 4 * 8;
        if (row >= m) continue;
        float z = sum[s] + bias[column], cube = z * z * z;
        y[row * n + column] = gelu == 0 ? z
            : z / (1 + expf(-2 * 0.7978846f * (z + 0.044715f * cube)));
    }
}
"""
# Each thread has four neighbouring columns, and loads their weights as a float4.
FOURS = (fast_kernels.LINEAR.replace("as[64][33], bs[32][32]", "as[64][33]")
         .replace("    int tx", "    __shared__ __align__(16) float bs[32][32];\n    int tx")
         .replace("left[4], right[4];", "left[4];\n    __align__(16) float right[4];")
         .replace("for (int s = 0; s < 4; s++) right[s] = bs[q][tx + 8 * s];",
                  "*(float4*)right = *(float4*)&bs[q][4 * tx];")
         .replace("first + tx + 8 * s", "first + 4 * tx + s")
         .replace("if (i < m) y[i * n + j] = z;", "sum[r][s] = z;")
         .replace("    for (int s = 0; s < 4; s++) {\n        int j",
                  "    float4 four = *(const float4*)&bias[first + 4 * tx];\n"
                  "    for (int s = 0; s < 4; s++) {\n        int j")
         .replace("bias[j]", "(&four.x)[s]")
         .replace("    }\n}\n", """    }
    for (int r = 0; r < 4; r++) {
        int i = top + ty + 16 * r;
        if (i < m) *(float4*)&y[i * n + first + 4 * tx] =
            make_float4(sum[r][0], sum[r][1], sum[r][2], sum[r][3]);
    }
}
"""))
# The same with single loads of the bias, 4 floats apart: the sectors of bias do not count.
FOURS_PLAIN_BIAS = (FOURS.replace("    float4 four = *(const float4*)&bias[first + 4 * tx];\n", "")
                    .replace("(&four.x)[s]", "bias[j]"))
NO_REGISTERS = fast_kernels.LINEAR.replace("sum[r][s] += left[r] * right[s]",
                                           "sum[r][s] += as[ty + 16 * r][q] * bs[q][tx + 8 * s]")
ONE_BY_ONE = r"""
extern "C" __global__ void linear(const float* x, const float* w, const float* bias, float* y,
                                  int m, int n, int k, int gelu) {
    for (int e = 8 * threadIdx.y + threadIdx.x; e < 64 * 32; e += 128) {
        int i = 64 * blockIdx.y + e / 32, j = 32 * blockIdx.x + e % 32;
        if (i >= m) return;
        float z = bias[j];
        for (int p = 0; p < k; p++) z += x[i * k + p] * w[p * n + j];
        if (gelu) z = 0.5f * z * (1 + tanhf(0.7978846f * (z + 0.044715f * z * z * z)));
        y[i * n + j] = z;
    }
}
"""


def clocks_by_table(columns):
    """Lines of A and of B, each looked up."""
    lines = {1: 32 + 1, 2: 16 + 1, 4: 8 + 1, 8: 4 + 1, 16: 2 + 1, 32: 1 + 1, 64: 1 + 1}[columns]
    return lines, 0.25 / lines


def clocks_by_counting(columns):
    """Counted for one warp, whose threads want one number of A and one of B each."""
    lanes = [divmod(thread, columns) for thread in range(32)]
    lines = len({i for i, _ in lanes}) + len({j // 32 for _, j in lanes})
    return lines, 1 / (4 * lines)


def tile_by_loop(m, n, shares):
    found = None
    for (high, wide), share in shares.items():
        useful = m * n / (-(-m // high) * high * (-(-n // wide) * wide))
        if found is None or share * useful > found[1]:
            found = (high, wide), share * useful
    return found


def tile_by_directions(m, n, shares):
    """The useful part of each direction by itself."""
    def expected(tile):
        high, wide = tile
        return shares[tile] * (m / (m + -m % high)) * (n / (n + -n % wide))
    best = max(shares, key=expected)
    return best, expected(best)


def limit_by_shares(clocks, instructions, path, issued):
    """The smaller of the two shares that the parts allow; the busier part is the limit."""
    most = min(0.25 / clocks if clocks else 2, 1 / instructions)
    part = "path" if clocks and 0.25 / clocks == most else "schedulers"
    return "waits" if (path if part == "path" else issued) < 0.85 else part, most


def wrong_limit(clocks, instructions, path, issued, tie="path", full=0.85, other=False):
    """The solution with one thing changed."""
    is_path = clocks > instructions / 4 or clocks == instructions / 4 and tie == "path"
    busy = path if is_path != other else issued
    part = "path" if is_path else "schedulers"
    return part if busy >= full else "waits", 0.25 / max(clocks, instructions / 4)


def some_scores(rng):
    m, n, k = (int(size) for size in rng.integers(1, 41, 3))
    return rng.standard_normal((m, k), np.float32), rng.standard_normal((n, k), np.float32)


def some_layer(rng):
    """One block, which takes as long for a few rows as for all."""
    m, gelu = int(rng.integers(1, 65)), int(rng.integers(0, 2))
    return (rng.standard_normal((m, 32), np.float32), rng.standard_normal((32, 32), np.float32),
            rng.standard_normal(32, np.float32), gelu)


INPUTS = {"scores": some_scores, "linear": some_layer}
RIGHT = {
    "scores": [SCORES, cp.RawKernel(SCORES, "scores")],
    "linear": [TURNED, FOURS, FOURS_PLAIN_BIAS],
    "naive_clocks": [clocks_by_counting, clocks_by_table],
    "best_tile": [tile_by_loop, tile_by_directions],
    "limit": [limit_by_shares],
}


WRONG = {
    "scores": [
        (SCORES_WITHOUT_TILES, "with tiles in shared memory"),
        (SCORES.replace("32 * 33", "32 * 32").replace("* 33", "* 32"), "bank conflicts"),
        (SCORES.replace("int k)", "long long k)"), "A launch does not convert arguments"),
        (SCORES.replace("row * n + column", "row * m + column"), "of the kernel scores"),
        (SCORES.replace("__global__ void scores", "/* YOUR CODE HERE */ __global__ void scores")
         .replace("row * n + column", "row * m + column"), "of the kernel scores"),
    ],
    "linear": [
        (fast_kernels.LINEAR.replace("first + tx + 8 * s", "first + 4 * tx + s")
         .replace("bs[q][tx + 8 * s]", "bs[q][4 * tx + s]"), "store of y takes 16"),
        (NO_REGISTERS, "take 32 wavefronts"),
        (ONE_BY_ONE, "let a block bring each of its numbers of x into shared memory once"),
        (fast_kernels.LINEAR.replace("as[64][33]", "as[64][32]"), "take 20 wavefronts"),
        (fast_kernels.LINEAR.replace("(p + warp + r) * n", "(p + warp + r) * k"),
         "values are wrong"),
        (fast_kernels.LINEAR.replace("i < m ?", "true ?"), "makes an access outside an array"),
        (TURNED.replace("        __syncthreads();\n        for (int q", "        for (int q"),
         "race"),
    ],
    "naive_clocks": [
        (lambda columns: 32 // min(columns, 32) + 1, "a tuple"),
        (lambda columns: (0.25 / (32 // min(columns, 32) + 1), 32 // min(columns, 32) + 1),
         "expected"),
        (lambda columns: (3, 1 / 12), "columns=32"),
        (lambda columns: (columns + 1, 0.25 / (columns + 1)), "expected"),
        (lambda columns: (32 // min(columns, 32) + 1, 25 / (32 // min(columns, 32) + 1)),
         "expected"),
        (lambda columns: (32 // min(columns, 32), 0.25 * min(columns, 32) / 32), "expected"),
    ],
    "best_tile": [
        (lambda m, n, shares: tile_by_loop(m, n, shares)[0], "expected"),
        (lambda m, n, shares: tile_by_loop(m, n, shares)[1], "a tuple"),
        (lambda m, n, shares: (tile_by_loop(m, n, shares)[0],
                               shares[tile_by_loop(m, n, shares)[0]]), "expected"),
        (lambda m, n, shares: ((128, 32), 0.37), "expected"),
        (lambda m, n, shares: max(
            ((tile, share * min(1, m / tile[0]) * min(1, n / tile[1]))
             for tile, share in shares.items()), key=lambda pair: pair[1]), "expected"),
        (lambda m, n, shares: min(
            ((tile, tile_by_loop(m, n, {tile: share})[1]) for tile, share in shares.items()),
            key=lambda pair: pair[1]), "expected"),
    ],
    "limit": [
        (lambda *seen: wrong_limit(*seen, tie="schedulers"), "clocks=0.5"),
        (lambda *seen: wrong_limit(*seen, full=0.9), "expected"),
        (lambda *seen: wrong_limit(*seen, full=0.850001), "expected"),
        (lambda *seen: wrong_limit(*seen, full=0.8), "expected"),
        (lambda *seen: wrong_limit(*seen, other=True), "expected"),
        (lambda clocks, instructions, path, issued: (
            "path" if path >= 0.85 else "schedulers" if issued >= 0.85 else "waits",
            0.25 / max(clocks, instructions / 4)), "expected"),
        (lambda clocks, instructions, path, issued: (
            wrong_limit(clocks, instructions, path, issued)[0],
            round(0.25 / max(clocks, instructions / 4), 2)), "expected"),
        (lambda *seen: wrong_limit(*seen)[0], "expected"),
    ],
}
