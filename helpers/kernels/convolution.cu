// A convolution of 3 x 3 pixels with zeros around the edge, without its bias: x of shape (n, 8, 8,
// channels), w (9 * channels, 32) with row 9 * c + 3 * di + dj, y (n, 8, 8, 32). A block of 32 x 8
// threads has one image. A thread computes one of the 32 outputs for the eight pixels of a row, so
// that each weight is loaded once for eight sums. No patch is stored.

extern "C" __global__ void convolution(const float* x, const float* w, float* y, int channels) {
    int o = threadIdx.x, i = threadIdx.y;
    x += (size_t)blockIdx.x * 64 * channels;
    y += (size_t)blockIdx.x * 64 * 32;
    float sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    for (int c = 0; c < channels; c++) {
        for (int di = 0; di < 3; di++) {
            int row = i + di - 1;
            if (row < 0 || row > 7) continue;
            for (int dj = 0; dj < 3; dj++) {
                float weight = w[(9 * c + 3 * di + dj) * 32 + o];
                for (int j = 0; j < 8; j++) {
                    int column = j + dj - 1;
                    if (column >= 0 && column < 8) {
                        sum[j] += weight * x[(8 * row + column) * channels + c];
                    }
                }
            }
        }
    }
    for (int j = 0; j < 8; j++) y[(8 * i + j) * 32 + o] = sum[j];
}
