"""Checks of the exercises to lesson 08, Kernels and memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from helpers.clinic import KINDS, PATIENTS, Patient

from .machinery.kernel_task import (
    KernelTask,
    blank,
    counted,
    explained,
    launch,
    on_device,
    wasteful,
    wrong_declaration,
)
from .machinery.task import (
    COMMENT,
    Case,
    Mistake,
    Outcome,
    Refusal,
    Task,
    Verdict,
    a,
    difference,
)


def _changed(source: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert old in source, old
        source = source.replace(old, new)
    return source


# 1. Transpose of a batch

TRANSPOSE = r"""
extern "C" __global__ void transpose(const float* x, float* y, int rows, int columns) {
    __shared__ float tile[32][33];
    x += (size_t)blockIdx.z * rows * columns;
    y += (size_t)blockIdx.z * rows * columns;
    int i = 32 * blockIdx.y + threadIdx.y, j = 32 * blockIdx.x + threadIdx.x;
    for (int k = 0; k < 32; k += 8)
        if (i + k < rows && j < columns)
            tile[threadIdx.y + k][threadIdx.x] = x[(i + k) * columns + j];
    __syncthreads();
    i = 32 * blockIdx.x + threadIdx.y, j = 32 * blockIdx.y + threadIdx.x;
    for (int k = 0; k < 32; k += 8)
        if (i + k < columns && j < rows)
            y[(i + k) * rows + j] = tile[threadIdx.x][threadIdx.y + k];
}
"""


def _transpose(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x.swapaxes(1, 2))


def _transpose_cases() -> list[Case]:
    rng = np.random.default_rng(71)
    return [(rng.standard_normal(shape, np.float32),)
            for shape in ((1, 64, 96), (3, 32, 32), (1, 33, 47), (1, 5, 20), (1, 70, 1))]


def _transpose_launch(x: np.ndarray) -> tuple[tuple, tuple, tuple]:
    batch, rows, columns = x.shape
    arguments = (on_device(x), blank((batch, columns, rows), np.float32), np.int32(rows),
                 np.int32(columns))
    return (-(-columns // 32), -(-rows // 32), batch), (32, 8), arguments


def _run_transpose(kernel: object, x: np.ndarray) -> np.ndarray:
    grid, block, arguments = _transpose_launch(x)
    launch(kernel, grid, block, arguments)
    return arguments[1].get()


def _without_waste(answer: Callable, cases: Sequence[Case],
                   outcomes: Sequence[Outcome]) -> str | None:
    x = np.zeros((2, 64, 96), np.float32)
    counts = counted(answer.kernel, *_transpose_launch(x))
    if sentence := wasteful(counts):
        return sentence
    for access in "load", "store":
        sectors = counts[f"global_{access}_sectors"]
        if sectors > x.nbytes // 32:
            return (f"for {x.size:,} floats it {access}s {sectors:,} sectors, where"
                    f" {x.nbytes // 32:,} would do: {access} each float once.")
    return None


def _odd_tables(answer: Callable, cases: Sequence[Case],
                outcomes: Sequence[Outcome]) -> str | None:
    # Apart from the cases: a kernel without a guard makes now one fault here, now another.
    x = np.random.default_rng(72).standard_normal((2, 45, 39), np.float32)
    if sentence := difference(_transpose(x), answer(x), 1e-6):
        return f"not for a batch of tables that are no multiple of 32: {sentence}"
    return None


transpose = KernelTask(
    "transpose", _transpose, _transpose_cases, run=_run_transpose, given="",
    parameters="const float* x, float* y, int rows, int columns",
    mistakes=[
        Mistake("the batch left out: blockIdx.z is the number of the table", _changed(
            TRANSPOSE, ("(size_t)blockIdx.z *", "0 *"))),
        Mistake("a missing barrier between filling the tile and emptying it",
                _changed(TRANSPOSE, ("    __syncthreads();\n", ""))),
        Mistake("the blocks' numbers not exchanged on the way out: tile (a, b) of x becomes tile"
                " (b, a) of y", _changed(TRANSPOSE, (
                    "i = 32 * blockIdx.x + threadIdx.y, j = 32 * blockIdx.y + threadIdx.x",
                    "i = 32 * blockIdx.y + threadIdx.y, j = 32 * blockIdx.x + threadIdx.x"))),
        Mistake("tiles that change places, but are not transposed themselves", _changed(
            TRANSPOSE, ("tile[threadIdx.x][threadIdx.y + k];",
                        "tile[threadIdx.y + k][threadIdx.x];"))),
        Mistake("the first row of each eight only: 32 x 8 threads have four floats each", _changed(
            TRANSPOSE, ("k < 32", "k < 8"))),
        Mistake("no guard, for tables that are no multiple of 32", _changed(
            TRANSPOSE, ("if (i + k < rows && j < columns)", ""),
            ("if (i + k < columns && j < rows)", ""))),
        Mistake("no guard on the way in, for tables that are no multiple of 32", _changed(
            TRANSPOSE, ("if (i + k < rows && j < columns)", ""))),
        Mistake("no guard on the way out, where tiles reach beyond the result", _changed(
            TRANSPOSE, ("if (i + k < columns && j < rows)", ""))),
        Mistake("one row of x taken for `rows` long: it has `columns` elements", _changed(
            TRANSPOSE, ("(i + k) * columns + j", "(i + k) * rows + j"))),
    ],
    rules=[_odd_tables, _without_waste],
)


# 2 to 4 and 8 to 10. Patients

class _Source(str):
    """A source that does not fill a verdict's sentence."""

    def __repr__(self) -> str:
        return "..."


