"""Right answers besides the solution, and wrong ones that are no known mistake."""

import helpers

helpers.start()

import math  # noqa: E402

import cupy as cp  # noqa: E402
import numpy as np  # noqa: E402

from helpers import kernels  # noqa: E402

FORMATS = {"float16": (2.0**-14, 65504.0, 2.0**-11), "bfloat16": (2.0**-126, 3.39e38, 2.0**-8)}


def choose_by_limits(smallest, largest, share):
    """The error first, then the range."""
    if share >= 2**-11 and largest <= 2**29 * smallest:
        return "float16"
    return "bfloat16" if share >= 2**-8 else "float32"


def choose_by_scaling(smallest, largest, share):
    """The largest power of 2 that does not overflow is tried."""
    for name, (least, most, error) in FORMATS.items():
        scale = 2.0 ** math.floor(math.log2(most / largest))
        if scale * smallest >= least and share >= error:
            return name
    return "float32"


def choose_unscaled(smallest, largest, share):
    """As the numbers are, so some overflow."""
    for name, (least, most, error) in FORMATS.items():
        if smallest >= least and largest <= most and share >= error:
            return name
    return "float32"


def certain_by_masking(logits, errors):
    """The largest logit is taken out of the others."""
    rows, best = np.arange(len(logits)), logits.argmax(axis=1)
    high = logits + errors
    high[rows, best] = -np.inf
    return logits[rows, best] - errors[best] > high.max(axis=1)


def certain_by_pairs(logits, errors):
    """Each row in a loop, each pair of classes."""
    return np.array([any(all(j == k or row[j] - errors[j] > row[k] + errors[k]
                             for k in range(len(row))) for j in range(len(row)))
                     for row in logits])


def certain_by_margins(logits, errors):
    """The lesson's rule, with the largest error."""
    ordered = np.sort(logits, axis=1)
    return ordered[:, -1] - ordered[:, -2] > 2 * errors.max()


def certain_if_equal(logits, errors):
    """A tie counts as certain."""
    rows, best = np.arange(len(logits)), logits.argmax(axis=1)
    high = logits + errors
    high[rows, best] = -np.inf
    return logits[rows, best] - errors[best] >= high.max(axis=1)


def plausible_by_terms(c, a, b, fraction):
    """Each element with a loop, and relative bounds multiplied instead of added."""
    u = 0.0 if fraction == 23 else 2.0 ** -(fraction + 1)
    share = (1 + u) ** 2 * (1 + 2.0**-24) ** len(b) - 1
    for i, j in np.ndindex(*c.shape):
        terms = a[i].astype(np.float64) * b[:, j]
        if not abs(c[i, j] - terms.sum()) <= 1.05 * share * np.abs(terms).sum():
            return False
    return True


def plausible_by_gaps(c, a, b, fraction):
    """A whole gap for the rounding of each input, and half a gap for those of the sums."""
    share = (2.0 ** (1 - fraction) if fraction < 23 else 0) + len(b) * 2.0**-24
    exact, wide = a.astype(np.float64) @ b, np.abs(a).astype(np.float64) @ np.abs(b)
    return bool(np.all(np.abs(c - exact) <= share * wide))


def plausible_by_rounding_all(c, a, b, fraction):
    """The inputs count as rounded with 23 bits, too."""
    share = 2.0**-fraction + len(b) * 2.0**-24
    exact, wide = a.astype(np.float64) @ b, np.abs(a).astype(np.float64) @ np.abs(b)
    return bool(np.all(np.abs(c - exact) <= share * wide))


def layer_in_floats(x, weight):
    """The integers are kept in float64, which holds their sums exactly."""
    def scales_of(array, axis):
        most = np.max(np.abs(array), axis=axis, keepdims=True)
        return np.where(most > 0, most, 127).astype(np.float64) / 127

    rows, columns = scales_of(x, 1), scales_of(weight, 0)
    sums = np.rint(x / rows) @ np.rint(weight / columns)
    return (sums * rows * columns).astype(np.float32)


