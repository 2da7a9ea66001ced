// Transposes a table of floats through tiles of 32 x 32 in shared memory: rows are read and rows
// are written, side by side. The 33rd column is never used; it puts the words of a tile's column
// into 32 banks. A block of 32 x ROWS threads, so that each thread moves 32 / ROWS floats.

#ifndef ROWS
#define ROWS 4
#endif

extern "C" __global__ void transpose(const float* x, float* y, int rows, int columns) {
    __shared__ float tile[32][33];
    int i = 32 * blockIdx.y + threadIdx.y, j = 32 * blockIdx.x + threadIdx.x;
    #pragma unroll
    for (int k = 0; k < 32; k += ROWS) {
        if (i + k < rows && j < columns) {
            tile[threadIdx.y + k][threadIdx.x] = x[(size_t)(i + k) * columns + j];
        }
    }
    __syncthreads();
    i = 32 * blockIdx.x + threadIdx.y, j = 32 * blockIdx.y + threadIdx.x;
    #pragma unroll
    for (int k = 0; k < 32; k += ROWS) {
        if (i + k < columns && j < rows) {
            y[(size_t)(i + k) * rows + j] = tile[threadIdx.x][threadIdx.y + k];
        }
    }
}
