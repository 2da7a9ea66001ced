// CUDA's mathematical functions: the host's libm for values, declared here because a kernel sees
// no C headers. The approximate intrinsics (__expf and kin) are exact here.
#pragma once

#if CUSIM_LIBC
// glibc has functions of these names of its own.
#define exp10f nogpu_exp10f
#define __expf nogpu_fast_expf
#define __exp10f nogpu_fast_exp10f
#define __logf nogpu_fast_logf
#define __log2f nogpu_fast_log2f
#define __log10f nogpu_fast_log10f
#define __powf nogpu_fast_powf
#define __sinf nogpu_fast_sinf
#define __cosf nogpu_fast_cosf
#define __tanf nogpu_fast_tanf
#define __tanhf nogpu_fast_tanhf
#define __sincosf nogpu_fast_sincosf
#define CUSIM_DECLARE1(NAME)
#define CUSIM_DECLARE2(NAME)
#else
namespace nogpu {
template <class T> struct IsInteger { static const bool value = false; };
#define CUSIM_INTEGER(T) template <> struct IsInteger<T> { static const bool value = true; };
CUSIM_INTEGER(bool)
CUSIM_INTEGER(char)
CUSIM_INTEGER(signed char)
CUSIM_INTEGER(unsigned char)
CUSIM_INTEGER(short)
CUSIM_INTEGER(unsigned short)
CUSIM_INTEGER(int)
CUSIM_INTEGER(unsigned int)
CUSIM_INTEGER(long)
CUSIM_INTEGER(unsigned long)
CUSIM_INTEGER(long long)
CUSIM_INTEGER(unsigned long long)
template <bool B, class T> struct EnableIf {};
template <class T> struct EnableIf<true, T> { typedef T type; };
template <class T> struct IntegerToDouble : EnableIf<IsInteger<T>::value, double> {};
// Mixed arguments become double, as the C++ library's overloads do.
template <class A, class B> struct Mixed { typedef double type; };
template <> struct Mixed<float, float> {};
template <> struct Mixed<double, double> {};
}  // namespace nogpu
#define CUSIM_DECLARE1(NAME)                                                              \
    extern "C" double NAME(double);                                                       \
    extern "C" float NAME##f(float);                                                      \
    static inline float NAME(float x) { return NAME##f(x); }                              \
    template <class T>                                                                    \
    static inline typename nogpu::IntegerToDouble<T>::type NAME(T x) {                    \
        return NAME((double)x);                                                           \
    }
#define CUSIM_DECLARE2(NAME)                                                              \
    extern "C" double NAME(double, double);                                               \
    extern "C" float NAME##f(float, float);                                               \
    static inline float NAME(float x, float y) { return NAME##f(x, y); }                  \
    template <class A, class B>                                                           \
    static inline typename nogpu::Mixed<A, B>::type NAME(A x, B y) {                      \
        return NAME((double)x, (double)y);                                                \
    }
#endif

CUSIM_DECLARE1(sin)
CUSIM_DECLARE1(cos)
CUSIM_DECLARE1(tan)
CUSIM_DECLARE1(asin)
CUSIM_DECLARE1(acos)
CUSIM_DECLARE1(atan)
CUSIM_DECLARE1(sinh)
CUSIM_DECLARE1(cosh)
CUSIM_DECLARE1(tanh)
CUSIM_DECLARE1(asinh)
CUSIM_DECLARE1(acosh)
CUSIM_DECLARE1(atanh)
CUSIM_DECLARE1(exp)
CUSIM_DECLARE1(exp2)
CUSIM_DECLARE1(expm1)
CUSIM_DECLARE1(log)
CUSIM_DECLARE1(log2)
CUSIM_DECLARE1(log10)
CUSIM_DECLARE1(log1p)
CUSIM_DECLARE1(sqrt)
CUSIM_DECLARE1(cbrt)
CUSIM_DECLARE1(ceil)
CUSIM_DECLARE1(floor)
CUSIM_DECLARE1(trunc)
CUSIM_DECLARE1(round)
CUSIM_DECLARE1(rint)
CUSIM_DECLARE1(nearbyint)
CUSIM_DECLARE1(fabs)
CUSIM_DECLARE1(erf)
CUSIM_DECLARE1(erfc)
CUSIM_DECLARE1(tgamma)
CUSIM_DECLARE1(lgamma)
CUSIM_DECLARE1(logb)
CUSIM_DECLARE2(pow)
CUSIM_DECLARE2(atan2)
CUSIM_DECLARE2(fmod)
CUSIM_DECLARE2(remainder)
CUSIM_DECLARE2(hypot)
CUSIM_DECLARE2(fmin)
CUSIM_DECLARE2(fmax)
CUSIM_DECLARE2(fdim)
CUSIM_DECLARE2(copysign)
CUSIM_DECLARE2(nextafter)

#if !CUSIM_LIBC
extern "C" {
double j0(double);
double j1(double);
double y0(double);
double y1(double);
double fma(double, double, double);
float fmaf(float, float, float);
double ldexp(double, int);
float ldexpf(float, int);
double frexp(double, int*);
float frexpf(float, int*);
double scalbn(double, int);
float scalbnf(float, int);
double modf(double, double*);
float modff(float, float*);
long lrint(double);
long lrintf(float);
long long llrint(double);
long long llrintf(float);
long lround(double);
long lroundf(float);
long long llround(double);
long long llroundf(float);
int ilogb(double);
int ilogbf(float);
int abs(int);
long labs(long);
long long llabs(long long);
}
static inline float fma(float a, float b, float c) { return fmaf(a, b, c); }
static inline float ldexp(float x, int e) { return ldexpf(x, e); }
static inline float frexp(float x, int* e) { return frexpf(x, e); }
static inline float modf(float x, float* whole) { return modff(x, whole); }
static inline float pow(float x, int y) { return powf(x, (float)y); }
static inline double pow(double x, int y) { return pow(x, (double)y); }
static inline long abs(long x) { return x < 0 ? -x : x; }
static inline long long abs(long long x) { return x < 0 ? -x : x; }
static inline float abs(float x) { return fabsf(x); }
static inline double abs(double x) { return fabs(x); }
static inline bool isnan(float x) { return __builtin_isnan(x); }
static inline bool isnan(double x) { return __builtin_isnan(x); }
static inline bool isinf(float x) { return __builtin_isinf(x); }
static inline bool isinf(double x) { return __builtin_isinf(x); }
static inline bool isfinite(float x) { return __builtin_isfinite(x); }
static inline bool isfinite(double x) { return __builtin_isfinite(x); }
static inline bool signbit(float x) { return __builtin_signbit(x); }
static inline bool signbit(double x) { return __builtin_signbit(x); }
#else
using std::isfinite;
using std::isinf;
using std::isnan;
using std::signbit;
#endif

#if !CUSIM_LIBC
static inline double nan(const char*) { return __builtin_nan(""); }
static inline float nanf(const char*) { return __builtin_nanf(""); }
extern "C" float j0f(float);
extern "C" float j1f(float);
#endif
// Winitzki's formula, and Newton's steps from there.
static inline double erfinv(double y) {
    if (!(y > -1.0 && y < 1.0)) return y == 1.0 || y == -1.0 ? y / 0.0 : nan("");
    const double l = log1p(-y * y), t = 4.330746750799873 + l / 2;
    double x = copysign(__builtin_sqrt(__builtin_sqrt(t * t - l / 0.147) - t), y);
    for (int i = 0; i < 4; i++) x -= (erf(x) - y) * 0.88622692545275801 * exp(x * x);
    return x;
}
static inline float erfinvf(float y) { return (float)erfinv((double)y); }

static inline float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
static inline double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
static inline float rsqrt(float x) { return rsqrtf(x); }
static inline float rcbrtf(float x) { return 1.0f / cbrtf(x); }
static inline double rcbrt(double x) { return 1.0 / cbrt(x); }
static inline float exp10f(float x) { return powf(10.0f, x); }
static inline double nogpu_exp10(double x) { return pow(10.0, x); }
#if !CUSIM_LIBC
static inline double exp10(double x) { return nogpu_exp10(x); }
static inline float exp10(float x) { return exp10f(x); }
#endif
static inline float sinpif(float x) { return (float)sin(3.14159265358979323846 * (double)x); }
static inline float cospif(float x) { return (float)cos(3.14159265358979323846 * (double)x); }
static inline double sinpi(double x) { return sin(3.14159265358979323846 * x); }
static inline double cospi(double x) { return cos(3.14159265358979323846 * x); }
#if !CUSIM_LIBC
static inline void sincosf(float x, float* s, float* c) {
    *s = sinf(x);
    *c = cosf(x);
}
static inline void sincos(double x, double* s, double* c) {
    *s = sin(x);
    *c = cos(x);
}
#endif
static inline void sincospif(float x, float* s, float* c) {
    *s = sinpif(x);
    *c = cospif(x);
}
static inline float normcdff(float x) { return 0.5f * erfcf(-x * 0.70710678118654752440f); }
static inline double normcdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752440); }
static inline float norm3df(float a, float b, float c) {
    return __builtin_sqrtf(a * a + b * b + c * c);
}
static inline float rhypotf(float a, float b) { return 1.0f / hypotf(a, b); }
static inline float fdividef(float x, float y) { return x / y; }
static inline float saturate(float x) { return x < 0.0f ? 0.0f : (x > 1.0f ? 1.0f : x); }

