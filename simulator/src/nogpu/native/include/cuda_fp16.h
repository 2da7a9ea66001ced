// Half precision in software: stored as 16 bits, computed in float and rounded to nearest even
// after each operation, which is what the hardware's half arithmetic gives for + - * and fma.
#pragma once

struct __half;
namespace nogpu {
static inline float half_to_float(unsigned short h) {
    const unsigned int sign = (unsigned int)(h & 0x8000u) << 16;
    const unsigned int exponent = (h >> 10) & 31u, mantissa = h & 1023u;
    if (exponent == 31u) return bits_as<float>(sign | 0x7f800000u | (mantissa << 13));
    if (exponent == 0u) {
        const float tiny = (float)mantissa * 5.9604644775390625e-8f;  // 2^-24
        return sign ? -tiny : tiny;
    }
    return bits_as<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}
static inline unsigned short double_to_half(double x) {
    // From double so that one rounding serves float and double alike.
    const unsigned long long bits = bits_as<unsigned long long>(x);
    const unsigned short sign = (unsigned short)((bits >> 48) & 0x8000u);
    const double size = x < 0 ? -x : x;
    if (x != x) return 0x7fffu;
    if (size >= 65520.0) return sign | 0x7c00u;
    if (size < 6.103515625e-5)  // below 2^-14: a multiple of 2^-24
        return sign | (unsigned short)__builtin_rint(size * 16777216.0);
    const int exponent = (int)((bits >> 52) & 2047u) - 1023;
    const unsigned long long mantissa = bits & 0xfffffffffffffull;
    unsigned int half = ((unsigned int)(exponent + 15) << 10) | (unsigned int)(mantissa >> 42);
    const unsigned long long rest = mantissa & 0x3ffffffffffull, middle = 0x20000000000ull;
    if (rest > middle || (rest == middle && (half & 1u))) half++;
    return sign | (unsigned short)half;
}
}  // namespace nogpu

#define CUSIM_HALF_FROM(T) \
    __half(T value) : bits(nogpu::double_to_half((double)value)) {}
struct __attribute__((aligned(2))) __half {
    unsigned short bits;
    __half() = default;
    CUSIM_HALF_FROM(float)
    CUSIM_HALF_FROM(double)
    CUSIM_HALF_FROM(int)
    CUSIM_HALF_FROM(unsigned int)
    CUSIM_HALF_FROM(short)
    CUSIM_HALF_FROM(unsigned short)
    CUSIM_HALF_FROM(long long)
    CUSIM_HALF_FROM(unsigned long long)
    operator float() const { return nogpu::half_to_float(bits); }
    explicit operator bool() const { return (bits & 0x7fffu) != 0; }
    explicit operator int() const { return (int)nogpu::half_to_float(bits); }
};
typedef __half half;
typedef __half __nv_half;

static inline __half __ushort_as_half(unsigned short bits) {
    __half h;
    h.bits = bits;
    return h;
}

#define H __half
#define H2 __half2
#define HALF_OF(BITS) __ushort_as_half((unsigned short)(BITS))
#define INFINITE 0x7c00u
#include "nogpu_half_operations.h"
#undef H
#undef H2
#undef HALF_OF
#undef INFINITE
typedef __half2 half2;

static inline __half __float2half(float x) { return __half(x); }
static inline __half __float2half_rn(float x) { return __half(x); }
static inline __half __double2half(double x) { return __half(x); }
static inline float __half2float(__half h) { return nogpu::half_to_float(h.bits); }
static inline __half __int2half_rn(int x) { return __half(x); }
static inline __half __uint2half_rn(unsigned int x) { return __half(x); }
static inline __half __short2half_rn(short x) { return __half(x); }
static inline __half __ushort2half_rn(unsigned short x) { return __half(x); }
static inline int __half2int_rn(__half h) { return __float2int_rn((float)h); }
static inline int __half2int_rz(__half h) { return __float2int_rz((float)h); }
static inline int __half2int_rd(__half h) { return __float2int_rd((float)h); }
static inline int __half2int_ru(__half h) { return __float2int_ru((float)h); }
static inline unsigned int __half2uint_rn(__half h) { return __float2uint_rn((float)h); }
static inline unsigned int __half2uint_rz(__half h) { return __float2uint_rz((float)h); }
static inline unsigned short __half_as_ushort(__half h) { return h.bits; }
static inline short __half_as_short(__half h) { return (short)h.bits; }
static inline __half __short_as_half(short x) { return __ushort_as_half((unsigned short)x); }

static inline __half2 make_half2(__half x, __half y) { return __half2(x, y); }
static inline __half2 __halves2half2(__half x, __half y) { return __half2(x, y); }
static inline __half2 __half2half2(__half x) { return __half2(x, x); }
static inline __half2 __float2half2_rn(float x) { return __half2(__half(x), __half(x)); }
static inline __half2 __floats2half2_rn(float x, float y) {
    return __half2(__half(x), __half(y));
}
static inline __half2 __float22half2_rn(float2 v) { return __floats2half2_rn(v.x, v.y); }
static inline float2 __half22float2(__half2 v) { return make_float2((float)v.x, (float)v.y); }
static inline __half __low2half(__half2 v) { return v.x; }
static inline __half __high2half(__half2 v) { return v.y; }
