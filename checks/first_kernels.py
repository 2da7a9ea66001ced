"""The tasks about first kernels: elementwise, raw and reduction kernels, views, indices."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from .machinery.kernel_task import KernelTask, blank, counters, to_device, undivided
from .machinery.task import Case, Trial, difference, replaced


class Recipe(NamedTuple):
    """A kernel object that is made when it is needed, so that importing a lesson's checks (and
    their mistakes) needs no CuPy: `Recipe("ElementwiseKernel", "T x", "T y", "y = x")`."""

    kind: str
    arguments: tuple[str, ...]
    keywords: dict[str, str]

    @classmethod
    def of(cls, kind: str, *arguments: str, **keywords: str) -> Recipe:
        """The recipe of `cupy.<kind>(*arguments, **keywords)`."""
        return cls(kind, arguments, keywords)

    def make(self) -> object:
        """The kernel object itself."""
        import cupy

        return getattr(cupy, self.kind)(*self.arguments, **self.keywords)

    def replaced(self, *texts: str, times: int = 1) -> Recipe:
        """This recipe with texts replaced in its arguments; see `task.replaced`."""
        whole = "\0".join([*self.arguments, *self.keywords.values()])
        parts = replaced(whole, *texts, times=times).split("\0")
        arguments = tuple(parts[:len(self.arguments)])
        return Recipe(self.kind, arguments, dict(zip(self.keywords, parts[len(arguments):])))


# clipped, a warm-up of the lesson: numbers between two limits

clipped = KernelTask(
    "clipped", lambda x, low, high: np.clip(x, low, high),
    lambda: [tuple((9 * part).astype(dtype, order=order) + (2**60 if dtype is np.int64 else 0)
                   for part in (x, low, low + above))  # beyond what a double holds
             for seed, (*shape, above, dtype, order) in enumerate((
                 (7, 5, 1, np.float32, "C"), (40, 1, np.float64, "C"), (2, 3, 4, 2, np.int64, "F")))
             for x, low in [np.random.default_rng(seed).standard_normal((2, *shape))]],
    kind="elementwise", given="",
    right=Recipe.of("ElementwiseKernel", "T x, T low, T high", "T y",
                    "y = x < low ? low : x > high ? high : x", "clipped"),
    mistakes=[
        ("the limits exchanged",
         "x < low ? low : x > high ? high : x", "x < low ? high : x > high ? low : x"),
        ("the lower limit alone", "x > high ? high : x", "x"),
        ("a zero in place of the limit", "? low :", "? 0 :"),
    ],
    rtol=1e-14)

# smooth, a warm-up of the lesson: the mean of three neighbours, by a kernel with two faults

SMOOTH = r"""
extern "C" __global__ void smooth(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1) {
        y[i] = (x[i - 1] + x[i] + x[i + 1]) / 3;
    }
}
"""

smooth = KernelTask(
    "smooth", lambda x, grid, block: np.pad(
        (x[:-2] + x[1:-1] + x[2:]) / np.float32(3), 1)[:len(x)],
    lambda: [(np.random.default_rng(n).standard_normal(n, np.float32), (grid,), (block,))
             for n, grid, block in ((1, 1, 32), (2, 1, 2), (100, 4, 32), (33_000, 165, 201))],
    launch=lambda x, grid, block: (grid, block, (to_device(x), to_device(0 * x), np.int32(x.size))),
    right=SMOOTH,
    given=SMOOTH.replace("n - 1", "n").replace("(x[i - 1] + x[i] + x[i + 1]) / 3",
                                               "1 / 3 * (x[i - 1] + x[i] + x[i + 1])"),
    mistakes=[
        ("1 / 3 between integers, which is 0 in C",
         "(x[i - 1] + x[i] + x[i + 1]) / 3", "1 / 3 * (x[i - 1] + x[i] + x[i + 1])"),
        ("a guard that lets a thread read behind the array", "n - 1", "n"),
        ("the sum in place of the mean", " / 3", ""),
    ],
    rtol=1e-6,
)

# gelu_gradient: what training needs of bias and GELU

GELU_GRADIENT = Recipe.of("ElementwiseKernel", "T x, T bias, T dy", "T dx", """
    T z = x + bias;
    T t = tanh(T(0.7978845608028654) * (z + T(0.044715) * z * z * z));
    T inner = T(0.7978845608028654) * (1 + T(0.134145) * z * z);
    dx = dy * (T(0.5) * (1 + t) + T(0.5) * z * (1 - t * t) * inner)
