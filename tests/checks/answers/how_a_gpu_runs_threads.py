"""Right answers besides the solution, and wrong ones that are no known mistake."""

import math

import helpers

helpers.start()

import numpy as np  # noqa: E402
from lone_workers import alone  # noqa: E402

from checks import how_a_gpu_runs_threads as tasks  # noqa: E402


def branch_by_loop(taken, yes, no):
    cost = 0
    for k in range(0, len(taken), 32):
        warp = taken[k:k + 32]
        cost += yes * bool(warp.any()) + no * (not warp.all())
    return cost


def branch_by_counts(taken, yes, no):
    counts = np.add.reduceat(taken.astype(int), range(0, taken.size, 32))
    return yes * np.count_nonzero(counts) + no * np.count_nonzero(counts < 32)


def loads_by_rounding_up(rate, latency, threads):
    return math.ceil(rate * latency / threads)


def loads_by_trying(rate, latency, threads):
    k = 1
    while k * threads / latency < rate:
        k += 1
    return k


def rounds_of_survivors(c, limit, most, advance):
    """Survivors by |z|, in an order of their own."""
    points = [(k, p, 0) for k, p in enumerate(c)][::-1]
    steps, used = np.zeros(len(c), int), 0
    while points and used < limit:
        which, at, z = zip(*points)
        new, made = advance(np.array(at, c.dtype), np.array(z, c.dtype), min(most, limit - used))
        np.add.at(steps, list(which), made)
        used += most
        points = [row for row, z in zip(zip(which, at, new), new) if abs(z) <= 2]
    return steps


def rounds_without_packing(c, limit, most, advance):
    steps, z = np.zeros(len(c), int), np.zeros_like(c)
    for begin in range(0, limit, most):
        z, made = advance(c, z, min(most, limit - begin))
        steps += made
    return steps


