// Launches that nothing orders, and what two of them did to the same memory.
//
// Which launches those are, Python knows (engine/order.py) and says when it queues one. Their
// accesses meet in the shadow words: a stamp of the other one there, and one of both a write, is a
// conflict, whoever came first. It stops nobody; Python asks for it at the next wait.
#pragma once
#include "common.h"

static pthread_mutex_t order_lock = PTHREAD_MUTEX_INITIALIZER;
// For each launch those that nothing orders with it. By their numbers.
static std::map<uint32_t, std::vector<uint32_t>>& apart =
    *new std::map<uint32_t, std::vector<uint32_t>>;
static std::vector<OrderConflict>& order_conflicts = *new std::vector<OrderConflict>;
CUSIM_API uint64_t cs_order_conflicts;
uint64_t cs_order_conflicts;
static uint32_t apart_low = UINT32_MAX, apart_high;  // the numbers in it lie between these
// The first segment of each of the last launches, by number.
static const uint32_t kRemembered = 4096;
static struct { uint32_t number, first; } launch_segments[kRemembered];

// The launch `number`, not yet queued, and these have no order.
CUSIM_API void cs_apart(uint32_t number, const uint32_t* others, int count) {
    Holding held(order_lock);
    for (int i = 0; i < count; i++) {
        apart[number].push_back(others[i]);
        apart[others[i]].push_back(number);
    }
    while (apart.size() > kRemembered) apart.erase(apart.begin());
    __atomic_store_n(&apart_low, apart.begin()->first, __ATOMIC_RELAXED);
    __atomic_store_n(&apart_high, apart.rbegin()->first, __ATOMIC_RELAXED);
}

// Whether nothing orders this launch with some other; for the workers, without a lock.
static inline bool may_be_apart(uint32_t number) {
    return number >= __atomic_load_n(&apart_low, __ATOMIC_RELAXED) &&
           number <= __atomic_load_n(&apart_high, __ATOMIC_RELAXED);
}

// The lowest segment that a launch has to look at: its own first, or that of one of the others.
static uint32_t first_segment_of(uint32_t number, uint32_t mine) {
    launch_segments[number % kRemembered] = {number, mine};
    if (!may_be_apart(number)) return mine;
    Holding held(order_lock);
    auto it = apart.find(number);
    if (it != apart.end())
        for (uint32_t other : it->second) {
            const auto& seen = launch_segments[other % kRemembered];
            if (seen.number == other && seen.first < mine) mine = seen.first;
        }
    return mine;
}

static NOINLINE void meet(uint32_t number, uint32_t other, AccessKind access,
                          AccessKind other_access, uintptr_t address, void* pc) {
    Locked guard;
    Holding held(order_lock);
    auto it = apart.find(number);
    if (it == apart.end()) return;
    const auto found = std::find(it->second.begin(), it->second.end(), other);
    if (found == it->second.end()) return;
    it->second.erase(found);  // once for each two
    forget(apart[other], number);
    order_conflicts.push_back({number, other, access, other_access, address, (uint64_t)pc});
    cs_order_conflicts = order_conflicts.size();
}

CUSIM_API int cs_take_order_conflicts(OrderConflict* rows, int most) {
    Holding held(order_lock);
    int count = 0;
    while (count < most && !order_conflicts.empty()) {
        rows[count++] = order_conflicts.back();
        order_conflicts.pop_back();
    }
    cs_order_conflicts = order_conflicts.size();
    return count;
}

// In a child of fork.
static void forget_order() {
    pthread_mutex_init(&order_lock, nullptr);
    apart.clear();
    order_conflicts.clear();
    cs_order_conflicts = 0;
    apart_low = UINT32_MAX;
    apart_high = 0;
}
