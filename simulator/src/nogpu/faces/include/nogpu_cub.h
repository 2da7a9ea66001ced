// CUB's collective operations of a warp and a block, by their documented interface: reductions,
// scans, loads and stores. The sums are made in CUB's order: a tree over the lanes of a warp, then
// one warp after another.
#pragma once
#pragma GCC system_header
#include "cooperative_groups.h"
#include "nogpu_std.h"

namespace cub {

struct Sum {
    template <class A, class B> auto operator()(const A& a, const B& b) const { return a + b; }
};
struct Max {
    template <class T> T operator()(const T& a, const T& b) const { return a < b ? b : a; }
};
struct Min {
    template <class T> T operator()(const T& a, const T& b) const { return b < a ? b : a; }
};
struct NullType {};
template <class Key, class Value> struct KeyValuePair {
    Key key;
    Value value;
};
struct ArgMax {
    template <class P> P operator()(const P& a, const P& b) const {
        return b.value > a.value || (a.value == b.value && b.key < a.key) ? b : a;
    }
};
struct ArgMin {
    template <class P> P operator()(const P& a, const P& b) const {
        return b.value < a.value || (a.value == b.value && b.key < a.key) ? b : a;
    }
};

enum BlockReduceAlgorithm {
    BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
    BLOCK_REDUCE_RAKING,
    BLOCK_REDUCE_WARP_REDUCTIONS
};
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockLoadAlgorithm {
    BLOCK_LOAD_DIRECT,
    BLOCK_LOAD_STRIPED,
    BLOCK_LOAD_VECTORIZE,
    BLOCK_LOAD_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED
};
enum BlockStoreAlgorithm {
    BLOCK_STORE_DIRECT,
    BLOCK_STORE_STRIPED,
    BLOCK_STORE_VECTORIZE,
    BLOCK_STORE_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED
};

}  // namespace cub

#define CUSIM_INLINE __attribute__((always_inline)) inline
// An argument that only the compiler gives: a number could be taken for one of the caller's.
#define CUSIM_CALL nogpu::CallLine call = nogpu::CallLine::here()

namespace nogpu {
struct CallLine {
    int line;
    static constexpr CallLine here(int line = __builtin_LINE()) { return CallLine{line}; }
};
static CUSIM_INLINE unsigned thread_of_block() {
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}
static CUSIM_INLINE void cub_barrier(CallLine call) {
    nogpu_barrier(kBarrier, 0, call.line, -call.line);
}
static CUSIM_INLINE void check_block_size(unsigned threads, CallLine call) {
    if (blockDim.x * blockDim.y * blockDim.z != threads)
        nogpu_assert_failed("the block has as many threads as cub was told", call.line, "");
}

// One after another, as a thread does it with items of its own.
template <int N, class T, class Op> static CUSIM_INLINE T reduce_items(const T (&items)[N], Op op) {
    T sum = items[0];
    for (int i = 1; i < N; i++) sum = op(sum, items[i]);
    return sum;
}
// The first `valid` of `Size` lanes; lane 0 has the result.
template <int Size, class T, class Op>
static CUSIM_INLINE T reduce_lanes(unsigned mask, T value, int valid, Op op, CallLine call) {
    const int mine = (int)lane() & (Size - 1), base = (int)lane() - mine;
    for (int step = 1; step < Size; step *= 2) {
        const bool joins = mine + step < valid;
        const T other = shuffle_any(mask, value, base + (joins ? mine + step : mine), call.line);
        if (joins) value = op(value, other);
    }
    return value;
}
template <int Size, class T, class Op>
static CUSIM_INLINE T scan_lanes(unsigned mask, T value, Op op, CallLine call) {
    const int mine = (int)lane() & (Size - 1), base = (int)lane() - mine;
    for (int step = 1; step < Size; step *= 2) {
        const bool joins = mine >= step;
        const T other = shuffle_any(mask, value, base + (joins ? mine - step : mine), call.line);
        if (joins) value = op(other, value);
    }
    return value;
}
// Each lane's scan of what the lanes before it have; lane 0's is its own value.
template <int Size, class T>
static CUSIM_INLINE T lane_before(unsigned mask, const T& inclusive, CallLine call) {
    const int mine = (int)lane() & (Size - 1);
    return shuffle_any(mask, inclusive, (int)lane() - (mine ? 1 : 0), call.line);
}

// Where a scan of a block begins: nowhere, at a value, or at what a function says that is given
// the sum of the block.
struct NoStart {
    static constexpr bool exists = false;
};
template <class T> struct Start {
    static constexpr bool exists = true;
    T value;
    T operator()(const T&) const { return value; }
};
template <class F> struct CalledStart {
    static constexpr bool exists = true;
    F& function;
    template <class T> T operator()(const T& sum) const { return function(sum); }
};
}  // namespace nogpu

