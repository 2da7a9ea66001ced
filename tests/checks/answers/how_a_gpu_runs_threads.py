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


def lane_by_division(x, y, width):
    number = y * width + x
    return number // 32, number % 32


def lane_by_table(x, y, width):
    threads = [(i, j) for j in range(y + 1) for i in range(width)]
    number = threads.index((x, y))
    return number >> 5, number & 31


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


QUARTERS = r"""
__device__ void pair(float& a, float& b) { float sum = a + b; b = a - b; a = sum; }

extern "C" __global__ void quarters(float* x, int n)
{
    const int q = n / 4;
    int i = q - 1 - (blockIdx.x * blockDim.x + threadIdx.x);
    while (i >= 0) {
        float v[4];
        for (int k = 0; k < 4; k++) v[k] = x[k * q + i];
        pair(v[0], v[1]); pair(v[2], v[3]);
        pair(v[0], v[2]); pair(v[1], v[3]);
        for (int k = 0; k < 4; k++) x[k * q + i] = v[k];
        i -= gridDim.x * blockDim.x;
    }
}
"""

RIGHT = {
    "branch_cost": [branch_by_loop, branch_by_counts],
    "warp_and_lane": [lane_by_division, lane_by_table],
    "count_in_rounds": [rounds_of_survivors],
    "floats_a_thread": [best_by_loop],
    "quarters": [QUARTERS],
}
WRONG = {
    "branch_cost": [
        (lambda taken, yes, no: yes * taken.sum() + no * (~taken).sum(), "expected"),
        (lambda taken, yes, no: yes * len(taken) // 32, "expected"),
        (lambda taken, yes, no: (yes + no) * (taken.size // 32) if taken.any() else no,
         "expected"),
        (lambda taken, yes, no: yes * taken.any() + no * (~taken).any(), "expected"),
    ],
    "warp_and_lane": [
        (lambda x, y, width: (y * width + x) % 32, "expected"),
        (lambda x, y, width: divmod(y * width + x, 32)[::-1], "expected"),
        (lambda x, y, width: divmod(y * 32 + x, 32), "expected"),
        (lambda x, y, width: (y, y * width + x), "expected"),
        (lambda x, y, width: divmod(y * width + x, width), "expected"),
    ],
    "count_in_rounds": [
        (rounds_without_packing, "only those points"),
        (rounds_of_whole_warps, "only those points"),
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
    "quarters": [
        (alone(QUARTERS), "hardly one loads"),
        (alone(tasks.QUARTERS, "blockIdx.x"), "the first block loads most"),
        (QUARTERS.replace("x[k * q + i] = v[k];", "x[k * q + i] = v[k] / 2;"), "wrong"),
        (QUARTERS.replace("pair(v[1], v[3]);", ""), "wrong"),
        (QUARTERS.replace("n / 4", "(n + 3) / 4"), "an access outside an array"),
        (QUARTERS.replace("float sum", "double sum"), "`double` in the source"),
        (QUARTERS.replace("i -= gridDim.x * blockDim.x;", "i -= 0;"), "does not come to an end"),
        (QUARTERS.replace("i >= 0", "i > 0"), "wrong"),
        (QUARTERS.replace("int n)", "long long n)"), "A launch does not convert arguments"),
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


def random_quarters(rng):
    x = rng.integers(-99, 100, int(10 ** rng.uniform(0, 3.7))).astype(np.float32)
    return x, (int(rng.integers(1, 20)),), (int(rng.integers(1, 200)),)


INPUTS = {
    "branch_cost": random_branch,
    "warp_and_lane": lambda rng: tuple(map(int, rng.integers(0, [32, 32, 1]) + [0, 0, 32])),
    "count_in_rounds": random_points,
    "floats_a_thread": random_gpu,
    "quarters": random_quarters,
}
