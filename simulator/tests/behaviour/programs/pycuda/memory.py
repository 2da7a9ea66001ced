"""Device memory of the driver, and copies."""

import numpy as np
import pycuda.autoprimaryctx
import pycuda.driver as drv

from tests.behaviour.marks import alone


class Attempt:
    """Prints what an action gives, or the exception that it raises."""

    def __init__(self, action):
        try:
            print(action())
        except Exception as error:
            print(f"{type(error).__module__}.{type(error).__name__}: {error}")


def mem_alloc():
    """mem_alloc gives a DeviceAllocation, whose int() is the address."""
    a = drv.mem_alloc(16)
    print(type(a).__name__, type(a).__module__, int(a) % 256, isinstance(a, int))


def mem_alloc_of_nothing():
    """0 bytes are a LogicError."""
    drv.mem_alloc(0)


def mem_alloc_negative():
    """A negative size is an OverflowError or another error of the binding, as recorded."""
    try:
        drv.mem_alloc(-1)
    except Exception as error:
        print(type(error).__name__)


def mem_alloc_too_much():
    """More than there is: MemoryError, pycuda's."""
    drv.mem_alloc(1 << 50)


def mem_alloc_of_a_float():
    """A size that is no whole number is an ArgumentError of the binding."""
    try:
        drv.mem_alloc(16.5)
    except Exception as error:
        print(type(error).__name__)


def mem_alloc_of_a_numpy_number():
    """NumPy's integers as a size: accepted, or an ArgumentError, as recorded."""
    try:
        print(type(drv.mem_alloc(np.int64(16))).__name__)
    except Exception as error:
        print(type(error).__name__)


def free_twice():
    """free() again is a LogicError."""
    a = drv.mem_alloc(16)
    print(a.free())
    a.free()


def use_after_free():
    """int() of a freed allocation; a copy to it."""
    a, host = drv.mem_alloc(16), np.zeros(4, dtype=np.int32)
    a.free()
    Attempt(lambda: int(a) > 0)
    Attempt(lambda: drv.memcpy_htod(a, host))


def pointer_arithmetic():
    """int(a) + offset is a pointer; a + offset works or is a TypeError, as recorded."""
    a, host = drv.to_device(np.arange(4, dtype=np.int32)), np.zeros(2, dtype=np.int32)
    drv.memcpy_dtoh(host, int(a) + 8)
    print(host)
    print(a + 8)


def as_buffer():
    """as_buffer is a method of an allocation."""
    print(hasattr(drv.DeviceAllocation, "as_buffer"), hasattr(drv.DeviceAllocation, "__index__"))


def htod_and_dtoh():
    """Whole arrays go there and back; both return None."""
    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.zeros((2, 3), dtype=np.float32)
    a = drv.mem_alloc(x.nbytes)
    print(drv.memcpy_htod(a, x), drv.memcpy_dtoh(y, a))
    print(y)


@alone
def htod_of_too_much():
    """An array larger than the allocation: LogicError, or silence, as recorded."""
    a = drv.mem_alloc(512)
    drv.memcpy_htod(a, np.zeros(3 << 20, dtype=np.uint8))


def dtoh_of_part():
    """A smaller host array takes the beginning."""
    a, y = drv.to_device(np.arange(6, dtype=np.int32)), np.zeros(2, dtype=np.int32)
    drv.memcpy_dtoh(y, a)
    print(y)


def dtoh_into_another_type():
    """Bytes are copied; types are not looked at."""
    y = np.zeros(2, dtype=np.int32)
    drv.memcpy_dtoh(y, drv.to_device(np.array([1.0, -2.0], dtype=np.float32)))
    print(y)


def htod_of_a_transposed_array():
    """A Fortran-ordered array goes as it lies in memory."""
    x, y = np.arange(6, dtype=np.int32).reshape(2, 3), np.zeros(6, dtype=np.int32)
    drv.memcpy_dtoh(y, drv.to_device(np.zeros(6, dtype=np.int32)))
    a = drv.mem_alloc(24)
    drv.memcpy_htod(a, np.asfortranarray(x))
    drv.memcpy_dtoh(y, a)
    print(y)


def htod_of_a_strided_array():
    """An array with gaps is a ValueError: it is not contiguous."""
    drv.memcpy_htod(drv.mem_alloc(64), np.arange(8, dtype=np.int32)[::2])


def dtoh_into_a_strided_array():
    """An array with gaps is refused as a destination: ValueError."""
    drv.memcpy_dtoh(np.arange(8, dtype=np.int32)[::2], drv.mem_alloc(64))


def dtoh_into_a_readonly_array():
    """A read-only array is refused: ValueError."""
    y = np.zeros(4, dtype=np.int32)
    y.flags.writeable = False
    drv.memcpy_dtoh(y, drv.mem_alloc(16))


