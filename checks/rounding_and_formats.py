"""The tasks about rounding and number formats."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from helpers import kernels
from helpers.backend import is_simulated

from .machinery.kernel_task import (
    KernelTask,
    blank,
    counters,
    inputs_kept,
    rehearse,
    to_device,
    undivided,
)
from .machinery.task import (
    Refusal,
    Task,
    describe_value,
    no_python_loop,
    no_warnings,
    require_type,
)

HALF_ULP = 2.0**-24  # a rounding of a float32 changes it by at most this share

# two warm-ups of the lesson: the shortest format that will do, and answers that cannot change


def _choose(smallest, largest, share, *, scaled=True, gap=1, names=("float16", "bfloat16")):
    narrow = largest / smallest <= 2.0**29 if scaled else smallest >= 2.0**-14 and largest < 65520
    limits = {"float16": gap * 2.0**-11 if narrow else np.inf, "bfloat16": gap * 2.0**-8}
    return next((name for name in names if share >= limits[name]), "float32")


choose = Task(
    "choose", _choose, right=_choose,
    cases=lambda: [(1e-3, 1.0, 1e-3), (1e-10, 1.0, 0.01), (1.0, 2.0, 3e-4), (1e5, 1e6, 2.0**-11),
                   (3.0, 3.0, 2.0**-8), (2.0**-40, 1.0, 2.0**-8), (1e-20, 1e20, 0.003),
                   (2.0**-10, 2.0**18, 0.01), (2.0**-16, 2.0**15, 0.01), (1e-9, 1e-3, 0.1)],
    mistakes=[
        ("a range that was not moved: a power of 2 may multiply all numbers", {"scaled": False}),
        ("a whole gap for each number: rounding costs half a gap at most", {"gap": 2}),
        ("a choice by the range alone", {"gap": 0}),
        ("bfloat16 where float16 has more digits", {"names": ("bfloat16", "float16")}),
    ],
)


def _certain(logits, errors, *, own=1, rivals=None):
    order = np.argsort(-logits, axis=1)
    low, high = (np.take_along_axis(x, order, 1) for x in (logits - own * errors, logits + errors))
    return low[:, 0] > high[:, 1:rivals].max(axis=1)


def _certain_cases() -> list[tuple]:
    rng = np.random.default_rng(151)
    cases = [(rng.standard_normal((n, k)), rng.random(k) / 2) for n, k in ((80, 9), (60, 2))]
    return [*cases, (-cases[0][0].T[:, ::-1], np.arange(80) / 80),
            (np.array([[2.0, -2, 1], [1, 3, 3], [-2e5, -9e5, -8e5]]), np.array([0.5, 3, 0.5]))]


certain = Task(
    "certain", _certain, _certain_cases, right=_certain, mistakes=[
        ("the second largest logit alone: another one may rise further", {"rivals": 2}),
        ("a largest logit that cannot fall", {"own": 0}),
        ("one error for all classes", lambda logits, errors: _certain(logits, errors.max())),
    ],
)

# plausible: may this be a product of rounded inputs, added in float32?


def _plausible(c, a, b, fraction, *, terms=1, inputs=2, elementwise=True, magnitudes=True):
    exact = a.astype(np.float64) @ b
    size = np.abs(a.astype(np.float64)) @ np.abs(b) if magnitudes else np.abs(exact)
    u = inputs * 2.0 ** -(fraction + 1) if fraction < 23 else 0.0
    bound, error = (u + terms * len(b) * HALF_ULP) * size * 1.01, np.abs(c - exact)
    return bool(np.all(error <= (bound if elementwise else bound.max(initial=0))))


def _plausible_cases() -> list[tuple]:
    rng = np.random.default_rng(152)
    cases = []
    for (m, n, p), fraction, factor in (((5, 40, 7), 23, 1), ((3, 300, 2), 23, 1e-4),
                                        ((4, 30, 6), 10, 1e3), ((2, 9, 5), 7, 0.01)):
        a, b = (rng.standard_normal(shape, np.float32) for shape in ((m, n), (n, p)))
        a[0] *= 1e-4  # a row of small results
        a, b = a * np.float32(factor), b / np.float32(factor**2)
        gaps = [np.spacing(np.abs(x)) * np.float32(2 ** (23 - fraction)) for x in (a, b)]
        c = np.matmul(*(np.rint(x / step) * step for x, step in zip((a, b), gaps)))
        share = n * HALF_ULP + (2.0**-fraction if fraction < 23 else 0)
        exact, bound = a.astype(np.float64) @ b, share * (np.abs(a) @ np.abs(b))
        cases += [(c, a, b, fraction), (np.float32(exact + 0.95 * bound), a, b, fraction)]
        for where, share in ((0, 1), -1.9), ((-1, -1), 1.9), ((1, 0), np.nan):
            wrong = c.copy()  # in one element
            wrong[where] = exact[where] + share * bound[where]
            cases.append((wrong, a, b, fraction))
    # all terms rounded in one direction, as far as it goes
    a, b = np.full((2, 8), 1 + 2.0**-11, np.float32), np.full((8, 3), -1 - 2.0**-11, np.float32)
    x = np.float32([[1.9]])  # a single term: x times 1
    zero = np.float32([[1, -1, 2.0**-30]])  # terms that cancel: the result is as small as an error
    return cases + [(*map(np.asfortranarray, cases[0][:3]), 23),
                    (np.full((2, 3), -8, np.float32), a, b, 10),
                    (x + 2 * np.spacing(x), x, x / x, 23), (x + 4 * np.spacing(x), x, x / x, 22),
                    (np.float32([[0]]), zero, np.ones((3, 1), np.float32), 23),
                    (np.zeros((2, 3), np.float32), a[:, :0], b[:0], 10)]


plausible = Task(
    "plausible", _plausible, _plausible_cases, right=_plausible,
    read=lambda value, case: bool(require_type(value, (bool, np.bool_), "expected a bool, got")),
    mistakes=[
        ("a bound for the sums alone: the rounding of the inputs is missing", {"inputs": 0}),
        ("a bound for the inputs alone: products and sums are rounded, too", {"terms": 0}),
        ("a whole gap for each rounding: half a gap is the most", {"terms": 2, "inputs": 4}),
        ("a bound from the result, which is small where terms cancel", {"magnitudes": False}),
        ("the largest bound for all elements", {"elementwise": False}),
    ],
)

# column_sums: a compensated sum for each column


def _sums_cases() -> list[tuple]:
    rng = np.random.default_rng(153)
    first = rng.standard_normal((300, 1), np.float32)
    first[0] = 3e6
    return [(np.float32([[0.1, 1.0409735]] * 100_000),), (rng.random((5000, 3), np.float32),),
            (np.concatenate([first, -first[:150]]),), (np.float32([[4, -3, 0] * 11_000]),),
            (rng.standard_normal((40, 70), np.float32),), (np.full((9000, 1), -3.3, np.float32),)]


def _within(y: np.ndarray, case: tuple) -> np.ndarray:
    """The exact sums where `y` is near enough."""
    exact, size = (np.sum(x, axis=0, dtype=np.float64) for x in (case[0], np.abs(case[0])))
    wrong = np.flatnonzero(~(np.abs(y - exact) <= 4 * HALF_ULP * size))
    if y.shape == exact.shape and len(wrong):
        j = wrong[0]
        off = abs(float(y[j]) - exact[j]) / (HALF_ULP * size[j] or 1)
        raise Refusal(f"column {j}: expected {exact[j]:.9g}, got {y[j]:.9g}. The error is {off:.3g}"
                      " times 2^-24 of the sum of the magnitudes, and 4 times are allowed.")
    return exact


column_sums = KernelTask(
    "column_sums", lambda x: x.sum(axis=0, dtype=np.float64), _sums_cases, read=_within,
    launch=lambda x: ((-(-x.shape[1] // 64),), (64,),
                      (to_device(x), blank(x.shape[1], np.float32), *np.int32(x.shape))),
    right=kernels.source("column_sums"), given="", single=True,
    mistakes=[
        ("a plain sum: nothing that is lost is added again", " + lost,", ","),
        ("the lost part with the wrong sign", "] + lost", "] - lost"),
        ("what arrived kept, not what is lost", "term - (total - sum)", "total - sum"),
    ],
    rules=[counters(lambda counts, x: undivided(counts, load=x.size, store=x.shape[1]),
                    np.ones((3, 200), np.float32))],
)

# int8_layer: a scale for each row of the input and for each output


def _layer(x, weight, *, rows=1, columns=0, rounding=np.rint, wide=np.int64):
    def quantise(array, axis):
        scale = np.abs(array).max(axis=axis, keepdims=True) / np.float32(127)
        scale = np.where(scale == 0, np.float32(1), scale)
        return rounding(array / scale).astype(np.int64).astype(np.int8), scale

    (left, one), (right, other) = quantise(x, rows), quantise(weight, columns)
    return ((left.astype(wide) @ right.astype(wide)) * (one * other)).astype(np.float32)


def _layer_cases() -> list[tuple]:
    rng = np.random.default_rng(154)
    cases = []
    for n, k, outputs in ((3, 40, 5), (1, 7, 2), (6, 300, 3), (4, 1, 6)):
        x, weight = (rng.standard_normal(size, np.float32) for size in ((n, k), (k, outputs)))
        cases.append((x * np.float32(10.0) ** np.arange(n, dtype=np.float32)[:, None],
                      weight * np.float32(0.1) ** np.arange(outputs, dtype=np.float32)))
    x, weight = (array.copy() for array in cases[0])
    x[1], weight[:, 2] = 0, 0
    return [*cases, (x, weight), (np.asfortranarray(x), weight[:, ::-1]),  # and sums that cancel:
            (np.float32([[9, -9]]).repeat(9999, 1), np.tile(rng.random((9999, 3), "f4"), (2, 1)))]


def _as_integers(y: np.ndarray, case: tuple) -> np.ndarray:
    """`y` without the scales, so that small rows and columns count as much as large ones."""
    if not isinstance(y, np.ndarray) or y.dtype != np.float32:
        raise Refusal(f"expected an array of float32, got {describe_value(y)}.")
    rows, columns = (np.abs(array.astype(np.float64)).max(axis=axis, keepdims=True) / 127
                     for axis, array in zip((1, 0), case))
    scale = np.where(rows == 0, 1, rows) * np.where(columns == 0, 1, columns)
    return y / scale if y.shape == scale.shape else y


int8_layer = Task(
    "int8_layer", lambda x, weight: _as_integers(_layer(x, weight), (x, weight)), _layer_cases,
    read=_as_integers, right=_layer,
    mistakes=[
        ("one scale for the whole input", {"rows": None}),
        ("one scale for all weights", {"columns": None}),
        ("a product in int8, which overflows", {"wide": np.int8}),
        ("numbers cut off: round to the nearest first", {"rounding": np.trunc}),
    ],
    rules=[no_warnings,
           no_python_loop(*((np.ones(size[:2], np.float32), np.ones(size[1:], np.float32))
                            for size in ((2, 3, 4), (90, 3, 4), (2, 90, 4), (2, 3, 90))))],
)

# half_product: tensor cores for matrices of any size


def _half_cases() -> list[tuple]:
    rng = np.random.default_rng(155)
    return [(rng.standard_normal((m, k), np.float32), rng.standard_normal((k, n), np.float32))
            for m, n, k in ((16, 32, 48), (5, 3, 7), (32, 17, 20), (1, 40, 1), (20, 1, 31))]


def _run_half(kernel: object, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    import cupy

    (m, k), n = a.shape, b.shape[1]
    arguments = (to_device(a), to_device(b), blank((m, n), np.float32), *np.int32((m, n, k)))
    grid = (-(-n // 16), -(-m // 16))
    toolkit = () if is_simulated(cupy) else ("-I/usr/local/cuda/include",)
    bare = SimpleNamespace(code=kernel.code, name=kernel.name)  # CuPy would compile a RawKernel
    kernel = cupy.RawKernel(kernel.code, kernel.name, toolkit)
    rehearse(bare if toolkit else kernel, grid, (32,), arguments)  # with the simulator's mma.h
    with inputs_kept(arguments[:2]):
        kernel(grid, (32,), arguments)
        return arguments[2].get()


half_product = KernelTask(
    "half_product", lambda a, b: a.astype(np.float16).astype(np.float32) @ b.astype(np.float16),
    _half_cases, run=_run_half, right=kernels.source("half_product"), rtol=1e-5,
    given="#include <mma.h>\nusing namespace nvcuda; {}",
    refused=[(r"\A(?![\s\S]*mma_sync)", "the source has no `mma_sync`: use the tensor cores.")],
    mistakes=[
        ("nothing in place of what is outside: pad with zeros",
         "inside_a ? a[(top + i) * k + p + j] : 0.0f", "a[(top + i) * k + p + j]"),
        ("no guard where c is written", "if (i < m && j < n) ", ""),
        ("a missing barrier between writing the tiles and loading them",
         "        __syncthreads();\n        wmma::load", "        wmma::load"),
    ],
)
