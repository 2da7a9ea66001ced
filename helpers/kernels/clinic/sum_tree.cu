// The sum of each 64 floats of x.
extern "C" __global__ void sum_tree(const float* x, float* sums) {
    __shared__ float tile[64];
    int t = threadIdx.x;
    tile[t] = x[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (int step = 32; step > 0; step /= 2) {
        if (t < step) {
            tile[t] += tile[t + step];
            __syncthreads();
        }
    }
    __syncthreads();
    if (t == 0) sums[blockIdx.x] = tile[0];
}
