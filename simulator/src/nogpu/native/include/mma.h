// nvcuda::wmma: products of small matrices by a warp (CUDA C++ Programming Guide, "Warp Matrix
// Functions"). Here are the types; what a warp does with them is the runtime's (matrix.h).
#pragma once
#include "cuda_bf16.h"
#include "cuda_fp16.h"

// A matrix begins at a multiple of 32 bytes, which a GPU's shared arrays do.
#undef __shared__
#if CUSIM_CHECKED && defined(__clang__)
#define __shared__ __attribute__((aligned(32), used)) thread_local
#else
#define __shared__ __attribute__((aligned(32))) thread_local
#endif

namespace nvcuda {
namespace wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32;
}

}  // namespace wmma
}  // namespace nvcuda

namespace nogpu {
namespace wmma = nvcuda::wmma;

template <class T> struct MatrixNumber;
#define CUSIM_MATRIX_NUMBER(T, STORED, ELEMENT)                                            \
    template <> struct MatrixNumber<T> {                                                   \
        typedef STORED stored;                                                             \
        static constexpr MatrixElement element = ELEMENT;                                  \
    };
CUSIM_MATRIX_NUMBER(__half, __half, kHalf)
CUSIM_MATRIX_NUMBER(__nv_bfloat16, __nv_bfloat16, kBfloat16)
CUSIM_MATRIX_NUMBER(wmma::precision::tf32, float, kTf32)
CUSIM_MATRIX_NUMBER(float, float, kFloat)
CUSIM_MATRIX_NUMBER(double, double, kDouble)
CUSIM_MATRIX_NUMBER(signed char, signed char, kInt8)
CUSIM_MATRIX_NUMBER(unsigned char, unsigned char, kUint8)
CUSIM_MATRIX_NUMBER(int, int, kInt32)
#undef CUSIM_MATRIX_NUMBER

template <class Use> struct MatrixUseOf;
template <> struct MatrixUseOf<wmma::matrix_a> { static constexpr MatrixUse use = kMatrixA; };
template <> struct MatrixUseOf<wmma::matrix_b> { static constexpr MatrixUse use = kMatrixB; };
template <> struct MatrixUseOf<wmma::accumulator> {
    static constexpr MatrixUse use = kAccumulator;
};

// How many elements of a matrix each lane holds; 0: there is no such matrix. Half precision is
// held twice or four times over.
constexpr int matrix_elements(MatrixUse use, MatrixElement e, int m, int n, int k) {
    const int size = (use == kMatrixA ? m * k : use == kMatrixB ? k * n : m * n) / 32;
    const bool by_16 = k == 16 && ((m == 16 && n == 16) || (m == 32 && n == 8) ||
                                   (m == 8 && n == 32));
    const bool tf32 = m == 16 && n == 16 && k == 8, wide = m == 8 && n == 8 && k == 4;
    if (e == kDouble) return wide ? size : 0;
    if (use != kAccumulator) {
        if (e == kHalf) return by_16 ? 16 : 0;
        if (e == kTf32) return tf32 ? size : 0;
        return by_16 && e != kFloat && e != kInt32 ? size : 0;
    }
    if (e == kFloat) return by_16 || tf32 ? size : 0;
    return by_16 && (e == kHalf || e == kInt32) ? size : 0;
}
}  // namespace nogpu

namespace nvcuda {
namespace wmma {

template <class Use, int m, int n, int k, class T, class Layout = void> class fragment {
    static constexpr bool is_accumulator = nogpu::MatrixUseOf<Use>::use == nogpu::kAccumulator;
    static_assert(is_accumulator == __is_same(Layout, void),
                  "matrix_a and matrix_b have a layout, an accumulator has none");

   public:
    typedef T element_type;
    typedef typename nogpu::MatrixNumber<T>::stored storage_element_type;
    static constexpr int num_elements = nogpu::matrix_elements(
        nogpu::MatrixUseOf<Use>::use, nogpu::MatrixNumber<T>::element, m, n, k);
    static constexpr int num_storage_elements = num_elements;
    static_assert(num_elements != 0, "there is no fragment of this shape and type");
    storage_element_type x[num_elements];

    static constexpr nogpu::Fragment nogpu_shape() {
        return {nogpu::MatrixUseOf<Use>::use, nogpu::MatrixNumber<T>::element, m, n, k,
                num_elements};
    }
};

namespace experimental {
namespace precision {
struct u4;
struct s4;
struct b1;
}  // namespace precision
enum bmmaBitOp { bmmaBitOpXOR = 1, bmmaBitOpAND = 2 };
enum bmmaAccumulateOp { bmmaAccumulateOpPOPC = 1 };
}  // namespace experimental
#define CUSIM_LACKING(T)                                                                    \
    template <class Use, int m, int n, int k, class Layout>                                 \
    class fragment<Use, m, n, k, experimental::precision::T, Layout> {                      \
        static_assert(k < 0, "nogpu lacks wmma of numbers of 4 bits or 1 bit");             \
    };
CUSIM_LACKING(u4)
CUSIM_LACKING(s4)
CUSIM_LACKING(b1)
#undef CUSIM_LACKING

}  // namespace wmma
}  // namespace nvcuda