namespace cub {

template <class T, int LOGICAL_WARP_THREADS = 32, int = 0> class WarpReduce {
    static constexpr int kSize = LOGICAL_WARP_THREADS;
    static_assert(kSize >= 1 && kSize <= 32 && (kSize & (kSize - 1)) == 0,
                  "nogpu lacks warps of cub that are no power of two");
    static CUSIM_INLINE unsigned mask() {
        return (unsigned)((1ull << kSize) - 1) << (nogpu::lane() & ~(unsigned)(kSize - 1));
    }

   public:
    struct TempStorage {};
    CUSIM_INLINE explicit WarpReduce(TempStorage&) {}

    template <class Op> CUSIM_INLINE T Reduce(T value, Op op, CUSIM_CALL) {
        return nogpu::reduce_lanes<kSize>(mask(), value, kSize, op, call);
    }
    template <class Op> CUSIM_INLINE T Reduce(T value, Op op, int valid, CUSIM_CALL) {
        return nogpu::reduce_lanes<kSize>(mask(), value, valid, op, call);
    }
    CUSIM_INLINE T Sum(T value, CUSIM_CALL) { return Reduce(value, cub::Sum(), call); }
    CUSIM_INLINE T Sum(T value, int valid, CUSIM_CALL) {
        return Reduce(value, cub::Sum(), valid, call);
    }
    CUSIM_INLINE T Max(T value, CUSIM_CALL) { return Reduce(value, cub::Max(), call); }
    CUSIM_INLINE T Min(T value, CUSIM_CALL) { return Reduce(value, cub::Min(), call); }
};

template <class T, int LOGICAL_WARP_THREADS = 32, int = 0> class WarpScan {
    static constexpr int kSize = LOGICAL_WARP_THREADS;
    static_assert(kSize >= 1 && kSize <= 32 && (kSize & (kSize - 1)) == 0,
                  "nogpu lacks warps of cub that are no power of two");
    static CUSIM_INLINE unsigned mask() {
        return (unsigned)((1ull << kSize) - 1) << (nogpu::lane() & ~(unsigned)(kSize - 1));
    }
    template <class Op, class Start>
    static CUSIM_INLINE void exclusive(T value, T& out, Op op, Start start, T& sum,
                                       nogpu::CallLine call) {
        const T inclusive = nogpu::scan_lanes<kSize>(mask(), value, op, call);
        const T before = nogpu::lane_before<kSize>(mask(), inclusive, call);
        const bool first = (nogpu::lane() & (unsigned)(kSize - 1)) == 0;
        sum = nogpu::shuffle_any(mask(), inclusive, (int)(nogpu::lane() | (kSize - 1)), call.line);
        if constexpr (Start::exists) out = first ? start(sum) : op(start(sum), before);
        else out = before;  // the first lane's is not defined
    }

   public:
    struct TempStorage {};
    CUSIM_INLINE explicit WarpScan(TempStorage&) {}

    template <class Op> CUSIM_INLINE void InclusiveScan(T value, T& out, Op op, CUSIM_CALL) {
        out = nogpu::scan_lanes<kSize>(mask(), value, op, call);
    }
    template <class Op>
    CUSIM_INLINE void InclusiveScan(T value, T& out, Op op, T& sum, CUSIM_CALL) {
        out = nogpu::scan_lanes<kSize>(mask(), value, op, call);
        sum = nogpu::shuffle_any(mask(), out, (int)(nogpu::lane() | (kSize - 1)), call.line);
    }
    CUSIM_INLINE void InclusiveSum(T value, T& out, CUSIM_CALL) {
        InclusiveScan(value, out, cub::Sum(), call);
    }
    CUSIM_INLINE void InclusiveSum(T value, T& out, T& sum, CUSIM_CALL) {
        InclusiveScan(value, out, cub::Sum(), sum, call);
    }
    template <class Op> CUSIM_INLINE void ExclusiveScan(T value, T& out, Op op, CUSIM_CALL) {
        T sum = value;
        exclusive(value, out, op, nogpu::NoStart(), sum, call);
    }
    template <class Op>
    CUSIM_INLINE void ExclusiveScan(T value, T& out, T start, Op op, CUSIM_CALL) {
        T sum = value;
        exclusive(value, out, op, nogpu::Start<T>{start}, sum, call);
    }
    template <class Op>
    CUSIM_INLINE void ExclusiveScan(T value, T& out, T start, Op op, T& sum, CUSIM_CALL) {
        exclusive(value, out, op, nogpu::Start<T>{start}, sum, call);
    }
    CUSIM_INLINE void ExclusiveSum(T value, T& out, CUSIM_CALL) {
        ExclusiveScan(value, out, T(), cub::Sum(), call);
    }
    CUSIM_INLINE void ExclusiveSum(T value, T& out, T& sum, CUSIM_CALL) {
        ExclusiveScan(value, out, T(), cub::Sum(), sum, call);
    }
    CUSIM_INLINE T Broadcast(T value, unsigned from, CUSIM_CALL) {
        return nogpu::shuffle_any(mask(), value,
                                  (int)((nogpu::lane() & ~(unsigned)(kSize - 1)) + from), call.line);
    }
};

template <class T, int X, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1,
          int = 0>
class BlockReduce {
    static constexpr int kThreads = X * Y * Z, kWarps = (kThreads + 31) / 32;

