"""ElementwiseKernel, ReductionKernel, scans and cumath: kernels that PyCUDA generates."""

import numpy as np
import pycuda.autoprimaryctx
import pycuda.driver as drv
from pycuda import cumath, gpuarray
from pycuda.elementwise import ElementwiseKernel
from pycuda.reduction import ReductionKernel

linear = ElementwiseKernel("float a, float* x, float* z", "z[i] = a * x[i]", "linear")
x = gpuarray.arange(4, dtype=np.float32)
z = gpuarray.zeros(4, np.float32)


class Attempt:
    """Prints what an action gives, or the exception that it raises."""

    def __init__(self, action):
        try:
            print(action())
        except Exception as error:
            print(f"{type(error).__module__}.{type(error).__name__}: {error}")


def elementwise():
    """Arguments are C declarations; i is the index; the call returns None."""
    print(linear(2, x, z), z)


def elementwise_with_a_numpy_scalar():
    """Scalars are converted to the declared type."""
    linear(np.float64(0.5), x, z)
    print(z)


def elementwise_with_another_type():
    """Types are not compared: a float64 array is read as floats."""
    wrong = gpuarray.to_gpu(np.array([1.0, 2.0, 3.0, 4.0]))
    linear(1, wrong, z)
    print(z)


def elementwise_with_different_sizes():
    """Sizes: the first vector's counts; a larger second one is no error."""
    out = gpuarray.zeros(6, np.float32)
    linear(1, x, out)
    print(out)


def elementwise_with_too_few_arguments():
    """Too few arguments: an error of struct, or of the call, as recorded."""
    Attempt(lambda: linear(1, x))


def elementwise_with_too_many_arguments():
    """Too many: as recorded."""
    Attempt(lambda: linear(1, x, z, z))


def elementwise_with_a_number_for_a_vector():
    """A number where a vector was declared: AttributeError or AssertionError, as recorded."""
    Attempt(lambda: linear(1, 2, z))


def elementwise_with_a_strided_view():
    """A view with gaps is a RuntimeError."""
    linear(1, gpuarray.arange(8, dtype=np.float32)[::2], z)


def elementwise_with_a_numpy_array():
    """A NumPy array where a vector was declared: as recorded."""
    Attempt(lambda: linear(1, np.zeros(4, dtype=np.float32), z))


def elementwise_without_a_vector():
    """Arguments without any vector are an AssertionError, at the call."""
    Attempt(lambda: ElementwiseKernel("float a", "(void) a")(1))


def elementwise_range_and_slice():
    """range= and slice= choose the indices; a slice needs its three numbers."""
    z.fill(0)
    linear(1, x, z, range=slice(1, 3, 1))
    print(z)
    linear(10, x, z, slice=slice(0, 4, 2))
    print(z)


def elementwise_on_a_stream():
    """stream= takes a stream."""
    s = drv.Stream()
    drv.Context.synchronize()
    linear(3, x, z, stream=s)
    s.synchronize()
    print(z)


def elementwise_unknown_keyword():
    """Another keyword is a TypeError."""
    linear(3, x, z, size=2)


def elementwise_with_a_mistake():
    """A mistake in the operation is a CompileError, at construction or at the first call."""
    k = ElementwiseKernel("float* x", "x[i] = oops", "broken")
    print("made")
    k(x)


def elementwise_with_a_preamble():
    """preamble, loop_prep and after_loop are source around the loop."""
    k = ElementwiseKernel(
        "float* x, float* z", "z[i] = triple(x[i]) + offset", "with_preamble",
        preamble="__device__ float triple(float v) { return 3 * v; }",
        loop_prep="float offset = 1;",
    )
    k(x, z)
    print(z)


def elementwise_uses_n():
    """n is the number of elements."""
    ElementwiseKernel("float* x, float* z", "z[i] = x[n - 1 - i]", "backwards")(x, z)
    print(z)


def elementwise_several_statements():
    """The operation may be several statements."""
    ElementwiseKernel("float* x, float* z", "float t = x[i] + 1; z[i] = t * t", "several")(x, z)
    print(z)


def elementwise_of_a_matrix():
    """Matrices are taken as they lie in memory."""
    a = gpuarray.arange(6, dtype=np.float32).reshape(2, 3)
    out = gpuarray.empty_like(a)
    linear(2, a, out)
    print(out)


def elementwise_with_an_unknown_type():
    """An argument of an unknown type is a ValueError, at the first call."""
    Attempt(lambda: ElementwiseKernel("no_such_type* x", "x[i] = 1")(x))


def elementwise_of_nothing():
    """Arrays without elements have no pointer: struct.error."""
    empty = gpuarray.zeros(0, np.float32)
    Attempt(lambda: linear(1, empty, empty))


def elementwise_with_arguments_in_a_list():
    """Arguments as a list of VectorArg and ScalarArg."""
    from pycuda.tools import ScalarArg, VectorArg

    k = ElementwiseKernel(
        [ScalarArg(np.float32, "a"), VectorArg(np.float32, "x"), VectorArg(np.float32, "z")],
        "z[i] = a + x[i]", "plus")
    k(5, x, z)
    print(z)


