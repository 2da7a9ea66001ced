// Arithmetic rounded up, down or towards zero, whatever the processor's own rounding is set to.
//
// The result rounded to the nearest, and the exact sign of what is missing from it, tell the
// neighbour that is meant. The missing part is exact: TwoSum (Knuth, The Art of Computer
// Programming, volume 2, 4.2.2) for sums, a fused multiply-add for the others.
#pragma once

namespace nogpu {
enum Rounding { kDown, kUp, kToZero };

static inline float next_after(float x, float to) {
    int bits = bits_as<int>(x);
    if (x == 0) return to > 0 ? bits_as<float>(1) : bits_as<float>((int)0x80000001u);
    return bits_as<float>((x < to) == (x > 0) ? bits + 1 : bits - 1);
}
static inline double next_after(double x, double to) {
    long long bits = bits_as<long long>(x);
    if (x == 0) return bits_as<double>(to > 0 ? 1ll : (long long)0x8000000000000001ull);
    return bits_as<double>((x < to) == (x > 0) ? bits + 1 : bits - 1);
}
// `nearest` moved to where the exact value plus `missing`, of which the sign counts, is rounded.
template <class T> static inline CUSIM_AUTO(T) rounded(T nearest, double missing, Rounding way) {
    if (nearest != nearest || missing == 0 || missing != missing) return nearest;
    const T infinity = (T)__builtin_inf();
    if (way == kToZero) way = nearest > 0 || (nearest == 0 && missing > 0) ? kDown : kUp;
    if (way == kDown) return missing < 0 ? next_after(nearest, -infinity) : nearest;
    return missing > 0 ? next_after(nearest, infinity) : nearest;
}
// What `sum` lacks of a + b.
static inline double missing_sum(double a, double b, double sum) {
    const double b_part = sum - a, a_part = sum - b_part;
    return (a - a_part) + (b - b_part);
}
static inline double sign_of(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }

// A sum of two doubles, rounded to float: `nearest` may differ from the high part.
static inline float to_float(double high, double low, Rounding way) {
    const float nearest = (float)high;
    if (nearest - nearest != 0) {  // infinite: an overflow, if `high` is finite
        if (high - high != 0 || way == (nearest > 0 ? kUp : kDown)) return nearest;
        return nearest > 0 ? __FLT_MAX__ : -__FLT_MAX__;
    }
    const double missing = high - (double)nearest;  // exact
    return rounded(nearest, missing != 0 ? missing : low, way);
}
static inline float add(float a, float b, Rounding way) {
    const double sum = (double)a + b;
    return to_float(sum, missing_sum(a, b, sum), way);
}
static inline float multiply(float a, float b, Rounding way) {
    return to_float((double)a * b, 0, way);
}
static inline float divide(float a, float b, Rounding way) {
    const double quotient = (double)a / b;
    const double left = fma(-quotient, (double)b, (double)a);
    return to_float(quotient, sign_of(left) * sign_of(b), way);
}
static inline float root(float a, Rounding way) {
    const double r = __builtin_sqrt((double)a);
    return to_float(r, fma(-r, r, (double)a), way);
}
static inline float multiply_add(float a, float b, float c, Rounding way) {
    const double product = (double)a * b, sum = product + c;
    return to_float(sum, missing_sum(product, c, sum), way);
}
// Of doubles: exact but for results beyond the largest or below the smallest normal number.
static inline double to_double(double nearest, double missing, Rounding way) {
    if (nearest - nearest != 0) return nearest;
    return rounded(nearest, missing, way);
}
static inline double add(double a, double b, Rounding way) {
    const double sum = a + b;
    return to_double(sum, missing_sum(a, b, sum), way);
}
static inline double multiply(double a, double b, Rounding way) {
    const double product = a * b;
    return to_double(product, fma(a, b, -product), way);
}
static inline double divide(double a, double b, Rounding way) {
    const double quotient = a / b;
    return to_double(quotient, sign_of(fma(-quotient, b, a)) * sign_of(b), way);
}
static inline double root(double a, Rounding way) {
    const double r = __builtin_sqrt(a);
    return to_double(r, fma(-r, r, a), way);
}
template <class F, class I> static inline CUSIM_AUTO(F) from_integer(I x, Rounding way) {
    const F nearest = (F)x;
    const nogpu_int128 missing = (nogpu_int128)x - (nogpu_int128)nearest;
    return rounded(nearest, missing > 0 ? 1.0 : missing < 0 ? -1.0 : 0.0, way);
}
}  // namespace nogpu

#define CUSIM_FROM_INTEGER(NAME, F, I, WAY)                                                   \
    static inline F NAME(I x) { return nogpu::from_integer<F>(x, WAY); }
#define CUSIM_DIRECTED(SUFFIX, WAY)                                                           \
    static inline float __fadd_##SUFFIX(float a, float b) { return nogpu::add(a, b, WAY); }   \
    static inline float __fsub_##SUFFIX(float a, float b) { return nogpu::add(a, -b, WAY); }  \
    static inline float __fmul_##SUFFIX(float a, float b) {                                   \
        return nogpu::multiply(a, b, WAY);                                                    \
    }                                                                                         \
    static inline float __fdiv_##SUFFIX(float a, float b) { return nogpu::divide(a, b, WAY); } \
    static inline float __frcp_##SUFFIX(float a) { return nogpu::divide(1.0f, a, WAY); }      \
    static inline float __fsqrt_##SUFFIX(float a) { return nogpu::root(a, WAY); }             \
    static inline float __fmaf_##SUFFIX(float a, float b, float c) {                          \
        return nogpu::multiply_add(a, b, c, WAY);                                             \
    }                                                                                         \
    static inline double __dadd_##SUFFIX(double a, double b) { return nogpu::add(a, b, WAY); } \
    static inline double __dsub_##SUFFIX(double a, double b) { return nogpu::add(a, -b, WAY); } \
    static inline double __dmul_##SUFFIX(double a, double b) {                                \
        return nogpu::multiply(a, b, WAY);                                                    \
    }                                                                                         \
    static inline double __ddiv_##SUFFIX(double a, double b) {                                \
        return nogpu::divide(a, b, WAY);                                                      \
    }                                                                                         \
    static inline double __drcp_##SUFFIX(double a) { return nogpu::divide(1.0, a, WAY); }     \
    static inline double __dsqrt_##SUFFIX(double a) { return nogpu::root(a, WAY); }           \
    static inline float __double2float_##SUFFIX(double x) { return nogpu::to_float(x, 0, WAY); } \
    CUSIM_FROM_INTEGER(__int2float_##SUFFIX, float, int, WAY)                                 \
    CUSIM_FROM_INTEGER(__uint2float_##SUFFIX, float, unsigned int, WAY)                       \
    CUSIM_FROM_INTEGER(__ll2float_##SUFFIX, float, long long, WAY)                            \
    CUSIM_FROM_INTEGER(__ull2float_##SUFFIX, float, unsigned long long, WAY)                  \
    CUSIM_FROM_INTEGER(__ll2double_##SUFFIX, double, long long, WAY)                          \
    CUSIM_FROM_INTEGER(__ull2double_##SUFFIX, double, unsigned long long, WAY)
CUSIM_DIRECTED(rd, nogpu::kDown)
CUSIM_DIRECTED(ru, nogpu::kUp)
CUSIM_DIRECTED(rz, nogpu::kToZero)
