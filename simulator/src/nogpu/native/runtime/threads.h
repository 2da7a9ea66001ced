// The threads of one block: who runs, who waits, barriers and warp operations.
//
// Threads start one after another on the same fibre, as a plain loop. The first that has to wait
// keeps that fibre, and a fresh one goes on with the threads that have not started yet. So a
// kernel without barriers never switches, and one with barriers ends up with a fibre per thread.
#pragma once
#include "fibre.h"
#include "matrix.h"

static const int kSpinBudget = 256;

static inline void enqueue(Worker* w, Fibre* f) {
    w->queue[w->queue_tail++ & (2 * kMaxThreads - 1)] = f;
}

static inline void become(Worker* w, Fibre* f) {
    w->current = f;
    nogpu_context.thread = f->thread;
    nogpu_context.spin_budget = kSpinBudget;
    if (hot.checks) set_stamp(f->id);
}

// Moves on to the next thread that has not started; false when all have.
static inline bool advance_thread() {
    nogpu::Context& c = nogpu_context;
    if (UNLIKELY(c.next_thread + 1 >= c.total_threads)) {
        c.next_thread = c.total_threads;
        return false;
    }
    const uint32_t n = ++c.next_thread;
    if (c.block_size.x == c.total_threads) {
        c.thread.x = n;
    } else {
        const uint32_t dx = c.block_size.x, row = n / dx;
        c.thread.x = n - row * dx;
        c.thread.z = row / c.block_size.y;
        c.thread.y = row - c.thread.z * c.block_size.y;
    }
    return true;
}

CUSIM_API bool nogpu_next_thread(nogpu::Context*) {
    settle(hot.worker);
    if (!advance_thread()) return false;
    const uint32_t n = nogpu_context.next_thread;
    hot.stamp = (hot.worker->warp_segment[n >> 5] << 12) | (n << 2);
    if (UNLIKELY((n & 31) == 0) && hot.worker->counting && hot.worker->suspended == 0)
        warp_met(hot.worker, (n >> 5) - 1);  // its lanes have ended
    return true;
}

static Fibre* idle(Worker* w);

// Next fibre to run when the current one cannot: a fresh thread first, then those that wait no
// longer, then whatever idle() can release. Null: the block is done.
static inline Fibre* pick(Worker* w) {
    if (advance_thread()) {
        Fibre* f = take_fibre(w);
        f->thread = nogpu_context.thread;
        f->id = nogpu_context.next_thread;
        return f;
    }
    if (w->queue_head != w->queue_tail) {
        w->suspended--;
        Fibre* next = w->queue[w->queue_head++ & (2 * kMaxThreads - 1)];
        // The stacks of a block's threads do not fit into the first-level cache together: fetch
        // the one that comes after the next while the next one runs.
        if (w->queue_tail - w->queue_head > 1) {
            const Fibre* soon = w->queue[(w->queue_head + 1) & (2 * kMaxThreads - 1)];
            const char* stack = (const char*)soon->stack_pointer;
            __builtin_prefetch(stack);
            __builtin_prefetch(stack + 64);
            __builtin_prefetch(stack + 128);
            __builtin_prefetch(stack + 192);
        }
        return next;
    }
    return idle(w);
}

static NOINLINE void suspend(Worker* w) {
    Fibre* me = w->current;
    me->thread = nogpu_context.thread;
    me->id = linear_thread();
    w->suspended++;
    Fibre* next = pick(w);
    become(w, next);
    if (next != me) nogpu_switch(&me->stack_pointer, next->stack_pointer);
}

extern "C" __attribute__((visibility("hidden"), used)) void nogpu_fibre_main() {
    for (;;) {
        Worker* w = hot.worker;
        w->job->entry.run(&nogpu_context, w->job->arguments.data());
        settle(w);
        Fibre* me = w->current;
        Fibre* next = pick(w);
        w->free_fibres[w->free_count++] = me;
        if (!next) {
            nogpu_switch(&me->stack_pointer, w->base_stack);
        } else {
            become(w, next);
            if (next != me) nogpu_switch(&me->stack_pointer, next->stack_pointer);
            else w->free_count--;
        }
    }
}

