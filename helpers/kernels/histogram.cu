// Counts how often each of 256 values occurs in n int32s, given as n / 4 int4s. `counts` starts at
// zero. Each block counts in shared memory, with LOADS loads of 16 bytes a thread under way, and
// adds what it has to `counts` once at the end.

#ifndef LOADS
#define LOADS 4
#endif

extern "C" __global__ void histogram(const int4* x, int* counts, unsigned n) {  // n int4s
    __shared__ int mine[256];
    for (int k = threadIdx.x; k < 256; k += blockDim.x) mine[k] = 0;
    __syncthreads();

    unsigned step = gridDim.x * blockDim.x;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += LOADS * step) {
        int4 v[LOADS];
        #pragma unroll
        for (int k = 0; k < LOADS; k++) {
            if (i + k * step < n) v[k] = x[i + k * step];
        }
        #pragma unroll
        for (int k = 0; k < LOADS; k++) {
            if (i + k * step < n) {
                atomicAdd(&mine[v[k].x], 1);
                atomicAdd(&mine[v[k].y], 1);
                atomicAdd(&mine[v[k].z], 1);
                atomicAdd(&mine[v[k].w], 1);
            }
        }
    }
    __syncthreads();

    for (int k = threadIdx.x; k < 256; k += blockDim.x) {
        if (mine[k] > 0) atomicAdd(&counts[k], mine[k]);
    }
}