def layer_with_short_sums(x, weight):
    """The integers are multiplied and added in float32."""
    rows = np.maximum(np.abs(x).max(axis=1, keepdims=True), np.float32(1e-30)) / np.float32(127)
    columns = np.maximum(np.abs(weight).max(axis=0), np.float32(1e-30)) / np.float32(127)
    sums = np.rint(x / rows) @ np.rint(weight / columns)
    return (sums * (rows * columns.astype(np.float64))).astype(np.float32)


def layer_without_zeros(x, weight):
    """A row of zeros is divided by zero."""
    rows = np.abs(x).max(axis=1, keepdims=True) / np.float32(127)
    columns = np.abs(weight).max(axis=0, keepdims=True) / np.float32(127)
    sums = np.rint(x / rows).astype(np.int8) @ np.rint(weight / columns).astype(np.int32)
    return (sums * (rows * columns)).astype(np.float32)


# Knuth's sum of two numbers, and a second sum of what was lost: many rows are too much for it.
TWO_SUMS = r"""
extern "C" __global__ void column_sums(const float* x, float* y, int rows, int columns) {
    int stride = gridDim.x * blockDim.x;
    for (int j = blockIdx.x * blockDim.x + threadIdx.x; j < columns; j += stride) {
        float sum = 0.0f, rest = 0.0f;
        for (int i = 0; i < rows; i++) {
            float a = x[i * columns + j], total = sum + a, part = total - sum;
            rest += (sum - (total - part)) + (a - part);
            sum = total;
        }
        y[j] = sum + rest;
    }
}
"""

# The second sum is added to the first one in each round.
CARRIED = TWO_SUMS.replace("sum = total;", "sum = total + rest, rest -= sum - total;")

PLAIN = r"""
extern "C" __global__ void column_sums(const float* x, float* y, int rows, int columns) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= columns) return;
    float sum = 0;
    for (int i = 0; i < rows; i++) sum += x[i * columns + j];
    y[j] = sum;
}
"""

# Sums of 128 numbers, added up.
IN_PIECES = r"""
extern "C" __global__ void column_sums(const float* x, float* y, int rows, int columns) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= columns) return;
    float sum = 0;
    for (int i = 0; i < rows; i += 128) {
        float part = 0;
        for (int k = i; k < rows && k < i + 128; k++) part += x[k * columns + j];
        sum += part;
    }
    y[j] = sum;
}
"""

# B by columns, both tiles in one shared array, and one copy of each for all 32 columns of k.
TRANSPOSED = r"""
#include <mma.h>

extern "C" __global__ void half_product(const float* a, const float* b, float* c, int m, int n,
                                        int k) {
    using namespace nvcuda::wmma;
    __shared__ __half tiles[2][16][32];
    __shared__ float result[16][16];
    int lane = threadIdx.x, i0 = blockIdx.y * 16, j0 = blockIdx.x * 16;
    fragment<accumulator, 16, 16, 16, float> total;
    fill_fragment(total, 0.0f);
    for (int p = 0; p < k; p += 32) {
        __syncwarp();
        for (int r = 0; r < 16; r++) {
            float one = 0.0f, other = 0.0f;
            if (p + lane < k) {
                if (i0 + r < m) one = a[(i0 + r) * k + p + lane];
                if (j0 + r < n) other = b[(p + lane) * n + j0 + r];
            }
            tiles[0][r][lane] = __float2half(one);
            tiles[1][r][lane] = __float2half(other);
        }
        __syncwarp();
        for (int half = 0; half < 32; half += 16) {
            fragment<matrix_a, 16, 16, 16, __half, row_major> x;
            fragment<matrix_b, 16, 16, 16, __half, col_major> y;
            load_matrix_sync(x, &tiles[0][0][half], 32);
            load_matrix_sync(y, &tiles[1][0][half], 32);
            mma_sync(total, x, y, total);
        }
    }
    store_matrix_sync(&result[0][0], total, 16, mem_row_major);
    __syncwarp();
    for (int e = lane; e < 256; e += 32)
        if (i0 + e / 16 < m && j0 + e % 16 < n)
            c[(i0 + e / 16) * n + j0 + e % 16] = result[e / 16][e % 16];
}
"""

