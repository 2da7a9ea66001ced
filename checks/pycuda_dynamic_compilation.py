"""The tasks about dynamic compilation with PyCUDA: generated kernels, literals, an autotuner."""

from __future__ import annotations

import functools
import itertools
import re
import statistics
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from helpers.backend import is_simulated
from helpers.generate import C_TYPES, c_type, explain, literal, literals

from .machinery.kernel_task import (
    LOOP,
    blank,
    counted,
    doubles,
    explained,
    inputs_kept,
    rehearse,
    to_device,
    undivided,
    wrong_declaration,
)
from .machinery.task import (
    COMMENT,
    Case,
    Mistake,
    Refusal,
    Task,
    Trial,
    describe_value,
    hint_at_return,
    is_stub,
)

STATES = ("does not compile", "does not run", "wrong")


class SourceTask(Task):
    """A task whose answer returns the source of a kernel."""

    repeatable = True


def build(source: object, name: str, parameters: str) -> object:
    """The kernel `name` of generated source, compiled by PyCUDA; else a Refusal."""
    import pycuda.autoprimaryctx  # noqa: F401
    import pycuda.driver as drv
    from pycuda.compiler import SourceModule

    if not isinstance(source, str):
        raise Refusal(f"it must return the CUDA source, a str; it returned"
                      f" {describe_value(source)}.{hint_at_return(source)}")
    if is_stub(source):
        raise NotImplementedError
    if sentence := wrong_declaration(source, name, parameters, extern_c=False):
        raise Refusal(sentence)
    try:
        with warnings.catch_warnings():  # nvcc's remarks, on unused variables for instance
            warnings.simplefilter("ignore", UserWarning)
            return SourceModule(source).get_function(name)
    except drv.CompileError as error:
        first, *lines = explain(error, source).split("\n")
        line = next((text[1:].strip() for text in lines if text.startswith(">")), "")
        line = line.partition("|")[2].strip() or line
        kind = "compile: " + first.partition(": ")[2]
        raise Refusal(f"the source does not compile: {first}, `{line}`.", kind=kind) from None
    except drv.LogicError as error:
        raise Refusal(f"PyCUDA does not find the kernel {name} in the source ({error}).") from None


def run(kernel: object, name: str, source: str, grid: tuple, block: tuple, args: tuple) -> None:
    """Rehearse the kernel, launch it and wait; a fault is a Refusal.

    In the simulator a launch finds all faults but a loop without end, so without a loop there is no
    need for a rehearsal.
    """
    import cupy
    import pycuda.driver as drv

    try:
        if not is_simulated(cupy) or LOOP.search(source):
            rehearse(kernel, grid, block, args)
        grid, block = ((*size, *(1,) * (3 - len(size))) for size in (grid, block))
        kernel(*args, block=block, grid=grid)
        drv.Context.synchronize()
    except Exception as error:
        raise explained(error, name) from error


def reader(name: str, parameters: str, launch: Callable[..., tuple],
           single: bool = True) -> Callable[[object, Case], np.ndarray]:
    """The `read` of a task whose answer returns the source of a kernel: it compiles and runs it.

    `launch(*case)` returns grid, block and arguments, of which the second is the result. `single`
    where the kernel is of float32 and must do no arithmetic in double.
    """

    def read(source: object, case: Case) -> np.ndarray:
        if single and isinstance(source, str) and (sentence := doubles(source)):
            raise Refusal(sentence, kind="double")
        kernel = build(source, name, parameters)
        grid, block, arguments = launch(*case)
        with inputs_kept(arguments, parameters):
            run(kernel, name, source, grid, block, arguments)
        return arguments[1].get()

    return read


# polynomial: coefficients in the source

POINTS = np.random.default_rng(91).uniform(-1.5, 1.5, 700).astype(np.float32)


def _polynomial(coefficients: list[float]) -> np.ndarray:
    if not len(coefficients):
        raise ValueError("no coefficients")
    literals(coefficients, "float32", "coefficients")  # nan, inf and what is too large
    return np.polyval(np.asarray(coefficients, np.float32).astype(np.float64),
                      POINTS.astype(np.float64)).astype(np.float32)


POLYNOMIAL = "const float* x, float* y, int n"


