"""Right answers besides the solution, and wrong ones that are no known mistake."""

import helpers

helpers.start()

import cupy as cp  # noqa: E402
import numpy as np  # noqa: E402
from lone_workers import alone  # noqa: E402

from checks import first_kernels as tasks  # noqa: E402

CLIPPED = """
    y = x;
    if (x > high) y = high;
    if (x < low) y = low"""


def clipped(operation):
    return cp.ElementwiseKernel("T x, T low, T high", "T y", operation, "clipped")


SMOOTH = r"""
extern "C" __global__ void smooth(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0 || i >= n - 1) return;
    float sum = 0;
    for (int k = -1; k <= 1; k++) sum += x[i + k];
    y[i] = sum / 3;
}
"""

SIGMOID = """
    T z = x + bias;
    T c = 1.5957691216057308, u = c * z * (1 + T(0.044715) * z * z);
    T s = 1 / (1 + exp(-u));
    dx = dy * (s + z * s * (1 - s) * c * (1 + T(0.134145) * z * z))
"""


def gradient(operation):
    return cp.ElementwiseKernel("T x, T bias, T dy", "T dx", operation, "gelu_gradient")


DECAY = r"""
/* counts down, in a helper and a while loop */
__device__ float mixed(float v, float g, float a) { return g + a * (v - g); }

extern "C" __global__ __launch_bounds__(1024)
void decay(float* __restrict__ v, float const * __restrict__ g, const float a, int n)
{
    int i = n - 1 - (blockIdx.x * blockDim.x + threadIdx.x);
    while (i >= 0) {
        v[i] = mixed(v[i], g[i], a);
        i -= blockDim.x * gridDim.x;
    }
}
"""

BRANCHES = """
struct Sum { float m, s; };
__device__ Sum merge(Sum a, Sum b) {
    if (a.m < b.m) return merge(b, a);
    return Sum{a.m, a.s + b.s * expf(b.m - a.m)};
}
"""

# Right but for rounding, wherever an int holds the largest: only what is left of a single number
# shows it.
WHOLE_TOP = """
struct Sum { float m, s; };
__device__ Sum merge(Sum a, Sum b) {
    int top = fmaxf(a.m, b.m);
    return Sum{(float)top, a.s * expf(a.m - top) + b.s * expf(b.m - top)};
}
"""


def log_sum_exp(source):
    return cp.ReductionKernel("float32 x", "float32 y", "Sum{x, 1.0f}", "merge(a, b)",
                              "y = a.m + logf(a.s)", "Sum{-3.4e38f, 0.0f}", "log_sum_exp",
                              reduce_type="Sum", preamble=source)


LEAKY_VIEW = r"""
extern "C" __global__ void leaky_view(const float* x, float* y, int rows, int columns,
                                      long long r, long long c, float slope) {
    for (int i = blockIdx.x; i < rows; i += gridDim.x)
        for (int j = threadIdx.x; j < columns; j += blockDim.x) {
            float v = x[i * r + j * c];
            y[i * columns + j] = v < 0 ? slope * v : v;
        }
}
"""

PAIR_INDEX = r"""
extern "C" __global__ void pair_index(const int* i, const int* j, long long* k, int n, int count) {
    for (int t = blockIdx.x * blockDim.x + threadIdx.x; t < count; t += gridDim.x * blockDim.x) {
        long long row = i[t], before = row * n - row * (row + 1) / 2;
        k[t] = before + (j[t] - i[t] - 1);
    }
}
"""

FAULTY = r"""
extern "C" __global__
void pair_index(const int* i, const int* j, long long* k, int n, int count) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    k[t] = i[t] * (2 * n - i[t] - 1) / 2 + j[t] - i[t] - 1;
}
"""
GUARDED = FAULTY.replace("    k[t] =", "    if (t < count) k[t] =")

RIGHT = {
    "clipped": [tasks.clipped.right, clipped(CLIPPED), clipped("y = min(max(x, low), high)")],
    "smooth": [tasks.SMOOTH, SMOOTH],
    "gelu_gradient": [gradient(SIGMOID)],
    "decay": [DECAY, cp.RawKernel(DECAY, "decay")],
    "log_sum_exp": [log_sum_exp(BRANCHES)],
    "leaky_view": [LEAKY_VIEW],
    "pair_index": [PAIR_INDEX,
                   FAULTY.replace("    k[t] =", "    if (t >= count) return;\n    k[t] =")
                   .replace("2 * n", "2LL * n")],
}


GRADIENT = """
    T z = x + bias;
    T t = tanh(T(0.7978845608028654) * (z + T(0.044715) * z * z * z));
    T inner = T(0.7978845608028654) * (1 + T(0.134145) * z * z);
    dx = dy * (T(0.5) * (1 + t) + T(0.5) * z * (1 - t * t) * inner)"""

GRID_STRIDE = r"""
extern "C" __global__ void decay(float* v, const float* g, float a, int n) {
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        v[i] = a * v[i] + (1 - a) * g[i];
}
"""


