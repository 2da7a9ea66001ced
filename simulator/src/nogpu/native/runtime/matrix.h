// What a warp does with small matrices (mma.h): which lane holds which element, and the products.
// A product of two elements is exact, the sums are rounded to float one after another in the order
// of k, and a half result once more. A tensor core sums several products at once and cuts off low
// bits, so its result differs in the last places (Fasi et al., "Numerical behavior of NVIDIA tensor
// cores", PeerJ Computer Science 7:e330, 2021).
#pragma once
#include "shadow.h"

typedef float Float4 __attribute__((vector_size(16)));
typedef int32_t Int4 __attribute__((vector_size(16)));
static const int kMostElements = 512, kShapes = 5, kElements = 8;

static int matrix_size(const nogpu::Fragment& f) {
    return f.use == nogpu::kMatrixA   ? f.m * f.k
           : f.use == nogpu::kMatrixB ? f.k * f.n
                                      : f.m * f.n;
}

static int element_bytes(nogpu::MatrixElement e) {
    switch (e) {
        case nogpu::kHalf:
        case nogpu::kBfloat16: return 2;
        case nogpu::kInt8:
        case nogpu::kUint8: return 1;
        case nogpu::kDouble: return 8;
        default: return 4;
    }
}

// Neighbours along a row (of B along a column) that a lane holds side by side.
static int lane_run(const nogpu::Fragment& f) {
    const int bytes = element_bytes(f.element);
    return f.use == nogpu::kAccumulator ? 2 : bytes < 4 ? 4 / bytes : 1;
}

static bool by_columns(const nogpu::Fragment& f) {
    return f.use == nogpu::kMatrixB || (f.use == nogpu::kAccumulator && f.m == 8 && f.n == 32);
}

// The number of a lane's element in its matrix, row by row: what an H200 showed for each kind of
// fragment. Four lanes share a line, of which there are eight; then come the next eight lines, the
// rest of the lines, and more lines. Only B of 16 columns has the rest of its lines first.
static int matrix_place(const nogpu::Fragment& f, int lane, int i) {
    const int run = lane_run(f);
    const int inner_size = f.use != nogpu::kAccumulator ? f.k : by_columns(f) ? f.m : f.n;
    const int outer_size = matrix_size(f) / inner_size;
    int inner = lane % 4 * run + i % run, outer = lane / 4, rest = i / run;
    const bool inner_first = f.use == nogpu::kMatrixB && f.n == 16;
    for (int step = 0; step < 3; step++) {
        const bool along = step == (inner_first ? 0 : 1);
        const int distance = along ? 4 * run : step == 2 ? 16 : 8;
        if ((along ? inner_size : outer_size) <= distance) continue;
        (along ? inner : outer) += (rest & 1) * distance;
        rest >>= 1;
    }
    return by_columns(f) ? inner * outer_size + outer : outer * inner_size + inner;
}

// For each kind of fragment the numbers of the elements, row by row, that each lane holds.
struct MatrixPlaces {
    uint16_t at[3][kElements][kShapes][32][16];

    static int shape(const nogpu::Fragment& f) {
        return f.k == 8 ? 3 : f.k == 4 ? 4 : f.m == 16 ? 0 : f.m == 32 ? 1 : 2;
    }
    MatrixPlaces() {
        static const uint8_t shapes[kShapes][3] = {
            {16, 16, 16}, {32, 8, 16}, {8, 32, 16}, {16, 16, 8}, {8, 8, 4}};
        for (int use = 0; use < 3; use++)
            for (int e = 0; e < kElements; e++)
                for (const uint8_t* s : shapes) {
                    const nogpu::Fragment f = {(nogpu::MatrixUse)use, (nogpu::MatrixElement)e,
                                               s[0], s[1], s[2], 0};
                    for (int lane = 0; lane < 32; lane++)
                        for (int i = 0; i < 16; i++)
                            at[use][e][shape(f)][lane][i] = (uint16_t)matrix_place(f, lane, i);
                }
    }
    const uint16_t (*of(const nogpu::Fragment& f) const)[16] {
        return at[f.use][f.element][shape(f)];
    }
};
static const MatrixPlaces matrix_places;

static bool same_matrix(const nogpu::MatrixCall& a, const nogpu::MatrixCall& b) {
    return a.op == b.op && !memcmp(a.shape, b.shape, sizeof a.shape) && a.memory == b.memory &&
           a.stride == b.stride && a.by_column == b.by_column && a.saturates == b.saturates;
}

// ---- between lanes and a whole matrix, row by row ----------------------------------------------