// One call of the runtime each, in which the lanes' accesses to memory happen as well: inlined, so
// that they happen in the caller's line.
#define CUSIM_MATRIX __attribute__((always_inline)) static inline
#define CUSIM_MATRIX_CALL(...)                                                              \
    const nogpu::MatrixCall call = {__VA_ARGS__};                                           \
    nogpu_warp(nogpu::kMatrix, 0xffffffffu, (unsigned long long)&call, 0, nogpu_line)

namespace nvcuda {
namespace wmma {

template <class Use, int m, int n, int k, class T, class Layout>
CUSIM_MATRIX void load_matrix_sync(
    fragment<Use, m, n, k, T, Layout>& f,
    const typename fragment<Use, m, n, k, T, Layout>::storage_element_type* memory,
    unsigned stride, CUSIM_LINE) {
    static_assert(!__is_same(Use, accumulator), "the matrix of an accumulator has a layout");
    CUSIM_MATRIX_CALL(nogpu::kMatrixLoad, {f.nogpu_shape()}, {f.x}, (void*)memory, stride,
                      __is_same(Layout, col_major), false);
}
template <int m, int n, int k, class T>
CUSIM_MATRIX void load_matrix_sync(fragment<accumulator, m, n, k, T>& f, const T* memory,
                                   unsigned stride, layout_t layout, CUSIM_LINE) {
    CUSIM_MATRIX_CALL(nogpu::kMatrixLoad, {f.nogpu_shape()}, {f.x}, (void*)memory, stride,
                      layout == mem_col_major, false);
}
template <int m, int n, int k, class T>
CUSIM_MATRIX void store_matrix_sync(T* memory, const fragment<accumulator, m, n, k, T>& f,
                                    unsigned stride, layout_t layout, CUSIM_LINE) {
    CUSIM_MATRIX_CALL(nogpu::kMatrixStore, {f.nogpu_shape()}, {(void*)f.x}, memory, stride,
                      layout == mem_col_major, false);
}

template <class Use, int m, int n, int k, class T, class Layout, class V>
static inline void fill_fragment(fragment<Use, m, n, k, T, Layout>& f, const V& value) {
    for (auto& element : f.x) element = value;
}

template <int m, int n, int k, class T, class ByA, class ByB, class D, class C>
CUSIM_MATRIX void mma_sync(fragment<accumulator, m, n, k, D>& d,
                           const fragment<matrix_a, m, n, k, T, ByA>& a,
                           const fragment<matrix_b, m, n, k, T, ByB>& b,
                           const fragment<accumulator, m, n, k, C>& c, bool saturates = false,
                           CUSIM_LINE) {
    constexpr bool halves = __is_same(T, __half);
    constexpr bool bytes = __is_same(T, signed char) || __is_same(T, unsigned char);
    static_assert(halves ? (__is_same(C, __half) || __is_same(C, float)) &&
                               (__is_same(D, __half) || __is_same(D, float))
                         : __is_same(C, D),
                  "no product has these types");
    static_assert(halves || (bytes ? __is_same(C, int)
                                   : __is_same(C, double) == __is_same(T, double) &&
                                         !__is_same(C, int) && !__is_same(C, __half)),
                  "no product has these types");
    CUSIM_MATRIX_CALL(nogpu::kMatrixMultiply,
                      {d.nogpu_shape(), a.nogpu_shape(), b.nogpu_shape(), c.nogpu_shape()},
                      {d.x, (void*)a.x, (void*)b.x, (void*)c.x}, nullptr, 0, false, saturates);
}
#undef CUSIM_MATRIX
#undef CUSIM_MATRIX_CALL

// To the nearest number with 10 bits after the leading one, halves away from zero.
static inline float __float_to_tf32(float x) {
    const unsigned int bits = __float_as_uint(x);
    if ((bits & 0x7f800000u) == 0x7f800000u) return x;
    return __uint_as_float((bits + 0x1000u) & 0xffffe000u);
}

}  // namespace wmma
}  // namespace nvcuda
