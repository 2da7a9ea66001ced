"""NumPy and CuPy in one expression: no implicit transfer in either direction."""

import cupy as cp
import numpy as np


def device_plus_numpy():
    """cupy + numpy is a TypeError."""
    cp.arange(3) + np.arange(3)


def numpy_plus_device():
    """numpy + cupy is the same TypeError: CuPy's operator is asked."""
    np.arange(3) + cp.arange(3)


def device_plus_numpy_zero_d():
    """A 0-d NumPy array is refused, too: TypeError."""
    cp.arange(3) + np.array(1)


def device_plus_numpy_scalar():
    """A NumPy scalar (not a 0-d array) is accepted from both sides."""
    print(cp.arange(3) + np.int64(1), type(np.float32(2) * cp.arange(3)).__module__)


def comparison_with_numpy():
    """== with a NumPy array is a TypeError."""
    print(cp.arange(3) == np.arange(3))


def inplace_with_numpy():
    """x += numpy is a TypeError."""
    x = cp.zeros(3)
    x += np.ones(3)


def numpy_inplace_with_device():
    """A NumPy array += a device array is a TypeError."""
    x = np.zeros(3)
    x += cp.ones(3)


def ufunc_of_cupy_on_numpy():
    """cp.sin of a NumPy array is a TypeError."""
    cp.sin(np.zeros(3))


def ufunc_of_numpy_on_device():
    """np.sin of a device array runs on the device and gives a device array."""
    print(type(np.sin(cp.zeros(3))).__module__, type(np.add(cp.zeros(2), 1)).__module__)


def numpy_function_on_device():
    """np.sum, np.concatenate and np.linalg.norm of device arrays give device arrays."""
    x = cp.arange(3)
    print(type(np.sum(x)).__module__, type(np.concatenate([x, x])).__module__)
    print(type(np.linalg.norm(x)).__module__)


def numpy_function_without_counterpart():
    """A NumPy function that CuPy lacks is a TypeError."""
    np.insert(cp.arange(3), 0, 1)


def numpy_function_on_both():
    """np.concatenate of one of each is a TypeError."""
    np.concatenate([cp.arange(3), np.arange(3)])


def concatenate_of_both():
    """cp.concatenate of one of each is a TypeError."""
    cp.concatenate([cp.arange(3), np.arange(3)])


def stack_of_numpy():
    """cp.stack of NumPy arrays: a TypeError or a result, as recorded."""
    print(type(cp.stack([np.arange(3), np.arange(3)])).__module__)


def matmul_with_numpy():
    """cupy @ numpy is a TypeError."""
    cp.zeros((2, 2)) @ np.zeros((2, 2))


def numpy_matmul_with_device():
    """numpy @ cupy is a TypeError."""
    np.zeros((2, 2)) @ cp.zeros((2, 2))


def dot_with_numpy():
    """cp.dot with a NumPy array is a TypeError."""
    cp.dot(cp.zeros(2), np.zeros(2))


def numpy_dot_with_device():
    """np.dot of one of each is a TypeError."""
    np.dot(np.zeros(2), cp.zeros(2))


def method_dot_of_numpy():
    """numpy_array.dot(cupy_array) is a TypeError."""
    np.zeros(2).dot(cp.zeros(2))


def asarray_of_numpy_on_device():
    """np.asarray of a device array is a TypeError that says what to call."""
    np.asarray(cp.arange(3))


def array_of_numpy_on_device():
    """np.array of a device array is a TypeError."""
    np.array(cp.arange(3))


def numpy_array_of_device_scalars():
    """np.array of a list of device scalars is refused: TypeError or ValueError, as recorded."""
    print(np.array([cp.array(1), cp.array(2)]).dtype)


def numpy_index_by_device():
    """numpy_array[device_array] is a TypeError."""
    np.arange(3)[cp.array([0, 1])]


def device_index_by_numpy():
    """device_array[numpy_array] is accepted."""
    print(cp.arange(10, 13)[np.array([0, 2])])


def sum_of_numpy():
    """cp.sum of a NumPy array returns NumPy's answer: it calls the method."""
    print(type(cp.sum(np.arange(3))).__module__, cp.sum(np.arange(3)))


def max_of_numpy():
    """cp.max of a NumPy array, as cp.sum."""
    print(type(cp.max(np.arange(3))).__module__)


def einsum_with_numpy():
    """cp.einsum converts a NumPy operand silently."""
    print(cp.einsum("i,i->", cp.arange(3), np.arange(3)))


def where_with_numpy():
    """cp.where with a NumPy operand is a TypeError."""
    cp.where(cp.array([True, False]), np.zeros(2), cp.ones(2))


def clip_with_numpy():
    """clip with a NumPy limit is a TypeError."""
    cp.arange(3).clip(np.array([0, 1, 1]), 2)


def fill_with_numpy():
    """fill takes a NumPy scalar or 0-d array."""
    x = cp.zeros(2)
    x.fill(np.array(3))
    print(x)


def isinstance_of_numpy():
    """A cupy.ndarray is no numpy.ndarray."""
    print(isinstance(cp.zeros(1), np.ndarray), cp.ndarray is np.ndarray, cp.float32 is np.float32)


def asarray_of_a_list_of_both():
    """cp.array of a list that holds a NumPy and a device array: as recorded (TypeError)."""
    print(cp.array([np.arange(2), cp.arange(2)]))


def scalar_functions_of_python():
    """math.sqrt and sum() of device values work through the host or stay on the device."""
    import math

    x = cp.array([4.0, 5.0])
    print(math.sqrt(x[0]), type(sum(x)).__module__, max(x), round(float(x[1])))


def reshape_by_a_device_value():
    """A device value as a size is a TypeError: no __index__."""
    cp.zeros(cp.array(3))


def allclose_of_testing():
    """cp.testing.assert_allclose compares across libraries."""
    cp.testing.assert_allclose(cp.ones(2), np.ones(2))
    print("equal")
