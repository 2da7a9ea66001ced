// Workers, jobs and signals.
#pragma once
#include "counted_hooks.h"
#include "hooks.h"
#include "pinned.h"

static std::vector<Worker*>* workers;
static int wanted_workers = 1;
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t pool_done;  // on the steady clock
// Launches of independent streams are begun in their order by the workers, one per processor. A
// launch that they leave waiting, since they are all in kernels that do not end, gets a spare.
static std::vector<Job*>* running_jobs;
static std::vector<Job*>* paused_jobs;  // out of segment numbers: go on when all others have ended
static std::vector<Job*>* waiting_jobs;
static const size_t kMostJobs = 16;  // launches that run at once
static const int64_t kPatience = 10000000;  // nanoseconds until a spare helps
static std::vector<Worker*>* sleeping_workers;
static int busy_workers;   // spares do not count
static Worker* watcher;    // the spare that waits until a launch has waited too long
// In streams.h; the first is called with pool_lock held.
static void job_finished(Job* job);
static void prepare_streams();
static void forget_streams();

// ---- signals ---------------------------------------------------------------------------------

static const int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
// Somebody (faulthandler, say) may put a handler above ours, and expect to find under it what was
// there: each time that ours goes on top of another handler it is another function, which chains
// to that one, always. So a handler that steps aside, by putting back what it had found, hands on
// to ours of that time, and not to the one that has called it.
static const int kLayers = 16;
static struct sigaction previous_actions[kLayers][65];
static int layers_used[65];
static const int kLeaveSignal = SIGURG;  // ignored by default, and hardly used by anyone

static uint64_t program_counter(void* context) {
    ucontext_t* u = (ucontext_t*)context;
#if defined(__x86_64__)
    return (uint64_t)u->uc_mcontext.gregs[REG_RIP];
#else
    return (uint64_t)u->uc_mcontext.pc;
#endif
}

static uint64_t stack_pointer(void* context) {
    ucontext_t* u = (ucontext_t*)context;
#if defined(__x86_64__)
    return (uint64_t)u->uc_mcontext.gregs[REG_RSP];
#else
    return (uint64_t)u->uc_mcontext.sp;
#endif
}

// Where the kernel's own code was: the signal may have come inside a function that it called.
static uint64_t kernel_counter(Worker* w, void* context) {
    const Library* l = w->job->library;
    const uint64_t pc = program_counter(context);
    if (pc - l->image_low < l->image_high - l->image_low) return pc;
    const uint64_t low = (uint64_t)w->stacks, high = low + (kMaxThreads + 1) * kStack;
    uint64_t sp = (stack_pointer(context) + 7) & ~7ull;
    const uint64_t slot = (sp - low) / kStack, end = low + (slot + 1) * kStack;
    if (sp < low || sp >= high) return pc;
    if (sp < low + slot * kStack + kGuard) sp = low + slot * kStack + kGuard;
    for (int i = 0; i < 4096 && sp + 8 <= end; i++, sp += 8) {
        const uint64_t word = *(const uint64_t*)sp;
        if (word - l->image_low < l->image_high - l->image_low) return word;
    }
    return pc;
}

// Whether a division that trapped was of the smallest integer: then it may have been by -1.
static bool divides_smallest(void* context) {
#if defined(__x86_64__)
    const greg_t* r = ((ucontext_t*)context)->uc_mcontext.gregs;
    const int64_t low = r[REG_RAX], high = r[REG_RDX];  // of the dividend
    return (low == INT64_MIN && high == -1) || ((int32_t)low == INT32_MIN && (int32_t)high == -1);
#else
    (void)context;
    return false;  // arm64 divides without a trap
#endif
}

