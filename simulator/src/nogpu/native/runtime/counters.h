// What a launch asks of memory, counted as a GPU counts it: per warp and instruction.
//
// A GPU's warp executes one load for its 32 lanes at once; here the lanes run one after another.
// So each lane notes its accesses, and the lanes' notes are put together: the k-th time that a
// lane passes an instruction, counted from the last place where its warp met (a block's barrier,
// or a warp operation that all its lanes take part in), belongs to the same request as the k-th
// time of the warp's other lanes. Where lanes go through a loop unequally often, the later rounds
// are requests of fewer lanes, as on a GPU.
//
// A build for counting calls the functions of counted_hooks.h where other instrumented builds call
// those of hooks.h: their accesses cost what they cost before.
#pragma once
#include "threads.h"

struct JobCounts {
    std::vector<CounterRow> rows;
    std::vector<CounterSample> samples;
    CounterTotals totals;
};

// Lanes' addresses of one request that is still being put together.
struct Gathered {
    uint32_t mask;
    uint32_t increments;  // those that add an integer 1
    uint64_t address[32];
};

// One instruction in one warp since the warp met last.
struct SiteInWarp {
    bool active;
    uint32_t passed[32];  // how often each lane has passed
    uint32_t base;        // requests before this one are counted already
    uint32_t sampled;     // requests of block 0 that a picture can show
    std::vector<Gathered> open;
};

struct Counting {
    struct Cached {
        uint64_t key;
        uint32_t site;
    };
    static const uint32_t kCached = 256;
    Cached cached[kCached];
    std::map<std::pair<uint64_t, uint64_t>, uint32_t> sites;
    std::vector<CounterRow> rows;
    std::vector<CounterSample> samples;
    std::vector<SiteInWarp*> in_warp[32];
    std::vector<uint32_t> active[32];
    CounterTotals totals;
    bool has_guards;
};

// The address of a module's variable: its number from 1 on, and the place in it.
static const uint32_t kVariableShift = 40;

// A lane that is this far ahead of the last one of its warp waits: what is noted stays bounded.
static const uint32_t kWindow = 1024;
static const uint32_t kSampledWarps = 8, kSampledRequests = 4;

// ---- one request -------------------------------------------------------------------------------

// Distinct values of address >> shift over the bytes of all lanes.
static uint32_t distinct_units(const Gathered& g, uint32_t size, uint32_t shift) {
    uint64_t seen[32 * 4];
    uint32_t count = 0;
    for (uint32_t rest = g.mask; rest; rest &= rest - 1) {
        const uint64_t a = g.address[__builtin_ctz(rest)];
        const uint64_t last = (a + size - 1) >> shift;
        for (uint64_t unit = a >> shift; unit <= last && count < 32 * 4; unit++) {
            bool known = false;
            for (uint32_t i = count; i-- > 0 && !known;) known = seen[i] == unit;
            if (!known) seen[count++] = unit;
        }
    }
    return count;
}

// Do lanes that differ in this bit of their number use one address, wherever both take part?
static bool alike_across(const Gathered& g, uint32_t mask, uint32_t bit) {
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(rest), other = lane ^ bit;
        if (((mask >> other) & 1) && g.address[lane] != g.address[other]) return false;
    }
    return true;
}

