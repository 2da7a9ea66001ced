// "Device" memory: one reserved range of addresses, handed out in increasing order so that a
// freed address comes back late. Shadow memory lies at fixed distances: 8 bytes for each 4-byte
// word (who wrote it last, who read it last), and 8 bytes for each byte where a word is used
// byte by byte.
#pragma once
#include "common.h"

static uintptr_t arena_base, arena_size;
static uint32_t* arena_shadow;  // 2 words per 4 bytes
static uintptr_t arena_stamps;  // as Hot::shared_stamps
static uint32_t* arena_fine;    // 2 words per byte
// Each device has its part of the addresses, which has three: up to kSmall, a ring that is gone
// round; below kHuge, in ordinary pages; and the rest, in huge pages. In the last two an allocation
// has its pages, and its shadow's, to itself.
struct Device {
    uintptr_t base, small_limit, small_cursor, medium_cursor, large_cursor;
    uint64_t in_use;
};
static Device devices[32];
static uintptr_t device_size, small_size, medium_size;
static const uintptr_t kSmall = 32 * 1024, kGranule = 512, kHuge = 2 << 20;
// What a new small array finds free behind it, while there is room: what an access beyond it meets
// shall not depend on what was there before.
static const uintptr_t kBehind = 32 * 1024;
static const uint32_t kUnwritten = 0xFFF5C0DEu;  // a NaN as float and as double

static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
struct TableLocked {  // for writing
    TableLocked() { pthread_rwlock_wrlock(&table_lock); }
    ~TableLocked() { pthread_rwlock_unlock(&table_lock); }
};
static std::map<uintptr_t, Allocation*>* live;
static std::map<uintptr_t, uintptr_t>* freed;  // base -> size, until the address is used again
static std::atomic<uint32_t> table_generation{1};
// Addresses set aside for a pool, which places its allocations in them itself: base -> extent.
struct Reserved {
    uintptr_t extent, size;  // of its addresses; of the memory that it counts as
};
static std::map<uintptr_t, Reserved>& reserved =
    *new std::map<uintptr_t, Reserved>;
static uint64_t bytes_capacity;  // of each device

static inline uintptr_t round_up(uintptr_t n, uintptr_t to) { return (n + to - 1) / to * to; }

