// What a compiled kernel and the runtime must agree on: the per-worker context, the entry table
// and the runtime's functions. Both sides include this file; nothing else crosses the border.
#pragma once

struct uint3 {
    unsigned int x, y, z;
};

namespace nogpu {

// Lives in thread-local storage of each worker. A fibre switch rewrites `thread`; a new block
// rewrites `block`. Kernels see it through the macros threadIdx, blockIdx, blockDim, gridDim.
struct Context {
    uint3 thread, block, block_size, grid_size;
    unsigned int next_thread;    // linear index of the thread that started last
    unsigned int total_threads;  // threads in a block
    int spin_budget;             // atomics left before this thread lets others run
};

// One row per kernel (or kernel instance) that the Python side asked for.
struct Entry {
    void (*run)(Context*, const void* const*);  // runs threads from next_thread on, to the last
    const unsigned int* sizes;                  // bytes of each parameter
    const unsigned int* alignments;
    unsigned int parameters;
    unsigned int max_threads;  // from __launch_bounds__, 0 when it has none
};

enum WarpOp { kSyncWarp, kShuffle, kBallot, kAny, kAll, kMatchAny, kMatchAll, kReduce, kMatrix };
// What kReduce does, as its source.
enum Reduction { kAdd, kMin, kMax, kUnsignedMin, kUnsignedMax, kAnd, kOr, kXor };
enum BarrierOp { kBarrier, kBarrierCount, kBarrierAnd, kBarrierOr };

// An argument of printf, widened as C does: an int, a long long, a double or a pointer.
enum PrintedKind { kPrintedInt, kPrintedLong, kPrintedDouble, kPrintedPointer };
struct Printed {
    int kind;
    unsigned long long bits;
};

typedef float Bytes16 __attribute__((vector_size(16)));

// What a warp does with matrices (mma.h): each lane names its part of each.
enum MatrixUse : unsigned char { kMatrixA, kMatrixB, kAccumulator };
enum MatrixElement : unsigned char {
    kHalf, kBfloat16, kTf32, kFloat, kDouble, kInt8, kUint8, kInt32
};
enum MatrixOp { kMatrixLoad, kMatrixStore, kMatrixMultiply };
struct Fragment {
    MatrixUse use;
    MatrixElement element;
    unsigned char m, n, k;
    unsigned char count;  // elements of each lane
};
struct MatrixCall {
    int op;
    Fragment shape[4];  // d, a, b, c; or the one that is loaded or stored
    void* part[4];      // this lane's elements of each
    void* memory;       // that is loaded or stored, with
    unsigned int stride;  // elements from one line to the next
    bool by_column;
    bool saturates;
};

}  // namespace nogpu

extern "C" {
// site: a number of its own for each barrier of a source text, also for two on one line.
int nogpu_barrier(int op, int value, int line, int site);
bool nogpu_is_cooperative();
void nogpu_grid_barrier(int line);
unsigned long long nogpu_warp(int op, unsigned int mask, unsigned long long value, int source,
                              int line);
unsigned int nogpu_active_mask(int line);
void nogpu_fence(int scope);
void nogpu_yield();
void nogpu_sleep(unsigned int nanoseconds);
// increments: an integer 1 is added, for which a GPU has an instruction of its own.
void nogpu_atomic_hook(const volatile void* address, unsigned int size, bool increments);
int nogpu_printf(const char* format, ...);  // without arguments
int nogpu_print(const char* format, const nogpu::Printed* values, int count);
void nogpu_assert_failed(const char* expression, int line, const char* function)
    __attribute__((noreturn));
void nogpu_trap() __attribute__((noreturn));
long long nogpu_nanoseconds();
// Launches a kernel from a kernel; sizes: the grid, the block, bytes of dynamic shared memory.
void nogpu_child(const nogpu::Entry* entry, const unsigned int* sizes, const void* const* arguments);
// n * 2^power steps of curand_kernel.h's generators, from and to the kernel's own stack.
void nogpu_skip_xorwow(unsigned* v, unsigned long long n, int power);
void nogpu_skip_mrg32k3a(unsigned* s, unsigned long long n, int power);
unsigned short nogpu_read2(const void*);
unsigned int nogpu_read4(const void*);
unsigned long long nogpu_read8(const void*);
nogpu::Bytes16 nogpu_read16(const void*);
void nogpu_write2(void*, unsigned short);
void nogpu_write4(void*, unsigned int);
void nogpu_write8(void*, unsigned long long);
void nogpu_write16(void*, nogpu::Bytes16);
}
