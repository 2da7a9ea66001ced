// Included before the learner's source: the CUDA C++ vocabulary in terms of plain C++.
// CUSIM_CHECKED is 1 in instrumented builds; CUSIM_NVCC is 1 where nvcc's laxer rules hold;
// CUSIM_LIBC is 1 where the source includes headers of the C or C++ library (nvcc only);
// CUSIM_ARCH is what __CUDA_ARCH__ says.
#pragma once
#include "nogpu_abi.h"

#if CUSIM_LIBC
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <math.h>
#include <new>
#endif

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
// Aligned as a GPU places them in practice, so that a float4 at the start of an array works.
#if CUSIM_CHECKED && defined(__clang__)
// "used" keeps the reads of an array that no kernel writes: they are faults, and would be removed
// otherwise, since the array is 0. An `extern` array needs it not, and ignores it.
#define __shared__ __attribute__((aligned(16), used)) thread_local
#else
#define __shared__ __attribute__((aligned(16))) thread_local
#endif
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __CUDACC__ 1
#define __CUDA_ARCH__ CUSIM_ARCH
#define __NVCC__ 1
#if !CUSIM_NVCC
#undef __NVCC__
#define __CUDACC_RTC__ 1
#endif
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 0
#define CUDA_VERSION 12000
#define __CUDA_SIMULATOR__ 1
#define CUSIM_FTZ 0  // an option may say otherwise

// The definition is not const: the runtime writes it. In instrumented builds kernels see it as
// const so that reading threadIdx.x is not instrumented as an access to memory.
#if CUSIM_CHECKED
extern "C" const __thread nogpu::Context nogpu_context __attribute__((tls_model("initial-exec")));
#else
extern "C" __thread nogpu::Context nogpu_context __attribute__((tls_model("initial-exec")));
#endif
#if CUSIM_CHECKED && defined(__clang__)
// clang instruments these reads all the same, unless they go through another address space; on
// the host all address spaces are one.
namespace nogpu {
template <int Word> static inline __attribute__((always_inline)) uint3 builtin() {
    typedef const __attribute__((address_space(1))) unsigned int Quiet;
    Quiet* words = (Quiet*)(unsigned long)&nogpu_context + Word;
    return uint3{words[0], words[1], words[2]};
}
}  // namespace nogpu
#define threadIdx (nogpu::builtin<0>())
#define blockIdx (nogpu::builtin<3>())
#define blockDim (nogpu::builtin<6>())
#define gridDim (nogpu::builtin<9>())
#else
#define threadIdx (nogpu_context.thread)
#define blockIdx (nogpu_context.block)
#define blockDim (nogpu_context.block_size)
#define gridDim (nogpu_context.grid_size)
#endif
#define warpSize 32

// What a template returns that these headers call. Deduced, it is instantiated where it is called,
// into the precompiled headers; otherwise at the end of each kernel's compilation.
#if __cplusplus >= 201402L
#define CUSIM_AUTO(...) auto
#else
#define CUSIM_AUTO(...) __VA_ARGS__
#endif
#include "nogpu_types.h"
#include "nogpu_math.h"
#include "nogpu_special.h"
#include "nogpu_intrinsics.h"
#include "nogpu_packed.h"
#include "nogpu_rounding.h"
#include "nogpu_atomics.h"
#include "nogpu_threads.h"

extern "C" {
int printf(const char* format, ...) __asm__("nogpu_printf");
#if !CUSIM_LIBC
void* memcpy(void*, const void*, decltype(sizeof 0));
void* memmove(void*, const void*, decltype(sizeof 0));
void* memset(void*, int, decltype(sizeof 0));
#endif
}

