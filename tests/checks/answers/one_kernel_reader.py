"""Right answers besides the solution, and wrong ones that are no known mistake."""

import helpers

helpers.start()

import numpy as np  # noqa: E402

from checks.machinery.task import replaced  # noqa: E402
from checks.one_kernel_reader import LAYERS, POOLED, STAGE  # noqa: E402

# The four pixels of a position exchange by shuffles, and one of them stores.
SHUFFLES = STAGE[:-2] + r"""    int position_of = pixel / 16 * 4 + pixel % 8 / 2;
    for (int o = 0; o < 8; o++) {
        float v = gelu(sum[o]);
        v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, 1));
        v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, 8));
        int at = 8 * position_of + o;
        if (digit < n && pixel % 2 == 0 && pixel / 8 % 2 == 0)
            y[128 * digit + at] = v + position[at];
    }
}
"""
# Every sum goes through global memory, where the threads of the block find it again.
THROUGH_Y = POOLED.replace("    __shared__ float tile", """    for (int o = 0; o < 8; o++)
        if (digit < n && pixel < 16) y[128 * digit + 8 * pixel + o] = sum[o];
    __shared__ float tile""")
# Each thread computes all that its number needs, from numbers of x in shared memory.
ALONE = r"""
extern "C" __global__ void layers(const float* x, const float* w, float* y, int n, int depth) {
    __shared__ float loaded[272];
    int middle = 256 * blockIdx.x + threadIdx.x;
    for (int k = threadIdx.x; k < 256 + 2 * depth; k += 256) {
        int i = 256 * blockIdx.x - depth + k;
        loaded[k] = 0;
        if (i >= 0 && i < n) loaded[k] = x[i];
    }
    __syncthreads();
    float v[17];
    for (int k = 0; k <= 2 * depth; k++) v[k] = loaded[threadIdx.x + k];
    for (int left = depth - 1; left >= 0; left--) {
        const float* u = &w[4 * (depth - 1 - left)];
        for (int k = 0; k <= 2 * left; k++) {
            int i = middle - left + k;
            float z = u[3] + u[2] * v[k + 2] + u[1] * v[k + 1] + u[0] * v[k];
            v[k] = i >= 0 && i < n ? fmaxf(z, 0.1f * z) : 0;
        }
    }
    if (middle < n) y[middle] = v[0];
}
"""
FROM_GLOBAL = replaced(
    ALONE, "v[k] = loaded[threadIdx.x + k];",
    "v[k] = middle - depth + k >= 0 && middle - depth + k < n ? x[middle - depth + k] : 0;")


def moved_one_by_one(floats):
    chain = sum(4 * read + 4 * written for read, written in zip(floats, floats[1:]))
    return chain, 4 * floats[0] + 4 * floats[-1]


def moved_by_ends(floats):
    ends = floats[0] + floats[-1]
    return 4 * (ends + 2 * sum(floats[1:-1])), 4 * ends


def fits_one_by_one(threads, registers, shared):
    blocks = 0
    while (blocks < 32 and (blocks + 1) * threads <= 2048
           and (blocks + 1) * threads * registers <= 65536
           and (blocks + 1) * (shared + 1024) <= 233_472):
        blocks += 1
    return blocks


