// The functions that instrumented code calls. Their names and meanings are the interface that
// -fsanitize=thread and -fsanitize=bounds,integer-divide-by-zero compile against; the runtimes
// that usually stand behind them are not linked.
#pragma once
#include "print.h"
#include "threads.h"

#define CALLER __builtin_return_address(0)

// What the thread has stored so far, before others may be told of it.
static inline void settle_writes() {
    if (hot.worker && hot.in_kernel) settle(hot.worker, false);
}

// Loads and stores of N bytes, by names with this prefix. A build for counting has another, and
// counts: its memory requests as a whole, or in the pieces of an access that is not aligned.
#define NOT_COUNTED(...) ((void)0)
#define ACCESSES(PREFIX, N, ALIGNMENT, COUNT, COUNT_PIECES)                                  \
    CUSIM_API void PREFIX##read##N(void* p) {                                                \
        check_access<N, kRead, ALIGNMENT>(p, CALLER);                                        \
        COUNT(p, N, kRead, CALLER);                                                          \
    }                                                                                        \
    CUSIM_API void PREFIX##write##N(void* p) {                                               \
        check_access<N, kWrite, ALIGNMENT>(p, CALLER);                                       \
        COUNT(p, N, kWrite, CALLER);                                                         \
    }                                                                                        \
    CUSIM_API void PREFIX##read_write##N(void* p) {                                          \
        check_access<N, kRead, ALIGNMENT>(p, CALLER);                                        \
        check_access<N, kWrite, ALIGNMENT>(p, CALLER);                                       \
        COUNT(p, N, kRead, CALLER);                                                          \
        COUNT(p, N, kWrite, CALLER);                                                         \
    }                                                                                        \
    CUSIM_API void PREFIX##unaligned_read##N(void* p) {                                      \
        check_general(p, N, kRead, false, 1, CALLER);                                        \
        COUNT_PIECES(p, N, kRead, CALLER);                                                   \
    }                                                                                        \
    CUSIM_API void PREFIX##unaligned_write##N(void* p) {                                     \
        check_general(p, N, kWrite, false, 1, CALLER);                                       \
        COUNT_PIECES(p, N, kWrite, CALLER);                                                  \
    }                                                                                        \
    CUSIM_API void PREFIX##volatile_read##N(void* p) {                                       \
        settle_writes();                                                                     \
        check_general(p, N, kRead, true, N, CALLER);                                         \
        COUNT(p, N, kRead, CALLER);                                                          \
        if (hot.worker && hot.in_kernel) {                                                   \
            strong_access_seen(hot.worker);                                                  \
            count_spin();                                                                    \
        }                                                                                    \
    }                                                                                        \
    CUSIM_API void PREFIX##volatile_write##N(void* p) {                                      \
        settle_writes();                                                                     \
        check_general(p, N, kWrite, true, N, CALLER);                                        \
        COUNT(p, N, kWrite, CALLER);                                                         \
        if (hot.worker && hot.in_kernel) strong_access_seen(hot.worker);                     \
    }
// g++ copies two neighbouring doubles of a structure at once, by the 16-byte function too.
#define ALL_ACCESSES(PREFIX, COUNT, COUNT_PIECES)                                            \
    ACCESSES(PREFIX, 1, 1, COUNT, COUNT_PIECES)                                              \
    ACCESSES(PREFIX, 2, 2, COUNT, COUNT_PIECES)                                              \
    ACCESSES(PREFIX, 4, 4, COUNT, COUNT_PIECES)                                              \
    ACCESSES(PREFIX, 8, 8, COUNT, COUNT_PIECES)                                              \
    ACCESSES(PREFIX, 16, 8, COUNT, COUNT_PIECES)
ALL_ACCESSES(__tsan_, NOT_COUNTED, NOT_COUNTED)

#define VARIANTS(N)                                                                          \
    CUSIM_API void __tsan_unaligned_read_write##N(void* p) {                                 \
        check_general(p, N, kRead, false, 1, CALLER);                                        \
        check_general(p, N, kWrite, false, 1, CALLER);                                       \
    }                                                                                        \
    CUSIM_API void __tsan_unaligned_volatile_read##N(void* p) {                              \
        check_general(p, N, kRead, true, 1, CALLER);                                         \
    }                                                                                        \
    CUSIM_API void __tsan_unaligned_volatile_write##N(void* p) {                             \
        check_general(p, N, kWrite, true, 1, CALLER);                                        \
    }
VARIANTS(1) VARIANTS(2) VARIANTS(4) VARIANTS(8) VARIANTS(16)

