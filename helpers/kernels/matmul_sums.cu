// C = A B, float32, row by row in memory: A is m x k, B k x n. A block of 16 x 16 threads computes
// 16 HIGH x 16 WIDE numbers of C, each thread HIGH x WIDE of them, 16 apart. Any shape of less than
// 2^31 numbers: what lies outside of A or B counts as zero. Launch: grid (n / (16 WIDE),
// m / (16 HIGH)), both rounded up; m / (16 HIGH) is less than 2^16.

__device__ float at(const float* x, int rows, int columns, int i, int j) {
    return i < rows && j < columns ? x[i * columns + j] : 0;
}

extern "C" __global__ void sums(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float as[16 * HIGH][16], bs[16][16 * WIDE];
    int x = threadIdx.x, y = threadIdx.y;
    int i = 16 * HIGH * blockIdx.y + y, j = 16 * WIDE * blockIdx.x + x;
    float sum[HIGH][WIDE] = {}, left[HIGH], right[WIDE];
    for (int p = 0; p < k; p += 16) {
        for (int r = 0; r < HIGH; r++) as[y + 16 * r][x] = at(a, m, k, i + 16 * r, p + x);
        for (int s = 0; s < WIDE; s++) bs[y][x + 16 * s] = at(b, k, n, p + y, j + 16 * s);
        __syncthreads();
        for (int q = 0; q < 16; q++) {
            for (int r = 0; r < HIGH; r++) left[r] = as[y + 16 * r][q];
            for (int s = 0; s < WIDE; s++) right[s] = bs[q][x + 16 * s];
            for (int r = 0; r < HIGH; r++)
                for (int s = 0; s < WIDE; s++) sum[r][s] += left[r] * right[s];
        }
        __syncthreads();
    }
    for (int r = 0; r < HIGH; r++)
        for (int s = 0; s < WIDE; s++)
            if (i + 16 * r < m && j + 16 * s < n) c[(i + 16 * r) * n + j + 16 * s] = sum[r][s];
}
