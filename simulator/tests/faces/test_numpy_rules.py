"""NumPy's own rules in CuPy's arrays: orders, Python numbers, empty and 0-d arrays.

Where the two libraries differ, CuPy's own source decides.
"""

import copy
import itertools
import pickle

import numpy as np
import pytest
from machine import use_libraries

from nogpu import finder

use_libraries()
cp = pytest.importorskip("cupy")
if not finder.is_simulated(cp):
    pytest.skip("a GPU answers: CuPy is the real one", allow_module_level=True)

ROWS = [[0, 1, 2], [3, 4, 5]]


# orders


@pytest.mark.parametrize("make", [cp.array, cp.asarray, cp.asanyarray])
@pytest.mark.parametrize("order", ["f", "F", "Fortran"])
def test_host_data_in_fortran_order_keep_their_values(make, order):
    for rows in (ROWS, np.array(ROWS), np.array(ROWS).T, [cp.array(row) for row in ROWS]):
        made = make(rows, order=order)
        host = np.array([row.get() for row in rows] if isinstance(rows[0], cp.ndarray) else rows)
        assert made.get().tolist() == host.tolist()
        assert made.flags.f_contiguous and not made.flags.c_contiguous


@pytest.mark.parametrize("order, fortran", [("c", 0), ("f", 1), ("a", 1), ("k", 1), (None, 1)])
def test_copies_take_orders_in_small_letters(order, fortran):
    a = cp.asfortranarray(cp.array(ROWS))
    for made in (a.astype(cp.float32, order=order), a.copy(order), cp.array(a, order=order)):
        assert made.flags.f_contiguous == fortran and made.tolist() == ROWS
    if order not in ("k", None):
        for host in (a.get(order=order), cp.asnumpy(a, order=order)):
            assert host.flags.f_contiguous == fortran and host.tolist() == ROWS


@pytest.mark.parametrize("call", [
    lambda a: cp.array(a, order="Q"), lambda a: cp.array(ROWS, order="Q"), lambda a: a.copy("Q"),
    lambda a: a.astype("f", order="Q"), lambda a: a.get(order="K"), lambda a: a.ravel("Q"),
    lambda a: cp.empty_like(a, order="Q"), lambda a: cp.zeros(3, order="Q"),
    lambda a: a.reshape(6, order="K"),
])  # fmt: skip
def test_orders_that_are_none_are_refused(call):
    with pytest.raises(ValueError, match="order"):
        call(cp.array(ROWS))


def test_a_pickled_or_copied_array_keeps_fortran_order():
    a = cp.asfortranarray(cp.array(ROWS))
    loaded = pickle.loads(pickle.dumps(a))
    assert loaded.flags.f_contiguous and loaded.tolist() == ROWS
    assert copy.copy(a).tolist() == copy.deepcopy(a).tolist() == ROWS


@pytest.mark.parametrize("order", ["C", "F", "A", "K", "k"])
def test_ravel_and_flatten_take_every_order(order):
    host = np.arange(24).reshape(2, 3, 4)
    for view in (lambda a: a, lambda a: a.T, lambda a: a.transpose(1, 0, 2), lambda a: a[:, ::2],
                 lambda a: a[:, :, 1]):  # fmt: skip
        expected, a = view(host), view(cp.array(host))
        assert a.ravel(order).tolist() == expected.ravel(order).tolist()
        assert a.flatten(order).tolist() == expected.flatten(order).tolist()
        assert a.ravel(order).flags.c_contiguous


def test_reshape_copies_where_it_is_asked_to():
    a = cp.array(ROWS)
    assert not cp.shares_memory(a.reshape(3, 2, copy=True), a)
    assert cp.shares_memory(cp.reshape(a, (3, 2), copy=False), a)
    assert cp.reshape(a.T, (2, 3), copy=None).tolist() == [[0, 3, 1], [4, 2, 5]]
    with pytest.raises(ValueError, match="Unable to avoid creating a copy"):
        a.T.reshape(-1, copy=False)
    with pytest.raises(ValueError, match="strings are not allowed"):
        a.reshape(6, copy="no")


# functions of Python, translated by `vectorize`


def _floor_remainder_power(x, y):
    return x // y, x % y, x**y


@pytest.mark.parametrize("types", ["ee", "ef", "bb", "BB", "??", "hH", "lf", "dd"])
def test_vectorize_divides_and_raises_as_numpy_does(types):
    rng = np.random.default_rng(0)
    x, y = (rng.uniform(0.6, 6, 50) * (rng.choice([-1, 1], 50) if kind in "efdlb" else 1)
            for kind in types)  # fmt: skip
    x, y = x.astype(types[0]), (np.abs(y) if types[1] in "bhl" else y).astype(types[1])
    found = cp.vectorize(_floor_remainder_power)(cp.asarray(x), cp.asarray(y))
    with np.errstate(all="ignore"):
        expected = np.floor_divide(x, y), np.remainder(x, y), np.power(x, y)
    for one, value in zip(found, expected):
        assert one.dtype == value.dtype
        np.testing.assert_allclose(one.get(), value, rtol=2e-3 if "e" in types else 1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["?", "b", "e", "f", "F"])
