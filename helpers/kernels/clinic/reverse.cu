// Reverses each 64 floats of x.
extern "C" __global__ void reverse(const float* x, float* y) {
    __shared__ float tile[64];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    tile[t] = x[i];
    y[i] = tile[63 - t];
}
