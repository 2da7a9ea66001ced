// C = A B on tensor cores, for float32 matrices of any size, which are rounded to float16: a warp
// computes 16 x 16 elements of C. Needs mma.h of the CUDA toolkit. Launch: grid (ceil(n / 16),
// ceil(m / 16)), block 32.
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void half_product(const float* a, const float* b, float* c, int m, int n,
                                        int k) {
    __shared__ __align__(32) half as[256], bs[256];
    __shared__ __align__(32) float cs[256];
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    int top = 16 * blockIdx.y, first = 16 * blockIdx.x;
    wmma::fill_fragment(sum, 0.0f);
    for (int p = 0; p < k; p += 16) {
        for (int e = threadIdx.x; e < 256; e += 32) {
            int i = e / 16, j = e % 16;
            bool inside_a = top + i < m && p + j < k, inside_b = p + i < k && first + j < n;
            as[e] = __float2half(inside_a ? a[(top + i) * k + p + j] : 0.0f);
            bs[e] = __float2half(inside_b ? b[(p + i) * n + first + j] : 0.0f);
        }
        __syncthreads();
        wmma::load_matrix_sync(left, as, 16);
        wmma::load_matrix_sync(right, bs, 16);
        wmma::mma_sync(sum, left, right, sum);
        __syncthreads();
    }
    wmma::store_matrix_sync(cs, sum, 16, wmma::mem_row_major);
    __syncthreads();
    for (int e = threadIdx.x; e < 256; e += 32) {
        int i = top + e / 16, j = first + e % 16;
        if (i < m && j < n) c[i * n + j] = cs[e];
    }
}
