// Streams: work in order, on the workers that it needs.
//
// All that is queued is one graph of nodes. A node waits for the one before it on its stream, for
// the events that its stream was told to wait for, and for the legacy default stream where the
// rules say so; it goes to its engine when the last of them is done: kernels to the pool, copies
// to a thread per direction, Python to the thread that asks for it. Everything here is guarded by
// pool_lock, which nobody holds while waiting for the interpreter.
//
// A node that fails leaves its number behind, on its stream and on all that waits for it. Until
// someone has asked for that fault, what is queued there is dropped.
#pragma once
#include <unordered_map>

#include "launch.h"

enum NodeKind : int32_t { kKernel, kCopyNode, kFillNode, kPython, kMark, kJoin };

struct Stream {
    uint64_t handle;
    int device;
    int standing;  // 1: the legacy default stream, 2: no stream, but all of the device
    bool blocking, alive;
    struct Node* last;  // not yet done
    uint64_t fault;     // number of the node that failed
};

struct Event {
    uint64_t node;  // that records it
    int64_t time;
    uint64_t fault;
    int users;
};

struct Node {
    uint64_t id;
    NodeKind kind;
    Stream* stream;
    int waits;  // nodes that must be done before, and one while it is being built
    std::vector<Node*> next;
    uint64_t fault;
    bool dropped, hold, claimed, awaited;
    int64_t start;
    uint64_t bytes;
    Job* job;
    Event* event;
    CopyEngine engine;
    Rows rows;
    uint32_t value, width;
    void* staging;
};

struct Failure {
    FailureKind kind;
    FaultRecord record;
};

static std::vector<Stream*>* streams;
static Stream* legacy_streams[32];  // of each device
static std::unordered_map<uint64_t, Node*>* live_nodes;
static std::map<uint64_t, Failure>* failures;
static std::deque<Node*>* ready_nodes;
static std::deque<Node*>* copy_queue[kCopyEngines];
static pthread_cond_t copy_work[kCopyEngines];
static bool copy_started[kCopyEngines];
static std::deque<Node*>* python_queue;
static pthread_cond_t python_work;
static bool python_stopped;
static std::vector<uint64_t>* released_ids;  // done: Python may drop what it holds for them
struct Printed {
    std::string text;
    uint64_t dropped_lines;  // that were before it
};
static std::deque<Printed>* printed;
static uint64_t printed_bytes;
static std::vector<Span>* spans;
static bool recording_spans;
// What Python reads without asking: nodes that are not done, and faults that nobody has asked for;
// and numbers that it should ask for.
CUSIM_API uint64_t cs_outstanding, cs_to_release;
uint64_t cs_outstanding, cs_to_release;

static void prepare_streams() {
    streams = new std::vector<Stream*>;
    live_nodes = new std::unordered_map<uint64_t, Node*>;
    failures = new std::map<uint64_t, Failure>;
    ready_nodes = new std::deque<Node*>;
    python_queue = new std::deque<Node*>;
    released_ids = new std::vector<uint64_t>;
    printed = new std::deque<Printed>;
    spans = new std::vector<Span>;
    pthread_condattr_t steady;
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    for (int i = 0; i < kCopyEngines; i++) {
        copy_queue[i] = new std::deque<Node*>;
        pthread_cond_init(&copy_work[i], nullptr);
        copy_started[i] = false;
    }
    pthread_cond_init(&python_work, &steady);
    pthread_cond_init(&pool_done, &steady);
    pthread_condattr_destroy(&steady);
    cs_outstanding = cs_to_release = 0;
    python_stopped = false;
}

// In a child of fork: nothing is queued, and nobody has failed. What the parent had there is
// leaked: other threads may have been at it.
static void forget_streams() {
    std::vector<Stream*> old = *streams;
    prepare_streams();
    for (Stream* s : old) {
        s->last = nullptr;
        s->fault = 0;
        streams->push_back(s);
    }
}

