"""Element by element: promotion, casts, special values."""

import cupy as cp
import numpy as np


def python_scalars_do_not_widen():
    """NEP 50: a Python number takes the array's type."""
    x = cp.ones(2, dtype=cp.float32)
    print((x + 1).dtype, (x + 1.5).dtype, (x * 2j).dtype, (cp.ones(2, "i4") + 1).dtype)


def numpy_scalars_widen():
    """NEP 50: a NumPy scalar has its own type."""
    x = cp.ones(2, dtype=cp.float32)
    print((x + np.float64(1)).dtype, (x + np.float16(1)).dtype, (x + np.int64(1)).dtype)


def integer_with_python_float():
    """An integer array and a Python float give float64."""
    print((cp.ones(2, "i4") + 0.5).dtype, (cp.ones(2, "i1") * 0.5).dtype)


def python_integer_out_of_range():
    """A Python integer that the dtype cannot hold is an OverflowError."""
    cp.zeros(2, dtype=cp.uint8) + 256


def promotion_of_arrays():
    """Two arrays promote as in NumPy."""
    one = {name: cp.ones(1, name) for name in ("i4", "u4", "f2", "f4", "i8", "u8", "c8", "?")}
    print((one["i4"] + one["f4"]).dtype, (one["i4"] + one["u4"]).dtype)
    print((one["u8"] + one["i8"]).dtype, (one["f2"] + one["f4"]).dtype)
    print((one["c8"] + one["i8"]).dtype, (one["?"] + one["?"]).dtype)


def result_type():
    """cp.result_type, can_cast and promote_types follow NumPy."""
    print(cp.result_type(cp.ones(1, "f4"), 1.0), cp.can_cast("f8", "f4"))
    print(cp.promote_types("i4", "f4"))


