"""The tasks about memory and tiles: transposes, broken kernels, histograms, sums, compaction."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .clinic import KINDS, PATIENTS, Patient
from .machinery.kernel_task import (
    KernelTask,
    blank,
    counters,
    explained,
    to_device,
    undivided,
    wasteful,
    wrong_declaration,
)
from .machinery.task import (
    COMMENT,
    Case,
    Mistake,
    Refusal,
    Task,
    Trial,
    Verdict,
    describe_value,
    difference,
    replaced,
    require_tuple,
)

# transpose: a batch of tables

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
    arguments = (to_device(x), blank((batch, columns, rows), np.float32), np.int32(rows),
                 np.int32(columns))
    return (-(-columns // 32), -(-rows // 32), batch), (32, 8), arguments


def _without_waste(counts: object, x: np.ndarray) -> str | None:
    return wasteful(counts) or undivided(counts, load=x.size, store=x.size)


def _odd_tables(answer: Callable, trials: Sequence[Trial]) -> str | None:
    # Not among the cases, because without a guard the fault here varies from run to run.
    x = np.random.default_rng(72).standard_normal((2, 45, 39), np.float32)
    if sentence := difference(_transpose(x), answer(x), 1e-6):
        return f"for two tables of 45 x 39, which is no multiple of 32, {sentence}"
    return None


transpose = KernelTask(
    "transpose", _transpose, _transpose_cases, launch=_transpose_launch, right=TRANSPOSE, given="",
    parameters="const float* x, float* y, int rows, int columns",
    mistakes=[
        Mistake.replacing("the batch left out: blockIdx.z is the number of the table",
                          "(size_t)blockIdx.z *", "0 *", times=2),
        Mistake.replacing("a missing barrier between writing the tile and reading it",
                          "    __syncthreads();\n", ""),
        Mistake.replacing("the block's numbers not exchanged when y is written: tile (a, b) of x"
                          " becomes tile (b, a) of y",
                          "i = 32 * blockIdx.x + threadIdx.y, j = 32 * blockIdx.y + threadIdx.x",
                          "i = 32 * blockIdx.y + threadIdx.y, j = 32 * blockIdx.x + threadIdx.x"),
        Mistake.replacing("tiles that change places, but are not transposed themselves",
                          "tile[threadIdx.x][threadIdx.y + k];",
                          "tile[threadIdx.y + k][threadIdx.x];"),
        Mistake.replacing("the first row of each eight only: 32 x 8 threads have four floats each",
                          "k < 32", "k < 8", times=2),
        Mistake.replacing("no guard, for tables that are no multiple of 32",
                          "if (i + k < rows && j < columns)", "",
                          "if (i + k < columns && j < rows)", ""),
        Mistake.replacing("no guard where x is read, for tables that are no multiple of 32",
                          "if (i + k < rows && j < columns)", ""),
        Mistake.replacing("no guard where y is written: tiles reach beyond the result",
                          "if (i + k < columns && j < rows)", ""),
        Mistake.replacing("a row of x taken to be `rows` long: it has `columns` elements",
                          "(i + k) * columns + j", "(i + k) * rows + j"),
    ],
    rules=[_odd_tables, counters(_without_waste, np.zeros((2, 64, 96), np.float32))],
)


# overlap_add to absent_lanes: the patients of the clinic, which are kernels with one fault each


class _Source(str):
    """A source that a verdict's sentence shows as three dots."""

    def __repr__(self) -> str:
        return "..."


class Repair(NamedTuple):
    """An answer: a diagnosis and the repaired source, which a call returns."""

    kind: str
    line: int
    thread: int
    code: str

    def __call__(self, source: str) -> tuple:
        return tuple(self)

    def replaced(self, *texts: str, times: int = 1) -> Repair:
        """The same diagnosis with texts replaced in the source; see `task.replaced`."""
        return self._replace(code=replaced(self.code, *texts, times=times))


class RepairTask(Task):
    """A patient of the clinic: the answer is a diagnosis and a repaired source."""

    repeatable = True

    def judge(self, answer: object) -> Verdict:
        """As a Task does, in other words where the answer is right."""
        verdict = super().judge(answer)
        text = verdict.text.removeprefix("for source=...: ")
        return replace(verdict, text="diagnosed and repaired" if verdict.state == "ok" else text)


