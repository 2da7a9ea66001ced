// out = softmax(scale * Q K^T) V for each head: float16 arrays, float32 sums, on tensor cores, and
// without ever storing the n x n scores (FlashAttention-2, arXiv 2307.08691).
// q, out: (batch, heads, m, HEAD), k, v: (batch, heads, n, HEAD), contiguous, beginning at
// multiples of 16 bytes; any m and n. With `causal` query i sees the keys 0 to i.
// A block has ROWS queries and passes over the keys and values in tiles of KEYS; a warp has TALL
// times 16 of the rows. The products are `mma` instructions, not nvcuda::wmma: where each number of
// a fragment stands is documented (PTX ISA, "Matrix Fragments for mma"), so the softmax is done in
// the registers that hold the scores, and the weights are at once the next product's input. Tensor
// cores cut their sums off instead of rounding: over very many keys the result drifts downwards
// (see helpers/attention.py; attention_tf32.cu shows the remedy, for which no registers are left).
//
// Why it is built like this, and how much longer trial kernels of the same plan (not this text)
// took without, compiled by nvcc, on an H200: heads of 128 numbers, 8192 words, without and with
// `causal`:
// - Products and powers are computed by different units, which can work at the same time. So each
//   step has both for a warp: the scores and the weights of a tile, and the products of the weights
//   and values of the tile before. Neither needs the other.
// - The weights are powers of 2 relative to `top`. The largest score so far is the usual `top`, but
//   it is known only when all scores of the tile are there, and each new one means to rescale all
//   results. Any number will do that makes no weight too large for a float16. So a step keeps the
//   top of an earlier tile. If the weights grow too large, it computes the tile again, with a new
//   top. (Without this and the first point: 7 and 6 %. If the scores rise so fast that each tile is
//   computed twice, the kernel takes up to 1.6 times as long.)
// - Only tiles with hidden keys have the code that hides, and a warp leaves out the tiles behind
//   its last query (leaving out: 4 and 2 %).
// - A power is one instruction (exp2f: 13 and 11 %), and a lane stores 16 bytes (4: 3 and 3 %).
// - The queries stay in shared memory. In registers they would take the place of sums.
// - Blocks start in the order of their index (CUDA does not promise it), and with `causal` the last
//   queries have the most keys. So the last queries of *all* heads come first, and short work fills
//   the end (none and 10 %; 41 % for 2048 words) Without `causal` the blocks of a head come
//   together, which read the same keys and values (in the other order 2 %, for heads of 64 numbers
//   2 to 9 %, compiled by NVRTC).
// What is left: on that GPU these products alone ran at 640 Tflop/s, with the 5 ldmatrix that 16 of
// them need at 500, with powers and additions, too, at 390 (heads of 64 numbers) and 410 to 480
// (128), and this kernel at 340 to 350 and 360. cuDNN's ran at 460 and up to 670, more than `mma`
// can. Capability 9.0 has other instructions for that (wgmma), which read shared memory themselves.
// Needs compute capability 7.5. No header of the CUDA toolkit.
// Launch: grid ((m + ROWS - 1) / ROWS, heads, batch), block 32 * WARPS, dynamic shared memory of
// 2 * PITCH * (ROWS + 4 * KEYS) bytes.

#ifndef HEAD      // helpers/attention.py gives all four
#define HEAD 64   // numbers in a query, key or value: a multiple of 32
#define WARPS 4
#define TALL 2
#define KEYS 64   // a multiple of 32
#endif
#define THREADS (32 * WARPS)
#if __CUDA_ARCH__ == 900  // blocks of a multiprocessor: an H200's has shared memory for so many
#define BLOCKS (HEAD > 64 ? 2 : HEAD > 32 ? 3 : 4)
#else
#define BLOCKS 2
#endif
#define ROWS (WARPS * 16 * TALL)
#define PITCH (HEAD + 8)  // float16s between rows of a tile: 8 neighbours begin in different banks
#define NOTHING (-3.4e38f)
#define MOST 32768.0f     // a sum of weights up to this has none too large for a float16, 65504

typedef unsigned short half;  // its bits: they are computed with in fragments only

