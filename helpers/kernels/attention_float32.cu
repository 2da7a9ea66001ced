// out = softmax(scale * Q K^T) V for each head, float32, without ever storing the n x n scores
// (FlashAttention, arXiv 2205.14135 and 2307.08691; online softmax, arXiv 1805.02867).
// q, k, v, out: (batch, heads, n, HEAD), contiguous, beginning at multiples of 16 bytes; any n.
// A block has ROWS queries and passes over the keys and values in tiles of KEYS. A warp has 4 * TALL
// of the rows, its lanes stand 4 x 8 over them and the tile, and a lane keeps in registers
// TALL x WIDE scores and TALL x HEAD / 8 numbers of the result.
// Launch: grid ((n + ROWS - 1) / ROWS, heads, batch), block 32 * WARPS, dynamic shared memory of
// 4 * (ROWS * PITCH + KEYS * PITCH + KEYS * HEAD + ROWS * WEIGHTS) bytes.

#ifndef HEAD       // given as options by helpers/attention.py
#define HEAD 64    // numbers in a query, key or value: a multiple of 32
#define WARPS 4
#define TALL 8
#define WIDE 8
#endif
#define ROWS (WARPS * 4 * TALL)
#define KEYS (8 * WIDE)
#define PITCH (HEAD + 4)     // floats between rows of a tile: 8 neighbours begin in different banks
#define WEIGHTS (KEYS + 8)   // the same for the weights, of which 4 x 8 lanes write one each
#define NOTHING (-3.4e38f)
#ifndef LANES
#define LANES 1
#endif
#ifndef UNROLL
#define UNROLL 2
#endif
constexpr int AHEAD = UNROLL;
#ifndef BLOCKS
#define BLOCKS 2
#endif

// == as four
__device__ float4& four(float& first) { return reinterpret_cast<float4&>(first); }
__device__ float4 four(const float& first) { return reinterpret_cast<const float4&>(first); }

// == bring
// 16 bytes from global to shared memory, zeros where there are none. From capability 8.0 on they
// go there while the thread computes (cp.async), until `arrived`.
__device__ void bring(float* target, const float* source, bool there) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::
                 "r"((unsigned)__cvta_generic_to_shared(target)), "l"(source), "r"(there ? 16 : 0));
#else
    four(*target) = there ? four(*source) : make_float4(0, 0, 0, 0);
#endif
}

__device__ void arrived() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
    __syncthreads();
}

template <int COUNT, int APART>
__device__ void bring_rows(float* tile, const float* array, int first, int n) {
#pragma unroll
    for (int t = threadIdx.x; t < COUNT * HEAD / 4; t += 32 * WARPS) {
        int row = t / (HEAD / 4), column = t % (HEAD / 4) * 4;
        bool there = first + row < n;
        bring(tile + row * APART + column,
              array + (long long)(there ? first + row : 0) * HEAD + column, there);
    }
}

// == over the lanes
// The lanes of one row of the tile differ in these bits of their number.
#if LANES == 0
#define BIT0 1
#define BIT1 2
#define BIT2 4
__device__ int lane_row(int lane) { return lane / 8; }
__device__ int lane_column(int lane) { return lane % 8; }
#elif LANES == 1
// bit0 -> column, bit1 -> row, bit2, bit3 -> column, bit4 -> row
#define BIT0 1
#define BIT1 4
#define BIT2 8
__device__ int lane_row(int lane) { return lane / 2 % 2 + lane / 16 * 2; }
__device__ int lane_column(int lane) { return lane % 2 + lane / 4 % 4 * 2; }
#else
// bit0 -> row, bit1 -> column, bit2, 3 -> column, bit4 -> row
#define BIT0 2
#define BIT1 4
#define BIT2 8
__device__ int lane_row(int lane) { return lane % 2 + lane / 16 * 2; }
__device__ int lane_column(int lane) { return lane / 2 % 8; }
#endif

__device__ float largest(float x) {
    x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, BIT0));
    x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, BIT1));
    return fmaxf(x, __shfl_xor_sync(0xffffffff, x, BIT2));
}

__device__ float total(float x) {
    x += __shfl_xor_sync(0xffffffff, x, BIT0);
    x += __shfl_xor_sync(0xffffffff, x, BIT1);
    return x + __shfl_xor_sync(0xffffffff, x, BIT2);
}