def rounds_of_whole_warps(c, limit, most, advance):
    """Drops the warps that are done, and keeps their neighbours' places."""
    steps, z = np.zeros(len(c), int), np.zeros_like(c)
    left = np.arange(len(c))
    for begin in range(0, limit, most):
        z[left], made = advance(c[left], z[left], min(most, limit - begin))
        steps[left] += made
        warps = {k // 32 for k in left[made == min(most, limit - begin)]}
        left = np.array([k for k in left if k // 32 in warps], int)
    return steps


def best_by_loop(bandwidth, latency, multiprocessors, block, registers):
    best, fastest = None, -1
    for floats in sorted(registers):
        blocks = 0
        while ((blocks + 1) * block <= 2048
               and (blocks + 1) * block * registers[floats] <= 65536):
            blocks += 1
        speed = multiprocessors * blocks * block * floats * 4 / latency
        speed = bandwidth if speed > bandwidth else speed
        if speed > fastest:
            best, fastest = floats, speed
    return best


def least_for_full_speed(bandwidth, latency, multiprocessors, block, registers):
    """Right where some number reaches the bandwidth, else the last one."""
    for floats in sorted(registers):
        blocks = min(2048 // block, 65536 // (registers[floats] * block))
        if multiprocessors * blocks * block * 4 * floats >= bandwidth * latency:
            break
    return floats


def rounds_one_too_long(c, limit, most, advance):
    """Keeps each point until a round in which it makes no step."""
    steps, left, z = np.zeros(len(c), int), np.arange(len(c)), np.zeros_like(c)
    for begin in range(0, limit, most):
        z, made = advance(c[left], z, min(most, limit - begin))
        steps[left] += made
        left, z = left[made > 0], z[made > 0]
    return steps


JUMP = r"""
__device__ int after(const int* next, int i) { return next[next[i]]; }

extern "C" __global__ void jump(const int* next, int* two, int n)
{
    const int step = gridDim.x * blockDim.x;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + 3 * step < n; i += 4 * step) {
        int a = after(next, i), b = after(next, i + step);
        int c = after(next, i + 2 * step), d = after(next, i + 3 * step);
        two[i] = a; two[i + step] = b; two[i + 2 * step] = c; two[i + 3 * step] = d;
    }
    for (; i < n; i += step) two[i] = after(next, i);
}
"""
CLAMPED = r"""
extern "C" __global__ void jump(int* next, int* two, int n) {
    int v[4], step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += 4 * step) {
        for (int k = 0; k < 4; k++) v[k] = next[next[min(i + k * step, n - 1)]];
        for (int k = 3; k >= 0; k--) if (i + k * step < n) two[i + k * step] = v[k];
    }
}
"""
GUARDED = r"""
extern "C" __global__ void jump(int* next, int* two, int n) {
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += 4 * step) {
        int j = i + step, k = j + step, m = k + step, a = 0, b = 0, c = 0, d = 0;
        a = next[i]; if (j < n) b = next[j]; if (k < n) c = next[k]; if (m < n) d = next[m];
        a = next[a]; if (j < n) b = next[b]; if (k < n) c = next[c]; if (m < n) d = next[d];
        two[i] = a; if (j < n) two[j] = b; if (k < n) two[k] = c; if (m < n) two[m] = d;
    }
}
"""
QUARTERS = r"""
extern "C" __global__ void jump(int* next, int* two, int n) {
    int threads = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x, v[4];
    int quarter = n / (4 * threads) * threads, rest = 4 * quarter + i;
    for (; i < quarter; i += threads) {
        for (int k = 0; k < 4; k++) v[k] = next[i + k * quarter];
        for (int k = 0; k < 4; k++) v[k] = next[v[k]];
        for (int k = 0; k < 4; k++) two[i + k * quarter] = v[k];
    }
    for (; rest < n; rest += threads) two[rest] = next[next[rest]];
}
"""
HALF_LOADED = r"""
extern "C" __global__ void jump(int* next, int* two, int n) {
    int v[4], step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += 4 * step) {
        for (int k = 0; k < 4; k++) if (i + k * step < n) v[k] = next[i + k * step];
        for (int k = 0; k < 4; k++) if (i + k * step < n) two[i + k * step] = next[v[k]];
    }
}
"""
PAIRS = r"""
extern "C" __global__ void jump(int* next, int* two, int n) {
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += 2 * step) {
        int a = next[next[i]], b = i + step < n ? next[next[i + step]] : 0;
        two[i] = a;
        if (i + step < n) two[i + step] = b;
    }
}
"""
NEIGHBOURS = r"""
extern "C" __global__ void jump(int* next, int* two, int n) {
    int v[4], step = gridDim.x * blockDim.x;
    for (int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x); i < n; i += 4 * step) {
        for (int k = 0; k < 4; k++) if (i + k < n) v[k] = next[next[i + k]];
        for (int k = 0; k < 4; k++) if (i + k < n) two[i + k] = v[k];
    }
}
"""

RIGHT = {
    "branch_cost": [branch_by_loop, branch_by_counts],
    "loads_each": [loads_by_rounding_up, loads_by_trying],
    "count_in_rounds": [rounds_of_survivors],
    "floats_a_thread": [best_by_loop],
    "jump": [JUMP, CLAMPED, GUARDED, QUARTERS],
}
WRONG = {
    "branch_cost": [
        (lambda taken, yes, no: yes * taken.sum() + no * (~taken).sum(), "expected"),
        (lambda taken, yes, no: yes * len(taken) // 32, "expected"),
        (lambda taken, yes, no: (yes + no) * (taken.size // 32) if taken.any() else no,
         "expected"),
        (lambda taken, yes, no: yes * taken.any() + no * (~taken).any(), "expected"),
    ],
    "loads_each": [
        (lambda rate, latency, threads: round(rate * latency / threads), "expected"),
        (lambda rate, latency, threads: rate * latency // threads + 1, "expected"),
        (lambda rate, latency, threads: rate * latency / threads, "expected"),
        (lambda rate, latency, threads: math.ceil(4 * rate * latency / threads), "expected"),
        (lambda rate, latency, threads: math.ceil(rate * threads / latency), "expected"),
        (lambda rate, latency, threads: max(1, rate * latency // threads), "expected"),
        (lambda rate, latency, threads: math.ceil(rate / threads) * latency, "expected"),
    ],
    "count_in_rounds": [
        (rounds_without_packing, "only those points"),
        (rounds_of_whole_warps, "only those points"),
        (rounds_one_too_long, "only those points"),
        (lambda c, limit, most, advance: advance(c, 0 * c, limit)[1], "5 rounds of up to 8 steps"),
        (lambda c, limit, most, advance: rounds_of_survivors(c, limit, 1, advance),
         "5 rounds of up to 8 steps"),
        (lambda c, limit, most, advance: advance(c, 0 * c, most)[0], "expected"),
        (lambda c, limit, most, advance: sorted(rounds_of_survivors(c, limit, most, advance)),
         "expected"),
        (lambda c, limit, most, advance: rounds_of_survivors(c, limit - 1, most, advance),
         "wrong"),
    ],
    "floats_a_thread": [
        (least_for_full_speed, "expected"),
        (lambda bandwidth, latency, multiprocessors, block, registers: math.ceil(
            bandwidth * latency / (4 * multiprocessors * 2048)), "expected"),
        (lambda bandwidth, latency, multiprocessors, block, registers: max(
            registers, key=lambda k: min(2048 // block, 65536 // (registers[k] * block)) * k),
         "expected"),
        (lambda bandwidth, latency, multiprocessors, block, registers: best_by_loop(
            bandwidth, 1000 * latency, multiprocessors, block, registers), "expected"),
        (lambda bandwidth, latency, multiprocessors, block, registers: min(registers),
         "expected"),
        (lambda bandwidth, latency, multiprocessors, block, registers: max(
            sorted(registers), key=lambda k: min(
                bandwidth * latency, multiprocessors * 4 * k * block
                * min(32, 2048 // block, 65536 // (registers[k] * block)))), "expected"),
    ],
    "jump": [
        (alone(JUMP), "hardly one loads"),
        (alone(tasks.JUMP, "blockIdx.x"), "the first block loads most"),
        (PAIRS, "wrong"),
        (HALF_LOADED, "wrong"),
        (JUMP.replace("i + 3 * step", "i + 4 * step"), "wrong"),
        (QUARTERS.replace("n / (4 * threads) * threads", "n / 4"), "the first block loads most"),
        (NEIGHBOURS, "neighbouring threads"),
        (JUMP.replace("4 * step", "step"), "wrong"),
        (JUMP.replace("+ 3 * step < n", "< n"), "an access outside an array"),
        (CLAMPED.replace("k >= 0", "k > 0"), "wrong"),
        (CLAMPED.replace("i += 4 * step", "i += 0"), "does not come to an end"),
        (JUMP.replace("* two", "* __restrict__ two"), "do not overlap"),
        (JUMP.replace("int n)", "long long n)"), "A launch does not convert arguments"),
    ],
}


# One random input of a task: what mutants and solutions are compared on, thousands of times.


def random_branch(rng):
    taken = rng.random(32 * int(rng.integers(1, 12))) < rng.choice([0, 0.02, 0.5, 0.98, 1])
    return np.sort(taken) if rng.random() < 0.3 else taken, *map(int, rng.integers(1, 99, 2))


def random_points(rng):
    n = int(rng.integers(0, 90))
    c = rng.uniform(-2.2, 0.7, n) + 1j * rng.uniform(-1.3, 1.3, n)
    limit, most = map(int, rng.integers(1, [40, 15]))
    return c.astype(np.complex64), limit, most, tasks.advance


def random_gpu(rng):
    floats = np.sort(rng.choice([1, 2, 3, 4, 6, 8, 12, 16, 32], int(rng.integers(1, 7)), False))
    most = np.sort(rng.integers(8, 256, len(floats)))
    return (float(rng.choice([100, 300, 1000, 2100, 4000, 20_000])), float(rng.integers(200, 1200)),
            int(rng.integers(1, 200)), int(32 * rng.integers(1, 33)),
            dict(zip(floats.tolist(), most.tolist())))


def random_links(rng):
    if rng.random() < 0.1:
        threads = int(rng.integers(1, 40))
        links = threads * rng.permutation(4)[:, None] + np.arange(threads)
        return links.ravel().astype(np.int32), True, (1,), (threads,)
    n = int(10 ** rng.uniform(0, 3.7))
    return (rng.integers(0, n, n).astype(np.int32), False, (int(rng.integers(1, 20)),),
            (int(rng.integers(1, 200)),))


INPUTS = {
    "branch_cost": random_branch,
    "loads_each": lambda rng: tuple(map(int, rng.integers(1, [700, 2000, 300_000]))),
    "count_in_rounds": random_points,
    "floats_a_thread": random_gpu,
    "jump": random_links,
}
