#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef THREADS
#define THREADS 256
#endif
#ifndef ITEMS
#define ITEMS 4
#endif
__device__ float warp_max(float v) { for (int s = 16; s; s /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, s)); return v; }
__device__ float warp_sum(float v) { for (int s = 16; s; s /= 2) v += __shfl_xor_sync(~0u, v, s); return v; }
__device__ float block_max(float v) {
    __shared__ float part[32];
    int warps = blockDim.x / 32;
    v = warp_max(v);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    v = threadIdx.x % 32 < warps ? part[threadIdx.x % 32] : -INFINITY;
    return warp_max(v);
}
__device__ float block_sum(float v) {
    __shared__ float part[32];
    int warps = blockDim.x / 32;
    v = warp_sum(v);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    v = threadIdx.x % 32 < warps ? part[threadIdx.x % 32] : 0;
    return warp_sum(v);
}
// three passes, any number of columns
extern "C" __global__ void softmax3(const float* x, float* y, int columns) {
    x += (size_t)blockIdx.x * columns; y += (size_t)blockIdx.x * columns;
    float m = -INFINITY, s = 0;
    for (int j = threadIdx.x; j < columns; j += blockDim.x) m = fmaxf(m, x[j]);
    m = block_max(m);
    for (int j = threadIdx.x; j < columns; j += blockDim.x) s += expf(x[j] - m);
    s = block_sum(s);
    for (int j = threadIdx.x; j < columns; j += blockDim.x) y[j] = expf(x[j] - m) / s;
}
// one warp a row, three passes
extern "C" __global__ void softmaxw(const float* x, float* y, int rows, int columns) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    x += (size_t)row * columns; y += (size_t)row * columns;
    float m = -INFINITY, s = 0;
    for (int j = lane; j < columns; j += 32) m = fmaxf(m, x[j]);
    m = warp_max(m);
    for (int j = lane; j < columns; j += 32) s += expf(x[j] - m);
    s = warp_sum(s);
    for (int j = lane; j < columns; j += 32) y[j] = expf(x[j] - m) / s;
}
// the row stays in registers: columns <= 4 * ITEMS * THREADS, a multiple of 4
extern "C" __global__ void __launch_bounds__(THREADS) softmax4(const float4* x, float4* y, int columns) {
    int row4 = columns / 4;
    x += (size_t)blockIdx.x * row4; y += (size_t)blockIdx.x * row4;
    float4 v[ITEMS];
    float m = -INFINITY, s = 0;
    #pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        int j = threadIdx.x + i * THREADS;
        v[i] = j < row4 ? x[j] : make_float4(-INFINITY, -INFINITY, -INFINITY, -INFINITY);
    }
    #pragma unroll
    for (int i = 0; i < ITEMS; i++)
        m = fmaxf(m, fmaxf(fmaxf(v[i].x, v[i].y), fmaxf(v[i].z, v[i].w)));
    m = block_max(m);
    #pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        v[i] = make_float4(EXP(v[i].x - m), EXP(v[i].y - m), EXP(v[i].z - m), EXP(v[i].w - m));
        s += v[i].x + v[i].y + v[i].z + v[i].w;
    }
    s = 1 / block_sum(s);
    #pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        int j = threadIdx.x + i * THREADS;
        if (j < row4) y[j] = make_float4(v[i].x * s, v[i].y * s, v[i].z * s, v[i].w * s);
    }
}
