// The functions that instrumented code calls. Their names and meanings are the interface that
// -fsanitize=thread and -fsanitize=bounds,integer-divide-by-zero compile against; the runtimes
// that usually stand behind them are not linked. A build for counting calls the second family, to
// which engine/counters.py gives the compiler's names.
#pragma once
#include "counters.h"
#include "print.h"
#include "threads.h"

#define CALLER __builtin_return_address(0)

// What a build that counts does with each access, too; the others count nothing.
struct Uncounted {
    static void one(const void*, uint32_t, AccessKind, void*, bool = false) {}
    static void range(const void*, uint64_t, AccessKind, void*) {}
};
struct Counted {
    static void one(const void* p, uint32_t n, AccessKind kind, void* pc, bool increments = false) {
        count_access(p, n, kind, pc, increments);
    }
    // A structure, or several members in one: a GPU moves them in pieces of the members' size,
    // which is not known here. Four bytes each, as most members have.
    static void range(const void* p, uint64_t bytes, AccessKind kind, void* pc) {
        const uint32_t piece = (uintptr_t)p % 4 == 0 && bytes % 4 == 0 ? 4 : 1;
        for (uint64_t at = 0; at < bytes && at < 256; at += piece)
            count_access((const char*)p + at, piece, kind, (char*)pc, false, (uint32_t)at);
    }
};

template <class C>
static inline void unaligned(const void* p, uint64_t n, AccessKind kind, void* pc) {
    check_general(p, (uint32_t)n, kind, false, 1, pc);
    C::range(p, n, kind, pc);
}
// What the thread has stored so far, before others may be told of it.
static inline void settle_writes() {
    if (hot.worker && hot.in_kernel) settle(hot.worker, false);
}

template <class C>
static inline void strong(const void* p, uint32_t n, AccessKind kind, void* pc, bool increments) {
    settle_writes();
    check_general(p, n, kind, true, n, pc);
    C::one(p, n, kind, pc, increments);
    if (!hot.worker || !hot.in_kernel) return;
    strong_access_seen(hot.worker);
    if (kind != kWrite) count_spin();
}

#define CALLED(NAME, ...) CUSIM_API void NAME(void* p) { void* const pc = CALLER; __VA_ARGS__; }
#define ACCESSES(PREFIX, C, N, ALIGNMENT)                                                     \
    CALLED(PREFIX##read##N, (check_access<N, kRead, ALIGNMENT>(p, pc));                       \
           C::one(p, N, kRead, pc))                                                           \
    CALLED(PREFIX##write##N, (check_access<N, kWrite, ALIGNMENT>(p, pc));                     \
           C::one(p, N, kWrite, pc))                                                          \
    CALLED(PREFIX##read_write##N, (check_access<N, kRead>(p, pc));                            \
           (check_access<N, kWrite>(p, pc)); C::one(p, N, kRead, pc);                         \
           C::one(p, N, kWrite, pc))                                                          \
    CALLED(PREFIX##unaligned_read##N, unaligned<C>(p, N, kRead, pc))                          \
    CALLED(PREFIX##unaligned_write##N, unaligned<C>(p, N, kWrite, pc))                        \
    CALLED(PREFIX##volatile_read##N, strong<C>(p, N, kRead, pc, false))                       \
    CALLED(PREFIX##volatile_write##N, strong<C>(p, N, kWrite, pc, false))
#define RARE(N)                                                                               \
    CALLED(__tsan_unaligned_read_write##N, unaligned<Uncounted>(p, N, kRead, pc);             \
           unaligned<Uncounted>(p, N, kWrite, pc))                                            \
    CALLED(__tsan_unaligned_volatile_read##N, check_general(p, N, kRead, true, 1, pc))        \
    CALLED(__tsan_unaligned_volatile_write##N, check_general(p, N, kWrite, true, 1, pc))
// Vector types: one access each.
#define VECTORS(PREFIX, C, N, T)                                                              \
    CUSIM_API T PREFIX##read##N(const void* p) {                                              \
        check_access<N, kRead>(p, CALLER);                                                    \
        C::one(p, N, kRead, CALLER);                                                          \
        T value;                                                                              \
        memcpy(&value, p, N);                                                                 \
        return value;                                                                         \
    }                                                                                         \
    CUSIM_API void PREFIX##write##N(void* p, T value) {                                       \
        check_access<N, kWrite>(p, CALLER);                                                   \
        C::one(p, N, kWrite, CALLER);                                                         \
        memcpy(p, &value, N);                                                                 \
    }
#define COPIES(PREFIX, C)                                                                     \
    CUSIM_API void* PREFIX##memmove(void* d, const void* s, size_t n) {                       \
        unaligned<C>(s, n, kRead, CALLER);                                                    \
        unaligned<C>(d, n, kWrite, CALLER);                                                   \
        return memmove(d, s, n);                                                              \
    }                                                                                         \
    CUSIM_API void* PREFIX##memcpy(void* d, const void* s, size_t n) {                        \
        unaligned<C>(s, n, kRead, CALLER);                                                    \
        unaligned<C>(d, n, kWrite, CALLER);                                                   \
        return memmove(d, s, n);                                                              \
    }                                                                                         \
    CUSIM_API void* PREFIX##memset(void* d, int value, size_t n) {                            \
        unaligned<C>(d, n, kWrite, CALLER);                                                   \
        return memset(d, value, n);                                                           \
    }
// Of atomics the header announces the address, then the compiler's own follows.
#define FAMILY(PREFIX, OWN, VECTOR, C)                                                        \
    ACCESSES(PREFIX, C, 1, 1)                                                                 \
    ACCESSES(PREFIX, C, 2, 2)                                                                 \
    ACCESSES(PREFIX, C, 4, 4)                                                                 \
    ACCESSES(PREFIX, C, 8, 8)                                                                 \
    ACCESSES(PREFIX, C, 16, 8)                                                                \
    VECTORS(VECTOR, C, 2, unsigned short)                                                     \
    VECTORS(VECTOR, C, 4, unsigned int)                                                       \
    VECTORS(VECTOR, C, 8, unsigned long long)                                                 \
    VECTORS(VECTOR, C, 16, nogpu::Bytes16)                                                    \
    COPIES(PREFIX, C)                                                                         \
    CUSIM_API void PREFIX##read_range(void* p, unsigned long n) {                             \
        unaligned<C>(p, n, kRead, CALLER);                                                    \
    }                                                                                         \
    CUSIM_API void PREFIX##write_range(void* p, unsigned long n) {                            \
        unaligned<C>(p, n, kWrite, CALLER);                                                   \
    }                                                                                         \
    CUSIM_API void OWN##atomic_hook(const volatile void* p, unsigned int n, bool increments) {\
        strong<C>((const void*)p, n, kAtomic, CALLER, increments);                            \
    }
