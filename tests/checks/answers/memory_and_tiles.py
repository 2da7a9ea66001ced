"""Right answers besides the solution, and wrong ones that are no known mistake."""

import helpers

helpers.start()

import cupy as cp  # noqa: E402
from lone_workers import alone  # noqa: E402

from checks import memory_and_tiles  # noqa: E402
from checks.machinery.task import replaced  # noqa: E402

# No padding: element (i, j) of the tile lies in column i ^ j, which is another bank for each row.
SWIZZLED = r"""
extern "C" __global__ void transpose(const float* x, float* y, int rows, int columns) {
    __shared__ float tile[32][32];
    const int tx = threadIdx.x, table = blockIdx.z * rows * columns;
    for (int r = threadIdx.y; r < 32; r += blockDim.y) {
        int i = 32 * blockIdx.y + r, j = 32 * blockIdx.x + tx;
        if (i < rows && j < columns) tile[r][tx ^ r] = x[table + i * columns + j];
    }
    __syncthreads();
    for (int r = threadIdx.y; r < 32; r += blockDim.y) {
        int i = 32 * blockIdx.x + r, j = 32 * blockIdx.y + tx;
        if (i < columns && j < rows) y[table + i * rows + j] = tile[tx][r ^ tx];
    }
}
"""

NAIVE = r"""
extern "C" __global__ void transpose(const float* x, float* y, int rows, int columns) {
    int table = blockIdx.z * rows * columns, j = 32 * blockIdx.x + threadIdx.x;
    for (int k = 0; k < 32; k += 8) {
        int i = 32 * blockIdx.y + threadIdx.y + k;
        if (i < rows && j < columns) y[table + j * rows + i] = x[table + i * columns + j];
    }
}
"""

# A histogram for each half of the block.
HALVES = r"""
extern "C" __global__ void histogram(const int* x, int* counts, int n) {
    __shared__ unsigned mine[2][256];
    unsigned t = threadIdx.x, total = gridDim.x * blockDim.x;
    for (unsigned k = t; k < 512; k += blockDim.x) mine[k / 256][k % 256] = 0u;
    __syncthreads();
    for (int i = t + blockIdx.x * blockDim.x; i < n; i += total)
        if ((unsigned)x[i] < 256u) atomicInc(&mine[t * 2 / blockDim.x][x[i]], 0xffffffffu);
    __syncthreads();
    for (unsigned k = t; k < 256; k += blockDim.x)
        if (unsigned sum = mine[0][k] + mine[1][k]) atomicAdd(counts + k, (int)sum);
}
"""

# Doubling steps over the whole block in shared memory, with two barriers each.
BARRIERS = r"""
extern "C" __global__ void scan(const int* x, int* y, int n) {
    __shared__ int sums[1024];
    __shared__ int carried;
    int t = threadIdx.x;
    if (t == 0) carried = 0;
    for (int first = 0; first < n; first += blockDim.x) {
        sums[t] = first + t < n ? x[first + t] : 0;
        __syncthreads();
        for (int step = 1; step < blockDim.x; step *= 2) {
            int before = t >= step ? sums[t - step] : 0;
            __syncthreads();
            sums[t] += before;
            __syncthreads();
        }
        if (first + t < n) y[first + t] = sums[t] + carried;
        __syncthreads();
        if (t == blockDim.x - 1) carried += sums[t];
    }
}
"""

SERIAL = r"""
extern "C" __global__ void scan(const int* x, int* y, int n) {
    if (threadIdx.x == 0) for (int i = 0, sum = 0; i < n; i++) y[i] = sum += x[i];
}
"""

JUMPS = r"""
extern "C" __global__
void compact(const float* x, const bool* mask, const int* ends, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    while (i < n) {
        int before = i > 0 ? ends[i - 1] : 0;
        if (ends[i] > before) y[before] = x[i];
        i += blockDim.x * gridDim.x;
    }
}
"""


IN_ORDER = r"""
extern "C" __global__
void compact(const float* x, const bool* mask, const int* ends, float* y, int n) {
    int next = 0;
    if (blockIdx.x + threadIdx.x == 0)
        for (int i = 0; i < n; i++)
            if (mask[i]) y[next++] = x[i];
}
"""


