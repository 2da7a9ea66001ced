// The checks behind each access of an instrumented kernel.
//
// Every 4-byte word of memory has two stamps: its last write and its last read. A stamp names a
// segment (one block between two barriers, or one warp between two __syncwarp) and a thread.
// Segments are numbered through the whole process, so a stamp below `hot.first` belongs to an
// earlier launch. Two accesses of one launch, at least one of them a write, race unless they are
// ordered: same thread, a barrier between, or a published fence (see ordered()). Two conflicts
// harm nobody, and are suspects until settle() decides: a store of the value that is there
// already, and a plain read after which the same thread does an atomic operation on the place, as
// a loop around atomicCAS does, or another that came by the same line (`if (*p > x) atomicMin`).
// The idea of shadow words with the last accesses is ThreadSanitizer's (Serebryany and
// Iskhodzhanov, 2009); segments in place of vector clocks suffice because a block's threads
// meet only at barriers.
#pragma once
#include "arena.h"
#include "order.h"

// A write stamp: segment << 12 | thread << 2 | flag. Values below kFirstSegment << 12 are marks.
static const uint32_t kUntouched = 0, kNeverWritten = 1u << 12, kFine = 2u << 12,
                      kValid = 3u << 12, kFirstSegment = 16, kLastSegment = (1u << 20) - 1,
                      kSoftLimit = kLastSegment - (1u << 17);
static const uint32_t kAtomicFlag = 1;       // in a write stamp
static const uint32_t kSeveralThreads = 1;   // in a read stamp: others of this block as well
static const uint32_t kSeveralBlocks = 2;    // in a read stamp: other blocks as well

struct SegmentInfo {
    uint32_t block;     // low 32 bits of the block's index
    uint32_t released;  // when the block published its writes by a fence and an atomic; 0: never
    uint32_t job;       // the launch's number: those of other streams may run at the same time
    uint32_t ended;     // whether all threads of the block have
};
static SegmentInfo* segments;
static std::atomic<uint32_t> next_segment{kFirstSegment};
static std::atomic<uint32_t> release_clock{1};

struct Region {
    uint32_t* shadow;
    uint32_t* fine;
    uintptr_t base;
    uint32_t first;
    RegionKind kind;
};

struct Access {
    uintptr_t address;
    uint32_t size;
    AccessKind kind;
    bool strong;  // atomic, or volatile on global memory
    void* pc;
};

static NOINLINE void access_fault(FaultKind kind, const Access& a, RegionKind region,
                                  uint64_t offset, bool later = false) {
    const FaultRecord before = hot.worker->fault;
    FaultRecord& f = begin_fault(kind);
    f.address = a.address;
    f.size = a.size;
    f.access = a.kind;
    f.pc = (uint64_t)a.pc;
    f.region = region;
    f.offset = offset;
    if (!later) leave_kernel();
    hot.worker->pending = f;
    hot.worker->fault = before;
}

static FaultRecord& begin_race(const Access& a, const Region& r, uint32_t other_stamp,
                               AccessKind other) {
    FaultRecord& f = begin_fault(kRace);
    f.address = a.address;
    f.size = a.size;
    f.access = a.kind;
    f.pc = (uint64_t)a.pc;
    f.region = r.kind;
    f.offset = a.address - r.base;
    f.has_other = 1;
    f.other_access = other;
    thread_coordinates((other_stamp >> 2) & 1023u, f.other_thread);
    const uint32_t block = r.kind == kShared ? (uint32_t)hot.worker->block_index
                                             : segments[other_stamp >> 12].block;
    block_coordinates(block, f.other_block);
    return f;
}

static NOINLINE void race_fault(const Access& a, const Region& r, uint32_t other_stamp,
                                AccessKind other) {
    begin_race(a, r, other_stamp, other);
    leave_kernel();
}

// ---- suspects ------------------------------------------------------------------------------

