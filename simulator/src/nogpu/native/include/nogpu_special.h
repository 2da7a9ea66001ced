// CUDA's mathematical functions that a C library lacks: norms, inverse error functions, Bessel's.
#pragma once

#if !CUSIM_LIBC
extern "C" {
double jn(int, double);
double yn(int, double);
double remquo(double, double, int*);
float remquof(float, float, int*);
double scalbln(double, long);
float scalblnf(float, long);
}
static inline float jnf(int n, float x) { return (float)jn(n, (double)x); }
static inline float ynf(int n, float x) { return (float)yn(n, (double)x); }
#endif
static inline void sincospi(double x, double* s, double* c) {
    *s = sinpi(x);
    *c = cospi(x);
}

// exp(x * x) * erfc(x): for large x by the asymptotic series, whose terms shrink while they matter.
static inline double erfcx(double x) {
    if (x < 10) return exp(x * x) * erfc(x);
    double term = 1 / (x * 1.7724538509055160273), sum = term;
    for (int k = 1; k < 30; k++) sum += term *= -(2 * k - 1) / (2 * x * x);
    return sum;
}
// Small numbers by Newton's steps for the logarithm.
static inline double erfcinv(double y) {
    if (!(y > 0 && y < 0.1)) return erfinv(1 - y);
    double x = __builtin_sqrt(-log(y));
    for (int i = 0; i < 8; i++)
        x += (log(erfcx(x)) - x * x - log(y)) * erfcx(x) * 0.88622692545275801;
    return x;
}
static inline double normcdfinv(double p) {
    return p > 0.95 ? -normcdfinv(1 - p) : -1.4142135623730951 * erfcinv(2 * p);
}
// The power series has positive terms only.
static inline double nogpu_bessel(double x, int order) {
    double term = order ? x / 2 : 1, sum = term;
    for (int k = 1; __builtin_fabs(term) > 1e-18 * __builtin_fabs(sum); k++)
        sum += term *= x * x / 4 / k / (k + order);
    return sum;
}
static inline double cyl_bessel_i0(double x) { return nogpu_bessel(x, 0); }
static inline double cyl_bessel_i1(double x) { return nogpu_bessel(x, 1); }

static inline double norm(int n, const double* p) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum = hypot(sum, p[i]);
    return sum;
}
static inline float normf(int n, const float* p) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (double)p[i] * p[i];
    return (float)__builtin_sqrt(sum);
}
static inline double rnorm(int n, const double* p) { return 1 / norm(n, p); }
static inline float rnormf(int n, const float* p) { return 1 / normf(n, p); }
#define CUSIM_NORM(T, F, ROOT)                                                              \
    static inline T rnorm3d##F(T a, T b, T c) { return 1 / norm3d##F(a, b, c); }            \
    static inline T norm4d##F(T a, T b, T c, T d) { return ROOT(a * a + b * b + c * c + d * d); } \
    static inline T rnorm4d##F(T a, T b, T c, T d) { return 1 / norm4d##F(a, b, c, d); }
static inline double norm3d(double a, double b, double c) { return hypot(hypot(a, b), c); }
CUSIM_NORM(double, , __builtin_sqrt)
CUSIM_NORM(float, f, __builtin_sqrtf)
#undef CUSIM_NORM
#define CUSIM_IN_FLOAT(NAME) \
    static inline float NAME##f(float x) { return (float)NAME((double)x); }
CUSIM_IN_FLOAT(erfcx)
CUSIM_IN_FLOAT(erfcinv)
CUSIM_IN_FLOAT(normcdfinv)
CUSIM_IN_FLOAT(cyl_bessel_i0)
CUSIM_IN_FLOAT(cyl_bessel_i1)
#undef CUSIM_IN_FLOAT