def repaired(kind, line, thread, *texts):
    """An answer to a patient: a diagnosis, and texts replaced in the source."""
    return lambda source: (kind, line, thread, replaced(str(source), *texts))


OVERLAP_BY_OUTPUT = r"""
extern "C" __global__ void overlap_add(const float* frames, float* y, int width, int hop) {
    // each block adds up what belongs into the hop places from its frame's first on
    int k = blockIdx.x, last = gridDim.x - 1, end = k == last ? width : hop;
    for (int j = threadIdx.x; j < end; j += blockDim.x) {
        float sum = 0;
        for (int f = k; f >= 0 && (k - f) * hop + j < width; f--)
            sum += frames[f * width + (k - f) * hop + j];
        y[k * hop + j] = sum;
    }
}
"""

RIGHT = {
    "transpose": [SWIZZLED, cp.RawKernel(SWIZZLED, "transpose")],
    "overlap_add": [lambda source: ("race", 5, (63, 0, 0), OVERLAP_BY_OUTPUT)],
    "barrier_in_a_branch": [repaired(
        "barrier", 8, 0, "            tile[t] += tile[t + step];\n            __syncthreads();",
        "            tile[t] += tile[t + step];",
        "        }\n", "        }\n        __syncthreads();\n")],
    "half_a_tile": [repaired(
        "uninitialised", 5, 20,
        "    }\n    __syncthreads();", "    } else tile[t] = -1e30f;\n    __syncthreads();")],
    "one_barrier_too_few": [repaired(
        "race", 9, 63, "        tile[t] =", "        __syncthreads();\n        tile[t] =")],
    "edge_of_the_tile": [repaired(
        "out of bounds", 8, 63,
        "tile[t + 1]", "(i + 1 == n ? 0 : t < 63 ? tile[t + 1] : x[i + 1])")],
    "absent_lanes": [repaired(
        "barrier", 4, 31, "if (lane < n) {\n", "{\n", "x[lane]", "0",
        "        for", "        if (lane < n) v = x[lane];\n        for")],
    "histogram": [HALVES],
    "scan": [BARRIERS],
    "compact": [JUMPS],
}