template <class T>
static void gather(const nogpu::MatrixCall* const* calls, int which, T* matrix) {
    const nogpu::Fragment& f = calls[0]->shape[which];
    const uint16_t (*places)[16] = matrix_places.of(f);
    for (int lane = 0; lane < 32; lane++) {
        if (!calls[lane]) continue;
        const T* part = (const T*)calls[lane]->part[which];
        for (int i = 0; i < f.count; i++) matrix[places[lane][i]] = part[i];
    }
}

template <class T>
static void scatter(const nogpu::MatrixCall* const* calls, int which, const T* matrix) {
    const nogpu::Fragment& f = calls[0]->shape[which];
    const uint16_t (*places)[16] = matrix_places.of(f);
    for (int lane = 0; lane < 32; lane++) {
        if (!calls[lane]) continue;
        T* part = (T*)calls[lane]->part[which];
        for (int i = 0; i < f.count; i++) part[i] = matrix[places[lane][i]];
    }
}

// The matrix as it lies in memory, line by line, to or from its rows.
template <class T>
static void transpose(const nogpu::MatrixCall& call, const T* from, T* to, bool to_memory) {
    const nogpu::Fragment& f = call.shape[0];
    const int rows = f.use == nogpu::kMatrixB ? f.k : f.m, columns = matrix_size(f) / rows;
    if (!call.by_column) {
        memcpy(to, from, sizeof(T) * (size_t)(rows * columns));
        return;
    }
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++) {
            if (to_memory) to[c * rows + r] = from[r * columns + c];
            else to[r * columns + c] = from[c * rows + r];
        }
}

// What a lane reads or writes of a matrix in memory: 16 bytes, or the 8 of a line that is no longer.
template <uint32_t N>
static inline void access_piece(const nogpu::MatrixCall& call, uint32_t thread, char* address,
                                char* piece, void* pc) {
    const AccessKind kind = call.op == nogpu::kMatrixStore ? kWrite : kRead;
    if (hot.checks) {
        set_stamp(thread);
        thread_coordinates(thread, &nogpu_context.thread.x);
        if (kind == kWrite) check_access<N, kWrite>(address, pc);
        else check_access<N, kRead>(address, pc);
    }
    if (kind == kWrite) memcpy(address, piece, N);
    else memcpy(piece, address, N);
}

// Counts what a GPU asks of memory for a matrix, as Nsight Compute has shown: numbers of 16 bits are
// fetched from shared memory 16 bytes at a time (ldmatrix), from elsewhere 4 bytes at a time, eight
// lines in one request; of the others a lane's neighbours together where memory has them so.
static NOINLINE void count_matrix(const nogpu::MatrixCall& call, uint32_t warp, uint64_t line,
                                  void* pc) {
    const nogpu::Fragment& f = call.shape[0];
    const uint32_t bytes = (uint32_t)element_bytes(f.element), size = (uint32_t)matrix_size(f);
    const uint64_t stride = call.stride * bytes;
    const AccessKind kind = call.op == nogpu::kMatrixStore ? kWrite : kRead;
    const uint16_t (*places)[16] = matrix_places.of(f);
    char* memory = (char*)call.memory;
    const bool halves = bytes == 2 && f.use != nogpu::kAccumulator;
    const bool shared = (uintptr_t)memory - hot.shared_low < hot.shared_size;
    const uint32_t run = by_columns(f) == call.by_column ? (uint32_t)lane_run(f) : 1;
    const uint32_t columns = f.use == nogpu::kMatrixA ? f.k : f.n;
    for (uint32_t lane = 0; lane < 32; lane++) {
        set_stamp(warp * 32 + lane);
        if (halves) {
            const uint32_t piece = shared ? 16 : 4, each = 16 / piece;  // lanes of a line
            for (uint32_t block = 0; block * 32 * piece < size * 2; block++) {
                const uint64_t row = (lane / each + block * 32 / each) * 16;
                const uint64_t lines = size * 2 / line;
                count_access(memory + row / 16 % lines * stride + row / 16 / lines * 16 +
                                 lane % each * piece, piece, kind, pc);
            }
            continue;
        }
        for (uint32_t i = 0; i < f.count; i += run) {
            const uint32_t r = places[lane][i] / columns, c = places[lane][i] % columns;
            count_access(memory + (call.by_column ? c * stride + r * bytes : r * stride + c * bytes),
                         bytes * run, kind, pc);
        }
    }
}