""", "gelu_gradient")


def _gelu_gradient(x: np.ndarray, bias: np.ndarray, dy: np.ndarray) -> np.ndarray:
    z, c = x + bias, math.sqrt(2 / math.pi)
    t = np.tanh(c * (z + 0.044715 * z * z * z))
    inner = c * (1 + 0.134145 * z * z)
    return dy * (0.5 * (1 + t) + 0.5 * z * (1 - t * t) * inner)


def _gelu_gradient_cases() -> list[Case]:
    rng = np.random.default_rng(61)
    cases = [(2 * rng.standard_normal(shape), rng.standard_normal(shape[-1]),
              rng.uniform(-2, 2, shape)) for shape in ((5, 7), (2, 3, 4, 6), (33,))]
    single = [tuple(array.astype(np.float32) for array in case) for case in cases]
    x, dy = rng.uniform(-20, 20, (6, 9)), rng.uniform(-9, 9, (9, 6))
    view = x.T.astype(np.float32, order="K"), single[0][1][:6], dy.astype(np.float32, order="F")
    rows = view[0], rng.uniform(-1, 1, (9, 1)).astype(np.float32), view[2][:1]  # for each row
    return [*single, view, rows, *cases, (x, rng.uniform(-1, 1, 18)[::2], dy.T[:, :1])]


def _as_precise_as_the_type(answer: Callable, trials: Sequence[Trial]) -> str | None:
    for case, expected, got in trials:
        if case[0].dtype == np.float64 and difference(expected.value, got.value, 1e-13):
            return ("for float64 it has only float32's precision. Look for a constant ending in f"
                    " or has few digits, a float variable, or tanhf; write T(0.5), T z, and tanh.")
    return None


gelu_gradient = KernelTask(
    "gelu_gradient", _gelu_gradient, _gelu_gradient_cases, kind="elementwise",
    right=GELU_GRADIENT, given="",
    mistakes=[
        ("the bias left out", "x + bias", "x"),
        ("dy left out: the derivative alone", "dy * (", "("),
        ("GELU's first factor alone: z is in the tanh as well",
         " + T(0.5) * z * (1 - t * t) * inner", ""),
        ("the derivative of the tanh without that inside it", " * inner", ""),
        ("1 - t in place of 1 - t * t", "1 - t * t", "1 - t"),
        ("1 / 2 between integers, which is 0 in C",
         "(T(0.5) * (1 + t) + T(0.5)", "((1 / 2) * (1 + t) + (1 / 2)"),
        ("the bias added behind the derivative", "x + bias", "x", "* inner)", "* inner) + bias"),
    ],
    rules=[_as_precise_as_the_type],
    single=True,
    rtol=3e-6,
)

# decay: the same result for every launch shape

DECAY = r"""
extern "C" __global__ void decay(float* v, const float* g, float a, int n) {
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        v[i] = a * v[i] + (1 - a) * g[i];
}
"""


def _decay(v: np.ndarray, g: np.ndarray, a: float, grid: tuple, block: tuple) -> np.ndarray:
    return np.float32(a) * v + np.float32(1 - a) * g


def _decay_cases() -> list[Case]:
    rng = np.random.default_rng(62)
    shapes = [(1000, 0.75, (4,), (256,)), (1000, 0.1, (1,), (256,)), (1000, 0.9, (1,), (1,)),
              (1000, 0.5, (7,), (57,)), (1000, 1.5, (40,), (33,)), (257, 0.75, (2,), (128,)),
              (1, -0.5, (3,), (64,)), (999, 0, (31,), (32,)), (70_001, 0.75, (160,), (256,))]
    return [(rng.standard_normal(n, np.float32) + 3, rng.standard_normal(n, np.float32), a,
             grid, block) for n, a, grid, block in shapes]


def _decay_launch(v: np.ndarray, g: np.ndarray, a: float, grid: tuple, block: tuple) -> tuple:
    return grid, block, (to_device(v), to_device(g), np.float32(a), np.int32(len(v)))


decay = KernelTask(
    "decay", _decay, _decay_cases, launch=_decay_launch, result=0, right=DECAY, given="",
    mistakes=[
        ("one element a thread: with fewer threads than elements, the rest stays as it was",
         "i += step", "i += n"),
        ("`i <= n` in place of `i < n`: one element too many", "i < n", "i <= n"),
        ("no guard: the threads beyond the last element work as well",
         "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)",
         "int i = blockIdx.x * blockDim.x + threadIdx.x;"),
        ("every block starting at element 0: count from blockIdx.x * blockDim.x",
         "int i = blockIdx.x * blockDim.x + threadIdx.x", "int i = threadIdx.x"),
        ("a step of one block: the step is the number of threads in the whole grid",
         "gridDim.x * blockDim.x;", "blockDim.x;"),
        ("a step to the neighbour's element: the step is the number of threads in the whole grid",
         "i += step", "i++"),
        ("the factors of the old and the new value exchanged",
         "a * v[i] + (1 - a) * g[i]", "a * g[i] + (1 - a) * v[i]"),
    ],
    rules=[counters(lambda counts, v, *rest: undivided(counts, load=2 * v.size, store=v.size),
                    np.ones(500, np.float32), np.ones(500, np.float32), 0.5, (4,), (128,))],
    single=True,
)

# log_sum_exp: in one pass

SUM = """
struct Sum { float m, s; };  // the largest x so far, and the sum of exp(x - m)

