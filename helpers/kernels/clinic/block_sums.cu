// The sum of each 64 floats of x. The last warp needs no barrier, does it?
extern "C" __global__ void block_sums(const float* x, float* sums) {
    __shared__ float tile[64];
    int t = threadIdx.x;
    tile[t] = x[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (int step = 32; step > 0; step /= 2) {
        if (t < step) tile[t] += tile[t + step];
    }
    if (t == 0) sums[blockIdx.x] = tile[0];
}