// A matrix begins at a multiple of 32 bytes; one of bytes, whose lines have 16, at one of 16.
static void check_alignment(const nogpu::MatrixCall& call, uint32_t alignment, void* pc) {
    const uintptr_t address = (uintptr_t)call.memory;
    if (LIKELY(address % alignment == 0) || !(hot.checks & kCheckMisaligned)) return;
    Region r{nullptr, nullptr, 0, 0, kNowhere};
    find_region(address, r);
    const AccessKind kind = call.op == nogpu::kMatrixStore ? kWrite : kRead;
    access_fault(kMisaligned, Access{address, alignment, kind, false, pc}, r.kind,
                 address - r.base);
}

// Piece number i is lane i's, modulo 32.
template <class T>
static void move_matrix(const nogpu::MatrixCall* const* calls, uint32_t warp, void* pc) {
    const nogpu::MatrixCall& first = *calls[0];
    const nogpu::Fragment& f = first.shape[0];
    const int rows = f.use == nogpu::kMatrixB ? f.k : f.m, size = matrix_size(f);
    const uint64_t line = (uint64_t)(first.by_column ? rows : size / rows) * sizeof(T);
    const uint64_t stride = first.stride * sizeof(T), bytes = (uint64_t)size * sizeof(T);
    alignas(16) T lines[kMostElements], matrix[kMostElements];
    check_alignment(first, sizeof(T) == 1 ? 16 : 32, pc);
    if (first.op == nogpu::kMatrixStore) {
        gather(calls, 0, matrix);
        transpose(first, matrix, lines, true);
    }
    const uint32_t stamp = hot.stamp;
    const uint3 thread = nogpu_context.thread;
    uint32_t lane = 0;
    for (uint64_t at = 0; at < bytes; at += line < 16 ? 8 : 16, lane = (lane + 1) % 32) {
        if (!calls[lane]) continue;
        char* address = (char*)first.memory + at / line * stride + at % line;
        if (line < 16) access_piece<8>(first, warp * 32 + lane, address, (char*)lines + at, pc);
        else access_piece<16>(first, warp * 32 + lane, address, (char*)lines + at, pc);
    }
    if (UNLIKELY(hot.worker->counting != nullptr)) count_matrix(first, warp, line, pc);
    hot.stamp = stamp;
    nogpu_context.thread = thread;
    if (first.op == nogpu::kMatrixLoad) {
        transpose(first, lines, matrix, false);
        scatter(calls, 0, matrix);
    }
}

// ---- numbers -----------------------------------------------------------------------------------

static inline Float4 halves_to_floats(const uint16_t* h) {
    const Int4 bits = {h[0], h[1], h[2], h[3]}, size = bits & 0x7fff;
    const Int4 normal = (size << 13) + (112 << 23);
    // Below 2^-14 the number that the bits would be after a leading 1, less that 1.
    const Float4 small = (Float4)((size << 13) + (113 << 23)) - 6.103515625e-5f;
    const Int4 is_small = size < 0x400, is_special = size >= 0x7c00;
    const Int4 value = (is_small & (Int4)small) | (~is_small & (normal + (is_special & (112 << 23))));
    return (Float4)(value | ((bits & 0x8000) << 16));
}

static inline uint16_t float_to_half(float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    const uint16_t sign = (uint16_t)((bits >> 16) & 0x8000u);
    const uint32_t size = bits & 0x7fffffffu;
    if (size > 0x7f800000u) return 0x7fffu;
    if (size >= 0x477ff000u) return sign | 0x7c00u;
    if (size < 0x38800000u) {  // below 2^-14: a multiple of 2^-24
        float magnitude;
        memcpy(&magnitude, &size, 4);
        return sign | (uint16_t)__builtin_rintf(magnitude * 16777216.0f);
    }
    const uint32_t rounded = size + 0xfffu + ((size >> 13) & 1u);
    return sign | (uint16_t)((rounded >> 13) - (112u << 10));
}

// The elements of a matrix as floats. A tf32 number is a float whose last 13 bits do not count.
static void as_floats(const nogpu::MatrixCall* const* calls, int which, float* matrix) {
    const nogpu::Fragment& f = calls[0]->shape[which];
    const int size = matrix_size(f);
    if (element_bytes(f.element) == 2) {
        uint16_t bits[kMostElements];
        gather(calls, which, bits);
        for (int i = 0; i < size; i += 4) {
            if (f.element == nogpu::kHalf) {
                *(Float4*)(matrix + i) = halves_to_floats(bits + i);
            } else {
                const Int4 upper = {bits[i], bits[i + 1], bits[i + 2], bits[i + 3]};
                *(Int4*)(matrix + i) = upper << 16;
            }
        }
        return;
    }
    gather(calls, which, matrix);
    if (f.element == nogpu::kTf32)
        for (int i = 0; i < size; i += 4) *(Int4*)(matrix + i) &= ~0x1fff;
}