class Treatment(Task):
    """A patient of the clinic: the answer is a diagnosis and a repaired source."""

    repeatable = True

    def judge(self, answer: object) -> Verdict:
        """As a Task, in words for patients."""
        verdict = super().judge(answer)
        text = verdict.text.removeprefix("for source=...: ")
        return replace(verdict, text="diagnosed and repaired" if verdict.state == "ok" else text)


def _treatment(name: str, mistakes: Sequence[Mistake],
               also: Callable[[str], None] = lambda code: None) -> Treatment:
    patient = PATIENTS[name]

    def spec(source: str) -> str:
        return "treated"

    def read(value: object, case: Case) -> str:
        _diagnosed(patient, value)
        if isinstance(value[3], str):
            also(value[3])
        _repaired(patient, value[3])
        return "treated"

    return Treatment(name, spec, lambda: [(_Source(patient.source),)], read=read,
                     mistakes=mistakes)


def _diagnosed(patient: Patient, value: object) -> None:
    """Raise a Refusal unless kind, line and thread are the patient's."""
    if not isinstance(value, tuple) or len(value) != 4:
        got = f"a tuple of {len(value)}" if isinstance(value, tuple) else a(value)
        raise Refusal(f"expected a tuple (kind, line, thread, repaired source), got {got}.")
    kind, line, thread, _ = value
    if isinstance(kind, str):
        kind = kind.lower().replace("uninitialized", "uninitialised")
    if kind not in KINDS:
        raise Refusal(f"the kind must be one of {', '.join(map(repr, KINDS))}, not {kind!r}.")
    if kind != patient.kind:
        raise Refusal(f"the kind of fault is not {kind!r}.")
    if not isinstance(line, (int, np.integer)):
        raise Refusal(f"the line must be a number, not {line!r}.")
    if line not in patient.lines:
        raise Refusal(f"the fault is not in line {line!r}.")
    if isinstance(thread, tuple) and thread:
        thread = thread[0]
    if not isinstance(thread, (int, np.integer)) or thread not in patient.threads:
        raise Refusal(f"kind and line are right, but the thread with threadIdx.x = {thread!r} is"
                      " not at fault.")


def _repaired(patient: Patient, code: object) -> None:
    """Raise a Refusal unless the source is a repair."""
    from nogpu import engine

    if not isinstance(code, str):
        raise Refusal(f"the diagnosis is right; the repaired source must be a str, not {a(code)}.")
    if code == patient.source:
        raise Refusal("the diagnosis is right, but the repaired source is the broken one. Did"
                      " `replace` find what it should replace?")
    declared = re.search(rf"\b{patient.name}\s*\(([^)]*)\)", patient.source).group(1)
    if sentence := wrong_declaration(code, patient.name, declared):
        raise Refusal(f"the diagnosis is right, but {sentence}")
    for seed in 7, 8:
        try:
            report = patient.examine(code, seed, counters=False)
        except engine.CompileError as error:
            raise Refusal("the diagnosis is right, but the repaired source is at fault:"
                          f" {explained(error, patient.name)}") from None
        if report.fault is not None:
            raise Refusal("the diagnosis is right, but the repaired kernel is at fault:"
                          f" {explained(report.fault, patient.name)}")
        expected = patient.expected(seed)
        got = list(report.arrays.values())[patient.arguments(seed)[1]]
        if sentence := difference(expected, got, 1e-6):
            raise Refusal(f"the diagnosis is right and the repair has no fault, but {sentence}")


