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

ALL_ACCESSES(nogpu_counted_, count_access, count_range)

CUSIM_API void nogpu_counted_read_range(void* p, unsigned long n) {
    check_general(p, (uint32_t)n, kRead, false, 1, CALLER);
    count_range(p, n, kRead, CALLER);
}
CUSIM_API void nogpu_counted_write_range(void* p, unsigned long n) {
    check_general(p, (uint32_t)n, kWrite, false, 1, CALLER);
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

ALL_VECTOR_ACCESSES(nogpu_counted_vector_, count_access)
ATOMIC_HOOK(nogpu_counted_atomic_hook, count_access)
