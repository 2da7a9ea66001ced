// A cross-shaped stencil of any radius up to 32: what the generated kernels are compared with.
// The weights lie in constant memory, `across` along the row, `down` along the column, each of
// 2 radius + 1 numbers. Zeros outside of the image.
__constant__ float across[65], down[65];

extern "C" __global__
void stencil(const float* __restrict__ x, float* __restrict__ y, int rows, int columns,
             int radius) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows || j >= columns) return;
    const float* here = x + (size_t)i * columns + j;
    float sum = 0;
    for (int k = -radius; k <= radius; k++) {
        if (j + k >= 0 && j + k < columns) sum += across[k + radius] * here[k];
        if (i + k >= 0 && i + k < rows) sum += down[k + radius] * here[(long long)k * columns];
    }
    y[(size_t)i * columns + j] = sum;
}
