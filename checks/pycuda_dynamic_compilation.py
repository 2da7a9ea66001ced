"""The tasks about dynamic compilation with PyCUDA: generated kernels, and when to compile."""

from __future__ import annotations

import ast
import functools
import re
import warnings
from collections.abc import Callable, Sequence
from unittest.mock import patch

import numpy as np

from helpers.backend import is_simulated
from helpers.generate import explain, literal, literals

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
    Case,
    Mistake,
    Refusal,
    Task,
    Trial,
    describe_returned,
    difference,
    is_stub,
    require_type,
)


class SourceTask(Task):
    """A task whose answer returns the source of a kernel."""

    repeatable = True


def build(source: object, name: str, parameters: str) -> object:
    """The kernel `name` of generated source, compiled by PyCUDA; else a Refusal."""
    import pycuda.autoprimaryctx  # noqa: F401
    import pycuda.driver as drv
    from pycuda.compiler import SourceModule

    require_type(source, str, "it must return the CUDA source, a str; it returned")
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
    """Rehearse the kernel (in the simulator only one with a loop), launch it and wait."""
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
           result: int = 1) -> Callable[[object, Case], np.ndarray]:
    """The `read` of a task whose answer returns the source of a kernel: it compiles and runs it.

    `launch(*case)` returns grid, block and arguments, and `result` says which of these is the
    result. The kernel is of float32 and must do no arithmetic in double.
    """

    def read(source: object, case: Case) -> np.ndarray:
        if isinstance(source, str) and (sentence := doubles(source)):
            raise Refusal(sentence, kind="double")
        kernel = build(source, name, parameters)
        grid, block, arguments = launch(*case)
        with inputs_kept(arguments, parameters):
            run(kernel, name, source, grid, block, arguments)
        return arguments[result].get()

    return read


# the lesson's warm-ups: the bytes of a formula, a minus, and a kernel that is kept

bytes_each = Task(
    "bytes_each", lambda ones, twos: (8 * ones + 12 * twos, 12),
    lambda: [(7, 2), (0, 1), (1, 3), (20, 5)],
    mistakes=[
        ("no writes: each kernel writes an array as well",
         lambda ones, twos: (4 * ones + 8 * twos, 8)),
        ("one kernel that reads one array: it needs both x and y",
         lambda ones, twos: (8 * ones + 12 * twos, 8)),
        ("all operations taken for those that read two arrays",
         lambda ones, twos: (12 * (ones + twos), 12)),
    ],
)


def _in_a_longer_text(text: object, case: Case) -> float:
    """`text / text * text` for x = 3, y = 5, where `--` is an error of C++."""
    require_type(text, str, "it must return C++ text, a str; it returned")
    if re.search(r"--|\+\+", text):
        raise Refusal(f"it returns `{text}`: in C++, two signs side by side are another operation.")
    text = re.sub(r"(?<=[\d.])f\b", "", text)
    try:
        with np.errstate(divide="ignore", invalid="ignore"):
            return eval(f"{text} / {text} * {text}", {"x": np.float64(3), "y": np.float64(5)})
    except Exception:  # whatever it is, it is no expression
        raise Refusal(f"it returns `{text}`, which is no expression of x and y.") from None


negative = Task(
    "negative", lambda part: -eval(part, {"x": 3.0, "y": 5.0}),
    lambda: [("x",), ("-x",), ("x + y",), ("x * y",), ("y - x",), ("-x - y",)],
    read=_in_a_longer_text, right=lambda part: f"(-({part}))",
    mistakes=[
        ("a minus before the first term only: the part may be a sum", lambda part: f"(- {part})"),
        ("no parentheses around the result", lambda part: f"0.0f - ({part})"),
        ("no parentheses around the product", lambda part: f"-1.0f * ({part})"),
        ("the part itself", lambda part: f"({part})"),
    ],
)

FRESH = iter(range(40, 9999))  # exponents for which nobody has compiled a kernel yet


