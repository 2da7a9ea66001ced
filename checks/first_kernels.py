"""Checks of the exercises to lesson 06, First kernels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from .machinery.kernel_task import KernelTask, Recipe, apply, blank, launch, on_device
from .machinery.task import Case, Mistake, Outcome, difference

# 1. bias + GELU

BIAS_GELU = ("T x, T bias", "T y", """
    T z = x + bias;
    y = T(0.5) * z * (1 + tanh(T(0.7978845608028654) * (z + T(0.044715) * z * z * z)))
""")


def _bias_gelu(x: np.ndarray, bias: np.ndarray) -> np.ndarray:
    z = x + bias
    return 0.5 * z * (1 + np.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z * z * z)))


def _bias_gelu_cases() -> list[Case]:
    rng = np.random.default_rng(61)
    cases = [(3 * rng.standard_normal(shape), rng.standard_normal(shape[-1]))
             for shape in ((5, 7), (2, 3, 4, 6), (33,))]
    single = [tuple(array.astype(np.float32) for array in case) for case in cases]
    x, bias = rng.uniform(-30, 30, (6, 9)), rng.uniform(5, 6, 6)
    view = x.T.astype(np.float32, order="K"), bias.astype(np.float32)
    return [*single, view, *cases, (x, rng.uniform(5, 6, 9))]


def _as_precise_as_the_type(answer: Callable, cases: Sequence[Case],
                            outcomes: Sequence[Outcome]) -> str | None:
    for case, outcome in zip(cases, outcomes):
        if case[0].dtype == np.float64 and difference(_bias_gelu(*case), outcome.value, 1e-13):
            return ("for float64 only to float32's precision: a constant that ends in f or has few"
                    " digits, a float variable, or tanhf. Write T(0.5), T z, and tanh.")
    return None


def _elementwise(parts: tuple[str, str, str], name: str, *changes: tuple[str, str]) -> Recipe:
    operation = parts[2]
    for old, new in changes:
        assert old in operation, old
        operation = operation.replace(old, new)
    return Recipe.of("ElementwiseKernel", *parts[:2], operation, name)


def _changed_gelu(*changes: tuple[str, str]) -> Recipe:
    return _elementwise(BIAS_GELU, "bias_gelu", *changes)


bias_gelu = KernelTask(
    "bias_gelu", _bias_gelu, _bias_gelu_cases, kind="elementwise",
    run=lambda kernel, *case: apply(kernel, *map(on_device, case)), given="",
    mistakes=[
        Mistake("1 / 2 between integers, which is 0 in C", _changed_gelu(("T(0.5)", "(1 / 2)"))),
        Mistake("the bias added behind the GELU",
                _changed_gelu(("x + bias", "x"), ("z * z)))", "z * z))) + bias"))),
        Mistake("the bias left out", _changed_gelu(("x + bias", "x"))),
        Mistake("`^` for a power: in C it is a bitwise operation, write z * z * z",
                _changed_gelu(("z * z * z", "T((int)z ^ 3)"))),
        Mistake("z * z in place of z * z * z", _changed_gelu(("z * z * z", "z * z"))),
        Mistake("2 / pi without its square root", _changed_gelu(
            ("0.7978845608028654", "0.6366197723675814"))),
        Mistake("twice the GELU: the factor 0.5 left out", _changed_gelu(("T(0.5) * z *", "z *"))),
        Mistake("x before the bias outside the tanh",
                _changed_gelu(("T(0.5) * z *", "T(0.5) * x *"))),
    ],
    rules=[_as_precise_as_the_type],
    rtol=3e-6,
)

# 2. The same result for every launch shape

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
    shapes = [(1000, (4,), (256,)), (1000, (1,), (256,)), (1000, (1,), (1,)), (1000, (7,), (57,)),
              (1000, (40,), (33,)), (257, (2,), (128,)), (1, (3,), (64,)), (999, (31,), (32,))]
    return [(rng.standard_normal(n, np.float32) + 3, rng.standard_normal(n, np.float32), 0.75,
             grid, block) for n, grid, block in shapes]


def _run_decay(kernel: object, v: np.ndarray, g: np.ndarray, a: float, grid: tuple,
               block: tuple) -> np.ndarray:
    there = on_device(v)
    launch(kernel, grid, block, (there, on_device(g), np.float32(a), np.int32(len(v))))
    return there.get()


def _changed(source: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert old in source, old
        source = source.replace(old, new)
    return source


decay = KernelTask(
    "decay", _decay, _decay_cases, run=_run_decay, given="",
    parameters="float* v, const float* g, float a, int n",
    mistakes=[
        Mistake("one element a thread: with fewer threads than elements, the rest stays as it was",
                _changed(DECAY, ("i += step", "i += n"))),
        Mistake("`i <= n` in place of `i < n`: one element too many",
                _changed(DECAY, ("i < n", "i <= n"))),
        Mistake("no guard: the threads beyond the last element work as well",
                DECAY.replace("for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i +="
                              " step)", "int i = blockIdx.x * blockDim.x + threadIdx.x;")),
        Mistake("every block starting at element 0: count from blockIdx.x * blockDim.x",
                _changed(DECAY, ("int i = blockIdx.x * blockDim.x + threadIdx.x",
                                 "int i = threadIdx.x"))),
        Mistake("a step of one block: the step is the number of threads in the whole grid",
                _changed(DECAY, ("gridDim.x * blockDim.x;", "blockDim.x;"))),
        Mistake("a step to the neighbour's element: the step is the number of threads in the whole"
                " grid", _changed(DECAY, ("i += step", "i++"))),
        Mistake("a step as if blocks had 256 threads", _changed(
            DECAY, ("int step = gridDim.x * blockDim.x", "int step = gridDim.x * 256"))),
        Mistake("the old value and the new one exchanged", _changed(
            DECAY, ("a * v[i] + (1 - a) * g[i]", "a * g[i] + (1 - a) * v[i]"))),
    ],
)

# 3. A slope for each piece

PIECEWISE = ("T x, raw T edges, raw T slopes", "T y", """
    int piece = 0;
    while (piece < edges.size() && edges[piece] <= x) piece++;
    y = slopes[piece] * x
