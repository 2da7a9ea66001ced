// out = softmax(scale * Q K^T) V for each head, float32 arrays, on tensor cores and without ever
// storing the n x n scores (FlashAttention-2, arXiv 2307.08691). Tensor cores multiply TF32: 8 bits
// of exponent as float32, but 10 of mantissa instead of 23. So each number is split into two TF32,
// x = big + small, and each product is three: big * small + small * big + big * big ("3xTF32",
// Ootomo and Yokota, arXiv 2203.03341; CUTLASS). What is left out, small * small, is 2^-22 of it.
// q, out: (batch, heads, m, HEAD), k, v: (batch, heads, n, HEAD), contiguous, beginning at
// multiples of 16 bytes; any m and n. With `causal` query i sees the keys 0 to i.
// A block has ROWS queries and passes over the keys and values in tiles of KEYS; a warp has TALL
// times 16 of the rows, and keeps their scores, weights and results in registers.
// Needs compute capability 8.0. No header of the CUDA toolkit.
// Launch: grid ((m + ROWS - 1) / ROWS, heads, batch), block 32 * WARPS, dynamic shared memory of
// 4 * ((ROWS + KEYS) * PITCH + KEYS * VALUES) bytes.

#ifndef HEAD       // given as options by helpers/attention.py
#define HEAD 64    // numbers in a query, key or value: a multiple of 32
#define WARPS 4
#define TALL 2
#define KEYS 64    // a multiple of 8
#endif
#ifndef BLOCKS
#define BLOCKS 2
#endif
#ifndef MODE
#define MODE 0
#endif
#define THREADS (32 * WARPS)
#define ROWS (WARPS * 16 * TALL)
#define PITCH (HEAD + 16)   // floats between rows of a tile, such that 8 neighbouring lanes read
#define VALUES (HEAD + 4)   // their 16 bytes from different banks
#define NOTHING (-3.4e38f)

// == bring
__device__ float4& four(float& first) { return reinterpret_cast<float4&>(first); }
__device__ float4 four(const float& first) { return reinterpret_cast<const float4&>(first); }

// 16 bytes from global to shared memory, zeros where there are none. They go there while the
// thread computes (cp.async), until `arrived`.
__device__ void bring(float* target, const float* source, bool there) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::
                 "r"((unsigned)__cvta_generic_to_shared(target)), "l"(source), "r"(there ? 16 : 0));
}

__device__ void arrived() {
    asm volatile("cp.async.wait_all;" ::: "memory");
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

// == three products
struct Split {
    unsigned big, small;
    __device__ Split() {}
    __device__ Split(float x) {
#if MODE == 0
        big = __float_as_uint(x) & 0xffffe000;
        small = __float_as_uint(x - __uint_as_float(big));
#elif MODE == 1
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(big) : "f"(x));
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(small) : "f"(x - __uint_as_float(big)));
#elif MODE == 2
        big = __float_as_uint(x) & 0xffffe000;
        small = __float_as_uint(x - __uint_as_float(big)) & 0xffffe000;
#elif MODE == 3
        big = (__float_as_uint(x) + 0x1000) & 0xffffe000;
        small = __float_as_uint(x - __uint_as_float(big)) + 0x1000;
#elif MODE == 4
        big = (__float_as_uint(x) + 0x1000) & 0xffffe000;
        small = __float_as_uint(x - __uint_as_float(big));
#endif
    }
};

