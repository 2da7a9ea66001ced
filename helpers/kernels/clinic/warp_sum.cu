// The sum of n floats, n at most 32, in one warp.
extern "C" __global__ void warp_sum(const float* x, float* sum, int n) {
    int lane = threadIdx.x;
    if (lane < n) {
        float v = x[lane];
        for (int step = 16; step > 0; step /= 2) {
            v += __shfl_down_sync(0xffffffffu, v, step);
        }
        if (lane == 0) *sum = v;
    }
}