// Whether the reads at this place in the code are there to decide on an atomic operation.
static bool is_acquitted(const void* pc, int waits = 0) {
    for (const std::atomic<void*>& known : hot.worker->job->acquitted)
        if (known == pc) return true;
    return waits > 0 && (usleep(5000), is_acquitted(pc, waits - 1));
}

// Remembers a write before it is done, or a plain read of what another thread updated atomically.
static NOINLINE void suspect(const Access& a, const Region& r, uintptr_t address, uint32_t size,
                             uint32_t other_stamp, AccessKind other) {
    const uint32_t before = size == 4 ? *(uint32_t*)address : *(uint8_t*)address;
    const Suspect s{address, r.base, size, before, a.size, other_stamp, hot.stamp, a.address, a.pc,
                    r.kind, a.kind, other};
    if (a.kind == kRead && is_acquitted(a.pc)) return;
    if (a.kind == kRead)
        for (const Suspect& earlier : hot.worker->suspects)
            if (earlier.access == kRead && earlier.address == address && earlier.stamp == s.stamp)
                race_fault(a, r, other_stamp, other);  // it reads again and again
    Locked guard;
    hot.worker->suspects.push_back(s);
}

// The reader's block still runs: end_phase() judges.
static NOINLINE void remember_reader(const Access& a, const Region& r, uint32_t read) {
    Worker* w = hot.worker;
    Locked guard;
    const FaultRecord before = w->fault;
    const Reader reader{a.address, read, begin_race(a, r, read, kRead)};
    w->fault = before;
    Holding held(w->job->lock);
    w->job->readers.push_back(reader);
    w->job->has_readers = true;
}

static NOINLINE void acquit_reader(uintptr_t address) {
    Locked guard;
    Holding held(hot.worker->job->lock);
    std::vector<Reader>& all = hot.worker->job->readers;
    for (size_t i = all.size(); i-- > 0;)
        if (all[i].address == address && all[i].stamp == hot.stamp) {
            all[i] = all.back();
            all.pop_back();
        }
}

// An atomic operation follows the thread's own plain read.
static void acquit_read(uintptr_t address) {
    Locked guard;
    std::vector<Suspect>& all = hot.worker->suspects;
    for (size_t i = 0; i < all.size();)
        if (all[i].access == kRead && all[i].address == address && all[i].stamp == hot.stamp) {
            for (std::atomic<void*>& place : hot.worker->job->acquitted) {
                void* none = nullptr;
                if (place.compare_exchange_strong(none, all[i].pc) || none == all[i].pc) break;
            }
            all[i] = all.back();
            all.pop_back();
        } else {
            i++;
        }
}

// Judges the current thread's suspects: its writes, and where it ends or waits its reads too.
static NOINLINE void settle_all(bool reads) {
    std::vector<Suspect>& all = hot.worker->suspects;
    size_t kept = 0;
    for (size_t i = 0; i < all.size(); i++) {
        const Suspect s = all[i];
        if (s.stamp != hot.stamp || (s.access == kRead && !reads)) {
            all[kept++] = s;
            continue;
        }
        // Another worker, if it gets a core, may do the atomic operation that explains this read.
        if (s.access == kRead && is_acquitted(s.pc, 40)) continue;
        const uint32_t now = s.size == 4 ? *(uint32_t*)s.address : *(uint8_t*)s.address;
        if (s.access == kWrite && now == s.before) continue;
        const Access a{s.access_address, s.access_size, s.access, false, s.pc};
        race_fault(a, Region{nullptr, nullptr, s.base, 0, s.region}, s.other_stamp, s.other);
    }
    Locked guard;
    all.resize(kept);
}

static inline void settle(Worker* w, bool reads = true) {
    if (UNLIKELY(!w->suspects.empty())) settle_all(reads);
}

// ---- segments ----------------------------------------------------------------------------

