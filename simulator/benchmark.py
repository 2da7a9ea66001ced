"""How fast the engine is: ``python simulator/benchmark.py [--output FILE.json]``.

Every figure is a ratio of two times taken alternately in one run: this machine's clock is compared
with nothing but itself. The plain loops are C++ at -O2 with as many threads as the engine has
workers. Numba's CUDA simulator is optional: without Numba its rows are left out, and say so.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from nogpu import engine
from nogpu.engine import limits

KERNELS = r"""
#define TILE 16
__global__ void axpy(float a, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
__global__ void product(const float* a, const float* b, float* c, int n) {
    __shared__ float s[TILE][TILE], t[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    float sum = 0;
    for (int k = 0; k < n; k += TILE) {
        s[y][x] = a[row * n + k + x];
        t[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int j = 0; j < TILE; j++) sum += s[y][j] * t[j][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
"""
PLAIN = r"""
#include <thread>
#include <vector>
template <class F> static void spread(int n, int threads, F body) {
    std::vector<std::thread> running;
    for (int t = 0; t < threads; t++)
        running.emplace_back(body, (int)((long)n * t / threads),
                             (int)((long)n * (t + 1) / threads));
    for (auto& thread : running) thread.join();
}
extern "C" void axpy(float a, const float* x, float* y, int n, int threads) {
    spread(n, threads, [=](int from, int to) {
        for (int i = from; i < to; i++) y[i] = a * x[i] + y[i];
    });
}
extern "C" void product(const float* a, const float* b, float* c, int n, int threads) {
    spread(n, threads, [=](int from, int to) {
        for (int i = from; i < to; i++)
            for (int j = 0; j < n; j++) {
                float sum = 0;
                for (int k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j];
                c[i * n + j] = sum;
            }
    });
}
"""
NUMBA = r"""
import json, sys, time
import numpy as np
from numba import cuda, float32

TILE = 16

@cuda.jit
def axpy(a, x, y):
    i = cuda.grid(1)
    if i < x.shape[0]:
        y[i] = a * x[i] + y[i]

@cuda.jit
def product(a, b, c):
    s = cuda.shared.array((TILE, TILE), float32)
    t = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    row, column = cuda.blockIdx.y * TILE + y, cuda.blockIdx.x * TILE + x
    total = 0.0
    for k in range(0, a.shape[0], TILE):
        s[y, x] = a[row, k + x]
        t[y, x] = b[k + y, column]
        cuda.syncthreads()
        for j in range(TILE):
            total += s[y, j] * t[j, x]
        cuda.syncthreads()
    c[row, column] = total

n, m = int(sys.argv[1]), int(sys.argv[2])
x, y = np.ones(n, np.float32), np.zeros(n, np.float32)
a = np.ones((m, m), np.float32)
c = np.zeros_like(a)
start = time.perf_counter()
axpy[n // 256, 256](2.0, x, y)
middle = time.perf_counter()
product[(m // TILE, m // TILE), (TILE, TILE)](a, a, c)
end = time.perf_counter()
assert (y == 2).all() and (c == m).all()
print(json.dumps([middle - start, end - middle]))
"""


def bytes_of(*arguments: object) -> list[bytes]:
    """Raw bytes of a kernel's arguments."""
    return [
        np.uint64(a.address).tobytes()
        if isinstance(a, engine.Allocation)
        else np.asarray(a).tobytes()
        for a in arguments
    ]


def best(*actions: Callable[[], object], rounds: int) -> list[float]:
    """Shortest time of each action in seconds, all taken in turn so that noise meets all alike."""
    times = [[] for _ in actions]
    for _ in range(rounds):
        for action, taken in zip(actions, times):  # noqa: B905 -- equal by construction
            start = time.perf_counter()
            action()
            taken.append(time.perf_counter() - start)
    return [min(taken) for taken in times]


def plain_loops(folder: str) -> ctypes.CDLL:
    """The plain C++ loops, compiled at -O2 by the engine's compiler."""
    found, path = engine.find_compiler(), str(Path(folder, "plain.so"))
    arguments = ["-x", "c++", "-std=c++17", "-O2", "-shared", "-fPIC", "-", "-o", path, "-lpthread"]
    status, log = found.run(arguments, PLAIN)
    if status != 0:
        raise SystemExit(f"the plain loops did not compile:\n{log}")
    return ctypes.CDLL(path)


def with_checks(on: bool, action: Callable[[], object]) -> Callable[[], None]:
    """The action with all checks on, or none."""

    def run() -> None:
        with engine.checks(on):
            action()

    return run


def against_plain_loops(module: engine.Module, rounds: int) -> list[dict]:
    """Element-wise kernel and tiled product against plain loops with as many threads."""
    threads, rows = limits.worker_count(), []
    n, m = 1 << 24, 512
    rng = np.random.default_rng(0)
    hx, hy = rng.random(n, np.float32), np.zeros(n, np.float32)
    ha, hb = rng.random((m, m), np.float32), rng.random((m, m), np.float32)
    hc = np.zeros_like(ha)
    pointer = {id(v): ctypes.c_void_p(v.ctypes.data) for v in (hx, hy, ha, hb, hc)}
    x, y, a, b, c = (engine.allocate(v.nbytes) for v in (hx, hy, ha, hb, hc))
    for allocation, values in ((x, hx), (y, hy), (a, ha), (b, hb)):
        engine.copy_to_device(allocation.address, values)
    one = np.float32(1e-3)
    axpy_arguments = bytes_of(one, x, y, np.int32(n))
    product_arguments = bytes_of(a, b, c, np.int32(m))
    tiles = (m // 16, m // 16)

    def axpy() -> None:
        module.kernel("axpy").launch((n // 256,), (256,), axpy_arguments)

    def product() -> None:
        module.kernel("product").launch(tiles, (16, 16), product_arguments)

    with tempfile.TemporaryDirectory() as folder:
        plain = plain_loops(folder)

        def plain_axpy() -> None:
            plain.axpy(ctypes.c_float(one), pointer[id(hx)], pointer[id(hy)], n, threads)

        def plain_product() -> None:
            plain.product(pointer[id(ha)], pointer[id(hb)], pointer[id(hc)], m, threads)

        cases = [
            ("element-wise, 16M floats", plain_axpy, axpy, (4, 40)),
            ("tiled product, 512", plain_product, product, (3, None)),
        ]
        for name, loop, launch, targets in cases:
            times = best(loop, with_checks(False, launch), with_checks(True, launch), rounds=rounds)
            for label, taken, target in zip(("off", "on"), times[1:], targets):  # noqa: B905
                rows.append(
                    {
                        "what": f"{name}, checks {label}: time / plain loop's time",
                        "ratio": taken / times[0],
                        "target": None if target is None else f"at most {target}",
                        "seconds": [taken, times[0]],
                    }
                )
    result = engine.view(c.address, c.nbytes, np.float32).reshape(m, m)
    if not np.allclose(result, hc, rtol=1e-4):
        raise SystemExit("the product is wrong")
    return rows


def large_product(module: engine.Module, rounds: int) -> list[dict]:
    """The product of two 1024 x 1024 matrices in tiles of 16: seconds.

    On an idle machine the processor's time, shared by the workers, is what a clock shows; on a
    busy one it says what it would show.
    """
    m, workers, rows = 1024, limits.worker_count(), []
    a, c = engine.allocate(4 * m * m), engine.allocate(4 * m * m)
    engine.fill(a.address, 0, a.nbytes)
    arguments = bytes_of(a, a, c, np.int32(m))
    for label, on, target in (("off", False, None), ("on", True, "at most 5")):
        taken = []
        with engine.checks(on):
            for _ in range(max(2, rounds // 2)):
                start, before = time.perf_counter(), time.process_time()
                module.kernel("product").launch((m // 16, m // 16), (16, 16), arguments)
                spent = (time.process_time() - before) / workers
                taken.append((spent, time.perf_counter() - start))
        for what, seconds in zip(("processor's time / workers", "time"), zip(*taken)):  # noqa: B905
            rows.append(
                {
                    "what": f"tiled product, 1024, checks {label}: {what}, seconds",
                    "ratio": min(seconds),
                    "target": target,
                    "seconds": sorted(seconds),
                }
            )
    return rows


def against_numba(module: engine.Module, rounds: int) -> list[dict]:
    """The same kernels at a size that Numba's CUDA simulator can bear."""
    n, m = 1 << 16, 64
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    try:
        done = subprocess.run(
            [sys.executable, "-c", NUMBA, str(n), str(m)],
            env=environment, capture_output=True, text=True, timeout=600, check=True,
        )  # fmt: skip
    except subprocess.CalledProcessError as error:
        reason = (error.stderr.strip().splitlines() or ["no message"])[-1]
        print(f"Numba's CUDA simulator left out: {reason}")
        return []
    theirs = json.loads(done.stdout)
    x, y = engine.allocate(4 * n), engine.allocate(4 * n)
    a, c = engine.allocate(4 * m * m), engine.allocate(4 * m * m)
    for allocation in (x, y, a):
        engine.fill(allocation.address, 0, allocation.nbytes)
    actions = [
        lambda: module.kernel("axpy").launch(
            (n // 256,), (256,), bytes_of(np.float32(2), x, y, np.int32(n))
        ),
        lambda: module.kernel("product").launch(
            (m // 16, m // 16), (16, 16), bytes_of(a, a, c, np.int32(m))
        ),
    ]
    rows = []
    names = (f"element-wise, {n} floats", f"tiled product, {m}")
    for name, action, their in zip(names, actions, theirs):  # noqa: B905
        for label, on, target in (("off", False, 1000), ("on", True, 100)):
            (ours,) = best(with_checks(on, action), rounds=rounds)
            rows.append(
                {
                    "what": f"{name}, checks {label}: Numba's CUDA simulator's time / time",
                    "ratio": their / ours,
                    "target": f"at least {target}",
                    "seconds": [ours, their],
                }
            )
    return rows


def first_results(rounds: int) -> list[dict]:
    """From source text to the first result: a new kernel, and one from the disk cache."""
    x = engine.allocate(4096, unwritten=False)
    engine.fill(x.address, 0, 4096)
    rows = []
    new, cached = [], []
    for k in range(rounds):
        text = f"{KERNELS}\n// {os.getpid()} {k} {time.time()}\n"
        for taken in (new, cached):
            start = time.perf_counter()
            module = engine.compile(text)
            module.kernel("axpy").launch((4,), (256,), bytes_of(np.float32(1), x, x, np.int32(0)))
            taken.append(time.perf_counter() - start)
    for what, taken, target in (("a new kernel", new, 0.6), ("the disk cache", cached, 0.02)):
        rows.append(
            {
                "what": f"source to first result, {what}, checks on: seconds",
                "ratio": min(taken),
                "target": f"at most {target}",
                "seconds": sorted(taken),
            }
        )
    return rows


def main() -> None:
    """Run all benchmarks, print a table, and write a data file if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, help="write the figures to this JSON file")
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    module = engine.compile(KERNELS)
    rows = [
        *against_plain_loops(module, given.rounds),
        *large_product(module, given.rounds),
        *against_numba(module, given.rounds),
        *first_results(given.rounds),
    ]
    width = max(len(row["what"]) for row in rows)
    for row in rows:
        print(f"{row['what']:{width}}  {row['ratio']:10.4g}  {row['target'] or ''}")
    if given.output:
        label = {
            "benchmark": "simulator engine",
            "machine": f"{platform.machine()}, {limits.worker_count()} processors",
            "system": platform.system(),
            "compiler": engine.find_compiler().identity,
            "python": platform.python_version(),
            "rounds": given.rounds,
            "rows": rows,
        }
        given.output.write_text(json.dumps(label, indent=1) + "\n")


if __name__ == "__main__":
    main()
