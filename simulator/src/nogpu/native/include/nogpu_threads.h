// Barriers, warp operations and fences. The line of the call travels along so that a report
// about a barrier can say where each thread waits. A barrier has a number, too: two of them may
// stand on one line, and two copies of one that the compiler made have one number.
#pragma once

#define CUSIM_LINE int nogpu_line = __builtin_LINE()

#define CUSIM_BARRIER(KIND, PREDICATE) \
    nogpu_barrier(nogpu::KIND, (PREDICATE), __LINE__, __COUNTER__)
#define __syncthreads() ((void)CUSIM_BARRIER(kBarrier, 0))
#define __syncthreads_count(...) CUSIM_BARRIER(kBarrierCount, (__VA_ARGS__) != 0)
#define __syncthreads_and(...) CUSIM_BARRIER(kBarrierAnd, (__VA_ARGS__) != 0)
#define __syncthreads_or(...) CUSIM_BARRIER(kBarrierOr, (__VA_ARGS__) != 0)
static inline void __syncwarp(unsigned int mask = 0xffffffffu, CUSIM_LINE) {
    nogpu_warp(nogpu::kSyncWarp, mask, 0, 0, nogpu_line);
}
static inline unsigned int __ballot_sync(unsigned int mask, int predicate, CUSIM_LINE) {
    return (unsigned int)nogpu_warp(nogpu::kBallot, mask, predicate != 0, 0, nogpu_line);
}
static inline int __any_sync(unsigned int mask, int predicate, CUSIM_LINE) {
    return (int)nogpu_warp(nogpu::kAny, mask, predicate != 0, 0, nogpu_line);
}
static inline int __all_sync(unsigned int mask, int predicate, CUSIM_LINE) {
    return (int)nogpu_warp(nogpu::kAll, mask, predicate != 0, 0, nogpu_line);
}
static inline unsigned int __activemask(CUSIM_LINE) { return nogpu_active_mask(nogpu_line); }
static inline void __threadfence_block() { nogpu_fence(0); }
static inline void __threadfence() { nogpu_fence(1); }
static inline void __threadfence_system() { nogpu_fence(2); }
static inline void __nanosleep(unsigned int nanoseconds) { nogpu_sleep(nanoseconds); }

namespace nogpu {
static inline unsigned int rank() {  // in the block
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}
static inline unsigned int lane() { return rank() & 31u; }
template <class T> static inline CUSIM_AUTO(unsigned long long) to_bits(T value) {
    static_assert(sizeof(T) <= 8, "a warp operation moves at most 8 bytes");
    unsigned long long bits = 0;
    __builtin_memcpy(&bits, &value, sizeof(T));
    return bits;
}
template <class T> static inline CUSIM_AUTO(T) from_bits(unsigned long long bits) {
    T value;
    __builtin_memcpy(&value, &bits, sizeof(T));
    return value;
}
template <class T>
static inline CUSIM_AUTO(T) shuffle(unsigned int mask, T value, int source, int line) {
    return from_bits<T>(nogpu_warp(kShuffle, mask, to_bits(value), source, line));
}
}  // namespace nogpu

// Which lane each shuffle reads, with the sub-warp of `width` lanes that CUDA describes.
#define CUSIM_SHUFFLES(T)                                                                     \
    static inline T __shfl_sync(unsigned int mask, T value, int source, int width = 32,       \
                                CUSIM_LINE) {                                                 \
        const int lane = (int)nogpu::lane(), base = lane & ~(width - 1);                      \
        return nogpu::shuffle(mask, value, base + (source & (width - 1)), nogpu_line);        \
    }                                                                                         \
    static inline T __shfl_up_sync(unsigned int mask, T value, unsigned int delta,            \
                                   int width = 32, CUSIM_LINE) {                              \
        const int lane = (int)nogpu::lane(), base = lane & ~(width - 1);                      \
        const int source = lane - (int)delta;                                                 \
        return nogpu::shuffle(mask, value, source < base ? lane : source, nogpu_line);        \
    }                                                                                         \
    static inline T __shfl_down_sync(unsigned int mask, T value, unsigned int delta,          \
                                     int width = 32, CUSIM_LINE) {                            \
        const int lane = (int)nogpu::lane(), last = lane | (width - 1);                       \
        const int source = lane + (int)delta;                                                 \
        return nogpu::shuffle(mask, value, source > last ? lane : source, nogpu_line);        \
    }                                                                                         \
    static inline T __shfl_xor_sync(unsigned int mask, T value, int bits, int width = 32,     \
                                    CUSIM_LINE) {                                             \
        const int lane = (int)nogpu::lane(), last = lane | (width - 1);                       \
        const int source = lane ^ bits;                                                       \
        return nogpu::shuffle(mask, value, source > last ? lane : source, nogpu_line);        \
    }
CUSIM_SHUFFLES(int)
CUSIM_SHUFFLES(unsigned int)
CUSIM_SHUFFLES(long)
CUSIM_SHUFFLES(unsigned long)
CUSIM_SHUFFLES(long long)
CUSIM_SHUFFLES(unsigned long long)
CUSIM_SHUFFLES(float)
CUSIM_SHUFFLES(double)

#define CUSIM_MATCHES(T)                                                                      \
    static inline unsigned int __match_any_sync(unsigned int mask, T value, CUSIM_LINE) {     \
        return (unsigned int)nogpu_warp(nogpu::kMatchAny, mask, nogpu::to_bits(value), 0,     \
                                        nogpu_line);                                          \
    }                                                                                         \
    static inline unsigned int __match_all_sync(unsigned int mask, T value, int* predicate,   \
                                                CUSIM_LINE) {                                 \
        const unsigned int found = (unsigned int)nogpu_warp(                                  \
            nogpu::kMatchAll, mask, nogpu::to_bits(value), 0, nogpu_line);                    \
        *predicate = found != 0;                                                              \
        return found;                                                                         \
    }
CUSIM_MATCHES(int)
CUSIM_MATCHES(unsigned int)
CUSIM_MATCHES(long)
CUSIM_MATCHES(unsigned long)
CUSIM_MATCHES(long long)
CUSIM_MATCHES(unsigned long long)
CUSIM_MATCHES(float)
CUSIM_MATCHES(double)

#define CUSIM_REDUCE(NAME, T, REDUCTION)                                                      \
    static inline T __reduce_##NAME##_sync(unsigned int mask, T value, CUSIM_LINE) {          \
        return (T)nogpu_warp(nogpu::kReduce, mask, (unsigned int)value, nogpu::REDUCTION,     \
                             nogpu_line);                                                     \
    }
CUSIM_REDUCE(add, int, kAdd)
CUSIM_REDUCE(add, unsigned int, kAdd)
CUSIM_REDUCE(min, int, kMin)
CUSIM_REDUCE(min, unsigned int, kUnsignedMin)
CUSIM_REDUCE(max, int, kMax)
CUSIM_REDUCE(max, unsigned int, kUnsignedMax)
CUSIM_REDUCE(and, unsigned int, kAnd)
CUSIM_REDUCE(or, unsigned int, kOr)
CUSIM_REDUCE(xor, unsigned int, kXor)

#if defined(__x86_64__)
static inline long long clock64() { return (long long)__builtin_ia32_rdtsc(); }
#else
static inline long long clock64() { return nogpu_nanoseconds(); }
#endif
#if !CUSIM_LIBC
typedef long clock_t;
static inline clock_t clock() { return (clock_t)clock64(); }
#endif
