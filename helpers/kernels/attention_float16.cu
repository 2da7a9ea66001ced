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
// Needs compute capability 7.5. No header of the CUDA toolkit.
// Launch: grid ((m + ROWS - 1) / ROWS, heads, batch), block 32 * WARPS, dynamic shared memory of
// 2 * PITCH * max(ROWS, 4 * KEYS) bytes.

#ifndef HEAD      // helpers/attention.py gives all four
#define HEAD 64   // numbers in a query, key or value: a multiple of 32
#define WARPS 4
#define TALL 2
#define KEYS 64   // a multiple of 16
#endif
#define THREADS (32 * WARPS)
#define ROWS (WARPS * 16 * TALL)
#define PITCH (HEAD + 8)  // float16s between rows of a tile: 8 neighbours begin in different banks
#define NOTHING (-3.4e38f)

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

// == attention
extern "C" __global__ void __launch_bounds__(THREADS)
attention(const half* q, const half* k, const half* v, half* out, int m, int n,
          float scale, int causal) {
    extern __shared__ __align__(16) half tiles[];  // keys and values, and two more on their way
    const int PAIR = 2 * KEYS * PITCH;

    long long head = blockIdx.z * gridDim.y + blockIdx.y;
    q += head * m * HEAD, k += head * n * HEAD, v += head * n * HEAD, out += head * m * HEAD;
    int block = causal ? gridDim.x - 1 - blockIdx.x : blockIdx.x;  // the longest work first
    int begin = block * ROWS, end = causal ? min(n, begin + ROWS) : n;  // of the keys to look at
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    float per_two = scale * 1.44269504f;  // exp(x) is exp2(x log2(e))

    // Of four matrices that are the quarters of 16 x 16 numbers, where this lane's row begins:
    int across = lane % 16 * PITCH + lane / 16 * 8;                    // left quarters first
    int down = (lane % 8 + lane / 16 * 8) * PITCH + lane / 8 % 2 * 8;  // upper quarters first

    bring_rows<ROWS>(tiles, q, begin, m);  // the queries pass through shared memory to registers
    arrived();
    unsigned query[TALL][HEAD / 16][4];
#pragma unroll
    for (int i = 0; i < TALL; i++)
#pragma unroll
        for (int d = 0; d < HEAD / 16; d++)
            load(query[i][d], tiles + (warp * TALL + i) * 16 * PITCH + 16 * d + across);
    __syncthreads();

    float result[TALL][HEAD / 8][4] = {}, top[TALL][2], sum[TALL][2] = {};
#pragma unroll
    for (int i = 0; i < TALL; i++) top[i][0] = top[i][1] = NOTHING;

    bring_rows<KEYS>(tiles, k, 0, n);
    bring_rows<KEYS>(tiles + KEYS * PITCH, v, 0, n);
    int now = 0;
    for (int first = 0; first < end; first += KEYS, now = PAIR - now) {
        const half *keys = tiles + now, *values = keys + KEYS * PITCH;
        arrived();
        if (first + KEYS < end) {  // meanwhile the next
            bring_rows<KEYS>(tiles + PAIR - now, k, first + KEYS, n);
            bring_rows<KEYS>(tiles + PAIR - now + KEYS * PITCH, v, first + KEYS, n);
        }

// == scores
        float score[TALL][KEYS / 8][4] = {};
#pragma unroll
        for (int d = 0; d < HEAD / 16; d++)
#pragma unroll
            for (int j = 0; j < KEYS / 16; j++) {
                unsigned key[4];
                load(key, keys + 16 * j * PITCH + 16 * d + down);
#pragma unroll
                for (int i = 0; i < TALL; i++) {
                    multiply(score[i][2 * j], query[i][d], key[0], key[1]);
                    multiply(score[i][2 * j + 1], query[i][d], key[2], key[3]);
                }
            }

// == softmax
        if (first + KEYS > (causal ? min(n, begin + 1) : n)) {  // some keys are not to be seen
#pragma unroll
            for (int i = 0; i < TALL; i++)
#pragma unroll
                for (int j = 0; j < KEYS / 8; j++)
#pragma unroll
                    for (int e = 0; e < 4; e++) {
                        int row = begin + (warp * TALL + i) * 16 + e / 2 * 8 + lane / 4;
                        if (first + 8 * j + lane % 4 * 2 + e % 2 >= (causal ? min(n, row + 1) : n))
                            score[i][j][e] = NOTHING;
                    }
        }
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
                float shrink = exp2f((top[i][low] - most) * per_two), shift = most * per_two;
                top[i][low] = most;
                sum[i][low] *= shrink;
#pragma unroll
                for (int j = 0; j < KEYS / 8; j++)
#pragma unroll
                    for (int e = 2 * low; e < 2 * low + 2; e++) {
                        score[i][j][e] = exp2f(score[i][j][e] * per_two - shift);
                        sum[i][low] += score[i][j][e];
                    }
#pragma unroll
                for (int c = 0; c < HEAD / 8; c++) {
                    result[i][c][2 * low] *= shrink;
                    result[i][c][2 * low + 1] *= shrink;
                }
            }

// == weighted sum
#pragma unroll
        for (int j = 0; j < KEYS / 16; j++) {
            unsigned weight[TALL][4];
#pragma unroll
            for (int i = 0; i < TALL; i++) {
                weight[i][0] = pair(score[i][2 * j][0], score[i][2 * j][1]);
                weight[i][1] = pair(score[i][2 * j][2], score[i][2 * j][3]);
                weight[i][2] = pair(score[i][2 * j + 1][0], score[i][2 * j + 1][1]);
                weight[i][3] = pair(score[i][2 * j + 1][2], score[i][2 * j + 1][3]);
            }
#pragma unroll
            for (int c = 0; c < HEAD / 16; c++) {
                unsigned value[4];
                load_turned(value, values + 16 * j * PITCH + 16 * c + across);
#pragma unroll
                for (int i = 0; i < TALL; i++) {
                    multiply(result[i][2 * c], weight[i], value[0], value[1]);
                    multiply(result[i][2 * c + 1], weight[i], value[2], value[3]);
                }
            }
        }
    }

// == store
#pragma unroll
    for (int i = 0; i < TALL; i++)
#pragma unroll
        for (int low = 0; low < 2; low++) {
            float all = sum[i][low];
            all += __shfl_xor_sync(0xffffffff, all, 1);
            all += __shfl_xor_sync(0xffffffff, all, 2);
            int row = begin + (warp * TALL + i) * 16 + low * 8 + lane / 4;
            if (row >= m) continue;
            unsigned* line = reinterpret_cast<unsigned*>(out + (long long)row * HEAD) + lane % 4;
#pragma unroll
            for (int c = 0; c < HEAD / 8; c++)
                line[4 * c] = pair(result[i][c][2 * low] / all, result[i][c][2 * low + 1] / all);
        }
}
