"""Streams, events and graphs: what runs on the simulated device, and in which order."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Sequence

from . import memory
from .errors import StreamError
from .module import Kernel

INLINE_BYTES = 256 * 1024  # array work up to this size runs at once on a stream that is idle
_handles = itertools.count(0x1000, 0x10)
_streams: dict[int, Stream] = {}
_lock = threading.RLock()


class Event:
    """A mark in a stream. One that was never recorded counts as done.

    Attributes
    ----------
    recorded : bool
    """

    def __init__(self, timing: bool = True) -> None:
        self.timing, self.recorded = timing, False
        self._at: int | None = None

    @property
    def done(self) -> bool:
        """Whether all work before it has run."""
        return True

    def synchronize(self) -> None:
        """Wait until it is done; raises what the work before it raised."""

    def elapsed(self, later: Event) -> float:
        """Milliseconds from this event to ``later``.

        Raises
        ------
        StreamError
            ``cudaErrorInvalidResourceHandle`` where one was never recorded or has no timing,
            ``cudaErrorNotReady`` where one is not done.
        """
        for event in (self, later):
            if not event.recorded or not event.timing:
                raise StreamError("cudaErrorInvalidResourceHandle", "invalid resource handle")
        return (later._at - self._at) / 1e6


class Graph:
    """Recorded work that can be launched again and again."""

    def __init__(self, nodes: list[Callable[[], None]]) -> None:
        self._nodes = nodes

    def launch(self, stream: Stream) -> None:
        """Queue the whole of it on ``stream``."""
        for node in self._nodes:
            stream._queue(node)


class Stream:
    """A queue of work. ``null`` below is the legacy default stream.

    Parameters
    ----------
    non_blocking : bool
        Without it, work here and on the legacy default stream waits for each other.
    priority : int
        Kept, clamped to -5 to 0; it does not change the order here.

    Attributes
    ----------
    handle : int
        What travels between libraries: 0 for the legacy default stream.
    """

    def __init__(self, non_blocking: bool = False, priority: int = 0, *, handle: int = -1) -> None:
        self.handle = next(_handles) if handle < 0 else handle
        self.non_blocking, self.priority = non_blocking, min(0, max(-5, priority))
        self._nodes: list[Callable[[], None]] | None = None
        with _lock:
            _streams[self.handle] = self

    def _queue(self, work: Callable[[], None]) -> None:
        if self._nodes is not None:
            self._nodes.append(work)
        else:
            work()

    def run(self, work: Callable[[], None], nbytes: int = 0, name: str = "work") -> None:
        """Queue host code (NumPy) that works on device memory.

        Up to `INLINE_BYTES` it runs at once where the stream is idle. ``work`` keeps alive what
        it needs; an exception from it comes out of the next wait.
        """
        self._queue(work)

    def launch(
        self,
        kernel: Kernel,
        grid: Sequence[int],
        block: Sequence[int],
        arguments: Sequence[bytes] | bytes,
        shared: int = 0,
        keep: Sequence[object] = (),
    ) -> None:
        """Queue a kernel. What a wrong launch raises comes at once, its faults at the next wait.

        ``keep`` holds what must live until the kernel has run.
        """
        self._queue(lambda: kernel.launch(grid, block, arguments, shared))

    def copy(
        self,
        destination: int,
        source: int,
        nbytes: int,
        kind: str,
        keep: Sequence[object] = (),
        pinned: bool = True,
    ) -> None:
        """Queue a copy of bytes; ``kind`` is "HtoD", "DtoH" or "DtoD".

        Pinned host memory is read or written late. From pageable memory (``pinned=False``) the
        bytes are taken at once; a copy into it waits until it is done.
        """

        def work() -> None:
            memory.raw_copy(destination, source, nbytes, kind)

        self._queue(work)

    def fill(self, address: int, value: int, count: int, width: int = 1) -> None:
        """Queue ``memory.fill``."""
        self._queue(lambda: memory.fill(address, value, count, width))

    def call(self, function: Callable[[], None]) -> None:
        """Queue a host function: Python called when the work before it is done."""
        self._queue(function)

    @property
    def done(self) -> bool:
        """Whether nothing is left to run."""
        return True

    @property
    def idle(self) -> bool:
        """Whether work queued now could start now: also nothing that it would have to wait for."""
        return self._nodes is None

    def synchronize(self) -> None:
        """Wait for all work; raises the first exception of what ran since the last wait."""

    def record(self, event: Event) -> None:
        """Queue the event's mark."""
        event.recorded = True
        event._at = time.perf_counter_ns()

    def wait(self, event: Event) -> None:
        """Let what is queued from now on wait for the event."""

    def begin_capture(self, mode: str = "relaxed") -> None:
        """Record what is queued from now on, and run nothing."""
        self._nodes = []

    def end_capture(self) -> Graph:
        """Stop recording."""
        nodes, self._nodes = self._nodes, None
        return Graph(nodes or [])

    @property
    def capturing(self) -> bool:
        """Whether it records."""
        return self._nodes is not None

    def destroy(self) -> None:
        """Forget it; what is queued still runs."""
        with _lock:
            _streams.pop(self.handle, None)


null = Stream(handle=0)
per_thread = Stream(non_blocking=False, handle=2)


def from_handle(handle: int) -> Stream:
    """The stream of a handle, 1 being another name for the legacy default stream.

    Raises
    ------
    StreamError
        ``cudaErrorInvalidResourceHandle`` for a handle that no stream has.
    """
    try:
        return _streams[0 if handle == 1 else handle]
    except KeyError:
        raise StreamError("cudaErrorInvalidResourceHandle", "invalid resource handle") from None


def synchronize() -> None:
    """Wait for all streams."""
    for stream in list(_streams.values()):
        stream.synchronize()
