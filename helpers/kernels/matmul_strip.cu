// C = A B, float32, row by row in memory: A is m x k, B k x n. A block computes 64 x 64 elements of
// C with 512 threads; each thread computes 8 of them, below each other in one column. Any shape of
// less than 2^31 elements: what lies outside A or B counts as zero. Launch: grid (n / 64, m / 64),
// both rounded up.

// == strip
#define TILE 64   // rows and columns of C for a block
#define DEPTH 32  // columns of A and rows of B at a time
#define ROWS 8    // elements of C for a thread
#define THREADS (TILE * TILE / ROWS)

extern "C" __global__ void strip(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ __align__(16) float as[TILE][DEPTH];
    __shared__ float bs[DEPTH][TILE];
    int t = threadIdx.x, column = t % TILE, row = t / TILE * ROWS;
    int top = blockIdx.y * TILE, left = blockIdx.x * TILE;
    float sum[ROWS] = {};
    for (int p = 0; p < k; p += DEPTH) {
        for (int e = t; e < TILE * DEPTH; e += THREADS) {  // each thread brings 4 elements of A
            int y = e / DEPTH, x = e % DEPTH;
            as[y][x] = top + y < m && p + x < k ? a[(top + y) * k + p + x] : 0;
        }
        for (int e = t; e < TILE * DEPTH; e += THREADS) {  // and 4 of B
            int y = e / TILE, x = e % TILE;
            bs[y][x] = p + y < k && left + x < n ? b[(p + y) * n + left + x] : 0;
        }
        __syncthreads();
#pragma unroll
        for (int q = 0; q < DEPTH; q++) {
            float right = bs[q][column];  // loaded once, used for 8 elements
#pragma unroll
            for (int i = 0; i < ROWS; i++) sum[i] += as[row + i][q] * right;
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        int y = top + row + i, x = left + column;
        if (y < m && x < n) c[y * n + x] = sum[i];
    }
}
