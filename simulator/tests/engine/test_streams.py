"""Streams: order, overlap, faults at the next wait, captures, the end of the process.

Nothing here is a matter of seconds: what must still be running is kept so by a kernel that spins
until the test lets it go, and the rest are facts about order.
"""

from __future__ import annotations

import contextlib
import gc
import os
import random
import signal
import threading
import time
import weakref
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from engine_support import array, pack, read
from test_process import run_python

from nogpu import engine
from nogpu.engine import scheduler, streams
from nogpu.engine.streams import Event, Stream

SOURCE = r"""
__global__ void until(volatile int* gate) { while (*gate == 0); }
__global__ void put(int* x, int value) { *x = value; }
__global__ void step(unsigned* x, unsigned c) { *x = *x * 3 + c; }
__global__ void merge(unsigned* x, const unsigned* y) { *x = *x * 5 + *y; }
__global__ void spin_step(unsigned* x, unsigned c, long long cycles) {
    long long start = clock64();
    while (clock64() - start < cycles) { }
    *x = *x * 3 + c;
}
__global__ void wild(int* x) { x[2] = 1; }
__global__ void talk(int value) { printf("%d\n", value); }
__global__ void count() { printf("%06d\n", blockIdx.x * blockDim.x + threadIdx.x); }
__global__ void bump(int* x) { atomicAdd(x, 1); }
"""


@pytest.fixture(scope="module")
def module() -> engine.Module:
    return engine.compile(SOURCE)


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    yield
    for capture in list(streams._captures):
        capture.end()
    planner = scheduler.get()
    planner.drop_everything()
    while True:
        try:
            engine.streams.synchronize()
            break
        except Exception:  # noqa: BLE001, S112 -- faults that a test left behind
            continue


class Gate:
    """A kernel that runs until :meth:`open`."""

    def __init__(self, module: engine.Module, stream: Stream) -> None:
        self.flag = array(np.zeros(1, np.int32), "gate")
        stream.launch(module.kernel("until"), (1,), (1,), pack(self.flag))

    def open(self) -> None:
        engine.view(self.flag.address, 4, np.int32)[0] = 1


@contextlib.contextmanager
def held(module: engine.Module, *on: Stream) -> Iterator[None]:
    """The streams are busy inside the block."""
    gates = [Gate(module, stream) for stream in on]
    try:
        yield
    finally:
        for gate in gates:
            gate.open()


def number(value: int = 0) -> engine.Allocation:
    return array(np.array([value], np.int32), "x")


def put(module: engine.Module, stream: Stream, x: engine.Allocation, value: int) -> None:
    stream.launch(module.kernel("put"), (1,), (1,), pack(x, np.int32(value)))


def refused(code: str, action: Callable[[], object]) -> None:
    with pytest.raises(engine.StreamError) as caught:
        action()
    assert caught.value.code == code


# ---- order -----------------------------------------------------------------------------------


def test_a_launch_returns_before_its_kernel_has_run(module: engine.Module) -> None:
    s, x = Stream(), number()
    with held(module, s):
        put(module, s, x, 7)
        assert not s.done
        assert read(x, np.int32)[0] == 0
    s.synchronize()
    assert s.done and read(x, np.int32)[0] == 7


def test_streams_are_independent(module: engine.Module) -> None:
    busy = [Stream(non_blocking=True) for _ in range(6)]
    t, x = Stream(non_blocking=True), number()
    with held(module, *busy):
        put(module, t, x, 7)
        t.synchronize()
        assert read(x, np.int32)[0] == 7
        assert not any(s.done for s in busy)


def test_one_worker_is_enough_for_independent_streams() -> None:
    done = run_python(
        """
        m = engine.compile('''
            __global__ void until(volatile int* gate) { while (*gate == 0); }
            __global__ void open(int* gate) { *gate = 1; }''')
        gate = engine.allocate(4)
        engine.copy_to_device(gate.address, np.zeros(1, np.int32))
        s, t = (engine.streams.Stream(non_blocking=True) for _ in range(2))
        arguments = [np.uint64(gate.address).tobytes()]
        s.launch(m.kernel("until"), (1,), (1,), arguments)
        t.launch(m.kernel("open"), (1,), (1,), arguments)
        s.synchronize()
        print("done")
        """,
        NOGPU_WORKERS="1",
    )
    assert done.stdout == "done\n", done.stderr