// ---- faults of waiting ----------------------------------------------------------------------

[[noreturn]] static NOINLINE void barrier_fault(BarrierTrouble trouble, uint32_t thread,
                                                int line, uint32_t other, int other_line,
                                                uint32_t waiting, uint32_t missing) {
    FaultRecord& f = begin_fault(kBarrier);
    f.detail = trouble;
    thread_coordinates(thread, f.thread);
    f.line = line;
    f.has_other = 1;
    thread_coordinates(other, f.other_thread);
    memcpy(f.other_block, f.block, sizeof f.block);
    f.other_line = other_line;
    f.waiting = waiting;
    f.missing = missing;
    leave_kernel();
}

// ---- __syncthreads ---------------------------------------------------------------------------

static void release_barrier(Worker* w, Fibre* current) {
    BlockBarrier& b = w->barrier;
    b.result_count = (int)b.nonzero;
    b.threads = (int)b.count;
    for (uint32_t i = 0; i < b.count; i++)
        if (w->at_barrier[i] != current) enqueue(w, w->at_barrier[i]);
    b.count = b.nonzero = b.warps = 0;
    if (UNLIKELY(w->counting != nullptr)) count_barrier(w);
    if (hot.checks) {
        report_pending();
        start_interval(w);
        set_stamp(linear_thread());
    }
}

// A GPU counts which warps have come, wherever in the source they wait; the threads of one warp
// have to come to the same barrier. It does not wait for threads that have left the kernel.
CUSIM_API int nogpu_barrier(int op, int value, int line, int site) {
    Worker* w = hot.worker;
    BlockBarrier& b = w->barrier;
    Fibre* me = w->current;
    const uint32_t thread = linear_thread(), warp = thread >> 5;
    settle(w);
    if (!((b.warps >> warp) & 1)) {
        b.warps |= 1u << warp;
        b.site[warp] = site;
        b.line[warp] = line;
        b.first_thread[warp] = thread;
    } else if (UNLIKELY(b.site[warp] != site) && (hot.checks & kCheckBarrier)) {
        barrier_fault(kTwoBarriers, thread, line, b.first_thread[warp], b.line[warp],
                      b.count + 1, 0);
    }
    w->at_barrier[b.count++] = me;
    b.nonzero += value != 0;
    if (b.count == nogpu_context.total_threads) release_barrier(w, me);
    else suspend(w);
    switch (op) {
        case nogpu::kBarrierCount: return b.result_count;
        case nogpu::kBarrierAnd: return b.result_count == b.threads;
        case nogpu::kBarrierOr: return b.result_count != 0;
        default: return 0;
    }
}

// ---- all blocks of a cooperative launch ---------------------------------------------------------

CUSIM_API bool nogpu_is_cooperative() { return hot.worker->job->checks & kCooperative; }

[[noreturn]] static void grid_fault(BarrierTrouble trouble, int line, uint64_t missing) {
    FaultRecord& f = begin_fault(kBarrier);
    f.detail = trouble;
    f.line = line;
    f.missing = (uint32_t)missing;
    leave_kernel();
}

// The worker, which has no other block, waits for the others.
static void wait_for_grid(Worker* w, Job* job, int line) {
    const uint64_t meeting = job->grid_meetings.load();
    if (job->grid_waiting.fetch_add(1) + 1 == job->blocks) {
        job->grid_segment = next_segment.load();
        job->grid_waiting = 0;
        job->grid_meetings.fetch_add(1);
    }
    for (int round = 0; job->grid_meetings.load() == meeting; round++) {
        const uint64_t ended = job->grid_ended.load();
        if (ended && job->grid_waiting.load() + ended == job->blocks)
            grid_fault(kBlocksGone, line, ended);
        if (job->cancelled.load() || job->fault_block.load() != UINT64_MAX) {
            begin_fault(kCancelled);
            leave_kernel();
        }
        const timespec time = {0, 50000};
        if (round < 100) sched_yield();
        else nanosleep(&time, nullptr);
    }
    if (!hot.checks) return;
    // What anybody did before lies behind: it counts as an earlier launch's.
    w->segment_next = w->segment_end = 0;
    if (hot.first != UINT32_MAX) hot.first = job->grid_segment.load() << 12;
    start_interval(w);
}