// Rounds that shared memory's 32 banks of 4 bytes need: in one round a bank delivers one word, to
// all lanes that want it. Lanes with 8 bytes each are served by half-warps, with 16 by quarters;
// two such parts of a load go together where neighbours, or those next to them, share their
// addresses (so it was measured, see tests/engine/nsight). An atomic takes a round for each lane
// of a bank, but for increments by one, which meet in one word.
static uint32_t bank_rounds(const Gathered& g, uint32_t size, bool load, bool each_lane) {
    const uint32_t lanes = size <= 4 ? 32 : size <= 8 ? 16 : 8;
    uint32_t rounds = 0;
    for (uint32_t from = 0, step; from < 32; from += step) {
        step = lanes;
        if (load && lanes < 32 && from % (2 * lanes) == 0) {
            const uint32_t both = lanes == 16 ? g.mask : g.mask & (0xffffu << from);
            if (alike_across(g, both, 1) || alike_across(g, both, 2)) step = 2 * lanes;
        }
        const uint32_t part = step == 32 ? g.mask : g.mask & (((1u << step) - 1) << from);
        if (!part) continue;
        uint64_t words[32][32];
        uint8_t filled[32] = {0};
        uint32_t most = 1;
        for (uint32_t rest = part; rest; rest &= rest - 1) {
            const uint64_t a = g.address[__builtin_ctz(rest)];
            for (uint64_t word = a >> 2; word <= (a + size - 1) >> 2; word++) {
                const uint32_t bank = word & 31;
                bool known = false;
                for (uint32_t i = 0; i < filled[bank] && !known && !each_lane; i++)
                    known = words[bank][i] == word;
                if (known || filled[bank] == 32) continue;
                words[bank][filled[bank]++] = word;
                if (filled[bank] > most) most = filled[bank];
            }
        }
        rounds += most;
    }
    return rounds;
}

static void count_request(Worker* w, CounterRow& row, const Gathered& g, uint32_t warp,
                          SiteInWarp* in_warp) {
    Counting* k = w->counting;
    const uint32_t lanes = (uint32_t)__builtin_popcount(g.mask);
    const uint32_t first = (uint32_t)__builtin_ctz(g.mask), size = row.size;
    row.requests++;
    row.accesses += lanes;
    row.bytes += (uint64_t)lanes * size;
    if (row.block > w->block_index) {
        row.block = w->block_index;
        row.address = g.address[first];
    }
    // The usual cases: neighbours in order, or one address for all.
    bool neighbours = true, same = true;
    uint64_t previous = g.address[first];
    for (uint32_t rest = g.mask & (g.mask - 1); rest; rest &= rest - 1) {
        const uint64_t a = g.address[__builtin_ctz(rest)];
        neighbours &= a == previous + size;
        same &= a == previous;
        previous = a;
    }
    uint32_t distinct = lanes;
    if (same) distinct = 1;
    else if (!neighbours) {
        uint32_t log = 0;
        while ((1u << log) < size) log++;
        distinct = distinct_units(g, 1, log);
    }
    if (row.space == kInShared) {
        row.ideal_wavefronts += (distinct * size + 127) / 128;
        const bool each_lane = row.access == kAtomic && g.increments != g.mask;
        if (size <= 4 && (neighbours || (same && !each_lane))) row.wavefronts++;
        else row.wavefronts += bank_rounds(g, size, row.access == kRead, each_lane);
    } else {
        row.ideal_sectors += (distinct * size + 31) / 32;
        const uint64_t low = g.address[first];
        if (same) row.sectors += ((low + size - 1) >> 5) - (low >> 5) + 1;
        else if (neighbours) row.sectors += ((previous + size - 1) >> 5) - (low >> 5) + 1;
        else row.sectors += distinct_units(g, size, 5);
    }
    if (w->block_index == 0 && warp < kSampledWarps && in_warp &&
        in_warp->sampled < kSampledRequests) {
        CounterSample s{row.pc, row.access, row.space, size, warp, in_warp->sampled++, g.mask, {}};
        memcpy(s.address, g.address, sizeof s.address);
        k->samples.push_back(s);
    }
}

// ---- putting requests together -----------------------------------------------------------------

static void count_open(Worker* w, uint32_t warp, SiteInWarp& s, CounterRow& row) {
    for (uint32_t i = 0; i < s.open.size(); i++)
        if (s.open[i].mask) count_request(w, row, s.open[i], warp, &s);
    s.base += (uint32_t)s.open.size();
    s.open.clear();
}

// All lanes of the warp are at one place: what they noted is complete.
static NOINLINE void warp_met(Worker* w, uint32_t warp) {
    Counting* k = w->counting;
    Locked guard;
    for (uint32_t site : k->active[warp]) {
        SiteInWarp& s = *k->in_warp[warp][site];
        count_open(w, warp, s, k->rows[site]);
        memset(s.passed, 0, sizeof s.passed);
        s.base = 0;
        s.active = false;
    }
    k->active[warp].clear();
}

