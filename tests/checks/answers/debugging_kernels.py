"""Right answers besides the solution, and wrong ones that are no known mistake."""

from checks.machinery.task import replaced


def repaired(kind, line, thread, *texts):
    """An answer to a patient: a diagnosis, and texts replaced in the source."""
    return lambda source: (kind, line, thread, replaced(str(source), *texts))


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
    "overlap_add": [lambda source: ("race", 5, (63, 0, 0), OVERLAP_BY_OUTPUT)],
    "barrier_in_a_branch": [repaired(
        "barrier", 8, 0, "            tile[t] += tile[t + step];\n            __syncthreads();",
        "            tile[t] += tile[t + step];",
        "        }\n", "        }\n        __syncthreads();\n")],
    "half_a_tile": [repaired(
        "uninitialised", 5, 20,
        "    }\n    __syncthreads();", "    } else tile[t] = -1e30f;\n    __syncthreads();")],
    "one_barrier_too_few": [repaired(
        "race", 9, 63, "        tile[t] =", "        __syncthreads();\n        tile[t] =")],
    "edge_of_the_tile": [repaired(
        "out of bounds", 8, 63,
        "tile[t + 1]", "(i + 1 == n ? 0 : t < 63 ? tile[t + 1] : x[i + 1])")],
    "absent_lanes": [repaired(
        "barrier", 4, 31, "if (lane < n) {\n", "{\n", "x[lane]", "0",
        "        for", "        if (lane < n) v = x[lane];\n        for")],
}

WRONG = {
    "overlap_add": [
        (lambda source: ("lost update", 5, 0, source), "the kind must be one of"),
        (repaired("uninitialised", 5, 0), "the kind of fault is not 'uninitialised'"),
        (repaired("race", 4, 0), "the fault is not in line 4"),
        (repaired("race", 5, 64), "threadIdx.x = 64 is not at fault"),
        (repaired("race", 5, 0), "the repaired source is the broken one"),
        (lambda source: ("race", 5, 0, 7), "must be a str, not an int"),
        (repaired("race", 5, 0, "y[k", "z[k"), "does not compile"),
        (repaired("race", 5, 0, "int hop", "long hop"), "your overlap_add takes"),
        (repaired("race", 5, 0, "+= value", "= 0 * value"), "1648 of 1648 values are wrong"),
        (lambda source: ("race", 5, 0), "got a tuple of 3"),
        (lambda source: ("race", "5", 0, source), "the line must be a number, not '5'"),
        (repaired("Race", 5, 0, "y[k * hop + j] += value", "atomicAdd(y[k * hop + j], value)"),
         "line 5: it takes an address, not a value"),
        (repaired("race", 5, 0, "+= value;", "+= value"), 'a ";" is missing'),
    ],
    "barrier_in_a_branch": [(repaired("race", 10, 32), "not 'race'")],
    "half_a_tile": [
        (repaired("uninitialised", 10, 8, "    if (t == 0)", "    if (t == 1)"), "is at fault"),
        (repaired("uninitialized", 10, 8, "    if (i < n) {\n        tile[t] = x[i];\n    }",
                 "    tile[t] = i < n ? x[i] : -INFINITY;"), "write 3.4e38f")],
    "one_barrier_too_few": [
        (repaired("barrier", 8, 0), "not 'barrier'"),
        (repaired("race", 7, 0, "        __syncthreads();", "        __syncthreads();" * 2),
         "behind the loop it is too late")],
    "edge_of_the_tile": [(repaired("out of bounds", 8, 0), "threadIdx.x = 0 is not at fault")],
    "absent_lanes": [
        (repaired("barrier", 7, 0), "threadIdx.x = 0 is not at fault"),
        (repaired("barrier", 7, 20, "    if (lane < n) {\n        float v = x[lane];",
                 "    {\n        float v; if (lane < n) v = x[lane];"),
         "a `v` that was never set")],
}
