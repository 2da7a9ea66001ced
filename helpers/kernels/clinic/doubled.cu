// y = 2 * x for 4 n floats, four at a time. Here x is the view whole[1:].
extern "C" __global__ void doubled(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 v = ((const float4*)x)[i];
        v.x *= 2, v.y *= 2, v.z *= 2, v.w *= 2;
        ((float4*)y)[i] = v;
    }
}