static uint64_t open_fault(uint64_t id) {  // 0 where it has been reported
    return id && failures->count(id) ? id : 0;
}

static void fail(Node* n, FailureKind kind, const FaultRecord* record) {
    (*failures)[n->id] = Failure{kind, record ? *record : FaultRecord()};
    __atomic_fetch_add(&cs_outstanding, 1, __ATOMIC_RELEASE);
    n->fault = n->id;
}

static void drop_event(Event* e) {
    if (--e->users == 0) delete e;
}

// A stream that the program has ended goes when its work is done and its fault is reported.
static void forget_if_over(Stream* s) {
    if (s->alive || s->last || open_fault(s->fault)) return;
    forget(*streams, s);
    delete s;
}

static Node* live_node(uint64_t id) {  // null where it is done
    auto it = live_nodes->find(id);
    return it == live_nodes->end() ? nullptr : it->second;
}

// ---- done, ready, run ------------------------------------------------------------------------

// With pool_lock held, as everything up to the copy engines.
static void complete(Node* n) {
    const int64_t now = nogpu_nanoseconds();
    Stream* s = n->stream;
    if (!n->start) n->start = now;
    if (n->fault) s->fault = n->fault;
    if (Event* e = n->event) {
        if (e->node == n->id) {
            e->time = now;
            e->fault = n->fault;
        }
        drop_event(e);
    }
    if (recording_spans && !n->dropped && n->kind < kMark)
        spans->push_back(Span{s->handle, n->id, n->start, now, n->bytes, n->kind});
    for (Node* next : n->next) {
        if (n->fault) next->fault = n->fault;
        if (--next->waits == 0) ready_nodes->push_back(next);
    }
    if (s->last == n) {
        s->last = nullptr;
        forget_if_over(s);
    }
    if (n->hold && n->fault != n->id) {
        if (released_ids->empty()) pthread_cond_signal(&python_work);
        released_ids->push_back(n->id);
        cs_to_release = released_ids->size();
    }
    if (n->awaited) pthread_cond_broadcast(&pool_done);
    live_nodes->erase(n->id);
    free(n->staging);
    delete n;
    __atomic_fetch_sub(&cs_outstanding, 1, __ATOMIC_RELEASE);
}

static void* copy_main(void* argument);

static void run_node(Node* n) {
    n->fault = open_fault(n->fault);
    if (!n->fault) n->fault = open_fault(n->stream->fault);
    if (n->fault) n->dropped = true;
    if (n->dropped || n->kind >= kMark) {
        if (n->job) delete_job(n->job);
        complete(n);
        return;
    }
    switch (n->kind) {
        case kKernel:
            n->claimed = true;
            n->job->node = n;
            if (!queue_job(n->job)) {
                delete_job(n->job);
                fail(n, kNoWorker, nullptr);
                complete(n);
            }
            break;
        case kPython:
            python_queue->push_back(n);
            pthread_cond_signal(&python_work);
            break;
        default:
            if (!copy_started[n->engine]) {
                pthread_t thread;
                copy_started[n->engine] =
                    start_thread(&thread, copy_main, (void*)(uintptr_t)n->engine);
            }
            copy_queue[n->engine]->push_back(n);
            pthread_cond_signal(&copy_work[n->engine]);
    }
}

static void run_ready() {
    static bool running;  // complete() within run_node() comes back here
    if (running) return;
    running = true;
    while (!ready_nodes->empty()) {
        Node* n = ready_nodes->front();
        ready_nodes->pop_front();
        run_node(n);
    }
    running = false;
}

static void job_finished(Job* job) {
    Node* n = job->node;
    n->start = job->started;
    if (!job->output.empty()) {
        printed_bytes += job->output.size();
        printed->push_back({std::move(job->output), job->dropped_lines});
        while (printed->size() > 1 && printed_bytes > 8 * kPrintfBuffer) {
            const Printed& oldest = printed->front();
            (*printed)[1].dropped_lines +=
                oldest.dropped_lines + count_lines(oldest.text, oldest.text.size());
            printed_bytes -= oldest.text.size();
            printed->pop_front();
        }
    }
    if (job->fault.kind) fail(n, kKernelFailed, &job->fault);
    if (job->cancelled.load()) n->dropped = true;
    delete_job(job);
    complete(n);
    run_ready();
}