// What a signal that no kernel has raised does without us.
static void chain(int layer, int number, siginfo_t* info, void* context) {
    const struct sigaction old = previous_actions[layer][number];
    const bool repeats = info->si_code > 0;  // when its instruction is repeated
    // Blocked meanwhile are the signals that this handler has asked for: it may leave by a jump.
    // Of the interrupted set the system has written the first 8 bytes.
    sigset_t mask;
    sigemptyset(&mask);
    memcpy(&mask, &((ucontext_t*)context)->uc_sigmask, 8);
    for (int other = 1; other < 65; other++)
        if (sigismember(&old.sa_mask, other) == 1) sigaddset(&mask, other);
    if (!(old.sa_flags & SA_NODEFER)) sigaddset(&mask, number);
    pthread_sigmask(SIG_SETMASK, &mask, nullptr);
    if (old.sa_flags & SA_RESETHAND) {
        previous_actions[layer][number].sa_flags = 0;
        previous_actions[layer][number].sa_handler = SIG_DFL;
    }
    if (old.sa_flags & SA_SIGINFO) {
        if (old.sa_sigaction) old.sa_sigaction(number, info, context);
    } else if (old.sa_handler == SIG_IGN) {
        // The system lets nobody ignore what would come again at once.
        if (repeats && number != kLeaveSignal) signal(number, SIG_DFL);
    } else if (old.sa_handler != SIG_DFL) {
        old.sa_handler(number);
    } else if (number != kLeaveSignal) {
        signal(number, SIG_DFL);
        if (!repeats) raise(number);
    }
}

// Whether an access that is not allowed was one of writing; true where nobody says.
static bool was_writing(void* context) {
#if defined(__x86_64__)
    return ((ucontext_t*)context)->uc_mcontext.gregs[REG_ERR] & 2;
#else
    (void)context;
    return true;
#endif
}

static void on_signal(int layer, int number, siginfo_t* info, void* context) {
    Worker* w = hot.worker;
    if (number == SIGSEGV && info->si_code == SEGV_ACCERR &&
        touched_pinned((uintptr_t)info->si_addr, was_writing(context), w && hot.in_kernel))
        return;
    if (!w || !hot.in_kernel || hot.locked) {
        if (number == kLeaveSignal && w) return;
        chain(layer, number, info, context);
        return;
    }
    if (number == kLeaveSignal) {
        if (!w->job->cancelled.load()) return;
        begin_fault(kCancelled);
        leave_kernel();
    }
    const uint64_t address = (uint64_t)info->si_addr;
    FaultKind kind = kSignal;
    if (number == SIGFPE) {
        // Where divisions are checked, one by zero is found before it traps.
        const bool by_minus_one = hot.checks & kCheckDivision;
        kind = !divides_smallest(context) ? kDivision
               : by_minus_one             ? kDivisionOverflow
                                          : kDivisionOfSmallest;
    } else if (number == SIGSEGV || number == SIGBUS) {
        const uint64_t in_stacks = address - (uint64_t)w->stacks;
        if (in_stacks < (uint64_t)(kMaxThreads + 1) * kStack)
            kind = kStackOverflow;
        else if (info->si_code <= 0 || info->si_code == 0x80)
            kind = kNotDeviceMemory;  // the kernel does not say which address
        else
            kind = address < 65536 ? kNullPointer : kNotDeviceMemory;
    }
    FaultRecord& f = begin_fault(kind);
    f.pc = kernel_counter(w, context);
    f.signal_number = number;
    f.address = address;
    f.access = -1;
    leave_kernel();
}

typedef void (*Handler)(int, siginfo_t*, void*);
template <int Layer> static void on_signal_of(int number, siginfo_t* info, void* context) {
    on_signal(Layer, number, info, context);
}
template <int... Layer> struct Handlers {
    Handler of_layer[sizeof...(Layer)] = {on_signal_of<Layer>...};
    explicit Handlers(std::integer_sequence<int, Layer...>) {}
};
static const Handlers handlers{std::make_integer_sequence<int, kLayers>()};

static bool is_ours(const struct sigaction& action) {
    for (Handler handler : handlers.of_layer)
        if ((action.sa_flags & SA_SIGINFO) && action.sa_sigaction == handler) return true;
    return false;
}

// Called before each launch: ours goes on top of what somebody has put above it.
static void install_handlers() {
    auto install = [](int number) {
        struct sigaction now;
        sigaction(number, nullptr, &now);
        if (is_ours(now)) return;
        int& used = layers_used[number];
        int layer = 0;  // that lies above `now` since earlier, or the next
        for (; layer < used; layer++) {
            const struct sigaction& old = previous_actions[layer][number];
            if (now.sa_sigaction == old.sa_sigaction && now.sa_flags == old.sa_flags) break;
        }
        if (layer == kLayers) return;  // theirs stays on top
        if (layer == used) previous_actions[used++][number] = now;
        struct sigaction ours = {};
        ours.sa_sigaction = handlers.of_layer[layer];
        ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
        sigemptyset(&ours.sa_mask);
        sigaction(number, &ours, nullptr);
    };
    for (int number : kSignals) install(number);
    install(kLeaveSignal);
}

