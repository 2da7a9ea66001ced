// y[i] = x[i] + x[i + 1], and 0 behind the end; blocks of 64 threads, for each a tile.
extern "C" __global__ void with_next(const float* x, float* y, int n) {
    __shared__ float tile[64];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    tile[t] = i < n ? x[i] : 0;
    __syncthreads();
    if (i < n) {
        y[i] = tile[t] + tile[t + 1];
    }
}
