"""Right answers besides the solution, and wrong ones that are no known mistake."""

import numpy as np

from checks.machinery.task import replaced


def repaired(kind, line, threads, *texts):
    """An answer to a patient: a diagnosis, and texts replaced in the source."""
    return lambda source: (kind, line, threads, replaced(str(source), *texts))


def hunted(number, row, *texts):
    """An answer to the hunt: two findings, and texts replaced in the source."""
    return lambda source: (number, row, replaced(str(source), *texts))


PREDICTED = {"index": ("same", "same", "same"), "tile": ("differ", "differ", "differ"),
             "blocks": ("differ", "right", "right")}


def outcomes(suspect):
    """One question after another."""
    if suspect == "index":
        return "same", "same", "same"
    return ("differ", *(("right", "right") if suspect == "blocks" else ("differ", "differ")))


def suspect_by_races_first(wrong):
    """A new array in one full block leaves one suspect, and an old one in two blocks two."""
    if any([wrong(64, 64, True) for _ in range(5)]):
        return "tile"
    if wrong(32, 32, False):
        return "race that is none"
    return "guard" if wrong(3, 1024, True) else "index" if wrong(128, 32, True) else "blocks"


def suspect_by_blocks(wrong):
    """The race between blocks is tried, and the one in the tile is left."""
    if wrong(1, 64, False):
        return "guard"
    if wrong(1024, 512, True) and wrong(64, 32, True):
        return "index"
    return "blocks" if any(wrong(96, 32, False) for _ in range(5)) else "tile"


def suspect_with(n, block, new, runs=5):
    """A hunt whose first experiment is this one."""
    def hunt(wrong):
        if wrong(n, block, new):
            return "guard"
        if wrong(64, 32, True):
            return "index"
        return "tile" if any([wrong(64, 64, True) for _ in range(runs)]) else "blocks"
    return hunt


def suspect_by_one_run_each(wrong):
    """A race may be wrong for 100 elements and right for 128: one run of each decides nothing."""
    if wrong(100, 64, True) and not wrong(128, 64, True):
        return "guard"
    if wrong(128, 64, True):
        return "index"
    return "tile" if any(wrong(64, 64, True) for _ in range(5)) else "blocks"


def squares(n):
    """The guard lets i = n through."""
    return "out of bounds", 5, (n // 256, n % 256)


def reverse_all(n):
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
    "outcomes": [outcomes, lambda suspect: PREDICTED[suspect]],
    "suspect": [suspect_by_races_first, suspect_by_blocks],
    "squares": [squares,
                     lambda n: ["Out of bounds", 4, [3, 232]]],
    "reverse_all": [reverse_all,
                     lambda n: ("barrier", 6, [(15, 0), (15, 63)])],
    "overlap_add": [lambda source: ("race", 5, ((4, 15), (1, 63)), OVERLAP_BY_OUTPUT)],
    "sum_tree": [repaired(
        "barrier", 8, ((3, 1), (3, 0)),
        "            tile[t] += tile[t + step];\n            __syncthreads();",
        "            tile[t] += tile[t + step];",
        "        }\n", "        }\n        __syncthreads();\n"),
        # threads without work leave the kernel, so no barrier waits for them
        repaired("barrier", 13, ((0, 0), (0, 32)), "    }\n    __syncthreads();", "    }")],
    "block_maxima": [repaired(
        "uninitialised", 5, (15, 20),
        "    }\n    __syncthreads();", "    } else tile[t] = -3e38f;\n    __syncthreads();")],
    "hunt": [
        hunted(32, [-7, -9, -3.5], "step /= 2", "step = step > 1 ? (step + 1) / 2 : 0"),
        hunted(32, np.float32([0, 0, 1]), "= tile[0];", "= fmaxf(tile[0], tile[2]);")],
    "with_next": [repaired(
        "out of bounds", 8, (14, 63),
        "tile[t + 1]", "(i + 1 == n ? 0 : t < 63 ? tile[t + 1] : x[i + 1])")],
}

