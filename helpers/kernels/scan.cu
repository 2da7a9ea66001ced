// Running sums of n ints in one launch, by decoupled look-back (Merrill and Garland, 2016). Launch:
// blocks of 256 threads, one for each tile of 4096 numbers. `next` and all of `state` start at 0.
// `sums` has the sum of each tile (state 1), `ends` that of all tiles up to its end (state 2).

__device__ int warp_scan(int v) {
    for (int step = 1; step < 32; step *= 2) {
        int before = __shfl_up_sync(0xffffffff, v, step);
        if (threadIdx.x % 32 >= step) v += before;
    }
    return v;
}

extern "C" __global__ void scan(const int* x, int* y, int* next, int* state, int* sums,
                                int* ends, int n) {
    __shared__ int of_warp[8], tile, before_tile;
    if (threadIdx.x == 0) tile = atomicAdd(next, 1);  // the next free tile
    __syncthreads();
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, v[16], carried = 0;
    int first = tile * 4096 + warp * 512 + lane;
    for (int k = 0; k < 16; k++) {
        int i = first + 32 * k;
        v[k] = warp_scan(i < n ? x[i] : 0) + carried;
        carried = __shfl_sync(0xffffffff, v[k], 31);
    }
    if (lane == 0) of_warp[warp] = carried;
    __syncthreads();
    if (threadIdx.x == 0) {
        int sum = 0, before = 0, seen = 0;
        for (int w = 0; w < 8; w++) sum += of_warp[w];
        sums[tile] = sum;
        __threadfence();  // the sum becomes visible before its state
        atomicExch(&state[tile], 1);
        for (int t = tile - 1; t >= 0 && seen != 2; t--) {
            do { seen = atomicAdd(&state[t], 0); } while (seen == 0);
            __threadfence();  // the state is read before its number
            if (seen == 2) before += ends[t];
            else before += sums[t];
        }
        ends[tile] = before + sum;
        __threadfence();  // the end becomes visible before its state
        atomicExch(&state[tile], 2);
        before_tile = before;
    }
    __syncthreads();
    int before = before_tile;
    for (int w = 0; w < warp; w++) before += of_warp[w];
    for (int k = 0; k < 16; k++) {
        if (first + 32 * k < n) y[first + 32 * k] = v[k] + before;
    }
}
