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
CUSIM_HALF_NAMES(bfloat16)
#undef CUSIM_HALF_NAMES
#undef H
#undef H2
#undef HALF_OF
#undef INFINITE
typedef __nv_bfloat162 nv_bfloat162;

static inline __nv_bfloat16 __float2bfloat16_rz(float x) {
    return x != x ? __nv_bfloat16(x)
                  : __ushort_as_bfloat16((unsigned short)(__float_as_uint(x) >> 16));
}

static inline __nv_bfloat162 __low2bfloat162(__nv_bfloat162 v) { return __low2half2(v); }
static inline __nv_bfloat162 __high2bfloat162(__nv_bfloat162 v) { return __high2half2(v); }