// Several times the device's capacity, so that addresses come back late; less where the process may
// not have so many: then the device is smaller as well. `most` addresses for arena and shadow.
static bool reserve_arena(uint64_t capacity, uint64_t most, int count) {
    uintptr_t wanted = (uintptr_t)4 << 30;
    while (wanted < 4 * capacity && wanted < (uintptr_t)64 << 30) wanted *= 2;
    for (device_size = wanted; device_size >= ((uintptr_t)256 << 20); device_size /= 2) {
        const uintptr_t size = device_size * (uintptr_t)count;
        if (size * 11 > most) continue;
        void* all = mmap(nullptr, size * 11 + kHuge, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (all == MAP_FAILED) continue;
        arena_base = round_up((uintptr_t)all, kHuge);
        arena_size = size;
        arena_shadow = (uint32_t*)(arena_base + size);
        arena_fine = (uint32_t*)(arena_base + 3 * size);
        arena_stamps = (uintptr_t)arena_shadow - 2 * arena_base;
        small_size = device_size / 16;
        medium_size = device_size * 3 / 16;
        bytes_capacity = capacity < device_size / 4 ? capacity : device_size / 4;
        madvise(all, size * 11 + kHuge, MADV_DONTDUMP);
        const uintptr_t first = small_size < (32u << 20) ? small_size : (32u << 20);
        const uintptr_t below = small_size + medium_size;
        for (int i = 0; i < count; i++) {
            const uintptr_t base = arena_base + (uintptr_t)i * device_size;
            devices[i] = {base, base + first, base + kGranule, base + small_size, base + below, 0};
#ifdef MADV_HUGEPAGE
            // Large arrays and their shadow in huge pages: fewer page faults at first touch.
            madvise((void*)(base + below), device_size - below, MADV_HUGEPAGE);
            madvise((char*)arena_shadow + 2 * (base + below - arena_base),
                    2 * (device_size - below), MADV_HUGEPAGE);
#endif
        }
        return true;
    }
    return false;
}

static int device_of(uintptr_t address) { return (int)((address - arena_base) / device_size); }

// The end of what is taken before `at`, if it begins at or after `low`; else 0.
static uintptr_t taken_before(uintptr_t at, uintptr_t low) {
    uintptr_t end = 0;
    auto one = live->lower_bound(at);
    if (one != live->begin()) {
        --one;
        if (one->first >= low) end = one->first + one->second->size;
    }
    auto two = reserved.lower_bound(at);
    if (two != reserved.begin()) {
        --two;
        if (two->first >= low && two->first + two->second.extent > end)
            end = two->first + two->second.extent;
    }
    return end;
}

// What is taken first at or after `at`: its begin and end; false where nothing is.
static bool taken_after(uintptr_t at, uintptr_t* begin, uintptr_t* end) {
    auto one = live->lower_bound(at);
    auto two = reserved.lower_bound(at);
    const bool any = one != live->end(), other = two != reserved.end();
    if (!any && !other) return false;
    if (other && (!any || two->first <= one->first)) {
        *begin = two->first;
        *end = two->first + two->second.extent;
    } else {
        *begin = one->first;
        *end = one->first + one->second->size;
    }
    return true;
}

// First gap of `need` bytes at or after `cursor`, with `gap` unused bytes on both sides; 0: none.
static uintptr_t find_gap(uintptr_t cursor, uintptr_t low, uintptr_t high, uintptr_t need,
                          uintptr_t gap, uintptr_t alignment) {
    uintptr_t at = round_up(cursor, alignment), begin, end = taken_before(at, low);
    if (end && end + gap > at) at = round_up(end + gap, alignment);
    while (at + need + gap <= high) {
        if (!taken_after(at, &begin, &end) || begin >= at + need + gap) return at;
        at = round_up(end + gap, alignment);
    }
    return 0;
}

// Gives the pages back, so that they read as zero. `page` is the size of those that the
// allocation has to itself; 0 where it shares them.
static void clear_range(void* start, uintptr_t bytes, uintptr_t page) {
    if (page)
        madvise(start, round_up(bytes, page), MADV_DONTNEED);
    else
        memset(start, 0, bytes);
}

// The same for a range that shares its outermost pages. `sparse`: it is mostly untouched, and
// looking costs less than clearing.
static void clear_part(void* start, uintptr_t bytes, bool sparse) {
    char *low = (char*)start, *high = low + bytes;
    char* first = (char*)round_up((uintptr_t)low, 4096);
    char* last = (char*)((uintptr_t)high / 4096 * 4096);
    if (bytes >= (256 << 10)) {
        madvise(first, last - first, MADV_DONTNEED);
        clear_part(low, first - low, sparse);
        clear_part(last, high - last, sparse);
    } else if (sparse) {
        for (uint32_t* word = (uint32_t*)low; word < (uint32_t*)high; word++)
            if (*word) *word = 0;
    } else {
        memset(low, 0, bytes);
    }
}

static void clear_shadow(uintptr_t base, uintptr_t size, uintptr_t page) {
    const uintptr_t offset = base - arena_base;
    uint32_t *words = arena_shadow + offset / 2, *fine = arena_fine + 2 * offset;
    if (page) {
        clear_range(words, (size + 3) / 4 * 8, page);
        clear_range(fine, 8 * size, 4096);
    } else {
        clear_part(words, (size + 3) / 4 * 8, false);
        clear_part(fine, 8 * size, true);
    }
}

static void fill_words(uintptr_t base, uintptr_t size, uint32_t word) {
    std::fill_n((uint32_t*)base, size / 4, word);
    memcpy((char*)base + size / 4 * 4, &word, size % 4);
}

// An unused range of a device's addresses, or 0.
static uintptr_t find_room(Device& d, uintptr_t actual) {
    uintptr_t at = 0;
    if (actual <= kSmall) {
        const uintptr_t low = d.base + kGranule, end = d.base + small_size;
        for (uintptr_t need = actual + kBehind;;) {
            at = find_gap(d.small_cursor, d.base, d.small_limit, need, kGranule, kGranule);
            if (!at) at = find_gap(low, d.base, d.small_limit, need, kGranule, kGranule);
            if (at || (d.small_limit == end && need == actual)) break;
            if (d.small_limit == end) {
                need = actual;
            } else {
                d.small_cursor = d.small_limit;
                d.small_limit = std::min(end, d.base + 2 * (d.small_limit - d.base));
            }
        }
        if (at) d.small_cursor = at + actual + kGranule;
    }
    if (!at) {
        const bool large = actual >= kHuge;
        const uintptr_t alignment = large ? kHuge : 4096, gap = large ? kHuge : 65536;
        const uintptr_t middle = d.base + small_size + medium_size, end = d.base + device_size;
        const uintptr_t low = large ? middle : d.base + small_size;
        const uintptr_t high = large ? end : middle;
        uintptr_t& cursor = large ? d.large_cursor : d.medium_cursor;
        at = find_gap(cursor, low, high, actual, gap, alignment);
        if (!at) at = find_gap(low, low, high, actual, gap, alignment);
        if (at) cursor = at + actual + gap;
        if (!at && !large) at = find_gap(middle, middle, end, actual, kHuge, kHuge);
    }
    return at;
}

// The size of the pages that a range of this size has to itself; 0 where it shares them.
static uintptr_t own_page(uintptr_t base, uintptr_t size) {
    if ((base - arena_base) % device_size < small_size) return 0;
    return size >= kHuge ? kHuge : 4096;
}

static void forget_freed(uintptr_t at, uintptr_t size) {
    for (auto it = freed->lower_bound(at); it != freed->end() && it->first < at + size;)
        it = freed->erase(it);
    auto it = freed->lower_bound(at);
    if (it != freed->begin()) {
        --it;
        if (it->first + it->second > at) freed->erase(it);
    }
}

static void remember_freed(uintptr_t at, uintptr_t size) {
    if (freed->size() > 100000) freed->erase(freed->begin());
    (*freed)[at] = size;
}

// Room of so many addresses, counted as `size` bytes of the device; 0 when it is full.
static uintptr_t take_room(int device, uintptr_t extent, uintptr_t size) {
    Device& d = devices[device];
    if (extent > device_size || d.in_use + size > bytes_capacity) return 0;
    const uintptr_t at = find_room(d, extent);
    if (!at) return 0;
    // It shall meet no array that was freed.
    const uintptr_t before = extent <= kSmall ? kGranule : extent < kHuge ? 65536 : kHuge;
    forget_freed(at - before, before + extent + (extent <= kSmall ? kBehind : before));
    d.in_use += size;
    return at;
}

// Returns 0 when the device is full. `fill` marks the bytes as never written; without it the
// caller promises to write them all before anything reads them.
CUSIM_API uint64_t cs_allocate(uint64_t size, int fill, int device) {
    const uintptr_t actual = size ? size : 1;
    pthread_rwlock_wrlock(&table_lock);
    const uintptr_t at = take_room(device, actual, actual);
    if (at) (*live)[at] = new Allocation{at, actual, !fill, false};
    table_generation++;
    pthread_rwlock_unlock(&table_lock);
    if (at && fill) fill_words(at, actual, kUnwritten);
    return at;
}

// Sets `extent` addresses aside for a pool, counted as `size` bytes of the device; 0: no room.
CUSIM_API uint64_t cs_reserve(uint64_t extent, uint64_t size, int device) {
    TableLocked guard;
    const uintptr_t at = take_room(device, extent, size);
    if (at) reserved[at] = Reserved{extent, size};
    return at;
}

// Gives a pool's addresses back. Nothing may be placed in them any more.
CUSIM_API int cs_unreserve(uint64_t address) {
    TableLocked guard;
    auto it = reserved.find(address);
    if (it == reserved.end()) return -1;
    const uintptr_t page = own_page(address, it->second.extent);
    if (page) clear_range((void*)address, it->second.extent, page);
    devices[device_of(address)].in_use -= it->second.size;
    reserved.erase(it);
    return 0;
}

// Begins an allocation of a pool's, which has `extent` bytes of addresses to itself.
CUSIM_API void cs_place(uint64_t address, uint64_t size, uint64_t extent, int fill) {
    pthread_rwlock_wrlock(&table_lock);
    forget_freed(address, extent);
    (*live)[address] = new Allocation{address, size, !fill, false};
    table_generation++;
    pthread_rwlock_unlock(&table_lock);
    if (fill) fill_words(address, size, kUnwritten);
}

// Lets a placed allocation reach further, for work that is queued on it under two sizes.
CUSIM_API int cs_extend(uint64_t address, uint64_t size, uint64_t extent) {
    TableLocked guard;
    auto it = live->find(address);
    if (it == live->end()) return -1;
    forget_freed(address, extent);
    if (size > it->second->size) it->second->size = size;
    table_generation++;
    return 0;
}

// With `given_back` its addresses and pages are free again; `traces`: who uses it still is caught.
static int end_allocation(uintptr_t address, bool given_back, bool traces) {
    TableLocked guard;
    auto it = live->find(address);
    if (it == live->end()) return -1;
    Allocation* a = it->second;
    if (traces) remember_freed(a->base, a->size);
    live->erase(it);
    table_generation++;
    const uintptr_t page = given_back ? own_page(a->base, a->size) : 0;
    if (a->touched) clear_shadow(a->base, a->size, page);
    if (page) clear_range((void*)a->base, a->size, page);
    if (given_back) devices[device_of(a->base)].in_use -= a->size;
    delete a;
    return 0;
}

// Ends a placed allocation. Its bytes stay as they are.
CUSIM_API int cs_displace(uint64_t address) { return end_allocation(address, false, true); }

CUSIM_API int cs_free(uint64_t address, int traces) { return end_allocation(address, true, traces); }

// state: 1 live, 2 freed, 0 neither. For 0, base and size describe the live neighbour that is
// nearest below, or else above, so that a report can name the array that was overrun.
CUSIM_API int cs_lookup(uint64_t address, uint64_t* base, uint64_t* size) {
    int state = 0;
    *base = *size = 0;
    pthread_rwlock_rdlock(&table_lock);
    auto next = live->upper_bound(address);
    Allocation* below = nullptr;
    if (next != live->begin()) {
        below = std::prev(next)->second;
        if (address - below->base < below->size) {
            *base = below->base;
            *size = below->size;
            state = 1;
        }
    }
    if (!state) {
        auto f = freed->upper_bound(address);
        if (f != freed->begin()) {
            --f;
            if (address - f->first < f->second) {
                *base = f->first;
                *size = f->second;
                state = 2;
            }
        }
    }
    if (!state && address - arena_base < arena_size) {
        Allocation* above = next == live->end() ? nullptr : next->second;
        Allocation* nearest = below;
        if (!below || (above && above->base - address < address - (below->base + below->size)))
            nearest = above;
        if (nearest) {
            *base = nearest->base;
            *size = nearest->size;
        }
    }
    pthread_rwlock_unlock(&table_lock);
    return state;
}

// The live allocation that holds [address, address + bytes), or null. Cached per worker: a
// kernel goes back and forth between few arrays.
static Allocation* find_live(uintptr_t address, uintptr_t bytes) {
    const uint32_t generation = table_generation.load(std::memory_order_acquire);
    if (hot.cache_generation == generation) {
        for (int i = 0; i < 2; i++) {
            const uintptr_t offset = address - hot.cached_low[i];
            if (offset < hot.cached_size[i] && bytes <= hot.cached_size[i] - offset)
                return hot.cached[i];
        }
    } else {
        hot.cached_size[0] = hot.cached_size[1] = 0;
        hot.cache_generation = generation;
    }
    Locked guard;
    pthread_rwlock_rdlock(&table_lock);
    Allocation* found = nullptr;
    auto next = live->upper_bound(address);
    if (next != live->begin()) {
        Allocation* a = std::prev(next)->second;
        if (address - a->base < a->size && bytes <= a->size - (address - a->base)) {
            found = a;
            a->touched = true;
            const uint32_t slot = hot.cache_next++ & 1;
            hot.cached_low[slot] = a->base;
            hot.cached_size[slot] = a->size;
            hot.cached[slot] = a;
        }
    }
    pthread_rwlock_unlock(&table_lock);
    return found;
}

// The host wrote [address, address + bytes): remembered when it covers the whole allocation, so
// that a value equal to the pattern of unwritten memory is believed.
CUSIM_API void cs_mark_written(uint64_t address, uint64_t bytes) {
    TableLocked guard;
    auto it = live->find(address);
    if (it != live->end() && bytes >= it->second->size) it->second->host_written = true;
}

// A device's bytes in use and in all.
CUSIM_API void cs_memory(int device, uint64_t* used, uint64_t* capacity) {
    pthread_rwlock_rdlock(&table_lock);
    *used = devices[device].in_use;
    *capacity = bytes_capacity;
    pthread_rwlock_unlock(&table_lock);
}