def _as(name: str, kind: str, line: int, thread: int, *changes: tuple[str, str]) -> Callable:
    """An answer: this diagnosis, and these changes of the source."""
    repaired = _changed(PATIENTS[name].source, *changes)
    return lambda source: (kind, line, thread, repaired)


def _unset(code: str) -> None:
    """Raise a Refusal for a variable that only some lanes set.

    The simulator follows memory, not registers: there it holds anything, also what is right.
    """
    code = COMMENT.sub(" ", code)
    unset = re.search(r"\bfloat\s+(\w+)\s*;", code)
    if unset is None or "else" in code:
        return
    first = re.search(rf"([^;{{}}]*)\b{unset.group(1)}\s*=", code[unset.end():])
    if first and re.search(r"\bif\b", first.group(1)):
        raise Refusal("the diagnosis is right, but in the repaired kernel lanes without an element"
                      f" add a `{unset.group(1)}` that nobody has set.")


overlap_add = _treatment("overlap_add", [
    Mistake("a barrier, which orders the threads of one block: these are threads of several",
            _as("overlap_add", "race", 5, 0, ("    y[k", "    __syncthreads();\n    y[k"))),
    Mistake("an assignment: what the other frames added is lost",
            _as("overlap_add", "race", 5, 0, ("y[k * hop + j] += value",
                                              "y[k * hop + j] = value"))),
    Mistake("an atomicAdd with a plain read of y: adding twice what is there",
            _as("overlap_add", "race", 5, 0, ("y[k * hop + j] += value",
                                              "atomicAdd(&y[k * hop + j], value + value)"))),
])
barrier_in_a_branch = _treatment("barrier_in_a_branch", [
    Mistake("a repair without any barrier: it was needed, only not there",
            _as("barrier_in_a_branch", "barrier", 10, 32,
                ("            __syncthreads();\n", ""))),
    Mistake("the barrier in both branches: two barriers in the source are two different ones",
            _as("barrier_in_a_branch", "barrier", 10, 32,
                ("            __syncthreads();\n        }",
                 "            __syncthreads();\n        } else __syncthreads();"))),
    Mistake("a step too few: the last one adds tile[1] to tile[0]",
            _as("barrier_in_a_branch", "barrier", 10, 32, ("step > 0", "step > 1"),
                ("            __syncthreads();\n        }",
                 "        }\n        __syncthreads();"))),
])
half_a_tile = _treatment("half_a_tile", [
    Mistake("zeros for what is missing: among negative numbers 0 is the largest",
            _as("half_a_tile", "uninitialised", 10, 8,
                ("    if (i < n) {\n        tile[t] = x[i];\n    }",
                 "    tile[t] = i < n ? x[i] : 0;"))),
    Mistake("no guard: the last threads read beyond the end of x",
            _as("half_a_tile", "uninitialised", 10, 8, ("if (i < n) {", "{"))),
    Mistake("an early return: who leaves is missed at the barrier",
            _as("half_a_tile", "uninitialised", 10, 8,
                ("    if (i < n) {\n        tile[t] = x[i];\n    }",
                 "    if (i >= n) return;\n    tile[t] = x[i];"))),
])
one_barrier_too_few = _treatment("one_barrier_too_few", [
    Mistake("the barrier moved: both are needed, one before the tile is read and one after",
            _as("one_barrier_too_few", "race", 7, 0,
                ("        __syncthreads();\n        sum += tile[63 - t];",
                 "        sum += tile[63 - t];\n        __syncthreads();"))),
    Mistake("__syncwarp, which orders 32 threads only: the tile is filled by two warps",
            _as("one_barrier_too_few", "race", 7, 0,
                ("sum += tile[63 - t];", "sum += tile[63 - t];\n        __syncwarp();"))),
    Mistake("no barrier between a round's reads and the next round's writes; behind the loop it is"
            " too late",
            _as("one_barrier_too_few", "race", 7, 0,
                ("    y[t] = sum;", "    __syncthreads();\n    y[t] = sum;"))),
])
edge_of_the_tile = _treatment("edge_of_the_tile", [
    Mistake("a longer tile that nobody fills: its last place is read before it is written",
            _as("edge_of_the_tile", "out of bounds", 8, 63, ("tile[64]", "tile[65]"))),
    Mistake("0 in place of the next block's element",
            _as("edge_of_the_tile", "out of bounds", 8, 63,
                ("tile[t] + tile[t + 1]", "tile[t] + (t < 63 ? tile[t + 1] : 0)"))),
    Mistake("x[i + 1] without a guard of its own, which leaves x at its end",
            _as("edge_of_the_tile", "out of bounds", 8, 63,
                ("tile[t] + tile[t + 1]", "tile[t] + (t < 63 ? tile[t + 1] : x[i + 1])"),
                ("i < n", "i <= n - 1"))),
])
absent_lanes = _treatment("absent_lanes", [
    Mistake("a guard taken away, so that the last lanes read beyond the end of x",
            _as("absent_lanes", "barrier", 7, 20, ("if (lane < n) {", "{"))),
    Mistake("a shorter mask with all the steps: lanes take values from lanes that are not there",
            _as("absent_lanes", "barrier", 7, 20, ("0xffffffffu", "(1u << n) - 1"))),
    Mistake("a barrier put into the branch: there are threads that never reach it",
            _as("absent_lanes", "barrier", 7, 20, ("float v = x[lane];",
                                                   "float v = x[lane];\n        __syncwarp();"))),
], also=_unset)