   public:
    struct TempStorage {
        alignas(T) unsigned char bytes[kWarps * sizeof(T)];
    };

   private:
    TempStorage& temp;
    static CUSIM_INLINE TempStorage& own_storage() {
        static __shared__ TempStorage own;
        return own;
    }

   public:
    CUSIM_INLINE BlockReduce() : temp(own_storage()) {}
    CUSIM_INLINE explicit BlockReduce(TempStorage& given) : temp(given) {}

    // Thread 0 has the result.
    template <class Op> CUSIM_INLINE T Reduce(T value, Op op, int valid, CUSIM_CALL) {
        nogpu::check_block_size(kThreads, call);
        const int thread = (int)nogpu::thread_of_block(), warp = thread / 32;
        value = nogpu::reduce_lanes<32>(nogpu::existing_lanes(), value, valid - 32 * warp, op, call);
        T* sums = (T*)temp.bytes;
        if (thread % 32 == 0) sums[warp] = value;
        nogpu::cub_barrier(call);
        if (thread == 0)
            for (int w = 1; w < kWarps && w * 32 < valid; w++) value = op(value, sums[w]);
        return value;
    }
    template <class Op> CUSIM_INLINE T Reduce(T value, Op op, CUSIM_CALL) {
        return Reduce(value, op, kThreads, call);
    }
    template <int N, class Op> CUSIM_INLINE T Reduce(T (&items)[N], Op op, CUSIM_CALL) {
        return Reduce(nogpu::reduce_items(items, op), op, kThreads, call);
    }
    CUSIM_INLINE T Sum(T value, CUSIM_CALL) { return Reduce(value, cub::Sum(), kThreads, call); }
    CUSIM_INLINE T Sum(T value, int valid, CUSIM_CALL) {
        return Reduce(value, cub::Sum(), valid, call);
    }
    template <int N> CUSIM_INLINE T Sum(T (&items)[N], CUSIM_CALL) {
        return Reduce(items, cub::Sum(), call);
    }
};

template <class T, int X, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int = 0>
class BlockScan {
    static constexpr int kThreads = X * Y * Z, kWarps = (kThreads + 31) / 32;