// g++ copies two neighbouring doubles of a structure at once, by the 16-byte function too. Copies
// are reached by these names from newer compilers, and through the linker's --wrap from others.
FAMILY(__tsan_, nogpu_, nogpu_, Uncounted)
FAMILY(nogpu_counted_, nogpu_counted_, nogpu_counted_vector_, Counted)
COPIES(__wrap_, Uncounted)
RARE(1)
RARE(2)
RARE(4)
RARE(8)
RARE(16)

CUSIM_API void __tsan_init() {}
CUSIM_API void __tsan_func_entry(void*) {}
CUSIM_API void __tsan_func_exit() {}
CUSIM_API void __tsan_vptr_update(void** p, void*) { check_access<8, kWrite>(p, CALLER); }
CUSIM_API void __tsan_vptr_read(void** p) { check_access<8, kRead>(p, CALLER); }

#define ATOMICS(BITS, T)                                                                      \
    CUSIM_API T __tsan_atomic##BITS##_load(const volatile T* p, int) {                        \
        return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                          \
    }                                                                                         \
    CUSIM_API void __tsan_atomic##BITS##_store(volatile T* p, T v, int) {                     \
        __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                             \
    }                                                                                         \
    CUSIM_API T __tsan_atomic##BITS##_exchange(volatile T* p, T v, int) {                     \
        return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                                   \
    }                                                                                         \
    CUSIM_API T __tsan_atomic##BITS##_fetch_add(volatile T* p, T v, int) {                    \
        return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);                                    \
    }                                                                                         \
    CUSIM_API T __tsan_atomic##BITS##_fetch_sub(volatile T* p, T v, int) {                    \
        return __atomic_fetch_sub(p, v, __ATOMIC_SEQ_CST);                                    \
    }                                                                                         \
    CUSIM_API T __tsan_atomic##BITS##_fetch_and(volatile T* p, T v, int) {                    \
        return __atomic_fetch_and(p, v, __ATOMIC_SEQ_CST);                                    \
    }                                                                                         \
    CUSIM_API T __tsan_atomic##BITS##_fetch_or(volatile T* p, T v, int) {                     \
        return __atomic_fetch_or(p, v, __ATOMIC_SEQ_CST);                                     \
    }                                                                                         \
    CUSIM_API T __tsan_atomic##BITS##_fetch_xor(volatile T* p, T v, int) {                    \
        return __atomic_fetch_xor(p, v, __ATOMIC_SEQ_CST);                                    \
    }                                                                                         \
    CUSIM_API int __tsan_atomic##BITS##_compare_exchange_strong(volatile T* p, T* expected,   \
                                                                T v, int, int) {              \
        return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST,           \
                                           __ATOMIC_SEQ_CST);                                 \
    }                                                                                         \
    CUSIM_API int __tsan_atomic##BITS##_compare_exchange_weak(volatile T* p, T* expected,     \
                                                              T v, int, int) {                \
        return __atomic_compare_exchange_n(p, expected, v, true, __ATOMIC_SEQ_CST,            \
                                           __ATOMIC_SEQ_CST);                                 \
    }                                                                                         \
    CUSIM_API T __tsan_atomic##BITS##_compare_exchange_val(volatile T* p, T expected, T v,    \
                                                           int, int) {                        \
        __atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_SEQ_CST,                 \
                                    __ATOMIC_SEQ_CST);                                        \
        return expected;                                                                      \
    }
ATOMICS(8, unsigned char)
ATOMICS(16, unsigned short)
ATOMICS(32, unsigned int)
ATOMICS(64, unsigned long long)
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
