"""The tasks about streams: overlap, order by events, queues, buffers, memory, graphs."""

from __future__ import annotations

import functools
import gc
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .machinery.stream_task import SHORT_WAIT, Hold, becomes_true, experiment, watch_for_waits
from .machinery.task import (
    Case,
    ExperimentTask,
    Mistake,
    Refusal,
    Task,
    describe_value,
    hint_at_return,
    is_on_device,
)

SIZE = 500  # numbers in a chunk
KERNELS = r"""
extern "C" __global__ void triple(const float* x, float* y, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = 3 * x[i] + 1;
}

extern "C" __global__ void put(float* x, float value, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = value + i;
}

extern "C" __global__ void stamp(int* order, int* count, int piece) {
    order[piece] = atomicAdd(count, 1) + 1;
}
"""


def _cupy():
    import cupy  # here, so that this module can be imported before helpers.start()

    return cupy


def _pinned(shape: tuple[int, ...], value: float) -> np.ndarray:
    import cupyx

    array = cupyx.empty_pinned(shape, np.float32)
    array[...] = value
    return array


@functools.cache
def _kernels() -> Any:
    return _cupy().RawModule(code=KERNELS)


def _launch(name: str, *args: object) -> None:
    """Launch one block of a kernel of this module on the current stream."""
    _kernels().get_function(name)((1,), (1 if name == "stamp" else 32,), args)


@functools.cache
def _streams(count: int) -> tuple[Any, ...]:
    """Streams that all experiments share, because a GPU has few queues, and each stream a pool."""
    return tuple(_cupy().cuda.Stream(non_blocking=True) for _ in range(count))


def _require_event(value: object) -> Any:
    """The event that an answer returned, or a refusal."""
    if not isinstance(value, _cupy().cuda.Event):
        raise Refusal("it must return an event (cupy.cuda.Event); it returned"
                      f" {describe_value(value)}.{hint_at_return(value)}")
    return value


class StreamTask(ExperimentTask):
    """A task whose answer queues work. Once an experiment has failed, no other is made.

    The experiments that hold something back come first: without a hold, an answer that misses an
    event is right or wrong by chance.
    """

    until_wrong = True


# pipeline: copies and kernels at the same time


def _chunks_of(chunks: int) -> np.ndarray:
    return np.random.default_rng(chunks).uniform(2, 9, (chunks, SIZE)).astype(np.float32)


def _run_pipeline(answer: Callable, chunks: int, count: int, held: int | None) -> np.ndarray:
    cp = _cupy()
    source, target = _pinned((chunks, SIZE), 0), _pinned((chunks, SIZE), -1)
    source[...] = _chunks_of(chunks)
    own, used, holds = list(_streams(4)[:count]), [], []
    pairs = [(cp.full(SIZE, -1, cp.float32), cp.full(SIZE, -1, cp.float32)) for _ in own]

    def work(x: Any, y: Any) -> None:
        for name, array in (("x", x), ("y", y)):
            if not is_on_device(array) or array.shape != (SIZE,) or array.dtype != np.float32:
                raise Refusal(f"work(x, y) got {describe_value(array)} as {name}; it takes two"
                              f" float32 arrays of shape ({SIZE},) on the device.")
        stream = cp.cuda.get_current_stream()
        places = [array.data.ptr for array in (x, y)]
        for owner, pair in zip(own, pairs):
            if [array.data.ptr for array in pair] == places and owner != stream in own:
                raise Refusal("a chunk uses the pair of arrays of another stream, whose own chunk"
                              " may still be in them.", kind="pair")
        if places not in [[array.data.ptr for array in pair] for pair in pairs]:
            raise Refusal("work(x, y) gets other arrays than the pairs: new memory for each chunk"
                          " is what they are there to avoid.", kind="new arrays")
        used.append(stream.ptr)
        if len(used) - 1 == held:
            holds.append(Hold(cp.cuda.get_current_stream()))
        _launch("triple", x, y, np.int32(SIZE))

    queued: list[int] = []
    with experiment(holds):
        with watch_for_waits(holds, lambda: queued.append(len(used)), lambda: len(used)):
            event = _require_event(answer(source, target, work, own, pairs))
        if len(used) != chunks:
            raise Refusal(f"it called work {len(used)} times for {chunks} chunks.")
        if strange := set(used) - {stream.ptr for stream in own}:
            name = "the default stream" if strange & {0, 1} else "a stream of its own"
            raise Refusal(f"it called work on {name}; use the streams that it is given.",
                          kind="stream")
        if holds:
            if holds[0].python_waited and queued[0] == chunks:
                raise Refusal("Python waits at its end for the device. Return the event: the caller"
                              " decides when to wait.", kind="wait at the end")
            if holds[0].python_waited:
                raise Refusal("Python waits in it until a chunk is computed, and only then queues"
                              " the next one. Queue everything, wait for nothing.", kind="wait")
            others = [stream for stream in own if stream.ptr != used[held]]
            if others and len(set(used)) == 1:
                raise Refusal("all chunks are on one stream, where copies and kernels take turns.",
                              kind="one")
            # Chunks may be queued in any order, so the check counts those that are back.
            free = chunks - used.count(used[held])
            if not becomes_true(lambda: _count_returned(target, source) >= free):
                _refuse_mixed(target, source)
                holds[0].release()
                cp.cuda.Device().synchronize()
                if _count_returned(target, source) < free:  # the hold is not the reason
                    return target.copy()
                raise Refusal("while one stream is held back, chunks on the other streams do not"
                              " end. Do they wait for it, or use the default stream?",
                              kind="tied")
            if becomes_true(lambda: event.done, SHORT_WAIT):
                raise Refusal("the event that it returns is done while a chunk is still being"
                              " computed.", kind="early")
            holds[0].release()
        cp.cuda.Device().synchronize()
        _refuse_mixed(target, source)
        return target.copy()