def _compiled_once(answer: Callable, trials: Sequence[Trial]) -> str | None:
    from pycuda.compiler import SourceModule as Module
    (x, _), k, original = trials[0].case, next(FRESH), Module.__init__
    with patch.object(Module, "__init__", autospec=True, side_effect=original) as made:
        *_, y = [answer(numbers, k) for numbers in (x[:300], x[3:], x)]
    calls = [f"{call.args[1:]}{call.kwargs}" for call in made.call_args_list]
    if len(calls) != 1:
        return f"it calls SourceModule {len(calls)} times for one new k, and not once."
    # the text is searched, because a GPU may not notice what is written behind the end
    return (difference(x.get() ** k, y.get(), 1e-4) if re.search("[<>]", *calls) else
            "its kernel does not test `i < n`.")


power = Task(
    "power", lambda x, k: x.get() ** k,
    lambda: [(to_device(np.linspace(-1.1, 1.1, n, dtype=np.float32)), k)
             for n, k in ((1003, 3), (70_000, 2), (256, 4), (5, 1))],
    read=lambda y, case: require_type(y, type(case[0]), "it must return a CuPy array, not").get(),
    mistakes=[Mistake("one kernel kept for all k: each needs its own", lambda x, k: x ** 3)],
    rules=[_compiled_once], rtol=1e-5,
)


def _decide(requests: list[str], general: dict[str, int], special: dict[str, int], compiling: int,
            *, shared: bool = False, early: bool = False, late: bool = False, always: bool = False,
            whole: bool = False, free: bool = False) -> tuple[list[str], int]:
    """The right answer; each of the keywords changes one thing."""
    words, total, ready, lost = [], 0, set(), {}
    for shape in requests:
        gain = general[shape] - special[shape]
        key = None if shared else shape
        now = lost.get(key, 0) + early * gain
        if shape in ready:
            words.append("special")
        elif (gain > 0 or always) and (now > compiling if late else now >= compiling):
            words.append("compile")
            ready.add(shape)
            total += 0 if free else compiling
        else:
            words.append("general")
            lost[key] = lost.get(key, 0) + (general[shape] if whole else max(gain, 0))
        total += general[shape] if words[-1] == "general" else special[shape]
    return words, total


def _decide_cases() -> list[Case]:
    general = {"a": 9, "b": 30, "c": 5, "d": 4, "e": 3}
    special = {"a": 4, "b": 10, "c": 5, "d": 7, "e": 2}
    rng = np.random.default_rng(97)
    many = rng.choice(["a", "b", "c", "d"], 60, p=(0.6, 0.2, 0.1, 0.1)).tolist()
    return [(list(requests), general, special, compiling) for requests, compiling in (
        ("aaaaaa", 15), ("ababbab", 40), ("cd" * 9 + "eee", 1), ("cdaca", 0), ("", 5),
        ("eeee", 2), (many, 33))]


def _read_decisions(value: object, case: Case) -> int:
    if not isinstance(value, tuple) or len(value) != 2 or not isinstance(value[0], list):
        raise Refusal("it must return two things, the list of the words and the time; it returned"
                      f" {describe_returned(value)}")
    (words, total), right = value, _decide(*case)[0]
    if len(words) != len(right):
        raise Refusal(f"it returns {len(words)} words for {len(right)} requests.")
    for k, (word, other) in enumerate(zip(words, right)):
        if word != other:
            raise Refusal(f"requests[{k}], {case[0][k]!r}, gets {word!r}; it should be {other!r}.")
    return total


decide = Task(
    "decide", lambda requests, general, special, compiling: _decide(
        requests, general, special, compiling)[1],
    _decide_cases, read=_read_decisions,
    mistakes=[
        ("one loss for all shapes: each shape has its own", {"shared": True}),
        ("compiled one request too early: what counts is the loss before the request",
         {"early": True}),
        ("compiled only when more is lost than compiling takes: equal is enough", {"late": True}),
        ("a kernel compiled that is not faster than the general one", {"always": True}),
        ("the whole time of the general launches taken for the loss: only the difference is lost",
         {"whole": True}),
        ("the time of compiling left out of the total", {"free": True}),
    ],
    right=_decide,
)

