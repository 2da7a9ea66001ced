"""The tasks about streams: overlap, order by events, queues, buffers, memory."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from helpers.backend import is_simulated

from .machinery.stream_task import SHORT_WAIT, Hold, becomes_true, experiment, watch_for_waits
from .machinery.task import (
    Case,
    ExperimentTask,
    Refusal,
    Task,
    Verdict,
    describe_value,
    is_on_device,
    require_type,
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
def _streams() -> tuple[Any, ...]:
    """Four streams that all experiments share: a GPU has few queues, and each stream a pool.

    All kernels run here once. CUDA loads a kernel when it is first needed, and this may wait for
    all work of the GPU, also for what an experiment holds back.
    """
    x, counts = _cupy().zeros(1, np.float32), _cupy().zeros(2, np.int32)
    _launch("triple", x, x, np.int32(0))
    _launch("put", x, np.float32(0), np.int32(0))
    _launch("stamp", counts, counts[1:], np.int32(0))
    return tuple(_cupy().cuda.Stream(non_blocking=True) for _ in range(4))


def _require_event(value: object) -> Any:
    return require_type(value, _cupy().cuda.Event,
                        "it must return an event (cupy.cuda.Event); it returned")


def _refuse_done(event: Any, what: str) -> None:
    """Refuse an event that is done while something is held back."""
    if becomes_true(lambda: event.done, SHORT_WAIT):
        raise Refusal(f"the event that it returns is done before {what}.", kind="event")


class StreamTask(ExperimentTask):
    """A task whose answer queues work. Once an experiment has failed, no other is made.

    The experiments that hold something back come first: without a hold, an answer that misses an
    event is right or wrong by chance. The last one holds nothing. On a GPU it is also made once
    before all others, and not judged: what runs for the first time there may wait for all work.
    """

    until_wrong = True

    def judge(self, answer: object) -> Verdict:
        """The verdict on `answer`, without printing."""
        if not is_simulated(_cupy()) and callable(answer):
            with suppress(Exception, SystemExit):
                self.run(answer, *list(self.cases())[-1])
        return super().judge(answer)


# two warm-ups of the lesson: what is idle in a row of stages, and what an event orders

def _idle(copy_in, kernel, copy_out, *, works=False, longest=max):
    whole = copy_in + kernel + copy_out
    share = kernel / whole
    return share if works else 1 - share, whole / longest(copy_in, kernel, copy_out)


idle = Task(
    "idle", _idle, lambda: [(1.0, 2.0, 1.0), (3.0, 0.5, 9.0), (0.5, 0.75, 0.5), (1.0, 98.0, 1.0)],
    right=_idle,
    mistakes=[
        ("the share in which the multiprocessors work", {"works": True}),
        ("a factor as if the kernel were always the longest",
         {"longest": lambda copy_in, kernel, copy_out: kernel}),
        ("a factor of 3, whatever the stages take", lambda *stages: (_idle(*stages)[0], 3.0)),
    ],
)


def _in_this_order(*pairs: str) -> Callable[[str], bool]:
    return lambda order: all(order.index(one) < order.index(two) for one, two in pairs)


can_happen = Task(
    "can_happen", _in_this_order("AB", "cd", "Ad"),
    lambda: [(order,) for order in ("ABcd", "cdAB", "cAdB", "AcdB", "BAcd", "cABd", "ABdc",
                                    "AcBd")],
    mistakes=[
        ("two streams without an event", _in_this_order("AB", "cd")),
        ("an event behind `B`: it was recorded before", _in_this_order("AB", "cd", "Bd")),
        ("an event that `c` waits for: `c` was queued before", _in_this_order("AB", "cd", "Ac")),
    ],
)


# by_units: a stream for copies in, one for kernels, one for copies out


def _chunks_of(chunks: int) -> np.ndarray:
    return np.random.default_rng(chunks).uniform(2, 9, (chunks, SIZE)).astype(np.float32)


class _Chunks(np.ndarray):
    """An array that calls `asked()` whenever a part of it is taken."""

    asked: Callable[[], None]

    def __getitem__(self, key: Any) -> Any:
        self.asked()
        return np.asarray(self)[key]


def _run_by_units(answer: Callable, chunks: int, count: int, held: str | None) -> np.ndarray:
    cp = _cupy()
    size = SIZE if held else 1 << 21  # nothing held: long copies, of which kernels use the end
    source, target = _pinned((chunks, size), 0), _pinned((chunks, size), -1)
    source[:, -SIZE:] = _chunks_of(chunks)
    results, late = 3 * source + 1, 2  # the chunk whose kernel is held back
    up, compute, down = _streams()[:3]
    pairs = [(cp.full(size, -1, cp.float32), cp.full(size, -1, cp.float32)) for _ in range(count)]
    places = [[array.data.ptr for array in pair] for pair in pairs]
    calls: list[int] = []
    holds: list[Hold] = []

    def work(x: Any, y: Any) -> None:
        if cp.cuda.get_current_stream().ptr != compute.ptr:
            raise Refusal("it called work on another stream than `compute`.", kind="stream")
        if not is_on_device(x) or [x.data.ptr, y.data.ptr] != places[len(calls) % count]:
            raise Refusal(f"chunk {len(calls)} must use the pair {len(calls) % count}, in the order"
                          " x, y, and chunks are queued in order.", kind="pair")
        if held == "compute" and len(calls) == late:
            holds.append(Hold(compute))
        calls.append(len(calls))
        _launch("triple", x[-SIZE:], y[-SIZE:], np.int32(SIZE))

    def has(k: int, which: int, values: np.ndarray) -> bool:
        return np.array_equal(pairs[k % count][which].get(stream=_streams()[3]), values[k])

    def hold_copy() -> None:
        if held == "copy" and not holds:  # an event that was recorded on `up` before is done
            holds.append(Hold(up))

    shown = source.view(_Chunks)
    shown.asked = hold_copy
    with experiment(holds):
        if held in ("up", "down"):
            holds.append(Hold(up if held == "up" else down))
        with watch_for_waits(holds):
            event = _require_event(answer(shown, target, work, up, compute, down, pairs))
        if len(calls) != chunks:
            raise Refusal(f"it called work {len(calls)} times for {chunks} chunks.")
        if holds:
            if holds[0].python_waited:
                raise Refusal("Python waits in it. Queue everything, wait for nothing.",
                              kind="wait")
            _judge_held(held, late if held == "compute" else 0, count, source, results, target, has)
            _refuse_done(event, "all chunks are back")
            holds[0].release()
        cp.cuda.Device().synchronize()
        return target[:, -SIZE:].copy()


def _judge_held(held: str, late: int, count: int, source: np.ndarray, results: np.ndarray,
                target: np.ndarray, has: Callable[[int, int, np.ndarray], bool]) -> None:
    """Refuse an answer whose other streams do too little or too much while one is held back."""
    old = np.full_like(source, -1)
    ahead = range(late + 1, min(late + count, len(source)))
    if held == "compute":
        right = {"copies in of the next chunks": lambda: all(has(k, 0, source) for k in ahead),
                 "copies out of earlier chunks": lambda: np.array_equal(target[:late],
                                                                        results[:late])}
        wrong = {f"x is filled again before the kernel of chunk {late} has read it":
                 lambda: not has(late, 0, source),
                 f"chunk {late} is copied out before its kernel has run":
                 lambda: (target[late] != -1).any()}
    elif held == "down":
        right = {"kernels of the first chunks": lambda: all(
            has(k, 1, results) for k in range(min(count, len(source)))),
            "copies in of the next chunks": lambda: all(
                has(k, 0, source) for k in range(count, min(2 * count, len(source))))}
        wrong = {"a copy out does not go through `down`": lambda: (target != -1).any(),
                 "y is filled again before the result of chunk 0 is copied out":
                 lambda: not has(0, 1, results)}
    else:
        right, wrong = {}, {"a copy in does not go through `up`": lambda: not has(0, 0, old),
                            "a kernel runs before its chunk is copied in":
                            lambda: not has(0, 1, old)}
    name = "up" if held == "copy" else held
    for what, happened in right.items():
        if not becomes_true(happened):
            early = next((text for text, fault in wrong.items() if fault()), None)
            raise Refusal(f"while `{name}` is held back, {early or f'the {what} do not end'}.",
                          kind="early" if early else "tied")
    for what, happened in wrong.items():
        if becomes_true(happened, SHORT_WAIT):
            raise Refusal(f"while `{name}` is held back, {what}.", kind="early")


by_units = StreamTask(
    "by_units", lambda chunks, pairs, held: 3 * _chunks_of(chunks) + 1,
    lambda: [(6, 2, "compute"), (6, 3, "compute"), (5, 2, "down"), (6, 3, "up"), (2, 3, "down"),
             (6, 3, "copy"), (7, 2, None)],
    run=_run_by_units,
    signature=lambda source, target, work, up, compute, down, pairs: None,
)


# fork_join: order by events alone

PIECES = ("first", "left", "right", "last")


def _run_fork_join(answer: Callable, held: str | None) -> np.ndarray:
    """Each piece of work notes on the device as which one it ran; the one called `held` waits."""
    cp = _cupy()
    main, side, _, looking = _streams()
    order, count = cp.zeros(len(PIECES), cp.int32), cp.zeros(1, cp.int32)
    called: list[tuple[str, Any]] = []
    holds: list[Hold] = []

    def queue(name: str) -> None:
        stream = cp.cuda.get_current_stream()
        called.append((name, stream))
        if name == held:
            holds.append(Hold(stream))
        _launch("stamp", order, count, np.int32(PIECES.index(name)))

    def place(name: str) -> int:
        return int(order.get(stream=looking)[PIECES.index(name)])  # 0 where it has not run yet

    with experiment(holds):
        with watch_for_waits(holds):
            pieces = [functools.partial(queue, name) for name in PIECES]
            event = _require_event(answer(*pieces, main, side))
        names = [name for name, _ in called]
        if sorted(names) != sorted(PIECES):
            raise Refusal(f"each of the four functions is called once; it called"
                          f" {', '.join(names) or 'none'}.")
        known = {0: "the default stream", main.ptr: "main", side.ptr: "side"}
        for name, stream in called:
            wanted = side if name == "right" else main
            if stream.ptr != wanted.ptr:
                raise Refusal(f"{name} belongs on {known[wanted.ptr]}; it went to"
                              f" {known.get(stream.ptr, 'another stream')}.", kind="stream")
        if holds:
            if holds[0].python_waited:
                raise Refusal(f"Python waits in it while {held} is held back. Let the streams wait"
                              " for events, not Python.", kind="wait")
            other = {"left": "right", "right": "left"}.get(held)
            if other and not becomes_true(lambda: place(other)):
                raise Refusal(f"{other} waits for {held}; the two should run side by side.",
                              kind="tied")
            later = {"first": ("left", "right", "last"), "last": ()}.get(held, ("last",))
            if later and becomes_true(lambda: any(map(place, later)), SHORT_WAIT):
                early = next(name for name in later if place(name))
                raise Refusal(f"{early} runs while {held} has not run yet.", kind="early")
            _refuse_done(event, "`last` has run")
            holds[0].release()
        cp.cuda.Device().synchronize()
        return np.array([place("first") == 1, place("last") == 4])


fork_join = StreamTask(
    "fork_join", lambda held: np.array([True, True]),
    lambda: [("right",), ("first",), ("left",), ("last",), (None,)],  # "right" shows a missing join
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
        ("the sum of all pieces: one queue", lambda seconds, streams: float(np.sum(seconds))),
        ("the longest stage alone: the first chunk must be copied in before it, and the last one"
         " copied out after it",
         lambda seconds, streams: float(np.sum(seconds, axis=0).max(initial=0))),
        ("the formula for equal chunks and many streams", _makespan_of_equal_chunks),
        ("units that work on several chunks at the same time", {"units": False}),
        ("as many streams as chunks: chunk k waits for chunk k - streams, which is on the same"
         " stream", {"stream": False}),
        ("stages of a chunk that do not wait for each other", {"order": False}),
    ],
)


# upload: when a pinned buffer may be filled again


def _run_upload(answer: Callable, chunks: int, count: int, hold_at: int | None) -> np.ndarray:
    cp = _cupy()
    stream = _streams()[0]
    size = 1 << 22 if hold_at is None else SIZE  # nothing held: long copies
    buffers = [_pinned((size,), -5) for _ in range(count)]
    arrays = [cp.full(size, -1, cp.float32) for _ in range(chunks)]
    holds: list[Hold] = []
    fills: list[int] = []
    seen: list[tuple[int, list[int]]] = []  # how many fills, and what arrived of what is held back

    def fill(buffer: np.ndarray, k: int) -> None:
        if buffer is not buffers[k % count]:
            raise Refusal("fill(buffer, k) must get buffers[k % len(buffers)] itself.")
        if hold_at is None and k >= count and _first_value(arrays[k - count][-1:]) == -1:
            raise Refusal(f"the buffer of chunk {k - count} is filled again for chunk {k} before it"
                          " was copied.", kind="early")
        fills.append(k)
        buffer[...] = 100 * (k + 1)
        if k == hold_at:
            holds.append(Hold(stream))

    def look() -> None:
        late = range(hold_at, chunks)
        seen.append((len(fills), [k for k in late if _first_value(arrays[k]) != -1]))

    with experiment(holds):
        with watch_for_waits(holds, look, lambda: len(fills)):
            event = _require_event(answer(fill, buffers, arrays, stream))
        if fills != list(range(chunks)):
            raise Refusal(f"fill must be called once for each of the chunks 0 to {chunks - 1}, in"
                          f" order; it was called for {fills}.")
        if holds:
            # Copies 0 to hold_at - 1 run and the others are held back: so many fills are right.
            allowed = min(chunks, hold_at + count)
            if not (python_waits := holds[0].python_waited):
                look()
            reached, arrived = seen[0]
            if reached > allowed:
                raise Refusal(f"with {count} buffers, the one of chunk {allowed - count} is filled"
                              f" again for chunk {allowed} before it was copied.", kind="early")
            if arrived:
                raise Refusal(f"the copy of chunk {arrived[0]} does not go through `stream`.",
                              kind="stream")
            if reached < allowed:
                raise Refusal(f"Python waits before it fills chunk {reached}, although the"
                              " buffer's last copy is done: wait for that copy only, not for all"
                              " that is queued.", kind="late")
            if python_waits and reached == chunks:
                raise Refusal("Python waits at its end for the last copies. Return the event: the"
                              " caller decides when to wait.", kind="wait at the end")
            if not python_waits:
                _refuse_done(event, "the last copy")
                # The last copy has to read what is in the buffer when it runs.
                buffers[(chunks - 1) % count][...] = -9
            holds[0].release()
        cp.cuda.Device().synchronize()
        values = np.array([array.get(stream=stream)[7] for array in arrays])
        if holds and not python_waits:
            if values[-1] == 100 * chunks:
                raise Refusal("the copy to the device does not read the pinned buffer, but a copy"
                              " of it on the host.", kind="pageable")
            values[-1] = 100 * chunks
        return values


upload = StreamTask(
    "upload",
    lambda chunks, buffers, hold_at: 100 * np.arange(1, chunks + 1, dtype=np.float32),
    lambda: [(5, 2, 0), (6, 3, 1), (2, 3, 1), (4, 1, 2), (5, 2, 4),
             (10, 1, None)],  # nothing held: nine chances to see a buffer that is filled too early
    run=_run_upload, signature=lambda fill, buffers, arrays, stream: None,
)


# lend: an array that another stream reads


def _run_lend(answer: Callable, held: str | None) -> np.ndarray:
    cp = _cupy()
    owner, reader = _streams()[:2]
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
            if held:
                _refuse_done(event, "the array was read")
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
    return float(array.get(stream=_streams()[3])[0])


def _require_current_stream(cp: Any, stream: Any, what: str, name: str) -> None:
    if cp.cuda.get_current_stream().ptr != stream.ptr:
        raise Refusal(f"{what} must be called with `{name}` as the current stream.", kind="stream")


lend = StreamTask(
    "lend", lambda held: 3 * (10 + np.arange(SIZE, dtype=np.float32)) + 1,
    lambda: [("make",), ("read",), (None,)],
    run=_run_lend, signature=lambda make, read, owner, reader: None,
)