""")


def _piecewise(x: np.ndarray, edges: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    return slopes[np.searchsorted(edges, x, side="right")] * x


def _piecewise_cases() -> list[Case]:
    rng = np.random.default_rng(63)
    cases = []
    for pieces, shape, dtype in ((2, (50,), np.float32), (4, (7, 9), np.float32),
                                 (6, (3, 4, 5), np.float64), (9, (65,), np.float32)):
        edges = np.sort(rng.uniform(-4, 4, pieces - 1)).astype(dtype)
        x = rng.uniform(-5, 5, shape).astype(dtype)
        x.flat[:pieces - 1] = edges  # an element on each edge
        cases.append((x, edges, rng.uniform(1, 9, pieces).astype(dtype)))
    return [*cases, (cases[1][0].T, *cases[1][1:])]


piecewise = KernelTask(
    "piecewise", _piecewise, _piecewise_cases, kind="elementwise",
    run=lambda kernel, *case: apply(kernel, *map(on_device, case)), given="",
    mistakes=[
        Mistake("an x on an edge counted to the piece on its left: the edge belongs to the right",
                _elementwise(PIECEWISE, "piecewise", ("<= x", "< x"))),
        Mistake("the first edge alone deciding", _elementwise(
            PIECEWISE, "piecewise", ("while (piece", "if (piece"))),
        Mistake("the pieces counted from the wrong end", _elementwise(
            PIECEWISE, "piecewise", ("slopes[piece]", "slopes[edges.size() - piece]"))),
        Mistake("the last piece left out: with all edges passed, x is in piece edges.size()",
                _elementwise(PIECEWISE, "piecewise", ("< edges.size()", "< edges.size() - 1"))),
        Mistake("an edge in place of a slope", _elementwise(
            PIECEWISE, "piecewise", ("slopes[piece] * x",
                                     "edges[min(piece, (int)edges.size() - 1)] * x"))),
    ],
)

# 4. log-sum-exp in one pass

SUM = """
struct Sum { float m, s; };  // the largest x so far, and the sum of exp(x - m)

