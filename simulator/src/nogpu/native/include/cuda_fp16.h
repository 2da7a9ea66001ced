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
CUSIM_HALF_NAMES(half)
#undef CUSIM_HALF_NAMES
#undef H
#undef H2
#undef HALF_OF
#undef INFINITE
typedef __half2 half2;

static inline __half __short2half_rn(short x) { return __half(x); }
static inline __half __ushort2half_rn(unsigned short x) { return __half(x); }
static inline int __half2int_rd(__half h) { return __float2int_rd((float)h); }
static inline int __half2int_ru(__half h) { return __float2int_ru((float)h); }
static inline unsigned int __half2uint_rn(__half h) { return __float2uint_rn((float)h); }
static inline unsigned int __half2uint_rz(__half h) { return __float2uint_rz((float)h); }
static inline __half __short_as_half(short x) { return __ushort_as_half((unsigned short)x); }

