"""What the tasks of "One kernel reads" must satisfy: layers that share a kernel, and its limits."""

from __future__ import annotations

import numpy as np

from helpers import network

from .machinery.kernel_task import KernelTask, blank, counters, to_device, undivided
from .machinery.task import Case, Task

# three warm-ups: bytes of a chain, blocks on a multiprocessor, clocks of a layer; a task: fragments

moved = Task(
    "moved", lambda floats: (8 * sum(floats) - 4 * (floats[0] + floats[-1]),
                             4 * (floats[0] + floats[-1])),
    lambda: [([64, 2048, 2048],), ([64, 2048, 2048, 512, 10],), ([5, 7],), ([1, 9, 2, 30],)],
    mistakes=[("each array once: one kernel writes it, and the next one reads it",
               lambda floats: (4 * sum(floats), 4 * (floats[0] + floats[-1]))),
              ("each array twice: nothing writes the first one, and nothing reads the last one",
               lambda floats: (8 * sum(floats), 4 * (floats[0] + floats[-1])))])


def _fits(threads, registers, shared, *, reserved=1024, places=2048, numbers=65536) -> int:
    return min(32, places // threads, numbers // (registers * threads),
               233_472 // (shared + reserved))


fits = Task(
    "fits", _fits, lambda: [(256, 80, 59_392), (256, 128, 115_200), (512, 24, 0), (64, 168, 9_000),
                            (32, 16, 1_001), (96, 40, 76_800), (64, 32, 9_127)],
    right=_fits,
    mistakes=[("the bytes that each block takes for the system left out", {"reserved": 0}),
              ("no limit of threads", {"places": 2**20}),
              ("no limit of registers", {"numbers": 2**30})])


def _clocks(inputs: int, rows: int, columns: int, *, wide: int = 4, lanes: int = 32) -> tuple:
    path, weights = inputs * (rows + columns // 4 * wide) + columns, columns // 4 * wide
    return path, inputs * rows * columns * lanes / 128, (inputs - 1) * weights


clocks = Task(
    "clocks", _clocks, lambda: [(48, 2, 4), (100, 8, 8), (7, 1, 16), (40, 5, 12)], right=_clocks,
    mistakes=[("a float4 in one clock: 32 lanes get 512 bytes, a clock has 128", {"wide": 1}),
              ("the multiply-adds of one lane: a warp has 32 lanes", {"lanes": 1})])


def _fragments(rows: int, columns: int, outputs: int, *, steps: int = 18, edge: int = 2) -> tuple:
    pixels, wide, around = rows * columns, outputs // 16, (rows + edge) * (columns + edge)
    return steps * (wide + pixels), steps * wide * pixels, steps * wide + 2 * around


fragments = Task(
    "fragments", _fragments, lambda: [(1, 1, 48), (2, 4, 16), (3, 1, 256), (2, 3, 32)],
    right=_fragments,
    mistakes=[("nine steps: 32 channels go in, and a fragment has 16 of them", {"steps": 9}),
              ("only a warp's own pixels: neighbours lie around them, too", {"edge": 0})])

# pooled: GELU, the maximum and the positions at the end of a convolution

STAGE = r"""
__device__ float gelu(float z) {
    return z / (1 + expf(-1.5957691f * z - 0.0713548f * z * z * z));
}

extern "C" __global__ void pooled(const float* x, const float* w, const float* bias,
                                  const float* position, float* y, int n) {
    int pixel = threadIdx.x, digit = 4 * blockIdx.x + threadIdx.y;
    float sum[8];
    for (int o = 0; o < 8; o++) sum[o] = bias[o];
    for (int k = 0; k < 9; k++) {
        int i = pixel / 8 + k / 3 - 1, j = pixel % 8 + k % 3 - 1;
        bool inside = digit < n && i >= 0 && i < 8 && j >= 0 && j < 8;
        float v = inside ? x[64 * digit + 8 * i + j] : 0;
        for (int o = 0; o < 8; o++) sum[o] += w[9 * o + k] * v;
    }
}
"""
POOLED = STAGE[:-2] + r"""    __shared__ float tile[4][8][64];
    for (int o = 0; o < 8; o++) tile[threadIdx.y][o][pixel] = gelu(sum[o]);
    __syncthreads();
    for (int k = pixel; k < 128 && digit < n; k += 64) {
        int p = k / 8, o = k % 8;
        const float* v = &tile[threadIdx.y][o][p / 4 * 16 + p % 4 * 2];
        float most = fmaxf(fmaxf(v[0], v[1]), fmaxf(v[8], v[9]));
        y[128 * digit + k] = most + position[k];
    }
}
"""


def _random(*shapes: tuple[int, ...]) -> Case:
    rng = np.random.default_rng(17)
    return tuple(rng.standard_normal(shape, np.float32) for shape in shapes)


pooled = KernelTask(
    "pooled", lambda x, w, bias, position: position + network.max_pool(
        network.gelu(network.patches(x[..., None], 3, 3) @ w.T + bias)).reshape(len(x), 16, 8),
    lambda: [_random((n, 8, 8), (8, 9), (8,), (16, 8)) for n in (18, 8, 1)],
    launch=lambda *case: ((-(-len(case[0]) // 4),), (64, 4), (
        *map(to_device, case), blank((len(case[0]), 16, 8), np.float32), np.int32(len(case[0])))),
    result=4, right=POOLED, given=STAGE, rtol=1e-5, single=True,
    mistakes=[
        ("GELU after the maximum: GELU falls below -0.75, so the largest number need not have the"
         " largest GELU", "= gelu(sum[o])", "= sum[o]", "most + position", "gelu(most) + position"),
        ("four neighbours in a row: a position has two pixels of each of two rows", "v[8], v[9]",
         "v[2], v[3]"),
        ("no barrier between writing shared memory and reading it", "    __syncthreads();\n", ""),
        ("no guard for the last block: n need not be a multiple of 4", " && digit < n; k", "; k")],
    rules=[counters(lambda counts, x, *_: undivided(counts, store=128 * len(x)))])

# layers: equal layers in one kernel, whose blocks recompute what they cannot exchange

LAYERS = r"""
extern "C" __global__ void layers(const float* x, const float* w, float* y, int n, int depth) {
    __shared__ float tile[2][256 + 2 * 8];
    int first = 256 * blockIdx.x - depth, length = 256 + 2 * depth;
    for (int k = threadIdx.x; k < length; k += 256) {
        int i = first + k;
        tile[0][k] = i >= 0 && i < n ? x[i] : 0;
    }
    for (int layer = 0; layer < depth; layer++) {
        const float *from = tile[layer % 2], *v = w + 4 * layer;
        float* to = tile[1 - layer % 2];
        __syncthreads();
        for (int k = threadIdx.x + layer + 1; k < length - layer - 1; k += 256) {
            int i = first + k;
            float z = v[0] * from[k - 1] + v[1] * from[k] + v[2] * from[k + 1] + v[3];
            to[k] = i < 0 || i >= n ? 0 : z > 0 ? z : 0.1f * z;
        }
    }
    int k = threadIdx.x + depth;  // computed by this thread
    if (first + k < n) y[first + k] = tile[depth % 2][k];
}
"""


def _layers(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    for a, b, c, bias in w:
        padded = np.pad(x, 1)
        z = a * padded[:-2] + b * x + c * padded[2:] + bias
        x = np.where(z > 0, z, np.float32(0.1) * z)
    return x


def _halo_once(counts: object, x: np.ndarray, w: np.ndarray) -> str | None:
    loads = sum(line.accesses for line in counts.lines
                if (line.access, line.array) == ("load", "x"))
    most = sum(min(len(x), first + 256 + len(w)) - max(0, first - len(w))
               for first in range(0, len(x), 256))
    if loads > most:
        return (f"it loads {loads:,} numbers of x, where {most:,} are enough: a block needs its"
                " 256 numbers, and `depth` more on each side, once.")
    return undivided(counts, store=len(x))


layers = KernelTask(
    "layers", _layers, lambda: [_random((n,), (depth, 4)) for n, depth in
                                ((1000, 3), (512, 1), (700, 8), (5, 4), (257, 2))],
    launch=lambda x, w: ((-(-len(x) // 256),), (256,), (
        to_device(x), to_device(w), blank(len(x), np.float32), *map(np.int32, (len(x), len(w))))),
    result=2, right=LAYERS, given="", single=True, rtol=1e-5,
    mistakes=[
        ("zeros outside of x in the first layer only: every layer has zeros there",
         "i < 0 || i >= n ? 0 : ", ""),
        ("no halo: a block's first and last number need neighbours of other blocks",
         "i >= 0 && i < n ?", "k >= depth && k < length - depth && i < n ?"),
        ("a halo of one number: each further layer needs one more on each side",
         "i >= 0 && i < n ?", "i >= 0 && i < n && k >= depth - 1 && k <= length - depth ?"),
        ("a missing barrier between two layers", "        __syncthreads();\n", "")],
    rules=[counters(_halo_once)])

# choose: how many layers a kernel should have


def _choose(n, depth, operations, bandwidth, flops, launch, *, halo=2, both=max) -> tuple:
    """The best k and the seconds; each of the keywords changes one thing."""
    def seconds(k: int) -> float:
        memory = 4 * n * (2 + halo * k / 256) / bandwidth
        work = n * operations * sum(1 + halo * j / 256 for j in range(k)) / flops
        return depth // k * (launch + both(memory, work))

    best = min((k for k in range(1, depth + 1) if depth % k == 0), key=seconds)
    return best, seconds(best)


choose = Task(
    "choose", _choose,
    lambda: [(2**26, 8, 14, 4.8e12, 66.9e12, 2e-6), (2**26, 69, 14, 4.8e12, 66.9e12, 2e-6),
             (2**26, 64, 14, 0.32e12, 8.1e12, 3e-6), (77, 90, 9, 4.8e12, 66.9e12, 2e-6),
             (2**24, 12, 4000, 4.8e12, 66.9e12, 2e-6), (1_000_001, 7, 3, 1e11, 6e13, 0)],
    right=_choose, rtol=1e-9,
    mistakes=[("nothing recomputed: a kernel of k layers also computes numbers beside its 256",
               {"halo": 0}),
              ("memory and arithmetic one after the other: the longer of the two counts",
               {"both": lambda memory, work: memory + work})])
