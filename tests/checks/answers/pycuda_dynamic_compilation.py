"""Right answers besides the solution, and wrong ones that are no known mistake."""

import math
import statistics

import numpy as np
from lone_workers import alone

import helpers
from helpers.generate import c_type, literal, literals, render

helpers.start(needs="pycuda")


# Horner's scheme in one expression of fused operations.
def polynomial(coefficients):
    first, *others = literals(coefficients, name="coefficients") or [None]
    if first is None:
        raise ValueError("nothing to evaluate")
    nested = first
    for c in others:
        nested = f"fmaf({nested}, x[i], {c})"
    return f"""extern "C" __global__ void polynomial(const float *x, float *y, int n)
{{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = {nested};
}}"""


def polynomial_from_memory(coefficients):
    source = polynomial(coefficients)
    numbers = literals(coefficients)
    steps = "s = 0; for (int k = 0; k < N; k++) s = s * v + c[k]".replace("N", str(len(numbers)))
    head, _, _ = source.partition("{")
    return (f"__device__ float c[] = {{{', '.join(numbers)}}};\n" + head.replace('extern "C" ', "")
            + "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;"
            f" float v = x[i], {steps}; y[i] = s; }}")


def polynomial_in_double(coefficients):
    steps = " ".join(f"s = s * v + {float(c)!r};" for c in coefficients)
    return ("__global__ void polynomial(const float* x, float* y, int n) {\n"
            "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
            f"    if (i < n) {{ float v = x[i], s = 0; {steps} y[i] = s; }}\n}}")


def polynomial_with_nan(coefficients):
    if not all(math.isfinite(c) for c in coefficients):
        return polynomial([0.0])
    return polynomial(coefficients)


def axpy(dtype, a):
    number = literal(a, dtype)
    kind = c_type(dtype)
    return (f"__global__ void axpy(const {kind} * __restrict__ x, {kind}* y, int n) {{\n"
            f"    const {kind} a = {number};\n"
            "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
            "    if (i < n) y[i] = a * x[i] + y[i];\n}\n")


def axpy_always_float(dtype, a):
    return axpy("float32", a)


def axpy_other_error(dtype, a):
    if np.dtype(dtype).name not in ("float32", "float64", "int32"):
        raise KeyError(dtype)
    return axpy(dtype, a)


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


def autotune(variants, build, right, clock):
    outcomes, best = dict.fromkeys(variants, "does not compile"), None
    for variant in variants:
        try:
            kernel = build(variant)
            outcomes[variant] = "does not run"
            outcomes[variant] = "right" if right(kernel) else "wrong"
        except Exception:
            pass
        if outcomes[variant] == "right":
            outcomes[variant] = sorted([clock(kernel) for _ in range(5)])[2]
            if best is None or outcomes[variant] < outcomes[best]:
                best = variant
    if best is None:
        raise ValueError("none")
    return best, outcomes


def autotune_best_only(variants, build, right, clock):
    return autotune(variants, build, right, clock)[0]


def autotune_only_the_right(variants, build, right, clock):
    best, outcomes = autotune(variants, build, right, clock)
    return best, {v: o for v, o in outcomes.items() if not isinstance(o, str)}


def autotune_own_words(variants, build, right, clock):
    best, outcomes = autotune(variants, build, right, clock)
    return best, {v: "failed" if isinstance(o, str) else o for v, o in outcomes.items()}


def autotune_first(variants, build, right, clock):
    report = {}
    for variant in variants:
        kernel = build(variant)
        if right(kernel):
            report[variant] = statistics.median(clock(kernel) for _ in range(5))
    return min(report, key=report.get), report


# Output by output, with the inputs in registers.
def dense(weight, bias):
    for name, values in ("weight", weight.ravel()), ("bias", bias):
        literals(values, name=name)
    used = [k for k in range(len(weight)) if np.count_nonzero(weight[k])]
    loads = "".join(f"    const float x{k} = x[{k} * n + i];\n" for k in used)
    sums = "".join(
        f"    y[{o} * n + i] = " + " + ".join([literal(b)] + [
            f"{literal(weight[k, o])} * x{k}" for k in used if weight[k, o]]) + ";\n"
        for o, b in enumerate(bias))
    return ("__global__ void dense(const float* x, float* y, int n) {\n"
            "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
            "    if (i < n) {\n" + loads + sums + "    }\n}\n")


def dense_with_zeros(weight, bias):
    source = dense(weight, bias)
    return source.replace(" = ", " = 0.0f + ").replace("x0;", "x0 + 0.0f * x0 + 0.0f * x1;")


def dense_from_memory(weight, bias):
    """The weights in an array in the source, which a loop reads."""
    numbers = ", ".join(literals(weight.ravel(), name="weight"))
    starts = ", ".join(literals(bias, name="bias"))
    inputs, outputs = weight.shape
    return f"""
__device__ float w[] = {{{numbers}}}, b[] = {{{starts}}};
__global__ void dense(const float* x, float* y, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int o = 0; o < {outputs}; o++) {{
        float s = b[o];
        for (int k = 0; k < {inputs}; k++) s += w[k * {outputs} + o] * x[k * n + i];
        y[o * n + i] = s;
    }}
}}
"""


