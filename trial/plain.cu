#ifndef TILE
#define TILE 32
#endif
extern "C" __global__ void naive(const float* a, const float* b, float* c, int m, int n, int k) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < m && j < n) {
        float sum = 0;
        for (int p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + j];
        c[i * n + j] = sum;
    }
}
extern "C" __global__ void tiled(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    int y = threadIdx.y, x = threadIdx.x;
    int i = blockIdx.y * TILE + y, j = blockIdx.x * TILE + x;
    float sum = 0;
    for (int p = 0; p < k; p += TILE) {
        as[y][x] = i < m && p + x < k ? a[i * k + p + x] : 0;
        bs[y][x] = p + y < k && j < n ? b[(p + y) * n + j] : 0;
        __syncthreads();
        for (int q = 0; q < TILE; q++) sum += as[y][q] * bs[q][x];
        __syncthreads();
    }
    if (i < m && j < n) c[i * n + j] = sum;
}