CUSIM_API void nogpu_grid_barrier(int line) {
    Worker* w = hot.worker;
    if (!nogpu_is_cooperative()) grid_fault(kNotCooperative, line, 0);
    nogpu_barrier(nogpu::kBarrier, 0, line, -line);
    if (w->past_grid == 0) wait_for_grid(w, w->job, line);
    if (++w->past_grid == (uint32_t)w->barrier.threads) w->past_grid = 0;
    if (hot.checks) set_stamp(linear_thread());
}

// ---- warp operations ---------------------------------------------------------------------------

static inline uint32_t lanes_of(uint32_t warp) {
    const uint32_t left = nogpu_context.total_threads - warp * 32;
    return left >= 32 ? 0xffffffffu : (1u << left) - 1;
}

// All lanes bring a MatrixCall of the same meaning; what it does is done when the last has come.
static void finish_matrix(Worker* w, uint32_t number, uint32_t lanes) {
    WarpState& s = w->warps[number];
    const nogpu::MatrixCall* calls[32];
    for (uint32_t lane = 0; lane < 32; lane++) {
        calls[lane] = (lanes >> lane) & 1 ? (const nogpu::MatrixCall*)s.value[lane] : nullptr;
        const uint32_t thread = number * 32 + lane;
        if (!calls[lane] && (hot.checks & kCheckBarrier)) {
            const uint32_t there = number * 32 + (uint32_t)__builtin_ctz(lanes);
            barrier_fault(kWarpIncomplete, there, s.line[there & 31], there, 0, 0,
                          32 - (uint32_t)__builtin_popcount(lanes));
        }
        if (calls[lane] && calls[0] && !same_matrix(*calls[lane], *calls[0]) &&
            (hot.checks & kCheckBarrier))
            barrier_fault(kMatricesDiffer, thread, s.line[lane], number * 32, s.line[0], 0, 0);
    }
    if (!calls[0]) return;
    // The lanes wait for each other before a matrix is stored and after one was loaded: what they
    // did earlier comes before the stores, what they do later after the loads.
    const int op = calls[0]->op;
    if (op == nogpu::kMatrixStore && hot.checks) w->warp_segment[number] = take_segment(w);
    matrix_operation(calls, number, s.pc);
    if (op == nogpu::kMatrixLoad && hot.checks) w->warp_segment[number] = take_segment(w);
}

static uint32_t reduced(const WarpState& s, uint32_t lanes, int reduction) {
    uint32_t result = (uint32_t)s.value[__builtin_ctz(lanes)];
    for (uint32_t rest = lanes & (lanes - 1); rest; rest &= rest - 1) {
        const uint32_t v = (uint32_t)s.value[__builtin_ctz(rest)];
        switch (reduction) {
            case nogpu::kAdd: result += v; break;
            case nogpu::kMin: result = (int32_t)v < (int32_t)result ? v : result; break;
            case nogpu::kMax: result = (int32_t)v > (int32_t)result ? v : result; break;
            case nogpu::kUnsignedMin: result = v < result ? v : result; break;
            case nogpu::kUnsignedMax: result = v > result ? v : result; break;
            case nogpu::kAnd: result &= v; break;
            case nogpu::kOr: result |= v; break;
            default: result ^= v; break;
        }
    }
    return result;
}