SCALAR = r"""
#include <mma.h>

extern "C" __global__ void half_product(const float* a, const float* b, float* c, int m, int n,
                                        int k) {
    for (int e = threadIdx.x; e < 256; e += 32) {
        int i = 16 * blockIdx.y + e / 16, j = 16 * blockIdx.x + e % 16;
        float sum = 0;
        if (i < m && j < n) {
            for (int p = 0; p < k; p++)
                sum += __half2float(__float2half(a[i * k + p]))
                       * __half2float(__float2half(b[p * n + j]));
            c[i * n + j] = sum;
        }
    }
}
"""
HALF = kernels.source("half_product")

RIGHT = {
    "choose": [choose_by_limits, choose_by_scaling],
    "certain": [certain_by_masking, certain_by_pairs],
    "plausible": [plausible_by_terms],
    "int8_layer": [layer_in_floats],
    "column_sums": [CARRIED, cp.RawKernel(CARRIED, "column_sums")],
    "half_product": [TRANSPOSED, cp.RawKernel(TRANSPOSED, "half_product")],
}

WRONG = {
    "choose": [
        (choose_unscaled, "expected"),
        (lambda smallest, largest, share: "float16", "expected"),
        (lambda smallest, largest, share: choose_by_limits(smallest, largest, share / 2),
         "expected"),
        (lambda smallest, largest, share: choose_by_limits(smallest, largest, 1), "expected"),
        (lambda smallest, largest, share: choose_by_limits(1, 1, share), "expected"),
        (lambda smallest, largest, share: "bfloat16" if share >= 2**-8 else
         choose_by_limits(smallest, largest, share), "expected"),
        (lambda smallest, largest, share: "float16" if share > 2**-11 and largest <= 65504 else
         "float32", "expected"),
        (lambda smallest, largest, share: np.dtype("float16"), "expected"),
    ],
    "certain": [
        (certain_by_margins, "values are wrong"),
        (certain_if_equal, "values are wrong"),
        (lambda logits, errors: certain_by_masking(logits, 0 * errors), "values are wrong"),
        (lambda logits, errors: certain_by_masking(logits, 2 * errors), "values are wrong"),
        (lambda logits, errors: certain_by_masking(logits, 0 * errors + errors.mean()),
         "values are wrong"),
        (lambda logits, errors: certain_by_masking(logits, errors).sum(), ""),
        (lambda logits, errors: (logits + errors).argmax(axis=1) == logits.argmax(axis=1),
         "values are wrong"),
    ],
    "plausible": [
        (lambda c, a, b, fraction: np.allclose(c, a @ b), ""),
        (lambda c, a, b, fraction: np.allclose(c, a @ b, rtol=2.0**-fraction), ""),
        (lambda c, a, b, fraction: bool(np.all(np.abs(c - a @ b) <= 1e-3)), ""),
        (plausible_by_gaps, "expected False"),
        (plausible_by_rounding_all, "expected False"),
        (lambda c, a, b, fraction: True, "expected False"),
        (lambda c, a, b, fraction: plausible_by_terms(c, a, b, min(fraction + 1, 23)), ""),
        (lambda c, a, b, fraction: plausible_by_terms(np.nan_to_num(
            c, nan=float(a[1].astype(np.float64) @ b[:, 0])), a, b, fraction), "expected False"),
        (lambda c, a, b, fraction: plausible_by_terms(c[:-1], a[:-1], b, fraction),
         "expected False"),
    ],
    "int8_layer": [
        (lambda x, weight: x @ weight, "values are wrong"),
        (lambda x, weight: layer_in_floats(x, weight).astype(np.float64), "float32"),
        (lambda x, weight: np.concatenate([layer_in_floats(x[k:k + 1], weight)
                                           for k in range(len(x))]), "loop"),
        (lambda x, weight: layer_in_floats(x.T, weight.T), ""),
        (layer_with_short_sums, "values are wrong"),
        (layer_without_zeros, "it warns"),
        (lambda x, weight: np.clip(layer_in_floats(x, weight), 0, None), "values are wrong"),
    ],
    "column_sums": [
        (PLAIN, "times 2^-24"),
        (IN_PIECES, "times 2^-24"),
        (PLAIN.replace("float sum", "double sum"), "`double` in the source"),
        (TWO_SUMS, "times 2^-24"),
        (CARRIED.replace("i < rows", "i < rows - 1"), "times 2^-24"),
        (CARRIED.replace("blockIdx.x * blockDim.x + threadIdx.x; j", "threadIdx.x; j"), ""),
        (CARRIED.replace("sum = total", "((float*)x)[i * columns + j] = 0; sum = total"),
         "changed one of its inputs"),
    ],
    "half_product": [
        (SCALAR, "no `mma_sync`"),
        (SCALAR + "// mma_sync", "no `mma_sync`"),
        (HALF.replace("p + j < k", "true"), ""),
        (HALF.replace("e < 256; e += 32", "e < 32; e += 32"), ""),
        (HALF.replace("wmma::store_matrix_sync(cs, sum, 16, wmma::mem_row_major)",
                      "wmma::store_matrix_sync(cs, sum, 16, wmma::mem_col_major)"),
         "values are wrong"),
        (HALF.replace("__shared__ __align__(32) half as[256], bs[256];",
                      "half as[256]; __shared__ half bs[256];"), ""),
        (TRANSPOSED.replace("col_major> y", "row_major> y"), "values are wrong"),
        (TRANSPOSED.replace("p += 32", "p += 16"), "values are wrong"),
    ],
}


