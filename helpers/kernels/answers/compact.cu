extern "C" __global__
void compact(const float* x, const bool* mask, const int* ends, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        if (mask[i]) y[ends[i] - 1] = x[i];
}
