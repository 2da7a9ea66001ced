// out = softmax(scale * q K^T) V for few queries over many keys, float32. The keys of a query are
// split into pieces, a block for each, so that all multiprocessors read keys, also for a single
// query (Flash-Decoding, Dao et al., crfm.stanford.edu/2023/10/12/flashdecoding.html).
// q, out: (heads, m, HEAD), k, v: (heads, n, HEAD), contiguous, beginning at multiples of 16 bytes.
// With `causal` query i sees the keys 0 to i.
// Eight lanes share a key: lane `part` of them has its float4 numbers part, part + 8, ... So a warp
// has 4 keys at a time, and 4 * KEYS in a round of its loop. All loads of a round, of keys and of
// values, are in flight before the first number is used.
// Launch: grid heads * m * pieces, block 32 * WARPS. `tops`, `totals` (a number for each block) and
// `sums` (HEAD numbers for each block) are what a block leaves for the last one of its query;
// `done` has a counter for each query, 0 before the launch and after it. pieces <= 32 * WARPS.

#ifndef HEAD     // helpers/attention.py gives all three
#define HEAD 64  // numbers in a query, key or value: 32, 64 or 128
#define WARPS 8
#define KEYS 4
#endif
#define THREADS (32 * WARPS)
#define FOURS (HEAD / 4)     // float4 in a row
#define PARTS (HEAD / 32)    // of them in a lane
#define LOWEST (-1e38f)      // less than any score; the largest score before the first key
#define NOTHING (-3.4e38f)   // a score whose power is 0 beside LOWEST: of a key that is not there

// == float4
__device__ float dot(float4 a, float4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }

__device__ float4 scaled(float4 a, float f) {
    return make_float4(a.x * f, a.y * f, a.z * f, a.w * f);
}

// a + f * b
__device__ float4 plus(float4 a, float4 b, float f) {
    return make_float4(a.x + f * b.x, a.y + f * b.y, a.z + f * b.z, a.w + f * b.w);
}

__device__ float of_lane(float a, int bit) {  // that of the lane whose number differs in one bit
    return __shfl_xor_sync(0xffffffff, a, bit);
}

__device__ float4 of_lane(float4 a, int bit) {
    return make_float4(of_lane(a.x, bit), of_lane(a.y, bit), of_lane(a.z, bit), of_lane(a.w, bit));
}

// == merge
// All threads of a block merge the pieces of one query: thread p has the top and total of piece p.
__device__ void merge_pieces(const float* tops, const float* totals, const float4* sums,
                             float4* out, int pieces) {
    const int ROWS = THREADS / FOURS;  // pieces that are added at the same time
    __shared__ float factors[THREADS], of_warp[WARPS], total_of_warp[WARPS];
    __shared__ float4 partial[ROWS][FOURS];
    int t = threadIdx.x, row = t / FOURS, column = t % FOURS;

    float top = t < pieces ? tops[t] : NOTHING, most = top;
    for (int bit = 16; bit > 0; bit /= 2) most = fmaxf(most, of_lane(most, bit));
    if (t % 32 == 0) of_warp[t / 32] = most;
    __syncthreads();
    for (int w = 0; w < WARPS; w++) most = fmaxf(most, of_warp[w]);

    float factor = exp2f(top - most), total = t < pieces ? factor * totals[t] : 0;
    factors[t] = factor;
    for (int bit = 16; bit > 0; bit /= 2) total += of_lane(total, bit);
    if (t % 32 == 0) total_of_warp[t / 32] = total;
    __syncthreads();

    float4 sum = {};
#pragma unroll 8
    for (int p = row; p < pieces; p += ROWS) sum = plus(sum, sums[p * FOURS + column], factors[p]);
    partial[row][column] = sum;
    __syncthreads();
    if (row > 0) return;
    for (int r = 1; r < ROWS; r++) sum = plus(sum, partial[r][column], 1);
    total = 0;
    for (int w = 0; w < WARPS; w++) total += total_of_warp[w];
    out[column] = scaled(sum, 1 / total);
}