def _count_returned(target: np.ndarray, source: np.ndarray) -> int:
    """How many chunks are back in their own places."""
    return int((target == 3 * source + 1).all(axis=1).sum())


def _refuse_mixed(target: np.ndarray, source: np.ndarray) -> None:
    """Refuse a result that stands in another chunk's place."""
    results = 3 * source + 1
    for k, other in itertools.permutations(range(len(target)), 2):
        if np.array_equal(target[k], results[other]):
            raise Refusal(f"target[{k}] is the result of chunk {other}: that chunk was copied in"
                          " too early, or copied back too late. Do both copies go through the"
                          " chunk's stream?", kind="mixed")


def _pipeline_without_copies_back(source, target, work, streams, pairs):
    for k in range(len(source)):
        x, y = pairs[k % len(streams)]
        with streams[k % len(streams)]:
            x.set(source[k])
            work(x, y)
    for stream in streams[1:]:
        streams[0].wait_event(stream.record())
    return streams[0].record()


pipeline = StreamTask(
    "pipeline", lambda chunks, streams, held: 3 * _chunks_of(chunks) + 1,
    lambda: [(6, 3, 1), (5, 3, 4), (3, 1, 0), (5, 2, None)],
    run=_run_pipeline, signature=_pipeline_without_copies_back,
    mistakes=[Mistake("results that never left the device", _pipeline_without_copies_back)],
)


# fork_join: order by events alone

PIECES = ("first", "left", "right", "last")


class _Stamps:
    """Named pieces of work, each of which notes on the device when it ran.

    `piece(name)` is the function that an answer calls to queue a piece. The piece called `held` is
    held back: its stream is held before it. `check(name, stream)` may refuse a call.

    Attributes
    ----------
    called : list of tuple
        Name and stream of the pieces that were queued, in this order.
    holds : list of Hold
    count : cupy.ndarray
        How many pieces have run, one int32.
    """

    def __init__(self, names: Sequence[str], held: str | None,
                 check: Callable[[str, Any], None] = lambda name, stream: None) -> None:
        self._names, self._held, self._check = list(names), held, check
        cp = _cupy()
        self._order, self.count = cp.zeros(len(names), cp.int32), cp.zeros(1, cp.int32)
        self.called: list[tuple[str, Any]] = []
        self.holds: list[Hold] = []

    def piece(self, name: str) -> Callable[[], None]:
        """The function that queues a piece on the current stream."""
        def queue() -> None:
            stream = _cupy().cuda.get_current_stream()
            self._check(name, stream)
            self.called.append((name, stream))
            if name == self._held:
                self.holds.append(Hold(stream))
            _launch("stamp", self._order, self.count, np.int32(self._names.index(name)))

        return queue

    def place(self, name: str) -> int:
        """As which piece it ran: 1 for the first, 0 where it has not run yet."""
        return int(self._order.get(stream=_streams(4)[3])[self._names.index(name)])