CUSIM_API void __tsan_init() {}
CUSIM_API void __tsan_func_entry(void*) {}
CUSIM_API void __tsan_func_exit() {}
CUSIM_API void __tsan_vptr_update(void** p, void*) { check_access<8, kWrite>(p, CALLER); }
CUSIM_API void __tsan_vptr_read(void** p) { check_access<8, kRead>(p, CALLER); }
CUSIM_API void __tsan_read_range(void* p, unsigned long n) {
    check_general(p, (uint32_t)n, kRead, false, 1, CALLER);
}
CUSIM_API void __tsan_write_range(void* p, unsigned long n) {
    check_general(p, (uint32_t)n, kWrite, false, 1, CALLER);
}

// memcpy and kin: reached by these names from newer compilers and through the linker's --wrap
// from those that call memcpy itself.
static inline void* checked_copy(void* d, const void* s, size_t n, void* pc) {
    check_general(s, (uint32_t)n, kRead, false, 1, pc);
    check_general(d, (uint32_t)n, kWrite, false, 1, pc);
    return memmove(d, s, n);
}
static inline void* checked_set(void* d, int value, size_t n, void* pc) {
    check_general(d, (uint32_t)n, kWrite, false, 1, pc);
    return memset(d, value, n);
}
#define COPIES(PREFIX)                                                                       \
    CUSIM_API void* PREFIX##memcpy(void* d, const void* s, size_t n) {                       \
        return checked_copy(d, s, n, CALLER);                                                \
    }                                                                                        \
    CUSIM_API void* PREFIX##memmove(void* d, const void* s, size_t n) {                      \
        return checked_copy(d, s, n, CALLER);                                                \
    }                                                                                        \
    CUSIM_API void* PREFIX##memset(void* d, int value, size_t n) {                           \
        return checked_set(d, value, n, CALLER);                                             \
    }
COPIES(__tsan_)
COPIES(__wrap_)

// Vector types: one access each.
#define VECTOR_ACCESSES(PREFIX, N, T, COUNT)                                                 \
    CUSIM_API T PREFIX##read##N(const void* p) {                                             \
        check_access<N, kRead>(p, CALLER);                                                   \
        COUNT(p, N, kRead, CALLER);                                                          \
        T value;                                                                             \
        memcpy(&value, p, N);                                                                \
        return value;                                                                        \
    }                                                                                        \
    CUSIM_API void PREFIX##write##N(void* p, T value) {                                      \
        check_access<N, kWrite>(p, CALLER);                                                  \
        COUNT(p, N, kWrite, CALLER);                                                         \
        memcpy(p, &value, N);                                                                \
    }
#define ALL_VECTOR_ACCESSES(PREFIX, COUNT)                                                   \
    VECTOR_ACCESSES(PREFIX, 2, unsigned short, COUNT)                                        \
    VECTOR_ACCESSES(PREFIX, 4, unsigned int, COUNT)                                          \
    VECTOR_ACCESSES(PREFIX, 8, unsigned long long, COUNT)                                    \
    VECTOR_ACCESSES(PREFIX, 16, nogpu::Bytes16, COUNT)
ALL_VECTOR_ACCESSES(nogpu_, NOT_COUNTED)

// Atomics: the header announces the address, then the compiler's own atomic follows.
#define ATOMIC_HOOK(NAME, COUNT)                                                             \
    CUSIM_API void NAME(const volatile void* p, unsigned int size, bool increments) {        \
        (void)increments;                                                                    \
        settle_writes();                                                                     \
        check_general((const void*)p, size, kAtomic, true, size, CALLER);                    \
        COUNT((const void*)p, size, kAtomic, CALLER, increments);                            \
        strong_access_seen(hot.worker);                                                      \
        count_spin();                                                                        \
    }
ATOMIC_HOOK(nogpu_atomic_hook, NOT_COUNTED)

#define FETCH(BITS, T, OPERATION)                                                            \
    CUSIM_API T __tsan_atomic##BITS##_fetch_##OPERATION(volatile T* p, T v, int) {           \
        return acquired_by(__atomic_fetch_##OPERATION(p, v, __ATOMIC_SEQ_CST));              \
    }
