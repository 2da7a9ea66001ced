// What `split_keys` left of each query, `pieces` parts with tops of their own, made one output.
// 64 features. Launch: a block of 64 threads for each query.
extern "C" __global__ void join(const float* tops, const float* totals, const float* outs,
                                float* o, int pieces) {
    int c = threadIdx.x, first = blockIdx.x * pieces;
    float top = -3.4e38f, total = 0, out = 0;
    for (int piece = first; piece < first + pieces; piece++) {
        float most = fmaxf(top, tops[piece]);
        float fade = expf(top - most), factor = expf(tops[piece] - most);
        top = most;
        total = total * fade + totals[piece] * factor;
        out = out * fade + outs[piece * 64 + c] * factor;
    }
    o[blockIdx.x * 64 + c] = total > 0 ? out / total : 0;
}
