// Page-locked memory of the host, which reports when the host touches it too early.
//
// It is mapped twice: where programs use it, and where the engine's copies do. While a copy is
// queued that nobody has waited for, the program's pages are protected: those that it writes
// against any access, those that it reads against writing. An access all the same ends in a signal
// handler, which notes it and lets it pass.
#pragma once
#include <sys/syscall.h>

#include "common.h"

static uintptr_t pinned_base, pinned_size, pinned_own;  // the program's, bytes, the engine's
static int pinned_file = -1;
static pthread_mutex_t pinned_lock = PTHREAD_MUTEX_INITIALIZER;
static std::map<uintptr_t, uintptr_t>& pinned_taken = *new std::map<uintptr_t, uintptr_t>;
static const uintptr_t kPinnedPage = 65536;  // a multiple of every page size

static const uint32_t kMostTouches = 64;
static Touch touches[kMostTouches];
CUSIM_API uint64_t cs_touches;  // how many of them there are
uint64_t cs_touches;

// Where the engine reads and writes what the program has at this address.
static inline uintptr_t engines(uintptr_t address) {
    return address - pinned_base < pinned_size ? address - pinned_base + pinned_own : address;
}

static void reserve_pinned() {
#ifdef SYS_memfd_create
    for (uintptr_t size = (uintptr_t)16 << 30; size >= (uintptr_t)1 << 28; size /= 4) {
        const int file = (int)syscall(SYS_memfd_create, "nogpu-pinned", 1u);
        if (file < 0) return;
        const int both = PROT_READ | PROT_WRITE;
        void *one = MAP_FAILED, *two = MAP_FAILED;
        if (!ftruncate(file, (off_t)size)) {
            one = mmap(nullptr, size, both, MAP_SHARED | MAP_NORESERVE, file, 0);
            two = mmap(nullptr, size, both, MAP_SHARED | MAP_NORESERVE, file, 0);
        }
        if (one != MAP_FAILED && two != MAP_FAILED) {
            madvise(one, size, MADV_DONTDUMP);
            madvise(two, size, MADV_DONTDUMP);
            pinned_file = file;
            pinned_own = (uintptr_t)two;
            pinned_base = (uintptr_t)one;
            pinned_size = size;
            return;
        }
        if (one != MAP_FAILED) munmap(one, size);
        if (two != MAP_FAILED) munmap(two, size);
        close(file);
    }
#endif
}

// 0 where there is none of this kind; `own` is the distance to the engine's address of it.
CUSIM_API uint64_t cs_pinned_allocate(uint64_t bytes, int64_t* own) {
    const uintptr_t need = (bytes + kPinnedPage - 1) / kPinnedPage * kPinnedPage;
    Holding held(pinned_lock);
    if (!pinned_size) reserve_pinned();
    uintptr_t at = pinned_base;
    for (auto& item : pinned_taken) {
        if (item.first - at >= need) break;
        at = item.first + item.second;
    }
    if (!pinned_size || bytes > pinned_size || at - pinned_base > pinned_size - need)
        at = 0;
    else
        pinned_taken[at] = need;
    *own = (int64_t)(pinned_own - pinned_base);
    return at;
}

CUSIM_API void cs_pinned_free(uint64_t address) {
    Holding held(pinned_lock);
    auto it = pinned_taken.find(address);
    if (it != pinned_taken.end()) {
        mprotect((void*)address, it->second, PROT_READ | PROT_WRITE);
#ifdef FALLOC_FL_PUNCH_HOLE
        if (pinned_file >= 0)
            fallocate(pinned_file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                      (off_t)(address - pinned_base), (off_t)it->second);
#endif
        pinned_taken.erase(it);
    }
}

// The program's access to the pages of this range: 0 none, 1 reading, 3 all.
static void protect_pinned(uintptr_t address, uintptr_t bytes, int access) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t low = address / page * page;
    mprotect((void*)low, (address + bytes - low + page - 1) / page * page, access);
}

// In the signal handler: whether this was an access to a protected page, which may pass now.
static bool touched_pinned(uintptr_t address, bool writes, bool by_kernel) {
    if (address - pinned_base >= pinned_size) return false;
    const uint64_t n = __atomic_load_n(&cs_touches, __ATOMIC_RELAXED);
    if (!by_kernel && n < kMostTouches) {
        touches[n] = {address, writes};
        __atomic_store_n(&cs_touches, n + 1, __ATOMIC_RELEASE);
    }
    protect_pinned(address, 1, PROT_READ | PROT_WRITE);
    return true;
}

CUSIM_API int cs_take_touches(Touch* rows) {
    const int count = (int)__atomic_exchange_n(&cs_touches, 0, __ATOMIC_ACQ_REL);
    memcpy(rows, touches, (size_t)count * sizeof(Touch));
    return count;
}

// In a child of fork: the memory as it was, of its own, and never protected.
static void keep_pinned() {
    pthread_mutex_init(&pinned_lock, nullptr);
    cs_touches = 0;
    if (!pinned_size) return;
    const int both = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE;
    mmap((void*)pinned_base, pinned_size, both, flags, pinned_file, 0);
    for (auto& item : pinned_taken)
        for (uintptr_t at = item.first; at < item.first + item.second; at += 4096)
            *(volatile char*)at = *(volatile char*)at;
    munmap((void*)pinned_own, pinned_size);
    pinned_own = pinned_base;
    close(pinned_file);
    pinned_file = -1;
}
