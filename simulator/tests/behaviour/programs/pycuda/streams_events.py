"""Streams and events of PyCUDA. A kernel that spins keeps what must still be running."""

import numpy as np
import pycuda.autoprimaryctx
import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import SourceModule

SPIN = SourceModule(r"""
__global__ void spin(int* out, int value, long long cycles) {
    long long start = clock64();
    while (clock64() - start < cycles) __nanosleep(50000);
    if (out != nullptr) out[0] = value;
}
""").get_function("spin")
LONG = np.int64(500_000_000)  # about a quarter of a second
NULL, ONE = np.intp(0), {"block": (1, 1, 1)}
SPIN(NULL, np.int32(0), np.int64(0), **ONE)
drv.Context.synchronize()


def stream():
    """A stream has a handle, is done, and returns None from synchronize."""
    s = drv.Stream()
    print(type(s.handle).__name__, s.handle > 2, s.is_done(), s.synchronize())
    print(drv.Stream(0).handle == s.handle, drv.Stream(flags=1).is_done())


def stream_with_a_priority():
    """Stream takes flags only: the binding refuses a second argument, or not, as recorded."""
    try:
        drv.Stream(0, -1)
        print("done")
    except Exception as error:
        print(type(error).__name__)


def streams_compare():
    """Two streams are different; a stream equals itself."""
    a, b = drv.Stream(), drv.Stream()
    print(a == a, a == b, a != b, hash(a) == hash(a))


def launch_returns_at_once():
    """A launch on a stream returns before its kernel has run."""
    s = drv.Stream()
    SPIN(NULL, np.int32(0), LONG, **ONE, stream=s)
    print(s.is_done())
    s.synchronize()
    print(s.is_done())


def launch_without_a_stream_returns_at_once():
    """So does a launch on the default stream; a copy waits for it."""
    x, e, host = gpuarray.zeros(1, np.int32), drv.Event(), np.zeros(1, dtype=np.int32)
    drv.Context.synchronize()
    SPIN(x, np.int32(7), LONG, **ONE)
    e.record()
    print(e.query())
    drv.memcpy_dtoh(host, x.gpudata)
    print(host, e.query())


def event():
    """record returns the event, query says whether it is done, synchronize returns it."""
    e = drv.Event()
    print(e.record() is e, e.synchronize() is e, e.query())


def event_that_was_never_recorded():
    """It counts as done."""
    e = drv.Event()
    print(e.query(), e.synchronize() is e)


def event_on_a_stream():
    """record(stream) marks that stream's work."""
    s, e = drv.Stream(), drv.Event()
    SPIN(NULL, np.int32(0), LONG, **ONE, stream=s)
    print(e.record(s) is e, e.query())
    e.synchronize()
    print(e.query(), s.is_done())


def wait_for_event():
    """wait_for_event lets a stream wait for another's event."""
    x, host = gpuarray.zeros(1, np.int32), drv.pagelocked_zeros(1, np.int32)
    s, t, e = drv.Stream(1), drv.Stream(1), drv.Event()
    drv.Context.synchronize()
    SPIN(x, np.int32(7), LONG, **ONE, stream=s)
    print(t.wait_for_event(e.record(s)), t.is_done())
    drv.memcpy_dtoh_async(host, x.gpudata, t)
    t.synchronize()
    print(host)


def forgetting_to_wait_reads_stale_data():
    """Without the event the second stream copies what was there before."""
    x, host = gpuarray.zeros(1, np.int32), drv.pagelocked_zeros(1, np.int32)
    s, t = drv.Stream(1), drv.Stream(1)
    drv.Context.synchronize()
    SPIN(x, np.int32(7), LONG, **ONE, stream=s)
    drv.memcpy_dtoh_async(host, x.gpudata, t)
    t.synchronize()
    print(host, s.is_done())
    s.synchronize()


def time_till_and_since():
    """time_since and time_till are milliseconds, of opposite directions."""
    a, b = drv.Event(), drv.Event()
    a.record()
    SPIN(NULL, np.int32(0), LONG, **ONE)
    b.record()
    b.synchronize()
    print(type(a.time_till(b)).__name__, 50 < a.time_till(b) < 10_000)
    print(a.time_till(b) == b.time_since(a), a.time_since(b) < 0)


def time_of_unrecorded_events():
    """Events that were never recorded: LogicError."""
    drv.Event().time_till(drv.Event())


