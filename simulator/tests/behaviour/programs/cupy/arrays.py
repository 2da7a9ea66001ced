"""Making arrays, their attributes, shapes and copies."""

import cupy as cp
import numpy as np


def default_dtypes():
    """Creation functions default to float64; arange and full follow their arguments."""
    print(cp.zeros(2).dtype, cp.ones(2).dtype, cp.empty(2).dtype, cp.linspace(0, 1, 2).dtype)
    print(cp.arange(3).dtype, cp.arange(3.0).dtype, cp.full(2, 7).dtype, cp.full(2, 7.0).dtype)


def array_of_a_list():
    """A nested list becomes an array on the device, with NumPy's dtypes."""
    print(cp.array([[1, 2], [3, 4]]).dtype, cp.array([1, 2.5]).dtype, cp.array([True]).dtype)
    print(cp.array([1 + 2j]).dtype, cp.array([]).shape, cp.array([]).dtype)


def array_of_a_list_of_device_arrays():
    """A list of 0-d or equal device arrays is stacked on the device."""
    print(cp.array([cp.array(1), cp.array(2)]))
    print(cp.array([cp.arange(2), cp.arange(2)]).shape)


def print_looks_like_numpy():
    """str and repr are NumPy's: repr says "array", not "cupy"."""
    x = cp.arange(4, dtype=cp.float32).reshape(2, 2)
    print(x)
    print(repr(x))


def format_of_zero_d():
    """A 0-d array accepts a format specification, as a NumPy scalar does."""
    print(f"{cp.array(2.5):.3f}", f"{cp.array(7):4d}", f"{cp.arange(2)}")


def format_specification_needs_zero_d():
    """A format specification on a whole array is a TypeError."""
    print(f"{cp.arange(2.0):.2f}")


def object_dtype_is_refused():
    """There are no object arrays on a device: ValueError."""
    cp.array([1, None])


def string_dtype_is_refused():
    """There are no string arrays on a device: ValueError."""
    cp.array(["a", "b"])


def ragged_list_is_refused():
    """Rows of unequal length are a ValueError."""
    cp.array([[1, 2], [3]])


def big_endian_is_swapped_or_refused():
    """An array in the other byte order arrives with the same values."""
    x = cp.asarray(np.array([1, 2], dtype=">i4"))
    print(x.dtype.str, x)


def asarray_copies_from_the_host():
    """cp.asarray of a NumPy array is a transfer: later changes of the source are not seen."""
    host = np.arange(3)
    x = cp.asarray(host)
    host[0] = 100
    print(x, type(x).__name__)


def asarray_of_a_device_array_is_itself():
    """asarray returns the same object where nothing has to change; array copies."""
    x = cp.arange(3)
    print(cp.asarray(x) is x, cp.array(x) is x, cp.asarray(x, dtype="f4") is x)


def asarray_takes_no_stream():
    """cp.asarray has no stream argument (set and get do): TypeError."""
    cp.asarray(np.arange(3), stream=cp.cuda.Stream.null)


def asarray_keeps_order():
    """A Fortran-ordered host array stays Fortran-ordered on the device."""
    x = cp.asarray(np.asfortranarray(np.zeros((2, 3))))
    print(x.flags.f_contiguous, x.flags.c_contiguous, x.strides)


def asarray_of_a_strided_view():
    """A strided host view arrives packed: its values, not its strides."""
    x = cp.asarray(np.arange(10)[::3])
    print(x, x.strides)


def asnumpy_and_get():
    """asnumpy and get give a NumPy array; asnumpy takes anything array-like."""
    x = cp.arange(3)
    print(type(x.get()).__module__, type(cp.asnumpy(x)).__module__, cp.asnumpy([1, 2]))


def get_keeps_fortran_order():
    """get of a transposed array is Fortran-ordered, of a strided one C-ordered."""
    x = cp.arange(6).reshape(2, 3)
    print(x.T.get().flags.f_contiguous, x[:, ::2].get().strides, x.get(order="F").strides)


def get_into_a_buffer():
    """get(out=) fills the given NumPy array and returns it."""
    out = np.empty(3, dtype=np.int64)
    print(cp.arange(3).get(out=out) is out, out)


def get_needs_a_numpy_buffer():
    """get(out=) of another type is a TypeError, with the library's missing blank."""
    cp.arange(3).get(out=[0, 0, 0])


def get_needs_the_same_dtype():
    """get(out=) of another dtype is a TypeError."""
    cp.arange(3, dtype=cp.float64).get(out=np.empty(3, dtype=np.float32))


def get_needs_the_same_shape():
    """get(out=) of another shape is a ValueError."""
    cp.arange(3).get(out=np.empty(4, dtype=np.int64))