namespace nogpu {
static inline Printed printed(double value) {
    return Printed{kPrintedDouble, __builtin_bit_cast(unsigned long long, value)};
}
static inline Printed printed(const void* value) {
    return Printed{kPrintedPointer, (unsigned long long)value};
}
static inline Printed printed(const volatile void* value) {
    return Printed{kPrintedPointer, (unsigned long long)value};
}
#define CUSIM_PRINTED(T, KIND) \
    static inline Printed printed(T value) { return Printed{KIND, (unsigned long long)value}; }
CUSIM_PRINTED(int, kPrintedInt)
CUSIM_PRINTED(unsigned int, kPrintedInt)
CUSIM_PRINTED(long, kPrintedLong)
CUSIM_PRINTED(unsigned long, kPrintedLong)
CUSIM_PRINTED(long long, kPrintedLong)
CUSIM_PRINTED(unsigned long long, kPrintedLong)
}  // namespace nogpu
template <class First, class... Rest>
static inline int printf(const char* format, First first, Rest... rest) {
    const nogpu::Printed values[] = {nogpu::printed(first), nogpu::printed(rest)...};
    return nogpu_print(format, values, 1 + sizeof...(Rest));
}
#if CUSIM_LIBC
namespace std {
using ::printf;
}
#endif

#if !CUSIM_LIBC
inline void* operator new(decltype(sizeof 0), void* place) noexcept { return place; }
inline void* operator new[](decltype(sizeof 0), void* place) noexcept { return place; }
#endif

