"""Tasks about streams: an answer is judged by what runs while a piece of work is held back.

No check here looks at a clock. A kernel that spins until it is let go keeps one stream busy;
meanwhile the other streams either come to their end or do not.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import checks
import helpers
import nogpu
from helpers.backend import is_simulated
from helpers.transfers import stands_still

from .task import Refusal, Task, Verdict, describe_value, difference, hint_at_return

LONGEST = 30_000_000_000  # clock cycles after which a held stream goes on whatever happens
SOON = 1.0  # seconds within which free work is done, on any machine
A_WHILE = 0.05  # seconds in which work that nothing holds back would have begun
TURNS = 1000  # so often a line runs without progress only where Python asks again and again
# Where the course's own lines are, and those of its simulator.
OWN = tuple(f"{Path(package.__file__).parent}{os.sep}" for package in (checks, helpers, nogpu))

SOURCE = r"""
extern "C" __global__ void hold(const volatile int* open, long long cycles) {
    long long start = clock64();
    while (*open == 0 && clock64() - start < cycles) { }
}

extern "C" __global__ void triple(const float* x, float* y, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = 3 * x[i] + 1;
}

extern "C" __global__ void put(float* x, float value, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = value + i;
}

extern "C" __global__ void stamp(int* order, int* clock, int piece) {
    order[piece] = atomicAdd(clock, 1) + 1;
}
"""


@functools.cache
def _kernels() -> Any:
    import cupy

    return cupy.RawModule(code=SOURCE)


def launch(name: str, *args: object, stream: Any = None) -> None:
    """One block of a kernel of this module, on the current stream unless another is named."""
    block = (32,) if name in ("triple", "put") else (1,)
    _kernels().get_function(name)((1,), block, args, stream=stream)


@functools.cache
def streams(count: int) -> tuple[Any, ...]:
    """Streams that all experiments share: a GPU has few queues, and a pool for each stream."""
    import cupy

    return tuple(cupy.cuda.Stream(non_blocking=True) for _ in range(count))


class Hold:
    """Keeps a stream from going on until `release`, or until Python stands still in `watched`."""

    def __init__(self, stream: Any) -> None:
        import cupy
        import cupyx

        self.python_stood = False
        self.reached = stream.record()  # done when nothing but the hold keeps the stream
        self._simulated = is_simulated(cupy)
        if self._simulated:
            # Neither from a pool that a check looks at, nor part of what is being captured.
            current = cupy.cuda.get_current_stream()
            with cupy.cuda.Stream.null, cupy.cuda.using_allocator(None):
                self._flag = cupy.empty(1, dtype=cupy.int32)
            self._flag._view[0] = 0  # by no stream, because streams may be held already
            current.use()  # also where an answer chose it by use()
            argument: object = self._flag
        else:  # memory of the host, which a GPU can read: no queue is needed to let go
            self._flag = cupyx.zeros_pinned(1, dtype=np.int32)
            argument = np.uint64(self._flag.ctypes.data)
        launch("hold", argument, np.int64(LONGEST), stream=stream)

    def release(self) -> None:
        """Let the stream go on."""
        (self._flag._view if self._simulated else self._flag)[0] = 1


class _Turns:
    """Traces Python's lines, and calls `stands` when one runs `TURNS` times without progress.

    That is how Python waits by asking, as in `while not event.done: pass`: a count, no time.
    Progress is whatever changes `progress()`.
    """

    def __init__(self, stands: Callable[[], None], progress: Callable[[], object]) -> None:
        self._stands, self._progress = stands, progress
        self._at, self._turns = progress(), Counter()

    def __call__(self, frame: FrameType, what: str, argument: object) -> _Turns | None:
        if frame.f_code.co_filename.startswith(OWN):
            return None
        if what == "line":
            if (at := self._progress()) != self._at:
                self._at = at
                self._turns.clear()
            line = frame.f_code, frame.f_lineno
            self._turns[line] += 1
            if self._turns[line] >= TURNS:
                self._turns.clear()
                self._stands()
        return self


@contextmanager
def watched(
    holds: list[Hold],
    stuck: Callable[[], None] = lambda: None,
    progress: Callable[[], object] = lambda: None,
) -> Iterator[None]:
    """While an answer runs: once Python stands still, note it and let all held streams go on.

    `stuck` is called before that. Holds may be added to the list meanwhile. Python stands still in
    a call that does not return, or in a loop that asks again and again: where many turns change
    nothing about what `progress` returns. What comes before a hold may take its time: only then
    the counting begins.
    """
    finished, host, only_one = threading.Event(), threading.get_ident(), threading.Lock()
    free: list[Hold] = []  # holds with nothing before them any more

    def stands() -> None:
        with only_one:
            if any(not hold.python_stood for hold in holds):
                stuck()
            for hold in holds:
                hold.python_stood = True
                hold.release()

    def turns() -> None:
        waiting = [hold for hold in holds if hold not in free]
        for hold in waiting:
            hold.reached.synchronize()
        free.extend(waiting)
        if not waiting:
            stands()

    def watch() -> None:
        while stands_still(host, finished):
            stands()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    tracing = sys.gettrace() is None  # a debugger keeps its place
    if tracing:
        sys.settrace(_Turns(turns, progress))
    try:
        yield
    finally:
        if tracing:
            sys.settrace(None)
        finished.set()
        thread.join()


@contextmanager
def experiment(holds: list[Hold]) -> Iterator[None]:
    """Whatever happens in it, afterwards no stream is held and the device is idle."""
    import cupy

    cupy.cuda.Device().synchronize()
    try:
        yield
    finally:
        for hold in holds:
            hold.release()
        cupy.cuda.Device().synchronize()


def comes_true(condition: Callable[[], bool], seconds: float | None = None) -> bool:
    """Whether `condition` becomes true within `seconds` (SOON); returns as soon as it does."""
    end = time.monotonic() + (SOON if seconds is None else seconds)
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.001)
    return True


def an_event(value: object) -> Any:
    """The event that an answer returned, or a refusal."""
    import cupy

    if not isinstance(value, cupy.cuda.Event):
        raise Refusal("it must return an event (cupy.cuda.Event); it returned"
                      f" {describe_value(value)}.{hint_at_return(value)}")
    return value


@dataclass(frozen=True)
class StreamTask(Task):
    """A task whose answer queues work.

    Attributes
    ----------
    run : callable
        `run(answer, *case)` makes an experiment with the answer and returns what came out, or
        raises `Refusal`. `spec(*case)` says what must come out.
    signature : callable
        A function with the parameters that the answer must have.
    """

    run: Callable[..., object] = None  # given always; a default because Task's fields have one
    signature: Callable = None

    def _asked(self) -> Callable:
        return self.signature

    def _function(self, answer: object) -> Callable | Verdict:
        answer = super()._function(answer)
        if isinstance(answer, Verdict):
            return answer
        failed: list[Exception] = []

        @functools.wraps(self.spec)
        def function(*case: object) -> object:
            if failed:  # experiments take time, and one that fails is enough
                raise failed[0]
            try:
                value = self.run(answer, *case)
            except Exception as error:
                failed.append(error)
                raise
            if difference(self.spec(*case), value, self.rtol):
                failed.append(Refusal("wrong in an experiment before"))
            return value

        return function