def _run_fork_join(answer: Callable, held: str | None) -> np.ndarray:
    main, side = _streams(4)[:2]
    stamps = _Stamps(PIECES, held)
    with experiment(stamps.holds):
        with watch_for_waits(stamps.holds):
            event = _require_event(answer(*map(stamps.piece, PIECES), main, side))
        names = [name for name, _ in stamps.called]
        if sorted(names) != sorted(PIECES):
            raise Refusal(f"each of the four functions is called once; it called"
                          f" {', '.join(names) or 'none'}.")
        known = {0: "the default stream", main.ptr: "main", side.ptr: "side"}
        for name, stream in stamps.called:
            wanted = side if name == "right" else main
            if stream.ptr != wanted.ptr:
                raise Refusal(f"{name} belongs on {known[wanted.ptr]}; it went to"
                              f" {known.get(stream.ptr, 'another stream')}.", kind="stream")
        if stamps.holds:
            (hold,) = stamps.holds
            if hold.python_waited:
                raise Refusal(f"Python waits in it while {held} is held back. Let the streams wait"
                              " for events, not Python.", kind="wait")
            other = {"left": "right", "right": "left"}.get(held)
            if other and not becomes_true(lambda: stamps.place(other)):
                raise Refusal(f"{other} waits for {held}; the two should run side by side.",
                              kind="tied")
            later = {"first": ("left", "right", "last"), "last": ()}.get(held, ("last",))
            if later and becomes_true(lambda: any(map(stamps.place, later)), SHORT_WAIT):
                early = next(name for name in later if stamps.place(name))
                raise Refusal(f"{early} runs while {held} has not run yet.", kind="early")
            if becomes_true(lambda: event.done, SHORT_WAIT):
                raise Refusal("the event that it returns is done before `last` has run.",
                              kind="event")
            hold.release()
        _cupy().cuda.Device().synchronize()
        return np.array([stamps.place("first") == 1, stamps.place("last") == 4])


fork_join = StreamTask(
    "fork_join", lambda held: np.array([True, True]),
    lambda: [("first",), ("left",), ("right",), ("last",), (None,)],
    run=_run_fork_join, signature=lambda first, left, right, last, main, side: None,
)


# makespan: when all chunks are done, as a recurrence


def _makespan(seconds, streams, *, units=True, order=True, stream=True):
    n, free = len(seconds), [0.0, 0.0, 0.0]
    done = [0.0] * n
    for k in range(n):
        at = done[k - streams] if stream and k >= streams else 0.0
        for stage in range(3):
            begin = max(at if order else 0.0, free[stage] if units else 0.0)
            at = free[stage] = begin + float(seconds[k][stage])
        done[k] = at
    return max(done, default=0.0)


def _makespan_of_equal_chunks(seconds, streams):
    total = np.asarray(seconds).sum(axis=0)
    longest = total.max(initial=0)
    return float(longest + (total.sum() - longest) / max(1, len(seconds)))


def _makespan_case(n: int, streams: int, seed: int, equal: bool = False) -> Case:
    random = np.random.default_rng(seed)
    stages = random.uniform(1, 9, (1, 3)).repeat(n, axis=0)
    return stages if equal else stages * random.uniform(0.2, 3, (n, 3)), streams


makespan = Task(
    "makespan", _makespan, right=_makespan,
    cases=lambda: [
        _makespan_case(7, 3, 1),
        _makespan_case(6, 1, 2),
        _makespan_case(9, 2, 3),
        _makespan_case(16, 4, 4, equal=True),
        _makespan_case(1, 4, 5),
        (np.array([[1.0, 9, 1], [1, 0.5, 7], [6, 1, 1], [1, 1, 1]], order="F"), 2),
        (np.array([[5, 1, 1], [1, 8, 1], [1, 1, 9], [2, 2, 2], [1, 7, 1]], np.float32), 5),
    ],
    mistakes=[
        Mistake("the sum of all pieces: one queue", lambda seconds, streams:
                float(np.sum(seconds))),
        Mistake("the longest stage alone: the first chunk must be copied in before it, and the last"
                " one copied out after it",
                lambda seconds, streams: float(np.sum(seconds, axis=0).max(initial=0))),
        Mistake("the formula for equal chunks and many streams", _makespan_of_equal_chunks),
        ("units that work on several chunks at the same time", {"units": False}),
        ("as many streams as chunks: chunk k waits for chunk k - streams, which is on the same"
         " stream", {"stream": False}),
        ("stages of a chunk that do not wait for each other", {"order": False}),
    ],
)


# upload: when a pinned buffer may be filled again