def test_vectorize_negates_the_truth_of_every_type(dtype):
    x = np.array([0, 1, 0, 1]).astype(dtype)
    assert cp.vectorize(lambda v: not v)(cp.asarray(x)).tolist() == [True, False, True, False]


@pytest.mark.parametrize("dtype", ["e", "f", "d"])
def test_a_number_in_a_conditional_takes_the_other_branch_s_type(dtype):
    x = np.array([-1.5, 0, 2.5]).astype(dtype)
    found = cp.vectorize(lambda v: v if v > 0.0 else 0.0)(cp.asarray(x))
    assert found.dtype == dtype and found.tolist() == [0, 0, 2.5]


def test_a_number_in_a_vectorized_function_decides_about_the_type():
    """CuPy's own tests say so: there the types are those before NumPy 2."""
    x = cp.arange(3, dtype=cp.float32)
    assert cp.vectorize(lambda v: v + 1)(x).dtype == "d"
    assert cp.vectorize(lambda v: v * 2.0)(x).dtype == "d"
    assert cp.vectorize(lambda v: v + np.float32(1))(x).dtype == "f"


def _swap(x, y):
    x, y = y, x
    z = x, y
    (a, b), y = z, x
    return a * a + b + y, z[1]


def _count(x):
    total = 0
    for k in range(10):
        if k == 2:
            continue
        if k > x:
            break
        total += k
    return total


def test_vectorize_assigns_tuples_and_leaves_loops():
    x, y = np.arange(5), np.arange(5, 10)
    found = cp.vectorize(_swap)(cp.asarray(x), cp.asarray(y))
    for one, value in zip(found, np.vectorize(_swap)(x, y)):
        assert one.tolist() == value.tolist()
    assert cp.vectorize(_count)(cp.asarray(x)).tolist() == [_count(v) for v in x]


def _retyped_tuple(x, y):
    z = x, y
    (a, b), z = z, x
    return a * a + b


def test_vectorize_refuses_a_tuple_that_becomes_a_number():
    with pytest.raises(TypeError, match="Data type mismatch of variable: `z`:"):
        cp.vectorize(_retyped_tuple)(cp.arange(2), cp.arange(2))


# values that were wrong, one by one


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("bins", [
    [0, 1, 2], [2, 1, 0], [0, 1, np.nan], [np.nan, 1, 0], [np.nan, np.nan, 3, 1],
    [np.nan, np.nan], [np.nan], [1.0], [],
])  # fmt: skip
def test_digitize_puts_nan_where_numpy_does(bins, right):
    x = np.array([np.nan, -1, 0, 0.5, 1, 2, 3, np.nan])
    found = cp.digitize(cp.array(x), cp.array(bins, dtype=float), right)
    assert found.tolist() == np.digitize(x, np.array(bins, dtype=float), right).tolist()


def test_digitize_takes_a_number_and_nan_for_rising_bins_as_cupy_does():
    x = cp.array([0.0, 2.0, np.nan])  # NumPy takes these two bins for falling ones
    assert cp.digitize(x, cp.array([1.0, np.nan])).tolist() == [0, 1, 2]


def test_a_number_that_does_not_fit_is_refused_where_elements_are_set():
    u8 = cp.zeros(3, cp.uint8)
    for wrong in (lambda: cp.copyto(u8, -4), lambda: u8.fill(300), lambda: cp.full(2, 256, "u1"),
                  lambda: u8.__setitem__(1, -1), lambda: cp.full_like(u8, -1)):  # fmt: skip
        with pytest.raises(OverflowError):
            wrong()
    assert u8.tolist() == [0, 0, 0]
    with pytest.raises(TypeError, match="Cannot cast"):
        cp.copyto(u8, 1.5)
    with pytest.raises(ValueError, match="could not broadcast input array"):
        cp.copyto(u8, cp.ones(2, cp.uint8))
    cp.copyto(u8, 200)
    cp.copyto(u8[:1], np.array([3], np.uint8))
    u8[1] = 2.9
    assert u8.tolist() == [3, 2, 200]


# Python's numbers and objects beside arrays


def test_only_booleans_among_themselves_refuse_to_subtract():
    host = np.array([True, False])
    mask = cp.array(host)
    for function in (lambda a: 1 - a, lambda a: a - 1, lambda a: a - 0.5, lambda a: 2.5 - a,
                     lambda a: a - 1j, lambda a: a - np.int8(1)):  # fmt: skip
        found, expected = function(mask), function(host)
        assert found.dtype == expected.dtype and found.tolist() == expected.tolist()
    for wrong in (lambda: mask - mask, lambda: mask - True, lambda: -mask):
        with pytest.raises(TypeError, match="boolean"):
            wrong()