// ---- running blocks ----------------------------------------------------------------------------

static void prepare_shared(Worker* w, Library* library) {
    hot.shared_low = hot.shared_size = 0;
    if (!library->tls_size) return;
    hot.shared_low = (uintptr_t)library->tls_marker() - library->tls_marker_offset;
    hot.shared_size = library->tls_size;
    if (w->shared_capacity < library->tls_size) {
        Locked guard;
        if (w->shared_shadow) {
            munmap(w->shared_shadow, 2 * w->shared_capacity);
            munmap(w->shared_fine, 8 * w->shared_capacity);
        }
        w->shared_capacity = round_up(library->tls_size, 65536);
        const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        w->shared_shadow = (uint32_t*)mmap(nullptr, 2 * w->shared_capacity,
                                           PROT_READ | PROT_WRITE, flags, -1, 0);
        w->shared_fine = (uint32_t*)mmap(nullptr, 8 * w->shared_capacity,
                                         PROT_READ | PROT_WRITE, flags, -1, 0);
        if (w->shared_shadow == MAP_FAILED || w->shared_fine == MAP_FAILED) abort();
    }
    hot.shared_stamps = (uintptr_t)w->shared_shadow - 2 * hot.shared_low;
}

static void run_block(Worker* w, Job* job, uint64_t index) {
    nogpu::Context& c = nogpu_context;
    w->block_index = index;
    w->past_grid = 0;
    block_coordinates(index, &c.block.x);
    c.thread = uint3{0, 0, 0};
    c.next_thread = 0;
    w->suspects.clear();
    if (hot.checks) start_block_segments(w);
    if (w->warps_used) {
        for (WarpState& s : w->warps) s.waiting = s.active_waiting = 0;
        w->warps_used = false;
    }
    Fibre* f = take_fibre(w);
    f->thread = c.thread;
    f->id = 0;
    become(w, f);
    nogpu_switch(&w->base_stack, f->stack_pointer);
    report_pending();
    if (hot.checks) end_block_segments(w);
    job->grid_ended.fetch_add(1);
    if (UNLIKELY(w->counting != nullptr)) count_block_end(w);
}

static void run_blocks(Worker* w, Job* job) {
    nogpu::Context& c = nogpu_context;
    c.block_size = uint3{job->block[0], job->block[1], job->block[2]};
    c.grid_size = uint3{job->grid[0], job->grid[1], job->grid[2]};
    c.total_threads = job->threads;
    c.spin_budget = kSpinBudget;
    w->barrier.count = w->barrier.nonzero = w->barrier.warps = 0;
    w->queue_head = w->queue_tail = 0;
    w->suspended = 0;
    w->warps_used = true;
    w->segment_next = w->segment_end = 0;
    hot.checks = job->checks & ~kCooperative;
    hot.first = job->checks & kCheckRace ? job->first_segment << 12 : UINT32_MAX;
    hot.block_first = 0;
    // Of a device that does not reach all others only its own memory.
    hot.arena_low = job->reach ? devices[job->device].base : arena_base;
    hot.arena_size = job->reach ? device_size : arena_size;
    hot.cached_size[0] = hot.cached_size[1] = 0;
    prepare_shared(w, job->library);
    begin_counting(w, job);
    w->fault.kind = w->pending.kind = kNoFault;
    if (sigsetjmp(w->jump, 1) == 0) {
        hot.in_kernel = 1;
        for (;;) {
            if (job->checks && !(job->checks & kCooperative) &&
                next_segment.load(std::memory_order_relaxed) > kSoftLimit)
                break;
            const uint64_t from = job->next_block.fetch_add(job->chunk);
            if (from >= job->blocks) break;
            const uint64_t to = from + job->chunk < job->blocks ? from + job->chunk : job->blocks;
            for (uint64_t b = from; b < to; b++) {
                // Blocks below the first fault still run, so that the report is repeatable.
                if (b > job->fault_block.load(std::memory_order_relaxed) ||
                    job->cancelled.load(std::memory_order_relaxed))
                    break;
                run_block(w, job, b);
            }
            if (from > job->fault_block.load() || job->cancelled.load()) break;
        }
        hot.in_kernel = 0;
    } else {
        hot.in_kernel = 0;
        hot.locked = 0;
        reset_fibres(w);
        Holding held(job->lock);
        if (w->fault.kind != kCancelled && w->block_index < job->fault_block.load()) {
            job->fault_block = w->block_index;
            job->fault = w->fault;
        }
    }
    hand_in_counts(w, job);
}