def get_needs_a_contiguous_buffer():
    """get(out=) into a strided NumPy view is a RuntimeError."""
    cp.arange(3).get(out=np.empty(6, dtype=np.int64)[::2])


def set_copies_from_the_host():
    """set overwrites the whole array with a NumPy array of its shape and dtype."""
    x = cp.zeros(3)
    x.set(np.array([1.0, 2.0, 3.0]))
    print(x)


def set_needs_numpy():
    """set of anything but a NumPy array is a TypeError."""
    cp.zeros(3).set([1.0, 2.0, 3.0])


def set_needs_the_same_dtype():
    """set does not convert: another dtype is a TypeError."""
    cp.zeros(3, dtype=cp.float32).set(np.zeros(3))


def set_needs_the_same_shape():
    """set does not broadcast: another shape is a ValueError."""
    cp.zeros(3).set(np.zeros(4))


def set_needs_a_contiguous_target():
    """set into a strided device view is a RuntimeError."""
    cp.zeros(6)[::2].set(np.zeros(3))


def views_share_memory():
    """Slices, transposes and contiguous reshapes are views of one buffer."""
    x = cp.arange(6).reshape(2, 3)
    x.T[0, 0] = 50
    x[1][:] = 0
    print(x, x.T.strides, x[:, 1:].data.ptr - x.data.ptr)


def base_of_a_view():
    """base is the array that was sliced, None for a new one."""
    x = cp.arange(6)
    v = x[2:]
    print(x.base is None, v.base is x, v[1:].base is x, v.flags.owndata)


def flags():
    """flags has three entries, without a "writeable" one."""
    print(cp.zeros((2, 3)).flags)
    print(hasattr(cp.zeros(2).flags, "writeable"))


def reshape_copies_what_it_must():
    """reshape of a transposed array copies silently."""
    x = cp.arange(6).reshape(2, 3)
    y = x.T.reshape(6)
    y[0] = 99
    print(int(x[0, 0]), y)


def assigned_shape_must_be_a_view():
    """Assigning shape where a copy would be needed is an AttributeError."""
    x = cp.arange(6).reshape(2, 3).T
    x.shape = (6,)


def reshape_of_the_wrong_size():
    """reshape to another size is a ValueError."""
    cp.arange(6).reshape(4, 2)


def reshape_infers_one_size():
    """One -1 is inferred; a second one is a ValueError."""
    print(cp.arange(6).reshape(-1, 2).shape)
    cp.arange(6).reshape(-1, -1)


def astype_and_copy():
    """astype copies unless told not to."""
    x = cp.arange(3)
    print(x.astype("i8") is x, x.astype("i8", copy=False) is x, x.astype("f4").dtype)


def view_of_another_dtype():
    """view reads the same bytes as another type, the last axis changing its length."""
    x = cp.array([1.0], dtype=cp.float32)
    print(x.view(cp.int32), x.view(cp.uint8).shape, cp.zeros(4, "u1").view("f4").shape)


def view_of_a_size_that_does_not_fit():
    """view to a wider type of bytes that do not divide is a ValueError."""
    cp.zeros(3, dtype=cp.uint8).view(cp.float32)


def ndarray_constructor():
    """cp.ndarray(shape, dtype, memptr, strides) looks at memory that is already there."""
    x = cp.arange(6, dtype=cp.int32)
    y = cp.ndarray((2, 2), cp.int32, memptr=x.data + 4, strides=(8, 4))
    print(y)


def ndarray_takes_no_buffer():
    """NumPy's constructor arguments buffer and offset do not exist: TypeError."""
    cp.ndarray((2,), buffer=np.zeros(2))


def as_strided_overlapping():
    """as_strided makes overlapping windows without a copy."""
    x = cp.arange(5)
    y = cp.lib.stride_tricks.as_strided(x, (3, 3), (8, 8))
    print(y, y.data.ptr == x.data.ptr)


def as_strided_has_no_writeable():
    """as_strided has no writeable and no subok: TypeError."""
    cp.lib.stride_tricks.as_strided(cp.arange(5), (3, 3), (8, 8), writeable=False)


def as_strided_checks_nothing():
    """as_strided beyond the buffer is accepted; only the shape is looked at here."""
    print(cp.lib.stride_tricks.as_strided(cp.arange(5), (1000, 1000), (8, 8)).shape)


def as_strided_negative_shape():
    """A negative length is a ValueError."""
    cp.lib.stride_tricks.as_strided(cp.arange(5), (-1, 3), (8, 8))


def sliding_windows():
    """sliding_window_view appends the window axis and shares memory."""
    x = cp.arange(6).reshape(2, 3)
    w = cp.lib.stride_tricks.sliding_window_view(x, 2, axis=1)
    print(w.shape, w.strides, w.data.ptr == x.data.ptr)


