"""Tasks about streams: the answer queues work, and one piece of that work is held back.

A kernel that spins until it is released holds one stream. Meanwhile the work on the other streams
either ends or does not, which shows what waits for what. No verdict compares times.
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
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import checks
import helpers
import nogpu
from helpers.backend import is_simulated
from helpers.transfers import stands_still
from nogpu import engine

HOLD_CYCLES = 30_000_000_000  # clock cycles after which a held stream goes on in any case
LONGEST_WAIT = 1.0  # seconds within which work that nothing holds back ends, on any machine
SHORT_WAIT = 0.05  # seconds within which work that nothing holds back begins
REPEATS = 1000  # a line that runs so often without progress is a loop that waits
# The folders of the course's own lines, and of the simulator's.
OWN = tuple(f"{Path(package.__file__).parent}{os.sep}" for package in (checks, helpers, nogpu))

HOLD = r"""
extern "C" __global__ void hold(const volatile int* released, long long cycles) {
    long long start = clock64();
    while (*released == 0 && clock64() - start < cycles) __nanosleep(50000);
}
"""


@functools.cache
def _hold_kernel() -> Any:
    import cupy

    return cupy.RawKernel(HOLD, "hold")


class Hold:
    """Holds a stream until `release`; `watch_for_waits` calls that when Python waits for it.

    Attributes
    ----------
    reached : cupy.cuda.Event
        Done when the stream has come to the hold.
    python_waited : bool
        Whether Python waited for what the hold keeps back.
    """

    def __init__(self, stream: Any) -> None:
        import cupy
        import cupyx

        self.python_waited = False
        self.reached = stream.record()
        if is_simulated(cupy):
            # Neither from a pool that a check looks at, nor part of what is being captured.
            current = cupy.cuda.get_current_stream()
            with cupy.cuda.Stream.null, cupy.cuda.using_allocator(None):
                self._memory = cupy.empty(1, dtype=cupy.int32)
            current.use()  # also where an answer chose it by use()
            argument: object = self._memory
            self._released = engine.view(self._memory.data.ptr, 4, np.int32)
        else:
            self._released = cupyx.zeros_pinned(1, dtype=np.int32)
            argument = np.uint64(self._released.ctypes.data)
        self._released[0] = 0  # written by the host, because every stream may be held
        _hold_kernel()((1,), (1,), (argument, np.int64(HOLD_CYCLES)), stream=stream)

    def release(self) -> None:
        """Let the stream go on."""
        self._released[0] = 1


class _LineCounter:
    """A trace function: calls `waits` when a line runs `REPEATS` times without progress.

    Such a line is a loop that waits, as `while not event.done: pass`. Progress is any change of
    `progress()`.
    """

    def __init__(self, waits: Callable[[], None], progress: Callable[[], object]) -> None:
        self._waits, self._progress = waits, progress
        self._last, self._runs = progress(), Counter()

    def __call__(self, frame: FrameType, what: str, argument: object) -> _LineCounter | None:
        if frame.f_code.co_filename.startswith(OWN):
            return None
        if what == "line":
            if (now := self._progress()) != self._last:
                self._last = now
                self._runs.clear()
            line = frame.f_code, frame.f_lineno
            self._runs[line] += 1
            if self._runs[line] >= REPEATS:
                self._runs.clear()
                self._waits()
        return self


@contextmanager
def watch_for_waits(holds: list[Hold], before: Callable[[], None] = lambda: None,
                    progress: Callable[[], object] = lambda: None) -> Iterator[None]:
    """While an answer runs: once Python waits for held work, note that and release all holds.

    Python waits in a call that does not return, or in a loop that runs many times without any
    change of `progress()`. Work in front of a hold may take its time: only when a stream has come
    to its hold do the loop's runs count. Holds may be added while the answer runs; `before` is
    called before they are released.
    """
    returned, host, one_at_a_time = threading.Event(), threading.get_ident(), threading.Lock()
    reached: list[Hold] = []

    def release_all() -> None:
        with one_at_a_time:
            if any(not hold.python_waited for hold in holds):
                before()
            for hold in holds:
                hold.python_waited = True
                hold.release()

    def loop_waits() -> None:
        new = [hold for hold in holds if hold not in reached]
        for hold in new:
            hold.reached.synchronize()
        reached.extend(new)
        if not new:
            release_all()

    def watch() -> None:
        while stands_still(host, returned):
            release_all()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    tracing = sys.gettrace() is None  # not where a debugger traces
    if tracing:
        sys.settrace(_LineCounter(loop_waits, progress))
    try:
        yield
    finally:
        if tracing:
            sys.settrace(None)
        returned.set()
        thread.join()


@contextmanager
def experiment(holds: list[Hold]) -> Iterator[None]:
    """Begin with an idle device, and end with all holds released and an idle device."""
    import cupy

    cupy.cuda.Device().synchronize()
    try:
        yield
    finally:
        for hold in holds:
            hold.release()
        cupy.cuda.Device().synchronize()


def becomes_true(condition: Callable[[], bool], seconds: float | None = None) -> bool:
    """Whether `condition` becomes true within `seconds` (LONGEST_WAIT); returns once it does.

    It is asked 20 times at least: on a busy machine the time alone may pass with nothing done.
    """
    end, asked = time.monotonic() + (LONGEST_WAIT if seconds is None else seconds), 0
    while not condition():
        if time.monotonic() > end and (asked := asked + 1) >= 20:
            return False
        time.sleep(0.001)
    return True