   public:
    struct TempStorage {
        alignas(T) unsigned char bytes[(kWarps + 1) * sizeof(T)];
    };

   private:
    TempStorage& temp;
    static CUSIM_INLINE TempStorage& own_storage() {
        static __shared__ TempStorage own;
        return own;
    }

    // The first item of an exclusive scan without a start is not defined.
    template <bool Exclusive, int N, class Op, class Start>
    CUSIM_INLINE void scan(const T (&in)[N], T (&out)[N], Op op, Start start, T& sum,
                           nogpu::CallLine call) {
        nogpu::check_block_size(kThreads, call);
        const int thread = (int)nogpu::thread_of_block(), warp = thread / 32;
        const unsigned lanes = nogpu::existing_lanes();
        T* sums = (T*)temp.bytes;
        const T own = nogpu::reduce_items(in, op);
        const T inclusive = nogpu::scan_lanes<32>(lanes, own, op, call);
        T before = nogpu::lane_before<32>(lanes, inclusive, call);
        if (thread % 32 == 31 || thread == kThreads - 1) sums[warp] = inclusive;
        nogpu::cub_barrier(call);
        sum = sums[0];
        for (int w = 1; w < kWarps; w++) {
            if (w == warp) before = thread % 32 ? op(sum, before) : sum;
            sum = op(sum, sums[w]);
        }
        bool begun = thread > 0;
        if constexpr (Start::exists) {
            if (warp == 0) {
                const T first = start(sum);
                if (thread == 0) sums[kWarps] = first;
            }
            nogpu::cub_barrier(nogpu::CallLine{call.line + (1 << 20)});
            before = begun ? op(sums[kWarps], before) : sums[kWarps];
            begun = true;
        }
        for (int i = 0; i < N; i++) {
            const T item = in[i], next = begun ? op(before, item) : item;
            out[i] = Exclusive ? before : next;
            before = next;
            begun = true;
        }
    }
    template <bool Exclusive, class Op, class Start>
    CUSIM_INLINE void scan(T in, T& out, Op op, Start start, T& sum, nogpu::CallLine call) {
        const T items[1] = {in};
        T results[1] = {in};
        scan<Exclusive>(items, results, op, start, sum, call);
        out = results[0];
    }

   public:
    CUSIM_INLINE BlockScan() : temp(own_storage()) {}
    CUSIM_INLINE explicit BlockScan(TempStorage& given) : temp(given) {}