#define CUSIM_MIN_MAX(T, A, B)                                                           \
    static inline T min(A a, B b) { return (T)a < (T)b ? (T)a : (T)b; }                  \
    static inline T max(A a, B b) { return (T)a > (T)b ? (T)a : (T)b; }
CUSIM_MIN_MAX(int, int, int)
CUSIM_MIN_MAX(unsigned int, unsigned int, unsigned int)
CUSIM_MIN_MAX(unsigned int, int, unsigned int)
CUSIM_MIN_MAX(unsigned int, unsigned int, int)
CUSIM_MIN_MAX(long, long, long)
CUSIM_MIN_MAX(unsigned long, unsigned long, unsigned long)
CUSIM_MIN_MAX(unsigned long, long, unsigned long)
CUSIM_MIN_MAX(unsigned long, unsigned long, long)
CUSIM_MIN_MAX(long long, long long, long long)
CUSIM_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
CUSIM_MIN_MAX(unsigned long long, long long, unsigned long long)
CUSIM_MIN_MAX(unsigned long long, unsigned long long, long long)
// A NaN gives way to the other operand, as fminf and fmaxf do.
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline double min(double a, double b) { return fmin(a, b); }
static inline double max(double a, double b) { return fmax(a, b); }
static inline double min(float a, double b) { return fmin((double)a, b); }
static inline double max(float a, double b) { return fmax((double)a, b); }
static inline double min(double a, float b) { return fmin(a, (double)b); }
static inline double max(double a, float b) { return fmax(a, (double)b); }
static inline unsigned int umin(unsigned int a, unsigned int b) { return a < b ? a : b; }
static inline unsigned int umax(unsigned int a, unsigned int b) { return a > b ? a : b; }
