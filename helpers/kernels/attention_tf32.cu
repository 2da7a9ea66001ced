// out = softmax(scale * Q K^T) V for each head, float32 arrays, on tensor cores, and without ever
// storing the m x n scores (FlashAttention-2, arXiv 2307.08691). Tensor cores multiply TF32: the
// exponent of float32, but 10 bits of mantissa for 23. So each number is split into two of them,
// x = big + small, and each product is three: small * big + big * small + big * big (Ootomo and
// Yokota, arXiv 2203.03341); small * small, 2^-22 of the product, is left out. Tensor cores also
// cut off where float32 additions round, so that long sums drift downwards (ibid.). Therefore they
// sum one tile's values only; the tiles are added up by ordinary additions.
// q, out: (batch, heads, m, HEAD), k, v: (batch, heads, n, HEAD), contiguous, beginning at
// multiples of 16 bytes; any m and n. With `causal` query i sees the keys 0 to i.
// A block has ROWS queries and passes over the keys and values in tiles of KEYS; a warp has TALL
// times 16 of the rows, and keeps their scores, weights and results in registers.
// Needs compute capability 8.0, no header of the CUDA toolkit.
// Launch: grid ((m + ROWS - 1) / ROWS, heads, batch), block 32 * WARPS, dynamic shared memory of
// 4 * ((ROWS + KEYS) * PITCH + KEYS * VALUES) bytes.

#ifndef HEAD      // helpers/attention.py gives all four
#define HEAD 64   // numbers in a query, key or value: a multiple of 32
#define WARPS 4
#define TALL 2
#define KEYS 64   // a multiple of 8
#endif
#define THREADS (32 * WARPS)
#define ROWS (16 * WARPS * TALL)
#define PITCH (HEAD + 16)  // floats between rows of a tile, such that 8 neighbouring lanes
#define VALUES (HEAD + 4)  // read their 16 bytes from different banks
#define NOTHING (-3.4e38f)

// == as four
__device__ float4& four(float& first) { return reinterpret_cast<float4&>(first); }
__device__ float4 four(const float& first) { return reinterpret_cast<const float4&>(first); }

// == bring
// 16 bytes from global to shared memory, zeros where there are none. They go there while the
// thread computes (cp.async), until `arrived`.
__device__ void bring(float* target, const float* source, bool there) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::
                 "r"((unsigned)__cvta_generic_to_shared(target)), "l"(source), "r"(there ? 16 : 0));
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

// == three products
struct Split {
    unsigned big, small;
    __device__ Split() {}
    __device__ Split(float x) {
        big = (__float_as_uint(x) + 0x1000) & 0xffffe000;    // rounded to 10 bits of mantissa
        small = __float_as_uint(x - __uint_as_float(big));   // whose last 13 bits are not read
    }
};

// sum (16 x 8) += a (16 x 8) b (8 x 8). Lane 4 r + c of the warp has, of `sum`, the numbers 2 c and
// 2 c + 1 of row r, then of row r + 8; of `a` the number c of the rows r and r + 8, then c + 4 of
// both; of `b` the numbers c and c + 4 of column r (PTX ISA, "Matrix Fragments for mma").
__device__ void multiply(float (&sum)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3,
                         unsigned b0, unsigned b1) {
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
#else
    __trap();
#endif
}

__device__ void multiply(float (&sum)[4], const Split (&a)[4], const Split& b0, const Split& b1) {
    multiply(sum, a[0].small, a[1].small, a[2].small, a[3].small, b0.big, b1.big);
    multiply(sum, a[0].big, a[1].big, a[2].big, a[3].big, b0.small, b1.small);
    multiply(sum, a[0].big, a[1].big, a[2].big, a[3].big, b0.big, b1.big);
}

// == attention
extern "C" __global__ void __launch_bounds__(THREADS)
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

    float result[TALL][HEAD / 8][4] = {}, top[TALL][2], sum[TALL][2] = {}, shrink[TALL][2];
