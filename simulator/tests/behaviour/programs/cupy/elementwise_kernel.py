"""cupy.ElementwiseKernel: types, broadcasting, raw arguments, and its messages."""

import cupy as cp
import numpy as np

squared_difference = cp.ElementwiseKernel(
    "float32 x, float32 y", "float32 z", "z = (x - y) * (x - y)", "squared_difference"
)
generic = cp.ElementwiseKernel("T x, T y", "T z", "z = x * y + 1", "generic")


def call():
    """A call gives a new array of the declared type."""
    z = squared_difference(cp.arange(3, dtype=cp.float32), cp.ones(3, dtype=cp.float32))
    print(z, z.dtype)


def broadcasts():
    """Arguments broadcast; strided views are read as they stand."""
    x = cp.arange(6, dtype=cp.float32).reshape(2, 3)
    print(squared_difference(x, x[:, :1]).tolist(), squared_difference(x.T, x.T[:, ::-1]).tolist())


def three_shapes_that_do_not_broadcast():
    """Shapes that do not fit are a ValueError, which names those with one element too."""
    three = cp.ElementwiseKernel("T x, T a, T b", "T y", "y = x + a + b", "three")
    three(cp.ones(50), cp.ones(1), cp.ones(2))


def output_argument():
    """The output may be given; it is returned."""
    z = cp.empty(3, dtype=cp.float32)
    x = cp.arange(3, dtype=cp.float32)
    print(squared_difference(x, x, z) is z, z)


def output_of_the_wrong_shape():
    """An output of another shape is a ValueError."""
    x = cp.arange(3, dtype=cp.float32)
    squared_difference(x, x, cp.empty(4, dtype=cp.float32))


def output_of_the_wrong_type():
    """An output of another dtype is a TypeError."""
    x = cp.arange(3, dtype=cp.float32)
    squared_difference(x, x, cp.empty(3))


def no_promotion():
    """A float64 array for "float32 x" is a TypeError: it is no ufunc."""
    squared_difference(cp.arange(3.0), cp.ones(3, dtype=cp.float32))


def scalars_are_cast():
    """Python and NumPy scalars are cast to the declared type."""
    x = cp.arange(3, dtype=cp.float32)
    print(squared_difference(x, 0.5), squared_difference(x, np.float64(1)))


def numpy_argument():
    """A NumPy array is a TypeError."""
    squared_difference(np.arange(3, dtype=np.float32), cp.ones(3, dtype=cp.float32))


def list_argument():
    """A list is a TypeError."""
    squared_difference([1.0], cp.ones(1, dtype=cp.float32))


def shapes_that_do_not_fit():
    """Shapes that do not broadcast are a ValueError."""
    squared_difference(cp.ones(3, dtype=cp.float32), cp.ones(2, dtype=cp.float32))


def too_many_arguments():
    """The wrong number of arguments is a TypeError that names the kernel."""
    kernel = cp.ElementwiseKernel("T x", "T z", "z = x", "k")
    kernel(cp.ones(1), cp.ones(1), cp.ones(1))


def too_few_arguments():
    """Too few arguments are a TypeError."""
    squared_difference(cp.ones(3, dtype=cp.float32))


def unknown_keyword():
    """An unknown keyword is a TypeError."""
    squared_difference(1, 2, axis=0)


def generic_type():
    """A letter stands for the type of the arrays."""
    print(generic(cp.arange(2), cp.arange(2)).dtype, generic(cp.ones(2, "f4"), 2).dtype)


def generic_types_must_agree():
    """Two types for one letter are a TypeError."""
    generic(cp.arange(2), cp.arange(2.0))


def scalars_do_not_decide_a_type():
    """A scalar takes the letter's type: 1.5 for T=int64 becomes 1, silently."""
    print(generic(cp.arange(3), 1.5), generic(cp.arange(3), 1.5).dtype)


def scalar_out_of_range():
    """A Python integer that the type cannot hold is an OverflowError."""
    generic(cp.arange(3, dtype=cp.int32), 2**40)