// ---- copies ----------------------------------------------------------------------------------

static bool is_live_memory(uint64_t address, uint64_t bytes) {
    if (address - arena_base >= arena_size) return true;  // the host's, or a module's variable
    uint64_t base, size;
    return cs_lookup(address, &base, &size) == 1 && address + bytes <= base + size;
}

static uint64_t extent(uint64_t width, uint64_t height, uint64_t pitch) {
    return height ? (height - 1) * pitch + width : 0;
}

// In pieces, so that a copy can be stopped halfway.
static void copy_row(Node* n, char* destination, const char* source, uint64_t bytes) {
    const uint64_t piece = 4 << 20;
    if (bytes <= piece) {
        memmove(destination, source, bytes);
        return;
    }
    const bool backwards = destination > source && destination < source + bytes;
    for (uint64_t done = 0; done < bytes; done += piece) {
        if (__atomic_load_n(&n->dropped, __ATOMIC_RELAXED)) return;
        const uint64_t size = bytes - done < piece ? bytes - done : piece;
        const uint64_t at = backwards ? bytes - done - size : done;
        memmove(destination + at, source + at, size);
    }
}

static void fill_row(char* p, uint64_t count, uint32_t value, uint32_t width) {
    if (width == 1) memset(p, (int)value, count);
    else if (width == 2) std::fill_n((uint16_t*)p, count, (uint16_t)value);
    else std::fill_n((uint32_t*)p, count, value);
}

static bool run_copy(Node* n) {
    const Rows& r = n->rows;
    if (n->kind == kFillNode) {
        if (!is_live_memory(r.destination, r.width * n->width)) return false;
        fill_row((char*)r.destination, r.width, n->value, n->width);
        cs_mark_written(r.destination, r.width * n->width);
        return true;
    }
    if (n->engine != kToDevice &&
        !is_live_memory(r.source, extent(r.width, r.height, r.source_pitch)))
        return false;
    if (n->engine != kToHost &&
        !is_live_memory(r.destination, extent(r.width, r.height, r.destination_pitch)))
        return false;
    const char* source = (const char*)(n->staging ? n->staging : (void*)r.source);
    if (r.height == 1) {
        copy_row(n, (char*)r.destination, source, r.width);
    } else {
        const uint64_t pitch = n->staging ? r.width : r.source_pitch;
        for (uint64_t y = 0; y < r.height && !n->dropped; y++)
            memmove((char*)r.destination + y * r.destination_pitch, source + y * pitch, r.width);
    }
    if (n->engine == kToDevice && r.height == 1) cs_mark_written(r.destination, r.width);
    return true;
}

static void* copy_main(void* argument) {
    const int engine = (int)(uintptr_t)argument;
    sigset_t set;
    sigfillset(&set);
    for (int number : kSignals) sigdelset(&set, number);
    pthread_sigmask(SIG_SETMASK, &set, nullptr);
    pthread_mutex_lock(&pool_lock);
    for (;;) {
        while (copy_queue[engine]->empty())
            pthread_cond_wait(&copy_work[engine], &pool_lock);
        Node* n = copy_queue[engine]->front();
        copy_queue[engine]->pop_front();
        n->claimed = true;
        n->start = nogpu_nanoseconds();
        pthread_mutex_unlock(&pool_lock);
        const bool good = run_copy(n);
        pthread_mutex_lock(&pool_lock);
        if (!good && !n->dropped) fail(n, kCopyFailed, nullptr);
        complete(n);
        run_ready();
    }
    return nullptr;
}

// ---- what Python calls ------------------------------------------------------------------------

