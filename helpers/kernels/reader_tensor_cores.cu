// The whole digit reader in one kernel: float16 products on tensor cores. A block of 8 warps reads
// 16 digits, and all that lies between the images and the logits stays in its shared memory.
// A tensor core multiplies tiles of 16 x 16 numbers. Here a digit is a row of each tile, so that
// every layer becomes products of tiles: of 16 digits at one pixel or position by a matrix.
// helpers/one_kernel.py packs the weights and launches: grid (n + 15) / 16, block 256, dynamic
// shared memory of sizeof(Shared) bytes. Needs mma.h of the CUDA toolkit and compute capability 7.5
// (before, a fragment of float sums and one of half sums give a lane different elements).
// With -DFAST, tanh is one instruction for two numbers, which is less exact.
// With -DBYTES, images are bytes from 0 to 255, and each answer is one byte: the digit.
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

const int DIGITS = 16;     // of a block: the rows of a tile
const int WARPS = 8;
const int THREADS = 32 * WARPS;
const int CHANNELS = 32;   // of the convolutions, then the features of a position
const int POSITIONS = 16;  // 4 x 4, after the maximum of 2 x 2 pixels
const int SIDE = 8;        // pixels of a row and of a column of an image
const int FRAMED = 10;     // the same with a frame of zeros around it
const int RING = 5;        // rows of conv1's result that are kept: all that 4 rows of conv2 need
// 16 lanes that read 16 rows at once need different banks. Rows of 32 halves are 16 banks apart, so
// every second row would begin in the same bank. With 8 more halves, 8 rows fill all 32 banks.
const int PAD = 8;

typedef half Tile[DIGITS][CHANNELS + PAD];  // 16 digits at a pixel or a position

typedef wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> Left;
typedef wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> Right;
typedef wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> Transposed;
typedef wmma::fragment<wmma::accumulator, 16, 16, 16, float> Sums;
typedef wmma::fragment<wmma::accumulator, 16, 16, 16, half> HalfSums;

// == weights
// As the host packs them: (inputs, outputs), each row with its padding.
struct Layers {
    half qkv[CHANNELS][3 * CHANNELS + PAD];  // query (already divided by 4), key, value
    half out[CHANNELS][CHANNELS + PAD], mlp1[CHANNELS][2 * CHANNELS + PAD];
    half mlp2[2 * CHANNELS][CHANNELS + PAD];
};
struct Weights {
    half conv2[9][CHANNELS][CHANNELS + PAD];
    Layers layers;
    half conv1[16][CHANNELS + PAD];  // 9 weights and the bias of each channel, 6 rows of zeros
};
struct Norm {
    float scale[CHANNELS], shift[CHANNELS];
};
struct Vectors {
    float position[POSITIONS][CHANNELS], conv2[CHANNELS];
    Norm norm1;
    float qkv[3 * CHANNELS], out[CHANNELS];
    Norm norm2;
    float mlp1[2 * CHANNELS], mlp2[CHANNELS];
    Norm norm3;
    float head_weight[CHANNELS][10], head[10];
};
__constant__ Vectors same;  // for numbers that all lanes of a warp read at once (lesson 12)

// == shared memory
// Query, key and value of 16 digits at one position, 2 heads each; later the MLP's 64 features.
struct Position {
    half part[6][DIGITS][16];  // 0, 1: query, then the answers; 2, 3: key; 4, 5: value
    half pad[16];              // a digit's 16 positions are rows of a tile: 776 words apart
};
struct Shared {
    union {  // the convolutions' numbers, then those of the layers after them
        struct {
            Tile conv1[RING][SIDE];
            half weights[9][CHANNELS][CHANNELS + PAD];
        } pixels;
        struct {
            Position at[POSITIONS];
            Layers weights;
            float qkv[3 * CHANNELS], mlp1[2 * CHANNELS];  // biases
        } rows;
    };
    Tile x[POSITIONS];  // what each layer adds to
    union {  // what only one stage needs
        struct {
            half images[DIGITS][FRAMED * FRAMED + 2];  // 51 words apart: an odd number
            half weights[16][CHANNELS + PAD];
            float bias[CHANNELS];
            half patches[WARPS][2][DIGITS][16];
        } first;
        Tile normed[POSITIONS];
        struct {
            float scores[WARPS][16][16 + 4];
            half weights[WARPS][16][16 + PAD];
        } attention;
    };
};