// == bring
// 16 bytes from global to shared memory, zeros where there are none. From capability 8.0 on they
// go there while the thread computes (cp.async), until `arrived`.
__device__ void bring(half* target, const half* source, bool there) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::
                 "r"((unsigned)__cvta_generic_to_shared(target)), "l"(source), "r"(there ? 16 : 0));
#else
    *reinterpret_cast<uint4*>(target) =
        there ? *reinterpret_cast<const uint4*>(source) : make_uint4(0, 0, 0, 0);
#endif
}

__device__ void arrived() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
    __syncthreads();
}

template <int COUNT>
__device__ void bring_rows(half* tile, const half* array, int first, int n) {
    const int AT_ONCE = THREADS / (HEAD / 8);
    static_assert(COUNT % AT_ONCE == 0, "the threads copy whole rows, as many each time");
    int row = threadIdx.x / (HEAD / 8), column = threadIdx.x % (HEAD / 8) * 8;
    tile += row * PITCH + column;
    array += (long long)(first + row) * HEAD + column;
#pragma unroll
    for (int i = 0; i < COUNT; i += AT_ONCE)
        bring(tile + i * PITCH, array + i * HEAD, first + row + i < n);
}

// == fragments
// Four 8 x 8 matrices, one in each register of the warp: lane 4 r + c has the numbers 2 c and
// 2 c + 1 of row r. Lanes 8 m to 8 m + 7 say where the rows of matrix m begin.
__device__ void load(unsigned (&matrices)[4], const half* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row)));
}

// The same of the matrices transposed.
__device__ void load_turned(unsigned (&matrices)[4], const half* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row)));
}

// sum (16 x 8) += a (16 x 16) b (16 x 8). Of `sum` lane 4 r + c has the numbers 2 c and 2 c + 1 of
// row r, then the same of row r + 8.
__device__ void multiply(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#elif __CUDA_ARCH__ >= 750  // has half of it in one instruction
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(b0));
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[2]), "r"(a[3]), "r"(b1));
#endif
}

__device__ unsigned pair(float low, float high) {  // two float16s in one register
    unsigned both;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
#else
    asm("{ .reg .f16 low, high; cvt.rn.f16.f32 low, %1; cvt.rn.f16.f32 high, %2;"
        " mov.b32 %0, {low, high}; }" : "=r"(both) : "f"(low), "f"(high));
#endif
    return both;
}

__device__ float power(float x) {  // of 2, by one instruction; less than 2^-126 is 0
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}

// == a warp's queries
// Lane 4 r + c has of each 16 queries the rows r and r + 8, and of each 8 columns 2 c and 2 c + 1.
struct Warp {
    float result[TALL][HEAD / 8][4];  // the values, weighted and summed
    float top[TALL][2], sum[TALL][2];  // of a row: weights are 2^(score - top); this lane's sum
    unsigned weight[TALL][KEYS / 16][4];  // of the newest tile, two in a register
    const half* queries;
    int row, across, down;
    float per_two;

    __device__ __forceinline__ Warp(const half* tile, int first, float scale) {
        int lane = threadIdx.x % 32;
        row = first + lane / 4;
        queries = tile;
        per_two = scale * 1.44269504f;  // exp(x) is exp2(x log2(e))
        // Of four matrices that are the quarters of 16 x 16 numbers, where this lane's row begins:
        across = lane % 16 * PITCH + lane / 16 * 8;                    // left quarters first
        down = (lane % 8 + lane / 16 * 8) * PITCH + lane / 8 % 2 * 8;  // upper quarters first
#pragma unroll
        for (int i = 0; i < TALL; i++) {
            top[i][0] = top[i][1] = NOTHING;
            sum[i][0] = sum[i][1] = 0;
#pragma unroll
            for (int c = 0; c < HEAD / 8; c++)
#pragma unroll
                for (int e = 0; e < 4; e++) result[i][c][e] = 0;
        }
    }

// == scores
    __device__ __forceinline__ void multiply_keys(float (&score)[TALL][KEYS / 8][4],
                                                  const half* keys) {
#pragma unroll
        for (int i = 0; i < TALL; i++)
#pragma unroll
            for (int j = 0; j < KEYS / 8; j++)
#pragma unroll
                for (int e = 0; e < 4; e++) score[i][j][e] = 0;
#pragma unroll
        for (int d = 0; d < HEAD / 16; d++) {
            unsigned query[TALL][4];
#pragma unroll
            for (int i = 0; i < TALL; i++)
                load(query[i], queries + 16 * i * PITCH + 16 * d + across);
#pragma unroll
            for (int j = 0; j < KEYS / 16; j++) {
                unsigned key[4];
                load(key, keys + 16 * j * PITCH + 16 * d + down);
#pragma unroll
                for (int i = 0; i < TALL; i++) {
                    multiply(score[i][2 * j], query[i], key[0], key[1]);
                    multiply(score[i][2 * j + 1], query[i], key[2], key[3]);
                }
            }
        }
    }

