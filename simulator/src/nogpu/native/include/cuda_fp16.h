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

struct __attribute__((aligned(4))) __half2 {
    __half x, y;
    __half2(__half x_, __half y_) : x(x_), y(y_) {}
    CUSIM_COPIES(__half2, 4)
};
typedef __half2 half2;

static inline __half __float2half(float x) { return __half(x); }
static inline __half __float2half_rn(float x) { return __half(x); }
static inline __half __double2half(double x) { return __half(x); }
static inline float __half2float(__half h) { return nogpu::half_to_float(h.bits); }
static inline __half __int2half_rn(int x) { return __half(x); }
static inline int __half2int_rn(__half h) { return __float2int_rn((float)h); }
static inline int __half2int_rz(__half h) { return __float2int_rz((float)h); }
static inline __half __ushort_as_half(unsigned short bits) {
    __half h;
    h.bits = bits;
    return h;
}
static inline unsigned short __half_as_ushort(__half h) { return h.bits; }

#define CUSIM_HALF_OPERATOR(OP, NAME)                                                       \
    static inline __half operator OP(__half a, __half b) {                                  \
        return __half((float)a OP (float)b);                                                \
    }                                                                                       \
    static inline __half NAME(__half a, __half b) { return a OP b; }                        \
    static inline __half& operator OP##=(__half& a, __half b) { return a = a OP b; }        \
    static inline __half2 operator OP(__half2 a, __half2 b) {                               \
        return __half2(a.x OP b.x, a.y OP b.y);                                             \
    }                                                                                       \
    static inline __half2 NAME##2(__half2 a, __half2 b) { return a OP b; }                  \
    static inline __half2& operator OP##=(__half2& a, __half2 b) { return a = a OP b; }
CUSIM_HALF_OPERATOR(+, __hadd)
CUSIM_HALF_OPERATOR(-, __hsub)
CUSIM_HALF_OPERATOR(*, __hmul)
CUSIM_HALF_OPERATOR(/, __hdiv)
static inline __half2 __h2div(__half2 a, __half2 b) { return a / b; }
static inline __half operator-(__half a) {
    return __ushort_as_half((unsigned short)(a.bits ^ 0x8000u));
}
static inline __half __hneg(__half a) { return -a; }
static inline __half __habs(__half a) {
    return __ushort_as_half((unsigned short)(a.bits & 0x7fffu));
}
// The product of two halves is exact in double, so there is one rounding, as in hardware.
static inline __half __hfma(__half a, __half b, __half c) {
    return __half(fma((double)(float)a, (double)(float)b, (double)(float)c));
}
static inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
    return __half2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));
}

#define CUSIM_HALF_COMPARE(OP, NAME)                                                        \
    static inline bool operator OP(__half a, __half b) { return (float)a OP (float)b; }     \
    static inline bool NAME(__half a, __half b) { return (float)a OP (float)b; }
CUSIM_HALF_COMPARE(==, __heq)
CUSIM_HALF_COMPARE(!=, __hne)
CUSIM_HALF_COMPARE(<, __hlt)
CUSIM_HALF_COMPARE(<=, __hle)
CUSIM_HALF_COMPARE(>, __hgt)
CUSIM_HALF_COMPARE(>=, __hge)
static inline bool __hisnan(__half a) { return (a.bits & 0x7fffu) > 0x7c00u; }
static inline int __hisinf(__half a) {
    return (a.bits & 0x7fffu) == 0x7c00u ? ((a.bits & 0x8000u) ? -1 : 1) : 0;
}
static inline __half __hmax(__half a, __half b) {
    return __half(fmaxf((float)a, (float)b));
}
static inline __half __hmin(__half a, __half b) {
    return __half(fminf((float)a, (float)b));
}

#define CUSIM_HALF_FUNCTION(NAME, FUNCTION)                                                 \
    static inline __half h##NAME(__half a) { return __half(FUNCTION((float)a)); }           \
    static inline __half2 h2##NAME(__half2 a) { return __half2(h##NAME(a.x), h##NAME(a.y)); }
CUSIM_HALF_FUNCTION(sqrt, sqrtf)
CUSIM_HALF_FUNCTION(rsqrt, rsqrtf)
CUSIM_HALF_FUNCTION(exp, expf)
CUSIM_HALF_FUNCTION(exp2, exp2f)
CUSIM_HALF_FUNCTION(log, logf)
CUSIM_HALF_FUNCTION(log2, log2f)
CUSIM_HALF_FUNCTION(sin, sinf)
CUSIM_HALF_FUNCTION(cos, cosf)
CUSIM_HALF_FUNCTION(floor, floorf)
CUSIM_HALF_FUNCTION(ceil, ceilf)
CUSIM_HALF_FUNCTION(rint, rintf)
CUSIM_HALF_FUNCTION(trunc, truncf)

static inline __half2 make_half2(__half x, __half y) { return __half2(x, y); }
static inline __half2 __halves2half2(__half x, __half y) { return __half2(x, y); }
static inline __half2 __half2half2(__half x) { return __half2(x, x); }
static inline __half2 __float2half2_rn(float x) { return __half2(__half(x), __half(x)); }
static inline __half2 __floats2half2_rn(float x, float y) {
    return __half2(__half(x), __half(y));
}
static inline __half2 __float22half2_rn(float2 v) { return __floats2half2_rn(v.x, v.y); }
static inline float2 __half22float2(__half2 v) { return make_float2((float)v.x, (float)v.y); }
static inline float __low2float(__half2 v) { return (float)v.x; }
static inline float __high2float(__half2 v) { return (float)v.y; }
static inline __half __low2half(__half2 v) { return v.x; }
static inline __half __high2half(__half2 v) { return v.y; }

static inline __half atomicAdd(__half* address, __half value) {
    return nogpu::update(address, [value](__half old) { return old + value; });
}
#define CUSIM_HALF_SHUFFLE(NAME, SOURCE_TYPE)                                               \
    static inline __half NAME(unsigned int mask, __half value, SOURCE_TYPE source,          \
                              int width = 32, CUSIM_LINE) {                                 \
        const unsigned int bits = value.bits;                                               \
        return __ushort_as_half((unsigned short)NAME(mask, bits, source, width,             \
                                                     nogpu_line));                          \
    }
CUSIM_HALF_SHUFFLE(__shfl_sync, int)
CUSIM_HALF_SHUFFLE(__shfl_up_sync, unsigned int)
CUSIM_HALF_SHUFFLE(__shfl_down_sync, unsigned int)
CUSIM_HALF_SHUFFLE(__shfl_xor_sync, int)
