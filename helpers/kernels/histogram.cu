// Counts how often each of 256 values occurs in n int32s, given as n / 4 int4s. `counts` starts at
// zero. COPIES counters for each value stand side by side in shared memory, and a lane uses the one
// of its number modulo COPIES: with 32 of them each lane has a bank of its own, whatever the data.

#ifndef COPIES
#define COPIES 32
#endif
#ifndef LOADS
#define LOADS 4
#endif

extern "C" __global__ void histogram(const int4* x, int* counts, unsigned n) {
    __shared__ int mine[256][COPIES];
    for (int k = threadIdx.x; k < 256 * COPIES; k += blockDim.x) (&mine[0][0])[k] = 0;
    __syncthreads();

    int lane = threadIdx.x % COPIES;
    unsigned step = gridDim.x * blockDim.x;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += LOADS * step) {
        int4 v[LOADS];
        #pragma unroll
        for (int k = 0; k < LOADS; k++) if (i + k * step < n) v[k] = x[i + k * step];
        #pragma unroll
        for (int k = 0; k < LOADS; k++) {
            if (i + k * step < n) {
                atomicAdd(&mine[v[k].x][lane], 1);
                atomicAdd(&mine[v[k].y][lane], 1);
                atomicAdd(&mine[v[k].z][lane], 1);
                atomicAdd(&mine[v[k].w][lane], 1);
            }
        }
    }
    __syncthreads();

    for (int value = threadIdx.x; value < 256; value += blockDim.x) {
        int total = 0;
        for (int k = 0; k < COPIES; k++) total += mine[value][(k + threadIdx.x) % COPIES];
        if (total > 0) atomicAdd(&counts[value], total);
    }
}
