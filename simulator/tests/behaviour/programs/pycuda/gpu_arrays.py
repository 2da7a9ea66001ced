"""pycuda.gpuarray.GPUArray: making, copying, arithmetic, views, and what it lacks."""

import numpy as np
import pycuda.autoprimaryctx
import pycuda.driver as drv
from pycuda import gpuarray


class Attempt:
    """Prints what an action gives, or the exception that it raises."""

    def __init__(self, action):
        try:
            print(action())
        except Exception as error:
            print(f"{type(error).__module__}.{type(error).__name__}: {error}")


def to_gpu_and_get():
    """to_gpu copies there, get() copies back."""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    g = gpuarray.to_gpu(x)
    print(type(g).__name__, g.shape, g.dtype, g.size, g.nbytes, g.strides, g.ndim, g.itemsize)
    print(g.get(), type(g.get()).__name__)


def printing():
    """str, repr and a format show the values; there is no hash: TypeError."""
    g = gpuarray.to_gpu(np.arange(3, dtype=np.float32))
    print(g, repr(g), f"{g}")
    hash(g)


def constructor():
    """GPUArray(shape, dtype); empty is the class itself."""
    g = gpuarray.GPUArray((2, 3), np.float32)
    print(gpuarray.empty is gpuarray.GPUArray, g.shape, type(g.gpudata).__name__, g.ptr > 0)
    print(int(g.gpudata) == g.ptr, g.base, g.allocator is drv.mem_alloc, g.mem_size)


def zeros_and_ones():
    """zeros, ones, full, empty_like, zeros_like, ones_like."""
    print(gpuarray.zeros((2, 2), np.int32), gpuarray.ones(3, np.float32))
    g = gpuarray.empty((2, 3), np.int16)
    print(gpuarray.zeros_like(g).dtype, gpuarray.ones_like(g), gpuarray.empty_like(g).shape)
    print(hasattr(gpuarray, "full"), gpuarray.zeros(2).dtype)


def arange():
    """arange guesses a dtype with a warning, unless it is given."""
    print(gpuarray.arange(4, dtype=np.int32), gpuarray.arange(1, 2, 0.25, dtype=np.float32))
    print(gpuarray.arange(4).dtype)


def fill():
    """fill returns the array."""
    g = gpuarray.empty(3, np.float32)
    print(g.fill(2.5) is g, g)


def set_and_get():
    """set() takes a NumPy array of the same shape and type; get(ary) fills one."""
    g, y = gpuarray.zeros(3, np.int32), np.zeros(3, dtype=np.int32)
    g.set(np.array([4, 5, 6], dtype=np.int32))
    print(g.get(y) is y, y)


def set_of_another_size():
    """set() with another size is a ValueError."""
    gpuarray.zeros(3, np.int32).set(np.zeros(4, dtype=np.int32))


def set_of_another_shape():
    """set() with another shape of the same size: a warning."""
    g = gpuarray.zeros((2, 3), np.int32)
    g.set(np.arange(6, dtype=np.int32))
    print(g)


def set_of_another_type():
    """set() with another dtype is a ValueError, or an AssertionError."""
    gpuarray.zeros(3, np.int32).set(np.zeros(3, dtype=np.float32))


def get_into_another_type():
    """get() into an array of another type is a TypeError."""
    gpuarray.zeros(3, np.int32).get(np.zeros(3, dtype=np.float32))


def get_into_another_shape():
    """get() into an array of another shape is a ValueError, or a warning."""
    gpuarray.zeros(3, np.int32).get(np.zeros(4, dtype=np.int32))


def get_pagelocked():
    """get(pagelocked=True) gives page-locked memory."""
    x = gpuarray.zeros(3, np.int32).get(pagelocked=True)
    print(x, type(x.base).__name__)


def to_gpu_of_a_list():
    """A list has no dtype: AttributeError."""
    gpuarray.to_gpu([1, 2, 3])


def to_gpu_of_a_strided_array():
    """An array with gaps becomes a packed copy."""
    g = gpuarray.to_gpu(np.arange(8)[::2])
    print(g, g.strides)


def to_gpu_of_a_transposed_array():
    """A Fortran-ordered array keeps its strides."""
    g = gpuarray.to_gpu(np.arange(6, dtype=np.float32).reshape(2, 3).T)
    print(g.shape, g.strides, g.flags.c_contiguous, g.flags.f_contiguous, g.flags.forc)
    print(g)


def to_gpu_async():
    """to_gpu_async takes a stream."""
    s = drv.Stream()
    g = gpuarray.to_gpu_async(drv.pagelocked_zeros(3, np.float32), stream=s)
    s.synchronize()
    print(g)


