"""Devices, the runtime's functions, and the exception classes."""

import cupy as cp
import numpy as np


def device():
    """Device() is the current one; devices compare by number."""
    d = cp.cuda.Device()
    print(d, d.id, d == cp.cuda.Device(0), int(d), cp.cuda.runtime.getDevice())


def device_context():
    """with Device(0) makes it current; use() too."""
    with cp.cuda.Device(0) as d:
        print(d.id, cp.cuda.get_device_id())
    cp.cuda.Device(0).use()


def device_that_is_missing():
    """A device that does not exist is a CUDARuntimeError when it is used."""
    d = cp.cuda.Device(99)
    print("made")
    d.use()


def compute_capability():
    """compute_capability is text of digits."""
    capability = cp.cuda.Device().compute_capability
    print(type(capability).__name__, capability.isdigit())


def device_attributes():
    """attributes is a dictionary of names."""
    attributes = cp.cuda.Device().attributes
    print(attributes["MaxThreadsPerBlock"], attributes["WarpSize"], attributes["MaxBlockDimZ"])
    print(attributes["MaxGridDimY"], attributes["MaxSharedMemoryPerBlock"])


def device_properties():
    """getDeviceProperties has bytes for the name."""
    p = cp.cuda.runtime.getDeviceProperties(0)
    print(type(p["name"]).__name__, p["warpSize"], p["maxThreadsPerBlock"], p["maxThreadsDim"])
    print(p["maxGridSize"], p["sharedMemPerBlock"], p["regsPerBlock"])


def keys_of_device_properties():
    """The names of the device's properties."""
    print(sorted(cp.cuda.runtime.getDeviceProperties(0)))


def availability():
    """is_available and the device count."""
    print(cp.cuda.is_available(), cp.cuda.runtime.getDeviceCount() >= 1, cp.is_available())


def exception_classes():
    """Which exceptions are RuntimeErrors, and where they live."""
    from cupy_backends.cuda.api import driver, runtime

    print(runtime.CUDARuntimeError.__mro__[1].__name__, driver.CUDADriverError.__mro__[1].__name__)
    print(cp.cuda.runtime.CUDARuntimeError is runtime.CUDARuntimeError)
    print(cp.cuda.memory.OutOfMemoryError.__mro__[1].__name__)
    print(cp.cuda.compiler.CompileException.__mro__[1].__name__)


def peek_and_last_error():
    """A failed launch leaves nothing behind: the next operation works."""
    kernel = cp.RawKernel('extern "C" __global__ void k() {}', "k")
    try:
        kernel((1,), (2000,), ())
    except RuntimeError:
        print(cp.arange(3) + 1)


def memory_copy_functions():
    """runtime.memcpy copies bytes between addresses."""
    x, host = cp.zeros(2, dtype=cp.int32), np.array([3, 4], dtype=np.int32)
    cp.cuda.runtime.memcpy(x.data.ptr, host.ctypes.data, 8, cp.cuda.runtime.memcpyHostToDevice)
    print(x)


def memory_copy_to_nowhere():
    """A copy to a null pointer is a CUDARuntimeError."""
    cp.cuda.runtime.memcpy(0, 0, 8, cp.cuda.runtime.memcpyDeviceToDevice)


def pointer_attributes():
    """pointerGetAttributes tells a device pointer."""
    x = cp.zeros(2)
    found = cp.cuda.runtime.pointerGetAttributes(x.data.ptr)
    print(found.device, found.type == cp.cuda.runtime.memoryTypeDevice)


def free_of_a_wrong_pointer():
    """Freeing an address that was not allocated is a CUDARuntimeError."""
    cp.cuda.runtime.free(12345)


def versions_are_numbers():
    """The version functions give integers."""
    print(type(cp.cuda.runtime.runtimeGetVersion()).__name__, type(cp.__version__).__name__)
    print(len(cp.cuda.nvrtc.getVersion()))


def unknown_attribute_of_the_module():
    """An unknown name is an AttributeError that names the module."""
    cp.no_such_function


def unknown_attribute_of_an_array():
    """An unknown attribute of an array is an AttributeError that names the type."""
    cp.zeros(1).no_such_attribute


def elementwise_error_message_of_a_ufunc():
    """A ufunc's message for an unsupported operand names its type: TypeError."""
    cp.add(cp.zeros(1), {})


def type_names():
    """Where the types live, by their own account."""
    for kind in (cp.ndarray, cp.ufunc, cp.RawKernel, cp.RawModule, cp.ElementwiseKernel,
                 cp.ReductionKernel, cp.cuda.Stream, cp.cuda.Event, cp.cuda.MemoryPool):
        print(kind.__module__, kind.__qualname__)


def peer_access():
    """canAccessPeer of a device with itself."""
    print(cp.cuda.runtime.deviceCanAccessPeer(0, 0))


def streams_of_scipy():
    """cupyx.scipy offers SciPy's functions on device arrays."""
    from cupyx.scipy import ndimage, special

    print(special.expit(cp.zeros(1)), ndimage.uniform_filter(cp.arange(5.0), 3))


def sparse_matrices():
    """cupyx.scipy.sparse has CSR matrices."""
    from cupyx.scipy import sparse

    m = sparse.csr_matrix(cp.array([[0.0, 2.0], [3.0, 0.0]]))
    print(m.nnz, (m @ cp.ones(2)), m.toarray().tolist())


def get_array_module_of_scipy():
    """cupyx.scipy.get_array_module tells SciPy from cupyx.scipy."""
    from cupyx.scipy import get_array_module

    print(get_array_module(cp.zeros(1)).__name__)


def asnumpy_of_a_scalar():
    """asnumpy of a number is a 0-d NumPy array."""
    print(cp.asnumpy(3).shape, type(cp.asnumpy(cp.array(3))).__name__)


def environment():
    """The accelerators of reductions in use."""
    print(cp._core.get_routine_accelerators(), cp._core.get_reduction_accelerators())
