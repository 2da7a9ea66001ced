// Attention in O(n) memory: o = softmax(scale * q k^T) v for each head, float32 arithmetic.
// q and o are (heads, m, D), k and v (heads, n, D), C-contiguous, float or (-DHALF) half; D is 32,
// 64 or 128. With `causal` query i uses keys 0 to i. Launch: grid (ceil(m / SIDE), heads), block
// (16, 8). A block keeps its queries and walks along the keys, tile by tile. The recurrence is
// Milakov and Gimelshein's (arXiv 1805.02867), the tiling Dao and others' (arXiv 2205.14135).

// == sizes
#ifndef D
#define D 64              // numbers of a query, a key, a value
#endif
#ifndef SIDE
#define SIDE (D > 64 ? 32 : 64)  // queries of a block, and keys of a tile
#endif
#define ROWS (SIDE / 8)   // a thread has this many queries,
#define KEYS (SIDE / 16)  // their scores with this many keys of the tile,
#define COLUMNS (D / 16)  // and this many numbers of their results
#define FOURS (D / 4)
#define MASKED (-3.4e38f)

#ifdef HALF
#include <cuda_fp16.h>
typedef half number;
#else
typedef float number;
#endif

// == bring
__device__ float4 four(const float* x) { return *(const float4*)x; }
#ifdef HALF
__device__ float4 four(const half* x) {
    float2 a = __half22float2(((const half2*)x)[0]), b = __half22float2(((const half2*)x)[1]);
    return make_float4(a.x, a.y, b.x, b.y);
}
#endif

// Rows `first` and on of x, zeros beyond its end; row r is turned by `turn * r` places.
__device__ void bring(float4 (&tile)[SIDE][FOURS], const number* x, int first, int rows, int turn) {
    for (int e = threadIdx.y * 16 + threadIdx.x; e < SIDE * FOURS; e += 128) {
        int r = e / FOURS, c = e % FOURS;
        float4 zeros = {};
        tile[r][(c + turn * r) % FOURS] = first + r < rows ? four(x + (first + r) * D + 4 * c) : zeros;
    }
}

// == multiply
__device__ void multiply(float (&s)[ROWS][KEYS], float4 (&qs)[SIDE][FOURS], float4 (&ks)[SIDE][FOURS]) {
    int x = threadIdx.x, y = threadIdx.y;
#pragma unroll UNROLL1
    for (int c = 0; c < FOURS; c++) {
        float4 b[KEYS];
#pragma unroll
        for (int j = 0; j < KEYS; j++) b[j] = ks[x + 16 * j][(c + x + 16 * j) % FOURS];
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
#ifdef QROT
            float4 a = qs[y * ROWS + i][(c + y * ROWS + i) % FOURS];
#else
            float4 a = qs[y * ROWS + i][c];
#endif
#pragma unroll
            for (int j = 0; j < KEYS; j++) {
                s[i][j] += a.x * b[j].x;
                s[i][j] += a.y * b[j].y;
                s[i][j] += a.z * b[j].z;
                s[i][j] += a.w * b[j].w;
            }
        }
    }
}

// == attention
extern "C" __global__ void __launch_bounds__(128 BLOCKS)
attention(const number* q, const number* k, const number* v, number* o, int m, int n, float scale,
          int causal) {
    __shared__ float4 qs[SIDE][FOURS], vs[SIDE][FOURS];
    __shared__ union { float4 ks[SIDE][FOURS]; float ps[SIDE][SIDE]; } u;
    int x = threadIdx.x, y = threadIdx.y, first = blockIdx.x * SIDE;
    q += (long long)blockIdx.y * m * D;
    o += (long long)blockIdx.y * m * D;
    k += (long long)blockIdx.y * n * D;
    v += (long long)blockIdx.y * n * D;
    float out[ROWS][COLUMNS] = {}, top[ROWS], sum[ROWS] = {};
    for (int i = 0; i < ROWS; i++) top[i] = MASKED;
#ifdef QROT
    bring(qs, q, first, m, 1);
#else
    bring(qs, q, first, m, 0);
#endif
    int end = causal ? min(n, first + SIDE) : n;
    scale *= 1.44269504f;  // exp(x) is exp2(x * log2(e))
    for (int key = 0; key < end; key += SIDE) {
        bring(u.ks, k, key, n, 1);
        bring(vs, v, key, n, 0);
        __syncthreads();
        float s[ROWS][KEYS] = {};
        multiply(s, qs, u.ks);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            int row = y * ROWS + i;
            float most = top[i];
#pragma unroll
            for (int j = 0; j < KEYS; j++) {
                int at = key + x + 16 * j;
                s[i][j] = at < n && !(causal && at > first + row) ? s[i][j] * scale : MASKED;
                most = fmaxf(most, s[i][j]);
            }
            for (int step = 8; step > 0; step /= 2)
                most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, step));
            float fade = exp2f(top[i] - most);
            top[i] = most;
            sum[i] *= fade;
#pragma unroll
            for (int j = 0; j < KEYS; j++) {
                float p = exp2f(s[i][j] - most);
                sum[i] += p;
                u.ps[row][x + 16 * j] = p;
            }
#pragma unroll
            for (int j = 0; j < COLUMNS; j++) out[i][j] *= fade;
        }
        __syncwarp();
#pragma unroll UNROLL2
        for (int p = 0; p < SIDE; p += 4) {
            float b[4][COLUMNS];
#pragma unroll
            for (int w = 0; w < 4; w++)
#pragma unroll
                for (int j = 0; j < COLUMNS; j++)
                    b[w][j] = ((float*)vs[p + w])[x + 16 * j];
#pragma unroll
            for (int i = 0; i < ROWS; i++) {
                float4 a = *(float4*)&u.ps[y * ROWS + i][p];
#pragma unroll
                for (int j = 0; j < COLUMNS; j++) {
                    out[i][j] += a.x * b[0][j];
                    out[i][j] += a.y * b[1][j];
                    out[i][j] += a.z * b[2][j];
                    out[i][j] += a.w * b[3][j];
                }
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        for (int step = 8; step > 0; step /= 2) sum[i] += __shfl_xor_sync(0xffffffff, sum[i], step);
        int row = first + y * ROWS + i;
#pragma unroll
        for (int j = 0; j < COLUMNS; j++)
            if (row < m) o[(long long)row * D + x + 16 * j] = out[i][j] / sum[i];
    }
}
