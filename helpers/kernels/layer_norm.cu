// Layer norm of rows of 32 floats: mean 0 and variance 1 in each row, then a scale and a shift for
// each column. A warp has a row, one float a lane, so x is read once and y written once. Launch:
// blocks of 32 x ROWS threads, and rows / ROWS of them, rounded up.

__device__ float warp_sum(float v) {  // the sum over the warp, in all of its lanes
    for (int step = 16; step > 0; step /= 2) {
        v += __shfl_xor_sync(0xffffffff, v, step);
    }
    return v;
}

extern "C" __global__ void layer_norm(const float* x, const float* scale, const float* shift,
                                      float* y, int rows) {
    int row = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
    if (row < rows) {
        float v = x[row * 32 + lane];
        float centred = v - warp_sum(v) / 32;
        float variance = warp_sum(centred * centred) / 32;
        y[row * 32 + lane] = centred / sqrtf(variance + 1e-5f) * scale[lane] + shift[lane];
    }
}