    // Each of them for one item of a thread and for several, the block's sum wanted or not.
#define CUSIM_SCANS(IN, OUT, ...)                                                            \
    template <__VA_ARGS__ class Op>                                                          \
    CUSIM_INLINE void InclusiveScan(IN, OUT, Op op, CUSIM_CALL) {                            \
        T sum;                                                                               \
        scan<false>(in, out, op, nogpu::NoStart(), sum, call);                               \
    }                                                                                        \
    template <__VA_ARGS__ class Op>                                                          \
    CUSIM_INLINE void InclusiveScan(IN, OUT, Op op, T& sum, CUSIM_CALL) {                    \
        scan<false>(in, out, op, nogpu::NoStart(), sum, call);                               \
    }                                                                                        \
    template <__VA_ARGS__ class Op, class Prefix>                                            \
    CUSIM_INLINE void InclusiveScan(IN, OUT, Op op, Prefix& prefix, CUSIM_CALL) {            \
        T sum;                                                                               \
        scan<false>(in, out, op, nogpu::CalledStart<Prefix>{prefix}, sum, call);             \
    }                                                                                        \
    template <__VA_ARGS__ class Op>                                                          \
    CUSIM_INLINE void ExclusiveScan(IN, OUT, Op op, CUSIM_CALL) {                            \
        T sum;                                                                               \
        scan<true>(in, out, op, nogpu::NoStart(), sum, call);                                \
    }                                                                                        \
    template <__VA_ARGS__ class Op>                                                          \
    CUSIM_INLINE void ExclusiveScan(IN, OUT, T start, Op op, CUSIM_CALL) {                   \
        T sum;                                                                               \
        scan<true>(in, out, op, nogpu::Start<T>{start}, sum, call);                          \
    }                                                                                        \
    template <__VA_ARGS__ class Op>                                                          \
    CUSIM_INLINE void ExclusiveScan(IN, OUT, T start, Op op, T& sum, CUSIM_CALL) {           \
        scan<true>(in, out, op, nogpu::Start<T>{start}, sum, call);                          \
    }                                                                                        \
    template <__VA_ARGS__ class Op, class Prefix>                                            \
    CUSIM_INLINE void ExclusiveScan(IN, OUT, Op op, Prefix& prefix, CUSIM_CALL) {            \
        T sum;                                                                               \
        scan<true>(in, out, op, nogpu::CalledStart<Prefix>{prefix}, sum, call);              \
    }
    CUSIM_SCANS(T in, T& out, )
#define CUSIM_COMMA ,
    CUSIM_SCANS(T (&in)[N], T (&out)[N], int N CUSIM_COMMA)
#undef CUSIM_SCANS
#define CUSIM_SUMS(NAME, ITEMS, OUT, ...)                                                     \
    __VA_ARGS__ CUSIM_INLINE void NAME##Sum(ITEMS, OUT, CUSIM_CALL) {                        \
        T sum;                                                                               \
        NAME##Sum(in, out, sum, call);                                                       \
    }                                                                                        \
    __VA_ARGS__ CUSIM_INLINE void NAME##Sum(ITEMS, OUT, T& sum, CUSIM_CALL) {                \
        CUSIM_START_##NAME                                                                   \
    }
#define CUSIM_START_Inclusive InclusiveScan(in, out, cub::Sum(), sum, call);
#define CUSIM_START_Exclusive ExclusiveScan(in, out, T(), cub::Sum(), sum, call);
    CUSIM_SUMS(Inclusive, T in, T& out, )
    CUSIM_SUMS(Exclusive, T in, T& out, )
    CUSIM_SUMS(Inclusive, T (&in)[N], T (&out)[N], template <int N>)
    CUSIM_SUMS(Exclusive, T (&in)[N], T (&out)[N], template <int N>)
#undef CUSIM_SUMS
#undef CUSIM_START_Inclusive
#undef CUSIM_START_Exclusive
#undef CUSIM_COMMA
    template <class In, class Out, class Prefix>
    CUSIM_INLINE void InclusiveSum(In&& in, Out& out, Prefix& prefix, CUSIM_CALL) {
        InclusiveScan(in, out, cub::Sum(), prefix, call);
    }
    template <class In, class Out, class Prefix>
    CUSIM_INLINE void ExclusiveSum(In&& in, Out& out, Prefix& prefix, CUSIM_CALL) {
        ExclusiveScan(in, out, cub::Sum(), prefix, call);
    }
};

