// Integer, conversion and floating-point intrinsics.
#pragma once

static inline int __popc(unsigned int x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned int)x); }
static inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(x); }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline unsigned int __brev(unsigned int x) {
    x = ((x >> 1) & 0x55555555u) | ((x & 0x55555555u) << 1);
    x = ((x >> 2) & 0x33333333u) | ((x & 0x33333333u) << 2);
    x = ((x >> 4) & 0x0f0f0f0fu) | ((x & 0x0f0f0f0fu) << 4);
    return __builtin_bswap32(x);
}
static inline unsigned long long __brevll(unsigned long long x) {
    return ((unsigned long long)__brev((unsigned int)x) << 32) | __brev((unsigned int)(x >> 32));
}
static inline unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int s) {
    const unsigned long long all = ((unsigned long long)y << 32) | x;
    unsigned int result = 0;
    for (int i = 0; i < 4; i++) {
        const unsigned int selector = (s >> (4 * i)) & 0xfu;
        unsigned int byte = (unsigned int)(all >> (8 * (selector & 7u))) & 0xffu;
        if (selector & 8u) byte = (byte & 0x80u) ? 0xffu : 0u;
        result |= byte << (8 * i);
    }
    return result;
}
static inline unsigned int __funnelshift_l(unsigned int lo, unsigned int hi, unsigned int n) {
    return (unsigned int)(((((unsigned long long)hi << 32) | lo) << (n & 31u)) >> 32);
}
static inline unsigned int __funnelshift_r(unsigned int lo, unsigned int hi, unsigned int n) {
    return (unsigned int)((((unsigned long long)hi << 32) | lo) >> (n & 31u));
}
static inline int __mulhi(int a, int b) { return (int)(((long long)a * b) >> 32); }
static inline unsigned int __umulhi(unsigned int a, unsigned int b) {
    return (unsigned int)(((unsigned long long)a * b) >> 32);
}
__extension__ typedef __int128 nogpu_int128;
__extension__ typedef unsigned __int128 nogpu_uint128;
static inline long long __mul64hi(long long a, long long b) {
    return (long long)(((nogpu_int128)a * b) >> 64);
}
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)(((nogpu_uint128)a * b) >> 64);
}
static inline int __mul24(int a, int b) {
    return (int)((unsigned int)((a << 8) >> 8) * (unsigned int)((b << 8) >> 8));
}
static inline unsigned int __umul24(unsigned int a, unsigned int b) {
    return (a & 0xffffffu) * (b & 0xffffffu);
}
static inline unsigned int __sad(int a, int b, unsigned int c) {
    return (a > b ? (unsigned int)a - (unsigned int)b : (unsigned int)b - (unsigned int)a) + c;
}
static inline unsigned int __usad(unsigned int a, unsigned int b, unsigned int c) {
    return (a > b ? a - b : b - a) + c;
}
static inline int __hadd(int a, int b) { return (int)(((long long)a + b) >> 1); }
static inline int __rhadd(int a, int b) { return (int)(((long long)a + b + 1) >> 1); }
static inline int __dp4a(int a, int b, int c) {
    for (int i = 0; i < 4; i++) c += (signed char)(a >> (8 * i)) * (signed char)(b >> (8 * i));
    return c;
}
static inline unsigned int __dp4a(unsigned int a, unsigned int b, unsigned int c) {
    for (int i = 0; i < 4; i++) c += ((a >> (8 * i)) & 255u) * ((b >> (8 * i)) & 255u);
    return c;
}

namespace nogpu {
template <class To, class From> static inline CUSIM_AUTO(To) bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From), "same size");
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}
// CUDA converts out-of-range values to the nearest bound and NaN to 0; C++ leaves it open.
template <class I> static inline CUSIM_AUTO(I) clamp_to(double x, I low, I high) {
    if (x != x) return (I)0;
    if (x <= (double)low) return low;
    if (x >= (double)high) return high;
    return (I)x;
}
}  // namespace nogpu
static inline int __float_as_int(float x) { return nogpu::bits_as<int>(x); }
static inline unsigned int __float_as_uint(float x) { return nogpu::bits_as<unsigned int>(x); }
static inline float __int_as_float(int x) { return nogpu::bits_as<float>(x); }
static inline float __uint_as_float(unsigned int x) { return nogpu::bits_as<float>(x); }
static inline long long __double_as_longlong(double x) { return nogpu::bits_as<long long>(x); }
static inline double __longlong_as_double(long long x) { return nogpu::bits_as<double>(x); }
static inline int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
static inline int __double2loint(double x) { return (int)__double_as_longlong(x); }
static inline double __hiloint2double(int hi, int lo) {
    return __longlong_as_double(((long long)hi << 32) | (unsigned int)lo);
}

