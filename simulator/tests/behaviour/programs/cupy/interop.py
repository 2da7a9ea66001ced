"""The CUDA array interface, DLPack, and what passes between libraries."""

import cupy as cp
import numpy as np


class Exporter:
    """Offers an array's __cuda_array_interface__, changed as asked, and nothing else."""

    def __init__(self, x, **changes):
        self.x = x
        self.__cuda_array_interface__ = {**x.__cuda_array_interface__, **changes}


def cuda_array_interface():
    """The dictionary of a contiguous array: no strides, version 3, stream 1."""
    x = cp.zeros((2, 3), dtype=cp.float32)
    d = x.__cuda_array_interface__
    print({k: v for k, v in d.items() if k != "data"}, d["data"] == (x.data.ptr, False))


def cuda_array_interface_of_a_view():
    """A view gives its strides and its own pointer."""
    x = cp.zeros((2, 3), dtype=cp.float32)
    d = x.T[1:].__cuda_array_interface__
    print(d["shape"], d["strides"], d["data"][0] - x.data.ptr)


def cuda_array_interface_of_nothing():
    """An empty array's pointer is 0."""
    print(cp.zeros((0, 3)).__cuda_array_interface__["data"])


def cuda_array_interface_on_a_stream():
    """On another current stream its pointer is given."""
    s = cp.cuda.Stream()
    with s:
        print(cp.zeros(1).__cuda_array_interface__["stream"] == s.ptr)


def asarray_shares():
    """cp.asarray of an exporter is a view of the same memory."""
    x = cp.arange(3)
    y = cp.asarray(Exporter(x))
    y[0] = 9
    print(x, y.data.ptr == x.data.ptr, type(y.data.mem).__name__)


def array_copies():
    """cp.array of an exporter copies."""
    x = cp.arange(3)
    cp.array(Exporter(x))[0] = 9
    print(x)


def strided_exporter():
    """Strides are taken over."""
    x = cp.arange(6).reshape(2, 3)
    print(cp.asarray(Exporter(x.T)).strides, cp.asarray(Exporter(x[:, ::2])).tolist())


def exporter_keeps_its_memory():
    """The view keeps the exporter alive."""
    import gc
    import weakref

    exporter = Exporter(cp.arange(3))
    alive, y = weakref.ref(exporter), cp.asarray(exporter)
    del exporter
    gc.collect()
    print(alive() is not None)
    del y
    gc.collect()
    print(alive() is not None)


def exporter_of_an_old_version():
    """Version 2, without a stream, is accepted."""
    print(cp.asarray(Exporter(cp.arange(3), version=2, stream=None)))


def exporter_with_a_mask():
    """A mask is not supported: ValueError or NotImplementedError."""
    print(cp.asarray(Exporter(cp.arange(3), mask=cp.array([True, False, True]))))


def exporter_in_an_operation():
    """An exporter is accepted as an operand of a ufunc."""
    print(cp.arange(3) + Exporter(cp.arange(3)))


def exporter_in_a_kernel():
    """An exporter is accepted as an argument of an ElementwiseKernel."""
    kernel = cp.ElementwiseKernel("T x", "T z", "z = x + 1", "plus_one")
    print(kernel(Exporter(cp.arange(3))))


def exporter_in_a_raw_kernel():
    """An exporter as an argument of a RawKernel: accepted, or a TypeError, as recorded."""
    code = 'extern "C" __global__ void k(long long* x) { x[0] = 7; }'
    x = cp.zeros(1, dtype=cp.int64)
    cp.RawKernel(code, "k")((1,), (1,), (Exporter(x),))
    print(x)


def exporter_as_an_index():
    """An exporter as an index."""
    print(cp.arange(10, 13)[Exporter(cp.array([0, 2]))])


def dlpack_round_trip():
    """from_dlpack of a device array shares its memory."""
    x = cp.arange(3)
    y = cp.from_dlpack(x)
    y[0] = 9
    print(x, y.data.ptr == x.data.ptr)


def dlpack_device():
    """__dlpack_device__ is (2, 0): CUDA, device 0."""
    kind, number = cp.arange(3).__dlpack_device__()
    print(int(kind), number)


def dlpack_from_numpy():
    """from_dlpack of a NumPy array: a copy or an exception, as recorded (TypeError)."""
    print(type(cp.from_dlpack(np.arange(3))).__module__)


def dlpack_to_numpy():
    """np.from_dlpack of a device array is refused; the exception's type is NumPy's affair."""
    try:
        np.from_dlpack(cp.arange(3))
    except (BufferError, RuntimeError) as error:
        print(error)


def dlpack_keeps_strides():
    """Strides survive DLPack."""
    x = cp.arange(6).reshape(2, 3).T
    print(cp.from_dlpack(x).strides, cp.from_dlpack(x).shape)


def dlpack_of_booleans():
    """Booleans and complex numbers pass."""
    print(cp.from_dlpack(cp.array([True])).dtype, cp.from_dlpack(cp.ones(1, "c8")).dtype)


def numpy_protocols():
    """Arrays have __array_ufunc__ and __array_function__, and an __array__ that refuses."""
    x = cp.zeros(1)
    print([hasattr(x, n) for n in ("__array_ufunc__", "__array_function__", "__array__")])


def buffer_protocol():
    """There is no buffer: memoryview is refused, in words that depend on Python's version."""
    try:
        memoryview(cp.zeros(1))
    except TypeError:
        print("refused")


def torch_and_others():
    """cp.asarray of an object without any protocol is a ValueError: object dtype."""
    cp.asarray(object())