WRONG = {
    "transpose": [
        (NAIVE, "sectors where 4.0 would do"),
        (SWIZZLED.replace("tx ^ r", "tx").replace("r ^ tx", "r"), "32.0 wavefronts (bank"),
        (SWIZZLED.replace("[32][32]", "[16][32]"), "outside a shared array"),
        (SWIZZLED.replace("z * rows * columns", "z * gridDim.x * gridDim.y * 1024"),
         "values are right, but"),
        (SWIZZLED.replace("int rows, int columns", "int rows"), "your transpose takes"),
        (SWIZZLED.replace("    }\n    __syncthreads", "    __syncthreads"), "a `}` is missing"),
        (SWIZZLED[:SWIZZLED.index("    __syncthreads")] + "    // YOUR CODE HERE\n}",
         "a result that the kernel never writes"),
        (SWIZZLED.replace("if (i < columns && j < rows) ", ""), "no guard where y is written"),
        (SWIZZLED.replace("= x[", "= 0 * x[table + i * columns + j] + ((volatile const float*)x)["),
         "where 12,288 would do"),
    ],
    "overlap_add": [
        (lambda source: ("lost update", 5, 0, source), "the kind must be one of"),
        (repaired("uninitialised", 5, 0), "the kind of fault is not 'uninitialised'"),
        (repaired("race", 4, 0), "the fault is not in line 4"),
        (repaired("race", 5, 64), "threadIdx.x = 64 is not at fault"),
        (repaired("race", 5, 0), "the repaired source is the broken one"),
        (lambda source: ("race", 5, 0, 7), "must be a str, not an int"),
        (repaired("race", 5, 0, "y[k", "z[k"), "does not compile"),
        (repaired("race", 5, 0, "int hop", "long hop"), "your overlap_add takes"),
        (repaired("race", 5, 0, "+= value", "= 0 * value"), "1648 of 1648 values are wrong"),
        (lambda source: ("race", 5, 0), "got a tuple of 3"),
        (lambda source: ("race", "5", 0, source), "the line must be a number, not '5'"),
        (repaired("Race", 5, 0, "y[k * hop + j] += value", "atomicAdd(y[k * hop + j], value)"),
         "line 5: it takes an address, not a value"),
        (repaired("race", 5, 0, "+= value;", "+= value"), 'a ";" is missing'),
    ],
    "barrier_in_a_branch": [(repaired("race", 10, 32), "not 'race'")],
    "half_a_tile": [
        (repaired("uninitialised", 10, 8, "    if (t == 0)", "    if (t == 1)"), "is at fault"),
        (repaired("uninitialized", 10, 8, "    if (i < n) {\n        tile[t] = x[i];\n    }",
                 "    tile[t] = i < n ? x[i] : -INFINITY;"), "write 3.4e38f")],
    "one_barrier_too_few": [
        (repaired("barrier", 8, 0), "not 'barrier'"),
        (repaired("race", 7, 0, "        __syncthreads();", "        __syncthreads();" * 2),
         "behind the loop it is too late")],
    "edge_of_the_tile": [(repaired("out of bounds", 8, 0), "threadIdx.x = 0 is not at fault")],
    "absent_lanes": [
        (repaired("barrier", 7, 0), "threadIdx.x = 0 is not at fault"),
        (repaired("barrier", 7, 20, "    if (lane < n) {\n        float v = x[lane];",
                 "    {\n        float v; if (lane < n) v = x[lane];"),
         "a `v` that was never set")],
    "histogram": [
        (alone(memory_and_tiles.HISTOGRAM), "hardly one loads"),
        (alone(memory_and_tiles.HISTOGRAM, "blockIdx.x"), "the first block updates most"),
        (r"""
extern "C" __global__ void histogram(const int* x, int* counts, int n) {
    for (int k = threadIdx.x; k < 256; k += blockDim.x) {
        int mine = 0;
        for (int i = blockIdx.x; i < n; i += gridDim.x) mine += x[i] == k;
        if (mine) atomicAdd(&counts[k], mine);
    }
}""", "where 16,384 would do"),
        (memory_and_tiles.HISTOGRAM.replace(
            "value = x[i];", "value = x[i]; ((int*)x)[i] = 0;"), "changed one of its inputs"),
        (r"""
extern "C" __global__ void histogram(const int* x, int* counts, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        if (x[i] >= 0 && x[i] < 256) atomicAdd(&counts[x[i]], 1);
}""", "count in shared memory first"),
        (memory_and_tiles.HISTOGRAM.replace("i < n;", "i <= n;"), "an access outside an array"),
        (replaced(memory_and_tiles.HISTOGRAM, "if (value >= 0 && value < 256) ", "",
                  "&mine[value]", "mine + value"), "values outside 0 to 255"),
    ],
    "scan": [
        (SERIAL, "load requests for 1,024 numbers"),
        (BARRIERS.replace("            __syncthreads();\n            sums", "            sums"),
         "a race"),
        (memory_and_tiles.SCAN.replace("        __syncthreads();\n    }", "    }"), "a race"),
        (BARRIERS.replace("__shared__ int", "__shared__ float"), "values are wrong"),
    ],
    "compact": [
        (JUMPS.replace("i > 0 ? ends[i - 1] : 0", "ends[i - 1]"), "an access outside an array"),
        (JUMPS.replace("ends[i] > before", "true"), "of the kernel compact makes a"),
        (IN_ORDER, "hardly one"),
        (memory_and_tiles.COMPACT.replace("y[ends[i] - 1] = x[i]",
                                          "atomicExch(&y[ends[i] - 1], x[i])"), "uses atomics"),
        (memory_and_tiles.COMPACT.replace("y[ends[i] - 1]", "y[i]"), "of the kernel compact makes"),
        (memory_and_tiles.COMPACT.replace("i < n", "i < n + 1"), "`i <= n` in place of `i < n`"),
    ],
}
