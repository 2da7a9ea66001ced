"""Order between streams: what has none is found whatever the times were, and nothing else is."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest
from engine_support import array, pack
from test_process import run_python

from nogpu import engine
from nogpu.engine import order, streams
from nogpu.engine.streams import Event, Stream

SOURCE = r"""
__global__ void put(int* x, int value, int first, int count, long long cycles) {
    long long start = clock64();
    while (clock64() - start < cycles) { }
    for (int i = first; i < first + count; i++) x[i] = value;
}
__global__ void look(const int* x, int* y, int first, int count) {
    for (int i = first; i < first + count; i++) y[i] = x[i];
}
__global__ void count_up(int* x) { atomicAdd(x, 1); }
__global__ void nothing(int* x) { }
"""
SLOW = 50_000_000


@pytest.fixture(scope="module")
def module() -> engine.Module:
    return engine.compile(SOURCE)


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    yield
    while True:
        try:
            streams.synchronize()
            return
        except engine.StreamRace:
            pass


def two() -> tuple[Stream, Stream]:
    return Stream(non_blocking=True), Stream(non_blocking=True)


def numbers(count: int = 100, name: str = "x") -> engine.Allocation:
    return array(np.zeros(count, np.int32), name)


def put(module, stream, x, first=0, count=1, cycles=0) -> None:
    arguments = pack(x, np.int32(7), np.int32(first), np.int32(count), np.int64(cycles))
    stream.launch(module.kernel("put"), (1,), (1,), arguments)


def look(module, stream, x, y, first=0, count=1) -> None:
    arguments = pack(x, y, np.int32(first), np.int32(count))
    stream.launch(module.kernel("look"), (1,), (1,), arguments)


def found(*parts: str) -> engine.StreamRace:
    with pytest.raises(engine.StreamRace) as caught:
        streams.synchronize()
    for part in parts:
        assert part in str(caught.value)
    streams.synchronize()  # it comes once
    return caught.value


def view(x: engine.Allocation, *where: slice, shape: tuple[int, ...] = (10, 10)) -> np.ndarray:
    return engine.view(x.address, x.nbytes, np.int32).reshape(shape)[where]


# ---- what is found -------------------------------------------------------------------------------


def write(stream: Stream, target: np.ndarray) -> None:
    stream.run(lambda: target.fill(1), 0, "fill")


def read(stream: Stream, source: np.ndarray) -> None:
    stream.run(lambda: source.sum(), 0, "sum")


@pytest.mark.parametrize("first, second", [(write, read), (read, write), (write, write)])
def test_array_work(first, second) -> None:
    (s, t), x = two(), numbers()
    first(s, view(x, slice(0, 5)))
    second(t, view(x, slice(4, 10)))
    race = found("elements 40 to 49 of array 'x'", f"stream {s.handle:#x}", "test_order.py:")
    assert race.streams == (t.handle, s.handle) and race.array == "x" and race.index == 40
    assert race.access == ("write" if second is write else "read")
    assert all(site[0] == __file__ for site in race.sites)


@pytest.mark.parametrize("slow", [0, SLOW])
def test_a_kernel_and_a_copy(module, slow) -> None:
    (s, t), x, host = two(), numbers(), engine.PageLocked(400)
    put(module, s, x, 3, 2, slow)
    t.copy(host.address, x.address, 400, "DtoH", pinned=True)
    race = found("kernel 'put' on stream", "element 3 of array 'x'", "copy DtoH")
    assert race.index == 3


@pytest.mark.parametrize("slow", [0, SLOW])
@pytest.mark.parametrize("both_write", [True, False])
def test_two_kernels(module, slow, both_write) -> None:
    (s, t), x, y = two(), numbers(), numbers(name="y")
    put(module, s, x, 0, 50, slow)
    if both_write:
        put(module, t, x, 49, 50)
    else:
        look(module, t, x, y, 49, 50)
    race = found("element 49 of array 'x'", "kernel 'put'")
    assert set(race.streams) == {s.handle, t.handle}


def test_launches_of_a_stream_that_works_alone(module) -> None:
    (s, t), x, y = two(), numbers(), numbers(name="y")
    streams.synchronize()
    for one in (x, y, x):
        put(module, s, one)
    assert len(order._log) == 2  # noted when there is something to compare them with
    put(module, t, y)
    race = found("of array 'y'")
    assert set(race.streams) == {s.handle, t.handle} and not order._log
    for stream in (t, s, t):
        for _ in range(3):
            put(module, stream, x)
        assert len(order._log) == 2
        stream.synchronize()  # whatever comes now is in order
        assert not order._log
    streams.synchronize()


def test_lines_of_launches_at_several_depths(module) -> None:
    x, kernel = numbers(), module.kernel("put")
    (s, t), arguments = two(), pack(x, *np.int32([7, 0, 1]), np.int64(0))
    t.begin_capture()
    t.launch(kernel, (1,), (1,), arguments)
    graph = t.end_capture()
    lines = set()

    def launch(stream: Stream | None, depth: int) -> None:
        if depth:
            launch(stream, depth - 1)
        elif stream is not None:
            lines.add(sys._getframe().f_lineno + 1)
            stream.launch(kernel, (1,), (1,), arguments)
        else:
            lines.add(sys._getframe().f_lineno + 1)
            graph.launch(t)

    for depth in range(6):
        launch(s, depth % 3)
        launch(None, depth % 2)
        assert len(lines) == 2 and {line for _, line in found().sites} == lines, depth


def test_work_on_the_default_stream_and_a_non_blocking_one(module) -> None:
    s, x = Stream(non_blocking=True), numbers()
    write(streams.null, view(x))
    put(module, s, x)
    found("on the default stream", "element 0 of array 'x'")


def test_an_event_that_is_recorded_too_early(module) -> None:
    (s, t), x, event = two(), numbers(), Event()
    s.record(event)
    put(module, s, x)
    t.wait(event)
    read(t, view(x))
    found("'sum'", "kernel 'put'")


def test_a_graph_s_work(module) -> None:
    (s, t), x = two(), numbers()
    s.begin_capture()
    write(s, view(x))
    graph = s.end_capture()
    graph.launch(s)
    read(t, view(x))
    found("'sum'")


@pytest.mark.parametrize("count", [1, 100_000])
def test_a_buffer_filled_again_before_its_copy_is_waited_for(count) -> None:
    s, x, host = Stream(), numbers(count), engine.PageLocked(4 * count)
    values = np.ctypeslib.as_array((np.ctypeslib.ctypes.c_int * count).from_address(host.address))
    values[:] = 1
    s.copy(x.address, host.address, 4 * count, "HtoD", (host,), pinned=True)
    assert values.sum() == count  # reading is allowed
    values[-1] = 2
    race = found("the host writes page-locked memory", "copy HtoD", "the host has not waited")
    assert race.streams == (None, s.handle)
    values[-1] = 3
    streams.synchronize()


@pytest.mark.parametrize("count", [1, 100_000])
def test_a_result_that_is_read_before_its_copy_is_waited_for(count) -> None:
    s, x, host = Stream(), numbers(count), engine.PageLocked(4 * count)
    values = np.ctypeslib.as_array((np.ctypeslib.ctypes.c_int * count).from_address(host.address))
    s.copy(host.address, x.address, 4 * count, "DtoH", (host,), pinned=True)
    values.sum()
    found("the host reads page-locked memory", "copy DtoH")
    assert (values == 0).all()


def test_what_nobody_waits_for_is_told_at_the_end() -> None:
    done = run_python("""
        import numpy as np
        from nogpu import engine
        s, t = (engine.streams.Stream(non_blocking=True) for _ in range(2))
        x = engine.allocate(400, "x")
        def fill(target):
            for stream in (s, t):
                stream.run(lambda: target.fill(1))
        fill(engine.view(x.address, 400, np.int32))
    """)
    assert done.returncode == 0
    assert "nogpu.StreamRace: missing order between streams" in done.stderr


# ---- what is in order ----------------------------------------------------------------------------


def with_event(s: Stream, t: Stream) -> None:
    event = Event()
    s.record(event)
    t.wait(event)


def by_query(s: Stream, t: Stream) -> None:
    while not s.done:
        pass


def by_event_query(s: Stream, t: Stream) -> None:
    event = Event()
    s.record(event)
    while not event.done:
        pass


def by_host_function(s: Stream, t: Stream) -> None:
    told = threading.Event()
    s.call(told.set)
    assert told.wait(30)


def by_third_stream(s: Stream, t: Stream) -> None:
    between = Stream(non_blocking=True)
    with_event(s, between)
    with_event(between, t)


ORDERS = [
    with_event, by_query, by_event_query, by_host_function, by_third_stream,
    lambda s, t: s.synchronize(), lambda s, t: streams.synchronize(),
]  # fmt: skip


@pytest.mark.parametrize("put_in_order", ORDERS)
def test_work_that_is_in_order(module, put_in_order) -> None:
    (s, t), x, y, host = two(), numbers(), numbers(name="y"), engine.PageLocked(400)
    put(module, s, x, 0, 100)
    write(s, view(y))
    put_in_order(s, t)
    look(module, t, x, y, 0, 100)
    read(t, view(y))
    t.copy(host.address, y.address, 400, "DtoH", pinned=True)
    streams.synchronize()


def test_the_legacy_default_stream_orders_blocking_streams(module) -> None:
    s, t, x = Stream(), Stream(), numbers()
    put(module, s, x)
    read(streams.null, view(x))
    put(module, t, x)
    streams.null.synchronize()
    write(Stream(non_blocking=True), view(x))
    streams.synchronize()


def test_parts_of_one_array_on_two_streams(module) -> None:
    (s, t), x, y = two(), numbers(), numbers(name="y")
    put(module, s, x, 0, 50, SLOW)
    put(module, t, x, 50, 50)
    write(s, view(y, slice(None), slice(0, 5)))
    write(t, view(y, slice(None), slice(5, 10)))
    write(s, view(y, slice(None), slice(0, 5)))
    streams.synchronize()
    put(module, s, x, 0, 50)
    read(t, view(x, slice(5, 10)))
    streams.synchronize()


def test_reading_from_two_streams(module) -> None:
    (s, t), x, hosts = two(), numbers(), [engine.PageLocked(400) for _ in range(2)]
    for stream, host in zip((s, t), hosts, strict=True):
        look(module, stream, x, numbers(name="y"))
        stream.copy(host.address, x.address, 400, "DtoH", pinned=True)
        read(stream, view(x))
        stream.launch(module.kernel("nothing"), (1,), (1,), pack(x))
    streams.synchronize()


def test_atomic_operations_of_two_streams(module) -> None:
    (s, t), x = two(), numbers()
    for stream in (s, t):
        stream.launch(module.kernel("count_up"), (4,), (32,), pack(x))
    streams.synchronize()


def test_a_pipeline_that_waits_for_its_buffers() -> None:
    (s, t), device = two(), numbers(1000)
    hosts = [engine.PageLocked(4000) for _ in range(2)]
    values = [np.ctypeslib.as_array((np.ctypeslib.ctypes.c_int * 1000).from_address(h.address))
              for h in hosts]  # fmt: skip
    copied, free = [Event(), Event()], Event()
    for step in range(6):
        turn = step % 2
        copied[turn].synchronize()
        values[turn][:] = step
        s.wait(free)
        s.copy(device.address, hosts[turn].address, 4000, "HtoD", pinned=True)
        s.record(copied[turn])
        t.wait(copied[turn])
        read(t, view(device, shape=(1000,)))
        t.record(free)
    streams.synchronize()


def test_switched_off(module) -> None:
    (s, t), x = two(), numbers()
    with engine.checks(order=False):
        put(module, s, x)
        put(module, t, x)
        write(t, view(x))
        streams.synchronize()


def test_a_child_of_fork_may_touch_what_the_parent_copies() -> None:
    done = run_python("""
        import ctypes, os
        from nogpu import engine
        host, x = engine.PageLocked(8), engine.allocate(8)
        value = ctypes.c_int.from_address(host.address)
        value.value = 5
        engine.streams.null.copy(x.address, host.address, 8, "HtoD", pinned=True)
        if os.fork() == 0:
            value.value += 1
            engine.streams.synchronize()
            os._exit(value.value)
        _, status = os.wait()
        engine.streams.synchronize()
        print(os.waitstatus_to_exitcode(status), value.value)
    """)
    assert done.stdout == "6 5\n", done.stderr


def test_page_locked_memory_is_used_again() -> None:
    gc.collect()  # what other tests left is given back now, not between the two below
    first = engine.PageLocked(100_000)
    address = first.address
    del first
    assert engine.PageLocked(100_000).address == address


def test_one_stream_without_page_locked_memory_costs_nothing() -> None:
    done = run_python("""
        from nogpu import engine
        engine.streams.null.run(lambda: None)
        engine.streams.null.synchronize()
        print(engine.streams.order.watching)
    """)
    assert done.stdout == "False\n", done.stderr


def test_little_is_remembered(module) -> None:
    (s, t), x = two(), numbers(10_000)
    for i in range(300):
        write(s, view(x, slice(i, i + 1), shape=(10_000,)))
        put(module, t, x, 5000)
    assert max(map(len, order._uses.values())) <= 65
    with pytest.raises(engine.StreamRace):
        read(t, view(x, slice(299, 300), shape=(10_000,)))
        streams.synchronize()
