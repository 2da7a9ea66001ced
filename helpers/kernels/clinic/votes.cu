// How often does each digit occur among n labels? One block; counts starts at 0.
extern "C" __global__ void votes(const int* labels, int* counts, int n) {
    __shared__ int mine[10];
    int t = threadIdx.x;
    if (t < 10) mine[t] = 0;
    __syncthreads();
    for (int i = t; i < n; i += blockDim.x) {
        mine[labels[i]]++;
    }
    __syncthreads();
    if (t < 10) counts[t] = mine[t];
}
