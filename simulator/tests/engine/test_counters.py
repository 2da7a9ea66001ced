"""Counters: against Nsight Compute, against closed formulas, equal across compilers."""

from __future__ import annotations

import importlib.util
import json
import math
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from engine_support import GCC, array, launch, pack

from nogpu import engine

NSIGHT = Path(__file__).parent / "nsight"


def _load_cases() -> object:
    spec = importlib.util.spec_from_file_location("nsight_cases", NSIGHT / "cases.py")
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules[spec.name] = module  # its dataclass looks itself up there
    spec.loader.exec_module(module)
    return module


nsight = _load_cases()
CASES = {case.name: case for case in nsight.cases()}
PATTERNS = [name for name in CASES if ":" in name]
# The kernels of the contract. Left out, because a GPU's compiler makes something else of them:
# `ragged` (it unrolls the loop, and uneven lanes part in other places), the tiled products without
# "rolled" (it loads four floats of a row at once), `sum_shared` (it makes a loop of compare and
# swap of an atomicAdd of floats in shared memory).
OTHERWISE = {"ragged", "matmul_tile32", "matmul_tile16", "sum_shared"}
NAMED = [name for name in CASES if ":" not in name and name not in OTHERWISE]


@lru_cache(maxsize=1)
def recorded() -> dict[str, dict]:
    """Nsight Compute's figures, by case."""
    document = json.loads((NSIGHT / "recorded.json").read_text())
    return {row["case"]: row for row in document["launches"]}


@lru_cache(maxsize=32)
def module_of(source: str, compiler: str) -> engine.Module:
    """The module of a case's source; the compiler is that in use."""
    return engine.compile(source)


def count(case: object, compiler: str = "") -> engine.Counts:
    """Launch a case with counters."""
    items = [array(a, f"array {i}") if isinstance(a, np.ndarray) else a
             for i, a in enumerate(case.arguments)]  # fmt: skip
    kernel = module_of(case.source, compiler).kernel(case.kernel)
    # Blocks of the patterns write the same places.
    with engine.checks(race=False):
        counts = kernel.launch(case.grid, case.block, pack(*items), counters=True, time_limit=60)
    for item in items:
        if isinstance(item, engine.Allocation):
            item.free()
    return counts


def metric(name: str, *parts: str) -> float:
    """A sum of Nsight Compute's metrics of a case."""
    return sum(recorded()[name]["metrics"].get(f"{part}.sum", 0) for part in parts)


GLOBAL, SHARED = "pipe_lsu_mem_global_op", "data_pipe_lsu_wavefronts_mem_shared_op"


def check_global(name: str, counts: engine.Counts, operations: tuple[str, ...]) -> None:
    """Requests and sectors are Nsight Compute's, exactly."""
    for ours, theirs in (("load", ("ld",)), ("store", ("st",)), ("atomic", ("atom", "red"))):
        if ours not in operations:
            continue
        requests = metric(name, *[f"l1tex__t_requests_{GLOBAL}_{t}" for t in theirs])
        assert counts[f"global_{ours}_requests"] == requests, (name, ours)
        # Of atomics the hardware counts a sector again for each turn of lanes that meet in one
        # word; the instrumented counter does not, and neither do we.
        prefix = "smsp__sass_l1tex" if ours == "atomic" else "l1tex_"
        sectors = metric(name, *[f"{prefix}_t_sectors_{GLOBAL}_{t}" for t in theirs])
        assert counts[f"global_{ours}_sectors"] == sectors, (name, ours)


def check_shared(name: str, counts: engine.Counts, operations: tuple[str, ...]) -> None:
    """Requests exactly; wavefronts within 3 percent of the hardware's or of the instrumented."""
    for ours, theirs in (("load", "ld"), ("store", "st"), ("atomic", "atom")):
        if ours not in operations:
            continue
        requests = metric(name, f"smsp__sass_inst_executed_op_shared_{theirs}")
        assert counts[f"shared_{ours}_requests"] == requests, (name, ours)
        found = counts[f"shared_{ours}_wavefronts"]
        expected = [metric(name, f"{how}_{SHARED}_{theirs}")
                    for how in ("l1tex_", "smsp__sass_l1tex")]  # fmt: skip
        assert any(abs(found - e) <= 0.03 * e for e in expected), (name, ours, found, expected)