static void finish_warp(Worker* w, uint32_t number, uint32_t lanes, int op, Fibre* current) {
    WarpState& s = w->warps[number];
    uint32_t votes = 0;
    bool equal = true;
    if (op == nogpu::kMatrix) finish_matrix(w, number, lanes);
    for (uint32_t lane = 0; lane < 32; lane++) {
        if (!((lanes >> lane) & 1)) continue;
        if (s.value[lane]) votes |= 1u << lane;
        equal &= s.value[lane] == s.value[__builtin_ctz(lanes)];
    }
    for (uint32_t lane = 0; lane < 32; lane++) {
        if (!((lanes >> lane) & 1)) continue;
        uint64_t result = 0;
        switch (op) {
            case nogpu::kShuffle: {
                const uint32_t source = (uint32_t)s.source[lane] & 31u;
                // Of a lane that takes no part PTX says nothing; an H200 gives 0.
                result = (lanes >> source) & 1 ? s.value[source] : 0;
                if (!((lanes >> source) & 1) && (hot.checks & kCheckBarrier))
                    barrier_fault(kSourceAbsent, number * 32 + lane, s.line[lane],
                                  number * 32 + source, s.line[lane], 0, 0);
                break;
            }
            case nogpu::kBallot: result = votes; break;
            case nogpu::kAny: result = votes != 0; break;
            case nogpu::kAll: result = votes == lanes; break;
            case nogpu::kMatchAny:
                for (uint32_t other = 0; other < 32; other++)
                    if (((lanes >> other) & 1) && s.value[other] == s.value[lane])
                        result |= 1u << other;
                break;
            case nogpu::kReduce: result = reduced(s, lanes, s.source[lane]); break;
            case nogpu::kMatchAll: result = equal ? lanes : 0; break;
            default: break;
        }
        s.result[lane] = result;
        if (s.fibre[lane] != current) enqueue(w, s.fibre[lane]);
    }
    s.waiting &= ~lanes;
    if (UNLIKELY(w->counting != nullptr)) count_warp_operation(w, number, lanes, lanes_of(number));
    if (op == nogpu::kSyncWarp && hot.checks) w->warp_segment[number] = take_segment(w);
    if (hot.checks && current) set_stamp(linear_thread());
}

// Lets the warp go on if all lanes that `mask` names (without `gone`) wait for the same thing.
static bool try_warp(Worker* w, uint32_t number, uint32_t lane, uint32_t gone, Fibre* current) {
    WarpState& s = w->warps[number];
    const uint32_t mask = s.mask[lane], needed = mask & lanes_of(number) & ~gone;
    if ((s.waiting & needed) != needed) return false;
    for (uint32_t other = 0; other < 32; other++)
        if (((needed >> other) & 1) && (s.op[other] != s.op[lane] || s.mask[other] != mask))
            return false;
    finish_warp(w, number, needed, s.op[lane], current);
    return true;
}

CUSIM_API unsigned long long nogpu_warp(int op, unsigned mask, unsigned long long value,
                                        int source, int line) {
    Worker* w = hot.worker;
    const uint32_t thread = linear_thread(), number = thread >> 5, lane = thread & 31;
    settle(w);
    if (!((mask >> lane) & 1)) {
        if (hot.checks & kCheckBarrier)
            barrier_fault(kNotInMask, thread, line, thread, line, 0, 0);
        return value;
    }
    WarpState& s = w->warps[number];
    w->warps_used = true;
    s.op[lane] = (uint8_t)op;
    s.mask[lane] = mask;
    s.value[lane] = value;
    s.source[lane] = source;
    s.line[lane] = line;
    s.fibre[lane] = w->current;
    s.waiting |= 1u << lane;
    s.pc = __builtin_return_address(0);
    if (!try_warp(w, number, lane, 0, w->current)) suspend(w);
    return s.result[lane];
}

// The lanes that come to this call together: a lane waits until no other of its block can run.
CUSIM_API unsigned nogpu_active_mask(int line) {
    Worker* w = hot.worker;
    const uint32_t thread = linear_thread(), lane = thread & 31;
    settle(w);
    WarpState& s = w->warps[thread >> 5];
    w->warps_used = true;
    s.line[lane] = line;
    s.fibre[lane] = w->current;
    s.active_waiting |= 1u << lane;
    suspend(w);
    return (unsigned)s.result[lane];
}

