"""The tasks about memory and tiles: sectors, a transpose, a convolution."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace

import numpy as np

from helpers import kernels, network

from .machinery.kernel_task import KernelTask, blank, counters, to_device, undivided, wasteful
from .machinery.task import Case, Mistake, Task, Trial, difference, replaced

# two warm-ups of the lesson: how far apart two threads are, and the sectors of a request

apart = Task(
    "apart", lambda rows, columns: (4, 4 * rows),
    lambda: [(600, 512), (3, 70), (1, 9), (64, 64)],
    mistakes=[
        ("floats; a float32 has four bytes", lambda rows, columns: (1, rows)),
        ("the length of a row of x: a row of y has `rows` pixels",
         lambda rows, columns: (4, 4 * columns)),
        ("the threads' loads and stores exchanged", lambda rows, columns: (4 * rows, 4)),
        ("two threads whose `threadIdx.y` differ", lambda rows, columns: (4 * columns, 4)),
    ],
)

sectors = Task(
    "sectors", lambda first, step: len({(first + lane * step) // 8 for lane in range(32)}),
    lambda: [(0, 1), (0, 3), (1, 1), (8, 1), (0, 8), (5, 100), (7, 2), (3, 0), (6, 5)],
    mistakes=[
        ("a `first` that is ignored: a request that begins within a sector may need one more",
         lambda first, step: len({lane * step // 8 for lane in range(32)})),
        ("more sectors than lanes: from step 8 on, each lane has a sector of its own",
         lambda first, step: (first + 31 * step) // 8 - first // 8 + 1),
        ("sectors of 32 elements; a sector has 32 bytes, so 8 floats",
         lambda first, step: len({(first + lane * step) // 32 for lane in range(32)})),
    ],
)

# transpose: a batch of tables

TRANSPOSE = replaced(
    kernels.source("transpose"), "#define ROWS 4", "#define ROWS 8",
    "float tile[32][33];", """float tile[32][33];
    x += (size_t)blockIdx.z * rows * columns;
    y += (size_t)blockIdx.z * rows * columns;""")


def _transpose(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x.swapaxes(1, 2))


def _transpose_cases() -> list[Case]:
    rng = np.random.default_rng(71)
    return [(rng.standard_normal(shape, np.float32),)
            for shape in ((1, 64, 96), (3, 32, 32), (1, 33, 47), (1, 5, 20), (1, 33_000, 1))]


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
    mistakes=[
        Mistake.replacing("the batch left out: blockIdx.z is the number of the table",
                          "(size_t)blockIdx.z *", "0 *", times=2),
        ("a missing barrier between writing the tile and reading it", "    __syncthreads();\n", ""),
        ("the block's numbers not exchanged when y is written: tile (a, b) of x becomes tile (b,"
         " a) of y",
         "i = 32 * blockIdx.x + threadIdx.y, j = 32 * blockIdx.y + threadIdx.x",
         "i = 32 * blockIdx.y + threadIdx.y, j = 32 * blockIdx.x + threadIdx.x"),
        ("tiles that change places, but are not transposed themselves",
         "tile[threadIdx.x][threadIdx.y + k];", "tile[threadIdx.y + k][threadIdx.x];"),
        Mistake.replacing("the first row of each eight only: 32 x 8 threads have four floats each",
                          "k < 32", "k < 8", times=2),
        ("no guard where x is read, for tables that are no multiple of 32",
         "if (i + k < rows && j < columns)", ""),
        ("no guard where y is written: tiles reach beyond the result",
         "if (i + k < columns && j < rows)", ""),
        ("a row of x taken to be `rows` long: it has `columns` elements",
         "(i + k) * columns + j", "(i + k) * rows + j"),
    ],
    rules=[_odd_tables, counters(_without_waste, np.zeros((2, 64, 96), np.float32))],
)

# convolution: no patch is stored, and a weight that was loaded serves eight pixels


def _convolution(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    return network.patches(x, 3, 3) @ w


def _convolution_cases() -> list[Case]:
    # A picture lies before the first one, so that a read there is found by its numbers each time.
    rng = np.random.default_rng(73)
    return [(rng.standard_normal((n + 1, 8, 8, channels), np.float32)[1:],
             rng.standard_normal((9 * channels, 32), np.float32))
            for n, channels in ((2, 12), (3, 1), (1, 5), (1, 33))]


def _convolution_launch(x: np.ndarray, w: np.ndarray) -> tuple[tuple, tuple, tuple]:
    n, *_, channels = x.shape
    return (n,), (32, 8), (to_device(x), to_device(w), blank((n, 8, 8, 32), np.float32),
                           np.int32(channels))


def _weights_once(counts: object, x: np.ndarray, w: np.ndarray) -> str | None:
    lines = [line for line in counts.lines if line.space == "global" and line.array in ("w", "y")]
    loads = sum(line.accesses for line in lines if line.access == "load")
    if loads > (most := 8 * len(x) * w.size):
        return (f"a warp loads each weight {loads / most:.1f} times on average, where once would"
                " do: keep the eight sums in registers, and use a weight for all of them.")
    return wasteful(SimpleNamespace(lines=lines)) or undivided(counts)


convolution = KernelTask(
    "convolution", _convolution, _convolution_cases, launch=_convolution_launch, result=2, given="",
    right=kernels.source("convolution"), rtol=1e-5, single=True,
    mistakes=[
        ("the first image only: block k has image k",
         "    x += (size_t)blockIdx.x", "    x += (size_t)0"),
        ("a flipped patch: weight 0 belongs to the pixel above on the left",
         "w[(9 * c + 3 * di + dj", "w[(9 * c + 8 - 3 * di - dj"),
        ("rows and columns of the patch exchanged",
         "w[(9 * c + 3 * di + dj", "w[(9 * c + 3 * dj + di"),
        ("the rows of w taken to be in the order row, column, channel",
         "w[(9 * c + 3 * di + dj)", "w[((3 * di + dj) * channels + c)"),
        ("patches that begin at their pixel: it is the middle of its patch",
         "i + di - 1", "i + di", "j + dj - 1", "j + dj"),
        ("no guard for the columns: beside the image, other rows are read",
         "if (column >= 0 && column < 8)", ""),
    ],
    rules=[counters(_weights_once, np.ones((3, 8, 8, 2), np.float32),
                    np.ones((18, 32), np.float32))],
)
