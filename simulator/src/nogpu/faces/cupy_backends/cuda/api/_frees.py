"""Frees that wait: memory that goes away while a stream has work left is freed when none has.

CuPy's arrays and PyCUDA's allocations may be deleted anywhere, also by what a stream runs, and
what is queued may still use them.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque

from nogpu import engine

from ._errors import runtime_error

_waiting: deque[engine.Allocation] = deque()


def quiet() -> bool:
    """Whether no stream has work left. Asks the scheduler: a capture must not notice."""
    planner = engine.streams.scheduler.get()
    if planner is None or planner.quiet:
        return True
    streams = tuple(engine.streams._streams.values())
    return all(one._native is None or planner.done(one._native) for one in streams)


def may_wait() -> bool:
    """Whether the caller may wait for streams: a host function, which a stream runs, may not."""
    planner = engine.streams.scheduler.get()
    return planner is None or not planner.runs_here()


def wait_until_quiet() -> None:
    """Wait for all streams, and leave what went wrong on them to whoever waits for it.

    Raises
    ------
    CUDARuntimeError
        In a host function.
    """
    if not may_wait():
        raise runtime_error("cudaErrorNotPermitted")
    while not quiet():
        time.sleep(0.0002)


def free_later(allocation: engine.Allocation) -> None:
    """Free memory when no stream has work left, which may be now."""
    _waiting.append(allocation)
    free_waiting()


def free_waiting() -> None:
    """Free what waits for it, if no stream has work left."""
    if _waiting and quiet():
        with contextlib.suppress(IndexError):
            while True:
                _waiting.popleft().free()