#undef assert
#ifdef NDEBUG
#define assert(...) ((void)0)
#else
#define assert(...) \
    ((__VA_ARGS__) ? (void)0 : nogpu_assert_failed(#__VA_ARGS__, __LINE__, __func__))
#endif
#define __trap() nogpu_trap()
#define __brkpt() ((void)0)
#define __assume(x) ((void)0)
#define __builtin_assume(x) ((void)0)

#if CUSIM_NVCC
#ifndef NULL
#define NULL __null
#endif
#if !CUSIM_LIBC
typedef unsigned int uint;
typedef unsigned short ushort;
typedef unsigned long ulong;
#include "nogpu_integers.h"
typedef decltype(sizeof 0) size_t;
typedef decltype((char*)0 - (char*)0) ptrdiff_t;
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define HUGE_VAL __builtin_inf()
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#define FLT_MAX __FLT_MAX__
#define FLT_MIN __FLT_MIN__
#define FLT_EPSILON __FLT_EPSILON__
#define DBL_MAX __DBL_MAX__
#define DBL_MIN __DBL_MIN__
#define DBL_EPSILON __DBL_EPSILON__
#define INT_MAX __INT_MAX__
#define INT_MIN (-__INT_MAX__ - 1)
#define UINT_MAX (__INT_MAX__ * 2U + 1U)
#endif
#else
typedef decltype(sizeof 0) size_t;
typedef decltype((char*)0 - (char*)0) ptrdiff_t;
#ifndef NULL
#define NULL __null
#endif
#endif

#if CUSIM_NVCC
// Host functions of the source may call these: nobody calls them here.
typedef int cudaError_t;
template <class T> cudaError_t cudaMalloc(T**, size_t);
template <class T> cudaError_t cudaMallocManaged(T**, size_t, unsigned int = 1);
extern "C" cudaError_t cudaFree(void*);
extern "C" cudaError_t cudaDeviceSynchronize();
#endif

namespace nogpu {

// Turns a kernel into something that can be called with an array of pointers to its arguments.
// The arguments are copied to locals once per fibre so that the compiler may keep them in
// registers; next() names the thread that runs next.
template <int... I> struct Indices {};
template <int N, int... I> struct MakeIndices : MakeIndices<N - 1, N - 1, I...> {};
template <int... I> struct MakeIndices<0, I...> { typedef Indices<I...> type; };

#if CUSIM_CHECKED
extern "C" bool nogpu_next_thread(nogpu::Context*);
#endif

// The arguments lie in the host's memory, where a type that copies itself through the runtime, as
// float4 does, would be taken for a host pointer in use: its bytes are copied instead.
template <class P, bool Plain> struct Argument {
    static const P& load(const void* from) { return *(const P*)from; }
};
template <class P> struct Argument<P, false> {
    alignas(P) unsigned char bytes[sizeof(P)];
    __attribute__((no_sanitize("thread", "undefined"))) explicit Argument(const void* from) {
        for (decltype(sizeof 0) i = 0; i < sizeof(P); i++)
            bytes[i] = ((const volatile unsigned char*)from)[i];
    }
    static Argument load(const void* from) { return Argument(from); }
    operator const P&() const { return *(const P*)bytes; }
};

// With -ftz=true denormal numbers are 0, as operands and as results. The processor has one switch
// for float and double, a GPU flushes floats only.
static inline unsigned int flush_denormals(bool on) {
#if defined(__x86_64__)
    unsigned int before, after;
    __asm__ volatile("stmxcsr %0" : "=m"(before));
    after = on ? before | 0x8040u : before & ~0x8040u;
    __asm__ volatile("ldmxcsr %0" : : "m"(after));
    return before & 0x8040u;
#elif defined(__aarch64__)
    unsigned long before, after;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    after = on ? before | (1ul << 24) : before & ~(1ul << 24);
    __asm__ volatile("msr fpcr, %0" : : "r"(after));
    return (before >> 24) & 1u;
#else
    return 0u * on;
#endif
}

template <class F> struct CusimCaller;
template <class... P> struct CusimCaller<void (*)(P...)> {
    static const unsigned int* nogpu_sizes() {
        static const unsigned int values[] = {(unsigned int)sizeof(P)..., 0};
        return values;
    }
    static const unsigned int* nogpu_alignments() {
        static const unsigned int values[] = {(unsigned int)alignof(P)..., 0};
        return values;
    }
    template <void (*K)(P...), int... I>
    __attribute__((no_sanitize("thread", "undefined"))) static void
    with(Context* c, const void* const* args, Indices<I...>) {
        (void)args;
        loop<K>(c, Argument<P, __is_trivially_copyable(P)>::load(args[I])...);
    }
    template <void (*K)(P...)>
    __attribute__((no_sanitize("thread", "undefined"))) static void
    loop(Context* c, P... p) {
#if CUSIM_CHECKED
        do {
            K(p...);
        } while (nogpu_next_thread(c));
#else
        // The counter lives in the context, because other fibres go on from it while a thread
        // waits. Here it is compared with a local copy and not read: that keeps the loop from
        // waiting for its own store.
        const unsigned int total = c->total_threads, dx = c->block_size.x, dy = c->block_size.y;
        const bool flat = dx == total;
        unsigned int n = c->next_thread;
        for (;;) {
            K(p...);
            if (__builtin_expect(c->next_thread != n, 0)) {
                n = c->next_thread;
                __asm__ volatile("" : "+r"(n));
            }
            if (++n >= total) break;
            c->next_thread = n;
            if (flat) {
                c->thread.x = n;
            } else {
                const unsigned int row = n / dx;
                c->thread.x = n - row * dx;
                c->thread.z = row / dy;
                c->thread.y = row - c->thread.z * dy;
            }
        }
        c->next_thread = total;
#endif
    }
    template <void (*K)(P...), bool Flush>
    __attribute__((no_sanitize("thread", "undefined"))) static void
    nogpu_run(Context* c, const void* const* args) {
        // Set either way: a kernel that a fault ended has not put it back.
        const unsigned int before = flush_denormals(Flush);
        with<K>(c, args, typename MakeIndices<sizeof...(P)>::type());
        flush_denormals(before != 0);
    }
    static const unsigned int nogpu_count = sizeof...(P);
};

}  // namespace nogpu

// The last argument list is the kernel's name; template arguments may hold commas.
#define CUSIM_ENTRY(bound, ...)                                                             \
    {&nogpu::CusimCaller<decltype(&__VA_ARGS__)>::template nogpu_run<&__VA_ARGS__, CUSIM_FTZ>, \
     nogpu::CusimCaller<decltype(&__VA_ARGS__)>::nogpu_sizes(),                             \
     nogpu::CusimCaller<decltype(&__VA_ARGS__)>::nogpu_alignments(),                        \
     nogpu::CusimCaller<decltype(&__VA_ARGS__)>::nogpu_count, (unsigned int)(bound)}
