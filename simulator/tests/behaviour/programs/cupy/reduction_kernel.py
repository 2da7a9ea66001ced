"""cupy.ReductionKernel."""

import cupy as cp
import numpy as np

l2 = cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2")
largest = cp.ReductionKernel("T x", "T y", "x", "max(a, b)", "y = a", None, "largest")


def over_everything():
    """Without an axis the result is 0-d."""
    y = l2(cp.array([3.0, 4.0]))
    print(y, y.shape, y.dtype, type(y).__name__)


def over_axes():
    """axis and keepdims work as for sum."""
    x = cp.array([[3.0, 0.0], [4.0, 5.0]])
    print(l2(x, axis=0), l2(x, axis=1, keepdims=True).shape, l2(x, axis=(0, 1)).round(6))


def of_views():
    """Transposed and strided views reduce as they stand."""
    x = cp.arange(6.0).reshape(2, 3)
    print(largest(x.T, axis=0), largest(x[:, ::-2]), largest(x[:, 1]))


def out_argument():
    """out= is filled and returned."""
    y = cp.empty(())
    print(l2(cp.array([3.0, 4.0]), out=y) is y, y)


def out_of_the_wrong_shape():
    """out= of another shape is a ValueError."""
    l2(cp.ones((2, 3)), axis=0, out=cp.empty(2))


def of_nothing():
    """An empty input gives the post-mapped identity."""
    print(l2(cp.zeros(0)), l2(cp.zeros((0, 2)), axis=0))


def of_nothing_without_identity():
    """Without an identity an empty input is a ValueError that names the kernel."""
    largest(cp.zeros(0))


def axis_out_of_range():
    """A wrong axis is an AxisError."""
    l2(cp.zeros(3), axis=1)


def unknown_keyword():
    """An unknown keyword is a TypeError."""
    l2(cp.zeros(3), foo=1)


def numpy_argument():
    """A NumPy array is a TypeError."""
    l2(np.zeros(3))


def wrong_number_of_arguments():
    """Too many arguments are a TypeError."""
    l2(cp.zeros(3), cp.zeros(3), cp.zeros(3))


def type_mismatch():
    """A declared type is not converted to: TypeError."""
    kernel = cp.ReductionKernel("float32 x", "float32 y", "x", "a + b", "y = a", "0", "total")
    kernel(cp.ones(3))


def two_inputs():
    """Two inputs broadcast before they are reduced."""
    dot = cp.ReductionKernel("T x, T y", "T z", "x * y", "a + b", "z = a", "0", "dot")
    print(dot(cp.arange(3.0), cp.arange(3.0)), dot(cp.ones((2, 3)), cp.arange(3.0), axis=1))


def scalar_input():
    """A scalar input is cast to its letter's type."""
    kernel = cp.ReductionKernel("T x, T p", "T z", "x * p", "a + b", "z = a", "0", "scaled")
    print(kernel(cp.arange(4), 2.9))


def reduce_type():
    """reduce_type is the type of a and b: a double accumulator for floats."""
    kernel = cp.ReductionKernel(
        "float32 x", "float32 y", "x", "a + b", "y = a", "0", "wide", reduce_type="double"
    )
    print(kernel(cp.full(1000, 0.5, dtype=cp.float32)))


def many_elements():
    """Many blocks' partial results are joined: the sum of 0 to a million."""
    total = cp.ReductionKernel("int64 x", "int64 y", "x", "a + b", "y = a", "0", "total")
    print(total(cp.arange(1_000_001)), total(cp.ones((1000, 1000), dtype="i8"), axis=0)[999])


def log_sum_exp_in_two():
    """A struct from the preamble can be reduced: the place of the largest."""
    kernel = cp.ReductionKernel(
        "T x", "int64 y", "Pair(x, _j)", "a.v >= b.v ? a : b", "y = a.i", "Pair(-1, -1)", "place",
        reduce_type="Pair",
        preamble="struct Pair { double v; long long i; __device__ Pair(double v = 0, "
        "long long i = 0) : v(v), i(i) {} };",
    )
    print(kernel(cp.array([1.0, 7.0, 3.0])))


def raw_input():
    """A raw input is indexed by hand and does not take part in the shape."""
    kernel = cp.ReductionKernel(
        "T x, raw T w", "T y", "x * w[_j]", "a + b", "y = a", "0", "weighted"
    )
    print(kernel(cp.arange(3.0), cp.array([1.0, 10.0, 100.0])))


def compile_error():
    """A mistake is a CompileException at the first call."""
    cp.ReductionKernel("T x", "T y", "x", "a + undeclared", "y = a", "0", "broken")(cp.ones(2))


def invalid_name():
    """A name that is no identifier is a ValueError."""
    cp.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "my kernel")


def boolean_all():
    """A reduction to bool."""
    kernel = cp.ReductionKernel("T x", "bool y", "x > 0", "a && b", "y = a", "true", "positive")
    print(kernel(cp.arange(3)), kernel(cp.arange(1, 3)))


def integer_identity():
    """The identity is text in the accumulator's type."""
    kernel = cp.ReductionKernel("T x", "T y", "x", "a * b", "y = a", "1", "product")
    print(kernel(cp.arange(1, 6)), kernel(cp.zeros(0, dtype=cp.int32)))


def attributes():
    """name and the expressions can be read."""
    print(l2.name, l2.nin, l2.nout, l2.identity, l2.reduce_expr, l2.map_expr)


def stream_argument():
    """stream= launches there."""
    s = cp.cuda.Stream()
    y = l2(cp.array([3.0, 4.0]), stream=s)
    s.synchronize()
    print(y)
