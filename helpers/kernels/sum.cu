// The sum of n floats, given as n / 4 float4s, in two launches: one partial sum for each block,
// then one block for the partial sums. Each thread has LOADS loads of 16 bytes under way at once.

#ifndef LOADS
#define LOADS 4
#endif

__device__ float warp_sum(float v) {  // the sum over the warp, in lane 0
    for (int step = 16; step > 0; step /= 2) {
        v += __shfl_down_sync(0xffffffffu, v, step);
    }
    return v;
}

__device__ float block_sum(float v) {  // the sum over the block, in thread 0
    __shared__ float of_warp[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    v = warp_sum(v);
    if (lane == 0) of_warp[warp] = v;
    __syncthreads();
    v = threadIdx.x < blockDim.x / 32 ? of_warp[lane] : 0.0f;
    return warp == 0 ? warp_sum(v) : 0.0f;
}

extern "C" __global__ void sum(const float4* x, float* partial, unsigned n) {  // n float4s
    unsigned step = gridDim.x * blockDim.x;
    float total = 0.0f;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += LOADS * step) {
        float4 v[LOADS];
        #pragma unroll
        for (int k = 0; k < LOADS; k++) {
            unsigned j = i + k * step;
            v[k] = j < n ? x[j] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        }
        #pragma unroll
        for (int k = 0; k < LOADS; k++) total += (v[k].x + v[k].y) + (v[k].z + v[k].w);
    }
    total = block_sum(total);
    if (threadIdx.x == 0) partial[blockIdx.x] = total;
}