ALL = ("load", "store", "atomic")


@pytest.mark.parametrize("name", NAMED)
def test_named_kernels_count_as_nsight_compute_does(name):
    counts = count(CASES[name])
    check_global(name, counts, ALL)
    check_shared(name, counts, ALL)
    warps = math.prod(CASES[name].block) // 32
    instructions = recorded()[name].get("barrier_instructions")
    if instructions is not None:
        assert counts.barriers * warps == instructions
    assert counts.late == 0


def test_single_warps_with_all_kinds_of_patterns_count_as_nsight_compute_does():
    for name in PATTERNS:
        kernel = CASES[name].kernel
        if kernel == "shared_atomic_float":
            continue  # a loop of compare and swap on a GPU
        counts = count(CASES[name])
        # The GPU's compiler moves the load of what is stored under the `if`.
        check_global(name, counts, ("store", "atomic") if "_write_" in kernel else ALL)
        check_shared(name, counts, ALL)


SMALL = ("copy_float32, cut", "copy_offset 3", "copy_float4", "scale_float4", "saxpy", "own_rows",
         "ragged", "block_sum, cut", "tree_sum_strided", "histogram_shared", "tickets",
         "sum_shared", "matmul_tile32", "matmul_tile16_rolled", "matmul_naive")  # fmt: skip


def test_every_compiler_counts_the_same(compiler):
    if compiler == GCC:
        pytest.skip("it would be compared with itself")
    for name in SMALL:
        counts = count(CASES[name], compiler)
        engine.use_compiler(GCC)
        expected = count(CASES[name], GCC)
        engine.use_compiler(compiler)
        assert counts.as_dict() == expected.as_dict(), name
        assert [line.line for line in counts.lines] == [line.line for line in expected.lines]


# ---- closed formulas -----------------------------------------------------------------------

ACCESS = r"""
template <class T> __global__ void touch(T* x, const int* at, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n && at[t] >= 0) x[at[t]] = T();
}
template <class T> __global__ void touch_shared(const int* at, int n) {
    __shared__ T tile[8192 / sizeof(T)];
    int t = threadIdx.x;
    if (t < n && at[t] >= 0) tile[at[t]] = T();
}
"""
TYPES = {1: "char", 2: "short", 4: "float", 8: "double", 16: "float4"}
NAMES = [f"{kernel}<{kind}>" for kernel in ("touch", "touch_shared") for kind in TYPES.values()]


@pytest.fixture(scope="module")
def touch():
    return engine.compile(ACCESS, names=NAMES)


def warps_of(at: np.ndarray) -> list[np.ndarray]:
    """The lanes that take part, warp by warp, without warps where none does."""
    rows = [at[i : i + 32] for i in range(0, len(at), 32)]
    return [row[row >= 0] for row in rows if (row >= 0).any()]


