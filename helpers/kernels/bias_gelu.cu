// GELU(x + bias) for rows of `columns` floats, in one pass (the tanh form: arXiv 1606.08415).
// x and y count float4s: 16 bytes a load keep enough of memory in flight. `columns` is a multiple
// of 4, so that a float4 never spans two rows; start and length of x are multiples of 16 bytes.

__device__ __forceinline__ float gelu(float z) {
    // 0.5 * (1 + tanh(u)) is 1 / (1 + exp(-2 * u)): one exponential and one division.
    float u2 = 1.5957691216057308f * z * (1.0f + 0.044715f * z * z);
    return __fdividef(z, 1.0f + __expf(-u2));
}

extern "C" __global__ void bias_gelu(const float4* __restrict__ x, const float4* __restrict__ bias,
                                     float4* __restrict__ y, unsigned columns, unsigned n) {
    unsigned step = gridDim.x * blockDim.x, quads = columns / 4;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        float4 v = x[i], b = bias[i % quads];
        y[i] = make_float4(gelu(v.x + b.x), gelu(v.y + b.y), gelu(v.z + b.z), gelu(v.w + b.w));
    }
}