static uint32_t take_segment(Worker* w) {
    if (w->segment_next == w->segment_end) {
        const uint32_t chunk = w->job->checks & kCooperative ? 8 : 64;
        const uint32_t start = next_segment.fetch_add(chunk);
        if (start + chunk >= kLastSegment) {
            // Out of numbers within one block: no more race detection for this launch.
            hot.first = UINT32_MAX;
            w->segment_next = w->segment_end = kLastSegment;
            return kLastSegment;
        }
        w->segment_next = start;
        w->segment_end = start + chunk;
    }
    const uint32_t s = w->segment_next++;
    segments[s].block = (uint32_t)w->block_index;
    segments[s].released = segments[s].ended = 0;
    segments[s].job = w->job->number;
    w->block_segments[w->block_segment_count++ & 63] = s;
    return s;
}

static inline void set_stamp(uint32_t linear) {
    hot.stamp = (hot.worker->warp_segment[linear >> 5] << 12) | (linear << 2);
}

static void start_interval(Worker* w) {
    const uint32_t s = take_segment(w);
    w->segment_first_of_interval = s;
    hot.interval_first = hot.first == UINT32_MAX ? UINT32_MAX : s << 12;
    const uint32_t warps = (nogpu_context.total_threads + 31) / 32;
    for (uint32_t i = 0; i < warps; i++) w->warp_segment[i] = s;
}

static void start_block_segments(Worker* w) {
    w->block_segment_count = 0;
    w->acquired = w->fenced = 0;
    start_interval(w);
    // Without numbers there is no telling what this block has written to shared memory.
    const uint32_t s = w->segment_first_of_interval;
    hot.block_first = s == kLastSegment ? 0 : s << 12;
}

static void end_block_segments(Worker* w) {
    const uint32_t count = w->block_segment_count < 64 ? w->block_segment_count : 64;
    for (uint32_t i = 0; i < count; i++) segments[w->block_segments[i]].ended = 1;
}

// A stamp of another stream's launch that began after this one. What races between two launches
// depends on their times, so it is not looked for.
static inline bool foreign(uint32_t stamp, const Region& r) {
    return r.kind != kShared && segments[stamp >> 12].job != hot.worker->job->number;
}

// Is the access with this stamp ordered before what the current thread does now?
static bool ordered(uint32_t stamp, const Region& r, bool reads) {
    const uint32_t mine = hot.stamp;
    Worker* w = hot.worker;
    const uint32_t segment = stamp >> 12, thread = (stamp >> 2) & 1023u;
    if (foreign(stamp, r)) return true;
    if (reads && (stamp & kSeveralBlocks)) return false;
    const bool several = reads && (stamp & kSeveralThreads);
    if ((stamp & ~3u) == (mine & ~3u)) return !several;
    if (r.kind == kShared || segments[segment].block == (uint32_t)w->block_index) {
        if (segment < w->segment_first_of_interval) return true;
        if (segment == mine >> 12) return false;
        // Another segment of this interval: ordered only within a warp, by __syncwarp.
        return thread >> 5 == ((mine >> 2) & 1023u) >> 5;
    }
    const uint32_t released = segments[segment].released;
    return released != 0 && released <= w->acquired;
}

// ---- what a region holds -------------------------------------------------------------------

static bool in_symbols(const std::vector<Symbol>& symbols, uint64_t offset, uint32_t bytes) {
    for (const Symbol& s : symbols) {
        const uint64_t size =
            s.dynamic == 1 ? (uint64_t)hot.worker->job->dynamic_shared : s.size;
        if (offset >= s.offset && offset + bytes <= s.offset + size) return true;
    }
    return false;
}