static Node* new_node(const Place* p, NodeKind kind) {
    Node* n = new Node();
    n->id = p->id;
    n->kind = kind;
    n->stream = p->stream;
    n->bytes = p->bytes;
    n->hold = p->hold;
    n->waits = 1;
    return n;
}

static void wait_for(Node* n, Node* before) {
    if (!before || before == n) return;
    before->next.push_back(n);
    n->waits++;
}

// Whether a wait for a stream is one for another, too. The legacy default stream stands for all
// blocking ones of its device, null for all of all devices.
static bool covers(const Stream* s, const Stream* other) {
    if (!s || s == other) return true;
    return s->standing > !other->blocking && s->device == other->device;
}

static void enqueue_node(Node* n, const Place* p) {  // with pool_lock held
    Stream* s = n->stream;
    for (int i = 0; i < p->count; i++) wait_for(n, live_node(p->after[i]));
    if (p->count < 0) {
        wait_for(n, s->last);
        const Stream* legacy = legacy_streams[s->device];
        if (s->standing) {
            for (Stream* other : *streams)
                if (covers(s, other) && other != s) {
                    wait_for(n, other->last);
                    if (open_fault(other->fault)) n->fault = other->fault;
                }
        } else if (s->blocking && legacy) {
            wait_for(n, legacy->last);
            if (open_fault(legacy->fault)) n->fault = legacy->fault;
        }
        s->last = n;
    }
    (*live_nodes)[n->id] = n;
    __atomic_fetch_add(&cs_outstanding, 1, __ATOMIC_RELEASE);
    if (--n->waits == 0) {
        ready_nodes->push_back(n);
        run_ready();
    }
}

CUSIM_API Stream* cs_stream(uint64_t handle, int blocking, int standing, int device) {
    Stream* s = new Stream{handle, device, standing, blocking != 0, true, nullptr, 0};
    Holding held(pool_lock);
    if (standing < 2) streams->push_back(s);
    if (standing == 1) legacy_streams[device] = s;
    return s;
}

CUSIM_API void cs_stream_end(Stream* s) {
    Holding held(pool_lock);
    s->alive = false;
    forget_if_over(s);
}

CUSIM_API int cs_queue_kernel(const Place* p, const LaunchRequest* r) {
    Job* job = make_job(r);
    job->number = (uint32_t)p->id;
    Holding held(pool_lock);
    Node* n = new_node(p, kKernel);
    n->job = job;
    enqueue_node(n, p);
    return 0;
}

// With `stage` the source is read now. -1: no memory for that.
CUSIM_API int cs_queue_copy(const Place* p, int engine, const Rows* rows, int stage) {
    void* staging = nullptr;
    if (stage && rows->width && rows->height) {
        staging = malloc(rows->width * rows->height);
        if (!staging) return -1;
        for (uint64_t y = 0; y < rows->height; y++)
            memcpy((char*)staging + y * rows->width,
                   (const char*)engines(rows->source) + y * rows->source_pitch, rows->width);
    }
    Holding held(pool_lock);
    Node* n = new_node(p, kCopyNode);
    n->engine = (CopyEngine)engine;
    n->rows = *rows;
    n->rows.source = engines(rows->source);
    n->rows.destination = engines(rows->destination);
    n->staging = staging;
    enqueue_node(n, p);
    return 0;
}

CUSIM_API void cs_queue_fill(const Place* p, uint64_t address, uint32_t value, uint64_t count,
                             uint32_t width) {
    Holding held(pool_lock);
    Node* n = new_node(p, kFillNode);
    n->engine = kWithin;
    n->rows = Rows{address, 0, count, 1, 0, 0};
    n->value = value;
    n->width = width;
    enqueue_node(n, p);
}

CUSIM_API void cs_queue_python(const Place* p) {
    Holding held(pool_lock);
    enqueue_node(new_node(p, kPython), p);
}