// == activation
__device__ half2 tanh2(half2 x) {
#ifdef FAST
    unsigned int bits = *(unsigned int*)&x, result;
    asm("tanh.approx.f16x2 %0, %1;" : "=r"(result) : "r"(bits));
    return *(half2*)&result;
#else
    float2 v = __half22float2(x);
    return __floats2half2_rn(tanhf(v.x), tanhf(v.y));
#endif
}

// GELU of two numbers at once: h (1 + tanh(0.7979 x + 0.03568 x^3)), where h = x / 2
__device__ half2 gelu(half2 x) {
    half2 factor = __hfma2(__hmul2(x, x), __float2half2_rn(0.0356774081f),
                           __float2half2_rn(0.7978845608f));
    half2 h = __hmul2(x, __float2half2_rn(0.5f));
    return __hfma2(h, tanh2(__hmul2(x, factor)), h);
}

// A lane has 8 of a fragment's 256 numbers, at the same places in fragments of float and of half.
__device__ half2 pair(const HalfSums& c, int i) { return __halves2half2(c.x[i], c.x[i + 1]); }
__device__ half2 pair(const Sums& c, int i) { return __floats2half2_rn(c.x[i], c.x[i + 1]); }
__device__ void set_pair(HalfSums& c, int i, half2 value) {
    c.x[i] = __low2half(value);
    c.x[i + 1] = __high2half(value);
}
template <class Fragment> __device__ HalfSums gelus(const Fragment& c) {
    HalfSums result;
#pragma unroll
    for (int i = 0; i < 8; i += 2) set_pair(result, i, gelu(pair(c, i)));
    return result;
}
__device__ void store(half* to, const Sums& c, int row_length) {
    HalfSums rounded;
#pragma unroll
    for (int i = 0; i < 8; i += 2) set_pair(rounded, i, pair(c, i));
    wmma::store_matrix_sync(to, rounded, row_length, wmma::mem_row_major);
}

// == load
#ifdef BYTES  // bytes from 0 to 255 go in, and a byte for each digit comes out
typedef unsigned char Ink, Answer;
const float INK = 1.0f / 255;
const int ANSWERS = 1;  // of a digit
#else
typedef float Ink, Answer;
const float INK = 1.0f;
const int ANSWERS = 10;
#endif
__device__ void copy(void* to, const void* from, int bytes) {  // multiples of 16
    for (int i = threadIdx.x; i < bytes / 16; i += THREADS)
        ((uint4*)to)[i] = ((const uint4*)from)[i];
}

__device__ void load(Shared& s, const Ink* images, const Weights& weights, const Vectors& vectors,
                     int digits) {
    for (int i = threadIdx.x; i < DIGITS * FRAMED * FRAMED; i += THREADS) {
        int digit = i / (FRAMED * FRAMED), pixel = i % (FRAMED * FRAMED);
        int y = pixel / FRAMED - 1, x = pixel % FRAMED - 1;
        bool inside = y >= 0 && y < SIDE && x >= 0 && x < SIDE && digit < digits;
        float ink = inside ? INK * images[digit * SIDE * SIDE + y * SIDE + x] : 0;
        s.first.images[digit][pixel] = __float2half(ink);
    }
    if (threadIdx.x < CHANNELS) s.first.bias[threadIdx.x] = vectors.conv2[threadIdx.x];
    copy(s.first.weights, weights.conv1, sizeof(weights.conv1));
    copy(s.pixels.weights, weights.conv2, sizeof(weights.conv2));
}

