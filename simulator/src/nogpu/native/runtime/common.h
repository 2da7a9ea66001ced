// The runtime's shared state: checks, jobs, workers, and the record of a fault.
#pragma once
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "records.h"

#define CUSIM_API extern "C" __attribute__((visibility("default")))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define NOINLINE __attribute__((noinline))

// The definition that kernels see as `extern`; const there in instrumented builds.
extern "C" {
__attribute__((visibility("default"), tls_model("initial-exec"))) __thread nogpu::Context
    nogpu_context;
}

// A loaded library of kernels. TLS holds its __shared__ arrays, one copy per worker.
struct Library {
    void* (*tls_marker)();
    uint64_t tls_marker_offset, tls_size;
    std::vector<Symbol> data;
    uintptr_t data_low, data_high, image_low, image_high;
    uint32_t* data_shadow;
    uint32_t* data_fine;
};

// What is launched: a kernel with its sizes and its arguments.
struct Grid {
    nogpu::Entry entry;
    uint32_t grid[3], block[3];
    uint32_t dynamic_shared;
    std::vector<char> argument_bytes;
    std::vector<const void*> arguments;
};

// A plain read of what another block then updated atomically: a race, unless the reader does an
// atomic operation on the place itself.
struct Reader {
    uintptr_t address;
    uint32_t stamp;
    FaultRecord fault;
};

struct Job : Grid {
    Library* library;
    uint32_t checks, threads, device, reach;
    uint64_t blocks;
    std::deque<Grid> children;  // that its kernels have launched: they run after it, as this job
    std::vector<Copy> copies;
    std::vector<Symbol> shared;
    std::atomic<uint64_t> next_block{0};
    std::atomic<uint64_t> fault_block{UINT64_MAX};
    std::atomic<int> cancelled{0};
    std::atomic<void*> acquitted[32]{};  // places of reads that an atomic operation has followed
    std::vector<Reader> readers;
    std::atomic<bool> has_readers{false};
    // Of a cooperative launch: blocks that wait for the others, that have ended, how often all
    // have met, and the first segment since.
    std::atomic<uint64_t> grid_waiting{0}, grid_ended{0}, grid_meetings{0};
    std::atomic<uint32_t> grid_segment{0};
    uint32_t first_segment;
    uint32_t number;  // of the launch, in the segments that it uses
    uint64_t chunk;
    int workers, seats, running;  // at most, that may still join, that are at it
    bool done;
    int64_t opened, started;  // nanoseconds: may be begun, was begun
    struct Node* node;  // of a stream; null where the caller waits for the job itself
    FaultRecord fault;
    std::string output;
    uint64_t dropped_lines;  // that were before it
    struct JobCounts* counts;  // see counters.h
    pthread_mutex_t lock;
};

// Of a fibre's stack, and what of it is not to be used. One page more than a power of two: else all
// stacks would share a few entries of the processor's table of pages.
static const uintptr_t kStack = 256 * 1024 + (uintptr_t)sysconf(_SC_PAGESIZE);
static const uintptr_t kGuard = kStack - 192 * 1024;

struct Fibre {
    void* stack_pointer;
    uint3 thread;
    uint32_t id;  // linear index of the thread that runs on this fibre
};

struct WarpState {
    uint32_t waiting, active_waiting;
    uint8_t op[32];
    uint32_t mask[32];
    uint64_t value[32], result[32];
    int32_t source[32], line[32];
    Fibre* fibre[32];
    void* pc;  // where a lane called its matrix operation
};

struct BlockBarrier {
    uint32_t count, nonzero;
    int result_count, threads;
    // Of each warp: whether one of its threads waits here, at which barrier of the source, and who.
    uint32_t warps;
    int site[32], line[32];
    uint32_t first_thread[32];
};

static const uint32_t kMaxThreads = 1024;

// An access that may be a race: what the thread does next tells. See shadow.h.
struct Suspect {
    uintptr_t address, base;
    uint32_t size;  // of the part of the access that is looked at: 1 or 4 bytes
    uint32_t before;  // what a write found there
    uint32_t access_size, other_stamp, stamp;
    uintptr_t access_address;
    void* pc;
    RegionKind region;
    AccessKind access, other;
};