__device__ Sum merge(Sum a, Sum b) {
    Sum both;
    both.m = fmaxf(a.m, b.m);
    both.s = a.s * expf(a.m - both.m) + b.s * expf(b.m - both.m);
    return both;
}
"""
LOG_SUM_EXP = ("float32 x", "float32 y", "Sum{x, 1.0f}", "merge(a, b)", "y = a.m + logf(a.s)",
               "Sum{-3.4e38f, 0.0f}", "log_sum_exp")


def _log_sum_exp(x: np.ndarray, axis: int | None) -> np.ndarray:
    m = x.max(axis=axis, keepdims=True)
    return np.squeeze(np.log(np.exp(x - m).sum(axis=axis, keepdims=True)) + m, axis)


def _log_sum_exp_cases() -> list[Case]:
    rng = np.random.default_rng(64)
    x = (4 * rng.standard_normal((5, 37))).astype(np.float32)
    return [(x, 1), (x, 0), (x + np.float32(100), 1), (x - np.float32(200), 1),
            (np.sort(x.ravel()), None), (np.sort(x.ravel())[::-1].copy(), 0),
            (x[:, :1].copy(), 1)]


def _merge(*changes: tuple[str, str]) -> Recipe:
    return Recipe.of("ReductionKernel", *LOG_SUM_EXP, reduce_type="Sum",
                     preamble=_changed(SUM, *changes))


log_sum_exp = KernelTask(
    "log_sum_exp", _log_sum_exp, _log_sum_exp_cases, kind="reduction",
    given=SUM[:SUM.index("    both.m")] + SUM[SUM.index("    return both"):],
    run=lambda kernel, x, axis: kernel(on_device(x), axis=axis).get(),
    mistakes=[
        Mistake("sums added without rescaling: a.s counts in units of exp(a.m), not of exp(both.m)",
                _merge(("a.s * expf(a.m - both.m) + b.s * expf(b.m - both.m)", "a.s + b.s"))),
        Mistake("only one of the two sums rescaled", _merge(("b.s * expf(b.m - both.m)", "b.s"))),
        Mistake("rescaling in the wrong direction", _merge(
            ("a.m - both.m", "both.m - a.m"), ("b.m - both.m", "both.m - b.m"))),
        Mistake("the smaller m kept, with which exp(x - m) overflows", _merge(("fmaxf", "fminf"))),
    ],
    rtol=3e-6,
)

# 5. A kernel that takes any view

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
    # Views of the middle of something larger: wrong steps then stay in its memory, and give wrong
    # values, the same each time.
    x = rng.standard_normal((64, 64), np.float32)[24:36, 22:40]
    views = [square, x, x.T, x[::2, 3:], x[::-1], x[1:9, ::-3], x[:, 4:5], x.T[::-1, ::5],
             np.broadcast_to(x[3], (6, 18))]
    shapes = [((1,), (64,)), ((9,), (32,)), ((2,), (33,))]
    return [(view, 0.1, *shapes[k % 3]) for k, view in enumerate(views)]


def _run_leaky_view(kernel: object, x: np.ndarray, slope: float, grid: tuple,
                    block: tuple) -> np.ndarray:
    y = blank(x.shape, np.float32)
    steps = [np.int64(step // x.itemsize) for step in x.strides]
    launch(kernel, grid, block, (on_device(x), y, *map(np.int32, x.shape), *steps,
                                 np.float32(slope)))
    return y.get()


_WHERE = "i * row_step + j * column_step"

leaky_view = KernelTask(
    "leaky_view", _leaky_view, _leaky_view_cases, run=_run_leaky_view, given="",
    parameters="const float* x, float* y, int rows, int columns, long long row_step,"
               " long long column_step, float slope",
    mistakes=[
        Mistake("the view's memory read from end to end, as if it were C-contiguous",
                _changed(LEAKY_VIEW, (_WHERE, "k"))),
        Mistake("rows and columns exchanged: k counts along a row first",
                _changed(LEAKY_VIEW, ("k / columns, j = k % columns", "k % rows, j = k / rows"))),
        Mistake("k divided by the number of rows; a row has `columns` elements",
                _changed(LEAKY_VIEW, ("k / columns, j = k % columns", "k / rows, j = k % rows"))),
        Mistake("one element a thread: with fewer threads than elements, the rest stays undone",
                _changed(LEAKY_VIEW, ("k += step", "k += rows * columns"))),
        Mistake("the two steps exchanged", _changed(
            LEAKY_VIEW, (_WHERE, "i * column_step + j * row_step"))),
        Mistake("steps in bytes divided by four once more", _changed(
            LEAKY_VIEW, (_WHERE, "i * row_step / 4 + j * column_step / 4"))),
        Mistake("steps multiplied by four once more: they count elements, not bytes", _changed(
            LEAKY_VIEW, (_WHERE, f"4 * ({_WHERE})"))),
        Mistake("only the row's step used: columns have a step as well", _changed(
            LEAKY_VIEW, (_WHERE, "i * row_step + j"))),
    ],
)

# 6. Indices beyond 32 bits

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
    for n in (5, 1000, 50_000, 70_000, 2_000_000_000):
        i = rng.integers(0, n - 1, 100)
        j = i + 1 + (rng.random(100) * (n - 1 - i)).astype(np.int64)
        i[0], j[0], i[1], j[1] = 0, 1, n - 2, n - 1
        cases.append((i.astype(np.int32), j.astype(np.int32), n))
    return cases


def _run_pair_index(kernel: object, i: np.ndarray, j: np.ndarray, n: int) -> np.ndarray:
    k = blank(i.shape, np.int64)
    launch(kernel, (4,), (32,), (on_device(i), on_device(j), k, np.int32(n), np.int32(i.size)))
    return k.get()


_PRODUCT = "a * (2LL * n - a - 1) / 2 + j[t] - a - 1"

pair_index = KernelTask(
    "pair_index", _pair_index, _pair_index_cases, run=_run_pair_index,
    given=PAIR_INDEX[:PAIR_INDEX.index("    if (t")] + "}",
    parameters="const int* i, const int* j, long long* k, int n, int count",
    mistakes=[
        Mistake("an int product: it overflows before it is stored in a long long",
                _changed(PAIR_INDEX, ("long long a", "int a"), ("2LL", "2"))),
        Mistake("a conversion that comes too late: (long long)(a * b) converts the overflown int",
                _changed(PAIR_INDEX, ("long long a", "int a"),
                         (_PRODUCT, "(long long)(a * (2 * n - a - 1) / 2) + j[t] - a - 1"))),
        Mistake("unsigned int, which lasts only twice as long", _changed(
            PAIR_INDEX, ("long long a", "unsigned a"), ("2LL * n", "2u * n"))),
        Mistake("2 * n computed as an int: it overflows before it meets a long long",
                _changed(PAIR_INDEX, ("2LL * n", "2 * n"))),
        Mistake("2 * n - i - 1 computed as an int: it overflows before it meets a long long",
                _changed(PAIR_INDEX, ("2LL * n - a", "2 * n - (int)a"))),
        Mistake("a product in float or double, which is rounded", _changed(
            PAIR_INDEX, ("a * (2LL * n - a - 1) / 2", "(long long)((float)a * (2LL * n - a - 1)"
                                                      " / 2)"))),
        Mistake("the distance from i forgotten: j counts from i + 1", _changed(
            PAIR_INDEX, ("+ j[t] - a - 1", "+ j[t]"))),
    ],
)
