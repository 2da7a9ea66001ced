"""The Python half of the streams' scheduler: what nodes hold, faults, waits, Python's own work.

The native half (``runtime/streams.h``) knows who waits for whom and runs kernels and copies. Work
in Python is run by one thread here, which asks the native half for the next piece.
"""

from __future__ import annotations

import atexit
import contextlib
import contextvars
import ctypes
import itertools
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from ctypes import byref, c_int64, c_uint32, c_uint64
from typing import NamedTuple

import numpy as np

from . import forking, memory, module, native, order, records
from .errors import InvalidAddress, RuntimeUnavailable, StreamError

_SLICE_MS = 50  # how long a wait keeps the interpreter from seeing an interrupt
_STOP = 2**64 - 1
_MOST = 1024
_ENGINES = {
    "HtoD": records.CopyEngine.ToDevice,
    "DtoH": records.CopyEngine.ToHost,
    "DtoD": records.CopyEngine.Within,
}


class Span(NamedTuple):
    """When a piece of work really ran.

    Attributes
    ----------
    stream : int
        The stream's handle.
    kind : str
        ``"kernel"``, ``"HtoD"``, ``"DtoH"``, ``"DtoD"``, ``"fill"``, ``"work"`` or ``"call"``.
    name : str
        The kernel's name, or what the caller called it.
    start_ns, end_ns : int
        On the clock of `time.perf_counter_ns`.
    nbytes : int
        Bytes moved, 0 for kernels.
    """

    stream: int
    kind: str
    name: str
    start_ns: int
    end_ns: int
    nbytes: int


class Operation:
    """One piece of work, which can be queued once or, from a graph, again and again.

    ``page_locked`` says that a copy's host memory is. ``payload`` is a
    `module.PreparedLaunch` for "kernel", `records.Rows` for copies, ``(address,
    value, count, width)`` for "fill" and a function for "work" and "call".
    """

    __slots__ = ("kind", "name", "nbytes", "payload", "keep", "page_locked")

    def __init__(
        self, kind: str, name: str, nbytes: int, payload: object, keep: object = (),
        page_locked: bool = False,
    ) -> None:  # fmt: skip
        self.kind, self.name, self.nbytes = kind, name, nbytes
        self.payload, self.keep, self.page_locked = payload, keep, page_locked

    def now(self) -> None:
        """Do it in the calling thread; NumPy says nothing of overflows, as a GPU does."""
        if self.kind == "call":
            self.payload()
        elif self.kind == "work":
            with np.errstate(all="ignore"):
                self.payload()
        elif self.kind == "fill":
            memory.fill(*self.payload)
        else:
            rows = self.payload
            for y in range(rows.height):
                memory.raw_copy(
                    rows.destination + y * rows.destination_pitch,
                    rows.source + y * rows.source_pitch,
                    rows.width,
                    self.kind,
                )