struct Worker {
    pthread_t thread;
    int number;
    pthread_cond_t wake;
    bool awake;
    Job* job;
    sigjmp_buf jump;
    FaultRecord fault;
    FaultRecord pending;  // a read of unwritten memory, reported when this interval ends
    void* base_stack;
    char* stacks;
    uint32_t fibre_count;
    Fibre fibres[kMaxThreads + 1];
    Fibre* free_fibres[kMaxThreads + 1];
    uint32_t free_count;
    Fibre* current;
    Fibre* queue[2 * kMaxThreads];  // ring of fibres that can run
    uint32_t queue_head, queue_tail;
    Fibre* at_barrier[kMaxThreads];
    BlockBarrier barrier;
    WarpState warps[32];
    uint32_t suspended;
    bool warps_used;
    uint64_t block_index;
    uint32_t past_grid;  // threads of the block that have gone on since the grid met
    // race detection
    uint32_t segment_next, segment_end, segment_first_of_interval;
    uint32_t warp_segment[32];
    uint32_t block_segments[64];  // recent segments of this block, for __threadfence
    uint32_t block_segment_count;
    uint32_t acquired, fenced;
    std::vector<Suspect> suspects;
    uint32_t* shared_shadow;
    uint32_t* shared_fine;
    uint64_t shared_capacity;
    struct Counting* counting;  // while a job is counted
    struct Counting* counting_memory;
};

struct Allocation {
    uintptr_t base, size;
    bool host_written;  // every byte was copied in or set from the host
    bool touched;       // its shadow may hold stamps
};

// What the access checks read on every call, in thread-local storage.
struct Hot {
    uint32_t stamp;         // who I am: segment and thread
    uint32_t first;         // smallest stamp of this launch
    uint32_t block_first;   // smallest stamp of this block
    uint32_t interval_first;  // smallest stamp since this block's last barrier
    uint32_t checks;
    uintptr_t arena_low, arena_size;  // device memory that needs no second look
    uintptr_t shared_low, shared_size;
    // Of a word at an aligned address the stamps lie at twice the address and this.
    uintptr_t shared_stamps;
    Worker* worker;
    volatile int in_kernel, locked;
    uintptr_t cached_low[2], cached_size[2];
    Allocation* cached[2];
    uint32_t cache_generation, cache_next;
};
static __thread Hot hot __attribute__((tls_model("initial-exec")));

// Between these two a signal must not leave the kernel: a lock is held.
struct Locked {
    Locked() { hot.locked = hot.locked + 1; }
    ~Locked() { hot.locked = hot.locked - 1; }
};

struct Holding {
    explicit Holding(pthread_mutex_t& m) : mutex(m) { pthread_mutex_lock(&mutex); }
    ~Holding() { pthread_mutex_unlock(&mutex); }
    pthread_mutex_t& mutex;
};

template <class T> static void forget(std::vector<T>& all, T one) {
    all.erase(std::remove(all.begin(), all.end(), one), all.end());
}

static inline uint32_t linear_thread() {
    const nogpu::Context& c = nogpu_context;
    return (c.thread.z * c.block_size.y + c.thread.y) * c.block_size.x + c.thread.x;
}

static inline void thread_coordinates(uint32_t linear, uint32_t* xyz) {
    const nogpu::Context& c = nogpu_context;
    const uint32_t row = linear / c.block_size.x;
    xyz[0] = linear % c.block_size.x;
    xyz[1] = row % c.block_size.y;
    xyz[2] = row / c.block_size.y;
}

static inline void block_coordinates(uint64_t linear, uint32_t* xyz) {
    const nogpu::Context& c = nogpu_context;
    const uint64_t row = linear / c.grid_size.x;
    xyz[0] = (uint32_t)(linear % c.grid_size.x);
    xyz[1] = (uint32_t)(row % c.grid_size.y);
    xyz[2] = (uint32_t)(row / c.grid_size.y);
}

// Starts a record with everything that is known at any fault; the caller adds the rest.
static FaultRecord& begin_fault(FaultKind kind) {
    Worker* w = hot.worker;
    FaultRecord& f = w->fault;
    memset(&f, 0, sizeof f);
    f.kind = kind;
    f.index = -1;
    memcpy(f.block, &nogpu_context.block, sizeof f.block);
    memcpy(f.thread, &nogpu_context.thread, sizeof f.thread);
    return f;
}

[[noreturn]] static void leave_kernel() {
    Worker* w = hot.worker;
    // What happens after a read of unwritten memory may well be its consequence. A race is not:
    // it explains the read.
    if (w->pending.kind && w->fault.kind != kRace && w->fault.kind != kCancelled)
        w->fault = w->pending;
    siglongjmp(w->jump, 1);
}

// Where the lanes of a warp meet, what they asked of memory is put together (counters.h).
static void warp_met(Worker* w, uint32_t warp);
static void count_barrier(Worker* w);
static void count_warp_operation(Worker* w, uint32_t warp, uint32_t lanes, uint32_t all);
static void count_access(const void* p, uint32_t size, AccessKind access, void* pc,
                         bool increments = false, uint32_t part = 0);

// An interval between two barriers ends: nobody wrote in it what was read unwritten.
static inline void report_pending() {
    if (__builtin_expect(hot.worker->pending.kind != kNoFault, 0)) leave_kernel();
}
