// A cross-shaped stencil of any radius up to 32: what the generated kernels are compared with.
// The weights lie in constant memory, `across` along the row, `down` along the column, each of
// 2 radius + 1 numbers. Zeros outside of the image; `columns` is a multiple of 4. A thread computes
// four neighbours: down the column it loads four at once, along the row it passes on what it has.
__constant__ float across[65], down[65];

__device__ float one(const float* row, int j, int columns) {
    return j < 0 || j >= columns ? 0 : row[j];
}

extern "C" __global__
void stencil(const float* __restrict__ x, float* __restrict__ y, int rows, int columns,
             int radius) {
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int j = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= rows || j >= columns) return;
    const float* row = x + (size_t)i * columns;
    float4 sum = make_float4(0, 0, 0, 0);
    for (int k = -radius; k <= radius; k++) {
        if (i + k < 0 || i + k >= rows) continue;
        float4 v = *(const float4*)(row + (long long)k * columns + j);
        float w = down[k + radius];
        sum.x += w * v.x;
        sum.y += w * v.y;
        sum.z += w * v.z;
        sum.w += w * v.w;
    }
    float a = one(row, j - radius, columns), b = one(row, j - radius + 1, columns);
    float c = one(row, j - radius + 2, columns);
    for (int k = -radius; k <= radius; k++) {
        float d = one(row, j + k + 3, columns), w = across[k + radius];
        sum.x += w * a;
        sum.y += w * b;
        sum.z += w * c;
        sum.w += w * d;
        a = b;
        b = c;
        c = d;
    }
    *(float4*)(y + (size_t)i * columns + j) = sum;
}