class Scheduler:
    """Exists once, where the machine has a compiler: see :func:`get`."""

    def __init__(self) -> None:
        self._runtime, self._short = native.runtime(), native.short()
        self.end_stream, self.end_event = self._short.cs_stream_end, self._short.cs_event_end
        self.stream, self.event = self._short.cs_stream, self._short.cs_event
        self._outstanding = c_uint64.in_dll(self._runtime, "cs_outstanding")
        self._to_release = c_uint64.in_dll(self._runtime, "cs_to_release")
        self._numbers = itertools.count(1)
        # For Python's own work with the context that it was queued in, where it also runs.
        self._held: dict[int, tuple[Operation, contextvars.Context | None]] = {}
        self._errors: dict[int, BaseException] = {}
        self._lock = forking.held("scheduler's thread", threading.RLock())
        self._thread: threading.Thread | None = None
        self._closed = False
        self._recording = 0
        self._labels: dict[int, tuple[str, str]] = {}
        self._inline: list[Span] = []
        atexit.register(self._leave)
        forking.call_in_child(self._after_fork)

    # ---- streams and events ------------------------------------------------------------------

    def event_state(self, event: int) -> tuple[bool, int, int]:
        """Whether it is done, its time in nanoseconds, and the fault that it saw (0: none)."""
        at, fault = c_int64(), c_uint64()
        done = self._short.cs_event_state(event, byref(at), byref(fault))
        return bool(done), at.value, fault.value

    # ---- queueing ----------------------------------------------------------------------------

    @property
    def quiet(self) -> bool:
        """Whether nothing at all is queued or running, and no fault waits to be raised."""
        return not self._outstanding.value

    def idle(self, stream: int) -> bool:
        """Whether work queued now on the stream would start at once, and not be dropped."""
        if not self._outstanding.value or self._closed:
            return True
        ids = (c_uint64 * 2)()
        if self._short.cs_last_nodes(stream, 1, ids, 2):
            return False
        return not self._short.cs_fault_of(stream)

    def done(self, stream: int) -> bool:
        """Whether nothing is left to run on it."""
        return self.quiet or not self._short.cs_last_nodes(stream, 0, (c_uint64 * 2)(), 2)

    def _place(
        self, stream: int, after: Sequence[int] | None, hold: int, nbytes: int
    ) -> records.Place:
        number = next(self._numbers)
        if after is None:
            return records.Place(stream, number, None, -1, hold, nbytes)
        ids = (c_uint64 * max(1, len(after)))(*after)
        place = records.Place(stream, number, ctypes.addressof(ids), len(after), hold, nbytes)
        place.kept = ids
        return place

    def queue(
        self,
        stream: int,
        operation: Operation,
        after: Sequence[int] | None = None,
        stage: bool = False,
        launched_on: object = None,
    ) -> int:
        """Queue it on a stream, or, with ``after``, behind the nodes of those numbers alone.

        With ``stage`` a copy's source is read before this returns. A launch is noted as one on
        the stream ``launched_on``. Returns the node's number.
        """
        if self._thread is None:
            self._start_thread()
        if self._to_release.value > 64:
            self.release()
        place = self._place(stream, after, 1, operation.nbytes)
        number, kind = place.id, operation.kind
        context = contextvars.copy_context() if kind in ("work", "call") else None
        self._held[number] = operation, context
        if self._recording:
            self._labels[number] = (kind, operation.name)
        if kind == "kernel":
            if launched_on and (apart := order.launched(launched_on, operation, number)):
                self._short.cs_apart(number, (c_uint32 * len(apart))(*apart), len(apart))
            self._short.cs_queue_kernel(place, operation.payload.request)
        elif kind in ("work", "call"):
            self._short.cs_queue_python(place)
        elif kind == "fill":
            address, value, count, width = operation.payload
            value = int(value) & (2 ** (8 * width) - 1)
            self._short.cs_queue_fill(place, address, value, count, width)
        elif self._runtime.cs_queue_copy(place, _ENGINES[kind], operation.payload, int(stage)):
            del self._held[number]
            raise MemoryError(f"no memory to stage a copy of {operation.nbytes:,} bytes")
        return number

    def record(self, stream: int, event: int) -> int:
        """Queue the event's mark; returns the node's number."""
        place = self._place(stream, None, 0, 0)
        self._short.cs_queue_record(place, event)
        return place.id

    def wait_event(self, stream: int, event: int) -> None:
        """Let the stream wait for the event."""
        self._short.cs_queue_wait(self._place(stream, None, 0, 0), event)

    def join(self, stream: int, more: Sequence[int] = ()) -> int:
        """Queue a node without work that also waits for those of these numbers."""
        place = self._place(stream, None, 0, 0)
        ids = (c_uint64 * max(1, len(more)))(*more)
        self._short.cs_queue_join(place, ids, len(more))
        return place.id

    # ---- waiting -----------------------------------------------------------------------------

    def wait_nodes(self, numbers: Sequence[int]) -> None:
        """Wait until these nodes are done. An interrupt stops all that runs on the device."""
        if self.runs_here():
            raise StreamError("cudaErrorNotPermitted")
        if self._closed:
            return
        ids = (c_uint64 * len(numbers))(*numbers)
        wait = self._runtime.cs_wait_nodes
        try:
            while not wait(ids, len(numbers), _SLICE_MS):
                pass
        except BaseException:
            self.drop_everything()
            raise

    def wait_stream(self, stream: int | None) -> None:
        """Wait for all work on a stream, on all streams for None, and raise nothing for it."""
        while self._outstanding.value:
            ids = (c_uint64 * _MOST)()
            count = self._short.cs_last_nodes(stream, 0, ids, _MOST)
            if count:
                self.wait_nodes(ids[:count])
            if count < _MOST:
                break
        if self._to_release.value:
            self.release()

    def report(self, stream: int | None) -> None:
        """Print what kernels printed, and raise the first fault that a wait would raise."""
        self.print_all()
        if self._outstanding.value:
            fault = self._short.cs_fault_of(stream)
            if fault:
                self.raise_fault(fault)

    def raise_fault(self, number: int) -> None:
        """Raise what the node of this number left behind, once."""
        record = records.FaultRecord()
        kind = self._short.cs_take_fault(number, byref(record))
        if not kind:
            return
        operation, _ = self._held.pop(number, (None, None))
        error = self._errors.pop(number, None)
        if kind == records.FailureKind.KernelFailed:
            raise operation.payload.fault(record)
        if kind == records.FailureKind.PythonFailed:
            raise error
        if kind == records.FailureKind.CopyFailed:
            raise _copy_error(operation)
        raise MemoryError("no memory for nogpu's worker threads")

    def print_all(self) -> None:
        """Hand on what kernels have printed since the last time."""
        length = self._short.cs_printed(None, 0)
        while length:
            text = ctypes.create_string_buffer(length)
            got = self._short.cs_printed(text, length)
            if got <= length:
                module.print_text(text.raw[:got])
                length = self._short.cs_printed(None, 0)
            else:
                length = got

    def drop_everything(self, seconds: float = 5) -> None:
        """Stop all that runs and forget all that is queued."""
        end = time.monotonic() + seconds
        while self._short.cs_drop_everything() and time.monotonic() < end:
            time.sleep(0.002)
        self.release()

    def release(self) -> None:
        """Let go of what nodes held that are done."""
        while True:
            ids = (c_uint64 * 256)()
            count = self._short.cs_released(ids, 256)
            for number in ids[:count]:
                self._held.pop(number, None)
            if count < 256:
                return

    def runs_here(self) -> bool:
        """Whether the caller is a host function, or other Python work, that a stream runs: it must
        not wait for streams, since its own goes on when it returns."""
        return threading.current_thread() is self._thread

    # ---- Python's own work -------------------------------------------------------------------

    def _start_thread(self) -> None:
        with self._lock:
            if self._thread is None and not self._closed:
                thread = threading.Thread(target=self._work, name="nogpu", daemon=True)
                thread.start()
                self._thread = thread

    def _work(self) -> None:
        done = failed = 0
        while True:
            number = self._runtime.cs_next_python(done, failed)
            done, failed = number, 0
            if number == _STOP:
                return
            if number == 0:
                self.release()
                continue
            held = self._held.pop(number, None)
            if held is None:  # dropped in the meantime
                continue
            operation, context = held
            try:
                context.run(operation.now)
            except BaseException as error:  # noqa: BLE001 -- raised again by the next wait
                self._errors[number] = error
                failed = 1
            del held, operation, context

    def _leave(self) -> None:
        self._report_at_exit()
        self._closed = True
        self.drop_everything(2)
        self._short.cs_stop_python(1)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(2)

    def _report_at_exit(self, seconds: float = 2) -> None:
        """Write to standard error which faults the program ends without having waited for."""
        end, ids = time.monotonic() + seconds, (c_uint64 * _MOST)()
        with contextlib.suppress(KeyboardInterrupt):
            while self._outstanding.value and time.monotonic() < end:
                count = self._short.cs_last_nodes(None, 0, ids, _MOST)
                if not count or self._runtime.cs_wait_nodes(ids, count, _SLICE_MS):
                    break
        while self._outstanding.value and (fault := self._short.cs_fault_of(None)):
            try:
                self.raise_fault(fault)
            except Exception as error:  # noqa: BLE001 -- nobody is left to raise it to
                said = "".join(traceback.format_exception_only(error))
                print(f"The program ended without waiting for this:\n{said}", end="",
                      file=sys.__stderr__)  # fmt: skip
        if order.watching and not self._outstanding.value:
            order.host_knows(None)
            for found in order.collect():
                print(f"The program ended without waiting for this:\nnogpu.StreamRace: {found}",
                      file=sys.__stderr__)  # fmt: skip

    def _after_fork(self) -> None:
        self._thread = None
        self._held, self._errors, self._labels = {}, {}, {}

    # ---- spans -------------------------------------------------------------------------------

    @property
    def recording(self) -> bool:
        """Whether spans are collected."""
        return bool(self._recording)

    def record_spans(self, on: bool) -> None:
        """Begin or end to collect them; begun twice, they must be ended twice."""
        self._recording += 1 if on else -1
        self._short.cs_record_spans(self._recording)

    def inline_span(self, span: Span) -> None:
        """Add one for work that ran in the calling thread."""
        self._inline.append(span)

    def spans(self) -> list[Span]:
        """Those collected since the last call, by their start."""
        result, self._inline = self._inline, []
        rows = (records.Span * 1024)()
        while True:
            count = self._short.cs_spans(rows, 1024)
            for row in rows[:count]:
                kind, name = self._labels.pop(row.id, ("work", ""))
                result.append(Span(row.stream, kind, name, row.start, row.end, row.bytes))
            if count < 1024:
                break
        return sorted(result, key=lambda span: span.start_ns)


def _copy_error(operation: Operation) -> InvalidAddress:
    """Why a copy or fill could not be done: its memory was there when it was queued."""
    if operation.kind == "fill":
        ends = [operation.payload[0]]
    else:
        ends = [operation.payload.destination, operation.payload.source]
    for address in ends:
        state, allocation = memory.nearest(address)
        if state == "freed" and allocation is not None:
            what = memory._describe(allocation)
            return InvalidAddress(
                f"{operation.name}: {what} was freed before the stream came to it"
            )
    return InvalidAddress(f"{operation.name}: the memory was freed before the stream came to it")


_scheduler: Scheduler | None = None
_tried = False
_making = forking.held("scheduler", threading.RLock())


def get() -> Scheduler | None:
    """The scheduler; None where the machine has no compiler, and all work runs at once."""
    global _scheduler, _tried
    if _scheduler is None and not _tried:
        with _making:
            if _scheduler is None and not _tried:
                try:
                    _scheduler = Scheduler()
                except RuntimeUnavailable:
                    _tried = True
    return _scheduler