def test_sectors_of_random_patterns(touch):
    random = np.random.default_rng(5)
    for trial in range(60):
        size = int(random.choice(list(TYPES)))
        n, block = int(random.integers(1, 300)), int(random.choice([32, 64, 50, 128]))
        stride, offset = int(random.integers(1, 40)), int(random.integers(0, 9))
        at = (np.arange(n) * stride + offset).astype(np.int32)
        at[random.random(n) < random.choice([0, 0.3, 0.9])] = -1
        if trial % 3 == 0:
            at = random.permutation(at)
        x = array(np.zeros(16 * 16384, np.uint8), "x")
        index = array(at, "at")
        kernel = touch.kernel(f"touch<{TYPES[size]}>")
        grid = -(-n // block)
        counts = kernel.launch(grid, block, pack(x, index, np.int32(n)), counters=True)
        requests = sectors = 0
        for first in range(0, n, block):
            for row in warps_of(at[first : first + block]):
                requests += 1
                sectors += len(np.unique(row.astype(np.int64) * size // 32))
        assert counts.global_store_requests == requests
        assert counts.global_store_sectors == sectors, (size, stride, offset)
        assert counts.bytes_stored == size * (at >= 0).sum()
        x.free()
        index.free()


def test_wavefronts_of_random_patterns(touch):
    random = np.random.default_rng(6)
    for _ in range(60):
        size = int(random.choice(list(TYPES)))
        slots = 8192 // size
        at = random.permutation(min(slots, int(random.choice([64, 512, 8192]))))[:32]
        at = np.resize(at, 32).astype(np.int32)
        at[random.random(32) < random.choice([0, 0.4])] = -1
        index = array(at, "at")
        kernel = touch.kernel(f"touch_shared<{TYPES[size]}>")
        with engine.checks(race=False):
            counts = kernel.launch(1, 32, pack(index, np.int32(32)), counters=True)
        wavefronts = 0
        for lanes in np.split(at, max(1, size // 4)):  # whole, half or quarter warps
            start = lanes[lanes >= 0].astype(np.int64) * size
            words = np.unique(start[:, None] // 4 + np.arange(max(1, size // 4)))
            wavefronts += np.bincount(words % 32).max() if len(words) else 0
        assert counts.shared_store_wavefronts == wavefronts, (size, at)
        index.free()


def test_uneven_loops_count_round_by_round():
    module = engine.compile(r"""
    __global__ void rounds(const float* x, const int* lengths, float* y) {
        int t = threadIdx.x, n = lengths[t];
        float sum = 0;
        for (int j = 0; j < n; j++) sum += x[j * 32 + t];
        y[t] = sum;
    }""")
    lengths = np.random.default_rng(0).integers(0, 50, 32).astype(np.int32)
    items = [array(np.ones(50 * 32, np.float32), "x"), array(lengths, "lengths"),
             array(np.zeros(32, np.float32), "y")]  # fmt: skip
    counts = module.kernel("rounds").launch(1, 32, pack(*items), counters=True)
    (line,) = [a for a in counts.lines if a.array == "x"]
    assert line.requests == lengths.max()
    sectors = [len({t // 8 for t in range(32) if lengths[t] > j}) for j in range(lengths.max())]
    assert line.sectors == sum(sectors)
    assert line.accesses == lengths.sum()


def test_long_loops_need_little_memory_and_lose_nothing():
    module = engine.compile(r"""
    __global__ void long_loop(const float* x, float* y, int n) {
        float sum = 0;
        for (int i = threadIdx.x; i < n; i += 32) sum += x[i] + x[n - 1 - i];
        y[threadIdx.x] = sum;
    }
    __global__ void alone(const float* x, float* y, int n) {
        float sum = 0;
        for (int i = 0; i < n; i++) sum += x[i];
        y[0] = sum;
    }""")
    n = 32 * 5000
    x, y = array(np.ones(n, np.float32), "x"), array(np.zeros(32, np.float32), "y")
    counts = module.kernel("long_loop").launch(1, 32, pack(x, y, np.int32(n)), counters=True)
    assert (counts.global_load_requests, counts.global_load_sectors) == (10000, 40000)
    assert counts.late == 0
    counts = module.kernel("alone").launch(1, 1, pack(x, y, np.int32(n)), counters=True)
    assert counts.global_load_requests == counts.global_load_sectors == n


def test_lines_name_array_access_and_source(compiler):
    module = engine.compile(r"""
__device__ float table[64];
__constant__ float weight[4];
extern "C" __global__ void lines(const float* x, float* y) {
    extern __shared__ float tile[];
    int t = threadIdx.x;
    tile[t] = x[t] * weight[1];
    __syncthreads();
    y[2 * t] = tile[63 - t] + table[t];
    atomicAdd(&table[0], 1.0f);
}""")
    x, y = array(np.zeros(64, np.float32), "x"), array(np.zeros(128, np.float32), "y")
    with engine.checks(race=False):
        counts = module.kernel("lines").launch(1, 64, pack(x, y), 256, counters=True)
    rows = [(a.line, a.space, a.access, a.array, a.requests, a.sectors, a.wavefronts)
            for a in counts.lines]  # fmt: skip
    assert rows == [
        (7, "global", "load", "x", 2, 8, 0),
        (7, "shared", "store", "tile", 2, 0, 2),
        (9, "global", "load", "table", 2, 8, 0),
        (9, "global", "store", "y", 2, 16, 0),
        (9, "shared", "load", "tile", 2, 0, 2),
        (10, "global", "atomic", "table", 2, 2, 0),
    ]
    assert counts.lines[0].text == "tile[t] = x[t] * weight[1];"
    assert (counts.barriers, counts.warps, counts.blocks) == (1, 2, 1)
    sample = counts.samples[0]
    assert sample.lanes == list(range(32)) and sample.offsets == [4 * i for i in range(32)]


def test_structures_move_in_the_pieces_that_a_gpu_moves(compiler):
    module = engine.compile(r"""
struct Five { float a, b, c, d, e; };
extern "C" __global__ void copy(const float3* x, float3* y, const Five* u, Five* v,
                                const double4* p, double4* q, const double3* r, double3* s) {
    int t = threadIdx.x;
    y[t] = x[t];
    Five five = u[t]; five.a += 1; v[t] = five;
    double4 four = p[t]; four.x += 1; q[t] = four;
    s[t] = r[t];
}""")
    items = [array(np.ones(32 * n, np.float32), name)
             for name, n in zip("xyuvpqrs", (3, 3, 5, 5, 8, 8, 6, 6))]  # fmt: skip
    counts = module.kernel("copy").launch(1, 32, pack(*items), counters=True)
    rows = {a.array: (a.size, a.requests, a.sectors) for a in counts.lines}
    float3, five, double4, double3 = (4, 3, 36), (4, 5, 100), (16, 2, 64), (8, 3, 72)
    assert rows == {"x": float3, "y": float3, "u": five, "v": five, "p": double4, "q": double4,
                    "r": double3, "s": double3}  # fmt: skip
    assert engine.view(items[3].address, 640, np.float32)[0] == 2


# ---- the switch ------------------------------------------------------------------------------


def test_counting_sees_every_launch_also_on_streams():
    module = engine.compile("__global__ void one(float* x) { x[threadIdx.x] = 1; }")
    x = array(np.zeros(64, np.float32), "x")
    kernel = module.kernel("one")
    with engine.counting() as counts:
        kernel.launch(1, 64, pack(x))
        engine.streams.null.launch(kernel, (1,), (64,), pack(x))
    assert counts.launches == 2 and counts.global_store_requests == 4
    assert kernel.launch(1, 64, pack(x)) is None
    assert counts.launches == 2


def test_counting_changes_no_result_and_misses_no_fault():
    module = engine.compile("""
    __global__ void past(float* x) { x[threadIdx.x] = 1; }""")
    x = array(np.zeros(40, np.float32), "x")
    with pytest.raises(engine.GlobalOutOfBounds, match=r"x\[40\]"):
        module.kernel("past").launch(1, 64, pack(x), counters=True)
    with engine.checks(False):
        counts = module.kernel("past").launch(1, 40, pack(x), counters=True)
    assert counts.global_store_requests == 2
    assert (engine.view(x.address, 160, np.float32) == 1).all()


def test_device_variables_are_shared_by_counted_and_other_launches():
    module = engine.compile("__device__ int n = 5; __global__ void add() { n += 1; }")
    kernel = module.kernel("add")
    launch(kernel, 1, 1)
    kernel.launch(1, 1, counters=True)
    launch(kernel, 1, 1)
    found = module.variable("n")
    assert engine.view(found.address, 4, np.int32)[0] == 8


def test_an_unknown_counter_names_those_that_exist():
    counts = engine.Counts()
    with pytest.raises(KeyError, match="global_load_sectors"):
        counts["sectors"]
    with pytest.raises(AttributeError, match="shared_load_wavefronts"):
        _ = counts.wavefronts