def get_elwise_module():
    """The module's helpers are there."""
    import pycuda.elementwise as e

    print([hasattr(e, n) for n in ("get_elwise_module", "get_elwise_kernel", "VectorArg",
                                   "get_axpbyz_kernel", "get_linear_combination_kernel")])


def reduction():
    """map_expr and reduce_expr; the result is a 0-d array."""
    dot = ReductionKernel(np.float32, neutral="0", reduce_expr="a+b", map_expr="x[i]*y[i]",
                          arguments="float* x, float* y")
    r = dot(x, x)
    print(type(r).__name__, r.shape, r.dtype, r.get(), r)


def reduction_of_many():
    """Many elements are reduced in two steps."""
    total = ReductionKernel(np.int64, neutral="0", reduce_expr="a+b", map_expr="(long) x[i]",
                            arguments="int* x")
    print(total(gpuarray.arange(1_000_003, dtype=np.int32)))


def reduction_without_map_expr():
    """Without map_expr the argument must be called in, and be declared: CompileError otherwise."""
    for arguments in (None, "float* x"):
        try:
            ReductionKernel(np.float32, "0", "a+b", arguments=arguments)
        except drv.CompileError as error:
            print(type(error).__name__)


def reduction_of_nothing():
    """Nothing gives the neutral element, or an error, as recorded."""
    total = ReductionKernel(np.float32, neutral="3", reduce_expr="a+b", map_expr="x[i]",
                            arguments="float* x")
    Attempt(lambda: total(gpuarray.zeros(0, np.float32)))


def reduction_into_out():
    """out= takes an array for the result."""
    total = ReductionKernel(np.float32, neutral="0", reduce_expr="a+b", map_expr="x[i]",
                            arguments="float* x")
    out = gpuarray.zeros((), np.float32)
    r = total(x, out=out)
    print(r is out, out)


def reduction_with_a_stream():
    """stream= takes a stream, and a wrong keyword is an error."""
    total = ReductionKernel(np.float32, neutral="0", reduce_expr="a+b", map_expr="x[i]",
                            arguments="float* x")
    s = drv.Stream()
    drv.Context.synchronize()
    r = total(x, stream=s)
    s.synchronize()
    print(r)
    total(x, axis=0)


def reduction_of_a_strided_view():
    """A view with gaps is a RuntimeError, or is read as it lies, as recorded."""
    total = ReductionKernel(np.float32, neutral="0", reduce_expr="a+b", map_expr="x[i]",
                            arguments="float* x")
    Attempt(lambda: total(gpuarray.arange(8, dtype=np.float32)[::2]))


def reduction_with_a_mistake():
    """A mistake is a CompileError at construction, or at the call."""
    k = ReductionKernel(np.float32, neutral="0", reduce_expr="a+oops", arguments="float* x")
    print("made")
    k(x)


def reduction_with_a_wrong_type():
    """Types are not compared here, either."""
    total = ReductionKernel(np.float32, neutral="0", reduce_expr="a+b", map_expr="x[i]",
                            arguments="float* x")
    Attempt(lambda: total(gpuarray.to_gpu(np.array([1.0, 2.0, 3.0, 4.0]))))


def reduction_with_a_scalar_argument():
    """Scalars may be arguments, too."""
    total = ReductionKernel(np.float32, neutral="0", reduce_expr="a+b", map_expr="w*x[i]",
                            arguments="float w, float* x")
    print(total(0.5, x), total(np.float32(2), x))


def inclusive_scan():
    """InclusiveScanKernel works in place."""
    from pycuda.scan import ExclusiveScanKernel, InclusiveScanKernel

    g = gpuarray.arange(1, 6, dtype=np.int32)
    Attempt(lambda: InclusiveScanKernel(np.int32, "a+b")(g))
    Attempt(lambda: ExclusiveScanKernel(np.int32, "a+b", neutral=0)(
        gpuarray.arange(1, 6, dtype=np.int32)))


def cumath_functions():
    """cumath has functions of the names of math."""
    g = gpuarray.to_gpu(np.array([0, 1, 4], dtype=np.float32))
    print(cumath.sqrt(g), cumath.fabs(-g), cumath.floor(g / 2), cumath.exp(g * 0))
    print(cumath.sin(g).dtype, cumath.sqrt(g.astype(np.float64)).dtype)


def cumath_into_out():
    """out= and stream= are there."""
    g, out = gpuarray.ones(2, np.float32), gpuarray.zeros(2, np.float32)
    print(cumath.sqrt(g, out=out) is out, out)


def cumath_of_integers():
    """Integers do not compile: CompileError."""
    cumath.sqrt(gpuarray.arange(3, dtype=np.int32))


def cumath_of_two():
    """fmod and ldexp take two arrays, frexp and modf give two."""
    g = gpuarray.to_gpu(np.array([5.5, 7.25], dtype=np.float32))
    print(cumath.fmod(g, gpuarray.to_gpu(np.array([2, 3], dtype=np.float32))))
    print(cumath.modf(g), cumath.frexp(g), hasattr(cumath, "ldexp"))


def curandom():
    """curandom cannot be imported where PyCUDA was built without cuRAND."""
    def step():
        from pycuda import curandom

        return [n for n in ("rand", "XORWOWRandomNumberGenerator") if hasattr(curandom, n)]

    Attempt(step)