def sliding_windows_are_never_writeable():
    """writeable=True is a NotImplementedError."""
    cp.lib.stride_tricks.sliding_window_view(cp.arange(6), 2, writeable=True)


def sliding_windows_that_do_not_fit():
    """A window longer than its axis is a ValueError."""
    cp.lib.stride_tricks.sliding_window_view(cp.arange(3), 4)


def sliding_windows_can_be_written_after_all():
    """The view has no read-only flag, so an assignment through it succeeds."""
    x = cp.arange(4)
    cp.lib.stride_tricks.sliding_window_view(x, 2)[0, 0] = 9
    print(x)


def broadcast_to_is_a_view():
    """broadcast_to has zero strides."""
    x = cp.broadcast_to(cp.arange(3), (2, 3))
    print(x.strides, x.shape)


def broadcast_to_can_be_written():
    """NumPy's broadcast_to is read-only; here the assignment goes through."""
    base = cp.arange(3)
    cp.broadcast_to(base, (2, 3))[0, 0] = 9
    print(base)


def shapes_that_do_not_broadcast():
    """The message of a failed broadcast names the shapes: ValueError."""
    cp.zeros((2, 3)) + cp.zeros(2)


def concatenate_and_stack():
    """concatenate, stack, vstack and hstack work on device arrays of promoted dtype."""
    a, b = cp.arange(2), cp.arange(2.0)
    print(cp.concatenate([a, b]), cp.stack([a, b]).dtype, cp.vstack([a, b]).shape)


def concatenate_of_unequal_shapes():
    """Arrays that differ in another axis are a ValueError."""
    cp.concatenate([cp.zeros((2, 3)), cp.zeros((2, 2))])


def split_gives_views():
    """split returns views."""
    x = cp.arange(6)
    parts = cp.split(x, 3)
    parts[1][:] = 0
    print(len(parts), x)


def copy_and_order():
    """copy keeps C order; a Fortran-ordered source needs order="K"."""
    x = cp.zeros((2, 3), order="F")
    print(x.copy().flags.f_contiguous, x.copy(order="K").flags.f_contiguous)


def ascontiguousarray_copies_only_if_needed():
    """ascontiguousarray returns the array itself where it is contiguous."""
    x = cp.zeros((2, 3))
    print(cp.ascontiguousarray(x) is x, cp.ascontiguousarray(x.T) is x)


def shares_memory_and_may_share():
    """shares_memory tells overlapping views from disjoint ones."""
    x = cp.arange(6)
    print(cp.shares_memory(x[:4], x[3:]), cp.shares_memory(x[:3], x[3:]))
    print(cp.may_share_memory(x[::2], x[1::2]), cp.shares_memory(x[::2], x[1::2]))


def empty_arrays():
    """Arrays without elements are allowed everywhere."""
    x = cp.zeros((0, 3))
    print((x + 1).shape, x.sum(axis=0), cp.concatenate([x, x]).shape, x.nbytes)


def device_attribute():
    """Every array knows its device."""
    print(cp.zeros(2).device, cp.zeros(2).device.id)


def pad_and_tile():
    """pad, tile, repeat and roll exist as in NumPy."""
    x = cp.arange(3)
    print(cp.pad(x, 1), cp.tile(x, 2), cp.repeat(x, 2), cp.roll(x, 1))


def missing_functions():
    """A function of NumPy that is not there is an AttributeError."""
    print(hasattr(cp, "block"), hasattr(cp, "insert"), hasattr(cp, "einsum_path"))
    cp.geomspace(1, 2, 3)


def missing_methods():
    """setflags, ctypes and resize do not exist on arrays: AttributeError."""
    print(hasattr(cp.zeros(2), "ctypes"), hasattr(cp.zeros(2), "resize"))
    cp.zeros(2).setflags(write=False)


def get_array_module():
    """get_array_module tells which library an array belongs to; scalars belong to NumPy."""
    for value in (cp.zeros(1), np.zeros(1), 1.0):
        print(cp.get_array_module(value).__name__)
    print(cp.get_array_module(np.zeros(1), cp.zeros(1)).__name__)


def meshgrid_ogrid_indices():
    """meshgrid, mgrid, ogrid, indices and tri exist."""
    a, b = cp.meshgrid(cp.arange(2), cp.arange(3))
    print(a.shape, cp.mgrid[0:2, 0:3].shape, cp.indices((2, 3)).shape, cp.tri(2))


def save_and_load():
    """save and load go through NumPy's format; load gives device arrays."""
    import io

    file = io.BytesIO()
    cp.save(file, cp.arange(3))
    file.seek(0)
    print(type(cp.load(file)).__module__, np.load(io.BytesIO(file.getvalue())))


def pickle_of_an_array():
    """Arrays pickle through the host."""
    import pickle

    print(pickle.loads(pickle.dumps(cp.arange(3))) + 1)
