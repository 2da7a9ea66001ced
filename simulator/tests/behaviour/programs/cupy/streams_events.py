"""Streams and events. What must still be running is kept so by a kernel that spins."""

import time

import cupy as cp
import cupyx
import numpy as np

from tests.behaviour.marks import alone

SPIN = cp.RawKernel(r"""
extern "C" __global__ void spin(int* out, int value, long long cycles) {
    long long start = clock64();
    while (clock64() - start < cycles) __nanosleep(50000);
    if (out != nullptr) out[0] = value;
}
""", "spin")
LONG = 500_000_000  # about a quarter of a second
SPIN((1,), (1,), (None, 0, 0))  # compiled and loaded, so that nothing later waits for that
cp.zeros(2, dtype=cp.int32).fill(1)
cp.cuda.Device().synchronize()


class Behind:
    """Whether the host is held up by an operation behind a spin of a sixteenth of a second."""

    def waits(self, operation, *arguments):
        s = cp.cuda.Stream(non_blocking=True)
        with s:
            operation(*arguments)
            s.synchronize()
            SPIN((1,), (1,), (None, 0, LONG // 4))
            start = time.perf_counter()
            operation(*arguments)
            seconds = time.perf_counter() - start
            s.synchronize()
        return seconds > 0.02


waits = Behind().waits


def launch_returns_at_once():
    """A launch returns before its kernel has run."""
    s = cp.cuda.Stream()
    with s:
        SPIN((1,), (1,), (None, 0, LONG))
    print(s.done)
    s.synchronize()
    print(s.done)


def event_is_done_after_the_work_before_it():
    """An event is done when what was queued before it is."""
    s, before, after = cp.cuda.Stream(), cp.cuda.Event(), cp.cuda.Event()
    before.record(s)
    before.synchronize()
    with s:
        SPIN((1,), (1,), (None, 0, LONG))
    after.record(s)
    print(before.done, after.done)
    after.synchronize()
    print(after.done, s.done)


def event_that_was_never_recorded():
    """It counts as done, and synchronize returns."""
    e = cp.cuda.Event()
    e.synchronize()
    print(e.done)


def event_records_on_the_current_stream():
    """record() without a stream records on the current one."""
    s, e = cp.cuda.Stream(non_blocking=True), cp.cuda.Event()
    with s:
        SPIN((1,), (1,), (None, 0, LONG))
        e.record()
    print(e.done)
    s.synchronize()
    print(e.done)


def stream_record_returns_an_event():
    """stream.record() makes an event and returns it."""
    s = cp.cuda.Stream()
    e = s.record()
    e.synchronize()
    print(type(e).__name__, e.done, s.record(e) is e)


def stream_is_in_order():
    """Work on one stream runs in its order."""
    x, s = cp.zeros(1, dtype=cp.int32), cp.cuda.Stream()
    cp.cuda.Device().synchronize()
    with s:
        SPIN((1,), (1,), (x, 7, LONG))
        y = x + 1
    s.synchronize()
    print(y)


def streams_are_independent():
    """A second stream's work is done while the first still spins."""
    s, t = cp.cuda.Stream(non_blocking=True), cp.cuda.Stream(non_blocking=True)
    SPIN((1,), (1,), (None, 0, LONG), stream=s)
    SPIN((1,), (1,), (None, 0, 0), stream=t)
    t.synchronize()
    print(s.done, t.done)
    s.synchronize()


def forgetting_to_wait_reads_stale_data():
    """Without an event the second stream reads what was there before."""
    x = cp.zeros(1, dtype=cp.int32)
    host = cupyx.zeros_pinned(1, dtype=np.int32)
    s, t = cp.cuda.Stream(non_blocking=True), cp.cuda.Stream(non_blocking=True)
    cp.cuda.Device().synchronize()
    SPIN((1,), (1,), (x, 7, LONG), stream=s)
    x.get(stream=t, out=host)
    print(host[0], s.done)
    s.synchronize()
    print(x)


def wait_event_orders_two_streams():
    """wait_event makes the second stream wait for the first's result."""
    x = cp.zeros(1, dtype=cp.int32)
    host = cupyx.zeros_pinned(1, dtype=np.int32)
    s, t = cp.cuda.Stream(non_blocking=True), cp.cuda.Stream(non_blocking=True)
    cp.cuda.Device().synchronize()
    SPIN((1,), (1,), (x, 7, LONG), stream=s)
    t.wait_event(s.record())
    print(t.done)
    x.get(stream=t, out=host)
    print(host[0])


def default_stream_waits_for_blocking_streams():
    """Work on the default stream waits for streams made without non_blocking."""
    x, s = cp.zeros(1, dtype=cp.int32), cp.cuda.Stream()
    cp.cuda.Device().synchronize()
    SPIN((1,), (1,), (x, 7, LONG), stream=s)
    y = x + 1
    print(y)
    print(s.done)


def default_stream_ignores_non_blocking_streams():
    """Work on the default stream does not wait for a non-blocking stream."""
    x, s = cp.zeros(1, dtype=cp.int32), cp.cuda.Stream(non_blocking=True)
    cp.cuda.Device().synchronize()
    SPIN((1,), (1,), (x, 7, LONG), stream=s)
    SPIN((1,), (1,), (None, 0, 0))
    cp.cuda.Stream.null.synchronize()
    print(s.done)
    s.synchronize()


def blocking_streams_wait_for_the_default_stream():
    """A blocking stream's work waits for earlier work on the default stream."""
    s, t = cp.cuda.Stream(), cp.cuda.Stream(non_blocking=True)
    SPIN((1,), (1,), (None, 0, LONG))
    SPIN((1,), (1,), (None, 0, 0), stream=s)
    SPIN((1,), (1,), (None, 0, 0), stream=t)
    t.synchronize()
    print(s.done, t.done, cp.cuda.Stream.null.done)
    cp.cuda.Device().synchronize()


def get_waits():
    """get() blocks until the value is there."""
    x = cp.zeros(1, dtype=cp.int32)
    SPIN((1,), (1,), (x, 7, LONG))
    print(x.get())


def get_without_blocking():
    """get(blocking=False) into pinned memory returns while the stream still works."""
    x, host = cp.zeros(1, dtype=cp.int32), cupyx.zeros_pinned(1, dtype=np.int32)
    s = cp.cuda.Stream(non_blocking=True)
    cp.cuda.Device().synchronize()
    SPIN((1,), (1,), (x, 7, LONG), stream=s)
    x.get(stream=s, out=host, blocking=False)
    print(host[0], s.done)
    s.synchronize()
    print(host[0])


def set_does_not_wait():
    """set() returns while the stream still works."""
    x, host = cp.zeros(1, dtype=cp.int32), cupyx.zeros_pinned(1, dtype=np.int32)
    s = cp.cuda.Stream(non_blocking=True)
    cp.cuda.Device().synchronize()
    SPIN((1,), (1,), (None, 0, LONG), stream=s)
    x.set(host, stream=s)
    print(s.done)
    s.synchronize()


def pinned_source_refilled_too_early():
    """set() from pinned memory reads it later: what was refilled meanwhile arrives."""
    x, host = cp.zeros(1, dtype=cp.int32), cupyx.zeros_pinned(1, dtype=np.int32)
    s = cp.cuda.Stream(non_blocking=True)
    cp.cuda.Device().synchronize()
    host[0] = 1
    SPIN((1,), (1,), (None, 0, LONG), stream=s)
    x.set(host, stream=s)
    host[0] = 2
    s.synchronize()
    print(x)


def pageable_source_is_staged():
    """set() from ordinary memory has copied it when it returns."""
    x, host = cp.zeros(1, dtype=cp.int32), np.array([1], dtype=np.int32)
    x.set(host)
    s = cp.cuda.Stream(non_blocking=True)
    cp.cuda.Device().synchronize()
    SPIN((1,), (1,), (None, 0, LONG), stream=s)
    x.set(host, stream=s)
    host[0] = 2
    s.synchronize()
    print(x)


def device_synchronize_waits_for_all():
    """Device().synchronize() waits for non-blocking streams, too."""
    s = cp.cuda.Stream(non_blocking=True)
    SPIN((1,), (1,), (None, 0, LONG), stream=s)
    cp.cuda.Device().synchronize()
    print(s.done)


def elapsed_time_of_a_spin():
    """get_elapsed_time is in milliseconds: a spin of a quarter of a second lies far above zero."""
    a, b = cp.cuda.Event(), cp.cuda.Event()
    a.record()
    SPIN((1,), (1,), (None, 0, LONG))
    b.record()
    b.synchronize()
    milliseconds = cp.cuda.get_elapsed_time(a, b)
    print(type(milliseconds).__name__, 50 < milliseconds < 10_000)


def elapsed_time_of_unrecorded_events():
    """Events that were never recorded have no time between them: CUDARuntimeError."""
    cp.cuda.get_elapsed_time(cp.cuda.Event(), cp.cuda.Event())


def elapsed_time_too_early():
    """An event that is not done yet: CUDARuntimeError, not ready."""
    a, b, s = cp.cuda.Event(), cp.cuda.Event(), cp.cuda.Stream(non_blocking=True)
    a.record(s)
    SPIN((1,), (1,), (None, 0, LONG), stream=s)
    b.record(s)
    cp.cuda.get_elapsed_time(a, b)


def elapsed_time_without_timing():
    """An event with disable_timing has no time: CUDARuntimeError."""
    a, b = cp.cuda.Event(disable_timing=True), cp.cuda.Event(disable_timing=True)
    a.record()
    b.record()
    b.synchronize()
    cp.cuda.get_elapsed_time(a, b)


def interprocess_event():
    """interprocess without disable_timing is a ValueError."""
    cp.cuda.Event(interprocess=True)


def event_has_no_wait():
    """An event cannot be waited for by a method wait: AttributeError."""
    cp.cuda.Event().wait()


def default_stream():
    """Stream.null is stream 0; a new Stream(null=True) equals it."""
    print(cp.cuda.Stream.null, cp.cuda.Stream.null.ptr, cp.cuda.Stream(null=True).ptr)
    print(cp.cuda.Stream(null=True) == cp.cuda.Stream.null, cp.cuda.get_current_stream().ptr)


def streams_compare_by_pointer():
    """Two streams differ; a stream equals itself and can be a key."""
    s, t = cp.cuda.Stream(), cp.cuda.Stream()
    print(s == t, s == s, len({s, t, s}), s == 0)


def with_restores_the_stream():
    """with stream: makes it current and restores what was before, also nested."""
    s, t = cp.cuda.Stream(), cp.cuda.Stream()
    with s:
        with t:
            print(cp.cuda.get_current_stream() == t)
        print(cp.cuda.get_current_stream() == s)
    print(cp.cuda.get_current_stream() == cp.cuda.Stream.null)


def use_stays():
    """use() makes a stream current until another is; it returns the stream."""
    s = cp.cuda.Stream()
    print(s.use() is s, cp.cuda.get_current_stream() == s)
    cp.cuda.Stream.null.use()
    print(cp.cuda.get_current_stream() == cp.cuda.Stream.null)


def with_after_an_error():
    """with restores the stream after an exception, too."""
    try:
        with cp.cuda.Stream():
            raise KeyError("x")
    except KeyError:
        print(cp.cuda.get_current_stream() == cp.cuda.Stream.null)


def current_stream_is_per_thread():
    """Another thread begins with the default stream."""
    import threading

    seen = []
    with cp.cuda.Stream():
        thread = threading.Thread(target=lambda: seen.append(cp.cuda.get_current_stream().ptr))
        thread.start()
        thread.join()
    print(seen)


def attributes():
    """priority and is_non_blocking can be read."""
    print(cp.cuda.Stream().is_non_blocking, cp.cuda.Stream(non_blocking=True).is_non_blocking)
    print(cp.cuda.Stream().priority, cp.cuda.Stream.null.priority, cp.cuda.Stream.null.done)


def priorities():
    """A higher priority is a smaller number; beyond the range it is clamped."""
    print(cp.cuda.Stream(priority=-1).priority, cp.cuda.Stream(priority=5).priority)


def per_thread_default_stream():
    """Stream.ptds is stream 2."""
    print(cp.cuda.Stream.ptds.ptr, cp.cuda.Stream(ptds=True) == cp.cuda.Stream.ptds)


def cuda_stream_protocol():
    """__cuda_stream__ is (0, pointer)."""
    s = cp.cuda.Stream()
    print(s.__cuda_stream__() == (0, s.ptr))


def from_external():
    """from_external takes any object with __cuda_stream__ and shares the stream."""
    s = cp.cuda.Stream()

    class Foreign:
        def __cuda_stream__(self):
            return (0, s.ptr)

    t = cp.cuda.Stream.from_external(Foreign())
    print(t == s, type(t).__name__)


def from_external_of_an_integer():
    """from_external of a number is a TypeError."""
    cp.cuda.Stream.from_external(12345)


def from_external_of_a_wrong_protocol():
    """A __cuda_stream__ that gives no pair is a TypeError."""
    class Wrong:
        def __cuda_stream__(self):
            return 7

    cp.cuda.Stream.from_external(Wrong())


def external_stream():
    """ExternalStream takes a pointer and warns that it is deprecated."""
    s = cp.cuda.Stream()
    print(cp.cuda.ExternalStream(s.ptr) == s)


def host_function():
    """launch_host_func calls Python when the work before it is done."""
    seen, s = [], cp.cuda.Stream()
    with s:
        SPIN((1,), (1,), (None, 0, LONG // 8))
        s.launch_host_func(seen.append, "called")
        print(seen)
    s.synchronize()
    print(seen)


def callback():
    """add_callback calls with stream, status and argument."""
    seen, s = [], cp.cuda.Stream()
    s.add_callback(lambda stream, status, arg: seen.append((stream == s, status, arg)), "x")
    s.synchronize()
    print(seen)


def what_waits_for_the_device():
    """float(), bool() and get() wait, and whatever must know how many are true; sums do not."""
    x = cp.arange(4)
    mask = x > 1
    cp.cuda.Device().synchronize()
    for operation in (lambda: x + 1, lambda: x[1:], lambda: x.sum(), lambda: x[[1, 2]],
                      lambda: x[mask], lambda: float(x[0]), lambda: bool(x[0]), x.get,
                      lambda: f"{x}"):
        print(waits(operation), end=" ")


def assigning_through_a_mask_waits():
    """x[mask] = a scalar, and x[mask] = an array, wait as x[mask] does."""
    x = cp.arange(4)
    mask, y = x > 1, cp.array([2, 3])
    cp.cuda.Device().synchronize()
    print(waits(lambda: x.__setitem__(mask, 0)), waits(lambda: x.__setitem__(mask, y)))


def functions_that_wait():
    """Functions whose result's size depends on values wait, and bincount, and histogram."""
    x = cp.arange(4)
    cp.cuda.Device().synchronize()
    for function in (cp.nonzero, cp.argwhere, cp.unique, cp.bincount, cp.histogram):
        print(function.__name__, waits(function, x))


def sliding_window_view_waits():
    """sliding_window_view waits, although it only makes a view; as_strided does not."""
    x, tricks = cp.arange(9), cp.lib.stride_tricks
    cp.cuda.Device().synchronize()
    print(waits(tricks.sliding_window_view, x, 3), waits(tricks.as_strided, x, (7, 3), (8, 8)))


def functions_that_do_not_wait():
    """Counting, sorting and the median do not wait."""
    x = cp.arange(4)
    cp.cuda.Device().synchronize()
    for function in (cp.count_nonzero, cp.sort, cp.median):
        print(function.__name__, waits(function, x))


def which_linear_algebra_waits():
    """solve and inv do not wait, svd does."""
    a, b = cp.eye(3), cp.ones(3)
    cp.cuda.Device().synchronize()
    print(waits(lambda: a @ a), waits(lambda: cp.linalg.solve(a, b)),
          waits(lambda: cp.linalg.inv(a)), waits(lambda: cp.linalg.svd(a)))


def asarray_does_not_wait():
    """cp.asarray of a small NumPy array returns while the stream still works."""
    host = np.arange(4)
    cp.asarray(host)
    s = cp.cuda.Stream(non_blocking=True)
    with s:
        cp.asarray(host)
        s.synchronize()
        SPIN((1,), (1,), (None, 0, LONG))
        x = cp.asarray(host)
        print(s.done)
    s.synchronize()
    print(x)


def printing_waits():
    """str of an array waits for its stream."""
    x = cp.zeros(1, dtype=cp.int32)
    cp.cuda.Device().synchronize()
    SPIN((1,), (1,), (x, 7, LONG))
    print(x)


def block_freed_and_reused_on_one_stream():
    """A freed block is given out again at once: on one stream order makes that right."""
    pool, s = cp.cuda.MemoryPool(), cp.cuda.Stream()
    with cp.cuda.using_allocator(pool.malloc), s:
        x = cp.ndarray(1, dtype=cp.int32)
        address = x.data.ptr
        SPIN((1,), (1,), (x, 7, LONG // 4))
        y = cp.ndarray(1, dtype=cp.int32)
        y[...] = x
        del x
        z = cp.ndarray(1, dtype=cp.int32)
        z[...] = 9
        print(z.data.ptr == address, y, z)


@alone
def launch_on_what_is_no_stream():
    """A launch on an object that is no stream is an AttributeError or a
    TypeError."""
    SPIN((1,), (1,), (None, 0, 0), stream="s")