// ---- the pool ----------------------------------------------------------------------------------

static bool add_worker();

static bool is_spare(const Worker* w) { return w->number >= wanted_workers; }

// The same ones again and again: their stacks are in the caches.
static Worker* sleeping_worker(bool spare) {
    Worker* found = nullptr;
    for (Worker* w : *sleeping_workers)
        if (is_spare(w) == spare && (!found || w->number < found->number)) found = w;
    return found;
}

static void wake(Worker* w) {
    forget(*sleeping_workers, w);
    w->awake = true;
    pthread_cond_signal(&w->wake);
}

// Somebody who looks after a launch that nobody has begun.
static void call_spare() {
    if (watcher) return;
    Worker* w = sleeping_worker(true);
    if (w)
        wake(w);
    else if (workers->size() < (size_t)wanted_workers + kMostJobs - 1)
        add_worker();
}

// Called whenever a worker begins something, or a launch may begin.
static void look_after_others() {
    if (busy_workers < wanted_workers) return;
    for (Job* job : *running_jobs)
        if (job->seats && !job->running) return call_spare();
}

static void open_job(Job* job) {  // with pool_lock held
    running_jobs->push_back(job);
    job->seats = job->workers;
    job->running = 0;
    job->opened = nogpu_nanoseconds();
    const bool cooperative = job->checks & kCooperative;
    for (int woken = 0; woken < job->workers; woken++) {
        Worker* w = sleeping_worker(false);
        if (!w && cooperative) w = sleeping_worker(true);
        if (!w) break;
        wake(w);
    }
    look_after_others();
}

static void start_job(Job* job) {  // with pool_lock held
    job->first_segment = first_segment_of(job->number, next_segment.load());
    for (const Copy& c : job->copies)
        memcpy((void*)c.destination, (const void*)c.source, c.bytes);
    open_job(job);
}

// The caller may drop its bytes once this returns.
static void fill_grid(Grid* grid, const nogpu::Entry& entry, const uint32_t* blocks,
                      const uint32_t* threads, uint32_t shared, const void* const* arguments) {
    grid->entry = entry;
    memcpy(grid->grid, blocks, sizeof grid->grid);
    memcpy(grid->block, threads, sizeof grid->block);
    grid->dynamic_shared = shared;
    size_t bytes = 16;
    for (uint32_t i = 0; i < entry.parameters; i++) bytes += round_up(entry.sizes[i], 16);
    grid->argument_bytes.resize(bytes);
    char* at = (char*)round_up((uintptr_t)grid->argument_bytes.data(), 16);
    for (uint32_t i = 0; i < entry.parameters; i++) {
        memcpy(at, arguments[i], entry.sizes[i]);
        grid->arguments.push_back(at);
        at += round_up(entry.sizes[i], 16);
    }
}

// How a job's blocks are dealt out to workers.
static void divide_job(Job* job) {
    job->threads = job->block[0] * job->block[1] * job->block[2];
    job->blocks = (uint64_t)job->grid[0] * job->grid[1] * job->grid[2];
    const uint64_t count = (uint64_t)wanted_workers;
    job->workers = (int)(job->blocks < count ? job->blocks : count);
    if (job->checks & kOneWorker) job->workers = 1;
    job->chunk = std::clamp<uint64_t>(job->blocks / (count * 16), 1, 64);
    if (job->checks & kCooperative) {
        job->workers = (int)job->blocks;
        job->chunk = 1;
    }
}