def random_range(rng):
    smallest = float(10.0 ** rng.integers(-29, 10))
    ratio = float(2.0 ** rng.choice([0, 1.5, 9, 28, 32, 60]))
    return smallest, smallest * ratio, float(2.0 ** rng.choice([-20, -11.5, -11, -9, -8, -7, -2]))


def random_logits(rng):
    n, classes = rng.integers((1, 2), 20)
    return rng.standard_normal((n, classes)), rng.random(classes) * rng.choice([0, 0.1, 1])


def random_matrices(rng):
    m, n, k = rng.integers(1, (36, 20, 36))
    return rng.standard_normal((m, k), np.float32), rng.standard_normal((k, n), np.float32)


def random_results(rng):
    """A result within its bound, or one with an element at least 1.8 times beyond it."""
    m, p = rng.integers(1, 20, 2)
    a, b = (rng.standard_normal(shape, np.float32) for shape in ((m, 30), (30, p)))
    b *= np.float32(10.0 ** rng.integers(-6, 6))
    fraction = int(rng.choice([5, 7, 10, 16, 22, 23]))
    share = len(b) * 2.0**-24 + (2.0**-fraction if fraction < 23 else 0)
    exact, bound = a.astype(np.float64) @ b, share * (np.abs(a).astype(np.float64) @ np.abs(b))
    errors = bound * rng.uniform(-0.9, 0.9, bound.shape)
    if rng.random() < 0.5:
        errors[-1, 0] = bound[-1, 0] * rng.choice([-1, 1]) * rng.uniform(1.9, 9)
    return (exact + errors).astype(np.float32), a, b, fraction


def random_layer(rng):
    """Numbers that are no ties between two integers: at most 0.4 from one, times the scale."""
    n, k, outputs = rng.integers(1, 40, 3)
    x, weight = (rng.integers(-126, 127, shape) + rng.uniform(-0.4, 0.4, shape)
                 for shape in ((n, k), (k, outputs)))
    x[:, 0], weight[0] = 127, -127
    return (x * rng.uniform(0.1, 9, (n, 1))).astype(np.float32), weight.astype(np.float32)


def random_table(rng):
    return (rng.standard_normal(rng.integers(1, 80, 2), np.float32),)


INPUTS = {"choose": random_range, "certain": random_logits, "int8_layer": random_layer,
          "plausible": random_results, "half_product": random_matrices, "column_sums": random_table}
