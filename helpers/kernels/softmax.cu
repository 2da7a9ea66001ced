// Softmax of each row of a table of floats, read once and written once: a block of 256 threads has
// a row of up to 4096 columns in registers, 16 of each thread. `columns` is a multiple of 4, and
// the arrays begin at multiples of 16 bytes. Launch: as many blocks as rows.

#define THREADS 256
#define LOADS 4   // float4s of a thread
#define NOTHING (-3.4e38f)

// == one for the block
struct Max { static __device__ float join(float a, float b) { return fmaxf(a, b); } };
struct Sum { static __device__ float join(float a, float b) { return a + b; } };

template <typename How>
__device__ float joined(float value, float* of_warps) {
    for (int step = 16; step > 0; step /= 2)
        value = How::join(value, __shfl_xor_sync(0xffffffff, value, step));
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
    __syncthreads();
    value = of_warps[0];
    for (int warp = 1; warp < THREADS / 32; warp++) value = How::join(value, of_warps[warp]);
    return value;
}

// == softmax
extern "C" __global__ void __launch_bounds__(THREADS)
softmax(const float4* x, float4* y, int columns) {
    __shared__ float maxima[THREADS / 32], sums[THREADS / 32];
    int n = columns / 4;
    x += (long long)blockIdx.x * n;
    y += (long long)blockIdx.x * n;
    float4 v[LOADS];
    float top = NOTHING, sum = 0;
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
        int j = threadIdx.x + i * THREADS;
        v[i] = j < n ? x[j] : make_float4(NOTHING, NOTHING, NOTHING, NOTHING);
        top = fmaxf(top, fmaxf(fmaxf(v[i].x, v[i].y), fmaxf(v[i].z, v[i].w)));
    }
    top = joined<Max>(top, maxima);
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
        v[i] = make_float4(expf(v[i].x - top), expf(v[i].y - top), expf(v[i].z - top),
                           expf(v[i].w - top));
        sum += v[i].x + v[i].y + v[i].z + v[i].w;
    }
    float scale = 1 / joined<Sum>(sum, sums);
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
        int j = threadIdx.x + i * THREADS;
        if (j < n) y[j] = make_float4(v[i].x * scale, v[i].y * scale, v[i].z * scale,
                                      v[i].w * scale);
    }
}
