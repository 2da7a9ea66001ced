"""Right answers besides the solution, and wrong ones that are no known mistake."""

import helpers

helpers.start()

import cupy as cp  # noqa: E402
import numpy as np  # noqa: E402

from helpers import kernels  # noqa: E402


def sectors_by_bytes(first, step):
    """By the bytes that the lanes touch."""
    return len({4 * (first + lane * step) // 32 for lane in range(32)})


def sectors_by_counting(first, step):
    """Lane by lane: a new sector where the lane before was in another one."""
    ends = [(first + lane * step) // 8 for lane in range(32)]
    return 1 + sum(one != other for one, other in zip(ends, ends[1:]))


def apart_by_index(rows, columns):
    """Neighbours in a row of x, and in a column of y, whose rows have `rows` pixels."""
    return 4, 4 * rows


def apart_by_strides(rows, columns):
    """By the strides of arrays like these."""
    x, y = np.empty((rows, columns), np.float32), np.empty((columns, rows), np.float32)
    return x.strides[1], y.strides[0]


# No padding: element (i, j) of the tile lies in column i ^ j, which is another bank for each row.
SWIZZLED = r"""
extern "C" __global__ void transpose(const float* x, float* y, int rows, int columns) {
    __shared__ float tile[32][32];
    const int tx = threadIdx.x, table = blockIdx.z * rows * columns;
    for (int r = threadIdx.y; r < 32; r += blockDim.y) {
        int i = 32 * blockIdx.y + r, j = 32 * blockIdx.x + tx;
        if (i < rows && j < columns) tile[r][tx ^ r] = x[table + i * columns + j];
    }
    __syncthreads();
    for (int r = threadIdx.y; r < 32; r += blockDim.y) {
        int i = 32 * blockIdx.x + r, j = 32 * blockIdx.y + tx;
        if (i < columns && j < rows) y[table + i * rows + j] = tile[tx][r ^ tx];
    }
}
"""

NAIVE = r"""
extern "C" __global__ void transpose(const float* x, float* y, int rows, int columns) {
    int table = blockIdx.z * rows * columns, j = 32 * blockIdx.x + threadIdx.x;
    for (int k = 0; k < 32; k += 8) {
        int i = 32 * blockIdx.y + threadIdx.y + k;
        if (i < rows && j < columns) y[table + j * rows + i] = x[table + i * columns + j];
    }
}
"""

# The image lies in shared memory, a plane of 10 x 10 pixels for each of at most 40 channels.
PLANES = r"""
extern "C" __global__ void convolution(const float* x, const float* w, float* y, int channels) {
    __shared__ float tile[40][101];
    int o = threadIdx.x, i = threadIdx.y;
    for (int k = 32 * i + o; k < 100 * channels; k += 256) {
        int c = k % channels, p = k / channels, row = p / 10 - 1, column = p % 10 - 1;
        bool inside = row >= 0 && row < 8 && column >= 0 && column < 8;
        const float* image = x + blockIdx.x * 64 * channels;
        tile[c][p] = inside ? image[(8 * row + column) * channels + c] : 0.0f;
    }
    __syncthreads();
    float sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    for (int c = 0; c < channels; c++)
        for (int q = 0; q < 9; q++) {
            float weight = w[(9 * c + q) * 32 + o];
            for (int j = 0; j < 8; j++) sum[j] += weight * tile[c][10 * (i + q / 3) + j + q % 3];
        }
    for (int j = 0; j < 8; j++) y[((blockIdx.x * 8 + i) * 8 + j) * 32 + o] = sum[j];
}
"""

# The lesson's kernel: one sum after the other.
ONE_BY_ONE = r"""
extern "C" __global__ void convolution(const float* x, const float* w, float* y, int channels) {
    int o = threadIdx.x, i = threadIdx.y;
    x += blockIdx.x * 64 * channels;
    for (int j = 0; j < 8; j++) {
        float sum = 0;
        for (int k = 0; k < 9 * channels; k++) {
            int row = i + k % 9 / 3 - 1, column = j + k % 3 - 1;
            if (row >= 0 && row < 8 && column >= 0 && column < 8)
                sum += x[(8 * row + column) * channels + k / 9] * w[k * 32 + o];
        }
        y[((blockIdx.x * 8 + i) * 8 + j) * 32 + o] = sum;
    }
}
"""
CONVOLUTION = kernels.source("convolution")

RIGHT = {
    "sectors": [sectors_by_bytes, sectors_by_counting],
    "apart": [apart_by_index, apart_by_strides],
    "convolution": [PLANES, cp.RawKernel(PLANES, "convolution")],
    "transpose": [SWIZZLED, cp.RawKernel(SWIZZLED, "transpose")],
}

WRONG = {
    "sectors": [
        (lambda first, step: min(4 * step, 32), "expected 5, got 4"),
        (lambda first, step: -(-(first + 31 * step + 1) // 8), "expected 4, got 5"),
    ],
    "apart": [(lambda rows, columns: (4, rows), "expected"), (lambda rows, columns: 4 * rows, "")],
    "convolution": [
        (ONE_BY_ONE, "a warp loads each weight"),
        (PLANES.replace("    __syncthreads();\n", ""), "race"),
        (PLANES.replace("int k = 32 * i + o", "int k = o"), "nobody has written"),
        (PLANES.replace("q % 3", "0"), "values are wrong"),
        (CONVOLUTION.replace("* 32 + o] = sum", "+ 64 * o] = sum"), "values are wrong"),
        (CONVOLUTION.replace("float sum[8] = {0, 0, 0, 0, 0, 0, 0, 0}", "float sum[8]"), ""),
        (CONVOLUTION.replace("float sum[8]", "double sum[8]"), "`double` in the source"),
        (CONVOLUTION.replace("int o = threadIdx.x, i = threadIdx.y",
                             "int o = 8 * (threadIdx.x % 4) + threadIdx.y, i = threadIdx.x / 4"),
         "sectors where"),
        (CONVOLUTION.replace("(row < 0 || row > 7)", "(row < 0)"), "outside"),
    ],
    "transpose": [
        (NAIVE, "sectors where 4.0 would do"),
        (SWIZZLED.replace("tx ^ r", "tx").replace("r ^ tx", "r"), "32.0 wavefronts (bank"),
        (SWIZZLED.replace("[32][32]", "[16][32]"), "outside a shared array"),
        (SWIZZLED.replace("z * rows * columns", "z * gridDim.x * gridDim.y * 1024"),
         "values are right, but"),
        (SWIZZLED.replace("int rows, int columns", "int rows"), "your transpose takes"),
        (SWIZZLED.replace("    }\n    __syncthreads", "    __syncthreads"), "a `}` is missing"),
        (SWIZZLED[:SWIZZLED.index("    __syncthreads")] + "    // YOUR CODE HERE\n}",
         "a result that the kernel never writes"),
        (SWIZZLED.replace("if (i < columns && j < rows) ", ""), "no guard where y is written"),
        (SWIZZLED.replace("= x[", "= 0 * x[table + i * columns + j] + ((volatile const float*)x)["),
         "where 12,288 would do"),
    ],
}


def random_tables(rng):
    return (rng.standard_normal([*rng.integers(1, 3, 1), *rng.integers(1, 70, 2)], np.float32),)


def random_images(rng):
    n, channels = rng.integers(1, 3, 2)
    return (rng.standard_normal((n, 8, 8, channels), np.float32),
            rng.standard_normal((9 * channels, 32), np.float32))


INPUTS = {"transpose": random_tables, "convolution": random_images}