def arithmetic():
    """Operators work element by element, with arrays of one shape and with scalars."""
    x, y = gpuarray.arange(3, dtype=np.float32), gpuarray.arange(1, 4, dtype=np.float32)
    print(x + y, x - y, x * y, x / y)
    print(x + 1, 1 - x, 2 * x, x / 2, 1 / y, -x)


def powers():
    """** works with a scalar and with an array."""
    x = gpuarray.arange(1, 4, dtype=np.float32)
    print(x**2, x**x, abs(-x))


def integers():
    """Integers: +, //, % and /, as recorded (TypeError)."""
    x = gpuarray.arange(1, 5, dtype=np.int32)
    Attempt(lambda: (x + 1).dtype)
    Attempt(lambda: (x * 2.5).dtype)
    Attempt(lambda: x / 2)
    Attempt(lambda: x // 2)
    Attempt(lambda: x % 2)


def in_place():
    """+=, -=, *=, /= and **= change the array."""
    x = gpuarray.arange(1, 4, dtype=np.float32)
    before, x_ = x.ptr, x
    x += 1
    x *= x_
    x -= 2
    x /= 2
    print(x, x.ptr == before)


def types_of_results():
    """Types of results follow NumPy, more or less."""
    a, b = gpuarray.zeros(2, np.float32), gpuarray.zeros(2, np.float64)
    i = gpuarray.zeros(2, np.int32)
    print((a + b).dtype, (a + i).dtype, (i + i).dtype, (a + 1.5).dtype, (i + 1.5).dtype)
    print((a + np.float64(1)).dtype, (i * 2).dtype)


def comparison():
    """Comparisons give arrays of bool, or of int8, as recorded."""
    x = gpuarray.arange(4, dtype=np.float32)
    print(x > 1, (x > 1).dtype, x == x, (x != 2).dtype, x <= 2)


def truth():
    """bool() of an array of one element; of more a ValueError."""
    Attempt(lambda: bool(gpuarray.zeros(1, np.int32)))
    Attempt(lambda: bool(gpuarray.zeros(2, np.int32)))


def broadcasting():
    """There is no broadcasting: NotImplementedError."""
    gpuarray.zeros((4, 5), np.float32) + gpuarray.zeros(5, np.float32)


def broadcasting_of_one_element():
    """An array of one element: NotImplementedError or it works, as recorded."""
    print(gpuarray.zeros(3, np.float32) + gpuarray.ones(1, np.float32))


def zero_dimensional_operand():
    """A 0-d array as an operand: it works as a scalar, or not, as recorded."""
    x = gpuarray.arange(3, dtype=np.float32)
    print(x + gpuarray.sum(x))


def numpy_operand():
    """A NumPy array as an operand: an error, as recorded."""
    Attempt(lambda: gpuarray.zeros(3, np.float32) + np.ones(3, dtype=np.float32))


def numpy_operand_on_the_left():
    """A NumPy array on the left: object array, or an error, as recorded."""
    Attempt(lambda: type(np.ones(3, dtype=np.float32) + gpuarray.zeros(3, np.float32)).__name__)


def numpy_scalar_on_the_left():
    """A NumPy scalar on the left."""
    Attempt(lambda: type(np.float32(2) * gpuarray.ones(3, np.float32)))


def asarray():
    """np.asarray of a GPUArray: an object array of 0-d arrays, as recorded."""
    Attempt(lambda: np.asarray(gpuarray.zeros(2, np.float32)).dtype)


def no_matrix_product():
    """@ is a TypeError."""
    gpuarray.zeros((2, 2), np.float32) @ gpuarray.zeros((2, 2), np.float32)


def no_methods_for_reductions():
    """sum, mean and dot are no methods: AttributeError."""
    print([hasattr(gpuarray.GPUArray, n) for n in ("sum", "mean", "dot", "max", "min", "argmax")])
    gpuarray.zeros(2, np.float32).sum()


def slices():
    """Basic slices are views."""
    g = gpuarray.arange(6, dtype=np.float32).reshape(2, 3)
    print(g[0], g[:, 1:].shape, g[:, 1:].strides, g[1, 2], g[1, 2].shape)
    g[0].fill(9)
    print(g)


def negative_and_missing_indices():
    """A negative index counts from the end; one outside is an IndexError."""
    g = gpuarray.arange(3, dtype=np.float32)
    print(g[-1], g[...].shape, g[1:100].shape, g[None].shape)
    g[3]


def get_of_a_strided_view():
    """get() of a view with gaps gives a packed NumPy array."""
    print(gpuarray.arange(6, dtype=np.float32)[::2].get())


def arithmetic_with_a_strided_view():
    """Arithmetic of a view with gaps is a RuntimeError, or works, as recorded."""
    print(gpuarray.arange(6, dtype=np.float32)[::2] + 1)


def too_many_indices():
    """More indices than axes: IndexError."""
    gpuarray.zeros(3, np.float32)[0, 0]


def array_as_an_index():
    """An array as an index is an IndexError."""
    gpuarray.arange(6, dtype=np.float32)[np.array([0, 2])]


def mask_as_an_index():
    """A mask is an IndexError, too."""
    g = gpuarray.arange(6, dtype=np.float32)
    g[g > 2]


def assignment():
    """g[...] = value takes arrays of the same shape, and scalars."""
    g = gpuarray.zeros((2, 3), np.float32)
    g[0] = 5
    g[1, :2] = gpuarray.arange(2, dtype=np.float32)
    print(g)
    g[1] = np.full(3, 7, dtype=np.float32)
    print(g)


def assignment_of_another_shape():
    """Another shape is a ValueError."""
    gpuarray.zeros((2, 3), np.float32)[0] = gpuarray.zeros(2, np.float32)


def assignment_of_another_type():
    """Another type is a TypeError."""
    gpuarray.zeros(3, np.float32)[:] = gpuarray.zeros(3, np.float64)


def iteration():
    """A loop over an array, and len()."""
    g = gpuarray.arange(3, dtype=np.int32)
    print(len(g))
    print([int(v.get()) for v in g])


def length_of_a_scalar():
    """len() of a 0-d array: TypeError."""
    len(gpuarray.sum(gpuarray.zeros(3, np.float32)))


def reshape():
    """reshape, ravel, T, transpose, squeeze and view share the memory."""
    g = gpuarray.arange(6, dtype=np.float32)
    h = g.reshape(2, 3)
    print(h.shape, g.reshape((3, -1)).shape, h.ptr == g.ptr, h.ravel().shape)
    print(h.T.shape, h.T.strides)
    print(h.reshape(1, 2, 3).squeeze().shape, g.view(np.int32).dtype, h.transpose((1, 0)).shape)


def reshape_to_another_size():
    """A shape of another size is a ValueError."""
    gpuarray.arange(6, dtype=np.float32).reshape(4, 2)


def reshape_of_a_transposed_array():
    """reshape of a transposed view reads the memory as it lies."""
    print(gpuarray.arange(6, dtype=np.float32).reshape(2, 3).T.reshape(6))


def transposed_get():
    """get() of a transposed view has its strides."""
    x = gpuarray.arange(6, dtype=np.float32).reshape(2, 3).T.get()
    print(x, x.strides)


def order_f():
    """order="F" in constructors."""
    g = gpuarray.empty((2, 3), np.float32, order="F")
    print(g.strides, g.flags.f_contiguous, gpuarray.zeros((2, 3), np.float32, order="F").strides)


def reductions():
    """sum, max, min, dot are functions of the module; they give 0-d arrays."""
    g = gpuarray.arange(5, dtype=np.float32)
    s = gpuarray.sum(g)
    print(type(s).__name__, s.shape, s, s.dtype, float(s.get()), s.get().shape)
    print(gpuarray.max(g), gpuarray.min(g))


def dot():
    """dot of two vectors; at the first call it says where the compiler's output is, too."""
    from contextlib import redirect_stdout

    g = gpuarray.arange(5, dtype=np.float32)
    with redirect_stdout(None):
        d = gpuarray.dot(g, g)
    print(d.get(), d.dtype)


def sum_of_integers():
    """The sum of integers has their type, unless dtype says otherwise."""
    g = gpuarray.to_gpu(np.full(10, 100, dtype=np.int8))
    print(gpuarray.sum(g).dtype, gpuarray.sum(g), gpuarray.sum(g, dtype=np.int32))


def subset_reductions():
    """subset_sum and others are there."""
    print([hasattr(gpuarray, n) for n in ("subset_sum", "subset_dot", "subset_max", "subset_min")])


def minimum_and_maximum():
    """maximum and minimum, of arrays and of scalars."""
    g, h = gpuarray.arange(3, dtype=np.float32), gpuarray.ones(3, np.float32)
    print(gpuarray.maximum(g, h), gpuarray.minimum(g, h))


def if_positive():
    """if_positive chooses by sign; where by truth, if there is one."""
    g = gpuarray.to_gpu(np.array([1, 0, -1], dtype=np.float32))
    print(gpuarray.if_positive(g, g, 2 * g + 5))
    print(hasattr(gpuarray, "where"))


def take():
    """take includes pycuda-helpers.hpp: CompileError on CUDA 13."""
    g = gpuarray.arange(5, dtype=np.float32)
    try:
        print(gpuarray.take(g, gpuarray.arange(2, dtype=np.uint32)))
    except Exception as error:
        print(type(error).__name__)


def astype_and_copy():
    """astype converts, copy copies."""
    g = gpuarray.to_gpu(np.array([1.7, -1.7], dtype=np.float32))
    h = g.copy()
    h.fill(0)
    print(g.astype(np.int32), g.astype(np.float64).dtype, g, h)


def complex_numbers():
    """Complex arrays: arithmetic, real, imag and conj."""
    g = gpuarray.to_gpu(np.array([1 + 2j, 3 - 1j], dtype=np.complex64))
    Attempt(lambda: (g.real, g.imag))
    Attempt(lambda: g.conj())
    Attempt(lambda: g * g)


def half_precision():
    """float16 arrays can be copied; arithmetic, as recorded."""
    g = gpuarray.to_gpu(np.ones(2, dtype=np.float16))
    print(g)
    try:
        print(g + g)
    except Exception as error:
        print(type(error).__name__)


def rounding_and_sign():
    """__round__, reverse, and the rest."""
    g = gpuarray.to_gpu(np.array([1.5, 2.5, -1.2], dtype=np.float32))
    Attempt(lambda: g.reverse())
    Attempt(lambda: g.mul_add(2, g, 1))
    Attempt(lambda: round(g))


def empty_arrays():
    """An array without elements: no memory, no launch."""
    g = gpuarray.to_gpu(np.zeros(0, dtype=np.float32))
    Attempt(lambda: g.gpudata)
    Attempt(lambda: g.get())
    Attempt(lambda: (g + 1).shape)
    Attempt(lambda: gpuarray.sum(g))


def own_allocator():
    """An allocator is a function of a size."""
    sizes = []

    def allocate(n):
        sizes.append(n)
        return drv.mem_alloc(n)

    g = gpuarray.zeros(3, np.float32, allocator=allocate)
    print((g + g).allocator is allocate, sizes)


def of_given_memory():
    """GPUArray(gpudata=) takes an allocation or an address; base keeps it alive."""
    a = drv.to_device(np.arange(4, dtype=np.int32))
    print(gpuarray.GPUArray(4, np.int32, gpudata=a))
    print(gpuarray.GPUArray(2, np.int32, gpudata=int(a) + 8))
    g = gpuarray.GPUArray(4, np.int32, base=a, gpudata=int(a))
    print(g.base is a, g.ptr == int(a))


def cuda_array_interface():
    """The dictionary: shape, strides, pointer, type, version."""
    g = gpuarray.arange(6, dtype=np.float32).reshape(2, 3)
    d = g.__cuda_array_interface__
    print({k: v for k, v in d.items() if k != "data"}, d["data"] == (g.ptr, False))


def vector_types():
    """gpuarray.vec has CUDA's vector types and functions that make them."""
    print(gpuarray.vec.float3, gpuarray.vec.make_float3(1, 2, 3))


def pickling():
    """Arrays can be pickled, or not, as recorded."""
    import pickle

    Attempt(lambda: pickle.loads(pickle.dumps(gpuarray.arange(3, dtype=np.int32))))


def bad_dtype():
    """A dtype of objects: an error, as recorded."""
    Attempt(lambda: gpuarray.to_gpu(np.array([None, 1])))


def negative_shape():
    """A shape that is no shape."""
    Attempt(lambda: gpuarray.empty(-1, np.float32))
    Attempt(lambda: gpuarray.empty("ab", np.float32))


def to_gpu_of_a_gpuarray():
    """to_gpu of a GPUArray, as recorded."""
    Attempt(lambda: gpuarray.to_gpu(gpuarray.zeros(2, np.float32)))


def stack_and_concatenate():
    """concatenate and stack are there; logical functions, too."""
    a, b = gpuarray.zeros(2, np.float32), gpuarray.ones(2, np.float32)
    Attempt(lambda: gpuarray.concatenate((a, b)))
    Attempt(lambda: gpuarray.stack((a, b)))
    Attempt(lambda: gpuarray.logical_and(a, b))
    Attempt(lambda: (a.any(), b.all()))


def unsigned_subtraction():
    """Differences of unsigned integers: the factor -1 does not fit their type, struct.error."""
    x = gpuarray.to_gpu(np.arange(3, dtype=np.uint8))
    try:
        print(x - x)
    except Exception as error:
        print(f"{type(error).__module__}.{type(error).__name__}")
