"""Right answers besides the solution, and wrong ones that are no known mistake."""

from lone_workers import alone

from checks.machinery.task import replaced
from checks.threads_together import COMPACT, HISTOGRAM, SCAN

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

RIGHT = {
    "histogram": [HALVES],
    "scan": [BARRIERS],
    "compact": [JUMPS],
}

WRONG = {
    "histogram": [
        (alone(HISTOGRAM), "hardly one loads"),
        (alone(HISTOGRAM, "blockIdx.x"), "the first block updates most"),
        (r"""
extern "C" __global__ void histogram(const int* x, int* counts, int n) {
    for (int k = threadIdx.x; k < 256; k += blockDim.x) {
        int mine = 0;
        for (int i = blockIdx.x; i < n; i += gridDim.x) mine += x[i] == k;
        if (mine) atomicAdd(&counts[k], mine);
    }
}""", "where 16,384 would do"),
        (HISTOGRAM.replace("value = x[i];", "value = x[i]; ((int*)x)[i] = 0;"),
         "changed one of its inputs"),
        (r"""
extern "C" __global__ void histogram(const int* x, int* counts, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        if (x[i] >= 0 && x[i] < 256) atomicAdd(&counts[x[i]], 1);
}""", "count in shared memory first"),
        (HISTOGRAM.replace("i < n;", "i <= n;"), "an access outside an array"),
        (replaced(HISTOGRAM, "if (value >= 0 && value < 256) ", "", "&mine[value]", "mine + value"),
         "values outside 0 to 255"),
    ],
    "scan": [
        (SERIAL, "load requests for 1,024 numbers"),
        (BARRIERS.replace("            __syncthreads();\n            sums", "            sums"),
         "a race"),
        (SCAN.replace("        __syncthreads();\n    }", "    }"), "a race"),
        (BARRIERS.replace("__shared__ int", "__shared__ float"), "values are wrong"),
    ],
    "compact": [
        (JUMPS.replace("i > 0 ? ends[i - 1] : 0", "ends[i - 1]"), "an access outside an array"),
        (JUMPS.replace("ends[i] > before", "true"), "of the kernel compact makes a"),
        (IN_ORDER, "hardly one"),
        (COMPACT.replace("y[ends[i] - 1] = x[i]", "atomicExch(&y[ends[i] - 1], x[i])"),
         "uses atomics"),
        (COMPACT.replace("y[ends[i] - 1]", "y[i]"), "of the kernel compact makes"),
        (COMPACT.replace("i < n", "i < n + 1"), "`i <= n` in place of `i < n`"),
    ],
}