def _patient(name: str, mistakes: Sequence[Mistake],
             also: Callable[[str], None] = lambda code: None) -> RepairTask:
    """The task of one patient. Its mistakes replace texts in the broken source.

    `also` refuses repairs for a reason of their own.
    """
    patient = PATIENTS[name]
    diagnosis = patient.kind, patient.lines[0], patient.threads[0]

    def spec(source: str) -> str:
        return "repaired"

    def read(value: object, case: Case) -> str:
        _diagnosed(patient, value)
        if isinstance(value[3], str):
            also(value[3])
        _repaired(patient, value[3])
        return "repaired"

    return RepairTask(name, spec, lambda: [(_Source(patient.source),)], read=read,
                      mistakes=mistakes, right=Repair(*diagnosis, patient.source))


def _diagnosed(patient: Patient, value: object) -> None:
    """Refuse another kind, line or thread than the patient's."""
    kind, line, thread, _ = require_tuple(value, "kind", "line", "thread", "repaired source")
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
    """Refuse a source that is no repair."""
    from nogpu import engine

    if not isinstance(code, str):
        raise Refusal(f"the diagnosis is right; the repaired source must be a str, not"
                      f" {describe_value(code)}.")
    if code == patient.source:
        raise Refusal("the diagnosis is right, but the repaired source is the broken one. Did"
                      " `replace` find the text to replace?")
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


def _unset(code: str) -> None:
    """Refuse a variable that only some lanes set.

    The simulator checks memory and no registers. Such a variable may hold the right value there.
    """
    code = COMMENT.sub(" ", code)
    unset = re.search(r"\bfloat\s+(\w+)\s*;", code)
    if unset is None or "else" in code:
        return
    first = re.search(rf"([^;{{}}]*)\b{unset.group(1)}\s*=", code[unset.end():])
    if first and re.search(r"\bif\b", first.group(1)):
        raise Refusal("the diagnosis is right, but in the repaired kernel lanes without an element"
                      f" add a `{unset.group(1)}` that was never set.")


overlap_add = _patient("overlap_add", [
    Mistake.replacing("a barrier, which orders the threads of one block: these are threads of"
                      " several",
                      "    y[k", "    __syncthreads();\n    y[k"),
    Mistake.replacing("an assignment: what the other frames added is lost",
                      "y[k * hop + j] += value", "y[k * hop + j] = value"),
    Mistake.replacing("an atomicAdd with a plain read of y: adding twice what is there",
                      "y[k * hop + j] += value", "atomicAdd(&y[k * hop + j], value + value)"),
])
barrier_in_a_branch = _patient("barrier_in_a_branch", [
    Mistake.replacing("a repair without any barrier: one is needed, outside the branch",
                      "            __syncthreads();\n", ""),
    Mistake.replacing("the barrier in both branches: two barriers in the source are two different"
                      " ones",
                      "            __syncthreads();\n        }",
                      "            __syncthreads();\n        } else __syncthreads();"),
    Mistake.replacing("a step too few: the last one adds tile[1] to tile[0]",
                      "step > 0", "step > 1",
                      "            __syncthreads();\n        }",
                      "        }\n        __syncthreads();"),
])
half_a_tile = _patient("half_a_tile", [
    Mistake.replacing("zeros for what is missing: among negative numbers 0 is the largest",
                      "    if (i < n) {\n        tile[t] = x[i];\n    }",
                      "    tile[t] = i < n ? x[i] : 0;"),
    Mistake.replacing("no guard: the last threads read beyond the end of x", "if (i < n) {", "{"),
    Mistake.replacing("an early return: who returns leaves a place of the tile unwritten",
                      "    if (i < n) {\n        tile[t] = x[i];\n    }",
                      "    if (i >= n) return;\n    tile[t] = x[i];"),
])
one_barrier_too_few = _patient("one_barrier_too_few", [
    Mistake.replacing("the barrier moved: both are needed, one before the tile is read and one"
                      " after",
                      "        __syncthreads();\n        sum += tile[63 - t];",
                      "        sum += tile[63 - t];\n        __syncthreads();"),
    Mistake.replacing("__syncwarp, which orders 32 threads only: the tile is filled by two warps",
                      "sum += tile[63 - t];", "sum += tile[63 - t];\n        __syncwarp();"),
    Mistake.replacing("no barrier between a round's reads and the next round's writes; behind the"
                      " loop it is too late",
                      "    y[t] = sum;", "    __syncthreads();\n    y[t] = sum;"),
])
edge_of_the_tile = _patient("edge_of_the_tile", [
    Mistake.replacing("a longer tile whose last place is never written: it is read all the same",
                      "tile[64]", "tile[65]"),
    Mistake.replacing("0 in place of the next block's element",
                      "tile[t] + tile[t + 1]", "tile[t] + (t < 63 ? tile[t + 1] : 0)"),
    Mistake.replacing("x[i + 1] without a guard of its own, which reads beyond the end of x",
                      "tile[t] + tile[t + 1]", "tile[t] + (t < 63 ? tile[t + 1] : x[i + 1])"),
])
absent_lanes = _patient("absent_lanes", [
    Mistake.replacing("a guard taken away, so that the last lanes read beyond the end of x",
                      "if (lane < n) {", "{"),
    Mistake.replacing("a shorter mask with all the steps: lanes take values from lanes outside the"
                      " mask",
                      "0xffffffffu", "(1u << n) - 1"),
    Mistake.replacing("a barrier put into the branch: the lanes outside it never reach it",
                      "float v = x[lane];", "float v = x[lane];\n        __syncwarp();"),
], also=_unset)