def test_forgetting_to_wait_reads_stale_data(module: engine.Module) -> None:
    s, t = Stream(non_blocking=True), Stream(non_blocking=True)
    x, host = number(), np.full(1, 99, np.int32)
    with held(module, s):
        put(module, s, x, 7)
        t.copy(host.ctypes.data, x.address, 4, "DtoH")
        assert host[0] == 0
        event = Event()
        s.record(event)
        t.wait(event)
        t.copy(host.ctypes.data, x.address, 4, "DtoH", pinned=True)
        assert not t.done and not event.done and host[0] == 0
    with pytest.raises(engine.StreamRace):
        t.synchronize()
    assert host[0] == 7 and event.done


@pytest.fixture
def without_order() -> Iterator[None]:
    """For tests in which streams meet on purpose: `test_order` tests what is said of that."""
    with engine.checks(order=False):
        yield


@pytest.mark.usefixtures("without_order")
def test_the_legacy_default_stream(module: engine.Module) -> None:
    blocking, free, x = Stream(), Stream(non_blocking=True), number()
    null, per_thread = engine.streams.null, engine.streams.from_handle(2)
    with held(module, blocking):
        put(module, null, x, 7)
        put(module, free, number(), 1)
        free.synchronize()
        assert not null.done
        assert read(x, np.int32)[0] == 0
    null.synchronize()
    assert blocking.done and read(x, np.int32)[0] == 7
    with held(module, null):
        put(module, blocking, x, 8)
        put(module, per_thread, x, 9)
        put(module, free, number(), 1)
        free.synchronize()
        assert not blocking.done and not per_thread.done and not null.done
    blocking.synchronize()
    with held(module, free):
        put(module, null, x, 10)
        null.synchronize()
        assert read(x, np.int32)[0] == 10 and not free.done


def test_events_and_their_times(module: engine.Module) -> None:
    s, before, after, never = Stream(), Event(), Event(), Event()
    s.record(before)
    before.synchronize()
    with held(module, s):
        s.record(after)
        assert before.done and not after.done and never.done
        refused("cudaErrorNotReady", lambda: before.elapsed(after))
    after.synchronize()
    assert before.elapsed(after) > 0 > after.elapsed(before)
    never.synchronize()
    refused("cudaErrorInvalidResourceHandle", lambda: before.elapsed(never))
    untimed = Event(timing=False)
    s.record(untimed)
    refused("cudaErrorInvalidResourceHandle", lambda: untimed.elapsed(after))


def test_a_wait_is_for_the_record_before_it(module: engine.Module) -> None:
    s, t, event = Stream(non_blocking=True), Stream(non_blocking=True), Event()
    s.record(event)
    t.wait(event)
    with held(module, s):
        s.record(event)
        t.synchronize()
        assert not event.done
        t.wait(event)
        assert not t.done


def test_an_event_recorded_again_forgets_the_record_before(module: engine.Module) -> None:
    s, t = Stream(non_blocking=True), Stream(non_blocking=True)
    start, event = Event(), Event()
    t.record(start)
    with held(module, s):
        s.record(event)
        t.record(event)
        event.synchronize()
        took = start.elapsed(event)
    s.synchronize()
    assert start.elapsed(event) == took


# ---- Python's work, copies ------------------------------------------------------------------


def test_small_work_runs_at_once_where_the_stream_is_idle(module: engine.Module) -> None:
    s, t, seen = Stream(), Stream(non_blocking=True), []
    s.run(lambda: seen.append(threading.current_thread()), 100)
    assert seen == [threading.current_thread()]
    with held(module, s):
        s.run(lambda: seen.append(2))
        engine.streams.null.run(lambda: seen.append(3))
        t.run(lambda: seen.append(1))
        assert seen[1:] == [1]
    engine.streams.null.synchronize()
    assert seen[2:] == [2, 3]
    s.run(lambda: seen.append(threading.current_thread()), streams.INLINE_BYTES + 1)
    s.call(lambda: seen.append(threading.current_thread()))
    s.synchronize()
    assert len(seen) == 6 and threading.current_thread() not in seen[4:]


def test_when_host_memory_is_read(module: engine.Module) -> None:
    s, x, y = Stream(), number(), number()
    pageable, pinned = np.array([1], np.int32), np.array([1], np.int32)
    with held(module, s):
        s.copy(x.address, pageable.ctypes.data, 4, "HtoD")
        s.copy(y.address, pinned.ctypes.data, 4, "HtoD", pinned=True)
        pageable[0] = pinned[0] = 2
    s.synchronize()
    assert (read(x, np.int32)[0], read(y, np.int32)[0]) == (1, 2)


def test_a_copy_to_ordinary_memory_waits(module: engine.Module) -> None:
    s, x, host = Stream(), number(), np.zeros(1, np.int32)
    gate = Gate(module, s)
    put(module, s, x, 7)
    threading.Timer(0.05, gate.open).start()
    s.copy(host.ctypes.data, x.address, 4, "DtoH")
    assert host[0] == 7


