// Reverses each 64 floats of x; the last block has fewer.
extern "C" __global__ void reverse_all(const float* x, float* y, int n) {
    __shared__ float tile[64];
    int t = threadIdx.x, first = blockIdx.x * blockDim.x;
    int count = min(64, n - first);
    if (t < count) {
        tile[t] = x[first + t];
        __syncthreads();
        y[first + t] = tile[count - 1 - t];
    } else {
        __syncthreads();
    }
}
