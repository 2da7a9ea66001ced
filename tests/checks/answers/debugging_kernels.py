"""Right answers besides the solution, and wrong ones that are no known mistake."""

from checks.machinery.task import replaced


def repaired(kind, line, threads, *texts):
    """An answer to a patient: a diagnosis, and texts replaced in the source."""
    return lambda source: (kind, line, threads, replaced(str(source), *texts))


def moves_by_counting(n):
    """Each block with each other block of the grid."""
    tiles = range(n // 32)
    return sum(x != y for x in tiles for y in tiles)


def moves_by_formula(n):
    return (n // 32) ** 2 - n // 32


def first_wrong_by_recursion(wrong, kernels):
    """The first half, or the second one, as often as needed."""
    def between(low, high):
        if low == high:
            return low
        middle = (low + high - 1) // 2
        found = sum(wrong(middle) for _ in range(5))
        return between(low, middle) if found else between(middle + 1, high)
    return between(1, kernels)


def first_wrong(wrong, kernels):
    right, least = 0, kernels  # after `right` kernels all is right, after `least` it may be wrong
    while least - right > 1:
        k = (right + least) // 2
        if any(wrong(k) for _ in range(5)):
            least = k
        else:
            right = k
    return least


def first_wrong_run(runs):
    """A search with so many runs for each kernel that is tried."""
    def search(wrong, kernels):
        low, high = 1, kernels
        while low < high:
            middle = (low + high) // 2
            low, high = ((low, middle) if any([wrong(middle) for _ in range(runs)])
                         else (middle + 1, high))
        return low
    return search


def past_the_end(n):
    """The guard lets i = n through."""
    return "out of bounds", 5, (n // 256, n % 256)


def two_barriers(n):
    """The last block has 40 elements: lanes 0 to 7 of its second warp, and 8 to 31."""
    return "barrier", 11, ((15, 40), (15, 32))


OVERLAP_BY_OUTPUT = r"""
extern "C" __global__ void overlap_add(const float* frames, float* y, int width, int hop) {
    // each block adds up what belongs into the hop places from its frame's first on
    int k = blockIdx.x, last = gridDim.x - 1, end = k == last ? width : hop;
    for (int j = threadIdx.x; j < end; j += blockDim.x) {
        float sum = 0;
        for (int f = k; f >= 0 && (k - f) * hop + j < width; f--)
            sum += frames[f * width + (k - f) * hop + j];
        y[k * hop + j] = sum;
    }
}
"""

RIGHT = {
    "moves": [moves_by_counting, moves_by_formula],
    "first_wrong": [first_wrong_by_recursion, first_wrong],
    "past_the_end": [past_the_end,
                     lambda n: ["Out of bounds", 4, [3, 232]]],
    "two_barriers": [two_barriers,
                     lambda n: ("barrier", 6, [(15, 0), (15, 63)])],
    "overlap_add": [lambda source: ("race", 5, ((4, 15), (1, 63)), OVERLAP_BY_OUTPUT)],
    "barrier_in_a_branch": [repaired(
        "barrier", 8, ((3, 1), (3, 0)),
        "            tile[t] += tile[t + step];\n            __syncthreads();",
        "            tile[t] += tile[t + step];",
        "        }\n", "        }\n        __syncthreads();\n")],
    "half_a_tile": [repaired(
        "uninitialised", 5, (15, 20),
        "    }\n    __syncthreads();", "    } else tile[t] = -3e38f;\n    __syncthreads();")],
    "one_barrier_too_few": [repaired(
        "race", 9, ((0, 63), (0, 0)),
        "        tile[t] =", "        __syncthreads();\n        tile[t] =")],
    "edge_of_the_tile": [repaired(
        "out of bounds", 8, (14, 63),
        "tile[t + 1]", "(i + 1 == n ? 0 : t < 63 ? tile[t + 1] : x[i + 1])")],
}

TWO = ((0, 16), (1, 0))  # threads of `overlap_add` that meet
WRONG = {
    "moves": [(lambda n: n // 32, "expected 240")],
    "first_wrong": [
        (first_wrong_run(4), "expected"),
        (first_wrong_run(6), "more than 50 runs"),
        (lambda wrong, kernels: kernels, "expected 700"),
        (lambda wrong, kernels: wrong(0), "it calls wrong(0)")],
    "past_the_end": [
        (lambda n: ("out of bounds", 5, (3, 255)), "not the threads (3, 255)"),
        (lambda n: ("out of bounds", 5, 232), "takes 1 pair(s)"),
        (lambda n: ("out of bounds", 5, ((3, 232), (3, 232))), "takes 1 pair(s)"),
        (lambda n: ("out of bounds", 5, (0, 1000)), "not the threads (0, 1000)"),
        (lambda n: ("out of bounds", 2, (3, 232)), "not in line 2")],
    "two_barriers": [
        (lambda n: ("race", 9, ((15, 0), (15, 39))), "is not 'race'"),
        (lambda n: ("barrier", 8, (15, 40)), "takes 2 pair(s)"),
        (lambda n: ("barrier", 8, ((15, 40), (15, 40))), "not the threads"),
        (lambda n: ("barrier", 8, ((14, 32), (15, 40))), "not the threads")],
    "overlap_add": [
        (lambda source: ("lost update", 5, TWO, source), "the kind must be one of"),
        (repaired("uninitialised", 5, (0, 0)), "the kind of fault is not 'uninitialised'"),
        (repaired("race", 4, TWO), "the fault is not in line 4"),
        (repaired("race", "5", TWO), "the fault is not in line '5'"),
        (repaired("race", 5, ((0, 0), (1, 0))), "not the threads ((0, 0), (1, 0))"),
        (repaired("race", 5, ((0, 64), (4, 0))), "not the threads"),
        (repaired("race", 5, (0, 16)), "takes 2 pair(s)"),
        (repaired("race", 5, TWO), "the repaired source is the broken one"),
        (lambda source: ("race", 5, TWO, 7), "must be a str, not an int"),
        (repaired("race", 5, TWO, "y[k", "z[k"), "does not compile"),
        (repaired("race", 5, TWO, "int hop", "long hop"), "your overlap_add takes"),
        (repaired("race", 5, TWO, "+= value", "= 0 * value"), "1648 of 1648 values are wrong"),
        (lambda source: ("race", 5, TWO), "got a tuple of 3"),
        (repaired("Race", 5, TWO, "y[k * hop + j] += value", "atomicAdd(y[k * hop + j], value)"),
         "line 5: it takes an address, not a value"),
        (repaired("race", 5, TWO, "+= value;", "+= value"), 'a ";" is missing'),
    ],
    "barrier_in_a_branch": [
        (repaired("race", 10, ((0, 0), (0, 32))), "not 'race'"),
        (repaired("barrier", 10, ((0, 33), (0, 60))), "not the threads"),
        (repaired("barrier", 10, ((0, 0), (1, 32))), "not the threads")],
    "half_a_tile": [
        (repaired("uninitialised", 10, (15, 40)), "not the threads (15, 40)"),
        (repaired("uninitialised", 10, (15, 8), "    }\n    __syncthreads();",
                  "    } else tile[t] = -1e30f;\n    __syncthreads();"), "values are wrong"),
        (repaired("uninitialised", 10, (15, 8), "    }\n    __syncthreads();",
                  "    } else tile[t] = -3e38f;\n    __syncthreads();",
                  "if (t == 0) ", "if (i < n) ((float*)x)[i] = 0;\n    if (t == 0) "),
         "changes its input"),
        (repaired("uninitialised", 10, (0, 8)), "not the threads (0, 8)"),
        (repaired("uninitialised", 10, (15, 8), "    if (t == 0)", "    if (t == 1)"),
         "is at fault"),
        (repaired("uninitialized", 10, (15, 8), "    if (i < n) {\n        tile[t] = x[i];\n    }",
                 "    tile[t] = i < n ? x[i] : -INFINITY;"), "write 3.4e38f")],
    "one_barrier_too_few": [
        (repaired("barrier", 8, ((0, 0), (0, 63))), "not 'barrier'"),
        (repaired("race", 7, ((0, 0), (0, 1))), "not the threads"),
        (repaired("race", 7, ((0, 0), (0, 63)), "        __syncthreads();",
                  "        __syncthreads();" * 2), "behind the loop it is too late")],
    "edge_of_the_tile": [
        (repaired("out of bounds", 8, (0, 0)), "not the threads (0, 0)"),
        (repaired("out of bounds", 8, (15, 63)), "not the threads (15, 63)")],
}


def random_search(rng):
    kernels = int(rng.integers(1, 2000))
    return kernels, int(rng.integers(1, kernels + 1)), int(rng.integers(0, 5))


INPUTS = {"first_wrong": random_search}
