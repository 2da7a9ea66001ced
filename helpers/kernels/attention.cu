// Attention in O(n) memory: o = softmax(scale * q k^T) v, for many heads, sums in float32.
// q and o are (heads, m, D), k and v (heads, n, D), C-contiguous: float, or half with -DHALF.
// -DD=16, 32, ... 128; m and n are any numbers from 1. With `causal` query i uses keys 0 to i only.
// Launch: grid (ceil(m / SIDE), heads), block (16, 8). SIDE is 64, and 32 for D = 128.
// A block keeps SIDE queries and walks along the keys in tiles of SIDE. How softmax is carried from
// tile to tile: Milakov and Gimelshein (arXiv 1805.02867), Dao and others (arXiv 2205.14135).

// == sizes
#ifndef D
#define D 64
#endif
#define FOURS (D / 4)            // float4s of a query, a key or a value
#define SIDE (D > 64 ? 32 : 64)  // queries of a block, and keys of a tile
#define ROWS (SIDE / 8)          // a thread has this many queries of the block,
#define KEYS (SIDE / 16)         // their scores with this many keys of the tile,
#define COLUMNS (D / 16)         // and this many numbers of their answers
#define MASKED (-3.4e38f)        // the score of a key that does not count

// == numbers
#ifdef HALF
#include <cuda_fp16.h>
typedef half number;
__device__ float4 four(const half* x) {
    float2 a = __half22float2(((const half2*)x)[0]), b = __half22float2(((const half2*)x)[1]);
    return make_float4(a.x, a.y, b.x, b.y);
}
#else
typedef float number;
__device__ float4 four(const float* x) { return *(const float4*)x; }
#endif

// == bring
__device__ void bring(float4 (&tile)[SIDE][FOURS], const number* x, int first, int end, int turn) {
    for (int e = 16 * threadIdx.y + threadIdx.x; e < SIDE * FOURS; e += 128) {
        int row = e / FOURS, c = e % FOURS;
        float4 zeros = {};
        tile[row][(c + turn * row) % FOURS] =
            first + row < end ? four(x + (first + row) * D + 4 * c) : zeros;
    }
}

// == multiply
__device__ void multiply(float (&s)[ROWS][KEYS], float4 (&qs)[SIDE][FOURS],
                         float4 (&ks)[SIDE][FOURS]) {
    int x = threadIdx.x, y = threadIdx.y;
    for (int c = 0; c < FOURS; c++) {
        float4 b[KEYS];
        for (int j = 0; j < KEYS; j++) b[j] = ks[x + 16 * j][(c + x + 16 * j) % FOURS];
        for (int i = 0; i < ROWS; i++) {
            float4 a = qs[ROWS * y + i][c];
            for (int j = 0; j < KEYS; j++) {
                s[i][j] += a.x * b[j].x;
                s[i][j] += a.y * b[j].y;
                s[i][j] += a.z * b[j].z;
                s[i][j] += a.w * b[j].w;
            }
        }
    }
}

// == gather
__device__ void gather(float (&out)[ROWS][COLUMNS], float (&ps)[SIDE][SIDE],
                       float4 (&vs)[SIDE][FOURS]) {
    int x = threadIdx.x, y = threadIdx.y;
    for (int key = 0; key < SIDE; key += 4) {
        float b[4][COLUMNS];
        for (int w = 0; w < 4; w++)
            for (int j = 0; j < COLUMNS; j++) b[w][j] = ((float*)vs[key + w])[x + 16 * j];
        for (int i = 0; i < ROWS; i++) {
            float4 a = *(float4*)&ps[ROWS * y + i][key];
            for (int j = 0; j < COLUMNS; j++) {
                out[i][j] += a.x * b[0][j];
                out[i][j] += a.y * b[1][j];
                out[i][j] += a.z * b[2][j];
                out[i][j] += a.w * b[3][j];
            }
        }
    }
}

// == start
extern "C" __global__ void __launch_bounds__(128)
attention(const number* q, const number* k, const number* v, number* o, int m, int n, float scale,
          int causal) {
    __shared__ float4 qs[SIDE][FOURS], vs[SIDE][FOURS];
    __shared__ union { float4 keys[SIDE][FOURS]; float powers[SIDE][SIDE]; } tile;
    int x = threadIdx.x, y = threadIdx.y, first = blockIdx.x * SIDE;
    q += (long long)blockIdx.y * m * D;
    k += (long long)blockIdx.y * n * D;
    v += (long long)blockIdx.y * n * D;
    o += (long long)blockIdx.y * m * D;
    float out[ROWS][COLUMNS] = {}, total[ROWS] = {}, top[ROWS];
    for (int i = 0; i < ROWS; i++) top[i] = MASKED;
    bring(qs, q, first, m, 0);

// == tiles
    int end = causal ? min(n, first + SIDE) : n;
    for (int key = 0; key < end; key += SIDE) {
        bring(tile.keys, k, key, n, 1);
        bring(vs, v, key, n, 0);
        __syncthreads();
        float s[ROWS][KEYS] = {};
        multiply(s, qs, tile.keys);
        __syncthreads();  // from here on the powers stand where the keys were

// == soften
        for (int i = 0; i < ROWS; i++) {
            int query = first + ROWS * y + i;
            float most = top[i];
            for (int j = 0; j < KEYS; j++) {
                int at = key + x + 16 * j;
                bool counts = at < n && (at <= query || !causal);
                s[i][j] = counts ? s[i][j] * scale * 1.44269504f : MASKED;  // times log2(e)
                most = fmaxf(most, s[i][j]);
            }
            for (int step = 8; step > 0; step /= 2)
                most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, step));
            float fade = exp2f(top[i] - most);
            top[i] = most;
            total[i] *= fade;
            for (int j = 0; j < COLUMNS; j++) out[i][j] *= fade;
            for (int j = 0; j < KEYS; j++) {
                float power = exp2f(s[i][j] - most);
                total[i] += power;
                tile.powers[ROWS * y + i][x + 16 * j] = power;
            }
        }

// == add up
        __syncwarp();  // a query's powers are written and read by one warp
        gather(out, tile.powers, vs);
        __syncthreads();
    }

// == store
    for (int i = 0; i < ROWS; i++) {
        for (int step = 8; step > 0; step /= 2)
            total[i] += __shfl_xor_sync(0xffffffff, total[i], step);
        int query = first + ROWS * y + i;
        if (query >= m) continue;
        for (int j = 0; j < COLUMNS; j++) o[query * D + x + 16 * j] = out[i][j] / total[i];
    }
}