#pragma unroll
    for (int i = 0; i < TALL; i++) top[i][0] = top[i][1] = NOTHING;

    bring_rows<ROWS, PITCH>(queries, q, begin, m);
    bring_rows<KEYS, PITCH>(keys, k, 0, n);
    for (int first = 0; first < end; first += KEYS) {
        arrived();
        bring_rows<KEYS, VALUES>(values, v, first, n);  // on their way during the scores

// == scores
        // The sum over d may be taken in any order that is the same for queries and keys: lane c
        // takes 4 c to 4 c + 3 of 16, which it loads at once.
        float score[TALL][KEYS / 8][4] = {};
#pragma unroll
        for (int d = 0; d < HEAD; d += 16) {
            Split a[TALL][2][4];
#pragma unroll
            for (int i = 0; i < TALL; i++)
#pragma unroll
                for (int low = 0; low < 2; low++) {  // of the 16 rows: the upper 8, the lower 8
                    float4 x = four(queries[(row + 16 * i + 8 * low) * PITCH + d + 4 * c]);
                    a[i][0][low] = x.x, a[i][0][low + 2] = x.y;
                    a[i][1][low] = x.z, a[i][1][low + 2] = x.w;
                }
#pragma unroll
            for (int j = 0; j < KEYS / 8; j++) {
                float4 x = four(keys[(8 * j + r) * PITCH + d + 4 * c]);
                Split b[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
                for (int i = 0; i < TALL; i++) {
                    multiply(score[i][j], a[i][0], b[0], b[1]);
                    multiply(score[i][j], a[i][1], b[2], b[3]);
                }
            }
        }

// == softmax
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
            for (int low = 0; low < 2; low++) {
                float most = top[i][low];
#pragma unroll
                for (int j = 0; j < KEYS / 8; j++)
                    most = fmaxf(most, fmaxf(score[i][j][2 * low], score[i][j][2 * low + 1]));
                most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, 1));
                most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, 2));
                shrink[i][low] = exp2f((top[i][low] - most) * per_two);
                top[i][low] = most;
                sum[i][low] *= shrink[i][low];  // of this lane's keys only, until the end
                float shift = most * per_two;
#pragma unroll
                for (int j = 0; j < KEYS / 8; j++)
#pragma unroll
                    for (int e = 2 * low; e < 2 * low + 2; e++) {
                        score[i][j][e] = exp2f(score[i][j][e] * per_two - shift);
                        sum[i][low] += score[i][j][e];
                    }
            }
        arrived();
        if (first + KEYS < end) bring_rows<KEYS, PITCH>(keys, k, first + KEYS, n);

// == weighted sum
        // The same freedom again: of 8 keys lane c takes 2 c and 2 c + 1, whose weights it has. And
        // lane r loads the columns 4 r to 4 r + 3 of 32, each for another of four products.
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
            for (int x = 0; x < HEAD / 8; x++)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    result[i][x][e] = result[i][x][e] * shrink[i][e / 2] + part[i][x][e];
    }

// == store
#pragma unroll
    for (int i = 0; i < TALL; i++)
#pragma unroll
        for (int low = 0; low < 2; low++) {
            float all = sum[i][low];
            all += __shfl_xor_sync(0xffffffff, all, 1);
            all += __shfl_xor_sync(0xffffffff, all, 2);
            float share = 1 / all;
            int line = begin + row + 16 * i + 8 * low;
            if (line >= m) continue;
#pragma unroll
            for (int x = 0; x < HEAD / 8; x += 4)
#pragma unroll
                for (int odd = 0; odd < 2; odd++) {
                    int e = 2 * low + odd;
                    four(out[(long long)line * HEAD + 8 * x + 8 * c + 4 * odd]) = make_float4(
                        result[i][x][e] * share, result[i][x + 1][e] * share,
                        result[i][x + 2][e] * share, result[i][x + 3][e] * share);
                }
        }
}