def test_rows_and_fills(module: engine.Module) -> None:
    s = Stream()
    whole = np.arange(60, dtype=np.int32).reshape(6, 10)
    x, y = array(np.zeros((6, 10), np.int32), "x"), array(np.zeros(100_000, np.int32), "y")
    back = np.zeros((4, 3), np.int32)
    for busy in (False, True):
        engine.fill(x.address, 0, 60, 4)
        with held(module, *[s] * busy):
            s.copy_rows(x.address + 40 + 8, 40, whole.ctypes.data + 8, 40, 12, 4, "HtoD")
            s.copy_rows(back.ctypes.data, 12, x.address + 48, 40, 12, 4, "DtoH", pinned=True)
            s.fill(y.address, 0x01020304, 100_000, 4)
            s.fill(y.address, 0xABCD, 4, 2)
            s.copy(y.address + 100, y.address, 4, "DtoD")
        s.synchronize()
        expected = np.zeros((6, 10), np.int32)
        expected[1:5, 2:5] = whole[:4, 2:5]
        assert (read(x, np.int32, (6, 10)) == expected).all()
        assert (back == whole[:4, 2:5]).all()
        values = read(y, np.uint32)
        assert values[0] == values[25] == 0xABCDABCD and values[2] == values[-1] == 0x01020304
    with pytest.raises(engine.InvalidAddress, match="copy HtoD .destination."):
        s.copy(x.address, whole.ctypes.data, 300, "HtoD")
    with pytest.raises(engine.InvalidAddress, match="fill"):
        s.fill(x.address, 0, 61, 4)


def test_memory_freed_before_a_copy_comes_to_it(module: engine.Module) -> None:
    s, x = Stream(), number()
    with held(module, s):
        s.fill(x.address, 1, 1, 4)
        x.free()
    with pytest.raises(engine.InvalidAddress, match="array 'x' was freed before"):
        s.synchronize()
    s.synchronize()


def test_what_work_needs_lives_until_it_has_run(module: engine.Module) -> None:
    class Thing:
        pass

    s = Stream()
    things = [Thing() for _ in range(3)]
    alive = [weakref.ref(thing) for thing in things]
    with held(module, s):
        s.launch(module.kernel("talk"), (1,), (1,), pack(np.int32(1)), keep=(things[0],))
        s.run(lambda thing=things[1]: None)
        s.copy(number().address, number().address, 4, "DtoD", keep=[things[2]])
        del things[:]
        gc.collect()
        assert all(reference() is not None for reference in alive)
    s.synchronize()
    assert all(reference() is None for reference in alive)


def test_what_work_needs_is_let_go_without_a_wait(module: engine.Module) -> None:
    """Also where letting go runs Python that uses streams and memory."""
    gone = threading.Event()

    class Thing:
        def __del__(self) -> None:
            engine.allocate(100).free()
            Stream().destroy()
            gone.set()

    Stream().launch(module.kernel("talk"), (1,), (1,), pack(np.int32(1)), keep=(Thing(),))
    assert gone.wait(30)


# ---- faults ----------------------------------------------------------------------------------


def test_a_fault_comes_once_and_out_of_the_wait(module: engine.Module) -> None:
    s, t, x = Stream(non_blocking=True), Stream(non_blocking=True), number(5)
    s.launch(module.kernel("wild"), (1,), (1,), pack(x))
    put(module, t, number(), 1)
    t.synchronize()
    with pytest.raises(engine.GlobalOutOfBounds) as caught:
        s.synchronize()
    assert caught.value.kernel == "wild" and caught.value.index == 2
    s.synchronize()
    engine.streams.synchronize()
    put(module, s, x, 6)
    s.synchronize()
    assert read(x, np.int32)[0] == 6


def test_what_is_queued_behind_a_fault_is_dropped(module: engine.Module) -> None:
    s, t, event = Stream(non_blocking=True), Stream(non_blocking=True), Event()
    x, y, seen = number(5), number(5), []
    s.launch(module.kernel("wild"), (1,), (1,), pack(x))
    put(module, s, x, 6)
    s.run(lambda: seen.append(1))
    s.record(event)
    t.wait(event)
    put(module, t, y, 6)
    with pytest.raises(engine.GlobalOutOfBounds):
        t.synchronize()
    s.synchronize()
    assert (read(x, np.int32)[0], read(y, np.int32)[0], seen) == (5, 5, [])
    s.run(lambda: seen.append(2))
    assert seen == [2]


