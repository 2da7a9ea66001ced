"""Right answers besides the solution, and wrong ones that are no known mistake."""

import helpers

helpers.start()

import cupy as cp  # noqa: E402

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

RIGHT = {
    "transpose": [SWIZZLED, cp.RawKernel(SWIZZLED, "transpose")],
}

WRONG = {
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
