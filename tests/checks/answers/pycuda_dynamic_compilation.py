"""Right answers besides the solution, and wrong ones that are no known mistake."""

import ast
import functools
import re

import numpy as np
from lone_workers import alone

import helpers
from helpers.generate import literal, literals, render

helpers.start(needs="pycuda")

import cupy as cp  # noqa: E402
import pycuda.autoprimaryctx  # noqa: E402, F401
from pycuda.compiler import SourceModule  # noqa: E402


def bytes_by_arrays(ones, twos):
    """Two arrays for each operation, and a third for some."""
    return 4 * (2 * (ones + twos) + twos), 4 * 3


def bytes_as_list_of_kernels(ones, twos):
    return sum([8] * ones + [12] * twos), 12


def negative(part):
    return f"(-({part}))"


KERNELS = {}


def power(x, k):
    if k not in KERNELS:
        KERNELS[k] = power_kernel(k)
    return launched(KERNELS[k], x)


def launched(kernel, x):
    y = cp.empty_like(x)
    kernel(x, y, np.int32(x.size), block=(256, 1, 1), grid=(-(-x.size // 256), 1))
    return y


def power_kernel(k):
    source = "__global__ void power(const float* x, float* y, int n) {\n"
    source += "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    source += f"    if (i < n) y[i] = {' * '.join(['x[i]'] * k)};\n}}"
    return SourceModule(source).get_function("power")


def power_each_time(x, k):
    return launched(power_kernel(k), x)


@functools.cache
def kernel_of_length(k, n):
    return power_kernel(k)


def power_of_each_length(x, k):
    return launched(kernel_of_length(k, x.size), x)


@functools.cache
def kernel_without_a_test(k):
    return SourceModule("__global__ void power(const float* x, float* y) {\n"
                        f"    y[blockIdx.x] = {' * '.join(['x[blockIdx.x]'] * k)};\n"
                        "}").get_function("power")


def power_without_a_test(x, k):
    y = cp.empty_like(x)
    kernel_without_a_test(k)(x, y, block=(1, 1, 1), grid=(x.size, 1))
    return y


GENERAL = """__global__ void power(const float* x, float* y, int n, int k) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float p = 1;
        for (int j = 0; j < k; j++) p *= x[i];
        y[i] = p;
    }
}"""


@functools.cache
def loop_of(k):
    """The kernel with k as a constant, for which the compiler can unroll the loop."""
    source = GENERAL.replace("int k)", "int)").replace("< k", f"< {k}")
    return SourceModule(source).get_function("power")


def power_by_loop(x, k):
    y = cp.zeros(len(x), np.float32)
    loop_of(k)(x, y, np.int32(len(x)), np.int32(0), block=(512, 1, 1))
    return y


def power_by_argument(x, k):
    """One general kernel."""
    if "general" not in KERNELS:
        KERNELS["general"] = SourceModule(GENERAL).get_function("power")
    y = cp.empty_like(x)
    KERNELS["general"](x, y, np.int32(x.size), np.int32(k), block=(256, 1, 1))
    return y


def decide(requests, general, special, compiling):
    """From what is left to lose."""
    left, words, total = dict.fromkeys(general, compiling), [], 0
    for shape in requests:
        faster = general[shape] > special[shape]
        if left[shape] is None:
            word, time = "special", special[shape]
        elif faster and left[shape] <= 0:
            word, time, left[shape] = "compile", compiling + special[shape], None
        else:
            word, time = "general", general[shape]
            left[shape] -= general[shape] - special[shape]
        words.append(word)
        total += time
    return words, total


def decide_by_counts(requests, general, special, compiling):
    """By the number of earlier requests, and not by the time that they lost."""
    words, total = decide(requests, general, special, compiling)
    seen = {}
    for k, shape in enumerate(requests):
        seen[shape] = seen.get(shape, 0) + 1
        words[k] = ("general", "compile", "special")[min(2, max(0, seen[shape] - 3))]
    return words, total


def decide_with_foresight(requests, general, special, compiling):
    """Compiles at the first request where it pays in the end."""
    words, total, seen = [], 0, set()
    for shape in requests:
        gain = general[shape] - special[shape]
        pays = requests.count(shape) * gain > compiling
        words.append("special" if shape in seen and pays else "compile" if pays else "general")
        total += {"special": special[shape], "compile": compiling + special[shape],
                  "general": general[shape]}[words[-1]]
        seen.add(shape)
    return words, total


# One padded tile in shared memory, zeros outside.
def stencil(weights):
    rows, columns = weights.shape
    taps = [(i, j, literal(weights[i, j])) for i, j in zip(*np.nonzero(weights))]
    return render("""
__global__ void stencil(const float* x, float* y, int rows, int columns) {
    __shared__ float tile[{{ 8 + up + up }}][{{ 32 + left + left }}];
    int i0 = blockIdx.y * 8, j0 = blockIdx.x * 32, t = threadIdx.y * 32 + threadIdx.x;
    for (int e = t; e < {{ (8 + up + up) * (32 + left + left) }}; e += 256) {
        int a = e / {{ 32 + left + left }}, b = e % {{ 32 + left + left }};
        int i = i0 + a - {{ up }}, j = j0 + b - {{ left }};
        tile[a][b] = i >= 0 && i < rows && j >= 0 && j < columns ? x[i * columns + j] : 0;
    }
    __syncthreads();
    float s = 0;
{% for i, j, w in taps %}
    s = fmaf({{ w }}, tile[threadIdx.y + {{ i }}][threadIdx.x + {{ j }}], s);
{% endfor %}
    if (i0 + threadIdx.y < rows && j0 + threadIdx.x < columns)
        y[(i0 + threadIdx.y) * columns + j0 + threadIdx.x] = s;
}
""", up=rows // 2, left=columns // 2, taps=taps)


def _direct(weights, zeros):
    up, left = weights.shape[0] // 2, weights.shape[1] // 2
    lines = "".join(
        f"    if (i + {k - up} >= 0 && i + {k - up} < rows && j + {m - left} >= 0 &&"
        f" j + {m - left} < columns) s += {literal(weights[k, m])} *"
        f" x[(i + {k - up}) * columns + j + {m - left}];\n"
        for k, m in np.ndindex(weights.shape) if zeros or weights[k, m])
    return ("__global__ void stencil(const float* x, float* y, int rows, int columns) {\n"
            "    int i = blockIdx.y * 8 + threadIdx.y, j = blockIdx.x * 32 + threadIdx.x;\n"
            "    float s = 0;\n    if (i >= rows || j >= columns) return;\n" + lines
            + "    y[i * columns + j] = s;\n}\n")


def stencil_direct(weights):
    return _direct(weights, zeros=False)


def stencil_with_zeros(weights):
    return _direct(weights, zeros=True)


def stencil_without_a_declaration(weights):
    return stencil_direct(weights).replace("float s = 0;", "")


def stencil_without_tests(weights):
    return re.sub(r"if \(i \+ .* < columns\) s", "s", stencil_direct(weights))


def stencil_clamped(weights):
    """The edge repeated beyond the image, where there should be zeros."""
    return re.sub(r"if \(i \+ .* < columns\) (s.*)x\[\(i (.*)\) \* columns \+ j (.*)\];",
                  r"\1x[min(max(i \2, 0), rows - 1) * columns + min(max(j \3, 0), columns - 1)];",
                  stencil_direct(weights))


def stencil_without_small_weights(weights):
    return stencil(np.where(np.abs(weights) < 1e-4, 0, weights).astype(np.float32))


# Output by output, with tests of the neighbours before all loads.
def convolution(weight, bias):
    for name, values in ("weight", weight), ("bias", bias):
        literals(values.ravel(), name=name)
    used = [(c, i, j) for c, i, j in np.ndindex(weight.shape[1:]) if weight[:, c, i, j].any()]
    loads = "".join(
        f"    float v{k} = 0;\n    if (i + {i - 1} >= 0 && i + {i - 1} < 8 && j + {j - 1} >= 0 &&"
        f" j + {j - 1} < 8) v{k} = x[{c} * n + p + {8 * (i - 1) + j - 1}];\n"
        for k, (c, i, j) in enumerate(used))
    sums = "".join(
        f"    y[{o} * n + p] = " + " + ".join([literal(b)] + [
            f"{literal(weight[o, c, i, j])} * v{k}" for k, (c, i, j) in enumerate(used)
            if weight[o, c, i, j]]) + ";\n"
        for o, b in enumerate(bias))
    return ("__global__ void convolution(const float* x, float* y, int n) {\n"
            "    int p = blockIdx.x * blockDim.x + threadIdx.x;\n"
            "    if (p < n) {\n    int i = p % 64 / 8, j = p % 8;\n" + loads + sums + "    }\n}\n")


def convolution_by_choice(weight, bias):
    """Each load stands in a choice whose other side is 0, and is multiplied at once."""
    return re.sub(r"float (v\d+) = 0;\n    if \((.*)\) v\d+ = (.*);",
                  r"float \1 = (\2 ? \3 : 0.0f) * 1.0f;", convolution(weight, bias))


def convolution_from_memory(weight, bias):
    """The weights in an array in the source, which a loop reads."""
    outputs, channels = weight.shape[:2]
    return f"""
__device__ float w[] = {{{", ".join(literals(weight.ravel(), name="weight"))}}};
__device__ float b[] = {{{", ".join(literals(bias, name="bias"))}}};
__global__ void convolution(const float* x, float* y, int n) {{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= n) return;
    for (int o = 0; o < {outputs}; o++) {{
        float s = b[o];
        for (int c = 0; c < {channels}; c++) {{
            for (int k = 0; k < 9; k++) {{
                int i = p / 8 % 8 + k / 3 - 1, j = p % 8 + k % 3 - 1;
                int q = c * n + p + 8 * (k / 3 - 1) + k % 3 - 1;
                if (i >= 0 && i < 8 && j >= 0 && j < 8) s += w[(o * {channels} + c) * 9 + k] * x[q];
            }}
        }}
        y[o * n + p] = s;
    }}
}}
"""


def convolution_with_zeros(weight, bias):
    return convolution(weight, bias).replace("y[0 * n + p] =", "y[0 * n + p] = 0.0f * v0 +")


def convolution_all_neighbours(weight, bias):
    source = convolution(weight, bias)
    return source.replace("    y[0 * n + p] =", "    y[0 * n + p] = 0 * x[1 * n + p] +")


def convolution_in_one_block(weight, bias):
    source = convolution(weight, bias).replace(
        "if (p < n)", "for (; p < n; p += gridDim.x * blockDim.x)")
    return alone(source)


class Slope(ast.NodeVisitor):
    """Value and slope, by a visitor; sums and products as function calls."""

    def generic_visit(self, node):
        raise ValueError(f"{type(node).__name__} in a formula")

    def visit_Expression(self, node):
        return self.visit(node.body)

    def visit_Constant(self, node):
        return f"dual{{{literal(node.value)}, 0.0f}}"

    def visit_Name(self, node):
        if node.id not in ("x", "y"):
            raise ValueError("a name that is not allowed")
        return {"x": "dual{x, 1.0f}", "y": "dual{y, 0.0f}"}[node.id]

    def visit_Call(self, node):
        name = {"sin": "dual_sin", "cos": "dual_cos"}.get(node.func.id)
        if name is None:
            raise ValueError("a function that is not allowed")
        return f"{name}({self.visit(node.args[0])})"

    def visit_BinOp(self, node):
        name = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul"}.get(type(node.op))
        if name is None:
            raise ValueError("an operator that is not allowed")
        return f"{name}({self.visit(node.left)}, {self.visit(node.right)})"


# Numbers that carry their slope.
DUAL = """
struct dual { float v, d; };
__device__ dual add(dual a, dual b) { return dual{a.v + b.v, a.d + b.d}; }
__device__ dual sub(dual a, dual b) { return dual{a.v - b.v, a.d - b.d}; }
__device__ dual mul(dual a, dual b) { return dual{a.v * b.v, a.v * b.d + a.d * b.v}; }
__device__ dual dual_sin(dual a) { return dual{sinf(a.v), cosf(a.v) * a.d}; }
__device__ dual dual_cos(dual a) { return dual{cosf(a.v), -sinf(a.v) * a.d}; }
"""


def slope(formula):
    return DUAL + f"""
__global__ void slope(const float* xs, const float* ys, float* zs, int n) {{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {{
        float x = xs[i], y = ys[i];
        zs[i] = {Slope().visit(ast.parse(formula, mode="eval"))}.d;
    }}
}}
"""


def slope_by_difference(formula):
    """(f(x + h) - f(x)) / h in float: nearly all digits are lost."""
    slope(formula)
    text = formula.replace("sin(", "sinf(").replace("cos(", "cosf(").replace("0.5", "0.5f")
    return f"""
__device__ float f(float x, float y) {{ return {text}; }}
__global__ void slope(const float* xs, const float* ys, float* zs, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) zs[i] = (f(xs[i] + 1e-4f, ys[i]) - f(xs[i], ys[i])) / 1e-4f;
}}
"""


def slope_of_anything(formula):
    return slope(formula.replace("/", "*").replace("**", "*"))


RIGHT = {
    "bytes_each": [bytes_by_arrays, bytes_as_list_of_kernels],
    "negative": [negative, lambda part: f"(-1.0f * ({part}))", lambda part: f"(0.0f - ({part}))"],
    "power": [power, power_by_loop],
    "decide": [decide],
    "convolution": [convolution, convolution_by_choice],
    "stencil": [stencil, stencil_direct],
    "slope": [slope],
}
WRONG = {
    "bytes_each": [
        (lambda ones, twos: (8 * ones + 12 * twos, 8 * ones + 12 * twos), "value 1 of the tuple"),
        (lambda ones, twos: 8 * ones + 12 * twos, "expected"),
    ],
    "negative": [
        (lambda part: f"-{part}", "two signs side by side"),
        (lambda part: f"(-{part})", "two signs side by side"),
        (lambda part: f"({part}) - 1", "expected"),
        (lambda part: f"-({part}", "no expression"),
        (lambda part: -1.0, "it must return C++ text"),
    ],
    "power": [
        (power_each_time, "calls SourceModule 3 times"),
        (power_of_each_length, "calls SourceModule 3 times"),
        (power_by_argument, "calls SourceModule 0 times"),
        (lambda x, k: x ** k, "calls SourceModule 0 times"),
        (lambda x, k: power(x, k).get(), "it must return a CuPy array"),
        (power_without_a_test, "does not test"),
        (lambda x, k: power(x, k + 1), "expected"),
        (lambda x, k: cp.square(x, out=x), "changed its argument"),
    ],
    "decide": [
        (decide_by_counts, "it should be"),
        (decide_with_foresight, "it should be"),
        (lambda requests, general, special, compiling:
         decide(requests, general, special, compiling)[0], "it must return two things"),
        (lambda requests, general, special, compiling: (["general"] * (len(requests) - 1), 0),
         "words for"),
        (lambda requests, general, special, compiling: (
            ["compiled"] * len(requests), 0), "gets 'compiled'"),
        (lambda requests, general, special, compiling: (
            decide(requests, general, special, compiling)[0], 7), "expected"),
    ],
    "convolution": [
        (convolution_from_memory, "512 threads load"),
        (convolution_all_neighbours, "512 threads load"),
        (convolution_with_zeros, "a weight that is zero needs no line"),
        (convolution_in_one_block, "hardly one loads"),
        (lambda weight, bias: convolution(
            np.where(np.abs(weight) < 1e-8, np.float32(0), weight), bias), "expected"),
        (lambda weight, bias: convolution(weight, bias).replace("p < n", "true"),
         "an access outside an array"),
        (lambda weight, bias: convolution(weight, bias).replace("p % 64 / 8", "p / 8"),
         "expected"),
        (lambda weight, bias: convolution(weight, bias).replace("j + -1 >= 0", "true"),
         "an access outside an array"),
        (lambda weight, bias: convolution(weight, bias).replace("i + 1 < 8", "true"),
         "an access outside an array"),
    ],
    "stencil": [
        (stencil_without_small_weights, "weights: float32 (3, 5)"),
        (stencil_clamped, "expected"),
        (stencil_with_zeros, "Write nothing for a zero"),
        (stencil_without_a_declaration, '"s" is undefined'),
        (lambda weights: stencil(weights) if weights.any() else  # nothing stored
         re.sub(r"(?s)\{.*", "{}", stencil_direct(weights)), "expected"),
        (stencil_without_tests, "of the kernel stencil makes an access outside an array"),
    ],
    "slope": [
        (slope_by_difference, "expected"),
        (slope_of_anything, "it should raise ValueError"),
        (lambda formula: slope(formula.replace("tan(y)", "y")), "it should raise ValueError"),
        (lambda formula: slope(formula).replace("cosf(a.v) * a.d", "cos((double)a.v) * a.d"),
         "`double` in the source"),
        (lambda formula: slope(formula).replace("zs[i] =", "zs[i] +="), "expected"),
        (lambda formula: slope(formula.replace("x", "q").replace("y", "x").replace("q", "y"))
         .replace("x = xs[i], y = ys[i]", "y = xs[i], x = ys[i]"), "expected"),  # along y
    ],
}


def random_requests(rng):
    general, special = ({shape: int(rng.integers(0, 10)) for shape in "abcd"} for _ in range(2))
    requests = rng.choice(list("abcd"), rng.integers(0, 40)).tolist()
    return requests, general, special, int(rng.integers(0, 40))


def random_layers(rng):
    outputs, channels = rng.integers(1, 4, 2)
    weight = rng.standard_normal((outputs, channels, 3, 3), np.float32)
    weight[rng.random(weight.shape) < 0.4] = 0
    return weight, rng.standard_normal(outputs, np.float32)


def random_crosses(rng):
    weights = rng.standard_normal(2 * rng.integers(0, 3, 2) + 1, np.float32)
    weights[rng.random(weights.shape) < 0.4] = 0
    return (weights,)


def random_formulas(rng):
    def part(depth):
        if depth == 0 or rng.random() < 0.2:
            return str(rng.choice(["x", "y", "2", "0.5"]))
        if rng.random() < 0.4:
            return f"{rng.choice(['sin', 'cos'])}({part(depth - 1)})"
        return f"({part(depth - 1)} {rng.choice(list('+-*'))} {part(depth - 1)})"

    return (part(3),)


INPUTS = {"decide": random_requests, "convolution": random_layers, "stencil": random_crosses,
          "slope": random_formulas}