TWO = ((0, 16), (1, 0))  # threads of `overlap_add` that meet
WRONG = {
    "outcomes": [
        (lambda suspect: ("same", "right", "right"), "expected"),
        (lambda suspect: PREDICTED[suspect][0], "expected")],
    "suspect": [
        (suspect_with(1000, 64, False), "expected"),
        (suspect_with(1000, 64, True), "expected"),
        (suspect_with(31, 32, True, runs=4), "expected"),
        (suspect_by_one_run_each, "expected 'tile'"),
        (suspect_with(31, 32, True, runs=9), "more than 10 runs"),
        (suspect_with(31, 31, True), "it calls wrong(31, 31, True)"),
        (suspect_with(0, 32, True), "it calls wrong(0, 32, True)"),
        (lambda wrong: "blocks", "expected 'guard'")],
    "squares": [
        (lambda n: ("out of bounds", 5, (3, 255)), "not the threads (3, 255)"),
        (lambda n: ("out of bounds", 5, 232), "takes 1 pair(s)"),
        (lambda n: ("out of bounds", 5, ((3, 232), (3, 232))), "takes 1 pair(s)"),
        (lambda n: ("out of bounds", 5, (0, 1000)), "not the threads (0, 1000)"),
        (lambda n: ("out of bounds", 2, (3, 232)), "not in line 2")],
    "reverse_all": [
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
    "sum_tree": [
        (repaired("race", 10, ((0, 0), (0, 32))), "not 'race'"),
        (repaired("barrier", 10, ((0, 33), (0, 60))), "not the threads"),
        (repaired("barrier", 10, ((0, 0), (1, 32))), "not the threads")],
    "block_maxima": [
        (repaired("uninitialised", 10, (15, 40)), "not the threads (15, 40)"),
        (repaired("uninitialised", 10, (15, 8), "    }\n    __syncthreads();",
                  "    } else tile[t] = -1e30f;\n    __syncthreads();"), "values are wrong"),
        (repaired("uninitialised", 10, (15, 8), "    }\n    __syncthreads();",
                  "    } else tile[t] = -3e38f;\n    __syncthreads();",
                  "if (t == 0) ", "if (i < n) ((float*)x)[i] = 0;\n    if (t == 0) "),
         "changes its input"),
        # less than most numbers of the launch, and more than those near -1e38
        (repaired("uninitialised", 10, (15, 8), "    }\n    __syncthreads();",
                  "    } else tile[t] = -1e37f;\n    __syncthreads();"), "values are wrong"),
        (repaired("uninitialised", 10, (0, 8)), "not the threads (0, 8)"),
        (repaired("uninitialised", 10, (15, 8), "    if (t == 0)", "    if (t == 1)"),
         "is at fault"),
        (repaired("uninitialized", 10, (15, 8), "    if (i < n) {\n        tile[t] = x[i];\n    }",
                 "    tile[t] = i < n ? x[i] : -INFINITY;"), "write 3.4e38f")],
    "hunt": [
        (hunted("32", [0, 0, 1]), "is not '32'"),
        (hunted(32, "001"), "no list of numbers"),
        (hunted(32, []), "no list of numbers"),
        (hunted(32, [[0, 0, 1]]), "no list of numbers"),
        (hunted(32, [0, 1]), "for this row the result is right"),
        (hunted(32, [0, 1, 1]), "for this row the result is right"),
        (hunted(32, [0, 0, 0, 0, 0, 1]), "there is a shorter row"),
        (hunted(32, [0, 0, 1]), "the broken one"),
        (hunted(32, [0, 0, 1], "best = x[first]", "best = 0", "= tile[0];",
                "= fmaxf(tile[0], tile[2]);"), "values are wrong"),
        (hunted(32, [0, 0, 1], "tile[t + step]);", "tile[t + step]);\n        if (step == 3)"
                " tile[0] = fmaxf(tile[0], tile[2]);"), "makes a race")],
    "with_next": [
        (repaired("out of bounds", 8, (0, 0)), "not the threads (0, 0)"),
        (repaired("out of bounds", 8, (15, 63)), "not the threads (15, 63)")],
}


def random_suspect(rng):
    return str(rng.choice(["guard", "index", "tile", "blocks"])), int(rng.integers(0, 5))


INPUTS = {"suspect": random_suspect}