def htod_of_a_list():
    """A list is refused: TypeError."""
    drv.memcpy_htod(drv.mem_alloc(16), [1, 2, 3])


def htod_of_bytes():
    """Anything with the buffer protocol goes, also bytes."""
    a, y = drv.mem_alloc(4), bytearray(4)
    drv.memcpy_htod(a, b"\x01\x02\x03\x04")
    drv.memcpy_dtoh(y, a)
    print(y)


def htod_of_a_scalar():
    """A NumPy scalar has a buffer."""
    a, y = drv.mem_alloc(4), np.zeros((), dtype=np.float32)
    drv.memcpy_htod(a, np.float32(1.5))
    drv.memcpy_dtoh(y, a)
    print(y)


def htod_to_nowhere():
    """A copy to address 0 is a LogicError."""
    drv.memcpy_htod(0, np.zeros(4))


def arguments_of_a_copy_exchanged():
    """memcpy_htod with its arguments exchanged is an ArgumentError of the binding."""
    try:
        drv.memcpy_htod(np.zeros(4), drv.mem_alloc(32))
    except Exception as error:
        print(type(error).__name__)


def dtod():
    """dtod takes a size in bytes."""
    a, b = drv.to_device(np.arange(4, dtype=np.int32)), drv.mem_alloc(16)
    drv.memset_d32(b, 9, 4)
    drv.memcpy_dtod(b, a, 8)
    print(drv.from_device(b, 4, np.int32))


def memsets():
    """memset_d8, d16 and d32 take a value and a count of elements."""
    a = drv.mem_alloc(16)
    drv.memset_d8(a, 1, 16)
    drv.memset_d16(a, 258, 4)
    drv.memset_d32(a, 7, 1)
    print(drv.from_device(a, 16, np.uint8))


def memset_of_a_negative_value():
    """A value that does not fit is an OverflowError or an ArgumentError, as recorded."""
    try:
        drv.memset_d32(drv.mem_alloc(4), -1, 1)
        print("done")
    except Exception as error:
        print(type(error).__name__)


@alone
def memset_too_far():
    """A memset past the allocation: LogicError, or silence, as recorded."""
    drv.memset_d8(drv.mem_alloc(512), 0, 3 << 20)


def memset_2d():
    """memset_d2d32 takes pitch, value, width and height."""
    a, pitch = drv.mem_alloc_pitch(12, 2, 4)
    print(type(a).__name__, pitch >= 12, pitch % 32)
    drv.memset_d2d32(a, pitch, 5, 3, 2)
    print(drv.from_device(int(a) + pitch, 3, np.int32))


def to_device_and_back():
    """to_device, from_device and from_device_like."""
    x = np.arange(6, dtype=np.float64).reshape(3, 2)
    a = drv.to_device(x)
    print(type(a).__name__, drv.from_device(a, (3, 2), np.float64))
    print(drv.from_device_like(a, x).dtype, drv.from_device(a, 2, "f8"))


def mem_alloc_like():
    """mem_alloc_like takes an array's size."""
    print(type(drv.mem_alloc_like(np.zeros(3))).__name__)


def memcpy_atoh_is_there():
    """Copies of arrays and 2D copies have their names."""
    print([hasattr(drv, n) for n in ("Memcpy2D", "Memcpy3D", "memcpy_atoh", "memcpy_peer")])


def memcpy_2d():
    """Memcpy2D copies a rectangle from the host to a pitched allocation and back."""
    x, y = np.arange(6, dtype=np.int32).reshape(2, 3), np.zeros((2, 3), dtype=np.int32)
    a, pitch = drv.mem_alloc_pitch(12, 2, 4)
    copy = drv.Memcpy2D()
    copy.set_src_host(x)
    copy.set_dst_device(a)
    copy.width_in_bytes, copy.src_pitch, copy.dst_pitch, copy.height = 12, 12, pitch, 2
    copy(aligned=True)
    back = drv.Memcpy2D()
    back.set_src_device(a)
    back.set_dst_host(y)
    back.width_in_bytes, back.src_pitch, back.dst_pitch, back.height = 12, pitch, 12, 2
    back(aligned=False)
    print(y)


def pointer_holder():
    """A subclass of PointerHolderBase with get_pointer passes as a pointer."""

    class Holder(drv.PointerHolderBase):
        def get_pointer(self):
            return int(a)

    a, y = drv.to_device(np.arange(4, dtype=np.int32)), np.zeros(4, dtype=np.int32)
    h = Holder()
    Attempt(lambda: drv.memcpy_dtoh(y, h))
    Attempt(lambda: int(h) == int(a))
    print(y)


def pointer_holder_without_a_pointer():
    """A subclass without get_pointer: an error when it is asked."""

    class Holder(drv.PointerHolderBase):
        pass

    try:
        drv.memcpy_dtoh(np.zeros(4), Holder())
    except Exception as error:
        print(type(error).__name__)