def fits_by_list(threads, registers, shared):
    return min([32, 2048 // threads, 65536 // threads // registers, 233472 // (1024 + shared)])


def clocks_of_steps(inputs, rows, columns):
    step = rows + 4 * (columns // 4), rows * columns * 32 / 128
    return columns + inputs * step[0], inputs * step[1], inputs * columns - columns


def clocks_by_bytes(inputs, rows, columns):
    weights = columns * 32 * 4 / 128
    return (inputs * rows + columns + inputs * weights, inputs * rows * columns // 4,
            inputs * weights - weights)


def fragments_by_loops(rows, columns, outputs):
    loads, products, kept = 0, 0, set()
    for step in range(9 * 2):
        loads += outputs // 16
        for pixel in range(rows * columns):
            k, half = step // 2, step % 2
            kept.add((pixel // columns + k // 3, pixel % columns + k % 3, half))
            loads += 1
            products += outputs // 16
    return loads, products, 9 * 2 * outputs // 16 + len(kept)


def fragments_by_halves(rows, columns, outputs):
    weights, pixels = 9 * outputs // 8, rows * columns
    return weights + 18 * pixels, weights * pixels, weights + (rows + 2) * (columns + 2) * 2


def choose_in_order(n, depth, operations, bandwidth, flops, launch):
    """All k, the smallest first; a later one must be better."""
    found = None
    for k in range(1, depth + 1):
        if depth % k:
            continue
        computed = k * 256 + k * (k - 1)
        arithmetic = n / 256 * computed * operations / flops
        memory = n / 256 * (512 + 2 * k) * 4 / bandwidth
        seconds = depth / k * (launch + (memory if memory > arithmetic else arithmetic))
        if found is None or seconds < found[1]:
            found = k, seconds
    return found


def choose_wide(n, depth, operations, bandwidth, flops, launch):
    """Every layer computes all numbers that the block has loaded."""
    def seconds(k):
        memory, work = 4 * n * (2 + 2 * k / 256), n * operations * k * (1 + 2 * k / 256)
        return depth // k * (launch + max(memory / bandwidth, work / flops))

    return min(((k, seconds(k)) for k in range(1, depth + 1) if depth % k == 0),
               key=lambda found: found[1])


def choose_any(n, depth, operations, bandwidth, flops, launch):
    """Any k, the last kernel with fewer layers."""
    def seconds(k):
        memory, work = 4 * n * (2 + 2 * k / 256), n * operations * (k + k * (k - 1) / 256)
        return -(-depth // k) * (launch + max(memory / bandwidth, work / flops))

    return min((k, seconds(k)) for k in range(1, depth + 1))


RIGHT = {
    "moved": [moved_one_by_one, moved_by_ends],
    "fits": [fits_by_list, fits_one_by_one],
    "clocks": [clocks_by_bytes, clocks_of_steps],
    "fragments": [fragments_by_halves, fragments_by_loops],
    "pooled": [SHUFFLES],
    "layers": [ALONE],
    "choose": [choose_in_order],
}
WRONG = {
    "moved": [(lambda floats: 4 * sum(floats), "a tuple"),
              (lambda floats: (8 * sum(floats), 8 * (floats[0] + floats[-1])), "expected")],
    "fits": [(lambda threads, registers, shared: 2048 // threads, "expected"),
             (lambda threads, registers, shared:
              min(32, 2048 // threads, 65536 // registers, 233_472 // (shared + 1024)), "expected"),
             (lambda threads, registers, shared:
              min(2048 // threads, 65536 // (registers * threads), 233_472 // (shared + 1024)),
              "expected")],
    "clocks": [
        (lambda inputs, rows, columns: (inputs * (rows + columns) + columns,
                                        inputs * rows * columns // 4), "expected"),
        *((lambda inputs, rows, columns, f=f: f(inputs, rows, columns), "expected") for f in (
            lambda i, r, c: (i * (r + c), i * r * c // 4, (i - 1) * c),  # no biases
            lambda i, r, c: (i * (r + 2 * c), i * r * c // 4, (i - 1) * c),  # in each step
            lambda i, r, c: (i * r * c + c, i * r * c // 4, (i - 1) * c),  # loads = multiply-adds
            lambda i, r, c: (i * (r + c) + c, i * r * c // 2, (i - 1) * c),  # operations
            lambda i, r, c: (i * (r + c) + 32 * c, i * r * c // 4, (i - 1) * c),  # of each lane
            lambda i, r, c: (i * (r + c) + c + r * c, i * r * c // 4, (i - 1) * c),  # the stores
            lambda i, r, c: (i * (r + c) + c, i * r * c // 4, i * c),  # the first step's, too
            lambda i, r, c: (i * (r + c) + c, i * r * c // 4, (i - 1) * c // 4),  # not four clocks
            lambda i, r, c: (i * (r + c) + c, i * r * c // 4, i * r + 2 * c))),  # what is left
    ],
    "fragments": [
        (lambda rows, columns, outputs: 18 * (outputs // 16 + rows * columns), "a tuple"),
        *((lambda rows, columns, outputs, f=f: f(rows, columns, outputs // 16), "expected")
          for f in (
            lambda r, c, w: (18 * (w + r * c), 18 * r * c, 18 * w + 2 * (r + 2) * (c + 2)),
            lambda r, c, w: (18 * (w + r * c), 18 * w * r * c, 18 * w + (r + 2) * (c + 2)),
            lambda r, c, w: (18 * (w + r * c), 18 * w * r * c, 2 * (r + 2) * (c + 2)),
            lambda r, c, w: (18 * (w + r * c), 18 * w * r * c, w + 2 * (r + 2) * (c + 2)),
            lambda r, c, w: (18 * w * r * c, 18 * w * r * c, 18 * w + 2 * (r + 2) * (c + 2)),
            lambda r, c, w: (18 * (w + r * c), 18 * w * r * c, 18 * (w + 1)))),
    ],
    "pooled": [
        (replaced(POOLED, "= gelu(sum[o])", "= sum[o]"), "values are wrong"),
        (replaced(POOLED, " + position[k]", ""), "values are wrong"),
        (replaced(POOLED, "128 * digit + k]", "128 * digit + 16 * o + p]"), "values are wrong"),
        (replaced(POOLED, "k < 128", "k < 64"), "values are wrong"),
        (THROUGH_Y, "where 2,304 would do"),
        (replaced(POOLED, "(int k = pixel; k < 128 && digit < n; k += 64)",
                  "(int k = 0; k < 128 && digit < n && pixel == 0; k++)"), "hardly one stores"),
        (replaced(SHUFFLES, "v, 8))", "v, 16))"), "values are wrong"),
        (POOLED.replace("expf(", "__expf("), "rough approximation"),
    ],
    "layers": [
        (FROM_GLOBAL, "are enough: a block needs its"),
        (replaced(LAYERS, "k < length; k += 256", "k < length; k += 255"), "1,018 are enough"),
        (replaced(LAYERS, "w + 4 * layer", "w"), "values are wrong"),
        (replaced(LAYERS, " + v[3]", ""), "values are wrong"),
        (replaced(LAYERS, "layer < depth;", "layer < 1;"), "race"),
        (replaced(LAYERS, "z > 0 ? z : 0.1f * z", "z > 0 ? z : 0"), "values are wrong"),
        (replaced(LAYERS, "tile[1 - layer % 2]", "tile[layer % 2]"), "race"),
        (replaced(LAYERS, "length - layer - 1; k += 256", "length - layer - 1; k += 512"), ""),
        (replaced(LAYERS, "if (first + k < n) y", "y"), "outside an array"),
        (replaced(ALONE, "if (i >= 0 && i < n) loaded", "if (i < n) loaded"), "outside an array"),
    ],
    "choose": [
        (lambda n, depth, operations, bandwidth, flops, launch: depth, "a tuple"),
        (lambda n, depth, operations, bandwidth, flops, launch: (depth, 0.0), "expected"),
        (choose_any, "expected"),
        (lambda n, depth, operations, bandwidth, flops, launch:
         choose_in_order(n, depth, operations, bandwidth, flops, 0), "expected"),
        (choose_wide, "expected"),
    ],
}


def some_digits(rng):
    n = int(rng.integers(1, 10))
    shapes = (n, 8, 8), (8, 9), (8,), (16, 8)
    return tuple(rng.standard_normal(shape, np.float32) for shape in shapes)


def some_row(rng):
    n, depth = int(rng.integers(1, 600)), int(rng.integers(1, 9))
    return rng.standard_normal(n, np.float32), rng.standard_normal((depth, 4), np.float32)


def some_machine(rng):
    n, depth = int(rng.integers(1, 2**26)), int(rng.integers(1, 65))
    operations, launch = int(rng.integers(1, 400)), float(rng.choice([0, 1e-6, 2e-5]))
    return n, depth, operations, *(float(rate) for rate in 10 ** rng.uniform(11, 14, 2)), launch


def some_chain(rng):
    return (rng.integers(1, 5000, rng.integers(2, 9)).tolist(),)


def some_block(rng):
    threads, registers = 32 * int(rng.integers(1, 33)), 8 * int(rng.integers(2, 32))
    registers = min(registers, 65536 // threads // 8 * 8)
    return threads, registers, int(rng.choice([0, rng.integers(1, 15_000), rng.integers(232_448)]))


def some_layer(rng):
    return int(rng.integers(1, 300)), int(rng.integers(1, 17)), 4 * int(rng.integers(1, 9))


def some_pixels(rng):
    return int(rng.integers(1, 7)), int(rng.integers(1, 7)), 16 * int(rng.integers(1, 33))


INPUTS = {"moved": some_chain, "fits": some_block, "clocks": some_layer,
          "fragments": some_pixels, "pooled": some_digits, "layers": some_row,
          "choose": some_machine}