static NOINLINE void block_met(Worker* w) {
    const uint32_t warps = (nogpu_context.total_threads + 31) / 32;
    for (uint32_t warp = 0; warp < warps; warp++) warp_met(w, warp);
}

static NOINLINE void count_barrier(Worker* w) {
    w->counting->totals.barriers++;
    block_met(w);
}

static NOINLINE void count_warp_operation(Worker* w, uint32_t warp, uint32_t lanes,
                                          uint32_t all) {
    w->counting->totals.warp_operations++;
    if (lanes == all) warp_met(w, warp);
}

static NOINLINE void count_block_end(Worker* w) {
    block_met(w);
    w->counting->totals.blocks++;
    w->counting->totals.warps += (nogpu_context.total_threads + 31) / 32;
}

static NOINLINE uint32_t new_site(Counting* k, uint64_t pc, uint64_t kind, uint32_t size,
                                  AccessKind access, Space space) {
    const auto found = k->sites.find({pc, kind});
    if (found != k->sites.end()) return found->second;
    Locked guard;
    CounterRow row = {};
    row.pc = pc;
    row.block = UINT64_MAX;
    row.access = access;
    row.space = space;
    row.size = size;
    const uint32_t site = (uint32_t)k->rows.size();
    k->rows.push_back(row);
    k->sites[{pc, kind}] = site;
    return site;
}

static NOINLINE SiteInWarp* enter_warp(Counting* k, uint32_t warp, uint32_t site) {
    Locked guard;
    auto& known = k->in_warp[warp];
    if (known.size() <= site) known.resize(site + 1, nullptr);
    if (!known[site]) known[site] = new SiteInWarp();
    if (!known[site]->active) {
        known[site]->active = true;
        k->active[warp].push_back(site);
    }
    return known[site];
}

static NOINLINE void add_open(SiteInWarp* s) {
    Locked guard;
    s->open.push_back(Gathered());
}

// The lane is far ahead: the others of its block go on first. By the time that it runs again each
// of them is as far, or has ended, or waits for something.
static NOINLINE void let_others_catch_up(Worker* w, uint32_t warp, SiteInWarp* s) {
    const uint32_t base = s->base;
    if (nogpu_context.next_thread + 1 < nogpu_context.total_threads ||
        w->queue_head != w->queue_tail) {
        enqueue(w, w->current);
        suspend(w);
    }
    if (s->base != base) return;
    Counting* k = w->counting;
    Locked guard;
    for (uint32_t site : k->active[warp])
        count_open(w, warp, *k->in_warp[warp][site], k->rows[site]);
}

static NOINLINE void count_access(const void* p, uint32_t size, AccessKind access, void* pc,
                                  bool increments, uint32_t part) {
    Worker* w = hot.worker;
    if (!w || !hot.in_kernel || !w->counting) return;
    Counting* k = w->counting;
    uintptr_t address = (uintptr_t)p;
    Space space = kInGlobal;
    if (address - arena_base >= arena_size) {
        const uintptr_t offset = address - hot.shared_low;
        const Library* l = w->job->library;
        if (offset < hot.shared_size) {
            if (k->has_guards && is_guard(offset)) return;
            space = kInShared;
            address = offset;
        } else if (address - l->data_low < l->data_high - l->data_low) {
            // Counted from the variable's start: where it lies is the compiler's choice.
            space = kInModule;
            const uintptr_t at = address - l->data_low;
            size_t i = 0;
            while (i < l->data.size() && at - l->data[i].offset >= l->data[i].size) i++;
            if (i == l->data.size()) return;
            address = at - l->data[i].offset + ((uint64_t)(i + 1) << kVariableShift);
        } else {
            return;
        }
    }
    const uint64_t kind = (uint64_t)part << 16 | (uint64_t)size << 8 | (uint64_t)access << 4 |
                          (uint64_t)space;
    const uint64_t key = ((uint64_t)pc << 28) ^ kind;
    Counting::Cached& cached = k->cached[((uintptr_t)pc ^ kind * 31) % Counting::kCached];
    if (UNLIKELY(cached.key != key)) {
        cached.site = new_site(k, (uint64_t)pc, kind, size, access, space);
        cached.key = key;
    }
    const uint32_t site = cached.site;
    const uint32_t thread = (hot.stamp >> 2) & 1023u, warp = thread >> 5, lane = thread & 31;
    SiteInWarp* s = site < k->in_warp[warp].size() ? k->in_warp[warp][site] : nullptr;
    if (UNLIKELY(!s || !s->active)) s = enter_warp(k, warp, site);
    const uint32_t pass = s->passed[lane]++;
    if (UNLIKELY(pass < s->base)) {
        Locked guard;
        Gathered alone = Gathered();
        alone.mask = 1u << lane;
        alone.increments = increments ? alone.mask : 0;
        alone.address[lane] = address;
        k->rows[site].late++;
        count_request(w, k->rows[site], alone, warp, nullptr);
        return;
    }
    while (UNLIKELY(pass - s->base >= kWindow)) let_others_catch_up(w, warp, s);
    while (s->open.size() <= pass - s->base) add_open(s);
    Gathered& g = s->open[pass - s->base];
    g.mask |= 1u << lane;
    if (increments) g.increments |= 1u << lane;
    g.address[lane] = address;
}

