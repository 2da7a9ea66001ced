"""Checks of the exercises to lesson 14, Streams."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np

from .machinery.stream_task import (
    A_WHILE,
    Hold,
    StreamTask,
    an_event,
    comes_true,
    experiment,
    launch,
    streams,
    watched,
)
from .machinery.task import (
    Case,
    Mistake,
    Refusal,
    Task,
    describe_value,
    hint_at_return,
    is_on_device,
)

SIZE = 500  # numbers in a chunk


def _cupy():
    import cupy  # only here: other lessons' checks work without it

    return cupy


def _pinned(shape: tuple[int, ...], value: float) -> np.ndarray:
    import cupyx

    array = cupyx.empty_pinned(shape, np.float32)
    array[...] = value
    return array


# pipeline: copies beside kernels


def _chunks_of(chunks: int) -> np.ndarray:
    return np.random.default_rng(chunks).uniform(2, 9, (chunks, SIZE)).astype(np.float32)


def _run_pipeline(answer: Callable, chunks: int, count: int, held: int | None) -> np.ndarray:
    cp = _cupy()
    source, target = _pinned((chunks, SIZE), 0), _pinned((chunks, SIZE), -1)
    source[...] = _chunks_of(chunks)
    own, used, holds = list(streams(4)[:count]), [], []
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
        used.append(stream.ptr)
        if len(used) - 1 == held:
            holds.append(Hold(cp.cuda.get_current_stream()))
        launch("triple", x, y, np.int32(SIZE))

    queued: list[int] = []
    with experiment(holds):
        with watched(holds, lambda: queued.append(len(used)), lambda: len(used)):
            event = an_event(answer(source, target, work, own, pairs))
        if len(used) != chunks:
            raise Refusal(f"it called work {len(used)} times for {chunks} chunks.")
        if strange := set(used) - {stream.ptr for stream in own}:
            name = "the default stream" if strange & {0, 1} else "a stream of its own"
            raise Refusal(f"it called work on {name}; use the streams that it is given.",
                          kind="stream")
        if holds:
            if holds[0].python_stood and queued[0] == chunks:
                raise Refusal("Python waits at its end for the device. Return the event; who calls"
                              " it decides when to wait.", kind="wait at the end")
            if holds[0].python_stood:
                raise Refusal("Python waits in it until a chunk is computed, so the next chunk is"
                              " not even queued. Queue everything, wait for nothing.", kind="wait")
            others = [stream for stream in own if stream.ptr != used[held]]
            if others and len(set(used)) == 1:
                raise Refusal("all chunks are on one stream, where copies and kernels take turns.",
                              kind="one")
            # The streams that the returned event gathers may wait for the held one at their end.
            # Chunks may be queued in any order, so the free ones are counted, not named.
            free = chunks - used.count(used[held])
            if not comes_true(lambda: _come(target, source) >= free):
                _refuse_mixed(target, source)
                raise Refusal("while one stream is held back, chunks on the others do not come to"
                              " their end. Do they wait for it, or use the default stream?",
                              kind="tied")
            if comes_true(lambda: event.done, A_WHILE):
                raise Refusal("the event that it returns is done while a chunk is still being"
                              " computed.", kind="early")
            holds[0].release()
        cp.cuda.Device().synchronize()
        _refuse_mixed(target, source)
        return target.copy()


def _come(target: np.ndarray, source: np.ndarray) -> int:
    """How many chunks are back, each in its place."""
    return int((target == 3 * source + 1).all(axis=1).sum())


def _refuse_mixed(target: np.ndarray, source: np.ndarray) -> None:
    """Refuse results that came back for another chunk than their own."""
    results = 3 * source + 1
    for k in range(len(target)):
        for other in range(len(target)):
            if other != k and np.array_equal(target[k], results[other]):
                raise Refusal(f"target[{k}] is the result of chunk {other}, which came into the"
                              " arrays too early, or was copied back too late. Do both copies go"
                              " through the chunk's stream?", kind="mixed")


def _pipeline_that_stays(source, target, work, streams, pairs):
    for k in range(len(source)):
        x, y = pairs[k % len(streams)]
        with streams[k % len(streams)]:
            x.set(source[k])
            work(x, y)
    for stream in streams[1:]:
        streams[0].wait_event(stream.record())
    return streams[0].record()


pipeline = StreamTask(
    name="pipeline",
    spec=lambda chunks, streams, held: 3 * _chunks_of(chunks) + 1,
    signature=lambda source, target, work, streams, pairs: None,
    run=_run_pipeline,
    cases=lambda: [(5, 2, None), (6, 3, 1), (5, 3, 4), (3, 1, 0)],
    mistakes=[
        Mistake("results that never left the device", _pipeline_that_stays),
    ],
)


# fork_join: order by events alone

PIECES = ("first", "left", "right", "last")


def _run_fork_join(answer: Callable, held: str | None) -> np.ndarray:
    cp = _cupy()
    main, side = streams(4)[:2]
    order, clock = cp.zeros(4, cp.int32), cp.zeros(1, cp.int32)
    called, holds = [], []

    def piece(name: str) -> Callable[[], None]:
        def queue() -> None:
            stream = cp.cuda.get_current_stream()
            called.append((name, stream.ptr))
            if name == held:
                holds.append(Hold(stream))
            launch("stamp", order, clock, np.int32(PIECES.index(name)))

        return queue

    def ran(name: str) -> bool:
        return int(order.get(stream=streams(4)[3])[PIECES.index(name)]) > 0

    with experiment(holds):
        with watched(holds):
            event = an_event(answer(*map(piece, PIECES), main, side))
        names = [name for name, _ in called]
        if sorted(names) != sorted(PIECES):
            raise Refusal(f"each of the four functions is called once; it called"
                          f" {', '.join(names) or 'none'}.")
        where = {0: "the default stream", main.ptr: "main", side.ptr: "side"}
        for name, pointer in called:
            wanted = side if name == "right" else main
            if pointer != wanted.ptr:
                raise Refusal(f"{name} belongs on {where[wanted.ptr]}; it went to"
                              f" {where.get(pointer, 'another stream')}.", kind="stream")
        if holds:
            if holds[0].python_stood:
                raise Refusal(f"Python waits in it while {held} is held back. Let the streams wait"
                              " for events, not Python.", kind="wait")
            later = {"first": ("left", "right", "last"), "left": ("last",), "right": ("last",),
                     "last": ()}
            for other in {"left": ("right",), "right": ("left",)}.get(held, ()):
                if not comes_true(lambda name=other: ran(name)):
                    raise Refusal(f"{other} waits for {held}; the two should run side by side.",
                                  kind="tied")
            if later[held] and comes_true(lambda: any(map(ran, later[held])), A_WHILE):
                early = next(name for name in later[held] if ran(name))
                raise Refusal(f"{early} runs while {held} has not run yet.", kind="early")
            if comes_true(lambda: event.done, A_WHILE):
                raise Refusal("the event that it returns is done before `last` has run.",
                              kind="event")
            holds[0].release()
        cp.cuda.Device().synchronize()
        stamps = order.get(stream=streams(4)[3])
        return np.array([stamps[0] == 1, stamps[3] == 4])


fork_join = StreamTask(
    name="fork_join",
    spec=lambda held: np.array([True, True]),
    signature=lambda first, left, right, last, main, side: None,
    run=_run_fork_join,
    cases=lambda: [(None,), ("first",), ("left",), ("right",), ("last",)],
)


# makespan: a recurrence, against a simulation of the queues


def simulate(seconds: np.ndarray, streams: int) -> float:
    """When all is done on three units and so many streams, found by playing it through.

    Each stream is a queue of pieces (chunk, stage). A piece begins when it is at the head of its
    stream and its unit is free; a unit serves the chunks in their order.
    """
    queues = [[(k, stage) for k in range(s, len(seconds), streams) for stage in range(3)]
              for s in range(streams)]
    turn = [0, 0, 0]  # the chunk that each unit serves next
    running: dict[int, tuple[float, int]] = {}  # unit: (end, stream)
    now = 0.0
    while any(queues):
        for s, queue in enumerate(queues):
            busy = any(stream == s for _, stream in running.values())
            if queue and not busy:
                k, stage = queue[0]
                if stage not in running and turn[stage] == k:
                    running[stage] = (now + float(seconds[k][stage]), s)
        unit = min(running, key=lambda unit: running[unit][0])
        now, s = running.pop(unit)
        turn[unit] += 1
        queues[s].pop(0)
    return now


def _makespan_like(units=True, order=True, stream=True):
    def makespan(seconds, streams):
        n, free = len(seconds), [0.0, 0.0, 0.0]
        done = [0.0] * n
        for k in range(n):
            at = done[k - streams] if stream and k >= streams else 0.0
            for stage in range(3):
                begin = max(at if order else 0.0, free[stage] if units else 0.0)
                at = free[stage] = begin + float(seconds[k][stage])
            done[k] = at
        return max(done, default=0.0)

    return makespan


def _formula(seconds, streams):
    total = np.asarray(seconds).sum(axis=0)
    longest = total.max(initial=0)
    return float(longest + (total.sum() - longest) / max(1, len(seconds)))


def _makespan_case(n: int, streams: int, seed: int, equal: bool = False) -> Case:
    random = np.random.default_rng(seed)
    stages = random.uniform(1, 9, (1, 3)).repeat(n, axis=0)
    return stages if equal else stages * random.uniform(0.2, 3, (n, 3)), streams


makespan = Task(
    name="makespan",
    spec=simulate,
    cases=lambda: [
        _makespan_case(7, 3, 1),
        _makespan_case(6, 1, 2),
        _makespan_case(9, 2, 3),
        _makespan_case(16, 4, 4, equal=True),
        _makespan_case(1, 4, 5),
        (np.array([[1.0, 9, 1], [1, 0.5, 7], [6, 1, 1], [1, 1, 1]]), 2),
        (np.array([[5.0, 1, 1], [1, 8, 1], [1, 1, 9], [2, 2, 2], [1, 7, 1]]), 5),
    ],
    mistakes=[
        Mistake("the sum of all pieces: one queue", lambda seconds, streams:
                float(np.sum(seconds))),
        Mistake("the longest stage alone: the first chunk has to come in, the last one to go out",
                lambda seconds, streams: float(np.sum(seconds, axis=0).max(initial=0))),
        Mistake("the formula for equal chunks and many streams", _formula),
        Mistake("units that serve several chunks at the same time", _makespan_like(units=False)),
        Mistake("as many streams as chunks: chunk k waits for chunk k - streams, which was on its"
                " stream", _makespan_like(stream=False)),
        Mistake("stages of a chunk that do not wait for each other", _makespan_like(order=False)),
    ],
)


# upload: the pinned buffer refilled too early


def _run_upload(answer: Callable, chunks: int, count: int, hold_at: int | None) -> np.ndarray:
    cp = _cupy()
    stream = streams(4)[0]
    buffers = [_pinned((SIZE,), -5) for _ in range(count)]
    arrays = [cp.full(SIZE, -1, cp.float32) for _ in range(chunks)]
    holds: list[Hold] = []
    fills: list[int] = []
    when_stuck: list[int] = []
    arrived: list[int] = []

    def fill(buffer: np.ndarray, k: int) -> None:
        if not any(buffer is own for own in buffers):
            raise Refusal("fill(buffer, k) must get one of the buffers itself.")
        fills.append(k)
        buffer[...] = 100 * (k + 1)
        if k == hold_at:
            holds.append(Hold(stream))

    def stuck() -> None:
        when_stuck.append(len(fills))
        arrived.extend(arrays_that_arrived())

    def arrays_that_arrived() -> list[int]:
        return [k for k in range(hold_at, chunks) if _first(arrays[k]) != -1]

    with experiment(holds):
        with watched(holds, stuck, lambda: len(fills)):
            event = an_event(answer(fill, buffers, arrays, stream))
        if fills != list(range(chunks)):
            raise Refusal(f"fill must be called once for each of the chunks 0 to {chunks - 1}, in"
                          f" order; it was called for {fills}.")
        if holds:
            # Copies 0 to hold_at - 1 run, the others are held back: so many buffers are free.
            allowed = min(chunks, hold_at + count)
            reached = when_stuck[0] if when_stuck else chunks
            if reached > allowed:
                raise Refusal(f"with {count} buffers, the one of chunk {allowed - count} is filled"
                              f" again for chunk {allowed} before it was copied.", kind="early")
            if not when_stuck:
                arrived += arrays_that_arrived()
            if arrived:
                raise Refusal(f"the copy of chunk {arrived[0]} does not go through `stream`.",
                              kind="stream")
            if reached < allowed:
                raise Refusal(f"Python waits before it fills chunk {reached}, although the"
                              " buffer's last copy is done: wait for that copy only, not for all"
                              " that is queued.", kind="late")
            if when_stuck and reached == chunks:
                raise Refusal("Python waits at its end for the last copies. Return the event; who"
                              " calls it decides when to wait.", kind="wait at the end")
            if not when_stuck and comes_true(lambda: event.done, A_WHILE):
                raise Refusal("the event that it returns is done before the last copy.",
                              kind="event")
            for hold in holds:
                hold.release()
        cp.cuda.Device().synchronize()
        return np.array([array.get(stream=stream)[7] for array in arrays])


upload = StreamTask(
    name="upload",
    spec=lambda chunks, buffers, hold_at: 100 * np.arange(1, chunks + 1, dtype=np.float32),
    signature=lambda fill, buffers, arrays, stream: None,
    run=_run_upload,
    cases=lambda: [(5, 2, 0), (6, 3, 1), (2, 3, 1), (4, 1, 2), (5, 2, 4)],
)


# lend: an array that another stream reads


def _run_lend(answer: Callable, held: str | None) -> np.ndarray:
    cp = _cupy()
    owner, reader = streams(4)[:2]
    result = cp.full(SIZE, -1, cp.float32)
    holds: list[Hold] = []
    pool = cp.cuda.MemoryPool()
    places: list[int] = []

    def make() -> Any:
        _on(cp, owner, "make()", "owner")
        x = cp.zeros(SIZE, cp.float32)
        if held == "make":
            holds.append(Hold(owner))
        launch("put", x, np.float32(10), np.int32(SIZE))
        places.append(x.data.ptr)
        return x

    def read(x: Any) -> None:
        _on(cp, reader, "read(x)", "reader")
        if not is_on_device(x) or x.shape != (SIZE,):
            raise Refusal(f"read(x) takes what make() returned; it got {describe_value(x)}.")
        if x.data.ptr != places[-1]:
            raise Refusal("read(x) got a copy; lend the array itself.", kind="copy")
        if held == "read":
            holds.append(Hold(reader))
        launch("triple", x, result, np.int32(SIZE))

    with experiment(holds):
        with owner, cp.cuda.using_allocator(pool.malloc):
            cp.empty(SIZE, cp.float32)  # a block in the pool, so that nothing asks the device
        with cp.cuda.using_allocator(pool.malloc):
            with watched(holds):
                event = an_event(answer(make, read, owner, reader))
            if holds and holds[0].python_stood:
                raise Refusal("Python waits in it. Let the streams wait for each other.",
                              kind="wait")
            if pool.used_bytes() and gc.collect() >= 0 and pool.used_bytes():
                raise Refusal("the array is still alive after it returned: nobody can use its"
                              " memory again.", kind="alive")
            if held == "make" and comes_true(lambda: _first(result) >= 0, A_WHILE):
                raise Refusal("read runs before make has written the array.", kind="stale")
            if held and comes_true(lambda: event.done, A_WHILE):
                raise Refusal("the event that it returns is done before the array was read.",
                              kind="event")
            other = None
            if held == "read":
                with owner:  # the next user of the owner's memory
                    other = cp.empty(SIZE, cp.float32)
                    launch("put", other, np.float32(-9000), np.int32(SIZE))
                comes_true(lambda: owner.done, A_WHILE)
            for hold in holds:
                hold.release()
            cp.cuda.Device().synchronize()
            values = result.get(stream=reader)
            if held == "read" and values[0] < -1000:
                raise Refusal("the array's memory was given to the next user on `owner` and"
                              " overwritten before `reader` had read it.", kind="reused")
            del other
            return values


def _first(array: Any) -> float:
    return float(array.get(stream=streams(4)[3])[0])


def _on(cp: Any, stream: Any, what: str, name: str) -> None:
    if cp.cuda.get_current_stream().ptr != stream.ptr:
        raise Refusal(f"{what} must be called with `{name}` as the current stream.", kind="stream")


lend = StreamTask(
    name="lend",
    spec=lambda held: 3 * (10 + np.arange(SIZE, dtype=np.float32)) + 1,
    signature=lambda make, read, owner, reader: None,
    run=_run_lend,
    cases=lambda: [(None,), ("make",), ("read",)],
)


# branches: a graph of two branches


def _run_branches(answer: Callable, held: str | None) -> np.ndarray:
    cp = _cupy()
    main, side = (cp.cuda.Stream(non_blocking=True) for _ in range(2))
    order, clock = cp.zeros(4, cp.int32), cp.zeros(1, cp.int32)
    called, holds = [], []

    def piece(name: str) -> Callable[[], None]:
        def queue() -> None:
            stream = cp.cuda.get_current_stream()
            if not stream.is_capturing():
                raise Refusal(f"{name}() was called on a stream that does not capture: it runs at"
                              " once, and is not part of the graph.", kind="outside")
            called.append(name)
            if name == held:
                holds.append(Hold(stream))
            launch("stamp", order, clock, np.int32(PIECES.index(name)))

        return queue

    def ran(name: str) -> bool:
        return int(order.get(stream=streams(4)[3])[PIECES.index(name)]) > 0

    try:
        graph = answer(piece("left"), piece("right"), main, side)
        if not isinstance(graph, cp.cuda.Graph):
            raise Refusal(f"it must return the graph; it returned {describe_value(graph)}."
                          f"{hint_at_return(graph)}")
    finally:
        for stream in (main, side):
            _stop_capture(stream)
        cp.cuda.Device().synchronize()
    if sorted(called) != ["left", "right"]:
        raise Refusal(f"left and right are called once each while capturing; it called"
                      f" {', '.join(called) or 'none'}.")
    if int(clock.get()[0]):
        raise Refusal("something has run already: capture only, and do not launch the graph.",
                      kind="ran")
    with experiment(holds):
        other = {"left": "right", "right": "left"}.get(held)
        graph.launch(main)
        if other and not comes_true(lambda: ran(other)):
            raise Refusal(f"in the graph {other} waits for {held}: they are one row, not two"
                          " branches.", kind="row")
        for hold in holds:
            hold.release()
        graph.launch(main)
        main.synchronize()
        for name in ("left", "right"):
            if not ran(name):
                raise Refusal(f"{name} is not part of the graph that it returned.", kind=name)
        return clock.get(stream=main)


def _stop_capture(stream: Any) -> None:
    if stream.is_capturing():
        try:
            stream.end_capture()
        except Exception:  # noqa: BLE001, S110 -- what is wrong was said already
            pass


branches = StreamTask(
    name="branches",
    spec=lambda held: np.array([4], np.int32),
    signature=lambda left, right, main, side: None,
    run=_run_branches,
    cases=lambda: [(None,), ("left",), ("right",)],
)