WRONG = {
    "clipped": [
        (clipped("y = min(x, high)"), "values are wrong"),
        (clipped("y = fminf(fmaxf(x, low), high)"), "values are wrong"),
        (clipped("y = x > low ? x : high"), "values are wrong"),
        (clipped("double z = x; y = z < low ? low : z > high ? high : z"), "values are wrong"),
        (clipped("float v = x; y = v < low ? low : v > high ? high : v"), "values are wrong"),
        (cp.ElementwiseKernel("float32 x, float32 low, float32 high", "float32 y", CLIPPED,
                              "clipped"), "Type is mismatched"),
    ],
    "smooth": [
        (SMOOTH.replace("i >= n - 1", "i >= n"), "an access outside an array"),
        (SMOOTH.replace("i >= n - 1", "i >= n - 2"), "values are wrong"),
        (SMOOTH.replace("i == 0 || ", ""), "an access outside an array"),
        (SMOOTH.replace("sum / 3", "1 / 3 * sum"), "1 / 3 between integers"),
        (SMOOTH.replace("y[i] = sum / 3", "y[i] = sum / 3; y[n - 1] = x[n - 1]"),
         "values are wrong"),
        (SMOOTH.replace("    if (i == 0 || i >= n - 1) return;\n", ""),
         "an access outside an array"),
    ],
    "gelu_gradient": [
        (gradient(GRADIENT.replace("0.7978845608028654", "0.79788")), "or has few digits"),
        (gradient(GRADIENT.replace("T(0.5)", "0.5")), "`0.5` in the source is a double"),
        (gradient(GRADIENT.replace("T z", "double z")), "`double` in the source"),
        (cp.ElementwiseKernel("T x, raw T bias, T dy", "T dx", GRADIENT.replace(
            "+ bias", "+ bias[i % bias.size()]"), "gelu_gradient"), "bias: float32 (9, 1)"),
        (gradient("T z = x + bias; while (true) z = z + bias; dx = z"), "does not come to an end"),
        (gradient("dx = tanhf(x + bias) * undeclared"), "does not compile"),
        (gradient(GRADIENT.replace("T(0.7978845608028654)", "0.7978845608f")),
         "only float32's precision"),
        (gradient(GRADIENT.replace("tanh", "tanhf")), "only float32's precision"),
        (gradient(GRADIENT.replace("T(0.134145)", "T(0.044715)")), "values are wrong"),
        (gradient(GRADIENT.replace("z * z * z", "(z ^ 3)")), "a power is written z * z * z"),
        (gradient("return x + bias"), "`return` with a value"),
        (gradient("T z = x + bias dx = z"), 'a ";" is missing'),
        (gradient("dx = dy"), "values are wrong"),
        (cp.ElementwiseKernel("T x", "T y", "y = x", "gelu_gradient"), "Wrong number of"),
        (cp.RawKernel(DECAY, "decay"), "expected an ElementwiseKernel, got a RawKernel"),
        (DECAY, "expected an ElementwiseKernel, got a str"),
    ],
    "decay": [
        (alone(GRID_STRIDE), "hardly one loads"),
        (alone(GRID_STRIDE, "blockIdx.x"), "the first block loads most"),
        (GRID_STRIDE.replace("(1 - a) * g[i];", "(1 - a) * g[i], ((float*)g)[i] = 0;"),
         "changed one of its inputs"),
        (GRID_STRIDE.replace(" a * v", " 0.75f * v").replace("1 - a", "0.25f"), "a=0.1"),
        (DECAY.replace('extern "C"', ""), 'needs `extern "C"`'),
        (DECAY.replace("void decay", "void fade"), "there is fade"),
        (DECAY.replace("const float a", "double a"), "`double` in the source"),
        (DECAY.replace("int n)", "long long n)"), "A launch does not convert arguments"),
        (DECAY.replace("mixed(v[i], g[i], a)", "mixed(v[i], g[i], b)"), "does not compile"),
        (DECAY.replace("i >= 0", "i >= -1"), "line 10 of the kernel decay makes an access outside"),
        (DECAY.replace("i -= blockDim.x * gridDim.x", "i -= 0"), "does not come to an end"),
        (DECAY.replace("i -= blockDim.x * gridDim.x;\n    }", "i -= blockDim.x * gridDim.x;"),
         "a `}` is missing"),
        (DECAY.replace("gridDim.x;\n    }\n}", "gridDim.x;\n    }\n    return v;\n}"),
         "line 13: `return` with a value"),
        (DECAY.replace("n)\n{", "n)\n{\n    // YOUR CODE HERE").replace("i >= 0", "i > 0"),
         "values are wrong"),
        ("", "there is none"),
        (gradient(SIGMOID), "expected the CUDA source in a string, or a RawKernel"),
    ],
    "log_sum_exp": [
        (cp.ReductionKernel("float32 x", "float32 y", "expf(x)", "a + b", "y = logf(a)", "0",
                            "log_sum_exp"), "got inf"),
        (log_sum_exp(BRANCHES.replace("a.m, a.s", "a.m, a.m")), "values are wrong"),
        (log_sum_exp(BRANCHES.replace("    if", "    if (a.m == b.m) return a;\n    if", 1)),
         "values are wrong"),
        (log_sum_exp(BRANCHES.replace("float m, s", "int m; float s")), "narrowing"),
        (log_sum_exp(BRANCHES.replace("expf", "__expf")), "__expf is a rough approximation"),
        (log_sum_exp(WHOLE_TOP), "for x: float32 (5, 1), axis=1"),
        (log_sum_exp(WHOLE_TOP.replace("int top", "long long top")), "float32 (5, 1), axis=1"),
        (log_sum_exp(WHOLE_TOP.replace("int top", "short top")), "float32 (5, 1), axis=1"),
    ],
    "leaky_view": [
        (LEAKY_VIEW.replace("slope * v", "0.1f * v"), "slope=2.5"),
        (LEAKY_VIEW.replace("v < 0 ? slope * v : v", "fmaxf(v, slope * v)"), "slope=2.5"),
        (alone(LEAKY_VIEW), "hardly one loads"),
        (LEAKY_VIEW.replace("y[i * columns + j]", "y[i * r + j * c]"), "leaky_view makes"),
        (LEAKY_VIEW.replace("y[i * columns + j] = v < 0 ? slope * v : v;", ""),
         "a result that the kernel never writes"),
        (LEAKY_VIEW.replace("long long r, long long c", "int r, int c"), "your leaky_view takes"),
    ],
    "pair_index": [
        (PAIR_INDEX.replace("row * n", "i[t] * n"), "n=50000"),
        (PAIR_INDEX.replace("t < count", "t < n"), "values are wrong"),
        (FAULTY, "an access outside an array"),
        (FAULTY.replace("2 * n", "2LL * n"), "an access outside an array"),
        (GUARDED, "n=50000"),
        (GUARDED.replace("= i[t]", "= (long long)i[t]"), "n=2000000011"),
        (GUARDED.replace("i[t] * (2 * n - i[t] - 1) / 2", "i[t] * ((2LL * n - i[t] - 1) / 2)"),
         "values are wrong"),
        (GUARDED.replace("i[t] * (2 * n", "(double)i[t] * (2.0 * n"), "n=2000000011"),
    ],
}