#define ATOMICS(BITS, T)                                                                     \
    CUSIM_API T __tsan_atomic##BITS##_load(const volatile T* p, int) {                       \
        return acquired_by(__atomic_load_n(p, __ATOMIC_SEQ_CST));                            \
    }                                                                                        \
    CUSIM_API void __tsan_atomic##BITS##_store(volatile T* p, T v, int) {                    \
        __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                            \
    }                                                                                        \
    CUSIM_API T __tsan_atomic##BITS##_exchange(volatile T* p, T v, int) {                    \
        return acquired_by(__atomic_exchange_n(p, v, __ATOMIC_SEQ_CST));                     \
    }                                                                                        \
    FETCH(BITS, T, add) FETCH(BITS, T, sub)                                                  \
    FETCH(BITS, T, and) FETCH(BITS, T, or) FETCH(BITS, T, xor)                               \
    CUSIM_API int __tsan_atomic##BITS##_compare_exchange_strong(volatile T* p, T* expected,  \
                                                                T v, int, int) {             \
        return acquired_by(__atomic_compare_exchange_n(p, expected, v, false,                \
                                                       __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)); \
    }                                                                                        \
    CUSIM_API int __tsan_atomic##BITS##_compare_exchange_weak(volatile T* p, T* expected,    \
                                                              T v, int a, int b) {           \
        return __tsan_atomic##BITS##_compare_exchange_strong(p, expected, v, a, b);          \
    }                                                                                        \
    CUSIM_API T __tsan_atomic##BITS##_compare_exchange_val(volatile T* p, T expected, T v,   \
                                                           int a, int b) {                   \
        __tsan_atomic##BITS##_compare_exchange_strong(p, &expected, v, a, b);                \
        return expected;                                                                     \
    }
ATOMICS(8, unsigned char) ATOMICS(16, unsigned short)
ATOMICS(32, unsigned int) ATOMICS(64, unsigned long long)
CUSIM_API void __tsan_atomic_thread_fence(int) { __sync_synchronize(); }
CUSIM_API void __tsan_atomic_signal_fence(int) {}

// ---- -fsanitize=bounds,integer-divide-by-zero ------------------------------------------------

struct SourceLocation {
    const char* file;
    uint32_t line, column;
};
struct TypeDescriptor {
    uint16_t kind, info;
    char name[1];
};
struct OutOfBoundsData {
    SourceLocation location;
    TypeDescriptor* array_type;
    TypeDescriptor* index_type;
};

CUSIM_API void __ubsan_handle_out_of_bounds(OutOfBoundsData* data, uintptr_t index) {
    if (!hot.worker || !hot.in_kernel) return;
    if (!(hot.checks & kCheckSharedBounds)) return;
    // The index arrives as a value of its own type, or, when wider than a pointer, by address.
    const uint32_t bits = 1u << (data->index_type->info >> 1);
    const bool is_signed = data->index_type->info & 1;
    int64_t value = (int64_t)index;
    if (is_signed && bits < 64) value = (int64_t)((uint64_t)index << (64 - bits)) >> (64 - bits);
    FaultRecord& f = begin_fault(kArrayOutOfBounds);
    f.index = value;
    f.line = (int32_t)data->location.line;
    f.column = (int32_t)data->location.column;
    f.pc = (uint64_t)CALLER;
    snprintf(f.text, sizeof f.text, "%s", data->array_type->name);
    leave_kernel();
}
CUSIM_API void __ubsan_handle_out_of_bounds_abort(OutOfBoundsData* data, uintptr_t index) {
    __ubsan_handle_out_of_bounds(data, index);
}

struct OverflowData {
    SourceLocation location;
    TypeDescriptor* type;
};
CUSIM_API void __ubsan_handle_divrem_overflow(OverflowData* data, uintptr_t, uintptr_t right) {
    const uint32_t bits = 1u << (data->type->info >> 1);
    const uint64_t mask = bits >= 64 ? ~0ull : (1ull << bits) - 1;
    if (!hot.worker || !hot.in_kernel || !(hot.checks & kCheckDivision)) return;
    if (bits <= 64 && (right & mask) != 0) return;  // INT_MIN / -1 traps by itself
    FaultRecord& f = begin_fault(kDivision);
    f.line = (int32_t)data->location.line;
    f.pc = (uint64_t)CALLER;
    leave_kernel();
}
CUSIM_API void __ubsan_handle_divrem_overflow_abort(OverflowData* data, uintptr_t left,
                                                    uintptr_t right) {
    __ubsan_handle_divrem_overflow(data, left, right);
}

// ---- assert, trap, time -----------------------------------------------------------------

CUSIM_API void nogpu_assert_failed(const char* expression, int line, const char* function) {
    FaultRecord& f = begin_fault(kAssertion);
    f.line = line;
    snprintf(f.text, sizeof f.text, "%s", expression);
    (void)function;
    leave_kernel();
}

CUSIM_API void nogpu_trap() {
    FaultRecord& f = begin_fault(kTrap);
    f.pc = (uint64_t)CALLER;
    leave_kernel();
}

CUSIM_API long long nogpu_nanoseconds() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000000000ll + t.tv_nsec;
}