# stencil: weights in the source

SIZES = {(5, 3): (32_801, 5), (3, 5): (5, 32_801)}  # of images; a short counts to 32,767


def _stencil(weights: np.ndarray) -> np.ndarray:
    image = _image(*SIZES.get(weights.shape, (45, 70)))
    up, left = weights.shape[0] // 2, weights.shape[1] // 2
    padded = np.pad(image.astype(np.float64), ((up, up), (left, left)))
    rows, columns = image.shape
    return sum(weights[i, j] * padded[i:i + rows, j:j + columns]
               for i, j in np.ndindex(weights.shape)).astype(np.float32)


def _image(rows: int, columns: int) -> np.ndarray:
    return np.random.default_rng(93).standard_normal((rows, columns)).astype(np.float32)


STENCIL = "const float* x, float* y, int rows, int columns"


def _stencil_launch(weights: np.ndarray, size: tuple[int, int] | None = None) -> tuple:
    rows, columns = size or SIZES.get(weights.shape, (45, 70))
    image = _image(rows, columns)
    args = (to_device(image), blank(image.shape, np.float32), np.int32(rows), np.int32(columns))
    return (-(-columns // 32), -(-rows // 8)), (32, 8), args


def _no_load_for_zeros(answer: Callable, trials: Sequence[Trial]) -> str | None:
    (weights,) = trials[0].case
    kernel = build(answer(weights), "stencil", STENCIL)
    counts = counted(kernel, *_stencil_launch(weights, (16, 64)))
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
    return [(cross,), (tall,), (np.float32(1e-25) * tall.T,), (np.zeros((1, 3), np.float32),)]


INSIDE = "{i} >= 0 && {i} < rows && {j} >= 0 && {j} < columns"
BY_MEMORY = "({i}) * columns + {j} >= 0 && ({i}) * columns + {j} < rows * columns"


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


stencil = SourceTask(
    "stencil", _stencil, _weights, read=reader("stencil", STENCIL, _stencil_launch),
    right=_stencil_source,
    mistakes=[
        ("flipped weights, as in a convolution: weights[0, 0] belongs to the neighbour above and"
         " to the left", {"place": lambda i, j: (-i, -j)}),
        ("rows and columns of the weights exchanged", {"place": lambda i, j: (j, i)}),
        ("neighbours beyond a row's end taken from the next row: test the column by itself",
         {"guard": BY_MEMORY}),
    ],
    rules=[_no_load_for_zeros],
    rtol=1e-6,
)

# convolution: a layer of the network, compiled

CONVOLUTION = "const float* x, float* y, int n"
PIXELS = 32_832  # more than a short counts, and half a block more than whole ones
ZERO = re.compile(r"((?<![\w.])|\(\s*-?)0+\.?0*f\s*\*|\(\s*-?0+\.?0*f\s*\)\s*\*|\*\s*\(?-?0+\.?0*f")


def _convolution(weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    for name, values in ("weight", weight), ("bias", bias):
        literals(values.ravel(), "float32", name)
    planes = _planes(weight.shape[1]).reshape(weight.shape[1], -1, 8, 8).astype(np.float64)
    padded = np.pad(planes, ((0, 0), (0, 0), (1, 1), (1, 1)))
    result = sum(np.einsum("oc,cnhw->onhw", weight[:, :, i, j], padded[:, :, i:i + 8, j:j + 8])
                 for i, j in np.ndindex(3, 3)) + bias[:, None, None, None]
    return result.reshape(len(weight), -1).astype(np.float32)


def _planes(channels: int, n: int = PIXELS) -> np.ndarray:
    return np.random.default_rng(95).standard_normal((channels, n)).astype(np.float32)


def _convolution_launch(weight: np.ndarray, bias: np.ndarray, n: int = PIXELS) -> tuple:
    args = (to_device(_planes(weight.shape[1], n)), blank((len(weight), n), np.float32),
            np.int32(n))
    return (-(-n // 128),), (128,), args


def _loads_neighbours_once(answer: Callable, trials: Sequence[Trial]) -> str | None:
    weight, bias = trials[0].case
    source = answer(weight, bias)
    counts = counted(build(source, "convolution", CONVOLUTION),
                     *_convolution_launch(weight, bias, 512))
    most = 4 * sum(8 * (8 - abs(i - 1)) * (8 - abs(j - 1))
                   for _, i, j in np.argwhere((weight != 0).any(axis=0)))
    if counts["bytes_loaded"] > most:
        return (f"512 threads load {counts['bytes_loaded']:,} bytes. Each neighbour inside of the"
                f" image whose weights are not all zero, once a thread, makes {most:,}.")
    if ZERO.search(source):
        return "its source multiplies by 0.0f: a weight that is zero needs no line."
    return undivided(counts, store=len(weight) * 512)


def _convolution_cases() -> list[Case]:
    rng = np.random.default_rng(96)
    weight = rng.standard_normal((4, 3, 3, 3)).astype(np.float32)
    weight[rng.random(weight.shape) < 0.4] = 0
    weight[:, 1, 0, 2] = 0  # a neighbour that no output needs
    weight[1] = 0  # an output that is its bias
    bias = rng.standard_normal(8).astype(np.float32)[::2]
    other = (1e-25 * rng.standard_normal((3, 3, 2, 5))).astype(np.float32).T
    broken = weight.copy()
    broken[3, 2, 1, 1] = np.nan
    return [(weight, bias), (other, np.zeros(5, np.float32)),
            (broken, bias), (other, np.array([0, 0, 0, np.inf, 0], np.float32))]


TESTS = {0: "i > 0", 2: "i < 7"}, {0: "j > 0", 2: "j < 7"}


def _layer(weight: np.ndarray, bias: np.ndarray, *, number: Callable = literal,
           start: Callable = literal, store: str = "y[{o} * n + p]",
           load: str = "x[{c} * n + p + {d}]", place: Callable = lambda i, j: (i, j),
           tests: tuple = TESTS, keep: Callable = bool, check: bool = True) -> str:
    """Source of a layer; each of the keywords changes one thing."""
    if check:
        literals(weight.ravel(), "float32", "weight")
        literals(bias, "float32", "bias")
    outputs, channels = weight.shape[:2]
    lines = [f"    float s{o} = {start(b)};" for o, b in enumerate(bias)]
    for c, i, j in np.ndindex(channels, 3, 3):
        terms = [f"    s{o} += {number(w)} * v;"
                 for o, w in enumerate(weight[:, c, i, j]) if keep(w)]
        if terms:
            row, column = place(i, j)
            inside = [test[k] for test, k in zip(tests, (row, column)) if k in test] or ["true"]
            value = load.format(c=c, C=channels, d=f"({8 * (row - 1) + column - 1})")
            lines += [f"    v = {' && '.join(inside)} ? {value} : 0;", *terms]
    lines += [f"    {store.format(o=o, O=outputs)} = s{o};" for o in range(outputs)]
    return ("__global__ void convolution(const float* x, float* y, int n) {\n"
            "    int p = blockIdx.x * blockDim.x + threadIdx.x;\n    if (p >= n) return;\n"
            "    int i = p / 8 % 8, j = p % 8;\n    float v;\n" + "\n".join(lines) + "\n}\n")


convolution = SourceTask(
    "convolution", _convolution, _convolution_cases,
    read=reader("convolution", CONVOLUTION, _convolution_launch), right=_layer,
    mistakes=[
        ("the bias left out", {"start": lambda b: "0"}),
        ("outputs side by side: here y[o * n + p] is output o of pixel p",
         {"store": "y[p * {O} + {o}]"}),
        ("channels side by side: here x[c * n + p] is channel c of pixel p",
         {"load": "x[(p + {d}) * {C} + {c}]"}),
        ("flipped weights: weights[o, c, 0, 0] belongs to the neighbour above and to the left",
         {"place": lambda i, j: (2 - i, 2 - j)}),
        ("no test of a neighbour's place: beyond an edge of its image there are zeros, but memory"
         " goes on with the next row or the next image", {"tests": ({}, {})}),
        ("small weights dropped with the zeros", {"keep": lambda w: abs(w) > 1e-3}),
        ("nan and inf written as they are",
         {"check": False, "number": lambda w: f"{w}f", "start": lambda b: f"{b}f"}),
    ],
    rules=[_loads_neighbours_once],
    rtol=1e-6,
)

# slope: the derivative of a formula

PLACES = np.random.default_rng(98).uniform(-1.5, 1.5, (2, 33_000)).astype(np.float32)
SLOPE = "const float* xs, const float* ys, float* zs, int n"


def _derive(node: ast.AST, *, minus: str = "-", outer: str = "(-sinf({v}))", chain: bool = True,
            product: str = "({a} * {db} + {da} * {b})",
            number: Callable = literal) -> tuple[str, str]:
    """Value and slope of a formula in C++; each of the keywords changes one thing."""
    again = functools.partial(_derive, minus=minus, outer=outer, chain=chain, product=product,
                              number=number)
    if isinstance(node, ast.Constant):
        return number(node.value), "0.0f"
    if isinstance(node, ast.Name) and node.id in ("x", "y"):
        return node.id, "1.0f" if node.id == "x" else "0.0f"
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("sin", "cos"):
        v, dv = again(node.args[0])
        found = f"cosf({v})" if node.func.id == "sin" else outer.format(v=v)
        return f"{node.func.id}f({v})", f"({found} * {dv})" if chain else found
    sign = {ast.Add: "+", ast.Sub: minus, ast.Mult: "*"}.get(type(getattr(node, "op", None)))
    if not isinstance(node, ast.BinOp) or sign is None:
        raise ValueError(f"not allowed: {ast.unparse(node)}")
    (a, da), (b, db) = again(node.left), again(node.right)
    if sign == "*":
        return f"({a} * {b})", product.format(a=a, b=b, da=da, db=db)
    return f"({a} {'-' if isinstance(node.op, ast.Sub) else '+'} {b})", f"({da} {sign} {db})"


def _slope_source(formula: str, **changes: object) -> str:
    return ("__global__ void slope(const float* xs, const float* ys, float* zs, int n) {\n"
            "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i >= n) return;\n"
            "    float x = xs[i], y = ys[i];\n"
            f"    zs[i] = {_derive(ast.parse(formula, mode='eval').body, **changes)[1]};\n}}\n")


def _slope(formula: str) -> np.ndarray:
    _derive(ast.parse(formula, mode="eval").body)  # refuses what is not allowed
    x, y = PLACES.astype(np.float64)
    value = eval(formula, {"sin": np.sin, "cos": np.cos, "x": x + 1e-30j, "y": y})
    return (np.zeros_like(x) + np.imag(value) * 1e30).astype(np.float32)


def _slope_launch(formula: str) -> tuple:
    xs, ys = map(to_device, PLACES.copy())
    return (260,), (128,), (xs, ys, blank(xs.shape, np.float32), np.int32(len(PLACES[0])))


slope = SourceTask(
    "slope", _slope,
    lambda: [("3 * x - 2 * (x - y)",), ("sin(4 * x) * cos(x * y)",), ("y",),
             ("(x + 0.5) * x * x + 1",), ("cos(sin(3 * x) - x) * (1 - x)",),
             ("50000 * 50000 * x",), ("x / y",), ("x ** 2",), ("x + z",), ("x + tan(y)",)],
    read=reader("slope", SLOPE, _slope_launch, result=2), right=_slope_source,
    mistakes=[
        ("minus signs lost", {"minus": "+"}),
        ("the slope of cos with the wrong sign: it is -sin", {"outer": "sinf({v})"}),
        ("the chain rule left out: the slope of sin(u) is cos(u) times the slope of u",
         {"chain": False}),
        ("slopes multiplied: the slope of a * b is a * b' + a' * b", {"product": "({da} * {db})"}),
    ],
    rtol=1e-5,
)
