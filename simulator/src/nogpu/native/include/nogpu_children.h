// Kernels that kernels launch (CUDA C++ Programming Guide, "Dynamic Parallelism"), included where
// code is compiled as relocatable. A child runs when its parent's grid is done, one after another
// in the order of their launches: nothing promises that it begins earlier.
#pragma once

typedef struct CUstream_st* cudaStream_t;
typedef int cudaError_t;
enum { cudaSuccess = 0, cudaStreamDefault = 0, cudaStreamNonBlocking = 1 };
#define cudaStreamFireAndForget ((cudaStream_t)0x201)
#define cudaStreamTailLaunch ((cudaStream_t)0x202)
static inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
    *stream = (cudaStream_t)(unsigned long)(flags + 1);
    return cudaSuccess;
}
static inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
static inline cudaError_t cudaGetLastError() { return cudaSuccess; }
static inline cudaError_t cudaPeekAtLastError() { return cudaSuccess; }

namespace nogpu {
// kernel<<<grid, block, shared, stream>>>(arguments) is rewritten as a call of such an object.
template <class F, F K, bool Flush> struct Child;
template <class... P, void (*K)(P...), bool Flush> struct Child<void (*)(P...), K, Flush> {
    dim3 grid, block;
    unsigned int shared;
    Child(dim3 grid_, dim3 block_, unsigned long shared_ = 0, cudaStream_t = nullptr)
        : grid(grid_), block(block_), shared((unsigned int)shared_) {}
    void operator()(P... arguments) const {
        typedef CusimCaller<void (*)(P...)> Caller;
        const Entry entry = {&Caller::template nogpu_run<K, Flush>, Caller::nogpu_sizes(),
                             Caller::nogpu_alignments(), Caller::nogpu_count, 0};
        const void* const places[] = {(const void*)&arguments..., nullptr};
        const unsigned int sizes[] = {grid.x, grid.y, grid.z, block.x, block.y, block.z, shared};
        nogpu_child(&entry, sizes, places);
    }
};
}  // namespace nogpu
