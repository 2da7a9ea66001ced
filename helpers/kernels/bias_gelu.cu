// GELU(x + bias) for rows of `columns` floats, in one pass (the tanh form: arXiv 1606.08415).
// x, bias and y are read and written as float4s, 16 bytes at a time, so that a thread keeps four
// times as much of memory busy. Start and length of each array are multiples of 16 bytes, and
// `columns` is a multiple of 4: a float4 never spans two rows. `n` counts the float4s of x.

__device__ float gelu(float z) {
    return 0.5f * z * (1.0f + tanhf(0.7978845608f * (z + 0.044715f * z * z * z)));
}

extern "C" __global__ void bias_gelu(const float4* x, const float4* bias, float4* y,
                                     unsigned columns, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 v = x[i], b = bias[i % (columns / 4)];
        y[i] = make_float4(gelu(v.x + b.x), gelu(v.y + b.y), gelu(v.z + b.z), gelu(v.w + b.w));
    }
}
