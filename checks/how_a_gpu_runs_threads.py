"""What the tasks of "How a GPU runs threads" must satisfy: warps, rounds, bytes in flight."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .machinery.kernel_task import KernelTask, blank, counters, to_device, undivided, wasteful
from .machinery.task import Case, Mistake, Task, Trial


def _branch_cost(taken: np.ndarray, yes: int, no: int) -> int:
    warps = taken.reshape(-1, 32)
    return yes * warps.any(axis=1).sum() + no * (~warps).any(axis=1).sum()


def _conditions() -> list[Case]:
    rng = np.random.default_rng(71)
    mixed = rng.random(320) < 0.04
    ends = np.isin(np.arange(128), (0, 63))  # the first lane alone, the last lane alone
    return [(mixed, 100, 30), (~mixed, 7, 20), (ends, 6, 5), (~ends, 6, 5),
            (np.sort(mixed), 5, 1), (mixed[:32] | True, 9, 4),
            (mixed[:64] & False, 3, 11), (np.repeat(mixed[:10], 32)[::-1], 2, 6)]


branch_cost = Task("branch_cost", _branch_cost, _conditions, mistakes=[  # the lesson's warm-up
    ("each lane paying for its own side; a warp pays for all its lanes",
     lambda taken, yes, no: (yes * taken.sum() + no * (~taken).sum()) / 32),
    ("every warp paying for both sides, also where its lanes agree",
     lambda taken, yes, no: (yes + no) * taken.size // 32),
])

loads_each = Task(  # the lesson's warm-up
    "loads_each", lambda rate, latency, threads: -(-rate * latency // threads),
    lambda: [(500, 600, 100_000), (500, 600, 90_000), (13, 640, 8448), (1, 7, 101), (9, 11, 33),
             (600, 650, 270_336), (43, 1600, 1000), (100, 64, 200), (7, 100, 400)],
    mistakes=[
        ("rounded down: then a few loads are missing",
         lambda rate, latency, threads: rate * latency // threads),
        ("the loads of all threads together", lambda rate, latency, threads: rate * latency),
    ])


def advance(c: np.ndarray, z: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Up to `most` steps for each point: the new z, and how many steps each point took."""
    z, made = z.copy(), np.zeros(len(c), int)
    for _ in range(most):  # float by float: a product of complex numbers may round in two ways
        x, y = z.real.copy(), z.imag.copy()
        going = x * x + y * y <= 4
        z.real = np.where(going, x * x - y * y + c.real, x)
        z.imag = np.where(going, 2 * x * y + c.imag, y)
        made += going
    return z, made


def _in_rounds(c: np.ndarray, limit: int, most: int, advance: Callable) -> np.ndarray:
    steps, z, left = np.zeros(len(c), int), np.zeros_like(c), np.arange(len(c))
    while limit > 0 and len(left):
        k = min(most, limit)
        z, made = advance(c[left], z, k)
        steps[left] += made
        left, z, limit = left[made == k], z[made == k], limit - k
    return steps


def _points() -> list[Case]:
    rng = np.random.default_rng(72)
    c = (rng.uniform(-2.1, 0.6, 600) + 1j * rng.uniform(-1.2, 1.2, 600)).astype(np.complex64)
    return [(c, 40, 8, advance), (c[1::2], 50, 12, advance), (c[abs(c) > 1.5], 30, 5, advance),
            (c[:1], 9, 20, advance), (c[:0], 10, 5, advance),
            (c[::3].astype(np.complex128), 7, 1, advance)]


def _lanes(answer: Callable, c: np.ndarray, limit: int, most: int) -> tuple[int, int, int]:
    """What the calls of `advance` cost: places in warps, calls, and the most steps of one."""
    places, longest = [], [0]

    def counting(c: np.ndarray, z: np.ndarray, k: int) -> tuple:
        z, made = advance(c, z, k)
        longest.append(int(k))
        places.append(32 * np.pad(made, (0, -len(made) % 32)).reshape(-1, 32).max(axis=1).sum())
        return z, made

    answer(c, limit, most, counting)
    return sum(places), len(places), max(longest)


def _full_warps(answer: Callable, trials: Sequence[Trial]) -> str | None:
    for c, limit, most, _ in (trial.case for trial in trials[:2]):
        places, calls, longest = _lanes(answer, c, limit, most)
        wanted = _lanes(_in_rounds, c, limit, most)
        if longest > most or calls > wanted[1]:
            return (f"it calls `advance` {calls} times for up to {longest} steps: {wanted[1]}"
                    f" rounds of up to {most} steps are wanted.")
        if places > 1.02 * wanted[0]:
            return (f"its warps take {places:,} lane steps, where {wanted[0]:,} are enough. Hand"
                    " only those points to `advance` that have steps left, side by side.")
    return None