@pytest.mark.parametrize("dtype", ["u1", "i1", "i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("number", [-1, 256, 2**40, 2**63, -(2**63)])
def test_a_comparison_takes_integers_outside_the_type_s_range(dtype, number):
    host = np.array([0, 1, 100], dtype)
    a = cp.array(host)
    for name in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"):
        assert getattr(a, name)(number).tolist() == [getattr(int(x), name)(number) for x in host]
    assert (number < a).tolist() == [number < int(x) for x in host]
    assert cp.equal(a, number).tolist() == [False] * 3


def test_an_array_is_unequal_to_what_is_no_number():
    a = cp.arange(3)
    for other in (None, object(), Ellipsis):
        assert (a == other).tolist() == (other == a).tolist() == [False] * 3
        assert (a != other).tolist() == [True] * 3
    with pytest.raises(TypeError):
        a < None  # noqa: B015
    with pytest.raises(TypeError):
        a == "x"  # noqa: B015


def test_comparisons_take_numpy_s_scalars_and_0d_arrays():
    a = cp.arange(3)
    for two in (np.int64(2), np.float32(2), np.array(2)):
        assert (two == a).tolist() == (a == two).tolist() == [False, False, True]
        assert (two > a).tolist() == (a < two).tolist() == [True, True, False]
    with pytest.raises(TypeError, match="Unsupported type"):
        a == np.arange(3)  # noqa: B015


# what CuPy copies to the device, and what it does not


@pytest.mark.parametrize("name, arguments", [
    ("isclose", ([1.0, 2.0], [1.0, 2.5])), ("around", (2.567, 1)), ("nan_to_num", (np.nan,)),
    ("real", (2.5,)), ("imag", ([1.0, 2.0],)), ("kron", (2, 3.0)), ("append", ([1, 2], [3.0])),
    ("average", ([1, 2, 4], None, [1, 1, 2])), ("cross", ([1, 2, 3], [4, 5, 7])),
    ("diff", ([1, 4, 9],)), ("gradient", ([1.0, 4.0, 9.0],)), ("tile", ([1, 2], 2)),
    ("resize", ([1, 2], (3,))), ("unwrap", ([0.0, 4.0, 8.0],)), ("unique", (np.array([2, 1, 2]),)),
    ("cov", (np.array([[1.0, 2], [3, 5]]),)), ("count_nonzero", ([1, 0, 2],)),
])  # fmt: skip
def test_host_data_are_taken_where_cupy_takes_them(name, arguments):
    found, expected = getattr(cp, name)(*arguments), getattr(np, name)(*arguments)
    np.testing.assert_allclose(cp.asnumpy(found), expected)
    assert name == "kron" or isinstance(found, cp.ndarray)


def test_host_data_are_taken_by_what_changes_or_draws():
    a = cp.arange(4)
    a.flat[:] = [4, 3, 2, 1]
    assert a.tolist() == [4, 3, 2, 1]
    cp.place(a, [True, False, True, False], [7, 8])
    a.put([1, -1], [5, 6])
    assert a.tolist() == [7, 5, 8, 6]
    assert cp.allclose(a, np.array([7, 5, 8, 6]))
    assert set(cp.random.choice([3, 5], 20).tolist()) <= {3, 5}
    assert cp.random.multivariate_normal([0, 0], [[1, 0], [0, 1]], 3).shape == (3, 2)
    assert cp.random.binomial([5, 6], 0.5).shape == (2,)
    assert cp.histogram(cp.arange(4.0), bins=[0, 2, 4])[0].tolist() == [2, 2]
    assert float(cp.linalg.cond([[2.0, 0], [0, 1]])) == 2
    assert cp.extract([True, False, True, False], a).tolist() == [7, 8]
    assert cp.cuda.alloc_pinned_memory(np.prod((2, 3)) * 8).size() >= 48


def test_asarray_and_array_copy_as_they_are_told():
    a = cp.arange(3)
    assert cp.asarray(a) is a and cp.asarray(a, copy=False) is a
    assert not cp.shares_memory(cp.asarray(a, copy=True), a)
    for call in (cp.array, cp.asarray):
        with pytest.raises(ValueError, match="Unable to avoid copy"):
            call(a, dtype=cp.float32, copy=False)
    assert cp.array(a, dtype=cp.float32, copy=None).tolist() == [0, 1, 2]


def test_an_object_hands_over_the_array_that_it_holds():
    class Holder:
        def __cupy_get_ndarray__(self):
            return a

    a = cp.arange(3)
    assert cp.asarray(Holder()) is a


# shapes: empty, 0-d, tuples


@pytest.mark.parametrize("index", [
    [], [[]], [[[]]], ([], []), (slice(None), []), np.array([], bool), np.empty((0, 0, 4), bool),
    (slice(None), np.array([], bool)), np.array([[], []], bool), ((0, 1), (1, 2)), ((),),
    (np.empty((0, 3), bool), np.empty(0, bool)),
])  # fmt: skip
def test_empty_indices_take_nothing(index):
    host = np.arange(24).reshape(2, 3, 4)
    a = cp.array(host)
    assert a[index].shape == host[index].shape and a[index].tolist() == host[index].tolist()
    a[index] = host[index] = -1
    assert a.tolist() == host.tolist()


@pytest.mark.parametrize("index", [
    np.empty((0, 1), bool), (np.empty(0, bool), np.empty((0, 2), bool)),
])  # fmt: skip
def test_masks_of_another_shape_are_refused(index):
    with pytest.raises(IndexError):
        cp.zeros((2, 3, 4))[index]


def test_0d_arrays_go_where_cupy_takes_them():
    three = cp.array(3)
    assert int(cp.flip(three)) == int(cp.trim_zeros(three)) == int(cp.pad(three, 1)) == 3
    assert cp.argsort(three).tolist() == [0]
    assert cp.take(three, cp.array([0, 0]), axis=0).tolist() == [3, 3]
    with pytest.raises(np.exceptions.AxisError):
        cp.sort(three)
    with pytest.raises(np.exceptions.AxisError):
        cp.take(three, 0, axis=1)


def test_flipped_0d_arrays_can_be_computed_with():
    assert int(cp.flip(cp.array(3)) + 1) == 4
    assert float(cp.flip(cp.array(2.5)).sum()) == 2.5


def test_grids_and_broadcast_arrays_are_tuples():
    x, y = cp.arange(2), cp.arange(3)
    assert isinstance(cp.meshgrid(x, y), tuple) and isinstance(cp.broadcast_arrays(x, 1), tuple)
    for options in ({}, {"indexing": "ij"}, {"sparse": True}):
        for one, expected in zip(cp.meshgrid(x, y, **options),
                                 np.meshgrid(np.arange(2), np.arange(3), **options)):  # fmt: skip
            assert one.tolist() == expected.tolist()
    with pytest.raises(ValueError, match="1d"):
        cp.meshgrid(cp.zeros((2, 2)))


def test_an_empty_array_is_false_with_a_warning_and_bytes_are_its_elements():
    with pytest.warns(DeprecationWarning, match="truth value of an empty array"):
        assert not cp.array([])
    assert bytes(cp.arange(3, dtype=cp.uint8)) == b"\0\1\2"


def test_complex_numbers_have_a_largest_one_by_their_real_parts():
    host = np.array([[1 + 2j, 3, 3 + 1j], [0, -1j, 1j]])
    a = cp.array(host)
    for name in ("argmax", "argmin"):
        for axis in (None, 0, 1):
            found = getattr(cp, name)(a, axis=axis)
            assert found.tolist() == getattr(np, name)(host, axis=axis).tolist()


def test_nan_to_num_takes_every_type_and_arrays_in_place_of_numbers():
    for dtype in ("f4", "e", "F", "i4", "?"):
        host = np.array([1, 0]).astype(dtype)
        assert cp.nan_to_num(cp.array(host)).dtype == host.dtype
    x = np.array([np.nan, np.inf, -np.inf, 1 + 0j])
    expected = np.nan_to_num(x, nan=3.0, neginf=-5.0)
    assert cp.nan_to_num(cp.array(x), nan=cp.array(3.0), neginf=-5.0).tolist() == expected.tolist()


def test_real_arrays_are_their_own_conjugate():
    for dtype in ("?", "i4", "f4"):
        a = cp.ones(2, dtype)
        assert a.conj() is a and a.conjugate() is a
    assert cp.array([1 + 2j]).conj().tolist() == [1 - 2j]


def test_booleans_have_no_sign_and_no_divisor():
    mask = cp.array([True, False])
    for wrong in (lambda: +mask, lambda: cp.gcd(mask, mask), lambda: cp.lcm(mask, True)):
        with pytest.raises(TypeError, match="boolean"):
            wrong()
    assert cp.gcd(mask, 4).tolist() == [1, 4]


def test_extremes_without_nan_of_no_columns_are_no_elements():
    for name in ("nanmax", "nanmin"):
        assert getattr(cp, name)(cp.zeros((3, 0)), axis=0).shape == (0,)
        with pytest.raises(ValueError, match="zero-size array"):
            getattr(cp, name)(cp.zeros((3, 0)), axis=1)


TYPES = "?bBiLefdD"
_BINARY = """
    add subtract multiply true_divide floor_divide remainder fmod maximum minimum fmax fmin less
    less_equal greater greater_equal equal not_equal logical_and logical_or bitwise_and bitwise_xor
    left_shift right_shift arctan2 hypot copysign logaddexp heaviside divmod ldexp float_power
""".split()
_UNARY = """
    absolute negative sqrt exp log sin arctan floor ceil rint isnan isfinite signbit square
    reciprocal logical_not invert conjugate log1p cbrt fabs modf frexp
""".split()


def _numbers(dtype, seed):
    values = np.random.default_rng(seed).integers(-6 if dtype in "bhilefdFD" else 0, 8, 5)
    if dtype in "efdFD":
        values = values + 0.5
    return (values + 1j if dtype in "FD" else values).astype(dtype)


def _compare(name, *arguments):
    """CuPy's function gives what NumPy's does, in the same type, or both refuse."""
    try:
        with np.errstate(all="ignore"):
            expected = getattr(np, name)(*arguments)
    except (TypeError, OverflowError) as error:
        with pytest.raises(TypeError if isinstance(error, TypeError) else OverflowError):
            getattr(cp, name)(*map(_moved, arguments))
        return
    found = getattr(cp, name)(*map(_moved, arguments))
    pairs = zip(found, expected) if isinstance(expected, tuple) else [(found, expected)]
    for one, value in pairs:
        assert one.dtype == value.dtype
        np.testing.assert_allclose(one.get(), value, rtol=2e-3 if value.dtype == "e" else 1e-6)


def _moved(item):
    return cp.array(item) if isinstance(item, np.ndarray) else item


@pytest.mark.parametrize("name", _BINARY)
def test_pairs_of_types_give_what_numpy_gives(name):
    for number, (one, other) in enumerate(itertools.product("?bIlefD", "?BhlfD")):
        _compare(name, _numbers(one, [1, number]), _numbers(other, [2, number]))


@pytest.mark.parametrize("name", _BINARY)
def test_every_type_beside_a_number_gives_what_numpy_gives(name):
    for number, one in enumerate(TYPES):
        x = _numbers(one, [3, number])
        for other in (True, 300, 2.5, 1j, np.int8(1), np.float64(0.5)):
            _compare(name, x, other)
            _compare(name, other, x)


@pytest.mark.parametrize("name", _UNARY)
def test_every_type_gives_what_numpy_gives(name):
    for number, one in enumerate(TYPES):
        _compare(name, _numbers(one, [4, number]))


# types and options of single functions


@pytest.mark.parametrize("method", ["linear", "lower", "higher", "midpoint", "nearest"])
@pytest.mark.parametrize("dtype", ["i4", "f4", "f8"])
def test_a_percentile_s_type_depends_on_its_method(method, dtype):
    host = np.array([3, 1, 4, 1, 5]).astype(dtype)
    found, expected = (xp.percentile(a, 30, method=method)
                       for xp, a in ((np, host), (cp, cp.array(host))))  # fmt: skip
    assert found.dtype == expected.dtype and float(found) == pytest.approx(float(expected))
    assert cp.quantile(cp.array(host), [0.3], method=method).shape == (1,)


def test_methods_of_quantiles_that_cupy_lacks_are_refused():
    with pytest.raises(ValueError, match="not yet supported"):
        cp.percentile(cp.arange(3), 30, method="hazen")
    with pytest.raises(ValueError, match="Unexpected interpolation method"):
        cp.percentile(cp.arange(3), 30, method="deadbeef")


def test_questions_about_types_take_arrays():
    a, f = cp.arange(3, dtype=cp.int32), cp.ones(2, cp.float32)
    assert cp.can_cast(a, "f8") and not cp.can_cast(f, cp.int32)
    assert cp.common_type(f) is np.float32 and cp.common_type(f, a) is np.float64
    assert cp.min_scalar_type(a) == np.int32 and cp.min_scalar_type(3) == np.uint8
    with pytest.raises(TypeError, match="non-numeric"):
        cp.common_type(f, a > 0)


def test_matmul_takes_a_type_a_rule_and_axes():
    host = np.random.default_rng(0).normal(size=(3, 4, 2))
    x, y = cp.array(host), cp.array(host.transpose(0, 2, 1).copy())
    assert cp.matmul(x, y, dtype=cp.float32).dtype == cp.float32
    with pytest.raises(TypeError, match="Cannot cast"):
        cp.matmul(x, y, dtype=cp.float32, casting="safe")
    axes = [(1, 2), (1, 2), (0, 1)]
    np.testing.assert_allclose(cp.matmul(x, y, axes=axes).get(),
                               np.matmul(host, y.get(), axes=axes))  # fmt: skip


def test_an_array_is_made_with_strides_that_stay_inside():
    a = cp.ndarray((2, 3), cp.float32, strides=(4, 8))
    a[...] = cp.arange(6).reshape(2, 3)
    assert a.strides == (4, 8) and a.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert cp.ndarray((2, 2), "f4", strides=(0, 4)).strides == (0, 4)
    for strides, text in (((-4, 8), "negative"), ((8, 16), "must stay")):
        with pytest.raises(ValueError, match=text):
            cp.ndarray((2, 3), cp.float32, strides=strides)


def test_einsum_of_one_array_is_a_view_and_takes_paths_with_a_limit():
    a = cp.arange(9.0).reshape(3, 3)
    for text in ("ij->ij", "ii->i", "ij->ji"):
        found = cp.einsum(text, a, dtype=cp.float32)
        assert cp.shares_memory(found, a) and found is not a and found.dtype == cp.float64
    expected = np.einsum("ij,jk,kl->il", *[a.get()] * 3)
    for optimize in (("greedy", 0), ("optimal", 1e9), True, ["einsum_path", (0, 1), (0, 1)]):
        np.testing.assert_allclose(cp.einsum("ij,jk,kl->il", a, a, a, optimize=optimize).get(),
                                   expected)  # fmt: skip
    with pytest.raises(TypeError, match="Did not understand the path"):
        cp.einsum("ij,jk->ik", a, a, optimize="fast")


@pytest.mark.parametrize("name, arguments", [
    ("beta", (2.0, 3.0)), ("gamma", (2.0,)), ("chisquare", (5.0,)), ("standard_t", (4.0,)),
    ("f", (3.0, 4.0)), ("dirichlet", ([1.0, 2.0],)), ("vonmises", (1.0, 2.0)),
])  # fmt: skip
def test_distributions_of_cupy_s_own_kernels_take_half_precision(name, arguments):
    arguments = [cp.array(value, cp.float16) for value in arguments]
    found = getattr(cp.random, name)(*arguments, size=(4,), dtype=cp.float16)
    assert found.dtype == cp.float16 and found.shape[0] == 4


def test_a_fused_function_may_copy_and_leave_nan_out():
    x = cp.array([1.0, np.nan, 2.0])

    @cp.fuse()
    def total(a):
        return cp.nansum(a)

    @cp.fuse()
    def assign(a, b):
        cp.copyto(a, b + 1)

    y = cp.zeros(3)
    assign(y, cp.arange(3.0))
    assert float(total(x)) == 3 and y.tolist() == [1, 2, 3]


def test_a_foreign_stream_is_on_no_known_device_and_follows_the_protocol():
    class Foreign:
        answer = (0, 0)

        def __cuda_stream__(self):
            return self.answer

    stream = cp.cuda.Stream.from_external(Foreign())
    assert stream.device_id == -1 and stream.ptr == 0
    for answer in ((1, 0), (0, "0"), 7, (0, 0, 0)):
        Foreign.answer = answer
        with pytest.raises(TypeError, match="__cuda_stream__"):
            cp.cuda.Stream.from_external(Foreign())
    with pytest.raises(TypeError, match="does not implement"):
        cp.cuda.Stream.from_external(object())


# polynomials, transforms, pools


def test_a_polynomial_has_what_cupy_s_has():
    p = cp.poly1d(cp.array([0, 1, 2]))
    assert p.coeffs.tolist() == [1, 2] and p.order == 1 and p[0].item() == 2 and p[7] == 0
    assert (p / 2).coeffs.tolist() == [0.5, 1] and (2 * p).coeffs.tolist() == [2, 4]
    assert (p + 1).coeffs.tolist() == [1, 3] and (1 - p).coeffs.tolist() == [-1, -1]
    assert (p * p - p**2).coeffs.tolist() == [0] and p(3).item() == 5
    p[3] = 5
    assert p.coeffs.tolist() == [5, 0, 1, 2]
    p.coeffs = p.coeffs
    q = cp.poly1d([1, 2])
    q.set(np.poly1d([3, 4], variable="t"))
    assert q.variable == "t" and cp.asnumpy(q).tolist() == [3, 4]
    assert cp.poly1d(np.poly1d([1, 2], variable="y")).variable == "y"
    for wrong, error in (
        (lambda: q / q, NotImplementedError), (lambda: q.deriv(), NotImplementedError),
        (lambda: q.integ(), NotImplementedError), (lambda: q**-1, ValueError),
        (lambda: q.__setitem__(-1, 3), ValueError), (lambda: q.set([1]), TypeError),
        (lambda: setattr(q, "coeffs", cp.array([1])), AttributeError),
        (lambda: np.asarray(q), TypeError), (lambda: cp.polyval(3, cp.ones(2)), TypeError),
        (lambda: cp.polyadd(cp.ones((2, 2)), q), ValueError),
    ):  # fmt: skip
        with pytest.raises(error):
            wrong()


def test_the_switch_of_plans_warns_whoever_looks_at_it():
    config = cp.fft.config
    with pytest.warns(DeprecationWarning, match="enable_nd_planning"):
        assert config.enable_nd_planning is True
    with pytest.warns(DeprecationWarning, match="enable_nd_planning"):
        config.enable_nd_planning = False
    with pytest.warns(DeprecationWarning):
        assert config.enable_nd_planning is False
    with pytest.warns(DeprecationWarning):
        config.enable_nd_planning = True
    with pytest.warns(np.exceptions.ComplexWarning):
        cp.fft.rfft(cp.array([1 + 1j, 2]))


@pytest.mark.parametrize("call, text", [
    (lambda a: cp.product(a), "`prod`"), (lambda a: cp.cumproduct(a), "`cumprod`"),
    (lambda a: cp.round_(a), "`round`"), (lambda a: cp.row_stack([a, a]), "vstack"),
    (lambda a: cp.percentile(a, 30, interpolation="lower"), "renamed to `method=`"),
    (lambda a: cp.corrcoef(cp.stack([a, a]), bias=True), "no effect"),
    (lambda a: cp.cross(a[:2], a[:2]), "2-dimensional vectors"),
])  # fmt: skip
def test_old_names_and_options_warn(call, text):
    with pytest.warns(DeprecationWarning, match=text):
        call(cp.arange(1.0, 4.0))


def test_the_device_s_own_pool_has_figures_and_a_limit():
    pool = cp.cuda.MemoryAsyncPool()
    pool.free_all_blocks()
    before = pool.used_bytes()
    assert pool.get_limit() == 2**64 - 1
    memory = pool.malloc(1000)
    assert pool.used_bytes() == before + 1024 and pool.total_bytes() >= before + 1024
    pool.set_limit(size=pool.total_bytes())
    with pytest.raises(cp.cuda.memory.OutOfMemoryError):
        pool.malloc(10**6)
    del memory
    assert pool.used_bytes() == before and pool.free_bytes() >= 1024
    pool.free_all_blocks()
    assert pool.free_bytes() == 0
    with pytest.raises(NotImplementedError):
        pool.n_free_blocks()
    with pytest.raises(ValueError, match="cannot be specified at one time"):
        pool.set_limit(size=1, fraction=0.5)


def test_managed_memory_knows_its_devices():
    memory, stream = cp.cuda.ManagedMemory(512), cp.cuda.Stream.null
    memory.prefetch(stream)
    memory.prefetch(stream, device_id=-1)
    memory.advise(1, cp.cuda.Device(0))
    for wrong in (lambda: memory.prefetch(stream, device_id=3),
                  lambda: memory.advise(1, cp.cuda.Device(3))):  # fmt: skip
        with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="InvalidDevice"):
            wrong()
    assert cp.cuda.runtime.deviceGetAttribute(cp.cuda.runtime.cudaDevAttrWarpSize, 0) == 32


def test_an_assigned_number_is_converted_as_numpy_converts_it():
    a = cp.zeros(4, cp.uint8)
    with pytest.raises(OverflowError):
        a[cp.array([0, 1])] = 300
    with pytest.raises(OverflowError):
        a[a == 0] = -1
    a[cp.array([0, 1])] = [7, 8]
    a[a == 0] = 9.7
    assert a.tolist() == [7, 8, 9, 9]


def test_an_array_is_exported_to_the_host_where_that_is_asked_for():
    a = cp.arange(3)

    class OnHost:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **options):
            return a.__dlpack__(dl_device=(1, 0))

    assert np.from_dlpack(OnHost()).tolist() == [0, 1, 2]
    for options, error, text in (
        ({"dl_device": (1, 0), "copy": False}, ValueError, "without copy"),
        ({"copy": True}, BufferError, "copy=True"), ({"dl_device": (7, 0)}, BufferError, "device"),
        ({"stream": -3}, ValueError, "valid stream"),
    ):  # fmt: skip
        with pytest.raises(error, match=text):
            a.__dlpack__(**options)
    with pytest.warns(UserWarning, match="Stream 0"):
        a.__dlpack__(stream=0)