// Nothing to do but to wait: for what comes before, or, with `more`, for those nodes as well.
CUSIM_API void cs_queue_join(const Place* p, const uint64_t* more, int count) {
    Holding held(pool_lock);
    Node* n = new_node(p, kJoin);
    for (int i = 0; i < count; i++) wait_for(n, live_node(more[i]));
    enqueue_node(n, p);
}

CUSIM_API Event* cs_event() { return new Event{0, 0, 0, 1}; }

CUSIM_API void cs_event_end(Event* e) {
    Holding held(pool_lock);
    drop_event(e);
}

CUSIM_API void cs_queue_record(const Place* p, Event* e) {
    Holding held(pool_lock);
    Node* n = new_node(p, kMark);
    n->event = e;
    e->users++;
    e->node = p->id;
    e->fault = 0;
    enqueue_node(n, p);
}

CUSIM_API void cs_queue_wait(const Place* p, Event* e) {
    Holding held(pool_lock);
    Node* n = new_node(p, kJoin);
    if (Node* before = live_node(e->node)) wait_for(n, before);
    else n->fault = open_fault(e->fault);
    enqueue_node(n, p);
}

// 1 when done; the time in nanoseconds, and the number of a fault that nobody has asked for yet.
CUSIM_API int cs_event_state(Event* e, int64_t* time, uint64_t* fault) {
    Holding held(pool_lock);
    *time = e->time;
    *fault = open_fault(e->fault);
    return !live_nodes->count(e->node);
}

// The nodes to wait for, so that a stream's work is done; all streams' for a null one. With
// `before` also those that work queued now would wait for. Returns how many there are.
CUSIM_API int cs_last_nodes(Stream* s, int before, uint64_t* ids, int most) {
    int count = 0;
    auto add = [&](Stream* of) {
        if (of->last && count < most) ids[count++] = of->last->id;
    };
    Holding held(pool_lock);
    if (s && !s->standing) {
        add(s);
        if (before && s->blocking && legacy_streams[s->device]) add(legacy_streams[s->device]);
    } else {
        for (Stream* other : *streams)
            if (covers(s, other)) add(other);
    }
    return count;
}

// Waits until none of the nodes is left, at most `milliseconds`; 1 when none is.
CUSIM_API int cs_wait_nodes(const uint64_t* ids, int count, int milliseconds) {
    const timespec until = deadline(milliseconds);
    Holding held(pool_lock);
    for (int i = 0; i < count; i++)
        while (Node* n = live_node(ids[i])) {
            n->awaited = true;
            if (!milliseconds || pthread_cond_timedwait(&pool_done, &pool_lock, &until)) return 0;
        }
    return 1;
}

// The first fault of a stream that nobody has asked for: of all streams for a null one, and of
// those that a wait for the legacy default stream covers.
CUSIM_API uint64_t cs_fault_of(Stream* s) {
    uint64_t found = 0;
    Holding held(pool_lock);
    if (!failures->empty()) {
        if (!s) {
            found = failures->begin()->first;
        } else {
            for (Stream* other : *streams)
                if (covers(s, other)) {
                    const uint64_t f = open_fault(other->fault);
                    if (f && (!found || f < found)) found = f;
                }
        }
        for (size_t i = 0; i < streams->size() && !found; i++)
            if (!(*streams)[i]->alive) found = open_fault((*streams)[i]->fault);
    }
    return found;
}

// Takes a fault: from now on its stream runs again. Returns its kind, 0 where there is none.
CUSIM_API int cs_take_fault(uint64_t id, FaultRecord* record) {
    Holding held(pool_lock);
    auto it = failures->find(id);
    if (it == failures->end()) return kNoFailure;
    const int kind = it->second.kind;
    *record = it->second.record;
    failures->erase(it);
    __atomic_fetch_sub(&cs_outstanding, 1, __ATOMIC_RELEASE);
    for (Stream* s : std::vector<Stream*>(*streams)) forget_if_over(s);
    return kind;
}