#define CUSIM_ROUNDINGS(FROM, T, NAME, I, LOW, HIGH)                                        \
    static inline I __##FROM##2##NAME##_rz(T x) {                                           \
        return nogpu::clamp_to<I>(__builtin_trunc((double)x), LOW, HIGH);                   \
    }                                                                                       \
    static inline I __##FROM##2##NAME##_rn(T x) {                                           \
        return nogpu::clamp_to<I>(__builtin_rint((double)x), LOW, HIGH);                    \
    }                                                                                       \
    static inline I __##FROM##2##NAME##_rd(T x) {                                           \
        return nogpu::clamp_to<I>(__builtin_floor((double)x), LOW, HIGH);                   \
    }                                                                                       \
    static inline I __##FROM##2##NAME##_ru(T x) {                                           \
        return nogpu::clamp_to<I>(__builtin_ceil((double)x), LOW, HIGH);                    \
    }
CUSIM_ROUNDINGS(float, float, int, int, -2147483647 - 1, 2147483647)
CUSIM_ROUNDINGS(float, float, uint, unsigned int, 0u, 4294967295u)
CUSIM_ROUNDINGS(float, float, ll, long long, -9223372036854775807LL - 1, 9223372036854775807LL)
CUSIM_ROUNDINGS(float, float, ull, unsigned long long, 0ull, 18446744073709551615ull)
CUSIM_ROUNDINGS(double, double, int, int, -2147483647 - 1, 2147483647)
CUSIM_ROUNDINGS(double, double, uint, unsigned int, 0u, 4294967295u)
CUSIM_ROUNDINGS(double, double, ll, long long, -9223372036854775807LL - 1, 9223372036854775807LL)
CUSIM_ROUNDINGS(double, double, ull, unsigned long long, 0ull, 18446744073709551615ull)
static inline float __int2float_rn(int x) { return (float)x; }
static inline float __uint2float_rn(unsigned int x) { return (float)x; }
static inline float __ll2float_rn(long long x) { return (float)x; }
static inline float __ull2float_rn(unsigned long long x) { return (float)x; }
static inline double __int2double_rn(int x) { return (double)x; }
static inline double __uint2double_rn(unsigned int x) { return (double)x; }
static inline double __ll2double_rn(long long x) { return (double)x; }
static inline double __ull2double_rn(unsigned long long x) { return (double)x; }
static inline float __double2float_rn(double x) { return (float)x; }

static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fsub_rn(float a, float b) { return a - b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline float __frcp_rn(float a) { return 1.0f / a; }
static inline float __fsqrt_rn(float a) { return __builtin_sqrtf(a); }
static inline float __frsqrt_rn(float a) { return 1.0f / __builtin_sqrtf(a); }
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline double __dadd_rn(double a, double b) { return a + b; }
static inline double __dsub_rn(double a, double b) { return a - b; }
static inline double __dmul_rn(double a, double b) { return a * b; }
static inline double __ddiv_rn(double a, double b) { return a / b; }
static inline double __drcp_rn(double a) { return 1.0 / a; }
static inline double __dsqrt_rn(double a) { return __builtin_sqrt(a); }
static inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
static inline float __expf(float x) { return expf(x); }
static inline float __exp10f(float x) { return exp10f(x); }
static inline float __logf(float x) { return logf(x); }
static inline float __log2f(float x) { return log2f(x); }
static inline float __log10f(float x) { return log10f(x); }
static inline float __powf(float x, float y) { return powf(x, y); }
static inline float __sinf(float x) { return sinf(x); }
static inline float __cosf(float x) { return cosf(x); }
static inline float __tanf(float x) { return tanf(x); }
static inline float __tanhf(float x) { return tanhf(x); }
static inline void __sincosf(float x, float* s, float* c) { sincosf(x, s, c); }
static inline float __fdividef(float x, float y) { return x / y; }
static inline float __saturatef(float x) { return saturate(x); }

// Loads and stores with a cache hint: the simulator has no cache.
#define CUSIM_LOAD(NAME) \
    template <class T> static inline T NAME(const T* address) { return *address; }
CUSIM_LOAD(__ldg)
CUSIM_LOAD(__ldca)
CUSIM_LOAD(__ldcg)
CUSIM_LOAD(__ldcs)
CUSIM_LOAD(__ldlu)
CUSIM_LOAD(__ldcv)
#define CUSIM_STORE(NAME) \
    template <class T> static inline void NAME(T* address, T value) { *address = value; }
CUSIM_STORE(__stwb)
CUSIM_STORE(__stcg)
CUSIM_STORE(__stcs)
CUSIM_STORE(__stwt)
static inline unsigned int __isGlobal(const void*) { return 1; }