def test_a_benchmark_s_line_is_laid_out_as_cupy_s():
    from cupyx.profiler._time import _PerfCaseResult

    times = np.array([[1e-6, 3e-6], [2e-6, 4e-6]])
    assert str(_PerfCaseResult("nothing", times, (0,))) == (
        "nothing             :    CPU:     2.000 us   +/-  1.000 "
        "(min:     1.000 / max:     3.000) us     GPU-0:     3.000 us   +/-  1.000 "
        "(min:     2.000 / max:     4.000) us")


@pytest.mark.parametrize("name", ["around", "real", "imag", "angle", "copy", "sinc", "clip"])
def test_a_fused_function_may_call_what_cupy_fuses(name):
    x = cp.array([0.4, 1.6, -2.5])
    more = (-1, 1) if name == "clip" else ()
    found = cp.fuse(kernel_name=name)(lambda a: getattr(cp, name)(a, *more))(x)
    assert found.tolist() == getattr(cp, name)(x, *more).tolist()


def test_a_fused_function_needs_a_name_that_a_kernel_can_have():
    for function in (lambda a: cp.any(a), lambda a: cp.nansum(a), lambda a: a.sum(),
                     lambda a: a + 1, lambda a: cp.tanh(a)):
        fused = cp.fuse(function)  # it is compiled at the first call, which fails
        with pytest.raises(cp.cuda.compiler.CompileException, match="identifier"):
            fused(cp.ones(3))
        found = cp.fuse(kernel_name="named")(function)(cp.ones(3))
        assert cp.allclose(found, function(cp.ones(3)))


