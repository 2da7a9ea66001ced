"""NumPy's own rules in CuPy's arrays: orders, Python numbers, empty and 0-d arrays.

Where the two libraries differ, CuPy's own source decides.
"""

import copy
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