// == conv1
// Pixels from `begin` to `end`, a warp two at a time: each lane collects the neighbourhood of one
// digit at one of both pixels: 9 numbers, a 1 that the bias is multiplied by, and 6 zeros.
__device__ void conv1(Shared& s, int begin, int end) {
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    half(*patches)[DIGITS][16] = s.first.patches[warp];
    Right weights[2];
    for (int c = 0; c < 2; c++)
        wmma::load_matrix_sync(weights[c], &s.first.weights[0][16 * c], CHANNELS + PAD);
    for (int first = begin + 2 * warp; first < end; first += 2 * WARPS) {
        int mine = first + lane / 16, digit = lane % 16;
        const half* corner = &s.first.images[digit][mine / SIDE * FRAMED + mine % SIDE];
        half v[16];
#pragma unroll
        for (int k = 0; k < 16; k++)
            v[k] = k < 9 ? corner[k / 3 * FRAMED + k % 3] : __float2half(k == 9 ? 1.0f : 0.0f);
        half2 packed[8];
#pragma unroll
        for (int k = 0; k < 8; k++) packed[k] = __halves2half2(v[2 * k], v[2 * k + 1]);
        uint4* row = (uint4*)patches[lane / 16][digit];
        row[0] = ((uint4*)packed)[0];
        row[1] = ((uint4*)packed)[1];
        __syncwarp();
        for (int k = 0; k < 2; k++) {
            int pixel = first + k;
            half* to = &s.pixels.conv1[pixel / SIDE % RING][pixel % SIDE][0][0];
            Left patch;
            wmma::load_matrix_sync(patch, &patches[k][0][0], 16);
#pragma unroll
            for (int c = 0; c < 2; c++) {
                HalfSums sum;
                wmma::fill_fragment(sum, __float2half(0.0f));
                wmma::mma_sync(sum, patch, weights[c], sum);
                wmma::store_matrix_sync(to + 16 * c, gelus(sum), CHANNELS + PAD,
                                        wmma::mem_row_major);
            }
        }
        __syncwarp();
    }
}

// == conv2, GELU and the maximum
// A warp has one position: 2 x 2 pixels, 32 channels, so 8 tiles of sums. A tile of weights serves
// all four pixels. Neighbours outside of the image are left out, not multiplied by zeros.
__device__ void conv2(Shared& s, int position) {
    int top = 2 * (position / 4), left = 2 * (position % 4);
    Sums sums[4][2];
#pragma unroll
    for (int pixel = 0; pixel < 4; pixel++)
#pragma unroll
        for (int c = 0; c < 2; c++)  // a row length of 0: the bias in each row
            wmma::load_matrix_sync(sums[pixel][c], s.first.bias + 16 * c, 0, wmma::mem_row_major);
#pragma unroll
    for (int k = 0; k < 9; k++)
#pragma unroll
        for (int from = 0; from < CHANNELS; from += 16) {  // of the channels that go in
            Right weights[2];
#pragma unroll
            for (int c = 0; c < 2; c++)
                wmma::load_matrix_sync(weights[c], &s.pixels.weights[k][from][16 * c],
                                       CHANNELS + PAD);
#pragma unroll
            for (int pixel = 0; pixel < 4; pixel++) {
                int y = top + pixel / 2 + k / 3 - 1, x = left + pixel % 2 + k % 3 - 1;
                if (y < 0 || y >= SIDE || x < 0 || x >= SIDE) continue;
                Left neighbour;
                wmma::load_matrix_sync(neighbour, &s.pixels.conv1[y % RING][x][0][from],
                                       CHANNELS + PAD);
#pragma unroll
                for (int c = 0; c < 2; c++)
                    wmma::mma_sync(sums[pixel][c], neighbour, weights[c], sums[pixel][c]);
            }
        }
#pragma unroll
    for (int c = 0; c < 2; c++) {
        HalfSums most = gelus(sums[0][c]);
#pragma unroll
        for (int pixel = 1; pixel < 4; pixel++)
#pragma unroll
            for (int i = 0; i < 8; i += 2)
                set_pair(most, i, __hmax2(pair(most, i), gelu(pair(sums[pixel][c], i))));
        wmma::store_matrix_sync(&s.x[position][0][16 * c], most, CHANNELS + PAD,
                                wmma::mem_row_major);
    }
}

