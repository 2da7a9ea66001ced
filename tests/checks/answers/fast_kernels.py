"""Right answers besides the solution, and wrong ones that are no known mistake."""

import helpers

helpers.start()

import cupy as cp  # noqa: E402

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
# One pass for maximum and sum together: the sum is rescaled when the maximum grows.
ONLINE = r"""
extern "C" __global__ void softmax(const float* x, float* y, int rows, int columns) {
    int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x & 31;
    if (row < rows) {
        const float* from = x + row * columns;
        float m = -3.4e38f, s = 0;
        for (int j = lane; j < columns; j += 32) {
            float larger = fmaxf(m, from[j]);
            s = s * expf(m - larger) + expf(from[j] - larger);
            m = larger;
        }
        for (int step = 1; step < 32; step *= 2) {
            float other = __shfl_xor_sync(0xffffffff, m, step);
            float sum = __shfl_xor_sync(0xffffffff, s, step), larger = fmaxf(m, other);
            s = s * expf(m - larger) + sum * expf(other - larger);
            m = larger;
        }
        for (int j = lane; j < columns; j += 32) y[row * columns + j] = expf(from[j] - m) / s;
    }
}
"""
ONE_THREAD = r"""
extern "C" __global__ void softmax(const float* x, float* y, int rows, int columns) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (row >= rows || threadIdx.x % 32) return;
    float top = -3.4e38f, sum = 0;
    for (int j = 0; j < columns; j++) top = fmaxf(top, x[row * columns + j]);
    for (int j = 0; j < columns; j++) sum += expf(x[row * columns + j] - top);
    for (int j = 0; j < columns; j++) y[row * columns + j] = expf(x[row * columns + j] - top) / sum;
}
"""
IN_SHARED = r"""
extern "C" __global__ void softmax(const float* x, float* y, int rows, int columns) {
    __shared__ float part[128];
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float top = -3.4e38f, sum = 0;
    if (row < rows) for (int j = lane; j < columns; j += 32) top = fmaxf(top, x[row * columns + j]);
    part[threadIdx.x] = top;
    __syncthreads();
    for (int l = 0; l < 32; l++) top = fmaxf(top, part[threadIdx.x - lane + l]);
    if (row >= rows) return;
    for (int j = 0; j < columns; j++) sum += expf(x[row * columns + j] - top);
    for (int j = lane; j < columns; j += 32)
        y[row * columns + j] = expf(x[row * columns + j] - top) / sum;
}
"""
_HEAD = r"""
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
"""
# Neighbouring rows and columns of a thread.
NEIGHBOURS = _HEAD + r"""
        for (int q = 0; q < 16; q++) {
            float4 r = *(float4*)&bs[q][4 * x];
            for (int i = 0; i < 4; i++) {
                float l = as[4 * y + i][q];
                sum[i][0] += l * r.x; sum[i][1] += l * r.y;
                sum[i][2] += l * r.z; sum[i][3] += l * r.w;
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < 4 && top + 4 * y + i < m; i++)
        for (int j = 0; j < 4 && left + 4 * x + j < n; j++)
            c[(top + 4 * y + i) * n + left + 4 * x + j] = sum[i][j];
}
"""
NEIGHBOURS = NEIGHBOURS.replace("as[64][16], bs[16][64]", "as[64][16]; __shared__ __align__(16)"
                                                          " float bs[16][64]")
NO_REGISTERS = _HEAD + r"""
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++)
                for (int q = 0; q < 16; q++) sum[i][j] += as[y + 16 * i][q] * bs[q][x + 16 * j];
        __syncthreads();
    }
    for (int e = 0; e < 16; e++) {
        int row = top + y + e / 4 * 16, column = left + x + e % 4 * 16;
        if (row < m && column < n) c[row * n + column] = sum[e / 4][e % 4];
    }
}
"""
COPY4 = r"""
extern "C" __global__ void copy4(const float* __restrict__ x, float* __restrict__ y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, whole = n & ~3;
    if (i < n - whole) y[whole + i] = x[whole + i];
    if (gridDim.x * blockDim.x < 3 && i == 0)
        for (int j = whole; j < n; j++) y[j] = x[j];
    for (i *= 4; i < whole; i += 4 * gridDim.x * blockDim.x)
        *(float4*)(y + i) = *(const float4*)(x + i);
}
"""
COPY1 = r"""
extern "C" __global__ void copy4(const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = x[i];
}
"""


def sectors_by_table(m, n, k, columns):
    each = {1: 33, 2: 17, 4: 9, 8: 5, 16: 4, 32: 5, 64: 5}
    return m * n * k // 32 * each[columns]


def half_done(m, n, k, columns):
    if columns > 32:
        raise NotImplementedError()
    return sectors_by_table(m, n, k, columns)


RIGHT = {
    "scores": [SCORES, cp.RawKernel(SCORES, "scores")],
    "softmax": [ONLINE],
    "register_tile": [NEIGHBOURS],
    "copy4": [COPY4],
    "naive_sectors": [sectors_by_table],
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
    "softmax": [
        (ONE_THREAD, "32 neighbours at a time"),
        (IN_SHARED, "by shuffles alone"),
        (ONLINE.replace("row < rows", "row <= rows"), "an access outside an array"),
        (ONLINE.replace("0xffffffff, s", "0xffffffff s"), "does not compile"),
        (fast_kernels.SOFTMAX.replace("-3.4e38f", "-INFINITY"), "write 3.4e38f"),
        (fast_kernels.SOFTMAX.replace("    float top", "    __shared__ float unused[32];\n"
                                      "    float top"), "__shared__ is not needed"),
        (fast_kernels.SOFTMAX.replace("expf", "__expf"), "a rough approximation"),
        (fast_kernels.SOFTMAX.replace("/ sum;", "/ sum, ((float*)x)[j] = 0;"),
         "changed one of its inputs"),
    ],
    "register_tile": [
        (NO_REGISTERS, "each warp loads 32 times"),
        (NEIGHBOURS.replace("top + 4 * y + i < m", "i < m"), "an access outside an array"),
        (_HEAD + "        for (int q = 0; q < 16; q++) sum[0][0] += as[y][q] * bs[q][x];\n}\n",
         "a `}` is missing"),
    ],
    "copy4": [
        (COPY1, "with 16 bytes a lane"),
        (fast_kernels.COPY4[:fast_kernels.COPY4.rindex("    for")]
         + "    if (i < n % 4) y[n / 4 * 4 + i] = x[n / 4 * 4 + i];\n}", "grid=(1,), block=(2,)"),
        (COPY4.replace("(x + i)", "(x + 1)"), "misaligned"),
        (fast_kernels.COPY4.replace("j < n / 4;", "j <= n / 4;"), "beyond the last whole one"),
    ],
    "naive_sectors": [
        (lambda m, n, k, columns: 0, "expected"),
        (half_done, "it raised NotImplementedError"),
        (lambda m, n, k, columns: m * n * k // 32 * 5, "columns=16"),
        (sectors_by_loop, "it loops in Python"),
    ],
}