def _run_upload(answer: Callable, chunks: int, count: int, hold_at: int | None) -> np.ndarray:
    cp = _cupy()
    stream = _streams(4)[0]
    buffers = [_pinned((SIZE,), -5) for _ in range(count)]
    arrays = [cp.full(SIZE, -1, cp.float32) for _ in range(chunks)]
    holds: list[Hold] = []
    fills: list[int] = []
    filled: list[np.ndarray] = []
    fills_then: list[int] = []
    arrived: list[int] = []

    def fill(buffer: np.ndarray, k: int) -> None:
        if not any(buffer is own for own in buffers):
            raise Refusal("fill(buffer, k) must get one of the buffers itself.")
        fills.append(k)
        filled.append(buffer)
        buffer[...] = 100 * (k + 1)
        if k == hold_at:
            holds.append(Hold(stream))

    def note() -> None:
        fills_then.append(len(fills))
        arrived.extend(arrays_that_arrived())

    def arrays_that_arrived() -> list[int]:
        return [k for k in range(hold_at, chunks) if _first_value(arrays[k]) != -1]

    with experiment(holds):
        with watch_for_waits(holds, note, lambda: len(fills)):
            event = _require_event(answer(fill, buffers, arrays, stream))
        if fills != list(range(chunks)):
            raise Refusal(f"fill must be called once for each of the chunks 0 to {chunks - 1}, in"
                          f" order; it was called for {fills}.")
        if holds:
            # Copies 0 to hold_at - 1 run and the others are held back: so many fills are right.
            allowed = min(chunks, hold_at + count)
            reached = fills_then[0] if fills_then else chunks
            if reached > allowed:
                raise Refusal(f"with {count} buffers, the one of chunk {allowed - count} is filled"
                              f" again for chunk {allowed} before it was copied.", kind="early")
            if not fills_then:
                arrived += arrays_that_arrived()
            if arrived:
                raise Refusal(f"the copy of chunk {arrived[0]} does not go through `stream`.",
                              kind="stream")
            if reached < allowed:
                raise Refusal(f"Python waits before it fills chunk {reached}, although the"
                              " buffer's last copy is done: wait for that copy only, not for all"
                              " that is queued.", kind="late")
            if fills_then and reached == chunks:
                raise Refusal("Python waits at its end for the last copies. Return the event: the"
                              " caller decides when to wait.", kind="wait at the end")
            if not fills_then and becomes_true(lambda: event.done, SHORT_WAIT):
                raise Refusal("the event that it returns is done before the last copy.",
                              kind="event")
            if not fills_then:  # the last copy is held: it has to read what is in the buffer then
                filled[-1][...] = -9
            for hold in holds:
                hold.release()
        cp.cuda.Device().synchronize()
        values = np.array([array.get(stream=stream)[7] for array in arrays])
        if holds and not fills_then:
            if values[-1] == 100 * chunks:
                raise Refusal("the copy to the device does not read the pinned buffer, but a copy"
                              " of it on the host.", kind="pageable")
            values[-1] = 100 * chunks
        return values


upload = StreamTask(
    "upload",
    lambda chunks, buffers, hold_at: 100 * np.arange(1, chunks + 1, dtype=np.float32),
    lambda: [(5, 2, 0), (6, 3, 1), (2, 3, 1), (4, 1, 2), (5, 2, 4)],
    run=_run_upload, signature=lambda fill, buffers, arrays, stream: None,
)


# lend: an array that another stream reads