// Lanes of a warp that left the kernel, where nobody of the block can run.
static uint32_t gone_lanes(Worker* w, uint32_t number) {
    uint32_t waits = w->warps[number].waiting | w->warps[number].active_waiting;
    for (uint32_t i = 0; i < w->barrier.count; i++)
        if (w->at_barrier[i]->id >> 5 == number) waits |= 1u << (w->at_barrier[i]->id & 31);
    return lanes_of(number) & ~waits;
}

// Nobody can run and all have started. Either all have left, or some wait and can be let go, or
// they wait for what never comes.
static NOINLINE Fibre* idle(Worker* w) {
    if (w->suspended == 0) return nullptr;
    const uint32_t warps = (nogpu_context.total_threads + 31) / 32;
    BlockBarrier& b = w->barrier;
    if (w->warps_used) {
        for (uint32_t v = 0; v < warps; v++) {
            WarpState& s = w->warps[v];
            if (!s.active_waiting) continue;
            const int line = s.line[__builtin_ctz(s.active_waiting)];
            uint32_t group = 0;
            for (uint32_t lane = 0; lane < 32; lane++)
                if (((s.active_waiting >> lane) & 1) && s.line[lane] == line)
                    group |= 1u << lane;
            s.active_waiting &= ~group;
            for (uint32_t lane = 0; lane < 32; lane++) {
                if (!((group >> lane) & 1)) continue;
                s.result[lane] = group;
                enqueue(w, s.fibre[lane]);
            }
            return pick(w);
        }
        for (uint32_t v = 0; v < warps; v++) {
            WarpState& s = w->warps[v];
            const uint32_t gone = gone_lanes(w, v);
            for (uint32_t lane = 0; lane < 32; lane++)
                if (((s.waiting >> lane) & 1) && try_warp(w, v, lane, gone, nullptr))
                    return pick(w);
        }
    }
    if (b.count == w->suspended) {  // all that are left wait at the barrier
        release_barrier(w, nullptr);
        return pick(w);
    }
    for (uint32_t v = 0; v < warps; v++) {
        WarpState& s = w->warps[v];
        if (!s.waiting) continue;
        const uint32_t lane = (uint32_t)__builtin_ctz(s.waiting);
        const uint32_t at = b.warps ? (uint32_t)__builtin_ctz(b.warps) : 0;
        barrier_fault(kDeadlock, v * 32 + lane, s.line[lane],
                      b.count ? b.first_thread[at] : v * 32 + lane,
                      b.count ? b.line[at] : s.line[lane], b.count, w->suspended - b.count);
    }
    return nullptr;
}

// ---- letting others run -----------------------------------------------------------------------

CUSIM_API void nogpu_yield() {
    Worker* w = hot.worker;
    nogpu_context.spin_budget = kSpinBudget;
    if (!w || !hot.in_kernel) return;
    settle(w, false);
    if (nogpu_context.next_thread + 1 < nogpu_context.total_threads ||
        w->queue_head != w->queue_tail) {
        enqueue(w, w->current);
        suspend(w);
    } else {
        // Perhaps another block holds what this one waits for.
        sched_yield();
    }
    if (w->job->fault_block.load(std::memory_order_relaxed) < w->block_index) {
        begin_fault(kCancelled);  // the block that this one waits for may be the one that failed
        leave_kernel();
    }
}

// Where other threads of the block can run, they do. Otherwise the processor is free for that long,
// at most a millisecond as on a GPU; what is shorter than a call of the system takes is no sleep.
CUSIM_API void nogpu_sleep(uint32_t nanoseconds) {
    Worker* w = hot.worker;
    const bool alone = w && nogpu_context.next_thread + 1 >= nogpu_context.total_threads &&
                       w->queue_head == w->queue_tail;
    nogpu_yield();
    if (!alone || nanoseconds < 10000) return;
    const timespec time = {0, nanoseconds < 1000000 ? (long)nanoseconds : 1000000};
    nanosleep(&time, nullptr);
}

static inline void count_spin() {
    if (UNLIKELY(--nogpu_context.spin_budget < 0)) nogpu_yield();
}

CUSIM_API void nogpu_fence(int scope) {
    (void)scope;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (hot.checks) fence_seen(hot.worker);
    count_spin();
}