__device__ Sum merge(Sum a, Sum b) {
    Sum both;
    both.m = fmaxf(a.m, b.m);
    both.s = a.s * expf(a.m - both.m) + b.s * expf(b.m - both.m);
    return both;
}
"""
LOG_SUM_EXP = Recipe.of("ReductionKernel", "float32 x", "float32 y", "Sum{x, 1.0f}", "merge(a, b)",
                        "y = a.m + logf(a.s)", "Sum{-3.4e38f, 0.0f}", "log_sum_exp",
                        reduce_type="Sum", preamble=SUM)


def _log_sum_exp(x: np.ndarray, axis: int | None) -> np.ndarray:
    m = x.max(axis=axis, keepdims=True)
    return np.squeeze(np.log(np.exp(x - m).sum(axis=axis, keepdims=True)) + m, axis)


def _log_sum_exp_cases() -> list[Case]:
    rng = np.random.default_rng(64)
    x = (4 * rng.standard_normal((5, 37))).astype(np.float32)
    return [(x, 1), (x, 0), (x.round() + np.float32(100), 1), (x - np.float32(200), 1),
            (np.sort(x.ravel()), None), (np.sort(x.ravel())[::-1], 0),
            (x[:, :1] / np.float32(1e3), 1), (x * np.float32(1e9), 1)]


log_sum_exp = KernelTask(
    "log_sum_exp", _log_sum_exp, _log_sum_exp_cases, kind="reduction", right=LOG_SUM_EXP,
    given=SUM[:SUM.index("    both.m")] + SUM[SUM.index("    return both"):],
    run=lambda kernel, x, axis: kernel(to_device(x), axis=axis).get(),
    mistakes=[
        ("sums added without rescaling: a.s counts in units of exp(a.m), not of exp(both.m)",
         "a.s * expf(a.m - both.m) + b.s * expf(b.m - both.m)", "a.s + b.s"),
        ("only one of the two sums rescaled", "b.s * expf(b.m - both.m)", "b.s"),
        ("rescaling in the wrong direction",
         "a.m - both.m", "both.m - a.m", "b.m - both.m", "both.m - b.m"),
        ("the smaller m kept, with which exp(x - m) overflows", "fmaxf", "fminf"),
    ],
    single=True,
    rtol=3e-6,
)

# leaky_view: a kernel that takes any view

LEAKY_VIEW = r"""
extern "C" __global__ void leaky_view(const float* x, float* y, int rows, int columns,
                                      long long row_step, long long column_step, float slope) {
    int step = gridDim.x * blockDim.x;
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < rows * columns; k += step) {
        int i = k / columns, j = k % columns;
        float value = x[i * row_step + j * column_step];
        y[k] = value > 0 ? value : slope * value;
    }
}
"""


def _leaky_view(x: np.ndarray, slope: float, grid: tuple, block: tuple) -> np.ndarray:
    return np.where(x > 0, x, np.float32(slope) * x)


def _leaky_view_cases() -> list[Case]:
    rng = np.random.default_rng(65)
    square = rng.standard_normal((18, 18), np.float32)
    # Views of the middle of a larger array: wrong steps then stay in its memory and give the same
    # wrong values each time.
    x = rng.standard_normal((64, 64), np.float32)[24:36, 22:40]
    views = [square, x, x.T, x[::2, 3:], x[::-1], x[1:8, ::-3], x[:, 4:5], x.T[::-1, ::5],
             np.broadcast_to(x[3], (6, 18))]
    shapes = [((1,), (64,)), ((9,), (32,)), ((2,), (33,))]
    slopes = 0.1, 2.5, -1.0, 0.0
    # More rows than a short counts, in memory in which wrong steps stay.
    large = sliding_window_view(rng.standard_normal(240_000, np.float32), 2)[50_000:83_000, ::-1]
    return [*((view, slopes[k % 4], *shapes[k % 3]) for k, view in enumerate(views)),
            (square, 0.3, (1,), (1,)), (large, 0.2, (160,), (256,))]


def _leaky_view_launch(x: np.ndarray, slope: float, grid: tuple, block: tuple) -> tuple:
    steps = [np.int64(step // x.itemsize) for step in x.strides]
    return grid, block, (to_device(x), blank(x.shape, np.float32), *map(np.int32, x.shape), *steps,
                         np.float32(slope))


_WHERE = "i * row_step + j * column_step"

leaky_view = KernelTask(
    "leaky_view", _leaky_view, _leaky_view_cases, launch=_leaky_view_launch, right=LEAKY_VIEW,
    given="",
    mistakes=[
        ("the view's memory read from end to end, as if it were C-contiguous", _WHERE, "k"),
        ("rows and columns exchanged: k counts along a row first",
         "k / columns, j = k % columns", "k % rows, j = k / rows"),
        ("k divided by the number of rows; a row has `columns` elements",
         "k / columns, j = k % columns", "k / rows, j = k % rows"),
        ("one element a thread: with fewer threads than elements, the rest stays undone",
         "k += step", "k += rows * columns"),
        ("the two steps exchanged", _WHERE, "i * column_step + j * row_step"),
        ("steps multiplied by four once more: they count elements, not bytes",
         _WHERE, f"4 * ({_WHERE})"),
        ("only the row's step used: columns have a step as well", _WHERE, "i * row_step + j"),
    ],
    rules=[counters(lambda counts, x, *rest: undivided(counts, load=x.size, store=x.size),
                    np.ones((8, 64), np.float32), 0.1, (4,), (128,))],
    single=True,
)

# pair_index: indices beyond 32 bits

PAIR_INDEX = r"""
extern "C" __global__ void pair_index(const int* i, const int* j, long long* k, int n, int count) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < count) {
        long long a = i[t];
        k[t] = a * (2LL * n - a - 1) / 2 + j[t] - a - 1;
    }
}
"""


def _pair_index(i: np.ndarray, j: np.ndarray, n: int) -> np.ndarray:
    i, j = i.astype(np.int64), j.astype(np.int64)
    return i * (2 * n - i - 1) // 2 + j - i - 1


def _pair_index_cases() -> list[Case]:
    rng = np.random.default_rng(66)
    cases = []
    for n, count in ((5, 100), (1000, 128), (50_000, 2), (70_001, 77), (2_000_000_011, 100)):
        i = rng.integers(0, n - 1, count)
        j = i + 1 + (rng.random(count) * (n - 1 - i)).astype(np.int64)
        i[0], j[0], i[-1], j[-1] = n - 2, n - 1, 0, 1
        cases.append((i.astype(np.int32), j.astype(np.int32), n))
    return cases


def _pair_index_launch(i: np.ndarray, j: np.ndarray, n: int) -> tuple:
    k = blank(i.shape, np.int64)
    grid, block = (4 + n % 3,), (32 + i.size % 9,)
    return grid, block, (to_device(i), to_device(j), k, np.int32(n), np.int32(i.size))


_PRODUCT = "a * (2LL * n - a - 1) / 2 + j[t] - a - 1"

pair_index = KernelTask(
    "pair_index", _pair_index, _pair_index_cases, launch=_pair_index_launch, result=2,
    right=PAIR_INDEX, given=PAIR_INDEX[:PAIR_INDEX.index("    if (t")] + "}",
    mistakes=[
        ("an int product: it overflows before it is stored in a long long",
         "long long a", "int a", "2LL", "2"),
        ("a conversion that comes too late: (long long)(a * b) converts a product that has"
         " overflowed",
         "long long a", "int a", _PRODUCT, "(long long)(a * (2 * n - a - 1) / 2) + j[t] - a - 1"),
        ("unsigned int, which overflows at twice the size",
         "long long a", "unsigned a", "2LL * n", "2u * n"),
        ("2 * n computed as an int: it overflows before it becomes a long long",
         "2LL * n", "2 * n"),
        ("a product in float or double, which is rounded",
         "a * (2LL * n - a - 1) / 2", "(long long)((float)a * (2LL * n - a - 1) / 2)"),
        ("the distance from i forgotten: j counts from i + 1", "+ j[t] - a - 1", "+ j[t]"),
    ],
)