CUSIM_API void nogpu_child(const nogpu::Entry* entry, const unsigned* sizes,
                           const void* const* arguments) {
    const uint64_t threads = (uint64_t)sizes[3] * sizes[4] * sizes[5];
    const uint64_t blocks = (uint64_t)sizes[0] * sizes[1] * sizes[2];
    if (!blocks || !threads || threads > 1024) return;  // a GPU leaves it out, too
    settle_writes();
    Locked guard;
    Job* job = hot.worker->job;
    Holding held(job->lock);
    job->children.emplace_back();
    fill_grid(&job->children.back(), *entry, sizes, sizes + 3, sizes[6], arguments);
}

// The next kernel that this job's kernels have launched takes its place.
static void become_child(Job* job) {
    static_cast<Grid&>(*job) = std::move(job->children.front());
    job->children.pop_front();
    job->next_block = 0;
    job->checks &= ~kCooperative;
    divide_job(job);
    waiting_jobs->insert(waiting_jobs->begin(), job);
}

static void start_waiting_jobs() {  // with pool_lock held
    while (!waiting_jobs->empty() && paused_jobs->empty() && running_jobs->size() < kMostJobs) {
        Job* job = waiting_jobs->front();
        const bool alone = running_jobs->empty();
        // Where variables are carried over, nobody else may use them meanwhile.
        if (!alone && (!job->copies.empty() || !running_jobs->front()->copies.empty())) return;
        // All blocks of a cooperative launch need a worker at once.
        if (!alone && ((job->checks | running_jobs->front()->checks) & kCooperative)) return;
        if (job->checks && next_segment.load() > kSoftLimit / 2) {
            if (alone)
                restart_segments(workers->data(), (int)workers->size());
            else if (next_segment.load() > kSoftLimit / 8 * 7)
                return;
        }
        waiting_jobs->erase(waiting_jobs->begin());
        start_job(job);
    }
}

static void finish_job(Job* job) {  // with pool_lock held
    for (Worker* w : *workers)
        if (w->job == job) w->job = nullptr;
    job->done = true;
    if (job->node)
        job_finished(job);
    else
        pthread_cond_broadcast(&pool_done);
}

static void end_phase(Job* job) {  // with pool_lock held, by the last worker to leave
    forget(*running_jobs, job);
    if (!job->readers.empty() && job->fault_block.load() == UINT64_MAX) {
        job->fault = job->readers[0].fault;
        job->fault_block = 0;
    }
    const bool stopped = job->cancelled.load() || job->fault_block.load() != UINT64_MAX;
    if (!stopped && job->next_block.load() < job->blocks) {
        paused_jobs->push_back(job);
    } else {
        for (const Copy& c : job->copies)
            memcpy((void*)c.source, (const void*)c.destination, c.bytes);
        if (stopped || job->children.empty())
            finish_job(job);
        else
            become_child(job);
    }
    if (running_jobs->empty() && !paused_jobs->empty()) {
        // The segment numbers ran out: forget the stamps and go on with the remaining blocks.
        restart_segments(workers->data(), (int)workers->size());
        std::vector<Job*> again;
        again.swap(*paused_jobs);
        for (Job* paused : again) {
            paused->first_segment = next_segment.load();
            open_job(paused);
        }
    }
    start_waiting_jobs();
}

// The oldest with a seat. A spare takes what nobody has begun for a while; until then `due` is the
// time at which it will.
static Job* job_with_seat(const Worker* w, int64_t* due) {  // with pool_lock held
    *due = 0;
    for (Job* job : *running_jobs) {
        if (!job->seats) continue;
        if (!is_spare(w) || (job->checks & kCooperative)) return job;
        if (job->running) continue;
        *due = job->opened + kPatience;
        return nogpu_nanoseconds() >= *due ? job : nullptr;
    }
    return nullptr;
}

static Job* wait_for_seat(Worker* w) {  // with pool_lock held
    int64_t due;
    for (;;) {
        Job* job = job_with_seat(w, &due);
        if (job) return job;
        if (due && !watcher) {
            watcher = w;
            const timespec until = {(time_t)(due / 1000000000), (long)(due % 1000000000)};
            pthread_cond_timedwait(&w->wake, &pool_lock, &until);
            watcher = nullptr;
        } else {
            sleeping_workers->push_back(w);
            w->awake = false;
            while (!w->awake) pthread_cond_wait(&w->wake, &pool_lock);
        }
    }
}

