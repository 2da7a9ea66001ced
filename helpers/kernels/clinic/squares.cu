// y = x * x for n floats.
extern "C" __global__ void squares(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) {
        y[i] = x[i] * x[i];
    }
}