# One random input of a task: what mutants and solutions are compared on, thousands of times.


def random_launch(rng):
    return (int(rng.integers(1, 20)),), (int(rng.integers(1, 200)),)


def random_gradient(rng):
    shape = tuple(int(n) for n in rng.integers(1, 9, int(rng.integers(1, 4))))
    dtype = rng.choice([np.float32, np.float64])
    x = np.clip(10 ** rng.uniform(-3, 1) * rng.standard_normal(shape), -2, 4).astype(dtype)
    kept = [n if rng.random() < 0.6 else 1 for n in shape]
    bias = rng.uniform(-0.5, 1, kept[int(rng.integers(0, len(kept))):]).astype(dtype)
    x = x.swapaxes(0, -1).copy().swapaxes(0, -1) if rng.random() < 0.5 else x
    return x, bias, rng.uniform(-3, 3, shape).astype(dtype)


def random_decay(rng):
    n = int(10 ** rng.uniform(0, 3.5))
    v, g = (10 ** rng.uniform(-3, 3) * rng.standard_normal((2, n))).astype(np.float32)
    return v, g, float(rng.uniform(-1, 2)), *random_launch(rng)


def random_log_sum_exp(rng):
    x = 10 ** rng.uniform(-2, 3) * rng.standard_normal(rng.integers(1, 40, 2))
    return x.astype(np.float32) + np.float32(rng.uniform(-300, 300)), rng.choice([0, 1, None])


def random_leaky_view(rng):
    x = rng.standard_normal(rng.integers(1, 30, 2)).astype(np.float32)
    x = x[::int(rng.choice([-2, -1, 1, 3])), ::int(rng.choice([-1, 1, 2]))]
    x = x.T if rng.random() < 0.5 else x
    if rng.random() < 0.1:
        x = np.broadcast_to(x[:1], (4, x.shape[1]))
    return x, float(rng.choice([0, rng.uniform(-2, 3)])), *random_launch(rng)


def random_pairs(rng):
    n, count = int(10 ** rng.uniform(0.5, 9.3)), int(rng.integers(1, 129))
    i = rng.integers(0, n - 1, count)
    j = i + 1 + (rng.random(count) * (n - 1 - i)).astype(np.int64)
    return i.astype(np.int32), j.astype(np.int32), n


INPUTS = {
    "gelu_gradient": random_gradient,
    "decay": random_decay,
    "log_sum_exp": random_log_sum_exp,
    "leaky_view": random_leaky_view,
    "pair_index": random_pairs,
}
