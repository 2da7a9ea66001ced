// C = A B, float32, row by row in memory: A is m x k, B k x n. m and n are multiples of 128, k of 8;
// the arrays begin at multiples of 16 bytes. A block computes 128 x 128 elements of C with 256
// threads, a thread 8 x 8 of them in registers. Launch: grid (n / 128, m / 128), block 256.
// The arrangement is the usual one of fast products on GPUs (Volkov and Demmel, SC 2008; CUTLASS).

#define TILE 128     // rows and columns of C for a block
#define DEPTH 8      // columns of A and rows of B at a time
#define SIDE 8       // rows and columns of C for a thread
#define PADDED 132   // keeps the stores of a turned tile off each other's banks

// == as four
__device__ float4& four(float& first) { return reinterpret_cast<float4&>(first); }
__device__ float4 four(const float& first) { return reinterpret_cast<const float4&>(first); }

// == keep
__device__ void keep(float (&as)[DEPTH][PADDED], float (&bs)[DEPTH][TILE], float4 a, float4 b) {
    int t = threadIdx.x, row = t / 2, column = t % 2 * 4;
    as[column + 0][row] = a.x;  // the tile of A is turned: its columns become rows
    as[column + 1][row] = a.y;
    as[column + 2][row] = a.z;
    as[column + 3][row] = a.w;
    four(bs[t / 32][t % 32 * 4]) = b;
}

// == multiply
__device__ void multiply(float (&as)[DEPTH][PADDED], float (&bs)[DEPTH][TILE],
                         float (&sum)[SIDE][SIDE], int row, int column) {
#pragma unroll
    for (int q = 0; q < DEPTH; q++) {
        float left[SIDE], right[SIDE];
        four(left[0]) = four(as[q][row]);  // 4 loads of 16 bytes
        four(left[4]) = four(as[q][row + 16]);
        four(right[0]) = four(bs[q][column]);
        four(right[4]) = four(bs[q][column + 32]);
#pragma unroll
        for (int i = 0; i < SIDE; i++)
#pragma unroll
            for (int j = 0; j < SIDE; j++) sum[i][j] += left[i] * right[j];  // 64 multiply-adds
    }
}

// == product
extern "C" __global__ void __launch_bounds__(256, 2)
product(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ __align__(16) float as[2][DEPTH][PADDED], bs[2][DEPTH][TILE];
    int t = threadIdx.x, warp = t / 32, lane = t % 32;
    int row = warp / 2 * 32 + lane / 8 * 4;      // of the thread's upper left element
    int column = warp % 2 * 64 + lane % 8 * 4;
    a += ((long long)blockIdx.y * TILE + t / 2) * k + t % 2 * 4;  // what this thread brings
    b += (long long)(t / 32) * n + blockIdx.x * TILE + t % 32 * 4;
    float sum[SIDE][SIDE] = {};
    keep(as[0], bs[0], four(a[0]), four(b[0]));
    __syncthreads();
    for (int p = DEPTH; p < k; p += DEPTH) {
        int now = p / DEPTH % 2;
        float4 next_a = four(a[p]), next_b = four(b[(long long)p * n]);  // under way meanwhile:
        multiply(as[1 - now], bs[1 - now], sum, row, column);
        keep(as[now], bs[now], next_a, next_b);
        __syncthreads();
    }
    multiply(as[(k / DEPTH - 1) % 2], bs[(k / DEPTH - 1) % 2], sum, row, column);

// == store
    c += ((long long)blockIdx.y * TILE + row) * n + blockIdx.x * TILE + column;
#pragma unroll
    for (int i = 0; i < SIDE; i++) {
        float* line = c + (long long)(i / 4 * 16 + i % 4) * n;
        four(line[0]) = make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
        four(line[32]) = make_float4(sum[i][4], sum[i][5], sum[i][6], sum[i][7]);
    }
}
