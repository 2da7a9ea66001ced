// Transposes a table of floats through tiles of 64 x 64 in shared memory, 16 bytes at a time; rows
// and columns are multiples of 64. A block of 16 x 16 threads, each with four float4s under way.

extern "C" __global__ void transpose(const float4* x, float4* y, int rows, int columns) {
    __shared__ float tile[64][65];
    int tx = threadIdx.x, ty = threadIdx.y;
    const float4* from = x + ((size_t)64 * blockIdx.y * columns + 64 * blockIdx.x) / 4;
    float4 v[4];
    #pragma unroll
    for (int k = 0; k < 4; k++) v[k] = from[(size_t)(ty + 16 * k) * (columns / 4) + tx];
    #pragma unroll
    for (int k = 0; k < 4; k++) {
        float* row = &tile[ty + 16 * k][4 * tx];
        row[0] = v[k].x, row[1] = v[k].y, row[2] = v[k].z, row[3] = v[k].w;
    }
    __syncthreads();
    float4* to = y + ((size_t)64 * blockIdx.x * rows + 64 * blockIdx.y) / 4;
    #pragma unroll
    for (int k = 0; k < 4; k++) {
        int column = ty + 16 * k;
        to[(size_t)column * (rows / 4) + tx] = make_float4(
            tile[4 * tx][column], tile[4 * tx + 1][column],
            tile[4 * tx + 2][column], tile[4 * tx + 3][column]);
    }
}