// False where the place is not valid and nobody wants to know.
static NOINLINE bool require_valid(const Region& r, uintptr_t address, uint32_t bytes,
                                   const Access& a) {
    if (r.kind == kGlobal) {
        if (find_live(address, bytes)) return true;
        uint64_t base, size;
        int state;
        {
            Locked guard;
            state = cs_lookup(address, &base, &size);
        }
        if (state == 2) {
            if (hot.checks & kCheckUseAfterFree)
                access_fault(kUseAfterFree, a, kGlobal, a.address - base);
        } else if (hot.checks & kCheckGlobalBounds) {
            access_fault(kGlobalOutOfBounds, a, kGlobal, 0);
        }
        return false;
    }
    const uint64_t offset = address - r.base;
    if (r.kind == kShared) {
        if (in_symbols(hot.worker->job->shared, offset, bytes)) return true;
        if (hot.checks & kCheckSharedBounds) access_fault(kSharedOutOfBounds, a, kShared, offset);
    } else {
        if (in_symbols(hot.worker->job->library->data, offset, bytes)) return true;
        if (hot.checks & kCheckGlobalBounds) access_fault(kGlobalOutOfBounds, a, kModule, offset);
    }
    return false;
}

// Reported when the interval ends: if another thread has written here by then, it is a race.
static void uninitialised(const Access& a, const Region& r) {
    if ((hot.checks & kCheckUninitialised) && hot.worker->pending.kind == kNoFault)
        access_fault(kUninitialised, a, r.kind, a.address - r.base, hot.first != UINT32_MAX);
}

static bool find_region(uintptr_t address, Region& r) {
    uintptr_t offset = address - arena_base;
    if (offset < arena_size) {
        r = Region{arena_shadow, arena_fine, arena_base, hot.first, kGlobal};
        return true;
    }
    if (address - hot.shared_low < hot.shared_size) {
        Worker* w = hot.worker;
        r = Region{w->shared_shadow, w->shared_fine, hot.shared_low, hot.block_first, kShared};
        return true;
    }
    Library* library = hot.worker ? hot.worker->job->library : nullptr;
    if (library && address - library->data_low < library->data_high - library->data_low) {
        r = Region{library->data_shadow, library->data_fine, library->data_low, hot.first,
                   kModule};
        return true;
    }
    return false;
}

// ---- one word, or one byte of a word that is used byte by byte -----------------------------

// What other streams' launches did here in no order. Strong accesses may meet: launches talk so.
static void look_across(uint32_t written, uint32_t read, uintptr_t address, const Access& a) {
    const uint32_t me = hot.worker->job->number;
    const uint32_t lowest = kFirstSegment << 12;
    if (a.strong) return;
    if (written >= lowest && !(written & kAtomicFlag) && segments[written >> 12].job != me)
        meet(me, segments[written >> 12].job, a.kind, kWrite, address, a.pc);
    if (read >= lowest && a.kind != kRead && segments[read >> 12].job != me)
        meet(me, segments[read >> 12].job, a.kind, kRead, address, a.pc);
}

