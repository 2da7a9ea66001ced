extern "C" __global__ void attend(const float* q, const float* k, const float* v, float* o,
                                  int m, int n, float scale) {
    __shared__ float qs[8][64], ks[32][65], vs[32][64];
    int lane = threadIdx.x, y = threadIdx.y, query = blockIdx.x * 8 + y;
    for (int c = lane; c < 64; c += 32) qs[y][c] = query < m ? q[query * 64 + c] : 0;
    float top = -3.4e38f, total = 0, out0 = 0, out1 = 0;
    for (int key = 0; key < n; key += 32) {
        for (int row = y; row < 32; row += 8) {
            for (int c = lane; c < 64; c += 32) {
                ks[row][c] = key + row < n ? k[(key + row) * 64 + c] : 0;
                vs[row][c] = key + row < n ? v[(key + row) * 64 + c] : 0;
            }
        }
        __syncthreads();
        float s = 0;
        for (int c = 0; c < 64; c++) s += qs[y][c] * ks[lane][c];
        s = key + lane < n ? s * scale : -3.4e38f;
        float most = fmaxf(top, s);
        for (int step = 16; step > 0; step /= 2)
            most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, step));
        float fade = expf(top - most), power = expf(s - most);
        top = most;
        total = total * fade + power;
        out0 *= fade;
        out1 *= fade;
        for (int j = 0; j < 32; j++) {
            float p = __shfl_sync(0xffffffff, power, j);
            out0 += p * vs[j][lane];
            out1 += p * vs[j][lane + 32];
        }
        __syncthreads();
    }
    for (int step = 16; step > 0; step /= 2) total += __shfl_xor_sync(0xffffffff, total, step);
    if (query < m) {
        o[query * 64 + lane] = out0 / total;
        o[query * 64 + lane + 32] = out1 / total;
    }
}
