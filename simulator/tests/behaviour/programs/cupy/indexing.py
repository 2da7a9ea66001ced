"""Indexing and assignment, with what is not as in NumPy."""

import cupy as cp
import numpy as np


def integer_index_is_zero_d():
    """x[1] is a 0-d device array and a view, not a Python or NumPy number."""
    x = cp.arange(3)
    v = x[1]
    v[...] = 70
    print(type(v).__name__, v.shape, x)


def integer_index_out_of_bounds():
    """A scalar index is checked on the host: IndexError."""
    cp.arange(3)[3]


def negative_index_out_of_bounds():
    """A negative scalar index is checked, too: IndexError."""
    cp.zeros((2, 3))[0, -4]


def too_many_indices():
    """More indices than axes: IndexError."""
    cp.zeros((2, 3))[0, 0, 0]


def float_index_is_truncated():
    """x[0.5] gives row 0; NumPy raises."""
    print(cp.arange(3)[0.5], cp.arange(3)[1.9])


def float_array_index():
    """An array of floats as an index is an IndexError."""
    cp.arange(3)[cp.array([0.0, 1.0])]


def two_ellipses():
    """Two ellipses are an IndexError."""
    cp.zeros((2, 3))[..., ...]


def array_index_wraps_around():
    """Out-of-bounds values in an index array wrap around; NumPy raises."""
    x = cp.array([10, 20, 30])
    print(x[[1, 3]], x[[0, -4]], x[cp.array([5])], x.take(cp.array([3, 4])))


def array_index_wraps_in_two_dimensions():
    """Each of several index arrays wraps by its own axis."""
    x = cp.arange(6).reshape(2, 3)
    print(x[[0, 2], [1, 4]])


def array_index_of_an_empty_axis():
    """Taking from an axis of length 0 is an IndexError."""
    cp.zeros((0,))[[0]]


def assignment_wraps_around():
    """Assigning through an index out of bounds wraps around, too."""
    x = cp.zeros(3)
    x[cp.array([4])] = 1
    print(x)


def lists_and_numpy_arrays_as_indices():
    """A list or a NumPy array may be an index: it is copied to the device."""
    x = cp.arange(10, 14)
    print(x[[0, 2]], x[np.array([1, 3])], x[np.int64(2)])


def zero_d_device_array_as_index():
    """A 0-d integer device array as an index gathers on the device, without a sync."""
    x = cp.arange(10, 14)
    i = cp.array(2)
    print(x[i], x[i].shape, cp.zeros((3, 2))[i].shape)


def advanced_index_copies():
    """An index array makes a copy."""
    x = cp.arange(3)
    y = x[[0, 1]]
    y[:] = 9
    print(x)


def place_of_the_new_axes():
    """Adjacent index arrays stay in place; separated ones come first, as in NumPy."""
    x = cp.zeros((2, 3, 4, 5))
    i = cp.array([0, 1, 1])
    print(x[:, i, i].shape, x[i, :, i].shape, x[0, :, i].shape, x[:, i[:, None], i].shape)


def newaxis_and_ellipsis():
    """None and ... work as in NumPy."""
    x = cp.zeros((2, 3))
    print(x[None].shape, x[..., None].shape, x[:, None, 1:].shape, x[...].shape)


def negative_step():
    """Negative steps are views."""
    x = cp.arange(5)
    print(x[::-2], x[::-1].strides, x[3:0:-1])


def zero_step():
    """A step of zero is a ValueError."""
    cp.arange(5)[::0]


def boolean_mask():
    """A boolean mask selects; it may also be a list or a NumPy mask."""
    x = cp.arange(4)
    print(x[x > 1], x[[True, False, False, True]], x[np.array([False, True, False, False])])


def boolean_mask_of_two_dimensions():
    """A mask over two axes flattens them."""
    x = cp.arange(6).reshape(2, 3)
    print(x[x % 2 == 0], x[cp.array([True, False])])


def boolean_mask_of_the_wrong_shape():
    """A mask of another length is an IndexError that names both."""
    cp.zeros(10)[cp.array([True, False, True])]


def boolean_scalar_index():
    """True adds an axis of length one, False one of length zero."""
    x = cp.arange(3)
    print(x[True].shape, x[False].shape)


def assign_through_a_mask():
    """x[mask] = scalar and x[mask] = array with the right count."""
    x = cp.arange(4)
    x[x > 1] = 0
    x[cp.array([True, True, False, False])] = cp.array([7, 8])
    print(x)


def assign_through_a_mask_wrong_count():
    """The wrong number of values through a mask is a ValueError."""
    x = cp.arange(4)
    x[cp.array([True, True, True, False])] = cp.array([7, 8])


def assign_a_scalar():
    """Python and NumPy scalars are cast to the array's dtype, fractions dropped."""
    x = cp.zeros(3, dtype=cp.int32)
    x[0], x[1], x[2] = 2.9, np.float64(-1.9), True
    print(x)


def assign_a_list_is_refused():
    """A list as a value is a ValueError for a slice: only scalars and device arrays fill."""
    x = cp.zeros(3)
    x[:] = [1, 2, 3]


def assign_numpy_to_a_slice():
    """x[:] = a NumPy array is a ValueError: no implicit transfer."""
    x = cp.zeros(3)
    x[:] = np.ones(3)


def assign_numpy_to_an_element():
    """x[0] = a NumPy row is a ValueError, too."""
    x = cp.zeros((2, 3))
    x[0] = np.ones(3)