count_in_rounds = Task(
    "count_in_rounds", lambda c, limit, most, advance: _in_rounds(c, limit, most, advance),
    _points, rules=[_full_warps], time_limit=2.0, mistakes=[
        ("one round only: the points that are still going need further rounds",
         lambda c, limit, most, advance: _in_rounds(c, min(limit, most), most, advance)),
        ("a last round as long as the others; together the rounds have `limit` steps",
         lambda c, limit, most, advance: _in_rounds(c, -(-limit // most) * most, most, advance)),
        ("every round beginning with z = 0; go on with the z of the round before",
         lambda c, limit, most, advance: _in_rounds(
             c, limit, most, lambda c, z, k: advance(c, 0 * z, k))),
    ])


def _rate(k: int, bandwidth: float, latency: float, multiprocessors: int, block: int,
          registers: dict) -> float:
    blocks = min(2048 // block, 65536 // (registers[k] * block))
    return min(bandwidth, multiprocessors * blocks * block * 4 * k / latency)


def _floats(*gpu: object, rate: Callable = _rate) -> int:
    return min(gpu[-1], key=lambda k: (-rate(k, *gpu), k))


_REGISTERS = {1: 16, 2: 20, 4: 28, 8: 44, 16: 76, 32: 140}

floats_a_thread = Task(
    "floats_a_thread",
    lambda bandwidth, latency, multiprocessors, block, registers: _floats(
        bandwidth, latency, multiprocessors, block, registers),
    lambda: [(2100, 600, 132, 256, _REGISTERS), (2100, 600, 132, 768, _REGISTERS),
             (1000, 510, 40, 512, {4: 40, 2: 24, 1: 18}), (9000, 900, 132, 256, _REGISTERS),
             (1801, 600, 132, 256, {1: 16, 2: 32}), (100, 500, 9, 1024, {2: 90, 1: 80}),
             (99999, 800, 9, 683, {3: 30, 4: 32}),
             (99999, 800, 107, 1024, {1: 32, 2: 33, 4: 64, 8: 65}),
             (90000, 1000, 132, 512, {8: 96, 4: 42, 16: 128}), (700, 433, 61, 33, _REGISTERS)],
    mistakes=[
        ("the most floats; they need registers, so fewer threads have room",
         lambda *gpu: max(gpu[-1])),
        ("registers left out: they limit how many blocks have room",
         lambda *gpu: _floats(*gpu[:-1], {k: 1 for k in gpu[-1]})),
        ("parts of a block: a multiprocessor takes whole blocks only",
         lambda *gpu: _floats(*gpu, rate=lambda k, bandwidth, latency, sms, block, registers:
                              min(bandwidth, sms * min(2048, 65536 / registers[k]) * 4 * k
                                  / latency))),
        ("more bytes in flight than the bandwidth can use", lambda *gpu: _floats(1e9, *gpu[1:])),
        ("floats counted as one byte; each takes four", lambda *gpu: _floats(4 * gpu[0], *gpu[1:])),
    ])

JUMP = r"""
extern "C" __global__ void jump(int* next, int* two, int n) {
    int v[4], step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += 4 * step) {
        for (int k = 0; k < 4; k++) if (i + k * step < n) v[k] = next[i + k * step];
        for (int k = 0; k < 4; k++) if (i + k * step < n) v[k] = next[v[k]];
        for (int k = 0; k < 4; k++) if (i + k * step < n) two[i + k * step] = v[k];
    }
}
"""


def _links() -> list[Case]:
    rng = np.random.default_rng(73)
    # In place: each thread has one round, and an element leads to itself or to one of its round,
    # whether the four elements lie as far apart as there are threads or side by side.
    rounds = [1, 2, 3, 0], [3, 1, 2, 0, 7, 5, 6, 4, 11, 9, 10, 8]
    return [*((np.array(x, np.int32), True, (1,), (len(x) // 4,)) for x in rounds), *(
        (rng.permutation(n).astype(np.int32), False, grid, block) for n, grid, block in (
            (4096, (4,), (64,)), (999, (1,), (1,)), (1003, (7,), (57,)), (257, (1,), (128,)),
            (6, (3,), (32,)), (1, (1,), (32,)), (9998, (5,), (1024,)), (70_001, (80,), (256,))))]


def _launch(x: np.ndarray, in_place: bool, grid: tuple, block: tuple) -> tuple:
    links = to_device(x)
    two = links if in_place else blank(len(x), x.dtype)  # in place, a store changes later loads
    return grid, block, (links, two, np.int32(len(x)))


jump = KernelTask(
    "jump", lambda x, in_place, grid, block: x[x], _links, right=JUMP, given="", launch=_launch,
    refused=[("__restrict__", "{} promises that `next` and `two` do not overlap.")], mistakes=[
        ("one round a thread: the rest is never written", "i += 4 * step", "i += n"),
        ("whole rounds only: a thread may have one, two or three elements left", "; i < n",
         "; i + 3 * step < n"),
        ("one step: the element that follows has a follower", "v[k] = next[v[k]]", "v[k] += 0"),
        Mistake("a result stored before all elements of its round were loaded",
                JUMP.replace("4 * step", "step").replace("k < 4", "k < 1")),
    ],
    rules=[counters(lambda counts, x, *rest: undivided(counts, load=2 * len(x), store=len(x))
                    or wasteful(counts) and "neighbouring threads must take neighbouring elements.",
                    np.arange(512, dtype=np.int32), False, (4,), (32,)),
           counters(lambda counts, *rest: undivided(counts),
                    np.arange(128, dtype=np.int32), False, (4,), (32,))],
)