static void* worker_main(void* argument) {
    Worker* w = (Worker*)argument;
    sigset_t set;
    sigfillset(&set);
    for (int number : kSignals) sigdelset(&set, number);
    sigdelset(&set, kLeaveSignal);
    pthread_sigmask(SIG_SETMASK, &set, nullptr);
    stack_t alternative = {};
    alternative.ss_size = 128 * 1024;
    alternative.ss_sp = malloc(alternative.ss_size);
    sigaltstack(&alternative, nullptr);
    hot.worker = w;
    pthread_mutex_lock(&pool_lock);
    for (;;) {
        Job* job = wait_for_seat(w);
        job->seats--;
        if (!job->started) job->started = nogpu_nanoseconds();
        job->running++;
        w->job = job;
        if (!is_spare(w)) busy_workers++;
        look_after_others();
        pthread_mutex_unlock(&pool_lock);
        run_blocks(w, job);
        pthread_mutex_lock(&pool_lock);
        if (!is_spare(w)) busy_workers--;
        job->seats = 0;  // whoever leaves has found nothing more to do
        if (--job->running == 0) end_phase(job);
    }
    return nullptr;
}

// All signals blocked while it starts: it must not take Python's.
static bool start_thread(pthread_t* thread, void* (*main)(void*), void* argument) {
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const int error = pthread_create(thread, nullptr, main, argument);
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
    if (error) return false;
    pthread_detach(*thread);
    return true;
}

static bool add_worker() {  // with pool_lock held
    Worker* w = (Worker*)calloc(1, sizeof(Worker));
    new (&w->suspects) std::vector<Suspect>();
    if (!w) return false;
    w->number = (int)workers->size();
    pthread_condattr_t steady;
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&w->wake, &steady);
    pthread_condattr_destroy(&steady);
    if (!reserve_stacks(w) || !start_thread(&w->thread, worker_main, w)) {
        free(w);
        return false;
    }
    workers->push_back(w);
    return true;
}

// In a child of fork, where no other thread is. A launch that the forking thread waited for, and
// left by a signal handler, will never end here.
static void forget_pool() {
    for (std::vector<Job*>* jobs : {running_jobs, paused_jobs, waiting_jobs}) {
        for (Job* job : *jobs) {
            job->fault.kind = kCancelled;
            job->done = true;
        }
        jobs->clear();
    }
    workers->clear();
    sleeping_workers->clear();
    busy_workers = 0;
    watcher = nullptr;
}

// The runtime's locks over a fork, in the order in which a thread may hold both: so the child finds
// the tables whole. A job's own lock needs nothing: the child has no job of the parent's. Python's
// locks are taken before (forking.py).
static void before_fork() {
    pthread_mutex_lock(&pool_lock);
    pthread_rwlock_wrlock(&table_lock);
    pthread_mutex_lock(&order_lock);
    pthread_mutex_lock(&pinned_lock);
}

static void after_fork_in_parent() {
    pthread_mutex_unlock(&pinned_lock);
    pthread_mutex_unlock(&order_lock);
    pthread_rwlock_unlock(&table_lock);
    pthread_mutex_unlock(&pool_lock);
}

static void after_fork_in_child() {
    pthread_rwlock_init(&table_lock, nullptr);
    pthread_mutex_init(&pool_lock, nullptr);
    forget_pool();
    forget_streams();
    forget_order();
    keep_pinned();
}