def test_memory_of_an_index_lives_as_long_as_the_index():
    """The value of a scatter took the memory of the list that says where it goes."""
    for _ in range(20):
        a, b = cp.zeros((2, 3, 4)), np.zeros((2, 3, 4))
        for place in ((slice(None), [1, 2]), ([1, 0], slice(None), [2, 1]), [1]):
            cp.add.at(a, place, 1)
            np.add.at(b, place if isinstance(place, tuple) else np.array(place), 1)
        assert (a.get() == b).all()


def test_what_a_gpu_says_where_numpy_says_otherwise():
    assert cp.reciprocal(cp.array([0, 1, 2])).tolist() == [0, 1, 0]
    assert cp.i0(cp.array([1], np.int8)).dtype == np.float16
    assert cp.percentile(cp.array([1.0, 2.0, np.nan]), [0, 50]).tolist() == [1, 2]
    big = cp.array([200, 200], np.uint8)
    assert float(cp.average(big, weights=big)) == 200
    assert cp.sinc(cp.array([np.nan, 0.5])).tolist()[0] == 1


def test_comparison_with_numbers_beyond_every_integer():
    a = cp.array([-1, 5], np.int64)
    assert (a < 2**64).all() and not (a >= 2**70).any() and (a > -(2**63) - 1).all()
    assert not (a == 10**30).any() and (a != 10**30).all()