def division_of_integers():
    """True division of integers is float64; // and % round towards minus infinity."""
    print((cp.array([1, 2]) / 2).dtype, cp.array([7, -7]) // 2, cp.array([7, -7]) % 3)


def division_by_zero_of_floats():
    """Floats divided by zero give inf and nan without a warning."""
    print(cp.array([1.0, 0.0, -1.0]) / 0.0)


def invalid_values():
    """log and sqrt of negative numbers give nan without a warning."""
    print(cp.log(cp.array([-1.0, 0.0])), cp.sqrt(cp.array([-1.0])))


def integer_overflow_wraps():
    """Integer arithmetic wraps without a warning."""
    print(cp.array([127], "i1") + cp.array([1], "i1"), cp.array([2**31 - 1], "i4") * 2)


def float_to_unsigned():
    """-1.0 to uint32 saturates at 0 where NumPy's machine code wraps."""
    print(cp.array([-1.0], "f4").astype("u4"), cp.array([-1.5]).astype("u1"))


def float_to_signed_out_of_range():
    """inf, nan and large floats to int32 saturate as the GPU converts them."""
    print(cp.array([np.inf, -np.inf, np.nan, 3e9, -3e9]).astype("i4"))


def float_to_long_out_of_range():
    """inf and nan to int64 by the GPU's conversion."""
    print(cp.array([np.inf, -np.inf, 1e30]).astype("i8"))


def float_to_small_integers():
    """Values outside int8 and uint8 by the GPU's conversion through a wider type."""
    print(cp.array([300.0, -300.0, 127.9, -1.0]).astype("i1"))
    print(cp.array([300.0, 256.0, 255.9]).astype("u1"))


def denormals_in_float32():
    """Kernels flush float32 denormals to zero (-ftz=true); float64 keeps them."""
    x = cp.array([1e-40], dtype=cp.float32)
    print(bool(x[0] * 1 == 0), bool(x.astype("f8")[0] == 0), x.get()[0] > 0)
    print(bool(cp.array([1e-310])[0] * 1 == 0))


def denormal_comparison():
    """A float32 denormal compares equal to zero on the device, not on the host."""
    x = cp.array([1e-40], dtype=cp.float32)
    print(x == 0, x.get() == 0)


def half_precision():
    """float16 arithmetic rounds to float16."""
    x = cp.array([1.0], "f2")
    print((x + cp.array([0.0001], "f2")), cp.array([70000.0]).astype("f2"), (x + 1).dtype)


def complex_numbers():
    """real and imag are views; abs and angle give reals."""
    z = cp.array([3 + 4j])
    z.real[0] = 0
    print(z, cp.abs(z), z.imag, z.conj())


def real_of_a_real_array():
    """real of a real array is the array itself, imag is zeros."""
    x = cp.arange(2.0)
    print(x.real is x, x.imag)


def bitwise_and_shift():
    """Bitwise operations work on integers and booleans."""
    x = cp.array([5, 6])
    print(x & 3, x | 8, x ^ 1, ~x, x << 1, x >> 1, ~cp.array([True]))


def bitwise_on_floats():
    """Bitwise operations on floats are a TypeError that names the ufunc and the dtypes."""
    cp.array([1.0]) & cp.array([1.0])


def minus_of_booleans():
    """Subtraction of booleans is a TypeError."""
    cp.array([True]) - cp.array([False])


def negative_of_booleans():
    """Negation of booleans is a TypeError."""
    -cp.array([True])


def power_of_integers():
    """Integer powers stay integers; a negative exponent gives what the device computes."""
    print(cp.array([2, 3]) ** 2, (cp.array([2]) ** 0.5).dtype, cp.array([2.0]) ** -1)


def inplace_needs_a_castable_result():
    """x += 0.5 on integers is a TypeError (same_kind)."""
    x = cp.arange(3)
    x += 0.5


def inplace_keeps_dtype_and_memory():
    """x += y writes in place and keeps the type."""
    x = cp.arange(3, dtype=cp.float32)
    y = x
    x += cp.ones(3)
    print(x is y, x.dtype, y)


def out_argument():
    """out= receives the result and is returned."""
    out = cp.empty(3)
    print(cp.add(cp.arange(3), 1, out=out) is out, out)


def out_of_the_wrong_shape():
    """out= of another shape is a ValueError."""
    cp.add(cp.arange(3), 1, out=cp.empty(4))


def out_of_a_narrow_dtype():
    """out= of a dtype that would lose the kind is a TypeError."""
    cp.add(cp.arange(3.0), 1, out=cp.empty(3, dtype=cp.int32))


def out_must_be_a_device_array():
    """out= of a NumPy array is a TypeError."""
    cp.add(cp.arange(3), 1, out=np.empty(3))


def casting_argument():
    """casting="unsafe" lets a float result into integers."""
    out = cp.empty(3, dtype=cp.int32)
    print(cp.add(cp.arange(3.0), 0.7, out=out, casting="unsafe"))


def dtype_argument():
    """dtype= picks the loop."""
    print(cp.add(cp.arange(3), 1, dtype=cp.float32), cp.sqrt(cp.arange(3), dtype="f4").dtype)


def overlapping_input_and_output():
    """A ufunc copies an input that overlaps the output."""
    x = cp.arange(5)
    cp.add(x[:-1], 1, out=x[1:])
    print(x)


def lists_are_refused():
    """A ufunc takes no lists: TypeError."""
    cp.add([1, 2], cp.arange(2))


def lists_are_refused_by_operators():
    """An operator takes no lists either: TypeError."""
    cp.arange(2) + [1, 2]


def strings_are_refused():
    """An operator with a string is a TypeError."""
    cp.arange(2) + "a"


def none_is_refused():
    """An operator with None is a TypeError."""
    cp.arange(2) + None


def ufunc_methods():
    """reduce, accumulate, outer, at and reduceat exist for some ufuncs."""
    x = cp.arange(4)
    print(cp.add.reduce(x), cp.add.accumulate(x), cp.multiply.outer(x[:2], x[:2]).tolist())
    print(cp.add.reduceat(x, cp.array([0, 2])))


def ufunc_reduce_of_few():
    """reduce of a ufunc without a reduction kernel is a NotImplementedError."""
    cp.hypot.reduce(cp.arange(4.0))


def ufunc_attributes():
    """A ufunc has nin, nout, nargs, name and types."""
    print(cp.add.nin, cp.add.nout, cp.add.nargs, cp.add.name, len(cp.add.types) > 10, cp.add)


def too_many_arguments():
    """The wrong number of arguments is a TypeError."""
    cp.add(cp.arange(2))


def rounding():
    """round, rint, floor, ceil and trunc: half to even."""
    x = cp.array([0.5, 1.5, -0.5, 2.675])
    print(cp.rint(x), cp.floor(x), cp.ceil(x), cp.trunc(x), cp.round(x, 2), cp.around(x))


def clip_limits():
    """clip takes scalars or arrays, one of them may be None."""
    x = cp.arange(5)
    print(x.clip(1, 3), cp.clip(x, None, 2), cp.clip(x, cp.full(5, 3), None))


def nan_functions():
    """maximum passes nan on, fmax ignores it; nan_to_num replaces."""
    x, y = cp.array([1.0, np.nan]), cp.array([np.nan, 2.0])
    print(cp.maximum(x, y), cp.fmax(x, y), cp.nan_to_num(x), cp.isnan(x))


def sign_heaviside_mod():
    """sign, fmod, remainder, divmod and modf."""
    x = cp.array([-2.5, 0.0, 2.5])
    print(cp.sign(x), cp.fmod(x, 2), cp.remainder(x, 2), divmod(x, 2)[0], cp.modf(x)[0])


def floor_division_of_floats():
    """Floor division and remainder of floats follow Python's signs."""
    print(cp.array([-7.0]) // 2, cp.array([-7.0]) % 3, cp.array([7.0]) % -3)


def exact_functions():
    """Roots and powers of exact values are exact."""
    print(cp.sqrt(cp.array([4.0, 9.0])), cp.square(cp.arange(3)), cp.cbrt(cp.array([8.0])))


def transcendental_functions():
    """exp, log, sin, tanh and erf to 12 digits."""
    from cupyx.scipy.special import erf

    x = cp.array([0.5])
    for f in (cp.exp, cp.log, cp.sin, cp.cos, cp.tanh, cp.log1p, cp.expm1, cp.arctan, erf):
        print(f"{float(f(x)[0]):.12f}")


def comparison_gives_arrays():
    """Comparisons give boolean device arrays."""
    x = cp.arange(3)
    print(x == 1, (x < 2).dtype, cp.array_equal(x, x), type(cp.array_equal(x, x)).__name__)


def allclose_gives_an_array():
    """allclose gives a 0-d boolean array; isclose one per element."""
    r = cp.allclose(cp.ones(2), cp.ones(2) + 1e-9)
    print(type(r).__name__, r.shape, r, cp.isclose(cp.array([1.0]), 1.1))


def logical_functions():
    """logical_and, logical_not, all and any."""
    x = cp.array([0, 1, 2])
    print(cp.logical_and(x, x > 1), cp.logical_not(x), x.all(), x.any())


def unsupported_dtype_for_a_ufunc():
    """A ufunc without a loop for the dtype is a TypeError."""
    cp.bitwise_and(cp.ones(2, "c8"), cp.ones(2, "c8"))


def bool_arithmetic():
    """True + True is True; a sum of booleans counts."""
    x = cp.array([True, True])
    print(x + x, (x * 2).dtype, x.sum(), x.mean())


def matmul_is_no_elementwise():
    """cp.multiply broadcasts an outer product."""
    print((cp.arange(2)[:, None] * cp.arange(3)).tolist())


def copyto_and_putmask():
    """copyto broadcasts and casts; where= chooses."""
    x = cp.zeros(3, dtype=cp.float32)
    cp.copyto(x, cp.arange(3, dtype=cp.float32), where=cp.array([True, True, False]))
    cp.putmask(x, x == 1, 8)
    print(x)


def errstate_is_its_own():
    """cupyx.errstate exists for linalg; np.errstate has nothing to catch."""
    import cupyx

    with np.errstate(all="raise"), cupyx.errstate(linalg="ignore"):
        print(cp.array([1.0]) / 0)


def longdouble_is_refused():
    """There is no long double on a GPU: a ValueError or TypeError says so."""
    cp.zeros(2, dtype=np.longdouble) + 1


def datetime_is_refused():
    """There are no dates on a GPU: ValueError."""
    cp.array(np.array(["2024-01-01"], dtype="M8[D]"))


def integer_division_by_zero():
    """Integers divided by zero raise nothing and warn of nothing: the values are recorded."""
    print(cp.array([1, -1, 0]) // 0, cp.array([1, -1, 0]) % 0)
