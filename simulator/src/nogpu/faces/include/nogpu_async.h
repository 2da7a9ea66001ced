// Asynchronous copies: cuda::memcpy_async, cuda::pipeline of a thread, cuda::barrier of a block and
// the functions of cuda_pipeline.h. A copy is done when the call returns, which is as early as it
// may be; what waits for it has nothing left to wait for but the block's other threads.
#pragma once
#pragma GCC system_header
#include "cooperative_groups.h"
#include "nogpu_std.h"

#define CUSIM_INLINE __attribute__((always_inline)) static inline

namespace nogpu {
// One access each for a size that a GPU copies at once, else byte by byte.
template <int N> CUSIM_INLINE void copy_whole(void* target, const void* source) {
#if CUSIM_CHECKED
    Raw<N>::write(target, Raw<N>::read(source));
#else
    __builtin_memcpy(target, source, N);
#endif
}
CUSIM_INLINE void copy_async(void* target, const void* source, unsigned long bytes) {
    char* to = (char*)target;
    const char* from = (const char*)source;
    const unsigned long both = (unsigned long)to | (unsigned long)from | bytes;
    if (both % 16 == 0) {
        for (; bytes; bytes -= 16, to += 16, from += 16) copy_whole<16>(to, from);
    } else if (both % 8 == 0) {
        for (; bytes; bytes -= 8, to += 8, from += 8) copy_whole<8>(to, from);
    } else if (both % 4 == 0) {
        for (; bytes; bytes -= 4, to += 4, from += 4) copy_whole<4>(to, from);
    } else {
        for (; bytes; bytes--) *to++ = *from++;
    }
}
}  // namespace nogpu

namespace cuda {

enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };

template <std::size_t Alignment> struct aligned_size_t {
    static constexpr std::size_t align = Alignment;
    std::size_t value;
    constexpr explicit aligned_size_t(std::size_t size) : value(size) {}
    constexpr operator std::size_t() const { return value; }
};

// ---- barriers of a block

template <thread_scope Scope> class barrier {
    static_assert(Scope == thread_scope_block, "nogpu lacks cuda::barrier of other scopes");
    std::ptrdiff_t expected;

   public:
    struct arrival_token {};
    barrier() = default;
    friend void init(barrier* b, std::ptrdiff_t count) { b->expected = count; }

    // All threads of the block take part, so that the last to wait has seen all arrive.
    __attribute__((always_inline)) arrival_token arrive(std::ptrdiff_t = 1) { return {}; }
    __attribute__((always_inline)) void wait(arrival_token, CUSIM_LINE) const {
        if (expected != (std::ptrdiff_t)(blockDim.x * blockDim.y * blockDim.z))
            nogpu_assert_failed("nogpu lacks cuda::barrier of a part of the block", nogpu_line, "");
        nogpu_barrier(nogpu::kBarrier, 0, nogpu_line, -nogpu_line);
    }
    __attribute__((always_inline)) void arrive_and_wait(CUSIM_LINE) { wait(arrive(), nogpu_line); }
};

// ---- pipelines of a thread

template <thread_scope Scope> class pipeline {
    static_assert(Scope == thread_scope_thread, "nogpu lacks cuda::pipeline of a block");

   public:
    void producer_acquire() {}
    void producer_commit() {}
    void consumer_wait() {}
    void consumer_release() {}
    bool quit() { return true; }
};
static inline pipeline<thread_scope_thread> make_pipeline() { return {}; }
template <unsigned> static inline void pipeline_consumer_wait_prior(pipeline<thread_scope_thread>&) {}

// ---- copies

template <class T, class Size, class Sync>
CUSIM_INLINE void memcpy_async(T* target, const T* source, Size bytes, Sync&) {
    nogpu::copy_async(target, source, bytes);
}
template <class Size, class Sync>
CUSIM_INLINE void memcpy_async(void* target, const void* source, Size bytes, Sync&) {
    nogpu::copy_async(target, source, bytes);
}
// The threads of a group take turns, 16 bytes each where that is possible.
template <class Group, class T, class Size, class Sync>
CUSIM_INLINE void memcpy_async(const Group& group, T* target, const T* source, Size bytes, Sync&) {
    const std::size_t all = bytes;
    const std::size_t piece = ((std::size_t)target | (std::size_t)source | all) % 16 ? sizeof(T) : 16;
    for (std::size_t at = group.thread_rank() * piece; at < all; at += group.size() * piece)
        nogpu::copy_async((char*)target + at, (const char*)source + at,
                          all - at < piece ? all - at : piece);
}

}  // namespace cuda

// ---- cuda_pipeline.h

CUSIM_INLINE void __pipeline_memcpy_async(void* target, const void* source, unsigned long bytes,
                                          unsigned long zeros = 0) {
    nogpu::copy_async(target, source, bytes - zeros);
    for (unsigned long i = bytes - zeros; i < bytes; i++) ((char*)target)[i] = 0;
}
static inline void __pipeline_commit() {}
static inline void __pipeline_wait_prior(unsigned long) {}

#undef CUSIM_INLINE