static void check_unit(uint32_t* s, const Region& r, uintptr_t address, uint32_t bytes,
                       const Access& a) {
    uint32_t written = s[0];
    const bool apart = UNLIKELY(hot.worker && hot.first != UINT32_MAX && r.kind != kShared &&
                                may_be_apart(hot.worker->job->number));
    if (apart) look_across(written, s[1], address, a);
    if (r.kind == kShared ? written < r.first : written < kValid) {
        if (!require_valid(r, address, bytes, a)) return;
        bool unwritten = false;
        if (a.kind != kWrite) {
            if (r.kind == kShared) {
                unwritten = true;
            } else if (r.kind == kGlobal) {
                unwritten = written == kNeverWritten;
                if (bytes == 4 && *(uint32_t*)address == kUnwritten) {
                    Allocation* found = find_live(address, 4);
                    unwritten = found && !found->host_written;
                }
            }
        }
        if (unwritten)
            uninitialised(a, r);
        else if (r.kind != kShared)
            (void)__sync_val_compare_and_swap(s, written, kValid), written = kValid;
    }
    if (hot.first == UINT32_MAX) {  // no race detection
        if (a.kind != kRead) s[0] = hot.stamp;
        return;
    }
    const uint32_t mine = hot.stamp, read = s[1];
    const bool by_other = written >= r.first && (written & ~3u) != mine &&
                          !(a.strong && (written & kAtomicFlag)) && !ordered(written, r, false);
    if (by_other && a.kind == kRead && (written & kAtomicFlag)) {
        suspect(a, r, address, bytes, written, kAtomic);
        return;
    }
    if (by_other && a.kind == kWrite && !(written & kAtomicFlag))
        suspect(a, r, address, bytes, written, kWrite);
    else if (by_other)
        race_fault(a, r, written, written & kAtomicFlag ? kAtomic : kWrite);
    if (a.kind == kRead) {
        if (a.strong) return;
        if (read < r.first || foreign(read, r)) {
            s[1] = mine;
        } else if (!(read & kSeveralBlocks) && (read & ~3u) != mine) {
            if (read >> 12 == mine >> 12)
                s[1] = read | kSeveralThreads;
            else if (r.kind == kShared ||
                     segments[read >> 12].block == (uint32_t)hot.worker->block_index)
                s[1] = ordered(read, r, true) ? mine : mine | kSeveralThreads;
            else
                s[1] = mine | kSeveralBlocks;
        }
        return;
    }
    if (read >= r.first && !ordered(read, r, true)) {
        const SegmentInfo& other = segments[read >> 12];
        const bool between = written >= r.first && (written & kAtomicFlag) &&
                             segments[written >> 12].block != other.block;
        if (a.kind == kWrite && (r.kind != kShared || written >= r.first))
            suspect(a, r, address, bytes, read, kRead);
        else if (a.kind == kWrite || other.ended ||
                 (!(read & kSeveralBlocks) && !between &&
                  other.block == (uint32_t)hot.worker->block_index))
            race_fault(a, r, read, kRead);
        else if (!(read & 3) && !between)
            remember_reader(a, r, read);
        // A reader whose block runs may do an atomic operation, too, or saw one that came between.
        s[1] = 0;
    }
    if (a.kind == kAtomic) {
        if (read == mine) s[1] = 0;
        acquit_read(address);
        if (UNLIKELY(hot.worker->job->has_readers.load())) acquit_reader(address);
    }
    // A thread's own plain write stays on record: the atomics of other threads race with it.
    if (a.strong && (written & ~3u) == mine && !(written & kAtomicFlag)) return;
    const uint32_t stamp = mine | (a.strong ? kAtomicFlag : 0);
    const uint32_t last = apart ? __sync_lock_test_and_set(s, stamp) : (s[0] = stamp, written);
    if (UNLIKELY(last != written)) look_across(last, 0, address, a);  // another came meanwhile
}

// From now on this word is judged byte by byte.
static void split_word(uint32_t* s, const Region& r, uintptr_t word) {
    uint32_t* fine = r.fine + 2 * (word - r.base);
    for (int i = 0; i < 4; i++) {
        fine[2 * i] = s[0];
        fine[2 * i + 1] = s[1];
    }
    if (r.kind == kGlobal && s[0] == kUntouched) {
        const bool pattern = *(uint32_t*)word == kUnwritten;
        for (uint32_t i = 0; i < 4; i++) {
            Allocation* found = find_live(word + i, 1);
            if (found)
                fine[2 * i] = pattern && !found->host_written ? kNeverWritten : kValid;
        }
    }
    s[0] = kFine;
    s[1] = 0;
}

// [address, address + bytes) within one word.
static NOINLINE void check_word(const Region& r, uintptr_t address, uint32_t bytes,
                                const Access& a) {
    const uintptr_t word = r.base + ((address - r.base) & ~(uintptr_t)3);
    uint32_t* s = r.shadow + (word - r.base) / 2;
    if (bytes == 4 && s[0] != kFine) {
        check_unit(s, r, address, 4, a);
        return;
    }
    if (s[0] != kFine) split_word(s, r, word);
    for (uint32_t i = 0; i < bytes; i++)
        check_unit(r.fine + 2 * (address + i - r.base), r, address + i, 1, a);
}

static bool is_guard(uint64_t offset) {
    for (const Symbol& s : hot.worker->job->shared)
        if (s.dynamic == 2 && offset - s.offset < s.size) return true;
    return false;
}