def test_flags_cannot_be_set_and_arrays_name_their_types():
    a = cp.zeros((2, 3))
    with pytest.raises(AttributeError, match="not writable"):
        a.flags.c_contiguous = False
    assert cp.ndarray[int, float].__origin__ is cp.ndarray
    with pytest.raises(TypeError):
        cp.ndarray((1.0,))


def test_memory_of_another_library_may_hold_dates():
    a = cp.arange(3)

    class Held:
        __cuda_array_interface__ = a.__cuda_array_interface__ | {"typestr": "<M8[s]"}

    held = cp.asarray(Held())
    assert held.dtype == "M8[s]" and held.view("i8").tolist() == [0, 1, 2]


def test_dlpack_says_its_version_and_hands_managed_memory_to_the_host():
    a = cp.arange(4.0)
    assert "dltensor_versioned" in str(a.__dlpack__(max_version=(1, 0)))
    assert '"dltensor"' in str(a.__dlpack__())
    assert cp.from_dlpack(a.__dlpack__(max_version=(1, 0))).tolist() == [0, 1, 2, 3]
    with cp.cuda.using_allocator(cp.cuda.malloc_managed):
        shared = cp.arange(4.0)
    assert shared.__dlpack_device__()[0] == 13 and a.__dlpack_device__()[0] == 2

    class Exported:
        def __dlpack__(self, **how):
            return shared.__dlpack__(dl_device=(1, 0))

        def __dlpack_device__(self):
            return 1, 0

    seen = np.from_dlpack(Exported())
    shared[0] = 9
    cp.cuda.Device().synchronize()
    assert seen[0] == 9


