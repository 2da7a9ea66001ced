// trial: W private histograms a block, chosen by warp
#ifndef W
#define W 8
#endif
#ifndef LOADS
#define LOADS 4
#endif
extern "C" __global__ void histogram(const int4* x, int* counts, unsigned n) {
    __shared__ int h[W * 257];
    for (int k = threadIdx.x; k < W * 257; k += blockDim.x) h[k] = 0;
    __syncthreads();
    int* mine = h + 257 * ((threadIdx.x / 32) % W);
    unsigned step = gridDim.x * blockDim.x;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += LOADS * step) {
        int4 v[LOADS];
        #pragma unroll
        for (int k = 0; k < LOADS; k++) if (i + k * step < n) v[k] = x[i + k * step];
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
    for (int value = threadIdx.x; value < 256; value += blockDim.x) {
        int total = 0;
        for (int k = 0; k < W; k++) total += h[k * 257 + value];
        if (total > 0) atomicAdd(&counts[value], total);
    }
}