// sum (16 x 8) += a (16 x 8) b (8 x 8), TF32. Of `sum` lane 4 r + c has the numbers 2 c and 2 c + 1
// of row r, then of row r + 8; of `a` the numbers c of rows r and r + 8, then c + 4 of both; of `b`
// the numbers c and c + 4 of column r.
__device__ void multiply(float (&sum)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3,
                         unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

__device__ void multiply(float (&sum)[4], const Split (&a)[4], const Split& b0, const Split& b1) {
    multiply(sum, a[0].small, a[1].small, a[2].small, a[3].small, b0.big, b1.big);
    multiply(sum, a[0].big, a[1].big, a[2].big, a[3].big, b0.small, b1.small);
    multiply(sum, a[0].big, a[1].big, a[2].big, a[3].big, b0.big, b1.big);
}

__device__ void multiply_part(int p, float (&sum)[4], const Split (&a)[4], const Split& b0, const Split& b1) {
    if (p == 0) multiply(sum, a[0].small, a[1].small, a[2].small, a[3].small, b0.big, b1.big);
    if (p == 1) multiply(sum, a[0].big, a[1].big, a[2].big, a[3].big, b0.small, b1.small);
    if (p == 2) multiply(sum, a[0].big, a[1].big, a[2].big, a[3].big, b0.big, b1.big);
}

// == attention
extern "C" __global__ void __launch_bounds__(32 * WARPS, BLOCKS)
attention(const float* q, const float* k, const float* v, float* out, int m, int n,
          float scale, int causal) {
    extern __shared__ __align__(16) float queries[];
    float* keys = queries + ROWS * PITCH;
    float* values = keys + KEYS * PITCH;

    long long head = blockIdx.z * gridDim.y + blockIdx.y;
    q += head * m * HEAD, k += head * n * HEAD, v += head * n * HEAD, out += head * m * HEAD;
    int block = causal ? gridDim.x - 1 - blockIdx.x : blockIdx.x;  // the longest work first
    int begin = block * ROWS, end = causal ? min(n, begin + ROWS) : n;  // of the keys to look at
    int lane = threadIdx.x % 32, r = lane / 4, c = lane % 4;
    int row = threadIdx.x / 32 * TALL * 16 + r;
    float per_two = scale * 1.44269504f;  // exp(x) is exp2(x log2(e))

    float result[TALL][HEAD / 8][4] = {}, top[TALL][2], sum[TALL][2] = {};
#pragma unroll
    for (int i = 0; i < TALL; i++) top[i][0] = top[i][1] = NOTHING;

    bring_rows<ROWS, PITCH>(queries, q, begin, m);
    bring_rows<KEYS, PITCH>(keys, k, 0, n);
    for (int first = 0; first < end; first += KEYS) {
        arrived();
        bring_rows<KEYS, VALUES>(values, v, first, n);  // on their way during the scores

// == scores
        // In which order the sum over d is taken is ours to choose, as long as it is the same for
        // queries and keys: lane c takes 4 c to 4 c + 3 of 16, which it loads at once.
        float score[TALL][KEYS / 8][4] = {};
#pragma unroll
        for (int step = 0; step < HEAD; step += 16) {
            int d = step + 4 * c;
            Split a[TALL][2][4];
#pragma unroll
            for (int i = 0; i < TALL; i++) {
                float4 upper = four(queries[(row + 16 * i) * PITCH + d]);
                float4 lower = four(queries[(row + 16 * i + 8) * PITCH + d]);
                a[i][0][0] = upper.x, a[i][0][1] = lower.x, a[i][0][2] = upper.y;
                a[i][0][3] = lower.y, a[i][1][0] = upper.z, a[i][1][1] = lower.z;
                a[i][1][2] = upper.w, a[i][1][3] = lower.w;
            }
#pragma unroll
            for (int j = 0; j < KEYS / 8; j++) {
                float4 key = four(keys[(8 * j + r) * PITCH + d]);
                Split x = key.x, y = key.y, z = key.z, w = key.w;
#pragma unroll
#if ORDER == 0
                for (int i = 0; i < TALL; i++) {
                    multiply(score[i][j], a[i][0], x, y);
                    multiply(score[i][j], a[i][1], z, w);
                }
#else
                for (int p = 0; p < 6; p++)
#pragma unroll
                    for (int i = 0; i < TALL; i++)
                        if (p < 3) multiply_part(p, score[i][j], a[i][0], x, y);
                        else multiply_part(p - 3, score[i][j], a[i][1], z, w);
#endif
            }
        }

// == softmax
        float shrink[TALL][2];
        if (first + KEYS > (causal ? min(n, begin + 1) : n)) {  // some keys are not to be seen
#pragma unroll
            for (int i = 0; i < TALL; i++)
#pragma unroll
                for (int j = 0; j < KEYS / 8; j++)
#pragma unroll
                    for (int e = 0; e < 4; e++)
                        if (first + 8 * j + 2 * c + e % 2 >=
                            (causal ? min(n, begin + row + 16 * i + e / 2 * 8 + 1) : n))
                            score[i][j][e] = NOTHING;
        }
#pragma unroll
        for (int i = 0; i < TALL; i++)
#pragma unroll
            for (int half = 0; half < 2; half++) {  // of the 16 rows: the upper, the lower
                float now = top[i][half];
#pragma unroll
                for (int j = 0; j < KEYS / 8; j++)
                    now = fmaxf(now, fmaxf(score[i][j][2 * half], score[i][j][2 * half + 1]));
                now = fmaxf(now, __shfl_xor_sync(0xffffffff, now, 1));
                now = fmaxf(now, __shfl_xor_sync(0xffffffff, now, 2));
                shrink[i][half] = exp2f((top[i][half] - now) * per_two);
                float shift = now * per_two;
                top[i][half] = now;
                sum[i][half] *= shrink[i][half];
#pragma unroll
                for (int j = 0; j < KEYS / 8; j++)
#pragma unroll
                    for (int e = 2 * half; e < 2 * half + 2; e++) {
                        score[i][j][e] = exp2f(score[i][j][e] * per_two - shift);
                        sum[i][half] += score[i][j][e];
                    }
#if ACC == 0
#pragma unroll
                for (int x = 0; x < HEAD / 8; x++) {
                    result[i][x][2 * half] *= shrink[i][half];
                    result[i][x][2 * half + 1] *= shrink[i][half];
                }
#endif
            }
        arrived();
        if (first + KEYS < end) bring_rows<KEYS, PITCH>(keys, k, first + KEYS, n);

// == weighted sum
        // The same freedom once more: the sum over 8 keys takes them as the scores stand in the
        // registers, 2 c and 2 c + 1 for c and c + 4. And lane r loads the columns 4 r to 4 r + 3
        // of 32, which are column r of four products.
#if ACC == 0
#pragma unroll
        for (int j = 0; j < KEYS / 8; j++) {
            Split a[TALL][4];
#pragma unroll
            for (int i = 0; i < TALL; i++) {
                a[i][0] = score[i][j][0], a[i][1] = score[i][j][2];
                a[i][2] = score[i][j][1], a[i][3] = score[i][j][3];
            }
#pragma unroll
            for (int x = 0; x < HEAD / 32; x++) {
                const float* value = values + (8 * j + 2 * c) * VALUES + 32 * x + 4 * r;
                float even[4], odd[4];
                four(even[0]) = four(value[0]);
                four(odd[0]) = four(value[VALUES]);
#pragma unroll
#if ORDER == 0
                for (int y = 0; y < 4; y++) {
                    Split b0 = even[y], b1 = odd[y];
#pragma unroll
                    for (int i = 0; i < TALL; i++) multiply(result[i][4 * x + y], a[i], b0, b1);
                }
#else
                for (int y = 0; y < 4; y++) {
                    Split b0 = even[y], b1 = odd[y];
#pragma unroll
                    for (int p = 0; p < 3; p++)
#pragma unroll
                    for (int i = 0; i < TALL; i++) multiply_part(p, result[i][4 * x + y], a[i], b0, b1);
                }
#endif
            }
        }
#elif ACC == 1
#pragma unroll
        for (int x = 0; x < HEAD / 32; x++) {
            float part[TALL][4][4] = {};
#pragma unroll
            for (int j = 0; j < KEYS / 8; j++) {
                Split a[TALL][4];
#pragma unroll
                for (int i = 0; i < TALL; i++) {
                    a[i][0] = score[i][j][0], a[i][1] = score[i][j][2];
                    a[i][2] = score[i][j][1], a[i][3] = score[i][j][3];
                }
                const float* value = values + (8 * j + 2 * c) * VALUES + 32 * x + 4 * r;
                float even[4], odd[4];
                four(even[0]) = four(value[0]);
                four(odd[0]) = four(value[VALUES]);
#pragma unroll
                for (int y = 0; y < 4; y++) {
                    Split b0 = even[y], b1 = odd[y];
#pragma unroll
                    for (int i = 0; i < TALL; i++) multiply(part[i][y], a[i], b0, b1);
                }
            }
#pragma unroll
            for (int i = 0; i < TALL; i++)
#pragma unroll
                for (int y = 0; y < 4; y++)
#pragma unroll
                    for (int e = 0; e < 4; e++) result[i][4 * x + y][e] = result[i][4 * x + y][e] * shrink[i][e / 2] + part[i][y][e];
        }
#elif ACC == 2
        {
            float part[TALL][HEAD / 8][4] = {};
#pragma unroll
            for (int j = 0; j < KEYS / 8; j++) {
                Split a[TALL][4];
#pragma unroll
                for (int i = 0; i < TALL; i++) {
                    a[i][0] = score[i][j][0], a[i][1] = score[i][j][2];
                    a[i][2] = score[i][j][1], a[i][3] = score[i][j][3];
                }
#pragma unroll
                for (int x = 0; x < HEAD / 32; x++) {
                const float* value = values + (8 * j + 2 * c) * VALUES + 32 * x + 4 * r;
                float even[4], odd[4];
                four(even[0]) = four(value[0]);
                four(odd[0]) = four(value[VALUES]);
#pragma unroll
                for (int y = 0; y < 4; y++) {
                    Split b0 = even[y], b1 = odd[y];
#pragma unroll
                    for (int i = 0; i < TALL; i++) multiply(part[i][4 * x + y], a[i], b0, b1);
                }
                }
            }
#pragma unroll
            for (int i = 0; i < TALL; i++)
#pragma unroll
                for (int y = 0; y < HEAD / 8; y++)
#pragma unroll
                    for (int e = 0; e < 4; e++) result[i][y][e] = result[i][y][e] * shrink[i][e / 2] + part[i][y][e];
        }
#elif ACC == 3
        // a warp's first row tiles one after the other
#pragma unroll
        for (int i = 0; i < TALL; i++) {
            float part[HEAD / 8][4] = {};
#pragma unroll
            for (int j = 0; j < KEYS / 8; j++) {
                Split a[4];
                a[0] = score[i][j][0], a[1] = score[i][j][2];
                a[2] = score[i][j][1], a[3] = score[i][j][3];
#pragma unroll
                for (int x = 0; x < HEAD / 32; x++) {
                const float* value = values + (8 * j + 2 * c) * VALUES + 32 * x + 4 * r;
                float even[4], odd[4];
                four(even[0]) = four(value[0]);
                four(odd[0]) = four(value[VALUES]);
#pragma unroll
                for (int y = 0; y < 4; y++) {
                    Split b0 = even[y], b1 = odd[y];
                    multiply(part[4 * x + y], a, b0, b1);
                }
                }
            }
#pragma unroll
                for (int y = 0; y < HEAD / 8; y++)
#pragma unroll
                    for (int e = 0; e < 4; e++) result[i][y][e] = result[i][y][e] * shrink[i][e / 2] + part[y][e];
        }
#endif
    }

// == store
#pragma unroll
    for (int i = 0; i < TALL; i++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float all = sum[i][half];
            all += __shfl_xor_sync(0xffffffff, all, 1);
            all += __shfl_xor_sync(0xffffffff, all, 2);
            float share = 1 / all;
            int line = begin + row + 16 * i + 8 * half;
            if (line >= m) continue;
#pragma unroll
            for (int x = 0; x < HEAD / 32; x++)
#pragma unroll
                for (int odd = 0; odd < 2; odd++) {
                    int e = 2 * half + odd;
                    four(out[(long long)line * HEAD + 32 * x + 8 * c + 4 * odd]) = make_float4(
                        result[i][4 * x][e] * share, result[i][4 * x + 1][e] * share,
                        result[i][4 * x + 2][e] * share, result[i][4 * x + 3][e] * share);
                }
        }
}