// ---- products ----------------------------------------------------------------------------------

template <int N>
static void multiply_floats(const float* a, const float* b, float* d, int m, int k) {
    for (int row = 0; row < m; row++) {
        Float4 sum[N / 4];
        memcpy(sum, d + row * N, sizeof sum);
        for (int at = 0; at < k; at++) {
            const float x = a[row * k + at];
            const Float4* line = (const Float4*)(b + at * N);
            for (int j = 0; j < N / 4; j++) sum[j] += x * line[j];
        }
        memcpy(d + row * N, sum, sizeof sum);
    }
}

template <class A>
static void multiply_bytes(const nogpu::MatrixCall* const* calls, const nogpu::Fragment& f) {
    A a[kMostElements], b[kMostElements];
    int32_t d[kMostElements];
    gather(calls, 1, a);
    gather(calls, 2, b);
    gather(calls, 3, d);
    for (int row = 0; row < f.m; row++)
        for (int column = 0; column < f.n; column++) {
            int64_t sum = d[row * f.n + column];
            for (int k = 0; k < f.k; k++) sum += a[row * f.k + k] * b[k * f.n + column];
            if (calls[0]->saturates)
                sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
            d[row * f.n + column] = (int32_t)sum;
        }
    scatter(calls, 0, d);
}

static void multiply_doubles(const nogpu::MatrixCall* const* calls, const nogpu::Fragment& f) {
    double a[kMostElements], b[kMostElements], d[kMostElements];
    gather(calls, 1, a);
    gather(calls, 2, b);
    gather(calls, 3, d);
    for (int row = 0; row < f.m; row++)
        for (int column = 0; column < f.n; column++)
            for (int k = 0; k < f.k; k++)
                d[row * f.n + column] = __builtin_fma(a[row * f.k + k], b[k * f.n + column],
                                                      d[row * f.n + column]);
    scatter(calls, 0, d);
}

static void multiply(const nogpu::MatrixCall* const* calls) {
    const nogpu::Fragment& f = calls[0]->shape[0];
    const nogpu::MatrixElement element = calls[0]->shape[1].element;
    if (element == nogpu::kInt8) return multiply_bytes<int8_t>(calls, f);
    if (element == nogpu::kUint8) return multiply_bytes<uint8_t>(calls, f);
    if (element == nogpu::kDouble) return multiply_doubles(calls, f);
    alignas(16) float a[kMostElements], b[kMostElements], d[kMostElements];
    as_floats(calls, 1, a);
    as_floats(calls, 2, b);
    as_floats(calls, 3, d);
    if (f.n == 8) multiply_floats<8>(a, b, d, f.m, f.k);
    else if (f.n == 16) multiply_floats<16>(a, b, d, f.m, f.k);
    else multiply_floats<32>(a, b, d, f.m, f.k);
    if (f.element == nogpu::kFloat) return scatter(calls, 0, d);
    uint16_t halves[kMostElements];
    for (int i = 0; i < f.m * f.n; i++) halves[i] = float_to_half(d[i]);
    scatter(calls, 0, halves);
}

// Denormal numbers count here whatever the kernel does with them.
static NOINLINE void matrix_operation(const nogpu::MatrixCall* const* calls, uint32_t warp,
                                      void* pc) {
#if defined(__x86_64__)
    uint32_t before, without;
    __asm__ volatile("stmxcsr %0" : "=m"(before));
    without = before & ~0x8040u;
    __asm__ volatile("ldmxcsr %0" : : "m"(without));
#elif defined(__aarch64__)
    uint64_t before;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    __asm__ volatile("msr fpcr, %0" : : "r"(before & ~(1ull << 24)));
#endif
    if (calls[0]->op == nogpu::kMatrixMultiply) {
        multiply(calls);
    } else {
        switch (element_bytes(calls[0]->shape[0].element)) {
            case 1: move_matrix<uint8_t>(calls, warp, pc); break;
            case 2: move_matrix<uint16_t>(calls, warp, pc); break;
            case 4: move_matrix<uint32_t>(calls, warp, pc); break;
            default: move_matrix<uint64_t>(calls, warp, pc); break;
        }
    }
#if defined(__x86_64__)
    __asm__ volatile("ldmxcsr %0" : : "m"(before));
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(before));
#endif
}