@pytest.mark.parametrize("wait", ["event", "device", "null", "copy"])
def test_every_wait_raises(module: engine.Module, wait: str) -> None:
    s, x, event = Stream(), number(), Event()
    s.launch(module.kernel("wild"), (1,), (1,), pack(x))
    s.record(event)
    with pytest.raises(engine.GlobalOutOfBounds):
        if wait == "event":
            event.synchronize()
        elif wait == "device":
            engine.streams.synchronize()
        elif wait == "null":
            engine.streams.null.synchronize()
        else:
            s.copy(np.zeros(1, np.int32).ctypes.data, x.address, 4, "DtoH")
    for again in (event.synchronize, s.synchronize, engine.streams.synchronize):
        again()


def test_python_errors_come_out_of_the_wait(module: engine.Module) -> None:
    s = Stream()
    with held(module, s):
        s.run(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        s.synchronize()
    s.synchronize()
    with pytest.raises(ZeroDivisionError):
        s.run(lambda: 1 / 0)
    s.synchronize()


def test_a_wrong_launch_raises_at_once(module: engine.Module) -> None:
    s = Stream()
    with held(module, s), pytest.raises(engine.InvalidLaunch):
        s.launch(module.kernel("put"), (1,), (2048,), pack(number(), np.int32(1)))


def test_the_fault_of_a_stream_that_was_destroyed(module: engine.Module) -> None:
    s = Stream(non_blocking=True)
    s.launch(module.kernel("wild"), (1,), (1,), pack(number()))
    s.destroy()
    with pytest.raises(engine.GlobalOutOfBounds):
        engine.streams.synchronize()
    refused("cudaErrorInvalidResourceHandle", lambda: engine.streams.from_handle(s.handle))


@pytest.mark.usefixtures("without_order")
def test_kernels_on_two_streams_do_not_race_with_each_other(module: engine.Module) -> None:
    s, t, x = Stream(non_blocking=True), Stream(non_blocking=True), number()
    for _ in range(50):
        put(module, s, x, 1)
        put(module, t, x, 2)
        s.launch(module.kernel("bump"), (40,), (32,), pack(x))
        t.launch(module.kernel("bump"), (40,), (32,), pack(x))
    engine.streams.synchronize()


def test_interrupt(module: engine.Module) -> None:
    s, x = Stream(), number(5)
    Gate(module, s)
    put(module, s, x, 6)
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        s.synchronize()
    assert s.done and read(x, np.int32)[0] == 5
    put(module, s, x, 7)
    s.synchronize()
    assert read(x, np.int32)[0] == 7


def test_printf_comes_with_the_wait(module: engine.Module) -> None:
    texts = []
    engine.set_printer(texts.append)
    try:
        s = Stream()
        for i in range(3):
            s.launch(module.kernel("talk"), (1,), (1,), pack(np.int32(i)))
        assert texts == []
        s.synchronize()
        assert b"".join(texts) == b"0\n1\n2\n"
    finally:
        engine.set_printer(None)


@pytest.mark.parametrize("in_stream", [True, False])
def test_lines_of_printf_that_are_dropped_are_counted(
        module: engine.Module, in_stream: bool) -> None:
    count, texts = 1_000_000, []
    engine.set_printer(texts.append)
    try:
        launch = Stream().launch if in_stream else engine.Kernel.launch
        launch(module.kernel("count"), (count // 1000,), (1000,), [])
        engine.streams.synchronize()
    finally:
        engine.set_printer(None)
    (note, *rest) = b"".join(texts).decode().splitlines()
    assert note.startswith("[nogpu] ") and "were dropped" in note
    assert int(note.split()[1]) + len(rest) == count
    assert set(map(len, rest)) == {6}, "a line was cut"
    assert len(set(rest)) == len(rest) > 100_000


def test_texts_of_launches_that_are_dropped_are_counted(module: engine.Module) -> None:
    launches, texts, stream = 12, [], Stream()
    engine.set_printer(texts.append)
    try:
        for _ in range(launches):
            stream.launch(module.kernel("count"), (200,), (1000,), [])
        stream.synchronize()
    finally:
        engine.set_printer(None)
    lines = b"".join(texts).decode().splitlines()
    notes = [line for line in lines if line.startswith("[nogpu] ")]
    assert len(notes) == 1 and lines[0] == notes[0]
    assert int(notes[0].split()[1]) + len(lines) - 1 == launches * 200_000


def test_waiting_inside_queued_work_is_refused(module: engine.Module) -> None:
    s = Stream()
    s.call(lambda: (s.call(lambda: None), s.synchronize()))
    with pytest.raises(engine.StreamError, match="cudaErrorNotPermitted"):
        s.synchronize()


# ---- random work against a model -------------------------------------------------------------


class Model:
    """What must come before what, and what the cells must hold in the end."""

    def __init__(self, blocking: list[bool]) -> None:
        self.blocking = blocking  # of each stream; stream 0 is the legacy default stream
        self.last: list[set[int]] = [set() for _ in blocking]
        self.before: list[set[int]] = []
        self.events: dict[int, set[int]] = {}
        self.cells = [1] * len(blocking)

    def add(self, stream: int) -> int:
        """An operation: it comes after all that its stream has seen, and legacy rules."""
        self.order(stream)
        self.before.append(set(self.last[stream]))
        self.last[stream].add(len(self.before) - 1)
        return len(self.before) - 1

    def order(self, stream: int) -> None:
        if stream == 0:
            for other, blocking in enumerate(self.blocking):
                if blocking:
                    self.last[0] |= self.last[other]
        elif self.blocking[stream]:
            self.last[stream] |= self.last[0]


@pytest.mark.usefixtures("without_order")
@pytest.mark.parametrize("seed", range(40))
def test_random_work_against_a_model(module: engine.Module, seed: int) -> None:
    rng = random.Random(seed)
    blocking = [True] + [rng.random() < 0.5 for _ in range(rng.randint(1, 5))]
    model = Model(blocking)
    queues = [engine.streams.null] + [Stream(non_blocking=not b) for b in blocking[1:]]
    cells = array(np.ones(len(queues), np.uint32), "cells")
    big = array(np.zeros(2**17, np.uint32), "big")
    events = [Event() for _ in range(4)]
    host = np.zeros(2**17, np.uint32)
    operations: list[tuple[int, str]] = []

    def address(stream: int) -> np.uint64:
        return np.uint64(cells.address + 4 * stream)

    def step(stream: int, c: int) -> None:
        cell = engine.view(cells.address + 4 * stream, 4, np.uint32)
        cell[0] = np.uint32((int(cell[0]) * 3 + c) % 2**32)

    def event_pair(first: int, second: int) -> None:
        event = Event()
        queues[first].record(event)
        queues[second].wait(event)
        model.order(first)
        model.order(second)
        model.last[second] |= model.last[first]

    with engine.streams.record_spans() as spans:
        for _ in range(rng.randint(40, 120)):
            i, c = rng.randrange(len(queues)), rng.randrange(1000)
            queue, what = queues[i], rng.randrange(8)
            if what < 3:
                cycles = rng.choice([0, 0, 20_000, 200_000])
                queue.launch(
                    module.kernel("spin_step"), (1,), (1,),
                    pack(address(i), np.uint32(c), np.int64(cycles)),
                )  # fmt: skip
                operations.append((i, "kernel"))
            elif what == 3:
                nbytes = rng.choice([4, 2**20])
                queue.run(lambda i=i, c=c: step(i, c), nbytes)
                operations.append((i, "work"))
            elif what == 4:
                queue.call(lambda i=i, c=c: step(i, c))
                operations.append((i, "call"))
            elif what == 5:
                kind = rng.choice(["HtoD", "DtoH", "DtoD", "fill"])
                size = rng.choice([4, 2**19])
                pinned = rng.random() < 0.9
                if kind == "fill":
                    queue.fill(big.address, 1, size)
                elif kind == "DtoD":
                    queue.copy(big.address, big.address, size, kind)
                else:
                    ends = big.address, host.ctypes.data
                    ends = ends if kind == "HtoD" else ends[::-1]
                    queue.copy(*ends, size, kind, pinned=pinned)
                operations.append((i, kind))
            elif what == 6:
                event = rng.randrange(4)
                if rng.random() < 0.5:
                    queue.record(events[event])
                    model.order(i)
                    model.events[event] = set(model.last[i])
                else:
                    queue.wait(events[event])
                    if event in model.events:  # for one never recorded there is nothing to wait
                        model.order(i)
                        model.last[i] |= model.events[event]
                continue
            else:
                j = rng.randrange(len(queues))
                if i == j:
                    continue
                event_pair(j, i)
                queue.launch(module.kernel("merge"), (1,), (1,), pack(address(i), address(j)))
                operations.append((i, "kernel"))
                model.add(i)
                event_pair(i, j)
                model.cells[i] = (model.cells[i] * 5 + model.cells[j]) % 2**32
                continue
            model.add(i)
            if what < 5:
                model.cells[i] = (model.cells[i] * 3 + c) % 2**32
    engine.streams.synchronize()
    assert read(cells, np.uint32).tolist() == model.cells
    assert len(spans) == len(operations)
    # A stream's spans are in its order: so each belongs to an operation.
    rows = {queue.handle: [s for s in spans if s.stream == queue.handle] for queue in queues}
    taken = [rows[queues[i].handle].pop(0) for i, _ in operations]
    assert [span.kind for span in taken] == [kind for _, kind in operations]
    for number_, before in enumerate(model.before):
        for other in before:
            assert taken[other].end_ns <= taken[number_].start_ns, (other, number_)


def test_ten_thousand_operations_on_eight_streams(module: engine.Module) -> None:
    queues = [Stream(non_blocking=k % 2 == 0) for k in range(8)]
    cells = array(np.ones(8, np.uint32), "cells")
    expected, sums = [1] * 8, [0] * 8
    kernel, event = module.kernel("step"), Event()
    spare = array(np.zeros(8, np.uint32), "spare")

    def add(k: int) -> None:
        sums[k] += 1

    with held(module, queues[0]):
        for n in range(10_000):
            k = n * 7 % 8
            queue = queues[k]
            if n % 5 == 4:
                queue.run(lambda k=k: add(k), 2**20)
            elif n % 5 == 3:
                queue.fill(spare.address + 4 * k, n & 255, 1, 4)
            elif n % 50 == 1:
                queue.record(event)
                queues[(k + 3) % 8].wait(event)
            else:
                queue.launch(kernel, (1,), (1,), pack(np.uint64(cells.address + 4 * k),
                                                      np.uint32(n)))  # fmt: skip
                expected[k] = (expected[k] * 3 + n) % 2**32
    engine.streams.synchronize()
    assert read(cells, np.uint32).tolist() == expected
    assert sum(sums) == 2000
    assert not scheduler.get()._held and all(queue.done for queue in queues)
    for queue in queues:
        queue.destroy()


def test_several_threads_queue_and_wait(module: engine.Module) -> None:
    x, kernel = number(), module.kernel("bump")
    failures = []

    def work() -> None:
        s = Stream(non_blocking=True)
        try:
            for n in range(60):
                s.launch(kernel, (2,), (8,), pack(x))
                s.run(lambda: None)
                if n % 9 == 0:
                    s.synchronize()
            s.synchronize()
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and read(x, np.int32)[0] == 4 * 60 * 16


def test_segments_run_out_while_others_run() -> None:
    """More blocks than there are segment numbers, on two streams at once."""
    m = engine.compile("__global__ void add(int* x) { atomicAdd(x, 1); }")
    s, t, x, y = Stream(), Stream(), number(), number()
    for _ in range(2):
        s.launch(m.kernel("add"), (700_000,), (1,), pack(x))
        t.launch(m.kernel("add"), (700_000,), (1,), pack(y))
    engine.streams.synchronize()
    assert read(x, np.int32)[0] == read(y, np.int32)[0] == 1_400_000


# ---- graphs ----------------------------------------------------------------------------------


def test_a_graph_runs_when_it_is_launched(module: engine.Module) -> None:
    s, t, seen = Stream(non_blocking=True), Stream(non_blocking=True), []
    x, host = number(1), np.zeros(1, np.int32)
    step = module.kernel("step")
    s.begin_capture()
    assert s.capturing
    s.launch(step, (1,), (1,), pack(x, np.uint32(1)))
    s.run(lambda: seen.append("work"))
    s.call(lambda: seen.append("call"))
    s.copy(host.ctypes.data, x.address, 4, "DtoH")
    graph = s.end_capture()
    assert not s.capturing and read(x, np.int32)[0] == 1 and not seen
    for _ in range(3):
        graph.launch(t)
    t.synchronize()
    assert read(x, np.int32)[0] == host[0] == 40 and seen == ["work", "call"] * 3


def test_a_graph_across_two_streams(module: engine.Module) -> None:
    s, t, u = (Stream(non_blocking=True) for _ in range(3))
    x, y = number(1), number(1)
    step, merge = module.kernel("step"), module.kernel("merge")
    fork, back = Event(), Event()
    s.begin_capture()
    slow = pack(x, np.uint32(1), np.int64(30_000_000))  # whoever does not wait for it is too early
    s.launch(module.kernel("spin_step"), (1,), (1,), slow)
    s.record(fork)
    t.wait(fork)
    assert t.capturing
    t.launch(merge, (1,), (1,), pack(y, x))
    t.launch(step, (1,), (1,), pack(y, np.uint32(1)))
    s.record(Event())
    t.record(back)
    refused("cudaErrorCapturedEvent", lambda: back.done)
    s.wait(back)
    s.launch(merge, (1,), (1,), pack(x, y))
    graph = s.end_capture()
    assert not t.capturing
    expected = [1, 1]
    for _ in range(3):
        expected[0] = expected[0] * 3 + 1
        expected[1] = (expected[1] * 5 + expected[0]) * 3 + 1
        expected[0] = expected[0] * 5 + expected[1]
    with held(module, u):
        for _ in range(3):
            graph.launch(u)
        put(module, u, number(), 1)
        assert read(x, np.int32)[0] == 1
    u.synchronize()
    assert [read(x, np.int32)[0], read(y, np.int32)[0]] == expected


def test_branches_of_a_graph_run_side_by_side(module: engine.Module) -> None:
    """One branch spins until the other has opened the gate."""
    s, t, fork, back = Stream(non_blocking=True), Stream(non_blocking=True), Event(), Event()
    gate, x = number(), number()
    s.begin_capture()
    s.record(fork)
    t.wait(fork)
    s.launch(module.kernel("until"), (1,), (1,), pack(gate))
    put(module, t, gate, 1)
    t.record(back)
    s.wait(back)
    put(module, s, x, 7)
    graph = s.end_capture()
    graph.launch(s)
    s.synchronize()
    assert read(x, np.int32)[0] == 7


def test_a_graph_keeps_what_it_uses(module: engine.Module) -> None:
    class Thing:
        pass

    thing, s = Thing(), Stream()
    alive = weakref.ref(thing)
    s.begin_capture()
    s.launch(module.kernel("talk"), (1,), (1,), pack(np.int32(1)), keep=(thing,))
    graph = s.end_capture()
    del thing
    for _ in range(2):
        graph.launch(s)
    s.synchronize()
    assert alive() is not None
    del graph
    assert alive() is None


def test_a_graph_of_small_work_runs_at_once() -> None:
    s, seen = Stream(), []
    s.begin_capture()
    for k in range(3):
        s.run(lambda k=k: seen.append(k), 100)
    graph = s.end_capture()
    graph.launch(s)
    assert seen == [0, 1, 2]
    s.begin_capture()
    graph.launch(s)
    graph.launch(s)
    outer = s.end_capture()
    outer.launch(s)
    assert seen == [0, 1, 2] * 3


def test_an_empty_graph() -> None:
    s = Stream()
    s.begin_capture()
    s.end_capture().launch(s)
    s.synchronize()


def test_captures_that_are_refused(module: engine.Module) -> None:
    null = engine.streams.null
    refused("cudaErrorStreamCaptureUnsupported", null.begin_capture)
    refused("cudaErrorIllegalState", Stream().end_capture)
    s, t = Stream(non_blocking=True), Stream(non_blocking=True)
    s.begin_capture()
    refused("cudaErrorIllegalState", s.begin_capture)
    put(module, null, number(), 1)
    with pytest.raises(engine.StreamError) as caught:
        s.synchronize()
    assert str(caught.value) == "cudaErrorStreamCaptureUnsupported"
    refused("cudaErrorStreamCaptureInvalidated", lambda: s.run(lambda: None))
    refused("cudaErrorStreamCaptureInvalidated", s.end_capture)
    assert not s.capturing
    fork = Event()
    for join in (False, True):
        s.begin_capture()
        s.record(fork)
        t.wait(fork)
        if join:
            refused("cudaErrorStreamCaptureUnmatched", t.end_capture)
            refused("cudaErrorStreamCaptureInvalidated", s.end_capture)
        else:
            t.run(lambda: None)
            refused("cudaErrorStreamCaptureUnjoined", s.end_capture)
        assert not s.capturing and not t.capturing
    refused("cudaErrorCapturedEvent", lambda: t.wait(fork))


def test_captures_and_what_is_outside(module: engine.Module) -> None:
    null, blocking, other = engine.streams.null, Stream(), Stream(non_blocking=True)
    event = Event()
    other.record(event)
    for violation, code in (
        (lambda: null.run(lambda: None), "Implicit"),
        (lambda: put(module, null, number(), 1), "Implicit"),
        (null.synchronize, "Implicit"),
        (engine.streams.synchronize, "Unsupported"),
        (lambda: blocking.done, "Unsupported"),
        (lambda: blocking.wait(event), "Isolation"),
    ):
        blocking.begin_capture()
        refused(f"cudaErrorStreamCapture{code}", violation)
        refused("cudaErrorStreamCaptureInvalidated", blocking.end_capture)
    inside = Event()
    blocking.begin_capture()
    other.begin_capture()
    blocking.record(inside)
    refused("cudaErrorStreamCaptureMerge", lambda: other.wait(inside))
    for stream in (blocking, other):
        refused("cudaErrorStreamCaptureInvalidated", stream.end_capture)
    null.run(lambda: None)


# ---- spans -----------------------------------------------------------------------------------


def test_spans_tell_what_ran(module: engine.Module) -> None:
    s, t = Stream(), Stream(non_blocking=True)
    x, y = number(), array(np.zeros(2**20, np.int8), "y")
    host = np.zeros(2**20, np.int8)
    with engine.streams.record_spans() as spans:
        gate = Gate(module, s)
        put(module, s, x, 1)
        time.sleep(0.05)  # the kernel has begun, also on a busy machine
        t.copy(y.address, host.ctypes.data, 2**20, "HtoD", pinned=True)
        t.copy(host.ctypes.data, y.address, 2**20, "DtoH", pinned=True, name="back")
        t.run(lambda: None, 12, name="small")
        t.synchronize()
        gate.open()
    put(module, s, x, 1)
    s.synchronize()
    assert len(spans) == 5 and all(span.start_ns <= span.end_ns for span in spans)
    rows = {span.name: span for span in spans}
    assert rows["until"][:2] == (s.handle, "kernel") and rows["put"].nbytes == 0
    assert rows["copy HtoD"][:2] == (t.handle, "HtoD") and rows["back"].nbytes == 2**20
    assert rows["small"].kind == "work" and rows["small"].nbytes == 12
    assert rows["until"].end_ns <= rows["put"].start_ns
    assert rows["back"].end_ns <= rows["small"].start_ns
    assert rows["until"].start_ns < rows["back"].start_ns < rows["until"].end_ns  # overlapped


# ---- the process -----------------------------------------------------------------------------

HEAD = """
m = engine.compile('''
    __global__ void endless(volatile int* gate) { while (*gate == 0); }
    __global__ void put(int* x, int value) { *x = value; }''')
x = engine.allocate(4)
engine.copy_to_device(x.address, np.zeros(1, np.int32))
address = np.uint64(x.address).tobytes()
s, t = engine.streams.Stream(), engine.streams.Stream(non_blocking=True)
"""


def test_exit_with_queued_work() -> None:
    done = run_python(
        HEAD
        + """
import time
for n in range(200):
    s.launch(m.kernel("put"), (1,), (1,), [address, np.int32(n).tobytes()])
gate = engine.allocate(4, unwritten=False)
s.launch(m.kernel("endless"), (1,), (1,), [np.uint64(gate.address).tobytes()])
engine.fill(x.address, 0, 1, 4)
t.launch(m.kernel("endless"), (1,), (1,), [address])
s.run(lambda: print("never"))
t.call(lambda: time.sleep(0.01))
engine.streams.Stream(non_blocking=True).call(lambda: time.sleep(0.1))
s.record(engine.streams.Event())
print("left")
"""
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "left\n", "")


def test_a_fork_starts_with_empty_streams() -> None:
    done = run_python(
        HEAD
        + """
t.launch(m.kernel("endless"), (1,), (1,), [address])
t.call(lambda: print("never in the child"))
child = os.fork()
if child == 0:
    assert t.done
    y = engine.allocate(4)
    there = np.uint64(y.address).tobytes()
    for stream in (t, s, engine.streams.null):
        stream.launch(m.kernel("put"), (1,), (1,), [there, np.int32(7).tobytes()])
        stream.call(lambda: print("child", flush=True))
        stream.synchronize()
    assert engine.view(y.address, 4, np.int32)[0] == 7
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert not t.done
""",
        # Python 3.12 and later: a word of advice on forks beside threads.
        PYTHONWARNINGS="ignore::DeprecationWarning",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "child\n" * 3, "")


def test_without_a_compiler_python_work_runs_at_once() -> None:
    done = run_python(
        """
        from nogpu.engine import compiler
        compiler.importlib.util.find_spec = lambda name: None
        seen, s, e, f = [], engine.streams.Stream(), *(engine.streams.Event() for _ in "ab")
        s.record(e)
        s.run(lambda: seen.append(1), 10**9)
        s.call(lambda: seen.append(2))
        s.record(f)
        s.wait(f)
        s.begin_capture()
        s.run(lambda: seen.append(3))
        graph = s.end_capture()
        graph.launch(engine.streams.null)
        s.synchronize()
        engine.streams.synchronize()
        with engine.streams.record_spans() as spans:
            pass
        print(seen, s.done, f.done, e.elapsed(f) >= 0)
        """,
        PATH="/nonexistent",
        CXX="",
    )
    assert done.stdout == "[1, 2, 3] True True True\n", done.stderr