@pytest.mark.parametrize("line", [
    "from cupyx import jit", "import cupyx.cutensor", "from cupyx.scipy import stats",
    "import cupyx.scipy.sparse.linalg", "from cupy.cuda import texture",
    "from cupyx.scipy.signal import firls", "from cupy_backends.cuda.libs import cublas",
    "from cupy_backends.cuda.libs.cusparselt import Handle",
])  # fmt: skip
def test_an_import_of_what_is_missing_says_so(line):
    import cupy.cuda.runtime

    assert cupy.cuda.runtime.getDeviceCount() == 1
    with pytest.raises(ImportError, match="nogpu lacks"):
        exec(line)
    with pytest.raises(ImportError) as caught:
        from cupyx import no_such_name  # noqa: F401
    assert "nogpu lacks" not in str(caught.value)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape, to", [((2, 1), (3, 2, 4)), ((2, 1, 3), (2, 4, 3))])
def test_the_order_k_leaves_broadcast_axes_where_they_are(order, shape, to):
    a = np.arange(float(np.prod(shape))).reshape(shape).copy(order)
    found = cp.broadcast_to(cp.array(a, order=order), to).ravel("K")
    assert found.tolist() == np.broadcast_to(a, to).ravel("K").tolist()


def test_small_rules_of_arguments():
    x = cp.zeros(3)
    cp.copyto(x, cp.ones(3), where=4)
    assert x.tolist() == [1, 1, 1] and cp.piecewise(2.0, [False, True], [1, 10]).tolist() == 10
    with pytest.raises(TypeError, match=r"Use \(\)"):
        cp.zeros(None)
    with pytest.raises(ValueError, match="0d arrays"):
        cp.nonzero(cp.array(3))
    assert cp.clip(cp.arange(3), None, None).tolist() == [0, 1, 2]
    assert cp.lib.stride_tricks.sliding_window_view([1, 2, 3], 2).tolist() == [[1, 2], [2, 3]]