# histogram: numbers outside 0 to 255 are left out

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
    plain = rng.integers(0, 256, 40_000).astype(np.int32)  # more than a short counts
    holes = rng.choice([*range(-3, 300), 65_543, -65_529], 2001).astype(np.int32)
    skewed = np.where(rng.random(2500) < 0.9, 7, rng.integers(0, 256, 2500)).astype(np.int32)
    return [(plain, (3,), (256,)), (plain, (1,), (256,)), (holes, (2,), (256,)),
            (skewed, (3,), (96,)), (holes[:10], (2,), (32,)), (plain[:77], (1,), (1,))]


def _histogram_launch(x: np.ndarray, grid: tuple, block: tuple) -> tuple:
    return grid, block, (to_device(x), to_device(np.zeros(256, np.int32)), np.int32(x.size))


def _few_global_atomics(counts: object, x: np.ndarray, grid: tuple, block: tuple) -> str | None:
    if sentence := undivided(counts, load=4 * x.size):
        return sentence
    requests, enough = counts["global_atomic_requests"], 8 * grid[0]
    if requests > enough:
        return (f"{grid[0]} blocks make {requests} atomic requests to global memory for {x.size:,}"
                f" numbers, {enough} would do: count in shared memory first.")
    return None


histogram = KernelTask(
    "histogram", _histogram, _histogram_cases, launch=_histogram_launch, right=HISTOGRAM, given="",
    parameters="const int* x, int* counts, int n",
    mistakes=[
        Mistake.replacing("a plain addition to the global counters, which several blocks make at"
                          " once",
                          "atomicAdd(&counts[k], mine[k])", "counts[k] += mine[k]"),
        Mistake.replacing("a plain addition in shared memory, or a barrier that is missing there",
                          "atomicAdd(&mine[value], 1)", "mine[value]++"),
        Mistake.replacing("values outside 0 to 255 counted, outside the array",
                          "if (value >= 0 && value < 256) ", ""),
        Mistake.replacing("values outside 0 to 255 counted, outside the array",
                          "if (value >= 0 && value < 256) ", "",
                          "&mine[value]", "mine + value"),
        Mistake.replacing("the value 256 counted as well: 256 counters end at 255",
                          "value < 256", "value <= 256"),
        Mistake.replacing("counters that are not set to zero: shared memory holds what was there"
                          " before",
                          "mine[k] = 0;", ";"),
        Mistake.replacing("one element a thread: with fewer threads than elements the rest is not"
                          " counted",
                          "i += gridDim.x * blockDim.x", "i += n"),
        Mistake.replacing("every block counting everything: start at the block's own first"
                          " element and go on by all threads of the grid",
                          "blockIdx.x * blockDim.x + threadIdx.x", "threadIdx.x",
                          "i += gridDim.x * blockDim.x", "i += blockDim.x"),
        Mistake.replacing("counters cleared as if each block had 256 threads",
                          "for (int k = threadIdx.x; k < 256; k += blockDim.x) mine[k] = 0",
                          "mine[threadIdx.x] = 0"),
    ],
    rules=[counters(_few_global_atomics, np.arange(4096, dtype=np.int32) % 256, (3,), (256,))],
)

# scan: running sums

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
            ] + [(rng.integers(0, 9999, 33_000).astype(np.int32), (64,))]  # beyond a float's digits


def _scan_launch(x: np.ndarray, block: tuple) -> tuple:
    return (1,), block, (to_device(x), blank(x.shape, np.int32), np.int32(x.size))


def _loads_once(counts: object, x: np.ndarray, block: tuple) -> str | None:
    requests, least = counts["global_load_requests"], x.size // 32
    if requests > least:
        return (f"it takes {requests:,} load requests for {x.size:,} numbers, {least} would do:"
                " each is loaded once, 32 at a time by neighbouring lanes.")
    return None


