// Cooperative groups in software: thread blocks, tiles of up to 32 lanes, coalesced groups and their
// partitions (CUDA C++ Programming Guide, "Cooperative Groups"). A group of lanes is a mask of its
// warp; what it does together are the warp's own operations with that mask.
#pragma once
#include "nogpu_integers.h"

namespace nogpu {
// A value of any size, eight bytes at a time, from the lane `source` of the warp.
template <class T> static inline T shuffle_any(unsigned mask, const T& value, int source, int line) {
    T result = value;
    for (unsigned long at = 0; at < sizeof(T); at += 8) {
        const unsigned long bytes = sizeof(T) - at < 8 ? sizeof(T) - at : 8;
        unsigned long long word = 0;
        __builtin_memcpy(&word, (const char*)&value + at, bytes);
        word = nogpu_warp(kShuffle, mask, word, source, line);
        __builtin_memcpy((char*)&result + at, &word, bytes);
    }
    return result;
}
// The lane of the set bit with this number, from 0 on; -1 where there is none.
static inline int lane_of_rank(unsigned mask, unsigned rank) {
    for (int lane = 0; lane < 32; lane++)
        if (((mask >> lane) & 1) && rank-- == 0) return lane;
    return -1;
}
// The bits at the mask's places, moved together.
static inline unsigned compressed(unsigned bits, unsigned mask) {
    unsigned result = 0, at = 0;
    for (int lane = 0; lane < 32; lane++)
        if ((mask >> lane) & 1) result |= ((bits >> lane) & 1u) << at++;
    return result;
}
static inline unsigned existing_lanes() {
    const unsigned total = blockDim.x * blockDim.y * blockDim.z;
    const unsigned left = total - (rank() & ~31u);
    return left >= 32 ? 0xffffffffu : (1u << left) - 1;
}
}  // namespace nogpu

namespace cooperative_groups {

struct grid_group;
struct thread_block;

// Some lanes of one warp, which the mask names.
struct coalesced_group {
    unsigned mask;
    unsigned rank, groups;  // of this group among those that it was parted into, and their number

    explicit coalesced_group(unsigned lanes = 0, unsigned rank_ = 0, unsigned groups_ = 1)
        : mask(lanes), rank(rank_), groups(groups_) {}
    unsigned num_threads() const { return (unsigned)__popc(mask); }
    unsigned size() const { return num_threads(); }
    unsigned thread_rank() const { return (unsigned)__popc(mask & ((1u << nogpu::lane()) - 1)); }
    unsigned meta_group_rank() const { return rank; }
    unsigned meta_group_size() const { return groups; }
    void sync(CUSIM_LINE) const { nogpu_warp(nogpu::kSyncWarp, mask, 0, 0, nogpu_line); }

    template <class T> T shfl(T value, unsigned from, CUSIM_LINE) const {
        const int lane = nogpu::lane_of_rank(mask, from % num_threads());
        return nogpu::shuffle_any(mask, value, lane, nogpu_line);
    }
    template <class T> T shfl_up(T value, unsigned delta, CUSIM_LINE) const {
        const unsigned mine = thread_rank();
        const unsigned from = mine < delta ? mine : mine - delta;
        return nogpu::shuffle_any(mask, value, nogpu::lane_of_rank(mask, from), nogpu_line);
    }
    template <class T> T shfl_down(T value, unsigned delta, CUSIM_LINE) const {
        const unsigned mine = thread_rank();
        const unsigned from = mine + delta < num_threads() ? mine + delta : mine;
        return nogpu::shuffle_any(mask, value, nogpu::lane_of_rank(mask, from), nogpu_line);
    }
    template <class T> T shfl_xor(T value, unsigned bits, CUSIM_LINE) const {
        const unsigned mine = thread_rank();
        const unsigned from = (mine ^ bits) < num_threads() ? mine ^ bits : mine;
        return nogpu::shuffle_any(mask, value, nogpu::lane_of_rank(mask, from), nogpu_line);
    }
    int any(int predicate, CUSIM_LINE) const {
        return (int)nogpu_warp(nogpu::kAny, mask, predicate != 0, 0, nogpu_line);
    }
    int all(int predicate, CUSIM_LINE) const {
        return (int)nogpu_warp(nogpu::kAll, mask, predicate != 0, 0, nogpu_line);
    }
    unsigned ballot(int predicate, CUSIM_LINE) const {
        const unsigned votes =
            (unsigned)nogpu_warp(nogpu::kBallot, mask, predicate != 0, 0, nogpu_line);
        return nogpu::compressed(votes, mask);
    }
    template <class T> unsigned match_any(T value, CUSIM_LINE) const {
        const unsigned found = (unsigned)nogpu_warp(nogpu::kMatchAny, mask,
                                                    nogpu::to_bits(value), 0, nogpu_line);
        return nogpu::compressed(found, mask);
    }
    template <class T> unsigned match_all(T value, int& predicate, CUSIM_LINE) const {
        const unsigned found = (unsigned)nogpu_warp(nogpu::kMatchAll, mask,
                                                    nogpu::to_bits(value), 0, nogpu_line);
        predicate = found != 0;
        return nogpu::compressed(found, mask);
    }
};

struct thread_block {
    static unsigned thread_rank() { return nogpu::rank(); }
    static unsigned num_threads() { return blockDim.x * blockDim.y * blockDim.z; }
    static unsigned size() { return num_threads(); }
    static dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    static dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
    static dim3 group_dim() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
    static dim3 dim_threads() { return group_dim(); }
    static void sync(CUSIM_LINE) { nogpu_barrier(nogpu::kBarrier, 0, nogpu_line, -nogpu_line); }
};

// Neighbouring lanes, Size of them: a power of two, at most a warp.
template <unsigned Size, class Parent = thread_block> struct thread_block_tile : coalesced_group {
    static_assert(Size && (Size & (Size - 1)) == 0, "the size of a tile is a power of two");
    static_assert(Size <= 32, "nogpu lacks tiles of more than one warp");
    thread_block_tile()
        : coalesced_group((unsigned)((1ull << Size) - 1) << (nogpu::lane() & ~(Size - 1)) &
                              nogpu::existing_lanes(),
                          thread_block::thread_rank() / Size,
                          (thread_block::num_threads() + Size - 1) / Size) {}
    static constexpr unsigned num_threads() { return Size; }
    static constexpr unsigned size() { return Size; }
    unsigned thread_rank() const { return nogpu::lane() & (Size - 1); }
};

// Any of the groups above.
struct thread_group {
    coalesced_group lanes;
    bool block;

