// The names of cuComplex.h in terms of complex<T>.
#pragma once
#pragma GCC system_header
#include <cupy/complex.cuh>

typedef complex<float> cuFloatComplex;
typedef complex<double> cuDoubleComplex;
typedef cuFloatComplex cuComplex;

#define CUPY_BRIDGE(T, C, F)                                                       \
    static inline T cuCreal##F(C z) { return z.real(); }                                   \
    static inline T cuCimag##F(C z) { return z.imag(); }                                   \
    static inline T cuCabs##F(C z) { return abs(z); }                                      \
    static inline C cuConj##F(C z) { return conj(z); }                                     \
    static inline C cuCadd##F(C a, C b) { return a + b; }                                  \
    static inline C cuCsub##F(C a, C b) { return a - b; }                                  \
    static inline C cuCmul##F(C a, C b) { return a * b; }                                  \
    static inline C cuCdiv##F(C a, C b) { return a / b; }                                  \
    static inline C cuCfma##F(C a, C b, C c) { return a * b + c; }
CUPY_BRIDGE(float, cuFloatComplex, f)
CUPY_BRIDGE(double, cuDoubleComplex, )
static inline cuFloatComplex make_cuFloatComplex(float x, float y) {
    return cuFloatComplex(x, y);
}
static inline cuFloatComplex make_cuComplex(float x, float y) { return cuFloatComplex(x, y); }
static inline cuDoubleComplex make_cuDoubleComplex(double x, double y) {
    return cuDoubleComplex(x, y);
}