# 5. Histogram with holes

HISTOGRAM = r"""
extern "C" __global__ void histogram(const int* x, int* counts, int n) {
    __shared__ int mine[256];
    for (int k = threadIdx.x; k < 256; k += blockDim.x) mine[k] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int value = x[i];
        if (value >= 0 && value < 256) atomicAdd(&mine[value], 1);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < 256; k += blockDim.x) atomicAdd(&counts[k], mine[k]);
}
"""


def _histogram(x: np.ndarray, grid: tuple, block: tuple) -> np.ndarray:
    return np.bincount(x[(x >= 0) & (x < 256)], minlength=256).astype(np.int32)


def _histogram_cases() -> list[Case]:
    rng = np.random.default_rng(75)
    plain = rng.integers(0, 256, 3000).astype(np.int32)
    holes = rng.integers(-3, 300, 2001).astype(np.int32)
    skewed = np.where(rng.random(2500) < 0.9, 7, rng.integers(0, 256, 2500)).astype(np.int32)
    return [(plain, (3,), (256,)), (plain, (1,), (256,)), (holes, (2,), (256,)),
            (skewed, (3,), (96,)), (holes[:10], (2,), (32,))]


def _run_histogram(kernel: object, x: np.ndarray, grid: tuple, block: tuple) -> np.ndarray:
    counts = on_device(np.zeros(256, np.int32))
    launch(kernel, grid, block, (on_device(x), counts, np.int32(x.size)))
    return counts.get()


def _few_global_atomics(answer: Callable, cases: Sequence[Case],
                        outcomes: Sequence[Outcome]) -> str | None:
    x, grid = np.arange(4096, dtype=np.int32) % 256, 3
    counts = counted(answer.kernel, (grid,), (256,), (on_device(x),
                                                      on_device(np.zeros(256, np.int32)),
                                                      np.int32(x.size)))
    requests = counts["global_atomic_requests"]
    if requests > 8 * grid:
        return (f"{grid} blocks make {requests} atomic requests to global memory for {x.size:,}"
                f" numbers, {8 * grid} would do: count in shared memory first.")
    return None