scan = KernelTask(
    "scan", _scan, _scan_cases, launch=_scan_launch, right=SCAN, given="",
    parameters="const int* x, int* y, int n",
    mistakes=[
        Mistake.replacing("every warp begins at zero: the sums of the warps before are missing",
                          "if (w < t / 32) v += of_warp[w];", ""),
        Mistake.replacing("every tile begins at zero: the sum of the tiles before is missing",
                          "v += carried;", ""),
        Mistake.replacing("a sum up to the element before, without the element itself",
                          "y[i] = v;", "y[i] = v - x[i];"),
        Mistake.replacing("lanes that add what is not before them: without `if (lane >= step)`"
                          " the first lanes add themselves",
                          "if (lane >= step) ", ""),
        Mistake.replacing("sums in float, which are whole numbers only up to 16,777,216",
                          "int carried", "float carried",
                          "i = first + t, v =", "i = first + t; float v =",
                          "int before", "float before",
                          "__shared__ int", "__shared__ float"),
        Mistake.replacing("steps of 1 up to 8 only: a warp needs 16 as well",
                          "step < 32", "step < 16"),
        Mistake.replacing("a missing barrier at the end of a tile: the next tile overwrites sums"
                          " that other warps still read",
                          "        __syncthreads();\n    }\n}", "    }\n}"),
        Mistake.replacing("no guard where x is loaded: threads beyond the end scan zeros",
                          "v = i < n ? x[i] : 0", "v = x[i]"),
        Mistake.replacing("no guard where y is written", "if (i < n) y[i]", "y[i]"),
        Mistake.replacing("the shuffle inside the branch: all lanes of the mask must come to it",
                          "int before = __shfl_up_sync(0xffffffffu, v, step);", "",
                          "v += before", "v += __shfl_up_sync(0xffffffffu, v, step)"),
    ],
    rules=[counters(_loads_once, np.ones(1024, np.int32), (128,))],
)

# compact: the elements that a mask keeps

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
    for n, share, grid, block in ((40_000, 0.3, 4, 256), (1000, 0.7, 1, 96), (77, 1.1, 3, 64),
                                  (500, 0.01, 2, 32), (130, 0.5, 1, 1)):
        mask = rng.random(n) < share
        mask[n // 2] = True
        cases.append((rng.standard_normal(n, np.float32), mask, (grid,), (block,)))
    return cases


def _compact_launch(x: np.ndarray, mask: np.ndarray, grid: tuple, block: tuple) -> tuple:
    ends = np.cumsum(mask, dtype=np.int32)
    return grid, block, (to_device(x), to_device(mask), to_device(ends),
                         blank(int(ends[-1]), np.float32), np.int32(x.size))


def _many_lanes(counts: object, x: np.ndarray, mask: np.ndarray, grid: tuple,
                block: tuple) -> str | None:
    if counts["global_atomic_requests"]:
        return "it uses atomics, where each kept element has a place of its own."
    return undivided(counts, load=3 * x.size, store=x.size)


compact = KernelTask(
    "compact", _compact, _compact_cases, launch=_compact_launch, result=3, right=COMPACT, given="",
    parameters="const float* x, const bool* mask, const int* ends, float* y, int n",
    mistakes=[
        Mistake.replacing("one place too far: `ends` counts the element itself, so the first one"
                          " has 1 and goes to place 0",
                          "ends[i] - 1", "ends[i]"),
        Mistake.replacing("elements that are not kept written as well, to the place of the one"
                          " before",
                          "if (mask[i]) y[ends[i] - 1]", "if (ends[i] > 0) y[ends[i] - 1]"),
        Mistake.replacing("elements that stay where they were, with gaps between them",
                          "y[ends[i] - 1] = x[i]", "if (i < ends[n - 1]) y[i] = x[i]"),
        Mistake.replacing("one element a thread: with fewer threads than elements the rest is"
                          " left out",
                          "i += gridDim.x * blockDim.x", "i += n"),
        Mistake.replacing("the places used to read x: `ends` says where to write",
                          "y[ends[i] - 1] = x[i]", "if (i < ends[n - 1]) y[i] = x[ends[i] - 1]"),
        Mistake.replacing("`i <= n` in place of `i < n`, or no guard: an element too many",
                          "i < n", "i <= n"),
        Mistake.replacing("elements that are not kept written as well: those before the first kept"
                          " one have no place",
                          "if (mask[i]) ", ""),
    ],
    rules=[counters(_many_lanes, np.arange(1024, dtype=np.float32), np.ones(1024, bool), (4,),
                    (256,))],
)
