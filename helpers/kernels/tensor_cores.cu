// C = A B with float16 inputs and float32 sums on tensor cores: a warp computes 16 x 16 elements
// of C. All sizes are multiples of 16. Needs mma.h of the CUDA toolkit, compute capability 7.0 and
// float16 arrays. Launch: grid (n / 16, m / 16), block 32.
#include <mma.h>
using namespace nvcuda;

// == product
extern "C" __global__ void tensor(const half* a, const half* b, float* c, int m, int n, int k) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int p = 0; p < k; p += 16) {
        wmma::load_matrix_sync(left, a + (long long)blockIdx.y * 16 * k + p, k);
        wmma::load_matrix_sync(right, b + (long long)p * n + blockIdx.x * 16, n);
        wmma::mma_sync(sum, left, right, sum);  // 4096 multiply-adds, one instruction of the warp
    }
    wmma::store_matrix_sync(c + (long long)blockIdx.y * 16 * n + blockIdx.x * 16, sum, n,
                            wmma::mem_row_major);
}
