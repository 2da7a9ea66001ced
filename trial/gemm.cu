// Variants by macros: BK, WARPS_M, WARPS_N, TM, TN, LR, LC, BUFFERS
#ifndef BK
#define BK 8
#endif
#ifndef WARPS_M
#define WARPS_M 4
#endif
#ifndef WARPS_N
#define WARPS_N 2
#endif
#ifndef TM
#define TM 8
#endif
#ifndef TN
#define TN 8
#endif
#ifndef LR
#define LR 4
#endif
#define LC (32 / LR)
#define WM (LR * TM)
#define WN (LC * TN)
#define BM (WARPS_M * WM)
#define BN (WARPS_N * WN)
#define THREADS (32 * WARPS_M * WARPS_N)
#define A_LOADS (BM * BK / 4 / THREADS)
#define B_LOADS (BN * BK / 4 / THREADS)
#ifndef BUFFERS
#define BUFFERS 2
#endif
#ifndef MINBLOCKS
#define MINBLOCKS 1
#endif
#define F4(x) (*reinterpret_cast<float4*>(&(x)))
#define CF4(x) (*reinterpret_cast<const float4*>(&(x)))

extern "C" __global__ void __launch_bounds__(THREADS, MINBLOCKS)
gemm(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int n, int k) {
    __shared__ __align__(16) float as[BUFFERS][BK][BM + 4];
    __shared__ __align__(16) float bs[BUFFERS][BK][BN];
    int t = threadIdx.x, warp = t / 32, lane = t % 32;
    int row0 = (warp / WARPS_N) * WM + (lane / LC) * 4, col0 = (warp % WARPS_N) * WN + (lane % LC) * 4;
    a += (size_t)blockIdx.y * BM * k;
    b += blockIdx.x * BN;
    float4 ra[A_LOADS], rb[B_LOADS];
    float acc[TM][TN] = {};
    auto load = [&](int k0) {
        #pragma unroll
        for (int i = 0; i < A_LOADS; i++) {
            int e = t + i * THREADS;
            ra[i] = CF4(a[(size_t)(e / (BK / 4)) * k + k0 + e % (BK / 4) * 4]);
        }
        #pragma unroll
        for (int i = 0; i < B_LOADS; i++) {
            int e = t + i * THREADS;
            rb[i] = CF4(b[(size_t)(k0 + e / (BN / 4)) * n + e % (BN / 4) * 4]);
        }
    };
    auto store = [&](int buf) {
        #pragma unroll
        for (int i = 0; i < A_LOADS; i++) {
            int e = t + i * THREADS, r = e / (BK / 4), q = e % (BK / 4) * 4;
            as[buf][q][r] = ra[i].x; as[buf][q + 1][r] = ra[i].y;
            as[buf][q + 2][r] = ra[i].z; as[buf][q + 3][r] = ra[i].w;
        }
        #pragma unroll
        for (int i = 0; i < B_LOADS; i++) {
            int e = t + i * THREADS;
            F4(bs[buf][e / (BN / 4)][e % (BN / 4) * 4]) = rb[i];
        }
    };
    auto compute = [&](int buf) {
        #pragma unroll
        for (int kk = 0; kk < BK; kk++) {
            float fa[TM], fb[TN];
            #pragma unroll
            for (int i = 0; i < TM; i += 4) F4(fa[i]) = F4(as[buf][kk][row0 + i * LR]);
            #pragma unroll
            for (int j = 0; j < TN; j += 4) F4(fb[j]) = F4(bs[buf][kk][col0 + j * LC]);
            #pragma unroll
            for (int i = 0; i < TM; i++)
                #pragma unroll
                for (int j = 0; j < TN; j++) acc[i][j] += fa[i] * fb[j];
        }
    };
#if BUFFERS == 2
    load(0); store(0); __syncthreads();
    int buf = 0;
    for (int k0 = BK; k0 < k; k0 += BK) {
        load(k0);
        compute(buf);
        store(buf ^ 1);
        __syncthreads();
        buf ^= 1;
    }
    compute(buf);
#else
    for (int k0 = 0; k0 < k; k0 += BK) {
        load(k0);
        store(0);
        __syncthreads();
        compute(0);
        __syncthreads();
    }
#endif
    c += (size_t)blockIdx.y * BM * n + blockIdx.x * BN;
    #pragma unroll
    for (int i = 0; i < TM; i++)
        #pragma unroll
        for (int j = 0; j < TN; j += 4)
            F4(c[(size_t)(row0 + (i / 4) * 4 * LR + i % 4) * n + col0 + j * LC]) =
                make_float4(acc[i][j], acc[i][j + 1], acc[i][j + 2], acc[i][j + 3]);
}
