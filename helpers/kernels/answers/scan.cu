extern "C" __global__ void scan(const int* x, int* y, int n) {
    __shared__ int of_warp[32];
    int t = threadIdx.x, lane = t % 32, warps = blockDim.x / 32;
    int carried = 0;
    for (int first = 0; first < n; first += blockDim.x) {
        int i = first + t, v = i < n ? x[i] : 0;
        for (int step = 1; step < 32; step *= 2) {
            int before = __shfl_up_sync(0xffffffffu, v, step);
            if (lane >= step) v += before;
        }
        if (lane == 31) of_warp[t / 32] = v;
        __syncthreads();
        v += carried;
        for (int w = 0; w < warps; w++) {
            if (w < t / 32) v += of_warp[w];
            carried += of_warp[w];
        }
        if (i < n) y[i] = v;
        __syncthreads();
    }
}
