"""Locks over a fork: its child finds them free, and what they guard whole.

A child of ``fork`` has one thread. A lock that another thread of the parent holds at that moment
stays locked in the child for ever, and what it guards may be half changed. So the thread that
forks takes all locks of `ORDER` first, in this order, and releases them afterwards in both
processes. The runtime's own locks come last: `fork` itself takes them (``launch.h``).
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import TypeVar

# A thread that holds one lock waits only for locks that stand after it.
ORDER = (
    "kernels of a library", "pools", "pinned memory", "hooks", "streams", "scheduler",
    "scheduler's thread", "order", "memory", "memory without a runtime", "runtime", "loading",
    "counts",
)  # fmt: skip
_Lock = TypeVar("_Lock", bound=object)
_locks: dict[str, weakref.WeakSet] = {name: weakref.WeakSet() for name in ORDER}
_taken: list[threading.Lock] = []
_in_child: list[Callable[[], None]] = []


def held(name: str, lock: _Lock) -> _Lock:
    """Take ``lock``, a `threading.Lock` or ``RLock``, over every fork as long as it exists.

    Parameters
    ----------
    name : str
        Its place in `ORDER`. Locks of one name are never held at once by one thread.
    lock : lock
        Is returned.
    """
    _locks[name].add(lock)
    return lock


def call_in_child(function: Callable[[], None]) -> None:
    """Call ``function`` in each child of fork, when its locks are free again."""
    _in_child.append(function)


def _before() -> None:
    for name in ORDER:
        for lock in list(_locks[name]):
            lock.acquire()
            _taken.append(lock)


def _after() -> None:
    global _taken
    # Another thread that forks fills the list as soon as the first lock is free.
    taken, _taken = _taken, []
    for lock in reversed(taken):
        lock.release()


def _after_in_child() -> None:
    _after()
    for function in _in_child:
        function()


os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after_in_child)