def assign_numpy_of_one_element():
    """A 0-d NumPy array counts as a scalar."""
    x = cp.zeros(3)
    x[1] = np.array(5.0)
    print(x)


def assign_numpy_through_an_index_list():
    """Through an index list a NumPy value is copied to the device after all."""
    x = cp.zeros(3)
    x[[0, 2]] = np.array([5.0, 6.0])
    print(x)


def assign_the_wrong_shape():
    """Values that do not broadcast to the target are a ValueError."""
    x = cp.zeros((2, 3))
    x[:] = cp.ones(2)


def assign_with_overlap():
    """x[1:] = x[:-1] copies an overlapping source first."""
    x = cp.arange(5)
    x[1:] = x[:-1]
    print(x)


def assign_equal_values_to_duplicates():
    """Duplicate indices are undefined unless all write the same value."""
    x = cp.zeros(3)
    x[[1, 1, 1]] = 5
    print(x)


def augmented_assignment_with_duplicates():
    """x[i] += 1 with duplicates counts each target once, as in NumPy."""
    x = cp.zeros(3)
    x[[1, 1, 1]] += 1
    print(x)


def add_at():
    """cp.add.at adds for every duplicate; scatter_add of cupyx does the same."""
    import cupyx

    x, y = cp.zeros(3), cp.zeros(3)
    cp.add.at(x, cp.array([1, 1, 2]), 1)
    cupyx.scatter_add(y, cp.array([1, 1, 2]), cp.array([1.0, 2.0, 4.0]))
    print(x, y)


def other_ufuncs_at():
    """maximum.at exists; a ufunc without an atomic operation is a NotImplementedError."""
    x = cp.zeros(3)
    cp.maximum.at(x, cp.array([0, 0]), cp.array([3.0, 2.0]))
    print(x)
    cp.multiply.at(x, cp.array([0]), 2)


def subtract_at_and_scatter_limits():
    """cupyx.scatter_max and scatter_min update with duplicates."""
    import cupyx

    x, y = cp.zeros(2), cp.zeros(2)
    cupyx.scatter_max(x, cp.array([0, 0]), cp.array([1.0, 3.0]))
    cupyx.scatter_min(y, cp.array([1, 1]), cp.array([-1.0, -3.0]))
    print(x, y)


def bincount_and_minlength():
    """bincount counts on the device."""
    print(cp.bincount(cp.array([0, 2, 2])), cp.bincount(cp.array([1]), minlength=4))


def bincount_of_a_negative_number():
    """A negative value is a ValueError."""
    cp.bincount(cp.array([-1, 2]))


def where_three_arguments():
    """where broadcasts and promotes; a Python scalar does not widen float32."""
    x = cp.arange(3, dtype=cp.float32)
    print(cp.where(x > 1, x, 0.0).dtype, cp.where(x > 1, x, cp.zeros(3)).dtype, cp.where(x, 1, 2))


def where_one_argument_and_nonzero():
    """where(mask) and nonzero give a tuple of index arrays."""
    x = cp.array([[0, 1], [2, 0]])
    print(cp.where(x), cp.nonzero(x)[0].dtype, cp.argwhere(x).tolist(), cp.flatnonzero(x))


def take_put_and_along_axis():
    """take_along_axis and put_along_axis work on device arrays."""
    x = cp.array([[3, 1, 2], [9, 7, 8]])
    i = cp.argsort(x, axis=1)
    print(cp.take_along_axis(x, i, axis=1))


def put_modes():
    """put wraps by default."""
    x = cp.zeros(3)
    x.put(cp.array([0, 4]), cp.array([1.0, 2.0]))
    print(x)


def take_with_mode():
    """take has no mode argument: TypeError."""
    cp.take(cp.arange(3), cp.array([5]), mode="clip")


def ix_and_diag():
    """ix_ selects a grid; diag and diagonal look at the diagonal."""
    x = cp.arange(9).reshape(3, 3)
    print(x[cp.ix_(cp.array([0, 2]), cp.array([1, 2]))], cp.diag(x), cp.diagonal(x, 1))


def diagonal_can_be_written():
    """The diagonal is a view that can be written to."""
    x = cp.zeros((2, 2))
    x.diagonal()[:] = 3
    print(x)


def unravel_and_ravel_index():
    """unravel_index and ravel_multi_index give device arrays."""
    print(cp.unravel_index(cp.array([5]), (2, 3)))
    print(cp.ravel_multi_index((cp.array([1]), cp.array([2])), (2, 3)))


def iterate():
    """Iteration gives 0-d arrays or rows on the device."""
    print([type(v).__name__ for v in cp.arange(2)], [row.shape for row in cp.zeros((2, 3))])


def iterate_zero_d():
    """A 0-d array cannot be iterated: TypeError."""
    list(cp.array(1))


def len_of_zero_d():
    """A 0-d array has no length: TypeError."""
    print(len(cp.zeros((2, 3))))
    len(cp.array(1))


def flat_iterator():
    """flat reads and assigns by slices."""
    x = cp.arange(4).reshape(2, 2)
    x.flat[1:3] = 0
    print(x, x.flat[3])


def contains():
    """value in x compares on the device and asks the host for the answer."""
    print(2 in cp.arange(3), 5 in cp.arange(3))


def ascending_views_keep_offset():
    """A slice's pointer is the base's plus the offset in bytes."""
    x = cp.arange(10, dtype=cp.float32)
    print(x[3:].data.ptr - x.data.ptr, x[3:].data.offset if hasattr(x.data, "offset") else "")