histogram = KernelTask(
    "histogram", _histogram, _histogram_cases, run=_run_histogram, given="",
    parameters="const int* x, int* counts, int n",
    mistakes=[
        Mistake("a plain addition to the global counters, which several blocks make at once",
                _changed(HISTOGRAM, ("atomicAdd(&counts[k], mine[k])", "counts[k] += mine[k]"))),
        Mistake("a plain addition in shared memory, or a barrier that is missing there",
                _changed(HISTOGRAM, ("atomicAdd(&mine[value], 1)", "mine[value]++"))),
        Mistake("values outside 0 to 255 counted, outside the array",
                _changed(HISTOGRAM, ("if (value >= 0 && value < 256) ", ""))),
        Mistake("values outside 0 to 255 counted, outside the array",
                _changed(HISTOGRAM, ("if (value >= 0 && value < 256) ", ""),
                         ("&mine[value]", "mine + value"))),
        Mistake("the value 256 counted as well: 256 counters end at 255",
                _changed(HISTOGRAM, ("value < 256", "value <= 256"))),
        Mistake("counters that nobody has set to zero: shared memory begins with what was there",
                _changed(HISTOGRAM, ("mine[k] = 0;", ";"))),
        Mistake("one element a thread: with fewer threads than elements the rest is not counted",
                _changed(HISTOGRAM, ("i += gridDim.x * blockDim.x", "i += n"))),
        Mistake("every block counting everything: start at the block's own first element and go on"
                " by all threads of the grid", _changed(
                    HISTOGRAM, ("blockIdx.x * blockDim.x + threadIdx.x", "threadIdx.x"),
                    ("i += gridDim.x * blockDim.x", "i += blockDim.x"))),
        Mistake("counters cleared as if each block had 256 threads", _changed(
            HISTOGRAM, ("for (int k = threadIdx.x; k < 256; k += blockDim.x) mine[k] = 0",
                        "mine[threadIdx.x] = 0"))),
    ],
    rules=[_few_global_atomics],
)

# 6. Running sums

SCAN = r"""
extern "C" __global__ void scan(const int* x, int* y, int n) {
    __shared__ int of_warp[32];
    int t = threadIdx.x, lane = t % 32, warps = blockDim.x / 32;
    int carried = 0;
    for (int first = 0; first < n; first += blockDim.x) {
        int i = first + t, v = i < n ? x[i] : 0;
        for (int step = 1; step < 32; step *= 2) {
            int before = __shfl_up_sync(0xffffffffu, v, step);
            if (lane >= step) v += before;
        }
        if (lane == 31) of_warp[t / 32] = v;
        __syncthreads();
        v += carried;
        for (int w = 0; w < warps; w++) {
            if (w < t / 32) v += of_warp[w];
            carried += of_warp[w];
        }
        if (i < n) y[i] = v;
        __syncthreads();
    }
}
"""


def _scan(x: np.ndarray, block: tuple) -> np.ndarray:
    return np.cumsum(x, dtype=np.int32)


def _scan_cases() -> list[Case]:
    rng = np.random.default_rng(76)
    return [(rng.integers(-50, 100, n).astype(np.int32), (block,))
            for n, block in ((32, 32), (128, 128), (1000, 256), (777, 32), (3, 64), (2049, 1024))
            ] + [(rng.integers(0, 2**20, 300).astype(np.int32), (64,))]  # beyond a float's digits


def _run_scan(kernel: object, x: np.ndarray, block: tuple) -> np.ndarray:
    y = blank(x.shape, np.int32)
    launch(kernel, (1,), block, (on_device(x), y, np.int32(x.size)))
    return y.get()


def _loads_once(answer: Callable, cases: Sequence[Case],
                outcomes: Sequence[Outcome]) -> str | None:
    x = np.ones(1024, np.int32)
    counts = counted(answer.kernel, (1,), (128,), (on_device(x), blank(x.shape, np.int32),
                                                   np.int32(x.size)))
    requests, least = counts["global_load_requests"], x.size // 32
    if requests > least:
        return (f"it takes {requests:,} load requests for {x.size:,} numbers, {least} would do:"
                " each is loaded once, 32 at a time by neighbouring lanes.")
    return None


scan = KernelTask(
    "scan", _scan, _scan_cases, run=_run_scan, parameters="const int* x, int* y, int n", given="",
    mistakes=[
        Mistake("every warp beginning anew: the sums of the warps before are missing",
                _changed(SCAN, ("if (w < t / 32) v += of_warp[w];", ""))),
        Mistake("every tile beginning anew: what the tiles before sum to is missing",
                _changed(SCAN, ("v += carried;", ""))),
        Mistake("a sum up to the element before, without the element itself", _changed(
            SCAN, ("y[i] = v;", "y[i] = v - x[i];"))),
        Mistake("lanes that add what is not before them: without `if (lane >= step)` the first"
                " lanes add themselves", _changed(SCAN, ("if (lane >= step) ", ""))),
        Mistake("sums in float, which are whole numbers only up to 16,777,216", _changed(
            SCAN, ("int carried", "float carried"),
            ("i = first + t, v =", "i = first + t; float v ="), ("int before", "float before"),
            ("__shared__ int", "__shared__ float"))),
        Mistake("steps of 1 up to 8 only: a warp needs 16 as well", _changed(
            SCAN, ("step < 32", "step < 16"))),
        Mistake("a missing barrier at the end of a tile: the next one overwrites sums that others"
                " have not read yet",
                _changed(SCAN, ("        __syncthreads();\n    }\n}", "    }\n}"))),
        Mistake("no guard where x is loaded: threads beyond the end scan zeros", _changed(
            SCAN, ("v = i < n ? x[i] : 0", "v = x[i]"))),
        Mistake("no guard where y is written", _changed(SCAN, ("if (i < n) y[i]", "y[i]"))),
        Mistake("the shuffle inside the branch: all lanes of the mask must come to it", _changed(
            SCAN, ("int before = __shfl_up_sync(0xffffffffu, v, step);", ""),
            ("v += before", "v += __shfl_up_sync(0xffffffffu, v, step)"))),
    ],
    rules=[_loads_once],
)

