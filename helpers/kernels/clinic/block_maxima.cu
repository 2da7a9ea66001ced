// The largest of each 64 floats of x; the last block has fewer.
extern "C" __global__ void block_maxima(const float* x, float* largest, int n) {
    __shared__ float tile[64];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (i < n) {
        tile[t] = x[i];
    }
    __syncthreads();
    for (int step = 32; step > 0; step /= 2) {
        if (t < step) tile[t] = fmaxf(tile[t], tile[t + step]);
        __syncthreads();
    }
    if (t == 0) largest[blockIdx.x] = tile[0];
}