// == layer norm
// A thread has a row: the 32 features of one digit at one position, read as 16 bytes four times.
__device__ void read_row(const half* row, float* v) {
#pragma unroll
    for (int i = 0; i < CHANNELS; i += 8) {
        uint4 bytes = *(const uint4*)(row + i);
        const half2* pairs = (const half2*)&bytes;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            float2 both = __half22float2(pairs[k]);
            v[i + 2 * k] = both.x;
            v[i + 2 * k + 1] = both.y;
        }
    }
}
__device__ void write_row(half* row, const float* v) {
#pragma unroll
    for (int i = 0; i < CHANNELS; i += 8) {
        uint4 bytes;
        half2* pairs = (half2*)&bytes;
#pragma unroll
        for (int k = 0; k < 4; k++) pairs[k] = __floats2half2_rn(v[i + 2 * k], v[i + 2 * k + 1]);
        *(uint4*)(row + i) = bytes;
    }
}
// x += bias, normed = layer norm of x
__device__ void add_and_norm(Shared& s, const float* bias, const Norm& norm) {
    int position = threadIdx.x / DIGITS, digit = threadIdx.x % DIGITS;
    float v[CHANNELS], mean = 0, variance = 0;
    read_row(s.x[position][digit], v);
#pragma unroll
    for (int i = 0; i < CHANNELS; i++) v[i] += bias[i];
    write_row(s.x[position][digit], v);
#pragma unroll
    for (int i = 0; i < CHANNELS; i++) mean += v[i] * (1.0f / CHANNELS);
#pragma unroll
    for (int i = 0; i < CHANNELS; i++) {
        v[i] -= mean;
        variance += v[i] * v[i];
    }
    float scale = rsqrtf(variance * (1.0f / CHANNELS) + 1e-5f);
#pragma unroll
    for (int i = 0; i < CHANNELS; i++) v[i] = v[i] * scale * norm.scale[i] + norm.shift[i];
    write_row(s.normed[position][digit], v);
}

// == linear layers
// The 32 features of 16 digits at one position, for several products.
struct Features {
    Left half_of[2];
    __device__ Features(const Tile& tile) {
        wmma::load_matrix_sync(half_of[0], &tile[0][0], CHANNELS + PAD);
        wmma::load_matrix_sync(half_of[1], &tile[0][16], CHANNELS + PAD);
    }
};

// bias + features times 16 columns of a matrix.
__device__ Sums linear(const Features& features, const half* weights, int row_length,
                       const float* bias) {
    Sums sum;
    wmma::load_matrix_sync(sum, bias, 0, wmma::mem_row_major);  // the bias in each row
#pragma unroll
    for (int k = 0; k < 2; k++) {
        Right right;
        wmma::load_matrix_sync(right, weights + 16 * k * row_length, row_length);
        wmma::mma_sync(sum, features.half_of[k], right, sum);
    }
    return sum;
}

