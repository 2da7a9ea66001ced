"""0-d arrays where Python expects a number."""

import cupy as cp
import numpy as np


def to_python_numbers():
    """int, float, complex, bool and item copy to the host."""
    v = cp.array(2.75)
    print(int(v), float(v), complex(v), bool(v), v.item(), type(v.item()).__name__)


def one_element_is_not_zero_d():
    """float of a one-element 1-d array: a value or a TypeError, as recorded."""
    print(float(cp.array([2.5])), int(cp.array([[3]])))


def float_of_many():
    """float of several elements is a TypeError."""
    float(cp.arange(3))


def int_of_many():
    """int of several elements is a TypeError."""
    int(cp.arange(3))


def item_of_many():
    """item of several elements is a ValueError."""
    cp.arange(3).item()


def bool_of_many():
    """The truth of several elements is ambiguous: ValueError."""
    bool(cp.arange(3))


def if_on_a_device_value():
    """if asks the device and waits."""
    x = cp.arange(3)
    print("yes" if x.sum() == 3 else "no", "yes" if (x == x).all() else "no")


def no_index():
    """A 0-d integer array has no __index__: range is a TypeError."""
    range(cp.array(3))


def list_index():
    """It cannot index a list: TypeError."""
    [1, 2, 3][cp.array(1)]


def int_makes_an_index():
    """int() makes it usable."""
    print(list(range(int(cp.array(3)))), [1, 2, 3][cp.array(1).item()])


def not_hashable():
    """Arrays are not hashable: TypeError."""
    {cp.array(1): 1}


def isinstance_of_numbers():
    """A 0-d array is no Python number, and np.isscalar says so."""
    print(isinstance(cp.array(1.0), float), np.isscalar(cp.array(1.0)), cp.isscalar(1.0))


def zero_d_in_arithmetic():
    """A 0-d array takes part in promotion with its own type."""
    v = cp.array(2.0)
    print((v + 1).shape, (cp.ones(2, "f4") * v).dtype, (1 / v), type(v + 1).__name__)


def zero_d_with_python_scalar():
    """A 0-d float32 with a Python float stays float32."""
    print((cp.float32(1) + cp.array(1, "f4")).dtype, (cp.array(1, "f4") + 0.1).dtype)


def scalar_types_are_numpys():
    """cp.float32(1) is a NumPy scalar on the host."""
    print(type(cp.float32(1)).__module__, cp.int64 is np.int64, cp.pi == np.pi)


def zero_d_to_numpy_by_float():
    """numpy_array[0] = float(device scalar) works."""
    x = np.zeros(2)
    x[0] = float(cp.array(1.5))
    print(x)


def zero_d_to_a_list():
    """tolist of a 0-d array is a number."""
    print(cp.array(3).tolist(), cp.array(2.5).get(), type(cp.array(2.5).get()).__name__)


def python_sum_and_loops():
    """A Python loop over a device array makes a 0-d array per step."""
    total = 0
    for v in cp.arange(4):
        total += v
    print(total, type(total).__name__)


def string_formatting_of_percent():
    """%d and %f convert a 0-d array."""
    print("%.2f" % cp.array(1.5), "%d" % cp.array(3))  # noqa: UP031


def empty_index_of_zero_d():
    """v[()] of a 0-d array is a 0-d array, not a number."""
    v = cp.array(3)[()]
    print(type(v).__name__, v.shape)


def operator_index_on_shape():
    """shape, size and nbytes are Python integers."""
    x = cp.zeros((2, 3))
    print(type(x.shape[0]).__name__, type(x.size).__name__, x.nbytes, x.itemsize)