// == attention
extern "C" __global__ void __launch_bounds__(THREADS)
attention(const float4* q, const float4* k, const float4* v, float4* out, float* tops,
          float* totals, float4* sums, unsigned* done, int m, int n, int pieces, int each,
          float scale, int causal) {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = lane / 8, part = lane % 8;
    int query = blockIdx.x / pieces, piece = blockIdx.x % pieces;
    int begin = piece * each;  // the block's keys; there may be none
    int end = min(causal ? min(n, query % m + 1) : n, begin + each);
    q += (long long)query * FOURS;
    k += (long long)(query / m) * n * FOURS;
    v += (long long)(query / m) * n * FOURS;
    out += (long long)query * FOURS;

    float4 mine[PARTS], sum[PARTS] = {};  // of the query and of the weighted sum of values
    float top = LOWEST, total = 0;
    for (int c = 0; c < PARTS; c++)
        mine[c] = scaled(q[part + 8 * c], scale * 1.44269504f);  // exp(x) is exp2(x log2(e))

    for (int first = begin + 4 * KEYS * warp; first < end; first += 4 * KEYS * WARPS) {
        float4 key[KEYS][PARTS], value[KEYS][PARTS];
        float score[KEYS], most = top;
#pragma unroll
        for (int r = 0; r < KEYS; r++)
#pragma unroll
            for (int c = 0; c < PARTS; c++) {
                long long place = min(first + 4 * r + group, end - 1);
                key[r][c] = k[place * FOURS + part + 8 * c];
                value[r][c] = v[place * FOURS + part + 8 * c];
            }
#pragma unroll
        for (int r = 0; r < KEYS; r++) {
            score[r] = 0;
#pragma unroll
            for (int c = 0; c < PARTS; c++) score[r] += dot(mine[c], key[r][c]);
            for (int bit = 4; bit > 0; bit /= 2)  // the eight lanes of the key
                score[r] += of_lane(score[r], bit);
            if (first + 4 * r + group >= end) score[r] = NOTHING;
            most = fmaxf(most, score[r]);
        }
        float fade = exp2f(top - most);
        top = most;
        total *= fade;
#pragma unroll
        for (int c = 0; c < PARTS; c++) sum[c] = scaled(sum[c], fade);
#pragma unroll
        for (int r = 0; r < KEYS; r++) {
            float power = exp2f(score[r] - most);
            total += power;
#pragma unroll
            for (int c = 0; c < PARTS; c++) sum[c] = plus(sum[c], value[r][c], power);
        }
    }

// == block
    for (int bit = 8; bit < 32; bit *= 2) {  // the four groups of the warp
        float most = fmaxf(top, of_lane(top, bit)), fade = exp2f(top - most);
        top = most;
        total *= fade;
        total += of_lane(total, bit);
#pragma unroll
        for (int c = 0; c < PARTS; c++) {
            sum[c] = scaled(sum[c], fade);
            sum[c] = plus(sum[c], of_lane(sum[c], bit), 1);
        }
    }
    __shared__ float top_of[WARPS], total_of[WARPS];
    __shared__ float4 sum_of[WARPS][FOURS];
    if (lane == 0) top_of[warp] = top, total_of[warp] = total;
    if (group == 0)
        for (int c = 0; c < PARTS; c++) sum_of[warp][part + 8 * c] = sum[c];
    __syncthreads();
    if (threadIdx.x < FOURS) {  // the warps of the block
        float4 all = {};
        total = 0;
        for (int w = 0; w < WARPS; w++) top = fmaxf(top, top_of[w]);
        for (int w = 0; w < WARPS; w++) {
            float factor = exp2f(top_of[w] - top);
            total += factor * total_of[w];
            all = plus(all, sum_of[w][threadIdx.x], factor);
        }
        if (pieces == 1) {
            out[threadIdx.x] = scaled(all, 1 / total);
        } else {
            sums[(long long)blockIdx.x * FOURS + threadIdx.x] = all;
            if (threadIdx.x == 0) tops[blockIdx.x] = top, totals[blockIdx.x] = total;
        }
    }
    if (pieces == 1) return;

// == last
// The block that counts to `pieces` is the last of its query. The fences order its loads behind the
// other blocks' stores, and each block's stores before its count.
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(&done[query], 1u) == pieces - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    piece = query * pieces;
    merge_pieces(tops + piece, totals + piece, sums + (long long)piece * FOURS, out, pieces);
    if (threadIdx.x == 0) done[query] = 0;  // for the next launch
}