// x += parts (each 16 digits, 16 features) times a matrix with 32 columns. The bias comes later.
template <int parts>
__device__ void add_product(Tile& x, const half (*part)[DIGITS][16],
                            const half (*weights)[CHANNELS + PAD]) {
    for (int c = 0; c < CHANNELS; c += 16) {
        HalfSums sum;
        wmma::load_matrix_sync(sum, &x[0][c], CHANNELS + PAD, wmma::mem_row_major);
#pragma unroll
        for (int k = 0; k < parts; k++) {
            Left left;
            Right right;
            wmma::load_matrix_sync(left, &part[k][0][0], 16);
            wmma::load_matrix_sync(right, &weights[16 * k][c], CHANNELS + PAD);
            wmma::mma_sync(sum, left, right, sum);
        }
        wmma::store_matrix_sync(&x[0][c], sum, CHANNELS + PAD, wmma::mem_row_major);
    }
}

// == attention
// The softmax of each row of scores; two lanes have a row, 8 numbers each.
__device__ void softmax(const float (*scores)[16 + 4], half (*weights)[16 + PAD]) {
    int row = threadIdx.x % 32 / 2, column = threadIdx.x % 2 * 8;
    float e[8], most = -1e30f, sum = 0;
    for (int i = 0; i < 8; i++) {
        e[i] = scores[row][column + i];
        most = fmaxf(most, e[i]);
    }
    most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, 1));
    for (int i = 0; i < 8; i++) {
        e[i] = __expf(e[i] - most);
        sum += e[i];
    }
    sum += __shfl_xor_sync(0xffffffff, sum, 1);
    for (int i = 0; i < 8; i++) weights[row][column + i] = __float2half(e[i] * (1 / sum));
}

// One digit and one head by a warp: 16 positions, 16 features. The answers replace the queries.
__device__ void attend(Shared& s, int digit, int head) {
    const int next = sizeof(Position) / sizeof(half);  // from one position to the next
    int warp = threadIdx.x / 32;
    half *query = s.rows.at[0].part[head][digit], *key = s.rows.at[0].part[2 + head][digit],
         *value = s.rows.at[0].part[4 + head][digit];
    Left left;
    Transposed keys;
    Right values;
    Sums sum;
    wmma::load_matrix_sync(left, query, next);
    wmma::load_matrix_sync(keys, key, next);
    wmma::fill_fragment(sum, 0.0f);
    wmma::mma_sync(sum, left, keys, sum);
    wmma::store_matrix_sync(&s.attention.scores[warp][0][0], sum, 16 + 4, wmma::mem_row_major);
    __syncwarp();
    softmax(s.attention.scores[warp], s.attention.weights[warp]);
    __syncwarp();
    wmma::load_matrix_sync(left, &s.attention.weights[warp][0][0], 16 + PAD);
    wmma::load_matrix_sync(values, value, next);
    wmma::fill_fragment(sum, 0.0f);
    wmma::mma_sync(sum, left, values, sum);
    store(query, sum, next);
    __syncwarp();
}

// == head
__device__ float warp_sum(float v) {
    for (int away = 16; away; away /= 2) v += __shfl_xor_sync(0xffffffff, v, away);
    return v;
}

// Ten lanes have a logit each: store them, or only the digit whose logit is the largest.
__device__ void store_answer(float logit, float* logits) {
    int lane = threadIdx.x % 32;
    if (lane < 10) logits[lane] = logit;
}
__device__ void store_answer(float logit, unsigned char* answer) {
    float most = -1e30f;
    int digit = 0;
    for (int k = 0; k < 10; k++) {
        float other = __shfl_sync(0xffffffff, logit, k);
        if (other > most) {
            most = other;
            digit = k;
        }
    }
    if (threadIdx.x % 32 == 0) *answer = digit;
}

