// Attention of few queries over many keys, the keys in pieces of `each`: of each query and piece
// the largest score, the sum of the powers relative to it, and the sum of the values so weighted.
// 64 features. Launch: grid (pieces, queries), block (32, 8): a warp takes every eighth key.
extern "C" __global__ void split(const float* q, const float* k, const float* v, float* tops,
                                 float* totals, float* outs, int n, int each, float scale) {
    __shared__ float top8[8], total8[8], out8[8][64];
    int lane = threadIdx.x, y = threadIdx.y, piece = blockIdx.y * gridDim.x + blockIdx.x;
    q += blockIdx.y * 64;
    float q0 = q[lane], q1 = q[lane + 32];
    float top = -3.4e38f, total = 0, out0 = 0, out1 = 0;
    int begin = blockIdx.x * each, end = min(n, begin + each);
    for (int key = begin + y; key < end; key += 8) {
        float s = q0 * k[key * 64 + lane] + q1 * k[key * 64 + lane + 32];
        for (int step = 16; step > 0; step /= 2) s += __shfl_xor_sync(0xffffffff, s, step);
        s *= scale;
        float most = fmaxf(top, s), fade = expf(top - most), power = expf(s - most);
        top = most;
        total = total * fade + power;
        out0 = out0 * fade + power * v[key * 64 + lane];
        out1 = out1 * fade + power * v[key * 64 + lane + 32];
    }
    top8[y] = top;
    total8[y] = total;
    out8[y][lane] = out0;
    out8[y][lane + 32] = out1;
    __syncthreads();
    if (y >= 2) return;
    int c = 32 * y + lane;
    float most = top8[0], sum = 0, out = 0;
    for (int w = 1; w < 8; w++) most = fmaxf(most, top8[w]);
    for (int w = 0; w < 8; w++) {
        float factor = expf(top8[w] - most);
        sum += total8[w] * factor;
        out += out8[w][c] * factor;
    }
    outs[piece * 64 + c] = out;
    tops[piece] = most;
    totals[piece] = sum;
}
