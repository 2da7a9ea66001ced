// The functions that a build for counting calls in place of those in hooks.h: each counts, and
// then does what its namesake does. module.py gives the compiler's names these meanings.
#pragma once
#include "counters.h"
#include "hooks.h"

// A structure, or several members in one: a GPU moves them in pieces of the members' size, which
// is not known here. Four bytes each, as most members have.
static void count_range(const void* p, uint64_t bytes, AccessKind access, void* pc) {
    const uintptr_t address = (uintptr_t)p;
    const uint32_t piece = address % 4 == 0 && bytes % 4 == 0 ? 4 : 1;
    for (uint64_t at = 0; at < bytes && at < 256; at += piece)
        count_access((const char*)p + at, piece, access, (char*)pc, false, (uint32_t)at);
}

#define COUNTED(N)                                                                           \
    CUSIM_API void nogpu_counted_read##N(void* p) {                                          \
        check_access<N, kRead>(p, CALLER);                                                   \
        count_access(p, N, kRead, CALLER);                                                   \
    }                                                                                        \
    CUSIM_API void nogpu_counted_write##N(void* p) {                                         \
        check_access<N, kWrite>(p, CALLER);                                                  \
        count_access(p, N, kWrite, CALLER);                                                  \
    }                                                                                        \
    CUSIM_API void nogpu_counted_read_write##N(void* p) {                                    \
        check_access<N, kRead>(p, CALLER);                                                   \
        check_access<N, kWrite>(p, CALLER);                                                  \
        count_access(p, N, kRead, CALLER);                                                   \
        count_access(p, N, kWrite, CALLER);                                                  \
    }                                                                                        \
    CUSIM_API void nogpu_counted_unaligned_read##N(void* p) {                                \
        check_general(p, N, kRead, false, false, CALLER);                                    \
        count_range(p, N, kRead, CALLER);                                                    \
    }                                                                                        \
    CUSIM_API void nogpu_counted_unaligned_write##N(void* p) {                               \
        check_general(p, N, kWrite, false, false, CALLER);                                   \
        count_range(p, N, kWrite, CALLER);                                                   \
    }                                                                                        \
    CUSIM_API void nogpu_counted_volatile_read##N(void* p) {                                 \
        check_general(p, N, kRead, true, true, CALLER);                                      \
        count_access(p, N, kRead, CALLER);                                                   \
        if (hot.worker && hot.in_kernel) {                                                   \
            strong_access_seen(hot.worker);                                                  \
            count_spin();                                                                    \
        }                                                                                    \
    }                                                                                        \
    CUSIM_API void nogpu_counted_volatile_write##N(void* p) {                                \
        check_general(p, N, kWrite, true, true, CALLER);                                     \
        count_access(p, N, kWrite, CALLER);                                                  \
        if (hot.worker && hot.in_kernel) strong_access_seen(hot.worker);                     \
    }
COUNTED(1)
COUNTED(2)
COUNTED(4)
COUNTED(8)
COUNTED(16)

CUSIM_API void nogpu_counted_read_range(void* p, unsigned long n) {
    check_general(p, (uint32_t)n, kRead, false, false, CALLER);
    count_range(p, n, kRead, CALLER);
}
CUSIM_API void nogpu_counted_write_range(void* p, unsigned long n) {
    check_general(p, (uint32_t)n, kWrite, false, false, CALLER);
    count_range(p, n, kWrite, CALLER);
}
CUSIM_API void* nogpu_counted_memcpy(void* d, const void* s, size_t n) {
    void* result = checked_copy(d, s, n, CALLER);
    count_range(s, n, kRead, CALLER);
    count_range(d, n, kWrite, CALLER);
    return result;
}
CUSIM_API void* nogpu_counted_memset(void* d, int value, size_t n) {
    void* result = checked_set(d, value, n, CALLER);
    count_range(d, n, kWrite, CALLER);
    return result;
}

#define COUNTED_VECTOR(N, T)                                                                 \
    CUSIM_API T nogpu_counted_vector_read##N(const void* p) {                                \
        check_access<N, kRead>(p, CALLER);                                                   \
        count_access(p, N, kRead, CALLER);                                                   \
        T value;                                                                             \
        memcpy(&value, p, N);                                                                \
        return value;                                                                        \
    }                                                                                        \
    CUSIM_API void nogpu_counted_vector_write##N(void* p, T value) {                         \
        check_access<N, kWrite>(p, CALLER);                                                  \
        count_access(p, N, kWrite, CALLER);                                                  \
        memcpy(p, &value, N);                                                                \
    }
COUNTED_VECTOR(2, unsigned short)
COUNTED_VECTOR(4, unsigned int)
COUNTED_VECTOR(8, unsigned long long)
COUNTED_VECTOR(16, nogpu::Bytes16)

CUSIM_API void nogpu_counted_atomic_hook(const volatile void* p, unsigned int size,
                                         bool increments) {
    check_general((const void*)p, size, kAtomic, true, true, CALLER);
    count_access((const void*)p, size, kAtomic, CALLER, increments);
    strong_access_seen(hot.worker);
    count_spin();
}