// One digit by a warp, a lane a feature: the mean of all positions, a layer norm, ten logits.
__device__ void read_out(const Shared& s, const Vectors& vectors, int digit, Answer* answer) {
    int lane = threadIdx.x % 32;
    float v = 0;
    for (int position = 0; position < POSITIONS; position++)
        v += __half2float(s.x[position][digit][lane]);
    v = v * (1.0f / POSITIONS) + vectors.mlp2[lane];
    v -= warp_sum(v) * (1.0f / CHANNELS);
    float scale = rsqrtf(warp_sum(v * v) * (1.0f / CHANNELS) + 1e-5f);
    v = v * scale * vectors.norm3.scale[lane] + vectors.norm3.shift[lane];
    float logit = lane < 10 ? vectors.head[lane] : 0;
    for (int i = 0; i < CHANNELS; i++) {
        float feature = __shfl_sync(0xffffffff, v, i);
        if (lane < 10) logit += feature * vectors.head_weight[i][lane];
    }
    store_answer(logit, answer);
}

// == reader
// `images` are (n, 64), `answers` (n, 10), with BYTES (n). `vectors` are the numbers of `same` in
// global memory, for reads in which each lane wants another one.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
reader(const Ink* images, const Weights* weights, const Vectors* vectors, Answer* answers, int n) {
    extern __shared__ __align__(32) unsigned char memory[];
    Shared& s = *(Shared*)memory;
    int thread = threadIdx.x, warp = thread / 32;
    int first = blockIdx.x * DIGITS, digits = min(DIGITS, n - first);

    load(s, images + (size_t)first * SIDE * SIDE, *weights, *vectors, digits);
    __syncthreads();
    // All 64 pixels of conv1's result would not leave room for a second block. So the upper half of
    // the positions comes first, from rows 0 to 4, then the lower half, from rows 3 to 7.
    for (int lower = 0; lower < 2; lower++) {
        conv1(s, lower ? RING * SIDE : 0, lower ? SIDE * SIDE : RING * SIDE);
        __syncthreads();
        conv2(s, POSITIONS / 2 * lower + warp);
        __syncthreads();
    }

    // From here on a warp has two positions: their 32 rows, a row for each lane, and the tiles in
    // which these rows lie. So between a layer norm and a linear layer it waits only for itself.
    copy(&s.rows.weights, &weights->layers, sizeof(Layers));
    if (thread < 96) s.rows.qkv[thread] = vectors->qkv[thread];
    else if (thread < 160) s.rows.mlp1[thread - 96] = vectors->mlp1[thread - 96];
    add_and_norm(s, same.position[thread / DIGITS], same.norm1);
    __syncthreads();
    for (int p = 2 * warp; p < 2 * warp + 2; p++) {
        Features features(s.normed[p]);
        for (int c = 0; c < 6; c++)
            store(&s.rows.at[p].part[c][0][0],
                  linear(features, &s.rows.weights.qkv[0][16 * c], 3 * CHANNELS + PAD,
                         s.rows.qkv + 16 * c), 16);
    }
    __syncthreads();

    for (int k = 0; k < 4; k++) attend(s, 2 * warp + k / 2, k % 2);  // a warp has two digits
    __syncthreads();

    for (int p = 2 * warp; p < 2 * warp + 2; p++)
        add_product<2>(s.x[p], s.rows.at[p].part, s.rows.weights.out);
    __syncwarp();
    add_and_norm(s, same.out, same.norm2);
    __syncwarp();
    for (int p = 2 * warp; p < 2 * warp + 2; p++) {
        Features features(s.normed[p]);
        for (int c = 0; c < 4; c++) {
            Sums sum = linear(features, &s.rows.weights.mlp1[0][16 * c], 2 * CHANNELS + PAD,
                              s.rows.mlp1 + 16 * c);
            wmma::store_matrix_sync(&s.rows.at[p].part[2 + c][0][0], gelus(sum), 16,
                                    wmma::mem_row_major);
        }
    }
    __syncwarp();
    for (int p = 2 * warp; p < 2 * warp + 2; p++)
        add_product<4>(s.x[p], s.rows.at[p].part + 2, s.rows.weights.mlp2);
    __syncthreads();

    for (int digit = 2 * warp; digit < min(2 * warp + 2, digits); digit++)
        read_out(s, *vectors, digit, answers + (size_t)(first + digit) * ANSWERS);
}