def _run_lend(answer: Callable, held: str | None) -> np.ndarray:
    cp = _cupy()
    owner, reader = _streams(4)[:2]
    result = cp.full(SIZE, -1, cp.float32)
    holds: list[Hold] = []
    pool = cp.cuda.MemoryPool()
    places: list[int] = []

    def make() -> Any:
        _require_current_stream(cp, owner, "make()", "owner")
        x = cp.zeros(SIZE, cp.float32)
        if held == "make":
            holds.append(Hold(owner))
        _launch("put", x, np.float32(10), np.int32(SIZE))
        places.append(x.data.ptr)
        return x

    def read(x: Any) -> None:
        _require_current_stream(cp, reader, "read(x)", "reader")
        if not is_on_device(x) or x.shape != (SIZE,):
            raise Refusal(f"read(x) takes what make() returned; it got {describe_value(x)}.")
        if x.data.ptr != places[-1]:
            raise Refusal("read(x) got a copy; lend the array itself.", kind="copy")
        if held == "read":
            holds.append(Hold(reader))
        _launch("triple", x, result, np.int32(SIZE))

    with experiment(holds):
        with owner, cp.cuda.using_allocator(pool.malloc):
            cp.empty(SIZE, cp.float32)  # leaves a block in the pool, so that no later call waits
        with cp.cuda.using_allocator(pool.malloc):
            with watch_for_waits(holds):
                event = _require_event(answer(make, read, owner, reader))
            if holds and holds[0].python_waited:
                raise Refusal("Python waits in it. Let the streams wait for each other.",
                              kind="wait")
            if pool.used_bytes() and gc.collect() >= 0 and pool.used_bytes():
                raise Refusal("the array is still alive after it returned, so its memory cannot be"
                              " used again.", kind="alive")
            if held == "make" and becomes_true(lambda: _first_value(result) >= 0, SHORT_WAIT):
                raise Refusal("read runs before make has written the array.", kind="stale")
            if held and becomes_true(lambda: event.done, SHORT_WAIT):
                raise Refusal("the event that it returns is done before the array was read.",
                              kind="event")
            other = None
            if held == "read":
                with owner:  # another array in the same memory
                    other = cp.empty(SIZE, cp.float32)
                    _launch("put", other, np.float32(-9000), np.int32(SIZE))
                becomes_true(lambda: owner.done, SHORT_WAIT)
            for hold in holds:
                hold.release()
            cp.cuda.Device().synchronize()
            values = result.get(stream=reader)
            if held == "read" and values[0] < -1000:
                raise Refusal("the array's memory was given to the next array on `owner` and"
                              " overwritten before `reader` had read it.", kind="reused")
            del other
            return values


def _first_value(array: Any) -> float:
    return float(array.get(stream=_streams(4)[3])[0])


def _require_current_stream(cp: Any, stream: Any, what: str, name: str) -> None:
    if cp.cuda.get_current_stream().ptr != stream.ptr:
        raise Refusal(f"{what} must be called with `{name}` as the current stream.", kind="stream")


lend = StreamTask(
    "lend", lambda held: 3 * (10 + np.arange(SIZE, dtype=np.float32)) + 1,
    lambda: [("make",), ("read",), (None,)],
    run=_run_lend, signature=lambda make, read, owner, reader: None,
)


# branches: a graph of two branches


def _require_capture(name: str, stream: Any) -> None:
    if not stream.is_capturing():
        raise Refusal(f"{name}() was called on a stream that does not capture: it runs at once, and"
                      " is not part of the graph.", kind="outside")


def _run_branches(answer: Callable, held: str | None) -> np.ndarray:
    cp = _cupy()
    main, side = (cp.cuda.Stream(non_blocking=True) for _ in range(2))
    stamps = _Stamps(PIECES, held, _require_capture)
    try:
        graph = answer(stamps.piece("left"), stamps.piece("right"), main, side)
        if not isinstance(graph, cp.cuda.Graph):
            raise Refusal(f"it must return the graph; it returned {describe_value(graph)}."
                          f"{hint_at_return(graph)}")
    finally:
        for stream in (main, side):
            _stop_capture(stream)
        cp.cuda.Device().synchronize()
    names = [name for name, _ in stamps.called]
    if sorted(names) != ["left", "right"]:
        raise Refusal(f"left and right are called once each while capturing; it called"
                      f" {', '.join(names) or 'none'}.")
    if int(stamps.count.get()[0]):
        raise Refusal("something has run already: capture only, and do not launch the graph.",
                      kind="ran")
    with experiment(stamps.holds):
        other = {"left": "right", "right": "left"}.get(held)
        graph.launch(main)
        if other and not becomes_true(lambda: stamps.place(other)):
            raise Refusal(f"in the graph {other} waits for {held}: they are one row, not two"
                          " branches.", kind="row")
        for hold in stamps.holds:
            hold.release()
        graph.launch(main)
        main.synchronize()
        for name in ("left", "right"):
            if not stamps.place(name):
                raise Refusal(f"{name} is not part of the graph that it returned.", kind=name)
        return stamps.count.get(stream=main)


def _stop_capture(stream: Any) -> None:
    if stream.is_capturing():
        try:
            stream.end_capture()
        except Exception:  # noqa: BLE001, S110 -- the verdict says what is wrong
            pass


branches = StreamTask(
    "branches", lambda held: np.array([4], np.int32), lambda: [(None,), ("left",), ("right",)],
    run=_run_branches, signature=lambda left, right, main, side: None,
)