// ---- a worker's part, and a job's whole ----------------------------------------------------------

static void begin_counting(Worker* w, Job* job) {
    Counting* k = w->counting_memory;
    if (!(job->checks & kCount)) {
        w->counting = nullptr;
        return;
    }
    Locked guard;
    if (!k) k = w->counting_memory = new Counting();
    for (uint32_t warp = 0; warp < 32; warp++) {
        for (SiteInWarp* s : k->in_warp[warp]) delete s;
        k->in_warp[warp].clear();
        k->active[warp].clear();
    }
    memset(k->cached, 0, sizeof k->cached);
    k->sites.clear();
    k->rows.clear();
    k->samples.clear();
    memset(&k->totals, 0, sizeof k->totals);
    k->has_guards = false;
    for (const Symbol& s : job->shared) k->has_guards |= s.dynamic == 2;
    w->counting = k;
}

// Adds what this worker counted.
static void hand_in_counts(Worker* w, Job* job) {
    Counting* k = w->counting;
    if (!k) return;
    Holding held(job->lock);
    if (!job->counts) job->counts = new JobCounts();
    JobCounts& all = *job->counts;
    for (const CounterRow& row : k->rows) {
        CounterRow* into = nullptr;
        for (CounterRow& other : all.rows)
            if (other.pc == row.pc && other.access == row.access && other.space == row.space &&
                other.size == row.size)
                into = &other;
        if (!into) {
            all.rows.push_back(row);
            continue;
        }
        if (row.block < into->block) {
            into->block = row.block;
            into->address = row.address;
        }
        into->late += row.late;
        into->requests += row.requests;
        into->accesses += row.accesses;
        into->bytes += row.bytes;
        into->sectors += row.sectors;
        into->ideal_sectors += row.ideal_sectors;
        into->wavefronts += row.wavefronts;
        into->ideal_wavefronts += row.ideal_wavefronts;
    }
    all.samples.insert(all.samples.end(), k->samples.begin(), k->samples.end());
    all.totals.barriers += k->totals.barriers;
    all.totals.warp_operations += k->totals.warp_operations;
    all.totals.blocks += k->totals.blocks;
    all.totals.warps += k->totals.warps;
    w->counting = nullptr;
}

// Valid until the job is released.
CUSIM_API void cs_counters(Job* job, const CounterRow** rows, uint64_t* row_count,
                           const CounterSample** samples, uint64_t* sample_count,
                           CounterTotals* totals) {
    *row_count = *sample_count = 0;
    memset(totals, 0, sizeof *totals);
    if (!job->counts) return;
    *rows = job->counts->rows.data();
    *row_count = job->counts->rows.size();
    *samples = job->counts->samples.data();
    *sample_count = job->counts->samples.size();
    *totals = job->counts->totals;
}