def time_too_early():
    """An event that is not done yet: RuntimeError, of PyCUDA."""
    a, b, s = drv.Event(), drv.Event(), drv.Stream(1)
    a.record(s)
    SPIN(NULL, np.int32(0), LONG, **ONE, stream=s)
    b.record(s)
    try:
        a.time_till(b)
    finally:
        s.synchronize()


def time_without_timing():
    """Events with DISABLE_TIMING have no time: LogicError."""
    flags = drv.event_flags.DISABLE_TIMING
    a, b = drv.Event(flags), drv.Event(flags)
    a.record()
    b.record()
    b.synchronize()
    a.time_till(b)


def default_stream_waits_for_blocking_streams():
    """Work on the default stream waits for a stream made without flags."""
    x, s, host = gpuarray.zeros(1, np.int32), drv.Stream(), np.zeros(1, dtype=np.int32)
    drv.Context.synchronize()
    SPIN(x, np.int32(7), LONG, **ONE, stream=s)
    drv.memcpy_dtoh(host, x.gpudata)
    print(host, s.is_done())


def default_stream_ignores_non_blocking_streams():
    """It does not wait for a stream with flags=1."""
    x, s, host = gpuarray.zeros(1, np.int32), drv.Stream(1), drv.pagelocked_zeros(1, np.int32)
    drv.Context.synchronize()
    SPIN(x, np.int32(7), LONG, **ONE, stream=s)
    drv.memcpy_dtoh(host, x.gpudata)
    print(host, s.is_done())
    s.synchronize()


def asynchronous_copy_of_pagelocked_memory():
    """memcpy_dtoh_async into page-locked memory returns while the stream still works."""
    x, s, host = gpuarray.zeros(1, np.int32), drv.Stream(1), drv.pagelocked_zeros(1, np.int32)
    drv.Context.synchronize()
    SPIN(x, np.int32(7), LONG, **ONE, stream=s)
    drv.memcpy_dtoh_async(host, x.gpudata, s)
    print(host, s.is_done())
    s.synchronize()
    print(host)


def pagelocked_source_refilled_too_early():
    """memcpy_htod_async reads page-locked memory late: what was refilled meanwhile arrives."""
    x, s, host = gpuarray.zeros(1, np.int32), drv.Stream(1), drv.pagelocked_zeros(1, np.int32)
    drv.Context.synchronize()
    host[0] = 1
    SPIN(NULL, np.int32(0), LONG, **ONE, stream=s)
    drv.memcpy_htod_async(x.gpudata, host, s)
    host[0] = 2
    s.synchronize()
    print(x)


def inout_with_a_stream_does_not_wait():
    """InOut copies back at once although the stream has not run: what was there before."""
    host, s = np.zeros(1, dtype=np.int32), drv.Stream(1)
    SPIN(drv.InOut(host), np.int32(7), LONG, **ONE, stream=s)
    print(host, s.is_done())
    s.synchronize()


def inout_with_a_blocking_stream():
    """On a stream without flags the copy back waits, for it runs on the default stream."""
    host, s = np.zeros(1, dtype=np.int32), drv.Stream()
    SPIN(drv.InOut(host), np.int32(7), LONG, **ONE, stream=s)
    print(host, s.is_done())


def memset_and_copy_on_a_stream():
    """memset_d32_async and memcpy_dtod_async take a stream."""
    a, b, s = drv.mem_alloc(16), drv.mem_alloc(16), drv.Stream()
    drv.memset_d32_async(a, 9, 4, s)
    drv.memcpy_dtod_async(b, a, 16, s)
    s.synchronize()
    print(drv.from_device(b, 4, np.int32))


def get_async():
    """GPUArray.get_async on a stream gives an array that is filled later."""
    x, s = gpuarray.to_gpu(np.arange(3, dtype=np.int32)), drv.Stream()
    host = x.get_async(stream=s)
    s.synchronize()
    print(host, type(host.base).__name__)


def context_synchronize_waits_for_all():
    """Context.synchronize waits for non-blocking streams, too."""
    s = drv.Stream(1)
    SPIN(NULL, np.int32(0), LONG, **ONE, stream=s)
    drv.Context.synchronize()
    print(s.is_done())


def stream_dropped_while_busy():
    """A stream that is dropped finishes its work."""
    x = gpuarray.zeros(1, np.int32)
    drv.Context.synchronize()
    SPIN(x, np.int32(7), LONG, **ONE, stream=drv.Stream(1))
    drv.Context.synchronize()
    print(x)


def event_flags_unknown():
    """Stream(flags=99) is a LogicError."""
    drv.Stream(99)
