"""The task about memory and tiles: a transpose."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .machinery.kernel_task import KernelTask, blank, counters, to_device, undivided, wasteful
from .machinery.task import Case, Mistake, Trial, difference

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