// == attention
extern "C" __global__ void __launch_bounds__(32 * WARPS, BLOCKS)
attention(const float* q, const float* k, const float* v, float* out, int n, float scale,
          int causal) {
    extern __shared__ __align__(16) float queries[];
    float* keys = queries + ROWS * PITCH;
    float* values = keys + KEYS * PITCH;
    float* weights = values + KEYS * HEAD;

    long long head = (blockIdx.z * gridDim.y + blockIdx.y) * (long long)n * HEAD;
    q += head, k += head, v += head, out += head;
    int block = causal ? gridDim.x - 1 - blockIdx.x : blockIdx.x;  // the longest work first
    int begin = block * ROWS, end = causal ? min(n, begin + ROWS) : n;  // of the keys to look at
    int lane = threadIdx.x % 32, column = lane_column(lane);
    int row = threadIdx.x / 32 * 4 * TALL + lane_row(lane);  // the lane's first, then every fourth
    float per_two = scale * 1.44269504f;  // exp(x) is exp2(x log2(e))

    float result[TALL][HEAD / 8] = {}, top[TALL], sum[TALL] = {};
#pragma unroll
    for (int i = 0; i < TALL; i++) top[i] = NOTHING;

    bring_rows<ROWS, PITCH>(queries, q, begin, n);
    bring_rows<KEYS, PITCH>(keys, k, 0, n);
    for (int first = 0; first < end; first += KEYS) {
        arrived();
        bring_rows<KEYS, HEAD>(values, v, first, n);  // on their way during the scores

// == scores
        float score[TALL][WIDE] = {};
#pragma unroll (AHEAD)
        for (int d = 0; d < HEAD; d += 4) {
            float4 b[WIDE];
#pragma unroll
            for (int j = 0; j < WIDE; j++) b[j] = four(keys[(8 * j + column) * PITCH + d]);
#if ORDER < 2
#pragma unroll
            for (int i = 0; i < TALL; i++) {
                float4 a = four(queries[(row + 4 * i) * PITCH + d]);
#if ORDER == 0
#pragma unroll
                for (int j = 0; j < WIDE; j++) {
                    score[i][j] += a.x * b[j].x;
                    score[i][j] += a.y * b[j].y;
                    score[i][j] += a.z * b[j].z;
                    score[i][j] += a.w * b[j].w;
                }
#else
#pragma unroll
                for (int j = 0; j < WIDE; j++) score[i][j] += a.x * b[j].x;
#pragma unroll
                for (int j = 0; j < WIDE; j++) score[i][j] += a.y * b[j].y;
#pragma unroll
                for (int j = 0; j < WIDE; j++) score[i][j] += a.z * b[j].z;
#pragma unroll
                for (int j = 0; j < WIDE; j++) score[i][j] += a.w * b[j].w;
#endif
            }
#else
            float4 a[TALL];
#pragma unroll
            for (int i = 0; i < TALL; i++) a[i] = four(queries[(row + 4 * i) * PITCH + d]);
#define STEP(m) _Pragma("unroll") for (int i = 0; i < TALL; i++) _Pragma("unroll") for (int j = 0; j < WIDE; j++) { int jj = ORDER == 3 && i % 2 ? WIDE - 1 - j : j; score[i][jj] += a[i].m * b[jj].m; }
            STEP(x) STEP(y) STEP(z) STEP(w)
#endif
        }

// == softmax
        if (first + KEYS > (causal ? begin + 1 : n)) {  // some keys are not to be seen
#pragma unroll
            for (int i = 0; i < TALL; i++)
#pragma unroll
                for (int j = 0; j < WIDE; j++)
                    if (first + 8 * j + column >= (causal ? begin + row + 4 * i + 1 : n))
                        score[i][j] = NOTHING;
        }
#pragma unroll
        for (int i = 0; i < TALL; i++) {
            float now = top[i];
#pragma unroll
            for (int j = 0; j < WIDE; j++) now = fmaxf(now, score[i][j]);
            now = largest(now);
            float shrink = exp2f((top[i] - now) * per_two), shift = now * per_two;
            top[i] = now;
            sum[i] *= shrink;
#pragma unroll
            for (int j = 0; j < WIDE; j++) {
                float weight = exp2f(score[i][j] * per_two - shift);
                sum[i] += weight;
                weights[(row + 4 * i) * WEIGHTS + 8 * j + column] = weight;
            }
#pragma unroll
            for (int c = 0; c < HEAD / 8; c++) result[i][c] *= shrink;
        }
        arrived();
        if (first + KEYS < end) bring_rows<KEYS, PITCH>(keys, k, first + KEYS, n);

// == weighted sum
#pragma unroll (AHEAD)
        for (int j = 0; j < KEYS; j += 4) {
            float b[4][HEAD / 8];
#pragma unroll
            for (int step = 0; step < 4; step++)
#pragma unroll
                for (int c = 0; c < HEAD / 32; c++)
                    four(b[step][4 * c]) = four(values[(j + step) * HEAD + 32 * c + 4 * column]);
#if ORDER < 2
#pragma unroll
            for (int i = 0; i < TALL; i++) {
                float4 a = four(weights[(row + 4 * i) * WEIGHTS + j]);
#if ORDER == 0
#pragma unroll
                for (int c = 0; c < HEAD / 8; c++) {
                    result[i][c] += a.x * b[0][c];
                    result[i][c] += a.y * b[1][c];
                    result[i][c] += a.z * b[2][c];
                    result[i][c] += a.w * b[3][c];
                }
#else
#pragma unroll
                for (int c = 0; c < HEAD / 8; c++) result[i][c] += a.x * b[0][c];
#pragma unroll
                for (int c = 0; c < HEAD / 8; c++) result[i][c] += a.y * b[1][c];
#pragma unroll
                for (int c = 0; c < HEAD / 8; c++) result[i][c] += a.z * b[2][c];
#pragma unroll
                for (int c = 0; c < HEAD / 8; c++) result[i][c] += a.w * b[3][c];
#endif
            }
#else
            float4 a[TALL];
#pragma unroll
            for (int i = 0; i < TALL; i++) a[i] = four(weights[(row + 4 * i) * WEIGHTS + j]);
#define STEPV(m, s) _Pragma("unroll") for (int i = 0; i < TALL; i++) _Pragma("unroll") for (int c = 0; c < HEAD / 8; c++) { int cc = ORDER == 3 && i % 2 ? HEAD / 8 - 1 - c : c; result[i][cc] += a[i].m * b[s][cc]; }
            STEPV(x, 0) STEPV(y, 1) STEPV(z, 2) STEPV(w, 3)
#endif
        }
    }

// == store
#pragma unroll
    for (int i = 0; i < TALL; i++) {
        float share = 1 / total(sum[i]);
        if (begin + row + 4 * i >= n) continue;
        float* line = out + (long long)(begin + row + 4 * i) * HEAD + 4 * column;
#pragma unroll
        for (int c = 0; c < HEAD / 8; c += 4)
            four(line[8 * c]) = make_float4(result[i][c] * share, result[i][c + 1] * share,
                                            result[i][c + 2] * share, result[i][c + 3] * share);
    }
}