CUSIM_API int cs_start(int count, uint64_t capacity, uint64_t most, int device_count) {
    static bool ready = false;
    wanted_workers = count > 0 ? count : 1;
    if (ready) return 0;
    if (!reserve_arena(capacity, most, device_count)) return -1;
    live = new std::map<uintptr_t, Allocation*>;
    freed = new std::map<uintptr_t, uintptr_t>;
    libraries = new std::vector<Library*>;
    workers = new std::vector<Worker*>;
    for (auto jobs : {&waiting_jobs, &running_jobs, &paused_jobs}) *jobs = new std::vector<Job*>;
    sleeping_workers = new std::vector<Worker*>;
    segments = (SegmentInfo*)mmap(nullptr, sizeof(SegmentInfo) << 20, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (segments == MAP_FAILED) return -1;
    prepare_streams();
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    ready = true;
    return 0;
}

CUSIM_API Library* cs_library(void* (*tls_marker)(), uint64_t marker_offset, uint64_t tls_size,
                              const Symbol* data, uint64_t data_count, uint64_t data_low,
                              uint64_t data_high, uint64_t image_low, uint64_t image_high) {
    Library* l = new Library{tls_marker, marker_offset, tls_size, {data, data + data_count},
                             data_low, data_high, image_low, image_high, nullptr, nullptr};
    const uint64_t bytes = data_high - data_low;
    if (bytes) {
        l->data_shadow = (uint32_t*)calloc(bytes / 4 + 1, 8);
        l->data_fine = (uint32_t*)calloc(bytes + 4, 8);
    }
    Holding held(pool_lock);
    libraries->push_back(l);
    return l;
}

// What the engine has to look at: where stamps lie, and which launch made them.
CUSIM_API void cs_shadow(uint64_t* places) {
    places[0] = arena_base;
    places[1] = arena_size;
    places[2] = (uint64_t)arena_shadow;
    places[3] = (uint64_t)segments;
}

// Lets the program use the pages of page-locked memory as `access` says.
CUSIM_API void cs_protect_pinned(uint64_t address, uint64_t bytes, int access) {
    pthread_mutex_lock(&pool_lock);
    install_handlers();
    pthread_mutex_unlock(&pool_lock);
    protect_pinned(address, bytes, access);
}

static Job* make_job(const LaunchRequest* r) {
    Job* job = new Job();
    job->library = r->library;
    job->checks = r->checks;
    job->device = r->device;
    job->reach = r->reach;
    job->shared.assign(r->shared, r->shared + r->shared_count);
    job->copies.assign(r->copies, r->copies + r->copy_count);
    pthread_mutex_init(&job->lock, nullptr);
    fill_grid(job, *r->entry, r->grid, r->block, r->dynamic_shared, r->arguments);
    divide_job(job);
    return job;
}

static bool queue_job(Job* job) {  // with pool_lock held
    const int needed = job->checks & kCooperative ? job->workers : 0;
    while ((int)workers->size() < std::max(wanted_workers, needed))
        if (!add_worker()) return false;
    install_handlers();
    waiting_jobs->push_back(job);
    start_waiting_jobs();
    return true;
}

static void delete_job(Job* job) {
    pthread_mutex_destroy(&job->lock);
    delete job->counts;
    delete job;
}

CUSIM_API Job* cs_submit(const LaunchRequest* r) {
    static uint32_t numbers = 0;
    Job* job = make_job(r);
    Holding held(pool_lock);
    job->number = 0x80000000u | ++numbers;
    if (queue_job(job)) return job;
    delete_job(job);
    return nullptr;
}

static timespec deadline(int milliseconds) {
    timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)(milliseconds % 1000) * 1000000l;
    until.tv_sec += milliseconds / 1000 + until.tv_nsec / 1000000000l;
    until.tv_nsec %= 1000000000l;
    return until;
}

// Waits at most `milliseconds`; 1 when the job is done, 0 when not yet.
CUSIM_API int cs_wait(Job* job, int milliseconds) {
    const timespec until = deadline(milliseconds);
    Holding held(pool_lock);
    while (!job->done)
        if (pthread_cond_timedwait(&pool_done, &pool_lock, &until) == ETIMEDOUT) break;
    return job->done;
}

static void cancel_job(Job* job) {  // with pool_lock held
    if (job->done) return;
    job->cancelled = 1;
    if (job->running && std::count(running_jobs->begin(), running_jobs->end(), job)) {
        for (Worker* w : *workers)
            if (w->job == job) pthread_kill(w->thread, kLeaveSignal);
        return;
    }
    for (std::vector<Job*>* jobs : {running_jobs, paused_jobs, waiting_jobs}) forget(*jobs, job);
    finish_job(job);
    start_waiting_jobs();
}

// Asks a job to stop. A worker that holds a lock goes on until it has let go: ask again.
CUSIM_API void cs_cancel(Job* job) {
    Holding held(pool_lock);
    cancel_job(job);
}

CUSIM_API void cs_result(Job* job, FaultRecord* fault, const char** output, uint64_t* bytes) {
    *fault = job->fault;
    tell_of_dropped_lines(job->output, job->dropped_lines);
    *output = job->output.data();
    *bytes = job->output.size();
}

CUSIM_API void cs_release(Job* job) { delete_job(job); }