# 7. Compaction

COMPACT = r"""
extern "C" __global__
void compact(const float* x, const bool* mask, const int* ends, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        if (mask[i]) y[ends[i] - 1] = x[i];
}
"""


def _compact(x: np.ndarray, mask: np.ndarray, grid: tuple, block: tuple) -> np.ndarray:
    return x[mask]


def _compact_cases() -> list[Case]:
    rng = np.random.default_rng(77)
    cases = []
    for n, share, grid, block in ((1000, 0.3, 4, 256), (1000, 0.7, 1, 96), (77, 1.1, 3, 64),
                                  (500, 0.01, 2, 32)):
        mask = rng.random(n) < share
        mask[n // 2] = True
        cases.append((rng.standard_normal(n, np.float32), mask, (grid,), (block,)))
    return cases


def _run_compact(kernel: object, x: np.ndarray, mask: np.ndarray, grid: tuple,
                 block: tuple) -> np.ndarray:
    ends = np.cumsum(mask, dtype=np.int32)
    y = blank(int(ends[-1]), np.float32)
    launch(kernel, grid, block, (on_device(x), on_device(mask), on_device(ends), y,
                                 np.int32(x.size)))
    return y.get()


def _many_lanes(answer: Callable, cases: Sequence[Case],
                outcomes: Sequence[Outcome]) -> str | None:
    n = 1024
    x, mask = np.arange(n, dtype=np.float32), np.ones(n, bool)
    ends = np.cumsum(mask, dtype=np.int32)
    counts = counted(answer.kernel, (4,), (256,), (
        *map(on_device, (x, mask, ends)), blank(n, np.float32), np.int32(n)))
    requests, enough = counts["global_load_requests"], 4 * n // 32
    if requests > enough:
        return (f"it takes {requests:,} load requests for {n:,} elements, {enough} are enough: let"
                " every lane of every warp take elements.")
    return None


compact = KernelTask(
    "compact", _compact, _compact_cases, run=_run_compact, given="",
    parameters="const float* x, const bool* mask, const int* ends, float* y, int n",
    mistakes=[
        Mistake("a place too far: `ends` counts the element itself, so the first has 1 and goes to"
                " place 0", _changed(COMPACT, ("ends[i] - 1", "ends[i]"))),
        Mistake("elements that are not kept written as well, to the place of the one before",
                _changed(COMPACT, ("if (mask[i]) y[ends[i] - 1]",
                                   "if (ends[i] > 0) y[ends[i] - 1]"))),
        Mistake("elements that stay where they were, with gaps between them", _changed(
            COMPACT, ("y[ends[i] - 1] = x[i]", "if (i < ends[n - 1]) y[i] = x[i]"))),
        Mistake("one element a thread: with fewer threads than elements the rest is left out",
                _changed(COMPACT, ("i += gridDim.x * blockDim.x", "i += n"))),
        Mistake("the places taken for sources: x[ends[i] - 1] reads where one should write",
                _changed(COMPACT, ("y[ends[i] - 1] = x[i]",
                                   "if (i < ends[n - 1]) y[i] = x[ends[i] - 1]"))),
        Mistake("`i <= n` in place of `i < n`, or no guard: an element too many", _changed(
            COMPACT, ("i < n", "i <= n"))),
        Mistake("elements that are not kept written as well: those before the first have no place",
                _changed(COMPACT, ("if (mask[i]) ", ""))),
    ],
    rules=[_many_lanes],
)
