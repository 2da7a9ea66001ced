// The largest number of each row of n numbers, n at least 1: a block of 96 threads for each row.
extern "C" __global__ void brightest(const float* x, float* y, int n) {
    __shared__ float tile[96];
    int t = threadIdx.x, first = blockIdx.x * n;
    float best = x[first];
    for (int i = t; i < n; i += 96) best = fmaxf(best, x[first + i]);
    tile[t] = best;
    __syncthreads();
    for (int step = 48; step > 0; step /= 2) {
        if (t < step) tile[t] = fmaxf(tile[t], tile[t + step]);
        __syncthreads();
    }
    if (t == 0) y[blockIdx.x] = tile[0];
}