    // Of the tile whose first key is number `first`.
    __device__ __forceinline__ void hide(float (&score)[TALL][KEYS / 8][4], int first, int n,
                                         bool causal) {
#pragma unroll
        for (int i = 0; i < TALL; i++)
#pragma unroll
            for (int low = 0; low < 2; low++) {
                int last = causal ? min(n, row + 16 * i + 8 * low + 1) : n;
                int seen = last - first - threadIdx.x % 4 * 2;
#pragma unroll
                for (int j = 0; j < KEYS / 8; j++)
#pragma unroll
                    for (int e = 0; e < 2; e++)
                        if (8 * j + e >= seen) score[i][j][2 * low + e] = NOTHING;
            }
    }

// == softmax
    __device__ __forceinline__ void set_top(const float (&score)[TALL][KEYS / 8][4]) {
#pragma unroll
        for (int i = 0; i < TALL; i++)
#pragma unroll
            for (int low = 0; low < 2; low++) {  // of the 16 rows: the upper 8, the lower 8
                float most = top[i][low];
#pragma unroll
                for (int j = 0; j < KEYS / 8; j++)
                    most = fmaxf(most, fmaxf(score[i][j][2 * low], score[i][j][2 * low + 1]));
                most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, 1));
                most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, 2));
                float shrink = power((top[i][low] - most) * per_two);
                top[i][low] = most;
                sum[i][low] *= shrink;
#pragma unroll
                for (int c = 0; c < HEAD / 8; c++) {
                    result[i][c][2 * low] *= shrink;
                    result[i][c][2 * low + 1] *= shrink;
                }
            }
    }

    // Scores become weights, and are added to `total`.
    __device__ __forceinline__ void weigh(const float (&score)[TALL][KEYS / 8][4],
                                          float (&total)[TALL][2]) {
#pragma unroll
        for (int i = 0; i < TALL; i++)
#pragma unroll
            for (int low = 0; low < 2; low++) {
                float shift = top[i][low] * per_two;
#pragma unroll
                for (int j = 0; j < KEYS / 8; j++) {
                    float left = power(score[i][j][2 * low] * per_two - shift);
                    float right = power(score[i][j][2 * low + 1] * per_two - shift);
                    total[i][low] += left;
                    total[i][low] += right;
                    weight[i][j / 2][j % 2 * 2 + low] = pair(left, right);
                }
            }
    }

// == weighted sum
    __device__ __forceinline__ void add_values(const half* values) {
#pragma unroll
        for (int j = 0; j < KEYS / 16; j++)
#pragma unroll
            for (int c = 0; c < HEAD / 16; c++) {
                unsigned value[4];
                load_turned(value, values + 16 * j * PITCH + 16 * c + across);
#pragma unroll
                for (int i = 0; i < TALL; i++) {
                    multiply(result[i][2 * c], weight[i][j], value[0], value[1]);
                    multiply(result[i][2 * c + 1], weight[i][j], value[2], value[3]);
                }
            }
    }

