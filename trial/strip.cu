// A thread computes RY rows of one column. Block: BN x (BM / RY) threads.
#ifndef BM
#define BM 64
#endif
#ifndef BN
#define BN 64
#endif
#ifndef BK
#define BK 8
#endif
#ifndef RY
#define RY 8
#endif
#define THREADS (BM / RY * BN)
extern "C" __global__ void strip(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ __align__(16) float as[BM][BK];
    __shared__ float bs[BK][BN];
    int t = threadIdx.x, x = t % BN, y = t / BN * RY;
    int i0 = blockIdx.y * BM, j0 = blockIdx.x * BN;
    float sum[RY] = {};
    for (int p = 0; p < k; p += BK) {
        for (int e = t; e < BM * BK; e += THREADS) {
            int i = i0 + e / BK, q = p + e % BK;
            as[e / BK][e % BK] = i < m && q < k ? a[i * k + q] : 0;
        }
        for (int e = t; e < BK * BN; e += THREADS) {
            int q = p + e / BN, j = j0 + e % BN;
            bs[e / BN][e % BN] = q < k && j < n ? b[q * n + j] : 0;
        }
        __syncthreads();
        #pragma unroll
        for (int q = 0; q < BK; q++) {
            float v = bs[q][x];
            #pragma unroll
            for (int i = 0; i < RY; i++) sum[i] += as[y + i][q] * v;
        }
        __syncthreads();
    }
    #pragma unroll
    for (int i = 0; i < RY; i++)
        if (i0 + y + i < m && j0 + x < n) c[(i0 + y + i) * n + j0 + x] = sum[i];
}
