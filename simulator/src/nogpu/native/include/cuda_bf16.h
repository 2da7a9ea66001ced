// bfloat16 in software: the upper half of a float, computed in float and rounded to nearest even
// after each operation. A float has so many digits more that rounding twice changes nothing for
// + - * / and square roots (Figueroa, When is double rounding innocuous?, SIGNUM 30(3), 1995).
#pragma once

namespace nogpu {
static inline float bfloat16_to_float(unsigned short bits) {
    return bits_as<float>((unsigned int)bits << 16);
}
static inline unsigned short float_to_bfloat16(float x) {
    const unsigned int bits = bits_as<unsigned int>(x);
    if (x != x) return 0x7fffu;
    return (unsigned short)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
// By way of a float that is rounded to odd, which keeps the second rounding right.
static inline unsigned short double_to_bfloat16(double x) {
    if (x != x) return 0x7fffu;
    float cut = to_float(x, 0, kToZero);
    if ((double)cut != x && cut - cut == 0)
        cut = bits_as<float>(bits_as<unsigned int>(cut) | 1u);
    return float_to_bfloat16(cut);
}
}  // namespace nogpu

#define CUSIM_BFLOAT16_FROM(T) \
    __nv_bfloat16(T value) : bits(nogpu::double_to_bfloat16((double)value)) {}
struct __attribute__((aligned(2))) __nv_bfloat16 {
    unsigned short bits;
    __nv_bfloat16() = default;
    __nv_bfloat16(float value) : bits(nogpu::float_to_bfloat16(value)) {}
    CUSIM_BFLOAT16_FROM(double)
    CUSIM_BFLOAT16_FROM(int)
    CUSIM_BFLOAT16_FROM(unsigned int)
    CUSIM_BFLOAT16_FROM(short)
    CUSIM_BFLOAT16_FROM(unsigned short)
    CUSIM_BFLOAT16_FROM(long long)
    CUSIM_BFLOAT16_FROM(unsigned long long)
    operator float() const { return nogpu::bfloat16_to_float(bits); }
    explicit operator bool() const { return (bits & 0x7fffu) != 0; }
    explicit operator int() const { return (int)nogpu::bfloat16_to_float(bits); }
};
typedef __nv_bfloat16 nv_bfloat16;

static inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
    __nv_bfloat16 h;
    h.bits = bits;
    return h;
}

#define H __nv_bfloat16
#define H2 __nv_bfloat162
#define HALF_OF(BITS) __ushort_as_bfloat16((unsigned short)(BITS))
#define INFINITE 0x7f80u
#include "nogpu_half_operations.h"
#undef H
#undef H2
#undef HALF_OF
#undef INFINITE
typedef __nv_bfloat162 nv_bfloat162;

static inline __nv_bfloat16 __float2bfloat16(float x) { return __nv_bfloat16(x); }
static inline __nv_bfloat16 __float2bfloat16_rn(float x) { return __nv_bfloat16(x); }
static inline __nv_bfloat16 __float2bfloat16_rz(float x) {
    return x != x ? __nv_bfloat16(x)
                  : __ushort_as_bfloat16((unsigned short)(__float_as_uint(x) >> 16));
}
static inline __nv_bfloat16 __double2bfloat16(double x) { return __nv_bfloat16(x); }
static inline float __bfloat162float(__nv_bfloat16 h) { return (float)h; }
static inline __nv_bfloat16 __int2bfloat16_rn(int x) { return __nv_bfloat16(x); }
static inline __nv_bfloat16 __uint2bfloat16_rn(unsigned int x) { return __nv_bfloat16(x); }
static inline int __bfloat162int_rn(__nv_bfloat16 h) { return __float2int_rn((float)h); }
static inline int __bfloat162int_rz(__nv_bfloat16 h) { return __float2int_rz((float)h); }
static inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 h) { return h.bits; }
static inline short __bfloat16_as_short(__nv_bfloat16 h) { return (short)h.bits; }

static inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) {
    return __nv_bfloat162(x, y);
}
static inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) {
    return __nv_bfloat162(x, y);
}
static inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) {
    return __nv_bfloat162(x, x);
}
static inline __nv_bfloat162 __float2bfloat162_rn(float x) {
    return __nv_bfloat162(__nv_bfloat16(x), __nv_bfloat16(x));
}
static inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
    return __nv_bfloat162(__nv_bfloat16(x), __nv_bfloat16(y));
}
static inline __nv_bfloat162 __float22bfloat162_rn(float2 v) {
    return __floats2bfloat162_rn(v.x, v.y);
}
static inline float2 __bfloat1622float2(__nv_bfloat162 v) {
    return make_float2((float)v.x, (float)v.y);
}
static inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 v) { return v.x; }
static inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 v) { return v.y; }
static inline __nv_bfloat162 __low2bfloat162(__nv_bfloat162 v) { return __low2half2(v); }
static inline __nv_bfloat162 __high2bfloat162(__nv_bfloat162 v) { return __high2half2(v); }