def _polynomial_launch(coefficients: list[float], n: int = POINTS.size) -> tuple:
    args = to_device(POINTS[:n].copy()), blank((n,), np.float32), np.int32(n)
    return (-(-n // 128),), (128,), args


def _loads_x_only(answer: Callable, trials: Sequence[Trial]) -> str | None:
    (coefficients,) = trials[0].case
    source = answer(coefficients)
    headers = re.findall(r"\b(?:for|while)\s*\(([^)]*)", COMMENT.sub(" ", source))
    if any(not re.search(r"\bn\b", header) for header in headers):  # not over the points
        return "its source has a loop. Write a line for each coefficient: their number is known."
    counts = counted(build(source, "polynomial", POLYNOMIAL),
                     *_polynomial_launch(coefficients, 512))
    if counts["bytes_loaded"] > 4 * 512:
        return (f"a thread loads {counts['bytes_loaded'] / 512:.0f} bytes from memory. Only x[i],"
                " 4 bytes, must come from there: the coefficients are in the source.")
    return undivided(counts, store=512)


def _polynomial_source(coefficients: list[float], *,
                       numbers: Callable[[list], list[str]] = literals,
                       guard: str = "    if (i >= n) return;\n", check: bool = True) -> str:
    """Source whose coefficients are `numbers(coefficients)` in C, highest power first."""
    if check:
        literals(coefficients, "float32", "coefficients")
    if not len(coefficients):
        raise ValueError("no coefficients")
    steps = "".join(f"    s = s * v + {number};\n" for number in numbers(list(coefficients)))
    return ("__global__ void polynomial(const float* x, float* y, int n) {\n"
            f"    int i = blockIdx.x * blockDim.x + threadIdx.x;\n{guard}"
            f"    float v = x[i], s = 0;\n{steps}    y[i] = s;\n}}\n")


polynomial = SourceTask(
    "polynomial", _polynomial,
    lambda: [([1 / 3, 0, -1.25, 2.0],), (np.array([2e-7, -1e-7, 3e-8], np.float32),),
             ([1.0, float("nan"), 2.0],), ([float("inf")],), ([1e300, 0.5],), ([],)],
    read=reader("polynomial", POLYNOMIAL, _polynomial_launch), right=_polynomial_source,
    mistakes=[
        ("the coefficients in the other order: the highest power comes first",
         {"numbers": lambda c: literals(c[::-1])}),
        ("zeros left out together with their step: a step for a zero still multiplies",
         {"numbers": lambda c: [literal(v) for v in c if v]}),
        ("coefficients with six decimals: small ones become 0. literal() writes them exactly",
         {"numbers": lambda c: [f"{v:.6f}f" for v in c]}),
        ("Python's text with an f behind it, unchecked: 3f is no C, and nan and inf are names",
         {"numbers": lambda c: [f"{v}f" for v in c], "check": False}),
        ("minus signs lost", {"numbers": lambda c: [literal(abs(v)) for v in c]}),
        ("the last coefficient left out", {"numbers": lambda c: literals(c[:-1])}),
        ("the guard left out: the last block has more threads than there are numbers",
         {"guard": ""}),
    ],
    rules=[_loads_x_only],
    rtol=1e-6,
)

# axpy: one source for three types


def _axpy_arrays(dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(92)
    if dtype.kind == "f":
        x, y = rng.standard_normal((2, 300))
        if dtype == np.float64:  # nearly -0.1 x, so that 0.1 needs more than seven digits
            y = 1e-8 * y - 0.1 * x
        return x.astype(dtype), y.astype(dtype)
    return rng.integers(-10**6, 10**6, (2, 300)).astype(dtype)


def _axpy(dtype: str, a: float) -> np.ndarray:
    kind = np.dtype(dtype)
    c_type(kind), literal(a, kind)
    x, y = _axpy_arrays(kind)
    return (y + kind.type(a) * x).astype(kind)


def _axpy_launch(dtype: str, a: float) -> tuple:
    x, y = _axpy_arrays(np.dtype(dtype))
    return (3,), (128,), (to_device(x.copy()), to_device(y.copy()), np.int32(x.size))


def _read_axpy(source: object, case: Case) -> object:
    dtype = np.dtype(case[0])
    if dtype.name not in C_TYPES:  # an error is expected, not a source
        return source
    if dtype not in _axpy_readers:
        kind = c_type(dtype)
        _axpy_readers[dtype] = reader("axpy", f"const {kind}* x, {kind}* y, int n", _axpy_launch,
                                      single=dtype == np.float32)
    return _axpy_readers[dtype](source, case)


_axpy_readers: dict[np.dtype, Callable] = {}


def _axpy_source(dtype: str, a: float, *, kind: Callable = c_type, number: Callable = literal,
                 line: str = "y[i] += {a} * x[i]") -> str:
    return (f"__global__ void axpy(const {kind(dtype)}* x, {kind(dtype)}* y, int n) {{\n"
            "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
            f"    if (i < n) {line.format(a=number(a, dtype))};\n}}\n")


def _type_or_float(dtype: str) -> str:
    return C_TYPES.get(np.dtype(dtype).name, "float")


def _all_threads(answer: Callable, trials: Sequence[Trial]) -> str | None:
    case = trials[0].case
    kernel = build(answer(*case), "axpy", "const float* x, float* y, int n")
    return undivided(counted(kernel, *_axpy_launch(*case)), load=600, store=300)


axpy = SourceTask(
    "axpy", _axpy,
    lambda: [("float32", 0.1), ("float64", 0.1), ("int32", -3), ("float16", 0.5),
             ("complex64", 2.0), ("int32", 0.5), ("int32", 2**31), ("float32", -2.5)],
    read=_read_axpy, right=_axpy_source,
    mistakes=[
        ("a literal of float32 in float64: 0.1f has seven digits, float64 wants sixteen",
         {"number": lambda a, dtype: literal(
             a, "float32" if np.dtype(dtype).kind == "f" else dtype)}),
        ("a literal of float32 in all types: it depends on dtype, as the type does",
         {"number": lambda a, dtype: literal(a, "float32")}),
        ("the factor cut to an integer", {"number": lambda a, dtype: literal(int(a), dtype)}),
        ("arithmetic in float for all types: float64 and int32 lose digits",
         {"line": "y[i] += {a} * (float)x[i]"}),
        ("y overwritten: a * x is added to what y holds", {"line": "y[i] = {a} * x[i]"}),
        ("a dtype without a name in C taken for float",
         {"kind": _type_or_float, "number": lambda a, dtype: literal(
             a, dtype if np.dtype(dtype).name in C_TYPES else "float32")}),
    ],
    rules=[_all_threads],
    rtol=1e-7,
)

# stencil: weights in the source


def _stencil(weights: np.ndarray) -> np.ndarray:
    image = _image()
    up, left = weights.shape[0] // 2, weights.shape[1] // 2
    padded = np.pad(image.astype(np.float64), ((up, up), (left, left)))
    rows, columns = image.shape
    return sum(weights[i, j] * padded[i:i + rows, j:j + columns]
               for i, j in np.ndindex(weights.shape)).astype(np.float32)


def _image(rows: int = 45, columns: int = 70) -> np.ndarray:
    return np.random.default_rng(93).standard_normal((rows, columns)).astype(np.float32)


STENCIL = "const float* x, float* y, int rows, int columns"


def _stencil_launch(weights: np.ndarray, rows: int = 45, columns: int = 70) -> tuple:
    image = _image(rows, columns)
    args = (to_device(image), blank(image.shape, np.float32), np.int32(rows),
            np.int32(columns))
    return (-(-columns // 32), -(-rows // 8)), (32, 8), args


def _no_load_for_zeros(answer: Callable, trials: Sequence[Trial]) -> str | None:
    (weights,) = trials[0].case
    kernel = build(answer(weights), "stencil", STENCIL)
    counts = counted(kernel, *_stencil_launch(weights, 16, 64))
    loads, most = counts["global_load_requests"], np.count_nonzero(weights) * 32
    if loads > most:
        return (f"the warps load {loads} times for 16 x 64 numbers; {np.count_nonzero(weights)} of"
                f" the {weights.size} weights are not zero, which makes {most} loads. Write"
                " nothing for a zero.")
    return undivided(counts, store=16 * 64)


def _weights() -> list[Case]:
    rng = np.random.default_rng(94)
    cross = np.array([[0, 0.25, 0], [0.125, -1, 0.375], [0, 0.5, 0]], np.float32)
    tall = rng.standard_normal((5, 3)).astype(np.float32)
    tall[1:4, 1] = 0
    return [(cross,), (tall,), (np.float32(1e-6) * tall.T,)]


INSIDE = "{i} >= 0 && {i} < rows && {j} >= 0 && {j} < columns"


def _stencil_source(weights: np.ndarray, *, place: Callable = lambda i, j: (i, j),
                    guard: str = INSIDE) -> str:
    lines = []
    up, left = weights.shape[0] // 2, weights.shape[1] // 2
    for k, m in np.ndindex(weights.shape):
        if weights[k, m]:
            i, j = place(k - up, m - left)
            value = f"{literal(weights[k, m])} * x[(i + ({i})) * columns + j + ({j})]"
            test = guard.format(i=f"i + ({i})", j=f"j + ({j})")
            lines.append(f"    if ({test}) s += {value};")
    return ("__global__ void stencil(const float* x, float* y, int rows, int columns) {\n"
            "    int j = blockIdx.x * blockDim.x + threadIdx.x;\n"
            "    int i = blockIdx.y * blockDim.y + threadIdx.y;\n"
            "    if (i >= rows || j >= columns) return;\n    float s = 0;\n"
            + "\n".join(lines) + "\n    y[i * columns + j] = s;\n}\n")


BY_MEMORY = "({i}) * columns + {j} >= 0 && ({i}) * columns + {j} < rows * columns"


def _stencil_clamped(weights: np.ndarray) -> str:
    source = _stencil_source(weights, guard="true")
    return re.sub(r"x\[\(i \+ (\(-?\d+\))\) \* columns \+ j \+ (\(-?\d+\))\]",
                  r"x[min(max(i + \1, 0), rows - 1) * columns + min(max(j + \2, 0), columns - 1)]",
                  source)


stencil = SourceTask(
    "stencil", _stencil, _weights, read=reader("stencil", STENCIL, _stencil_launch),
    right=_stencil_source,
    mistakes=[
        ("flipped weights, as in a convolution: weights[0, 0] belongs to the neighbour above and to"
         " the left", {"place": lambda i, j: (-i, -j)}),
        ("rows and columns of the weights exchanged", {"place": lambda i, j: (j, i)}),
        Mistake("the weights begin at the element itself: their middle belongs there",
                lambda weights: _stencil_source(weights, place=lambda i, j: (
                    i + weights.shape[0] // 2, j + weights.shape[1] // 2))),
        ("neighbours beyond a row's end taken from the next row: test the column by itself",
         {"guard": BY_MEMORY}),
        Mistake("the edge repeated beyond the image, where there should be zeros",
                _stencil_clamped),
        ("no test at the edges: the image has no neighbours there", {"guard": "true"}),
    ],
    rules=[_no_load_for_zeros],
    rtol=1e-6,
)

# autotune: the fastest of the right variants


class TooManyResources(Exception):
    """Raised by a pretended launch that a device would refuse."""


@dataclass
class _PretendKernel:
    """What `build` returns: a name, times, and whether `right` was called with it."""

    name: str
    state: str
    times: itertools.cycle
    checked: bool = False

    def __repr__(self) -> str:
        return f"<kernel {self.name!r}>"


class _PretendLab:
    """Variants whose results are known beforehand, in place of a compiler and a clock.

    A variant is a list of times, or the state that it ends in.
    """

    def __init__(self, **variants: object) -> None:
        self.variants, self.timed = variants, {}

    def build(self, variant: str) -> _PretendKernel:
        known = self.variants[variant]
        if known == "does not compile":
            raise SyntaxError(f"{variant}: expected a ';'")
        if known == "interrupted":
            raise KeyboardInterrupt
        state, times = ("right", known) if isinstance(known, list) else (known, [1e-6])
        return _PretendKernel(variant, state, itertools.cycle(times))

    def right(self, kernel: _PretendKernel) -> bool:
        if kernel.state == "does not run":
            raise TooManyResources(f"{kernel.name}: too many resources requested for launch")
        kernel.checked = True
        self.timed[kernel.name] = 0
        return kernel.state == "right"

    def clock(self, kernel: _PretendKernel) -> float:
        if not kernel.checked:
            raise RuntimeError(f"the kernel {kernel.name!r} was timed before it was checked")
        self.timed[kernel.name] += 1
        return next(kernel.times)


class _NamedFunction(functools.partial):
    """A function that a verdict shows by its name."""

    def __repr__(self) -> str:
        return self.func.__name__


def _search(variants: list, build: Callable, right: Callable, clock: Callable, *,
            check: bool = True, late: bool = False, pick: Callable = min, count: int = 5,
            middle: Callable = statistics.median, survive: tuple = (Exception,)) -> tuple:
    """The right answer; each of the keywords changes one thing."""
    report: dict = {}
    for variant in variants:
        state = STATES[0]
        try:
            kernel = build(variant)
            state = STATES[1]
            ok = late or right(kernel)
        except survive:
            report[variant] = state
            continue
        report[variant] = (middle([clock(kernel) for _ in range(count)]) if ok or not check else
                           STATES[2])
    fit = [v for v in variants if not isinstance(report[v], str)]
    if not fit:
        raise ValueError("no variant is right")
    return pick(fit, key=report.get), report


def _autotune(variants: list, build: Callable, right: Callable, clock: Callable) -> tuple:
    best, report = _search(variants, build, right, clock)
    return best, *(report[variant] for variant in variants)


def _autotune_cases() -> list[Case]:
    labs = [
        _PretendLab(a=[3.0, 2.0, 2.0, 2.0, 2.0], b=[9.0, 1.0, 1.25, 1.5, 1.25],
             c=[0.5, 4.0, 4.0, 4.0, 4.0]),
        _PretendLab(a="wrong", b=[3.0] * 5, c="does not compile", d=[2.0] * 5, e="does not run"),
        _PretendLab(a="does not compile", b="does not run", c="wrong"),
        _PretendLab(a="does not run", b=[2.0] * 5, c=[9.0, 8.0, 1.0, 8.0, 9.0]),
    ]
    return [(list(lab.variants), *map(_NamedFunction, (lab.build, lab.right, lab.clock)))
            for lab in labs]


def _read_tuning(value: object, case: Case) -> tuple:
    if not isinstance(value, tuple) or len(value) != 2 or not isinstance(value[1], dict):
        raise Refusal("it must return (best, report), report a dict; it returned"
                      f" {describe_value(value)}.{hint_at_return(value)}")
    best, report = value
    if missing := [variant for variant in case[0] if variant not in report]:
        raise Refusal(f"the report has no entry for {missing[0]!r}: it needs one for each variant.")
    if strange := [(v, r) for v, r in report.items() if isinstance(r, str) and r not in STATES]:
        raise Refusal(f"report[{strange[0][0]!r}] is {strange[0][1]!r}; the states are"
                      f" {', '.join(map(repr, STATES))}.")
    got = best, *(report[variant] for variant in case[0])
    try:
        wanted = _autotune(*case)
    except ValueError:
        return got  # an error is expected
    names = ["best", *(f"report[{variant!r}]" for variant in case[0])]
    for name, one, other in [*zip(names, wanted, got)][1:] + [(names[0], wanted[0], got[0])]:
        if one != other:
            raise Refusal(f"{name} is {other!r}; it should be {one!r}.")
    return got


def _five_times(answer: Callable, trials: Sequence[Trial]) -> str | None:
    """Which number of times was taken, and whether the search can be interrupted."""
    lab = _PretendLab(a=[2.0] * 9, b=[3.0] * 9)
    answer(["a", "b"], lab.build, lab.right, lab.clock)
    if set(lab.timed.values()) != {5}:
        return f"it times a right kernel {max(lab.timed.values())} times; five times are asked for."
    lab = _PretendLab(a="interrupted", b=[3.0] * 9)
    try:
        answer(["a", "b"], lab.build, lab.right, lab.clock)
    except KeyboardInterrupt:
        return None
    return ("who interrupts it from the keyboard does not end it: KeyboardInterrupt is no"
            " Exception, so catch that only.")


autotune = Task(
    "autotune", _autotune, _autotune_cases, read=_read_tuning, right=_search,
    mistakes=[
        ("wrong kernels timed and ranked: the fastest is often one that leaves work out",
         {"check": False}),
        ("timed before it is checked", {"late": True}),
        ("the slowest taken for the best", {"pick": max}),
        ("the mean of the five times: one disturbed sample spoils it",
         {"middle": statistics.fmean}),
        ("the shortest of the five times: the median is asked for", {"middle": min}),
        ("one sample: the first launch is special, and any launch may be disturbed", {"count": 1}),
        ("the search ending with the first variant that does not compile",
         {"survive": (TooManyResources,)}),
        ("the search ending with the first variant that does not run", {"survive": (SyntaxError,)}),
    ],
    rules=[_five_times],
)

# dense: a layer of the network, compiled


def _dense(weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    for name, values in ("weight", weight), ("bias", bias):
        literals(values.ravel(), "float32", name)
    x = _features(len(weight))
    return (weight.T.astype(np.float64) @ x + bias[:, None]).astype(np.float32)


def _features(inputs: int, n: int = 150) -> np.ndarray:
    return np.random.default_rng(95).standard_normal((inputs, n)).astype(np.float32)


FLOAT = re.compile(r"(?<![\w.])(\d+\.?\d*(?:[eE][+-]?\d+)?)f")
DENSE = "const float* x, float* y, int n"


def _dense_launch(weight: np.ndarray, bias: np.ndarray, n: int = 150) -> tuple:
    args = (to_device(_features(len(weight), n)),
            blank((weight.shape[1], n), np.float32), np.int32(n))
    return (-(-n // 64),), (64,), args


def _loads_inputs_once(answer: Callable, trials: Sequence[Trial]) -> str | None:
    weight, bias = trials[0].case
    kernel = build(answer(weight, bias), "dense", DENSE)
    counts = counted(kernel, *_dense_launch(weight, bias, 128))
    used = int(np.any(weight != 0, axis=1).sum())
    loaded = counts["bytes_loaded"] / 128
    zeros = sum(float(number) == 0 for number in FLOAT.findall(answer(weight, bias)))
    if loaded <= 4 * used and zeros > len(bias):
        return (f"{zeros} of the numbers in its source are zero: a weight that is zero needs no"
                " line.")
    if loaded > 4 * used:
        return (f"a thread loads {loaded:.0f} bytes; {used} of the {len(weight)} inputs have a"
                f" weight that is not zero, {4 * used} bytes. Load each of them once, and nothing"
                " else.")
    return None


def _dense_cases() -> list[Case]:
    rng = np.random.default_rng(96)
    weight = rng.standard_normal((6, 4)).astype(np.float32)
    weight[rng.random(weight.shape) < 0.4] = 0
    weight[2] = 0  # an input that no output needs
    weight[:, 1] = 0  # an output that is its bias
    bias = rng.standard_normal(8).astype(np.float32)[::2]
    other = (1e-4 * rng.standard_normal((5, 7))).astype(np.float32).T
    broken = weight.copy()
    broken[4, 3] = np.nan
    return [(weight, bias), (other, np.zeros(5, np.float32)),
            (broken, bias), (other, np.array([0, 0, 0, np.inf, 0], np.float32))]


def _products(weight: np.ndarray, bias: np.ndarray, *, number: Callable = literal,
              start: Callable = literal, store: str = "y[{o} * n + i]",
              load: str = "x[{k} * n + i]", keep: Callable = bool, check: bool = True) -> str:
    if check:
        literals(weight.ravel(), "float32", "weight")
        literals(bias, "float32", "bias")
    lines = [f"    float s{o} = {start(b)};" for o, b in enumerate(bias)]
    for k, row in enumerate(weight):
        lines.append(f"    v = {load.format(k=k, K=len(weight))};")
        for o, w in enumerate(row):
            if keep(w):
                lines.append(f"    s{o} += {number(w)} * v;")
    lines += [f"    {store.format(o=o, O=len(bias))} = s{o};" for o in range(len(bias))]
    return ("__global__ void dense(const float* x, float* y, int n) {\n"
            "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i >= n) return;\n"
            "    float v;\n" + "\n".join(lines) + "\n}\n")


dense = SourceTask(
    "dense", _dense, _dense_cases, read=reader("dense", DENSE, _dense_launch), right=_products,
    mistakes=[
        ("the bias left out", {"start": lambda b: "0"}),
        ("outputs side by side: here y[o * n + i] is output o of thread i",
         {"store": "y[i * {O} + {o}]"}),
        ("inputs side by side: here x[k * n + i] is input k of thread i",
         {"load": "x[i * {K} + {k}]"}),
        ("weights with three decimals: the small ones are gone", {"number": lambda w: f"{w:.3f}f"}),
        ("small weights dropped with the zeros", {"keep": lambda w: abs(w) > 1e-3}),
        ("nan and inf written as they are",
         {"check": False, "number": lambda w: f"{w}f", "start": lambda b: f"{b}f"}),
    ],
    rules=[_loads_inputs_once],
    rtol=1e-6,
)