def output_decides_first():
    """A given output decides its letter before the inputs."""
    kernel = cp.ElementwiseKernel("T x", "S z", "z = x", "cast")
    print(kernel(cp.array([1.75]), cp.empty(1, dtype=cp.int32)))


def undecided_letter():
    """A letter that only the output has, with no output given, is a KeyError."""
    cp.ElementwiseKernel("T x", "S z", "z = x", "undecided")(cp.ones(1))


def raw_argument():
    """A raw argument is indexed by hand; i and _ind.size() are known."""
    kernel = cp.ElementwiseKernel(
        "raw T x", "T z", "z = x[_ind.size() - 1 - i]", "reversed_copy"
    )
    print(kernel(cp.arange(4), size=4))


def raw_argument_of_a_view():
    """A raw strided view is indexed by its elements: x[i] follows the strides."""
    kernel = cp.ElementwiseKernel("raw T x, int32 unused", "T z", "z = x[i]", "raw_view")
    print(kernel(cp.arange(8)[::2], cp.zeros(4, "i4")))


def raw_size_is_needed():
    """Only raw arrays and no size is a ValueError."""
    cp.ElementwiseKernel("raw T x", "raw T z", "z[i] = x[i]", "k")(cp.ones(2), cp.ones(2))


def size_without_raw():
    """size with an array that is not raw is a ValueError."""
    generic(cp.ones(2), cp.ones(2), size=2)


def raw_output():
    """A raw output must be given and may be written anywhere."""
    kernel = cp.ElementwiseKernel("T x", "raw T z", "z[_ind.size() - 1 - i] = x", "scatter")
    print(kernel(cp.arange(3), cp.empty(3, dtype=cp.int64)))


def raw_size_and_shape():
    """A raw argument knows size(), shape() and ndim."""
    kernel = cp.ElementwiseKernel(
        "raw T x", "int64 z", "z = i == 0 ? x.size() : (i == 1 ? x.shape()[1] : x.ndim)", "about"
    )
    print(kernel(cp.zeros((2, 5)), size=3))


def several_outputs():
    """Several outputs come as a tuple."""
    kernel = cp.ElementwiseKernel("T x", "T a, T b", "a = x + 1; b = x * 2", "two")
    print(kernel(cp.arange(3)))


def return_tuple():
    """return_tuple=True gives a tuple of one; no_return=True gives None."""
    one = cp.ElementwiseKernel("T x", "T z", "z = x", "k1", return_tuple=True)
    none = cp.ElementwiseKernel("T x", "T z", "z = x", "k2", no_return=True)
    print(type(one(cp.ones(1))).__name__, none(cp.ones(1), cp.ones(1)))


def reserved_parameter_name():
    """i, the element's index, cannot be a parameter: ValueError."""
    cp.ElementwiseKernel("T i", "T z", "z = i", "k")


def invalid_kernel_name():
    """A kernel's name must be an identifier: ValueError."""
    cp.ElementwiseKernel("T x", "T z", "z = x", "my kernel")


def invalid_parameter():
    """A parameter without a type is refused when the kernel is made (Exception)."""
    cp.ElementwiseKernel("x", "T z", "z = x", "k")


def unknown_type():
    """A type that does not exist is a TypeError at the definition or the call."""
    cp.ElementwiseKernel("float33 x", "T z", "z = x", "k")(cp.ones(1))


def compile_error():
    """A mistake in the operation is a CompileException at the first call."""
    kernel = cp.ElementwiseKernel("T x", "T z", "z = undeclared_thing + x", "broken")
    print("defined")
    kernel(cp.ones(1))


def compile_error_names_the_identifier():
    """The compiler's log names what is undeclared."""
    try:
        cp.ElementwiseKernel("T x", "T z", "z = undeclared_thing + x", "broken2")(cp.ones(1))
    except cp.cuda.compiler.CompileException as error:
        print("undeclared_thing" in str(error), "undefined" in str(error))


