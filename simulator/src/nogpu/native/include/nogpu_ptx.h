// What translated PTX instructions need (ptx.py): a register holds bits, an instruction says how
// they are read and written.
#pragma once

namespace nogpu {
template <class T, class S> static inline T ptx_as(const S& from) {
    if constexpr (sizeof(T) == sizeof(S))
        return __builtin_bit_cast(T, from);
    else
        return (T)from;
}
template <class T, class D> static inline void ptx_set(D& to, T value) { to = ptx_as<D>(value); }
template <class T> static inline T ptx_shift(T value, unsigned by, bool left) {
    if (by >= 8 * sizeof(T)) return left || value >= 0 ? (T)0 : (T)-1;
    return left ? (T)(value << by) : (T)(value >> by);
}
static inline int ptx_zeros(unsigned int x) { return __clz((int)x); }
static inline int ptx_zeros(unsigned long long x) { return __clzll((long long)x); }
static inline unsigned int ptx_reverse(unsigned int x) { return __brev(x); }
static inline unsigned long long ptx_reverse(unsigned long long x) { return __brevll(x); }
template <class D, class A, class B>
static inline void ptx_join(D& to, const A& low, const B& high) {
    const unsigned int bits = 4 * sizeof(D);
    const unsigned long long mask = (1ull << bits) - 1;
    const unsigned long long all = (unsigned long long)ptx_as<unsigned>(low) & mask;
    ptx_set<decltype(0ull)>(to, all | ((unsigned long long)ptx_as<unsigned>(high) & mask) << bits);
}
template <class W, class A, class B> static inline void ptx_part(W all, A& low, B& high) {
    const unsigned int bits = 4 * sizeof(W);
    low = (A)ptx_as<A>((unsigned int)(all & ((1ull << bits) - 1)));
    high = (B)ptx_as<B>((unsigned int)(all >> bits));
}
}  // namespace nogpu
