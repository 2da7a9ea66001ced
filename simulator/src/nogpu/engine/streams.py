"""Streams, events and graphs: what runs on the simulated device, and in which order.

As on a GPU a launch returns before its kernel has run, copies run beside kernels, and a stream's
work waits for that of another only where an event, or the legacy default stream, says so.

* A wrong launch raises at once. The fault of a kernel, and an exception of queued Python work,
  come out of the next wait that covers them: `Stream.synchronize`, `Event.synchronize`,
  `synchronize`, or a copy to ordinary host memory; each comes once. What was queued behind the
  fault, on its stream or on one that waits for it, is dropped until then. Device, memory and
  later work are as good as before.
* Work on two streams, or on a stream and the host, that uses the same memory without an order is
  found whatever its times were (`order`), and comes out of the next wait, too.
* Interrupting a wait stops what runs on the device and drops all that is queued.
* At exit what is queued is dropped and what runs is stopped. A child of ``fork`` has the memory,
  as it was, and empty streams.
* Where the machine has no compiler, all runs at once in the calling thread.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from . import devices, forking, memory, order, records, scheduler
from .counters import Counts, begin_recording, end_recording, record, recorders_now
from .errors import StreamError
from .module import Kernel
from .scheduler import Operation, Span

__all__ = [
    "INLINE_BYTES", "Event", "Graph", "Span", "Stream", "counting", "from_handle", "null",
    "record_spans", "synchronize",
]  # fmt: skip

INLINE_BYTES = 256 * 1024  # array work up to this size runs at once on a stream that is idle
_handles = itertools.count(0x1000, 0x10)
_streams: dict[int, Stream] = {}
_captures: set[_Capture] = set()  # those that are going on
_lock = forking.held("streams", threading.RLock())


class _Capture:
    """Work that is being recorded: operations, each with the numbers of those before it."""

    def __init__(self, origin: Stream) -> None:
        self.origin = origin
        self.nodes: list[tuple[Operation, tuple[int, ...]]] = []
        self.streams = {origin}
        self.valid = True

    def refuse(self, code: str) -> StreamError:
        self.valid = False
        return StreamError(code)

    def check(self) -> None:
        if not self.valid:
            raise StreamError("cudaErrorStreamCaptureInvalidated")

    def end(self) -> None:
        _captures.discard(self)
        for stream in self.streams:
            stream._capture = None

    def ancestors(self, last: frozenset[int]) -> set[int]:
        found, to_do = set(), list(last)
        while to_do:
            number = to_do.pop()
            if number not in found:
                found.add(number)
                to_do += self.nodes[number][1]
        return found


class Event:
    """A mark in a stream of its device. One that was never recorded counts as done.

    Attributes
    ----------
    recorded : bool
    """

    def __init__(self, timing: bool = True, device: int = 0) -> None:
        self.timing, self.recorded, self.device = timing, False, device
        self._native: int | None = None
        self._node = 0
        self._at = 0  # where there is no scheduler
        self._captured: tuple[_Capture, frozenset[int]] | None = None
        self._clock: dict[int, int] = {}  # what lies before it

    def __del__(self) -> None:
        if self._native is not None:
            with contextlib.suppress(Exception):
                scheduler.get().end_event(self._native)

    def _state(self) -> tuple[bool, int, int]:
        if self._captured is not None:
            raise StreamError("cudaErrorCapturedEvent")
        if self._native is None:
            return True, self._at, 0
        return scheduler.get().event_state(self._native)

    @property
    def done(self) -> bool:
        """Whether all work before it has run."""
        done = self._state()[0]
        if done and order.watching:
            order.host_knows(self._clock)
        return done

    def synchronize(self) -> None:
        """Wait until it is done; raises what the work before it raised."""
        done, _, fault = self._state()
        if self._native is None:
            return
        planner = scheduler.get()
        if not done:
            planner.wait_nodes([self._node])
            fault = self._state()[2]
        planner.print_all()
        if fault:
            planner.raise_fault(fault)
        if order.watching:
            order.host_knows(self._clock)
            order.deliver()

    def elapsed(self, later: Event) -> float:
        """Milliseconds from this event to ``later``.

        Raises
        ------
        StreamError
            ``cudaErrorInvalidResourceHandle`` where one was never recorded or has no timing, or
            where they are of two devices, ``cudaErrorNotReady`` where one is not done.
        """
        for event in (self, later):
            if not event.recorded or not event.timing or event.device != self.device:
                raise StreamError("cudaErrorInvalidResourceHandle")
        states = self._state(), later._state()
        if not (states[0][0] and states[1][0]):
            raise StreamError("cudaErrorNotReady")
        if order.watching:
            order.host_knows(self._clock)
            order.host_knows(later._clock)
        return (states[1][1] - states[0][1]) / 1e6


class Graph:
    """Recorded work that can be launched again and again; made by `Stream.end_capture`.

    It keeps alive what its work uses.
    """

    def __init__(self, nodes: Sequence[tuple[Operation, tuple[int, ...]]]) -> None:
        self._nodes = tuple(nodes)
        before = {number for _, after in self._nodes for number in after}
        self._ends = [i for i in range(len(self._nodes)) if i not in before]
        self._in_a_row = all(
            after == ((i - 1,) if i else ()) for i, (_, after) in enumerate(self._nodes)
        )
        # Only array work of a size that would run at once outside a graph, too.
        self._small = (
            all(operation.kind in ("work", "fill") for operation, _ in self._nodes)
            and sum(operation.nbytes for operation, _ in self._nodes) <= INLINE_BYTES
        )

    def launch(self, stream: Stream) -> None:
        """Queue the whole of it on ``stream``; what does not depend runs side by side."""
        capture = stream._may_queue()
        if capture is not None:
            first, before = len(capture.nodes), tuple(sorted(stream._last))
            for operation, after in self._nodes:
                after = tuple(first + i for i in after) or before
                capture.nodes.append((operation, after))
            stream._last = frozenset(first + i for i in self._ends) or stream._last
            return
        planner = scheduler.get()
        if planner is None or (self._small and stream._is_idle(planner)):
            for operation, _ in self._nodes:
                stream._noted(operation)
                stream._now(planner, operation)
            return
        if recorders_now(False):  # one after another: launches that are counted run at once
            for operation, _ in self._nodes:
                if operation.kind == "kernel":
                    stream.synchronize()
                    operation.payload.run()
                else:
                    stream._put(operation, True)
            return
        if self._in_a_row:
            for operation, _ in self._nodes:
                planner.queue(stream._pointer, operation, launched_on=stream._noted(operation))
            return
        start = planner.join(stream._pointer)
        numbers: list[int] = []
        for operation, after in self._nodes:
            before = [numbers[i] for i in after] or [start]
            noted = stream._noted(operation)
            numbers.append(planner.queue(stream._pointer, operation, before, launched_on=noted))
        planner.join(stream._pointer, [numbers[i] for i in self._ends])


class Stream:
    """A queue of a device's work. ``null`` below is the first device's legacy default stream.

    Parameters
    ----------
    non_blocking : bool
        Without it, work here and on the legacy default stream waits for each other.
    priority : int
        Kept, clamped to -5 to 0; it does not change the order here.

    Attributes
    ----------
    device : int
    legacy : bool
        Whether it is its device's legacy default stream.
    handle : int
        What travels between libraries; its upper half is the device. Of the legacy default stream,
        which libraries call 0 on each device, the lower half is 0.
    """

    def __init__(
        self, non_blocking: bool = False, priority: int = 0, *, device: int = 0, handle: int = -1
    ) -> None:
        self.device, self.legacy = device, handle == 0
        self.handle = device << 32 | (next(_handles) if handle < 0 else handle)
        self.non_blocking, self.priority = non_blocking, min(0, max(-5, priority))
        self._capture: _Capture | None = None
        self._last: frozenset[int] = frozenset()  # while capturing
        self._native: int | None = None
        with _lock:
            _streams[self.handle] = self
        if handle < 0:
            order.watch()

    @property
    def _pointer(self) -> int:
        """The native stream."""
        if self._native is None:
            with _lock:
                if not self.legacy:
                    _ = from_handle(0, self.device)._pointer
                if self._native is None:
                    self._native = scheduler.get().stream(
                        self.handle, not self.non_blocking, self.legacy, self.device)
        return self._native

    def _may_queue(self) -> _Capture | None:
        """The capture that work on this stream goes into, if any; or raises."""
        if self._capture is not None:
            self._capture.check()
            return self._capture
        if _captures and self.legacy:
            capture = self._implied_capture()
            if capture is not None:
                raise capture.refuse("cudaErrorStreamCaptureImplicit")
        return None

    def _implied_capture(self) -> _Capture | None:
        """The capture that work on the legacy default stream would have to wait for, if any."""
        return next((one for one in list(_captures) if self.legacy
                     and any(not stream.non_blocking and stream.device == self.device
                             for stream in one.streams)), None)  # fmt: skip

    def is_capturing(self) -> bool:
        """`capturing`, as CUDA answers it.

        Raises
        ------
        StreamError
            ``cudaErrorStreamCaptureImplicit`` for the legacy default stream while a blocking
            stream is capturing, which goes on.
        """
        if self._implied_capture() is not None:
            raise StreamError("cudaErrorStreamCaptureImplicit")
        return self.capturing

    def _is_idle(self, planner: scheduler.Scheduler) -> bool:
        return planner.quiet or planner.idle(self._pointer)

    def _now(self, planner: scheduler.Scheduler | None, operation: Operation) -> None:
        start = time.perf_counter_ns()
        operation.now()
        if planner is not None and planner.recording:
            planner.inline_span(Span(self.handle, operation.kind, operation.name, start,
                                     time.perf_counter_ns(), operation.nbytes))  # fmt: skip

    def _put(self, operation: Operation, small: bool) -> int:
        """Queue it, or run it now where it is small and could start. Its number, 0 if it ran."""
        capture = self._may_queue()
        if capture is not None:
            capture.nodes.append((operation, tuple(sorted(self._last))))
            self._last = frozenset([len(capture.nodes) - 1])
            return 0
        if operation.kind == "work" and (recorders := recorders_now(False)):
            record(recorders, Counts(array_bytes=order.traffic(operation)))
        noted, planner = self._noted(operation), scheduler.get()
        if planner is None or (small and self._is_idle(planner)):
            self._now(planner, operation)
            return 0
        return planner.queue(self._pointer, operation, launched_on=noted)

    def _noted(self, operation: Operation) -> Stream | None:
        """Note work that this stream gets; itself for `Scheduler.queue` to note a launch."""
        if not order.watching:
            return None
        return self if operation.kind == "kernel" else order.queued(self, operation)

    def run(self, work: Callable[[], None], nbytes: int = 0, name: str = "work") -> None:
        """Queue host code (NumPy) that works on device memory.

        Up to `INLINE_BYTES` it runs at once where the stream is idle, and its exceptions come at
        once, too. ``work`` keeps alive what it needs; an exception of queued work comes out of
        the next wait. Its closure tells which arrays of the device it uses: see `order`.
        """
        if nbytes <= INLINE_BYTES and not (_captures or order.watching or recorders_now(False)):
            planner = scheduler.get()
            if planner is None or (
                (planner.quiet or planner.idle(self._pointer)) and not planner.recording
            ):
                with np.errstate(all="ignore"):
                    work()
                return
        self._put(Operation("work", name, nbytes, work), nbytes <= INLINE_BYTES)

    def launch(
        self, kernel: Kernel, grid: Sequence[int], block: Sequence[int],
        arguments: Sequence[bytes] | bytes, shared: int = 0, keep: Sequence[object] = (),
        cooperative: bool = False,
    ) -> None:
        """Queue a kernel. What a wrong launch raises comes at once, its faults at the next wait.

        ``keep`` holds what must live until the kernel has run. All blocks of a ``cooperative``
        launch run at once. Where launches are counted
        (:func:`counting`) it runs at once, after the work before it.
        """
        if recorders_now(False) and not self.capturing:
            self.synchronize()
            kernel.launch(
                grid, block, arguments, shared, cooperative=cooperative, device=self.device)
            return
        prepared = kernel.prepare(
            grid, block, arguments, shared, cooperative=cooperative, device=self.device)
        self._put(Operation("kernel", kernel.name, 0, prepared, keep), False)

    def copy(
        self, destination: int, source: int, nbytes: int, kind: str, keep: Sequence[object] = (),
        *, pinned: bool = False, name: str = "",
    ) -> None:
        """Queue a copy of bytes; ``kind`` is "HtoD", "DtoH" or "DtoD".

        ``pinned`` says that the host's memory is page-locked: then the copy is asynchronous, and
        a source is read late. From ordinary memory the source has been read when this returns,
        and a copy to ordinary memory waits (and raises what a wait raises). While capturing,
        both ends are read late.
        """
        self.copy_rows(destination, nbytes, source, nbytes, nbytes, 1, kind, keep, pinned=pinned,
                       name=name)  # fmt: skip

    def copy_rows(
        self, destination: int, destination_pitch: int, source: int, source_pitch: int, width: int,
        height: int, kind: str, keep: Sequence[object] = (), *, pinned: bool = False,
        name: str = "",
    ) -> None:
        """Queue a copy of ``height`` rows of ``width`` bytes each, ``pitch`` bytes apart."""
        if kind not in ("HtoD", "DtoH", "DtoD"):
            raise ValueError(f"a copy of kind {kind!r}: HtoD, DtoH or DtoD")
        destination, source, nbytes = int(destination), int(source), int(width) * int(height)
        name = name or f"copy {kind}"
        if nbytes == 0:
            self._may_queue()
            return
        if kind[0] == "D":
            last = (height - 1) * source_pitch
            memory._check_range(source, last + width, f"{name} (source)")
        if kind[-1] == "D":
            last = (height - 1) * destination_pitch
            memory._check_range(destination, last + width, f"{name} (destination)")
        others = ()
        if devices.count > 1 and kind == "DtoD" and self.legacy and self._capture is None:
            # Between devices: after the work of both, and before what they get from now on.
            others = [from_handle(0, memory.find(at).device) for at in (source, destination)]
        for other in others:
            self.follow(other)
        rows = records.Rows(destination, source, width, height, destination_pitch, source_pitch)
        operation = Operation(kind, name, nbytes, rows, keep, pinned)
        pageable = kind != "DtoD" and not pinned
        if self._capture is None and pageable and kind == "HtoD":
            self._may_queue()
            planner = scheduler.get()
            if planner is not None and not self._is_idle(planner):
                self._noted(operation)
                planner.queue(self._pointer, operation, stage=True)
                self._waited()
                return
        number = self._put(operation, nbytes <= INLINE_BYTES or pageable)
        for other in others:
            other.follow(self)
        if number and pageable:
            planner = scheduler.get()
            planner.wait_nodes([number])
            planner.report(self._pointer)
        if pageable and self._capture is None:
            self._waited()

    def _waited(self) -> None:
        """The host has waited: for all here, or at least for a copy of ordinary memory to begin,
        which then nobody else can meet."""
        if order.watching:
            order.host_waited(self)
            order.deliver()

    def fill(self, address: int, value: int, count: int, width: int = 1) -> None:
        """Queue ``memory.fill``."""
        if width not in (1, 2, 4):
            raise ValueError(f"elements of {width} bytes: 1, 2 or 4 are possible")
        address, nbytes = int(address), int(count) * width
        if nbytes:
            memory._check_range(address, nbytes, "fill")
            operation = Operation("fill", "fill", nbytes, (address, value, int(count), width))
            self._put(operation, nbytes <= INLINE_BYTES)

    def call(self, function: Callable[[], None]) -> None:
        """Queue a host function: Python called, in a thread of its own, after the work before."""
        if order.watching and not self.capturing:
            clock, known = order.mark(self), function

            def function() -> None:
                order.host_knows(clock)  # whoever it tells may use what was made before
                known()

        self._put(Operation("call", "host function", 0, function), False)

    @property
    def done(self) -> bool:
        """Whether nothing is left to run."""
        if self._capture is not None:
            raise self._capture.refuse("cudaErrorStreamCaptureUnsupported")
        self._may_queue()
        planner = scheduler.get()
        done = planner is None or planner.quiet or planner.done(self._pointer)
        if done and order.watching:
            order.host_waited(self)
        return done

    def synchronize(self) -> None:
        """Wait for all work; raises the first exception of what ran since the last wait.

        A wait for the legacy default stream is one for all blocking streams.
        """
        if self._capture is not None:
            raise self._capture.refuse("cudaErrorStreamCaptureUnsupported")
        self._may_queue()
        planner = scheduler.get()
        if planner is not None:
            planner.wait_stream(self._pointer)
            planner.report(self._pointer)
        self._waited()

    def record(self, event: Event) -> None:
        """Queue the mark of an event of the same device."""
        if event.device != self.device:
            raise StreamError("cudaErrorInvalidResourceHandle")
        capture = self._may_queue()
        event.recorded = True
        if capture is not None:
            event._captured = capture, self._last
            return
        event._captured = None
        if order.watching:
            event._clock = order.mark(self)
        planner = scheduler.get()
        if planner is None:
            event._at = time.perf_counter_ns()
            return
        if event._native is None:
            event._native = planner.event()
        event._node = planner.record(self._pointer, event._native)

    def wait(self, event: Event) -> None:
        """Let what is queued from now on wait for the event."""
        capture = self._may_queue()
        if event._captured is not None:
            theirs, last = event._captured
            if theirs not in _captures:
                raise StreamError("cudaErrorCapturedEvent")
            theirs.check()
            if self.legacy:
                raise theirs.refuse("cudaErrorStreamCaptureImplicit")
            if capture is None:
                self._capture, self._last = theirs, last
                theirs.streams.add(self)
            elif capture is theirs:
                self._last |= last
            else:
                capture.valid = False
                raise theirs.refuse("cudaErrorStreamCaptureMerge")
        elif event.recorded:
            if capture is not None:
                raise capture.refuse("cudaErrorStreamCaptureIsolation")
            if order.watching:
                order.follow(self, event._clock)
            if event._native is not None:
                scheduler.get().wait_event(self._pointer, event._native)

    def follow(self, other: Stream) -> None:
        """Let what is queued from now on wait for all that another stream has got."""
        if other is not self:
            event = Event(timing=False, device=other.device)
            other.record(event)
            self.wait(event)

    def begin_capture(self, mode: str = "relaxed") -> None:
        """Record what is queued from now on, and run nothing.

        Other streams join by waiting for an event that was recorded in this one.

        Raises
        ------
        StreamError
            ``cudaErrorStreamCaptureUnsupported`` for the legacy default stream,
            ``cudaErrorIllegalState`` for a stream that is capturing.
        """
        if mode not in ("global", "thread_local", "relaxed"):
            raise ValueError(f"capture mode {mode!r}: global, thread_local or relaxed")
        if self.legacy:
            raise StreamError("cudaErrorStreamCaptureUnsupported")
        if self._capture is not None:
            raise StreamError("cudaErrorIllegalState")
        self._capture, self._last = _Capture(self), frozenset()
        _captures.add(self._capture)

    def end_capture(self) -> Graph:
        """Stop recording.

        Raises
        ------
        StreamError
            ``cudaErrorIllegalState`` without a capture, ``cudaErrorStreamCaptureInvalidated``
            after an error in it, ``cudaErrorStreamCaptureUnjoined`` where another stream's work
            was not waited for, ``cudaErrorStreamCaptureUnmatched`` on a stream that only joined.
        """
        capture = self._capture
        if capture is None:
            raise StreamError("cudaErrorIllegalState")
        if capture.origin is not self:
            raise capture.refuse("cudaErrorStreamCaptureUnmatched")
        last = self._last
        capture.end()
        capture.check()
        if len(capture.ancestors(last)) != len(capture.nodes):
            raise StreamError("cudaErrorStreamCaptureUnjoined")
        return Graph(capture.nodes)

    @property
    def capturing(self) -> bool:
        """Whether it records."""
        return self._capture is not None

    def destroy(self) -> None:
        """Forget it; what is queued still runs, and its fault comes out of the next wait.

        A capture that began on it ends: no graph can come of it any more.
        """
        if self._capture is not None and self._capture.origin is self:
            self._capture.end()
        with _lock:
            _streams.pop(self.handle, None)
            pointer, self._native = self._native, None
        if pointer is not None:
            scheduler.get().end_stream(pointer)


for _device in range(devices.count):
    Stream(handle=0, device=_device)
    Stream(handle=2, device=_device)
if devices.count > 1:
    order.watch()
null = _streams[0]
_whole: dict[int, int] = {}  # a device's native stand-in for all of its streams


def from_handle(handle: int, device: int = 0) -> Stream:
    """The stream of a handle; 0 and 1 are a device's legacy default stream, 2 a thread's.

    Raises
    ------
    StreamError
        ``cudaErrorInvalidResourceHandle`` for a handle that no stream has.
    """
    try:
        return _streams[handle if handle > 2 else device << 32 | handle & 2]
    except KeyError:
        raise StreamError("cudaErrorInvalidResourceHandle") from None


def synchronize(device: int | None = None) -> None:
    """Wait for all streams, or for a device's; raises the first exception since the last wait."""
    for capture in list(_captures):
        raise capture.refuse("cudaErrorStreamCaptureUnsupported")
    device = None if devices.count == 1 else device
    planner = scheduler.get()
    if planner is not None:
        with _lock:
            if device is not None and device not in _whole:
                _whole[device] = planner.stream(0, False, 2, device)
        planner.wait_stream(_whole.get(device))
        planner.report(_whole.get(device))
    if order.watching:
        order.host_knows(None if device is None else order.clock_of(device))
        order.deliver()