def no_elements():
    """Without elements nothing is launched; the result is empty."""
    print(generic(cp.zeros((0, 3)), 1).shape)


def loop_prep_and_after_loop():
    """loop_prep runs once per thread before its elements."""
    kernel = cp.ElementwiseKernel("T x", "T z", "z = x * factor", "k", loop_prep="T factor = 3;")
    print(kernel(cp.arange(3)))


def preamble():
    """preamble stands before the kernel."""
    kernel = cp.ElementwiseKernel(
        "float32 x", "float32 z", "z = leaky(x)", "leaky_relu",
        preamble="__device__ float leaky(float x) { return x > 0 ? x : 0.5f * x; }",
    )
    print(kernel(cp.array([-2.0, 0.0, 2.0], dtype=cp.float32)))


def block_size():
    """block_size changes the launch, not the result."""
    print(generic(cp.arange(5), 2, block_size=1), generic(cp.arange(5), 2, block_size=256))


def stream_argument():
    """stream= launches there."""
    s = cp.cuda.Stream()
    z = generic(cp.arange(5), 2, stream=s)
    s.synchronize()
    print(z)


def overlapping_input_is_not_copied():
    """An output that is one of the inputs is allowed: each element is read and written by i."""
    x = cp.arange(4)
    generic(x, x, x)
    print(x)


def is_no_ufunc():
    """It has no reduce and no outer: AttributeError."""
    print(isinstance(generic, cp.ufunc), hasattr(generic, "outer"))
    generic.reduce(cp.arange(3))


def takes_no_out():
    """out= is not a keyword of a kernel: TypeError."""
    try:
        generic(cp.arange(3), 2, out=cp.empty(3))
    except TypeError as error:  # the array follows: memory that nobody has written
        print(f"TypeError: {str(error).partition(' {')[0]}")


def attributes():
    """name, nin, nout, nargs, params and the cached code can be read."""
    print(generic.name, generic.nin, generic.nout, generic.nargs, generic.operation)
    print(generic)


def cuda_indices_are_visible():
    """threadIdx and blockDim can be used: 128 threads a block by default."""
    kernel = cp.ElementwiseKernel("T x", "int32 z", "z = blockDim.x", "dims")
    print(kernel(cp.zeros(300))[0], kernel(cp.zeros(300), block_size=64)[0])


def half_precision_arithmetic():
    """float16 parameters convert to float."""
    kernel = cp.ElementwiseKernel("float16 x", "float16 z", "z = x * 2.5f", "halves")
    print(kernel(cp.array([1.0, 3.0], dtype=cp.float16)))


def complex_arithmetic():
    """complex64 parameters are complex<float>."""
    kernel = cp.ElementwiseKernel("complex64 x", "float32 z", "z = x.real() * x.imag()", "parts")
    print(kernel(cp.array([2 + 3j], dtype=cp.complex64)))


def boolean_output():
    """A bool output."""
    kernel = cp.ElementwiseKernel("T x", "bool z", "z = x > 1", "greater")
    print(kernel(cp.arange(4)), kernel(cp.arange(4)).dtype)


def type_casts_by_letter():
    """A letter can be used inside the operation."""
    kernel = cp.ElementwiseKernel("T x, U y", "V z", "z = (V)x / (V)y", "divide")
    print(kernel(cp.arange(3, dtype="i4"), cp.full(3, 2, "i4"), cp.empty(3, "f4")))


def fast_math_division():
    """Integer division by zero in a kernel raises nothing."""
    kernel = cp.ElementwiseKernel("float32 x", "float32 z", "z = x / 0.0f", "over_zero")
    print(kernel(cp.array([1.0, 0.0, -1.0], dtype=cp.float32)))


def zero_d_argument():
    """A 0-d device array is an array: it decides the type."""
    print(generic(cp.array(2.0, "f4"), cp.ones(2, "f4")), generic(cp.array(3), 2).shape)
