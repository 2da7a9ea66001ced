// Complex numbers in C's way: float2 and double2, with functions.
#pragma once
#pragma GCC system_header

#define CUSIM_COMPLEX(C, T, V, F)                                                            \
    typedef V C;                                                                             \
    static inline C make_##C(T x, T y) { return make_##V(x, y); }                            \
    static inline T cuCreal##F(C z) { return z.x; }                                          \
    static inline T cuCimag##F(C z) { return z.y; }                                          \
    static inline T cuCabs##F(C z) { return ::hypot(z.x, z.y); }                             \
    static inline C cuConj##F(C z) { return make_##V(z.x, -z.y); }                           \
    static inline C cuCadd##F(C a, C b) { return make_##V(a.x + b.x, a.y + b.y); }           \
    static inline C cuCsub##F(C a, C b) { return make_##V(a.x - b.x, a.y - b.y); }           \
    static inline C cuCmul##F(C a, C b) {                                                    \
        return make_##V(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);                       \
    }                                                                                        \
    /* Scaled, so that nothing overflows on the way. */                                      \
    static inline C cuCdiv##F(C a, C b) {                                                    \
        const T scale = 1 / (::fabs(b.x) + ::fabs(b.y)), x = b.x * scale, y = b.y * scale;   \
        const T size = 1 / (x * x + y * y), p = a.x * scale, q = a.y * scale;                \
        return make_##V((p * x + q * y) * size, (q * x - p * y) * size);                     \
    }
CUSIM_COMPLEX(cuFloatComplex, float, float2, f)
CUSIM_COMPLEX(cuDoubleComplex, double, double2, )
#undef CUSIM_COMPLEX
typedef cuFloatComplex cuComplex;
static inline cuComplex make_cuComplex(float x, float y) { return make_float2(x, y); }
static inline cuComplex cuComplexDoubleToFloat(cuDoubleComplex z) {
    return make_float2((float)z.x, (float)z.y);
}
static inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex z) {
    return make_double2(z.x, z.y);
}
static inline cuComplex cuCfmaf(cuComplex a, cuComplex b, cuComplex c) {
    return make_float2(fmaf(-a.y, b.y, fmaf(a.x, b.x, c.x)), fmaf(a.y, b.x, fmaf(a.x, b.y, c.y)));
}
static inline cuDoubleComplex cuCfma(cuDoubleComplex a, cuDoubleComplex b, cuDoubleComplex c) {
    return make_double2(fma(-a.y, b.y, fma(a.x, b.x, c.x)), fma(a.y, b.x, fma(a.x, b.y, c.y)));
}