    thread_group(thread_block) : lanes(0), block(true) {}
    thread_group(const coalesced_group& g) : lanes(g), block(false) {}
    unsigned thread_rank() const {
        return block ? thread_block::thread_rank() : lanes.thread_rank();
    }
    unsigned num_threads() const {
        return block ? thread_block::num_threads() : lanes.num_threads();
    }
    unsigned size() const { return num_threads(); }
    void sync(CUSIM_LINE) const {
        if (block) thread_block::sync(nogpu_line);
        else lanes.sync(nogpu_line);
    }
};

struct grid_group {
    static bool is_valid() { return nogpu_is_cooperative(); }
    static unsigned long long num_blocks() {
        return (unsigned long long)gridDim.x * gridDim.y * gridDim.z;
    }
    static unsigned long long block_rank() {
        return ((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    }
    static unsigned long long num_threads() { return num_blocks() * thread_block::num_threads(); }
    static unsigned long long size() { return num_threads(); }
    static unsigned long long thread_rank() {
        return block_rank() * thread_block::num_threads() + thread_block::thread_rank();
    }
    static dim3 dim_blocks() { return dim3(gridDim.x, gridDim.y, gridDim.z); }
    static dim3 group_dim() { return dim_blocks(); }
    static dim3 block_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    static void sync(CUSIM_LINE) { nogpu_grid_barrier(nogpu_line); }
};

static inline thread_block this_thread_block() { return {}; }
static inline grid_group this_grid() { return {}; }
static inline coalesced_group coalesced_threads(CUSIM_LINE) {
    return coalesced_group(nogpu_active_mask(nogpu_line));
}

template <unsigned Size> static inline thread_block_tile<Size> tiled_partition(const thread_block&) {
    return {};
}
template <unsigned Size, unsigned Whole, class P>
static inline thread_block_tile<Size, thread_block_tile<Whole, P>> tiled_partition(
    const thread_block_tile<Whole, P>&) {
    static_assert(Size <= Whole, "a part is not larger than the whole");
    thread_block_tile<Size, thread_block_tile<Whole, P>> part;
    part.rank = (nogpu::lane() & (Whole - 1)) / Size;
    part.groups = Whole / Size;
    return part;
}
// Parts of so many lanes each, in the order of their ranks.
static inline coalesced_group tiled_partition(const coalesced_group& g, unsigned size) {
    const unsigned first = g.thread_rank() / size * size;
    unsigned lanes = 0;
    for (unsigned rank = first; rank < first + size && rank < g.num_threads(); rank++)
        lanes |= 1u << nogpu::lane_of_rank(g.mask, rank);
    return coalesced_group(lanes, first / size, (g.num_threads() + size - 1) / size);
}
template <unsigned Size> static inline coalesced_group tiled_partition(const coalesced_group& g) {
    return tiled_partition(g, Size);
}
static inline thread_group tiled_partition(const thread_group& g, unsigned size) {
    if (!g.block) return tiled_partition(g.lanes, size);
    const unsigned all = (unsigned)((1ull << (size < 32 ? size : 32)) - 1);
    return coalesced_group(all << (nogpu::lane() & ~(size - 1)) & nogpu::existing_lanes(),
                           thread_block::thread_rank() / size,
                           (thread_block::num_threads() + size - 1) / size);
}
template <class Label>
static inline coalesced_group labeled_partition(const coalesced_group& g, Label label,
                                                CUSIM_LINE) {
    const unsigned same = (unsigned)nogpu_warp(nogpu::kMatchAny, g.mask, nogpu::to_bits(label), 0,
                                               nogpu_line);
    const unsigned first = (unsigned)__ffs((int)same) - 1;
    const unsigned leaders = (unsigned)nogpu_warp(nogpu::kBallot, g.mask, nogpu::lane() == first,
                                                  0, nogpu_line);
    return coalesced_group(same, (unsigned)__popc(leaders & ((1u << first) - 1)),
                           (unsigned)__popc(leaders));
}
static inline coalesced_group binary_partition(const coalesced_group& g, bool predicate,
                                               CUSIM_LINE) {
    return labeled_partition(g, (int)predicate, nogpu_line);
}

template <class G> static inline void sync(const G& g, CUSIM_LINE) { g.sync(nogpu_line); }
template <class G> static inline auto thread_rank(const G& g) { return g.thread_rank(); }
template <class G> static inline auto group_size(const G& g) { return g.size(); }
static inline dim3 group_index(const thread_block& b) { return b.group_index(); }
static inline dim3 thread_index(const thread_block& b) { return b.thread_index(); }

// ---- cooperative_groups/reduce.h, scan.h

template <class T = void> struct plus {
    template <class A, class B> auto operator()(const A& a, const B& b) const { return a + b; }
};
template <class T = void> struct less {
    template <class A> A operator()(const A& a, const A& b) const { return b < a ? b : a; }
};
template <class T = void> struct greater {
    template <class A> A operator()(const A& a, const A& b) const { return a < b ? b : a; }
};
template <class T = void> struct bit_and {
    template <class A> A operator()(const A& a, const A& b) const { return a & b; }
};
template <class T = void> struct bit_or {
    template <class A> A operator()(const A& a, const A& b) const { return a | b; }
};
template <class T = void> struct bit_xor {
    template <class A> A operator()(const A& a, const A& b) const { return a ^ b; }
};

// Every lane gets the same: halves are joined until one is left, then its value goes to all.
template <class T, class Op>
static inline T reduce(const coalesced_group& g, T value, Op op, CUSIM_LINE) {
    const unsigned n = g.num_threads(), mine = g.thread_rank();
    for (unsigned step = 1; step < n; step *= 2) {
        const T other = g.shfl_down(value, step, nogpu_line);
        if (mine % (2 * step) == 0 && mine + step < n) value = op(value, other);
    }
    return g.shfl(value, 0, nogpu_line);
}
template <class T, class Op>
static inline T inclusive_scan(const coalesced_group& g, T value, Op op, CUSIM_LINE) {
    const unsigned n = g.num_threads(), mine = g.thread_rank();
    for (unsigned step = 1; step < n; step *= 2) {
        const T other = g.shfl_up(value, step, nogpu_line);
        if (mine >= step) value = op(other, value);
    }
    return value;
}
template <class T> static inline T inclusive_scan(const coalesced_group& g, T value, CUSIM_LINE) {
    return inclusive_scan(g, value, plus<T>(), nogpu_line);
}
template <class T, class Op>
static inline T exclusive_scan(const coalesced_group& g, T value, Op op, CUSIM_LINE) {
    const T before = g.shfl_up(inclusive_scan(g, value, op, nogpu_line), 1, nogpu_line);
    return g.thread_rank() ? before : T();
}
template <class T> static inline T exclusive_scan(const coalesced_group& g, T value, CUSIM_LINE) {
    return exclusive_scan(g, value, plus<T>(), nogpu_line);
}

// ---- cooperative_groups/memcpy_async.h: the copy is done when the call returns

template <class G, class T>
static inline void memcpy_async(const G& g, T* target, const T* source, unsigned long bytes) {
    for (unsigned long i = g.thread_rank(); i < bytes / sizeof(T); i += g.size())
        target[i] = source[i];
}
template <class G> static inline void wait(const G& g, CUSIM_LINE) { g.sync(nogpu_line); }
template <unsigned, class G> static inline void wait_prior(const G& g, CUSIM_LINE) {
    g.sync(nogpu_line);
}

template <class G, class F> static inline void invoke_one(const G& g, F&& f) {
    if (g.thread_rank() == 0) f();
}

}  // namespace cooperative_groups