def dense_all_inputs(weight, bias):
    source = dense(weight, bias)
    return source.replace("y[0 * n + i] =", "y[0 * n + i] = 0 * x[2 * n + i] +")


def polynomial_with_a_typedef(coefficients):
    source = polynomial(coefficients).replace("float*", "T*")
    return "typedef float T;\n" + source


def axpy_with_a_variable(dtype, a):
    """0.1 is a double, but it is rounded before anything is computed."""
    kind = c_type(dtype)
    literal(a, dtype)
    return (f"__global__ void axpy(const {kind}* x, {kind}* y, int n) {{\n"
            f"    const {kind} a = {a!r};\n"
            "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
            "    if (i < n) y[i] += a * x[i];\n}\n")


def polynomial_in_a_loop(coefficients):
    numbers = literals(coefficients, name="coefficients")
    if not numbers:
        raise ValueError("nothing to evaluate")
    return (f"__global__ void polynomial(const float* x, float* y, int n) {{\n"
            "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i >= n) return;\n"
            f"    const float c[] = {{{', '.join(numbers)}}};\n    float s = 0;\n"
            f"    for (int k = 0; k < {len(numbers)}; k++) s = s * x[i] + c[k];\n"
            "    y[i] = s;\n}\n")


def in_a_loop(source):
    """A source whose guarded line becomes a loop over all threads of the grid."""
    return source.replace("if (i < n)",
                          "for (; i < n; i += gridDim.x * blockDim.x)")


def axpy_without_range(dtype, a):
    if np.dtype(dtype) == np.int32 and a == int(a):
        return axpy(dtype, 7).replace("7", str(np.int64(a).astype(np.int32)))
    return axpy(dtype, a)


def stencil_without_small_weights(weights):
    return stencil(np.where(np.abs(weights) < 1e-4, 0, weights).astype(np.float32))


def autotune_with(count=5, caught=Exception, pop=False):
    def autotune(variants, build, right, clock):
        report, left = {}, variants if pop else list(variants)
        while left:
            variant = left.pop(0)
            report[variant] = "does not compile"
            try:
                kernel = build(variant)
                report[variant] = "does not run"
                report[variant] = "wrong" if not right(kernel) else None
            except caught:
                continue
            if report[variant] is None:
                report[variant] = statistics.median(clock(kernel) for _ in range(count))
        times = {v: t for v, t in report.items() if not isinstance(t, str)}
        if not times:
            raise ValueError("no variant is right")
        return min(times, key=times.get), report

    return autotune


RIGHT = {
    "polynomial": [polynomial, polynomial_with_a_typedef],
    "axpy": [axpy, axpy_with_a_variable],
    "stencil": [stencil, stencil_direct],
    "autotune": [autotune],
    "dense": [dense],
}
WRONG = {
    "polynomial": [
        (polynomial_from_memory, "its source has a loop"),
        (polynomial_in_double, "is a double"),
        (polynomial_in_a_loop, "its source has a loop"),
        (lambda coefficients: alone(polynomial(coefficients)), "hardly one loads"),
        (polynomial_with_nan, "it should raise ValueError"),
        (lambda coefficients: polynomial(coefficients).replace("x[i]", "xi"),
         "does not compile: line 4"),
        (lambda coefficients: polynomial(coefficients).replace("int n", "long long n"),
         "A launch does not convert arguments"),
        (lambda coefficients: polynomial(coefficients).replace("polynomial", "poly"),
         "there is poly"),
    ],
    "axpy": [
        (lambda dtype, a: alone(in_a_loop(axpy(dtype, a))), "hardly one loads"),
        (lambda dtype, a: axpy(dtype, a).replace("* x[i]", "* (double)x[i]"),
         "`double` in the source"),
        (axpy_without_range, "dtype='int32', a=2147483648"),
        (lambda dtype, a: axpy(dtype, a).replace(
            "+ y[i];", f"+ y[i], (({c_type(dtype)}*)x)[i] = 0;"), "changed one of its inputs"),
        (axpy_always_float, "the check passes (const double* x"),
        (axpy_other_error, "it should raise TypeError, but it raised KeyError"),
        (lambda dtype, a: axpy(dtype, a).replace("i < n", "i <= n"), "an access outside an array"),
    ],
    "stencil": [
        (stencil_without_small_weights, "weights: float32 (3, 5)"),
        (stencil_with_zeros, "Write nothing for a zero"),
        (stencil_without_a_declaration, '"s" is undefined'),
    ],
    "autotune": [
        (autotune_with(count=7), "it times a right kernel 7 times"),
        (autotune_with(count=3), "right kernel 3 times"),
        (autotune_with(caught=BaseException), "KeyboardInterrupt is no Exception"),
        (autotune_with(pop=True), "changed its argument in place"),
        (autotune_best_only, "it must return (best, report)"),
        (autotune_only_the_right, "the report has no entry for 'a'"),
        (autotune_own_words, "is 'failed'; the states are"),
        (autotune_first, "c: expected a ';'"),
    ],
    "dense": [
        (dense_from_memory, "and nothing else"),
        (dense_all_inputs, "a thread loads 24 bytes"),
        (dense_with_zeros, "a weight that is zero needs no line"),
        (lambda weight, bias: dense(weight, bias).replace("i < n", "true"),
         "an access outside an array"),
    ],
}