// The next text that kernels printed, whole; its length, 0 where there is none.
CUSIM_API uint64_t cs_printed(char* text, uint64_t most) {
    Holding held(pool_lock);
    uint64_t length = 0;
    if (!printed->empty()) {
        Printed& oldest = printed->front();
        printed_bytes -= oldest.text.size();
        tell_of_dropped_lines(oldest.text, oldest.dropped_lines);
        printed_bytes += length = oldest.text.size();
    }
    if (length && length <= most) {
        memcpy(text, printed->front().text.data(), length);
        printed_bytes -= length;
        printed->pop_front();
    }
    return length;
}

// Numbers of nodes that are done and for which Python holds something.
CUSIM_API int cs_released(uint64_t* ids, int most) {
    Holding held(pool_lock);
    int count = 0;
    while (count < most && !released_ids->empty()) {
        ids[count++] = released_ids->back();
        released_ids->pop_back();
    }
    cs_to_release = released_ids->size();
    return count;
}

// For the thread that runs Python's work: tells what became of the last (`done`, 0 for none;
// `failed` where it raised) and waits for the next. 0: nothing to run, but numbers to release;
// UINT64_MAX: stop.
CUSIM_API uint64_t cs_next_python(uint64_t done, int failed) {
    Holding held(pool_lock);
    if (Node* n = live_node(done)) {
        if (failed && !n->dropped) fail(n, kPythonFailed, nullptr);
        complete(n);
        run_ready();
    }
    timespec until = deadline(10);
    bool soon = !released_ids->empty();
    for (;;) {
        if (python_stopped) return UINT64_MAX;
        if (!python_queue->empty()) {
            Node* n = python_queue->front();
            python_queue->pop_front();
            n->start = nogpu_nanoseconds();
            n->claimed = true;
            return n->id;
        }
        if (released_ids->empty()) {
            soon = false;
            pthread_cond_wait(&python_work, &pool_lock);
        } else {
            // Not one by one: each time the interpreter would have to be asked for.
            if (!soon) until = deadline(10);
            soon = true;
            if (pthread_cond_timedwait(&python_work, &pool_lock, &until)) return 0;
        }
    }
}

CUSIM_API void cs_stop_python(int stop) {
    Holding held(pool_lock);
    python_stopped = stop;
    pthread_cond_broadcast(&python_work);
}

// Drops all that is queued and stops what runs. Call it again until it returns 0: a worker that
// holds a lock goes on until it has let go. Python's own work cannot be stopped; it does not count.
CUSIM_API int cs_drop_everything() {
    Holding held(pool_lock);
    std::vector<Job*> jobs;
    for (auto& item : *live_nodes) {
        Node* n = item.second;
        __atomic_store_n(&n->dropped, true, __ATOMIC_RELAXED);
        if (n->kind == kKernel && n->claimed) jobs.push_back(n->job);
    }
    auto empty = [](std::deque<Node*>* queue) {
        while (!queue->empty()) {
            Node* n = queue->front();
            queue->pop_front();
            complete(n);
        }
    };
    empty(python_queue);
    for (int i = 0; i < kCopyEngines; i++) empty(copy_queue[i]);
    // A job that ends here may let others begin, which are cancelled as well: none is deleted
    // before its turn, for each ends in its own cancel_job() or on a worker, which needs the lock.
    for (Job* job : jobs) cancel_job(job);
    run_ready();
    int left = 0;
    for (auto& item : *live_nodes)
        if (item.second->kind < kMark && item.second->kind != kPython) left++;
    return left;
}

CUSIM_API void cs_record_spans(int on) {
    Holding held(pool_lock);
    recording_spans = on;
}

CUSIM_API int cs_spans(Span* rows, int most) {
    Holding held(pool_lock);
    int count = (int)spans->size() < most ? (int)spans->size() : most;
    memcpy(rows, spans->data(), (size_t)count * sizeof(Span));
    spans->erase(spans->begin(), spans->begin() + count);
    return count;
}
