// CUDA's atomic functions. In instrumented builds the runtime sees the address first, as one
// atomic access. A thread that performs many atomics in a row lets the others run, so that a
// spin lock between the threads of a block makes progress.
#pragma once

namespace nogpu {

template <class T> static inline CUSIM_AUTO(void) before_atomic(T* address, bool adds_one = false) {
#if CUSIM_CHECKED
    nogpu_atomic_hook(address, sizeof(T), adds_one);
#else
    (void)address;
    (void)adds_one;
    if (__builtin_expect(--nogpu_context.spin_budget < 0, 0)) nogpu_yield();
#endif
}

template <int N> struct Word;
template <> struct Word<2> { typedef unsigned short type; };
template <> struct Word<4> { typedef unsigned int type; };
template <> struct Word<8> { typedef unsigned long long type; };

template <class T> static inline CUSIM_AUTO(typename Word<sizeof(T)>::type) as_word(T value) {
    typename Word<sizeof(T)>::type word;
    __builtin_memcpy(&word, &value, sizeof(T));
    return word;
}
template <class T> static inline CUSIM_AUTO(T) from_word(typename Word<sizeof(T)>::type word) {
    T value;
    __builtin_memcpy(&value, &word, sizeof(T));
    return value;
}

// old = *address; *address = change(old); as one step, for types that have no instruction.
template <class T, class Change> static inline CUSIM_AUTO(T) update(T* address, Change change) {
    typedef typename Word<sizeof(T)>::type W;
    before_atomic(address);
    W* word = (W*)address;
    W old = __atomic_load_n(word, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(word, &old, as_word(change(from_word<T>(old))), true,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return from_word<T>(old);
}

template <class T> static inline CUSIM_AUTO(T) add_integer(T* address, T value) {
    before_atomic(address, value == 1);
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}
template <class T> static inline CUSIM_AUTO(T) exchange(T* address, T value) {
    typedef typename Word<sizeof(T)>::type W;
    before_atomic(address);
    return from_word<T>(__atomic_exchange_n((W*)address, as_word(value), __ATOMIC_RELAXED));
}
template <class T> static inline CUSIM_AUTO(T) compare_and_swap(T* address, T compare, T value) {
    before_atomic(address);
    __atomic_compare_exchange_n(address, &compare, value, false, __ATOMIC_SEQ_CST,
                                __ATOMIC_RELAXED);
    return compare;
}

}  // namespace nogpu

#define CUSIM_ATOMIC_SCOPES(T, NAME, BODY)                                            \
    static inline T NAME(T* address, T value) { BODY }                                \
    static inline T NAME##_block(T* address, T value) { return NAME(address, value); } \
    static inline T NAME##_system(T* address, T value) { return NAME(address, value); }

#define CUSIM_ATOMIC_INTEGER(T)                                                       \
    CUSIM_ATOMIC_SCOPES(T, atomicExch, return nogpu::exchange(address, value);)       \
    CUSIM_ATOMIC_SCOPES(T, atomicMin, return nogpu::update(                           \
        address, [value](T old) { return old < value ? old : value; });)              \
    CUSIM_ATOMIC_SCOPES(T, atomicMax, return nogpu::update(                           \
        address, [value](T old) { return old > value ? old : value; });)              \
    CUSIM_ATOMIC_SCOPES(T, atomicAnd, nogpu::before_atomic(address);                  \
        return __atomic_fetch_and(address, value, __ATOMIC_RELAXED);)                 \
    CUSIM_ATOMIC_SCOPES(T, atomicOr, nogpu::before_atomic(address);                   \
        return __atomic_fetch_or(address, value, __ATOMIC_RELAXED);)                  \
    CUSIM_ATOMIC_SCOPES(T, atomicXor, nogpu::before_atomic(address);                  \
        return __atomic_fetch_xor(address, value, __ATOMIC_RELAXED);)
#define CUSIM_ATOMIC_CAS(T)                                                           \
    static inline T atomicCAS(T* address, T compare, T value) {                       \
        return nogpu::compare_and_swap(address, compare, value);                      \
    }                                                                                 \
    static inline T atomicCAS_block(T* address, T compare, T value) {                 \
        return atomicCAS(address, compare, value);                                    \
    }                                                                                 \
    static inline T atomicCAS_system(T* address, T compare, T value) {                \
        return atomicCAS(address, compare, value);                                    \
    }
#define CUSIM_ATOMIC_ADD(T)                                                           \
    CUSIM_ATOMIC_SCOPES(T, atomicAdd, return nogpu::add_integer(address, value);)
#define CUSIM_ATOMIC_SUB(T)                                                           \
    CUSIM_ATOMIC_SCOPES(T, atomicSub, return nogpu::add_integer(address, (T)(0 - value));)
#define CUSIM_ATOMIC_FLOAT(T)                                                         \
    CUSIM_ATOMIC_SCOPES(T, atomicAdd, return nogpu::update(                           \
        address, [value](T old) { return old + value; });)

// The same overloads as CUDA: no signed 64-bit atomicAdd, for instance.
CUSIM_ATOMIC_INTEGER(int)
CUSIM_ATOMIC_INTEGER(unsigned int)
CUSIM_ATOMIC_INTEGER(unsigned long long)
CUSIM_ATOMIC_SCOPES(long long, atomicMin, return nogpu::update(
    address, [value](long long old) { return old < value ? old : value; });)
CUSIM_ATOMIC_SCOPES(long long, atomicMax, return nogpu::update(
    address, [value](long long old) { return old > value ? old : value; });)
CUSIM_ATOMIC_SCOPES(float, atomicExch, return nogpu::exchange(address, value);)
CUSIM_ATOMIC_ADD(int)
CUSIM_ATOMIC_ADD(unsigned int)
CUSIM_ATOMIC_ADD(unsigned long long)
CUSIM_ATOMIC_SUB(int)
CUSIM_ATOMIC_SUB(unsigned int)
CUSIM_ATOMIC_FLOAT(float)
CUSIM_ATOMIC_FLOAT(double)
CUSIM_ATOMIC_CAS(int)
CUSIM_ATOMIC_CAS(unsigned int)
CUSIM_ATOMIC_CAS(unsigned long long)
CUSIM_ATOMIC_CAS(unsigned short)

#define CUSIM_ATOMIC_WRAP(NAME, EXPRESSION)                                           \
    CUSIM_ATOMIC_SCOPES(unsigned int, NAME, return nogpu::update(                     \
        address, [value](unsigned int old) -> unsigned int { return EXPRESSION; });)
CUSIM_ATOMIC_WRAP(atomicInc, old >= value ? 0u : old + 1u)
CUSIM_ATOMIC_WRAP(atomicDec, old == 0u || old > value ? value : old - 1u)