static NOINLINE void check_range(const Region& r, const Access& a) {
    if (r.kind == kShared && is_guard(a.address - r.base)) return;
    uintptr_t at = a.address;
    const uintptr_t end = a.address + a.size;
    while (at < end) {
        uintptr_t stop = r.base + (((at - r.base) & ~(uintptr_t)3) + 4);
        if (stop > end) stop = end;
        check_word(r, at, (uint32_t)(stop - at), a);
        at = stop;
    }
}

// An access that is neither in the arena nor in shared memory: a stack, a device variable, the
// library's constants, or nothing that a kernel may touch.
static NOINLINE void check_elsewhere(const Access& a) {
    Worker* w = hot.worker;
    if (a.address - (uintptr_t)&nogpu_context < sizeof nogpu_context) return;
    if (!w || !hot.in_kernel) return;
    if (a.address - (uintptr_t)w->stacks < (kMaxThreads + 1) * kStack) return;
    Region r;
    if (find_region(a.address, r)) {
        check_range(r, a);
        return;
    }
    const Library* library = w->job->library;
    if (library->data_high && a.address - library->data_high < 4096 &&
        (hot.checks & kCheckGlobalBounds))  // just past the module's last variable
        access_fault(kGlobalOutOfBounds, a, kModule, a.address - library->data_low);
    if (a.address - library->image_low < library->image_high - library->image_low) return;
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (a.address - here < (64u << 10)) return;  // the worker's own stack
    if (a.address < 65536) access_fault(kNullPointer, a, kNowhere, 0);
    if (hot.checks & kCheckGlobalBounds) access_fault(kNotDeviceMemory, a, kNowhere, 0);
}

// ---- the way in ------------------------------------------------------------------------------

static inline bool fast_read(uint32_t* s, uint32_t mine, uint32_t first, uint32_t lowest) {
    const uint32_t written = s[0], read = s[1];
    if (UNLIKELY(written < lowest)) return false;
    if (UNLIKELY(written >= first && (written & ~3u) != mine)) return false;
    if (read < first) {
        s[1] = mine;
        return true;
    }
    const uint32_t difference = read ^ mine;
    if (difference >= 4096) return read & kSeveralBlocks;
    if (difference >= 4 && !(read & kSeveralThreads)) s[1] = read | kSeveralThreads;
    return true;
}

static inline bool fast_write(uint32_t* s, uint32_t mine, uint32_t first, uint32_t lowest) {
    const uint32_t written = s[0], read = s[1];
    if (UNLIKELY(written < lowest)) return false;
    if (UNLIKELY(written >= first && written != mine)) return false;
    if (UNLIKELY(read >= first && read != mine)) return false;
    s[0] = mine;
    return true;
}

// Any size: structures, memcpy, volatile and atomic accesses, and what the fast path below leaves.
static NOINLINE void check_general(const void* p, uint32_t bytes, AccessKind kind, bool strong,
                                   uint32_t alignment, void* pc) {
    if (!bytes || !hot.worker || !hot.in_kernel) return;
    const Access a{(uintptr_t)p, bytes, kind, strong, pc};
    Region r{nullptr, nullptr, 0, 0, kNowhere};
    const bool known = find_region(a.address, r);
    const uint32_t reach = hot.worker->job->reach;
    if (UNLIKELY(reach && r.kind == kGlobal && !(reach >> device_of(a.address) & 1)) &&
        (hot.checks & kCheckGlobalBounds))
        access_fault(kNotDeviceMemory, a, kGlobal, 0);
    if (a.address % alignment && (hot.checks & kCheckMisaligned) && a.address >= 65536)
        access_fault(kMisaligned, a, r.kind, a.address - r.base);
    if (!known) {
        check_elsewhere(a);
        return;
    }
    Access b = a;
    b.strong = strong && (kind == kAtomic || r.kind != kShared);
    check_range(r, b);
}