// What loading and storing share: where a thread's items lie among the block's, all of a thread side
// by side or one of each thread in turn.
template <class T, int Threads, int N, bool Stripes, bool Transposes> class BlockMove {
   public:
    struct TempStorage {
        alignas(T) unsigned char bytes[Transposes ? Threads * N * sizeof(T) : 1];
    };

   protected:
    TempStorage& temp;
    static CUSIM_INLINE TempStorage& own_storage() {
        static __shared__ TempStorage own;
        return own;
    }
    CUSIM_INLINE explicit BlockMove(TempStorage& given) : temp(given) {}
    CUSIM_INLINE T* all() const { return (T*)temp.bytes; }
    static CUSIM_INLINE int striped(int i) {
        return i * Threads + (int)nogpu::thread_of_block();
    }
    static CUSIM_INLINE int blocked(int i) { return (int)nogpu::thread_of_block() * N + i; }
    static CUSIM_INLINE int place(int i) {
        return Stripes || Transposes ? striped(i) : blocked(i);
    }
};
#define CUSIM_MOVE(NAME, KIND)                                                               \
    typedef BlockMove<T, X * Y * Z, N, Kind == KIND##_STRIPED, (Kind >= KIND##_TRANSPOSE)> Move; \
    using Move::temp, Move::all, Move::striped, Move::blocked, Move::place;                  \
                                                                                             \
   public:                                                                                   \
    using typename Move::TempStorage;                                                        \
    CUSIM_INLINE NAME() : Move(Move::own_storage()) {}                                       \
    CUSIM_INLINE explicit NAME(TempStorage& given) : Move(given) {}

template <class T, int X, int N, BlockLoadAlgorithm Kind = BLOCK_LOAD_DIRECT, int Y = 1, int Z = 1,
          int = 0>
class BlockLoad : BlockMove<T, X * Y * Z, N, Kind == BLOCK_LOAD_STRIPED,
                            (Kind >= BLOCK_LOAD_TRANSPOSE)> {
    CUSIM_MOVE(BlockLoad, BLOCK_LOAD)
    template <class From> CUSIM_INLINE void Load(From from, T (&items)[N], int valid, CUSIM_CALL) {
        nogpu::check_block_size(X * Y * Z, call);
        for (int i = 0; i < N; i++)
            if (place(i) < valid) items[i] = from[place(i)];
        if (Kind < BLOCK_LOAD_TRANSPOSE) return;
        for (int i = 0; i < N; i++) all()[striped(i)] = items[i];
        nogpu::cub_barrier(call);
        for (int i = 0; i < N; i++) items[i] = all()[blocked(i)];
    }
    template <class From, class Else>
    CUSIM_INLINE void Load(From from, T (&items)[N], int valid, Else other, CUSIM_CALL) {
        for (int i = 0; i < N; i++) items[i] = other;
        Load(from, items, valid, call);
    }
    template <class From> CUSIM_INLINE void Load(From from, T (&items)[N], CUSIM_CALL) {
        Load(from, items, X * Y * Z * N, call);
    }
};

template <class T, int X, int N, BlockStoreAlgorithm Kind = BLOCK_STORE_DIRECT, int Y = 1,
          int Z = 1, int = 0>
class BlockStore : BlockMove<T, X * Y * Z, N, Kind == BLOCK_STORE_STRIPED,
                             (Kind >= BLOCK_STORE_TRANSPOSE)> {
    CUSIM_MOVE(BlockStore, BLOCK_STORE)
    template <class To> CUSIM_INLINE void Store(To to, T (&items)[N], int valid, CUSIM_CALL) {
        nogpu::check_block_size(X * Y * Z, call);
        if (Kind >= BLOCK_STORE_TRANSPOSE) {
            for (int i = 0; i < N; i++) all()[blocked(i)] = items[i];
            nogpu::cub_barrier(call);
            for (int i = 0; i < N; i++) items[i] = all()[striped(i)];
        }
        for (int i = 0; i < N; i++)
            if (place(i) < valid) to[place(i)] = items[i];
    }
    template <class To> CUSIM_INLINE void Store(To to, T (&items)[N], CUSIM_CALL) {
        Store(to, items, X * Y * Z * N, call);
    }
};
#undef CUSIM_MOVE

}  // namespace cub

#undef CUSIM_INLINE
#undef CUSIM_CALL