// == steps
    // The weights of a tile, whatever its scores are and where it is.
    __device__ __forceinline__ void any_tile(const half* keys, int first, int n, bool causal) {
        float score[TALL][KEYS / 8][4];
        multiply_keys(score, keys);
        hide(score, first, n, causal);
        set_top(score);
        weigh(score, sum);
    }

    // The values of the last tile, and the weights of a tile without hidden keys, for the old top.
    // Returns whether the weights are good: they fit into float16s.
    __device__ __forceinline__ bool next_tile(const half* keys, const half* values) {
        float total[TALL][2] = {}, score[TALL][KEYS / 8][4];
        add_values(values);  // the last tile's weights, whose registers are now free
        multiply_keys(score, keys);
        weigh(score, total);
        bool good = true;
#pragma unroll
        for (int i = 0; i < TALL; i++) good &= total[i][0] <= MOST && total[i][1] <= MOST;
        good = __all_sync(0xffffffff, good);  // the lanes share their rows
#pragma unroll
        for (int i = 0; i < TALL; i++)
#pragma unroll
            for (int low = 0; low < 2; low++) sum[i][low] += good ? total[i][low] : 0;
        return good;
    }

// == store
    // Through shared memory, where the queries were: then a warp's store is 512 bytes in a row.
    __device__ __forceinline__ void store(half* tile, half* out, int first, int m) {
        int lane = threadIdx.x % 32;
#pragma unroll
        for (int i = 0; i < TALL; i++)
#pragma unroll
            for (int low = 0; low < 2; low++) {
                float all = sum[i][low];
                all += __shfl_xor_sync(0xffffffff, all, 1);
                all += __shfl_xor_sync(0xffffffff, all, 2);
                half* line = tile + (16 * i + 8 * low + lane / 4) * PITCH + lane % 4 * 2;
                float part = 1 / all;
#pragma unroll
                for (int c = 0; c < HEAD / 8; c++)
                    *reinterpret_cast<unsigned*>(line + 8 * c) =
                        pair(result[i][c][2 * low] * part, result[i][c][2 * low + 1] * part);
            }
        __syncwarp();
        const int AT_ONCE = 32 / (HEAD / 8);  // rows
        int row = lane / (HEAD / 8), column = lane % (HEAD / 8) * 8;
#pragma unroll
        for (int i = row; i < 16 * TALL + row; i += AT_ONCE)
            if (first + i < m)
                *reinterpret_cast<uint4*>(out + (long long)(first + i) * HEAD + column) =
                    *reinterpret_cast<const uint4*>(tile + i * PITCH + column);
    }
};

// == attention
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
attention(const half* q, const half* k, const half* v, half* out, int m, int n,
          float scale, int causal) {
    extern __shared__ __align__(16) half tiles[];  // of queries, keys (two), and values (two)
    half *all_keys = tiles + ROWS * PITCH, *all_values = all_keys + 2 * KEYS * PITCH;

    unsigned block = blockIdx.x, heads = gridDim.y * gridDim.z;
    long long head = blockIdx.z * gridDim.y + blockIdx.y;
    if (causal) {  // the longest work first
        unsigned index = head * gridDim.x + block;
        block = gridDim.x - 1 - index / heads, head = index % heads;
    }
    q += head * m * HEAD, k += head * n * HEAD, v += head * n * HEAD, out += head * m * HEAD;

    int begin = block * ROWS, mine = threadIdx.x / 32 * 16 * TALL, first = begin + mine;
    int steps = ((causal ? min(n, begin + ROWS) : n) + KEYS - 1) / KEYS;  // of the block: tiles
    int needed = ((causal ? min(n, first + 16 * TALL) : n) + KEYS - 1) / KEYS;  // by this warp
    int full = (causal ? min(n, first + 1) : n) / KEYS;  // without hidden keys
    Warp warp(tiles + mine * PITCH, first, scale);

    bring_rows<ROWS>(tiles, q, begin, m);
    bring_rows<KEYS>(all_keys, k, 0, n);
    for (int t = 0; t <= steps; t++) {  // the weights of tile t, the values of tile t - 1
        int here = t % 2 * KEYS * PITCH, there = KEYS * PITCH - here;
        const half *keys = all_keys + here, *values = all_values + there;
        arrived();
        if (t + 1 < steps) bring_rows<KEYS>(all_keys + there, k, (t + 1) * KEYS, n);
        if (t < steps) bring_rows<KEYS>(all_values + here, v, t * KEYS, n);

        bool weighed = t >= needed;
        if (0 < t && t < full)
            weighed = warp.next_tile(keys, values);
        else if (0 < t && t <= needed)
            warp.add_values(values);
        if (!weighed) warp.any_tile(keys, t * KEYS, n, causal);
    }
    warp.store(tiles + mine * PITCH, out, first, m);
}
