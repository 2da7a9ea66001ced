// Arithmetic on the two halves or four bytes of a word ("SIMD Intrinsics" of the CUDA Math API).
#pragma once

namespace nogpu {
// `operation` of each piece of two words, as unsigned or signed numbers of `Bits` bits.
template <int Bits, bool Signed, class F>
static inline CUSIM_AUTO(unsigned int) packed(unsigned int a, unsigned int b, F operation) {
    const unsigned int mask = (1u << Bits) - 1;
    unsigned int result = 0;
    for (int at = 0; at < 32; at += Bits) {
        int x = (int)((a >> at) & mask), y = (int)((b >> at) & mask);
        if (Signed) {
            x = (int)((unsigned int)x << (32 - Bits)) >> (32 - Bits);
            y = (int)((unsigned int)y << (32 - Bits)) >> (32 - Bits);
        }
        result |= ((unsigned int)operation(x, y) & mask) << at;
    }
    return result;
}
template <int Bits> static inline CUSIM_AUTO(int) saturated(int x) {
    const int high = (1 << (Bits - 1)) - 1;
    return x > high ? high : x < -high - 1 ? -high - 1 : x;
}
template <int Bits> static inline CUSIM_AUTO(int) saturated_unsigned(int x) {
    const int high = (1 << Bits) - 1;
    return x > high ? high : x < 0 ? 0 : x;
}
}  // namespace nogpu

#define CUSIM_PACKED(NAME, BITS, SIGNED, EXPRESSION)                                          \
    static inline unsigned int NAME(unsigned int a, unsigned int b) {                         \
        return nogpu::packed<BITS, SIGNED>(a, b, [](int x, int y) { return EXPRESSION; });    \
    }
#define CUSIM_PACKED_ONE(NAME, BITS, EXPRESSION)                                              \
    static inline unsigned int NAME(unsigned int a) {                                         \
        return nogpu::packed<BITS, true>(a, 0, [](int x, int) { return EXPRESSION; });        \
    }
#define CUSIM_PACKED_ALL(N, BITS)                                                             \
    CUSIM_PACKED(__vadd##N, BITS, false, x + y)                                               \
    CUSIM_PACKED(__vsub##N, BITS, false, x - y)                                               \
    CUSIM_PACKED(__vaddss##N, BITS, true, nogpu::saturated<BITS>(x + y))                      \
    CUSIM_PACKED(__vsubss##N, BITS, true, nogpu::saturated<BITS>(x - y))                      \
    CUSIM_PACKED(__vaddus##N, BITS, false, nogpu::saturated_unsigned<BITS>(x + y))            \
    CUSIM_PACKED(__vsubus##N, BITS, false, nogpu::saturated_unsigned<BITS>(x - y))            \
    CUSIM_PACKED(__vavgs##N, BITS, true, (x + y + (x + y >= 0)) >> 1)                         \
    CUSIM_PACKED(__vavgu##N, BITS, false, (x + y + 1) >> 1)                                   \
    CUSIM_PACKED(__vhaddu##N, BITS, false, (x + y) >> 1)                                      \
    CUSIM_PACKED(__vmaxs##N, BITS, true, x > y ? x : y)                                       \
    CUSIM_PACKED(__vmaxu##N, BITS, false, x > y ? x : y)                                      \
    CUSIM_PACKED(__vmins##N, BITS, true, x < y ? x : y)                                       \
    CUSIM_PACKED(__vminu##N, BITS, false, x < y ? x : y)                                      \
    CUSIM_PACKED(__vabsdiffs##N, BITS, true, x > y ? x - y : y - x)                           \
    CUSIM_PACKED(__vabsdiffu##N, BITS, false, x > y ? x - y : y - x)                          \
    CUSIM_PACKED(__vcmpeq##N, BITS, false, -(x == y))                                         \
    CUSIM_PACKED(__vcmpne##N, BITS, false, -(x != y))                                         \
    CUSIM_PACKED(__vcmpgts##N, BITS, true, -(x > y))                                          \
    CUSIM_PACKED(__vcmpgtu##N, BITS, false, -(x > y))                                         \
    CUSIM_PACKED(__vcmpges##N, BITS, true, -(x >= y))                                         \
    CUSIM_PACKED(__vcmpgeu##N, BITS, false, -(x >= y))                                        \
    CUSIM_PACKED(__vcmplts##N, BITS, true, -(x < y))                                          \
    CUSIM_PACKED(__vcmpltu##N, BITS, false, -(x < y))                                         \
    CUSIM_PACKED(__vcmples##N, BITS, true, -(x <= y))                                         \
    CUSIM_PACKED(__vcmpleu##N, BITS, false, -(x <= y))                                        \
    CUSIM_PACKED(__vseteq##N, BITS, false, x == y)                                            \
    CUSIM_PACKED(__vsetne##N, BITS, false, x != y)                                            \
    CUSIM_PACKED(__vsetgts##N, BITS, true, x > y)                                             \
    CUSIM_PACKED(__vsetgtu##N, BITS, false, x > y)                                            \
    CUSIM_PACKED(__vsetges##N, BITS, true, x >= y)                                            \
    CUSIM_PACKED(__vsetgeu##N, BITS, false, x >= y)                                           \
    CUSIM_PACKED(__vsetlts##N, BITS, true, x < y)                                             \
    CUSIM_PACKED(__vsetltu##N, BITS, false, x < y)                                            \
    CUSIM_PACKED(__vsetles##N, BITS, true, x <= y)                                            \
    CUSIM_PACKED(__vsetleu##N, BITS, false, x <= y)                                           \
    CUSIM_PACKED_ONE(__vneg##N, BITS, -x)                                                     \
    CUSIM_PACKED_ONE(__vnegss##N, BITS, nogpu::saturated<BITS>(-x))                           \
    CUSIM_PACKED_ONE(__vabs##N, BITS, x < 0 ? -x : x)                                         \
    CUSIM_PACKED_ONE(__vabsss##N, BITS, nogpu::saturated<BITS>(x < 0 ? -x : x))               \
    static inline unsigned int __vsads##N(unsigned int a, unsigned int b) {                   \
        const unsigned int d = __vabsdiffs##N(a, b);                                          \
        unsigned int sum = 0;                                                                 \
        for (int at = 0; at < 32; at += BITS) sum += (d >> at) & ((1u << BITS) - 1);          \
        return sum;                                                                           \
    }                                                                                         \
    static inline unsigned int __vsadu##N(unsigned int a, unsigned int b) {                   \
        const unsigned int d = __vabsdiffu##N(a, b);                                          \
        unsigned int sum = 0;                                                                 \
        for (int at = 0; at < 32; at += BITS) sum += (d >> at) & ((1u << BITS) - 1);          \
        return sum;                                                                           \
    }
CUSIM_PACKED_ALL(2, 16)
CUSIM_PACKED_ALL(4, 8)