class counting(contextlib.AbstractContextManager):  # noqa: N801 -- it is called
    """Count every launch within a ``with`` block, on whatever stream; its end waits for them.

    Launches of other threads are not counted, but for those whose work runs in a copy of this
    context (`contextvars.copy_context`). Blocks may be nested: each counts what is within it.

    Examples
    --------
    >>> with counting() as counts:
    ...     pass
    >>> counts.launches
    0
    """

    def __init__(self) -> None:
        self._counts: list[Counts] = []

    def __enter__(self) -> Counts:
        self._counts.append(Counts())
        begin_recording(self._counts[-1])
        return self._counts[-1]

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        counts = self._counts.pop()
        try:
            if kind is None:
                synchronize()
        finally:
            end_recording(counts)


@contextlib.contextmanager
def record_spans() -> Iterator[list[Span]]:
    """Collect when each piece of work really ran, for a timeline.

    Yields
    ------
    list of Span
        Filled at the end of the block, which waits for all streams (and raises nothing).

    Examples
    --------
    >>> with record_spans() as spans:
    ...     null.run(lambda: None, name="nothing")
    >>> spans[0].name
    'nothing'
    """
    spans: list[Span] = []
    planner = scheduler.get()
    if planner is None:
        yield spans
        return
    planner.record_spans(True)
    try:
        yield spans
    finally:
        try:
            planner.wait_stream(None)
        finally:
            planner.record_spans(False)
            spans += planner.spans()
