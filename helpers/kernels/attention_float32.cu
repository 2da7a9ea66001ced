// out = softmax(scale * Q K^T) V for each head, float32, without ever storing the n x n scores
// (FlashAttention, arXiv 2205.14135 and 2307.08691; online softmax, arXiv 1805.02867).
// q, out: (batch, heads, m, HEAD), k, v: (batch, heads, n, HEAD), contiguous, beginning at
// multiples of 16 bytes; any m and n. With `causal` query i sees the keys 0 to i.
// A block has ROWS queries and passes over the keys and values in tiles of KEYS. A warp has 4 TALL
// of the rows, its lanes stand 4 x 8 over them and over the tile, and a lane keeps in registers
// TALL x WIDE scores and TALL x HEAD / 8 numbers of the result.
// Launch: grid ((m + ROWS - 1) / ROWS, heads, batch), block 32 * WARPS, dynamic shared memory of
// 4 * ((ROWS + KEYS) * PITCH + KEYS * HEAD + ROWS * WEIGHTS) bytes.

#ifndef HEAD      // helpers/attention.py gives all four
#define HEAD 64   // numbers in a query, key or value: a multiple of 32
#define WARPS 4
#define TALL 8
#define WIDE 8
#endif
#define THREADS (32 * WARPS)
#define ROWS (4 * WARPS * TALL)
#define KEYS (8 * WIDE)
#define PITCH (HEAD + 4)    // floats between rows of a tile: 8 neighbours begin in different banks
#define WEIGHTS (KEYS + 8)  // the same for the weights, of which 4 x 8 lanes write one each
#define NOTHING (-3.4e38f)

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
    const int AT_ONCE = THREADS / (HEAD / 4);
    static_assert(COUNT % AT_ONCE == 0, "the threads copy whole rows, as many each time");
    int row = threadIdx.x / (HEAD / 4), column = threadIdx.x % (HEAD / 4) * 4;
    tile += row * APART + column;
    array += (long long)(first + row) * HEAD + column;
#pragma unroll
    for (int i = 0; i < COUNT; i += AT_ONCE)
        bring(tile + i * APART, array + i * HEAD, first + row + i < n);
}

// == lanes
// Lane number to place in 4 x 8. Lanes that differ in one of the low two bits share a row or a
// column, so that a warp's load of 16 bytes a lane takes two turns and not four.
__device__ int lane_row() { return threadIdx.x % 2 + threadIdx.x / 16 % 2 * 2; }
__device__ int lane_column() { return threadIdx.x / 2 % 8; }

__device__ float largest(float x) {  // of the 8 lanes in a row
    for (int bit = 2; bit <= 8; bit *= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, bit));
    return x;
}

__device__ float total(float x) {
    for (int bit = 2; bit <= 8; bit *= 2) x += __shfl_xor_sync(0xffffffff, x, bit);
    return x;
}

// == attention
extern "C" __global__ void __launch_bounds__(THREADS)
attention(const float* q, const float* k, const float* v, float* out, int m, int n,
          float scale, int causal) {
    extern __shared__ __align__(16) float queries[];
    float* keys = queries + ROWS * PITCH;
    float* values = keys + KEYS * PITCH;
    float* weights = values + KEYS * HEAD;

    long long head = blockIdx.z * gridDim.y + blockIdx.y;
    q += head * m * HEAD, k += head * n * HEAD, v += head * n * HEAD, out += head * m * HEAD;
    int block = causal ? gridDim.x - 1 - blockIdx.x : blockIdx.x;  // the longest work first
    int begin = block * ROWS, end = causal ? min(n, begin + ROWS) : n;  // of the keys to look at
    int column = lane_column(), row = threadIdx.x / 32 * 4 * TALL + lane_row();  // and every fourth
    float per_two = scale * 1.44269504f;  // exp(x) is exp2(x log2(e))

    float result[TALL][HEAD / 8] = {}, top[TALL], sum[TALL] = {};
#pragma unroll
    for (int i = 0; i < TALL; i++) top[i] = NOTHING;

    bring_rows<ROWS, PITCH>(queries, q, begin, m);
    bring_rows<KEYS, PITCH>(keys, k, 0, n);
    for (int first = 0; first < end; first += KEYS) {
        arrived();
        bring_rows<KEYS, HEAD>(values, v, first, n);  // on their way during the scores

// == scores
        float score[TALL][WIDE] = {};
#pragma unroll 2
        for (int d = 0; d < HEAD; d += 4) {
            float a[TALL][4], b[WIDE][4];
#pragma unroll
            for (int j = 0; j < WIDE; j++)
                four(b[j][0]) = four(keys[(8 * j + column) * PITCH + d]);
#pragma unroll
            for (int i = 0; i < TALL; i++)
                four(a[i][0]) = four(queries[(row + 4 * i) * PITCH + d]);
#pragma unroll
            for (int step = 0; step < 4; step++)
#pragma unroll
                for (int i = 0; i < TALL; i++)
#pragma unroll
                    for (int j = 0; j < WIDE; j++) score[i][j] += a[i][step] * b[j][step];
        }

// == softmax
        if (first + KEYS > (causal ? min(n, begin + 1) : n)) {  // some keys are not to be seen
#pragma unroll
            for (int i = 0; i < TALL; i++)
#pragma unroll
                for (int j = 0; j < WIDE; j++)
                    if (first + 8 * j + column >= (causal ? min(n, begin + row + 4 * i + 1) : n))
                        score[i][j] = NOTHING;
        }
#pragma unroll
        for (int i = 0; i < TALL; i++) {
            float most = top[i];
#pragma unroll
            for (int j = 0; j < WIDE; j++) most = fmaxf(most, score[i][j]);
            most = largest(most);
            float shrink = exp2f((top[i] - most) * per_two), shift = most * per_two;
            top[i] = most;
            sum[i] *= shrink;  // of this lane's keys only, until the end
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
#pragma unroll 2
        for (int j = 0; j < KEYS; j += 4) {
            float a[TALL][4], b[4][HEAD / 8];
#pragma unroll
            for (int step = 0; step < 4; step++)
#pragma unroll
                for (int c = 0; c < HEAD / 32; c++)
                    four(b[step][4 * c]) = four(values[(j + step) * HEAD + 32 * c + 4 * column]);
#pragma unroll
            for (int i = 0; i < TALL; i++)
                four(a[i][0]) = four(weights[(row + 4 * i) * WEIGHTS + j]);
#pragma unroll
            for (int step = 0; step < 4; step++)
#pragma unroll
                for (int i = 0; i < TALL; i++)
#pragma unroll
                    for (int c = 0; c < HEAD / 8; c++) result[i][c] += a[i][step] * b[step][c];
        }
    }

// == store
#pragma unroll
    for (int i = 0; i < TALL; i++) {
        float share = 1 / total(sum[i]);
        if (begin + row + 4 * i >= m) continue;
        float* line = out + (long long)(begin + row + 4 * i) * HEAD + 4 * column;
#pragma unroll
        for (int c = 0; c < HEAD / 8; c += 4)
            four(line[8 * c]) = make_float4(result[i][c] * share, result[i][c + 1] * share,
                                            result[i][c + 2] * share, result[i][c + 3] * share);
    }
}