// A: what the address has to be a multiple of. Nothing here needs registers saved, since the
// call to check_general() comes last: most of a kernel's time passes here.
template <uint32_t N, AccessKind K, uint32_t A = N>
static inline void check_access(const void* p, void* pc) {
    const uintptr_t address = (uintptr_t)p;
    const Hot& h = hot;
    uintptr_t stamps = h.shared_stamps;
    uint32_t lowest, first;
    if (address - h.shared_low < h.shared_size) {
        // What an earlier block left in shared memory does not count as written, and what lies
        // before the last barrier is ordered.
        lowest = h.block_first;
        first = h.interval_first;
    } else {
        if (UNLIKELY(address - h.arena_low >= h.arena_size))
            return check_general(p, N, K, false, A, pc);
        stamps = arena_stamps;
        first = h.first;
        lowest = kValid;
    }
    if (N < 4 || UNLIKELY(address % (A > 4 ? A : 4))) return check_general(p, N, K, false, A, pc);
    uint32_t* s = (uint32_t*)(stamps + 2 * address);
    const uint32_t mine = h.stamp;
    bool good = true;
    for (uint32_t i = 0; i < (N < 4 ? 1 : N / 4); i++)
        good &= K == kRead ? fast_read(s + 2 * i, mine, first, lowest)
                           : fast_write(s + 2 * i, mine, first, lowest);
    if (UNLIKELY(!good)) check_general(p, N, K, false, A, pc);
}

// ---- fences -------------------------------------------------------------------------------
// The pattern "write, __threadfence, atomic; another block: atomic, read" is ordered. Recorded
// per block: a fence followed by a strong access publishes all that the block did before it. What
// a strong read finds may be published while it goes on, so the clock is read after it, too.

static void acquire(Worker* w) { w->acquired = release_clock.load(std::memory_order_acquire); }

static void fence_seen(Worker* w) {
    w->fenced = 1;
    if (w->acquired) acquire(w);
}

static void strong_access_seen(Worker* w) {
    acquire(w);
    if (!w->fenced) return;
    w->fenced = 0;
    const uint32_t now = release_clock.fetch_add(1) + 1;
    const uint32_t count = w->block_segment_count < 64 ? w->block_segment_count : 64;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t& released = segments[w->block_segments[i]].released;
        if (!released) released = now;  // a later time would deny what was acquired before
    }
}

template <class T> static inline T acquired_by(T value) {
    if (hot.worker) acquire(hot.worker);
    return value;
}

// ---- running out of segment numbers --------------------------------------------------------

static void forget_stamps(uint32_t* s, uint64_t words) {
    for (uint64_t i = 0; i < words; i++, s += 2) {
        if (s[0] >= kFirstSegment << 12) s[0] = kValid;
        if (s[1]) s[1] = 0;
    }
}

static std::vector<Library*>* libraries;

// Keeps what is known about written and unwritten memory and forgets who touched it. Only
// between launches, or between two phases of one.
static void restart_segments(Worker* const* workers, int count) {
    TableLocked guard;
    for (auto& item : *live) {
        Allocation* a = item.second;
        if (!a->touched) continue;
        uint32_t* s = arena_shadow + (a->base - arena_base) / 2;
        const uint64_t words = (a->size + 3) / 4;
        for (uint64_t i = 0; i < words; i++)
            if (s[2 * i] == kFine)
                forget_stamps(arena_fine + 2 * (a->base + 4 * i - arena_base), 4);
        forget_stamps(s, words);
    }
    for (Library* l : *libraries) {
        const uint64_t bytes = l->data_high - l->data_low;
        if (l->data_shadow) forget_stamps(l->data_shadow, bytes / 4 + 1);
        if (l->data_fine) forget_stamps(l->data_fine, bytes + 4);
    }
    for (int i = 0; i < count; i++) {
        Worker* w = workers[i];
        if (w->shared_shadow) memset(w->shared_shadow, 0, 2 * w->shared_capacity);
        if (w->shared_fine) memset(w->shared_fine, 0, 8 * w->shared_capacity);
        w->segment_next = w->segment_end = 0;
    }
    next_segment = kFirstSegment;
}
