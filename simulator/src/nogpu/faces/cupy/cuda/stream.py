"""Streams and events."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable

from cupy_backends.cuda.api import _contexts, runtime

from nogpu import engine
from nogpu.faces import table

from . import graph as _graph


class _Local(threading.local):
    """A thread's current streams, one for each device, and what its ``with`` blocks go back to."""

    def __init__(self) -> None:
        every = range(engine.devices.count)
        self.streams = [Stream.null for _ in every]
        self.stacks = [[Stream.null] for _ in every]
        self.entered: list[int] = []  # devices
        self.arrive()

    def arrive(self) -> None:
        """Keep the current device's stream, and the engine's, where they are quickly found."""
        self.stream = self.streams[_contexts.state.device]
        self.engine = self.stream._engine

    def set(self, stream: _BaseStream) -> None:
        """Make a stream its device's current one."""
        device = stream.device_id
        self.streams[_contexts.state.device if device < 0 else device] = stream
        self.arrive()


def get_current_stream(device_id: int = -1) -> _BaseStream:
    """The current stream of this thread on a device, the current one unless given."""
    return _local.stream if device_id < 0 else _local.streams[device_id]


def _handle(stream: _BaseStream | None) -> int:
    """The handle of a stream given as an argument; None is the current one."""
    return _local.stream.ptr if stream is None else stream.ptr


def _engine_stream(stream: _BaseStream | None):
    """The engine's stream of an argument: None is the current one."""
    if stream is None:
        return _local.engine
    return runtime._stream(stream.ptr)


class Event:
    """A mark in a stream: work may wait for it, and two of them measure time.

    ``block`` is without effect, since waiting sleeps anyway.
    """

    def __init__(
        self, block: bool = False, disable_timing: bool = False, interprocess: bool = False
    ) -> None:
        self.ptr = 0
        if interprocess and not disable_timing:
            raise ValueError("Timing must be disabled for interprocess events")
        self.ptr = runtime.eventCreateWithFlags(
            (runtime.eventBlockingSync if block else 0)
            | (runtime.eventDisableTiming if disable_timing else 0)
            | (runtime.eventInterprocess if interprocess else 0)
        )
        self._engine = runtime._events[self.ptr]

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if not is_finalizing() and self.ptr:
            runtime.eventDestroy(self.ptr)

    @property
    def done(self) -> bool:
        """Whether all work before it is done; one that was never recorded is."""
        return runtime.eventQuery(self.ptr) == 0

    def record(self, stream: _BaseStream | None = None) -> None:
        """Put it into a stream; None is the current one."""
        runtime.eventRecord(self.ptr, _handle(stream))

    def synchronize(self) -> None:
        """Wait until it is done."""
        runtime.eventSynchronize(self.ptr)


def get_elapsed_time(start_event: Event, end_event: Event) -> float:
    """Milliseconds between two events."""
    return runtime.eventElapsedTime(start_event.ptr, end_event.ptr)


class _BaseStream:
    """What all streams have in common."""

    def __init__(self, ptr: int, device_id: int) -> None:
        self.ptr, self.device_id = ptr, device_id
        self._own = runtime._stream(ptr) if ptr > runtime.streamPerThread else None

    @property
    def _engine(self) -> engine.streams.Stream:
        # A default stream is that of the current device.
        return self._own or runtime._stream(self.ptr)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, _BaseStream):
            return self.ptr == other.ptr
        return False

    def __hash__(self) -> int:
        return self.ptr

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.ptr} (device {self.device_id})>"

    def __enter__(self) -> _BaseStream:
        self.use()
        _local.entered.append(_contexts.state.device)
        _local.stacks[_contexts.state.device].append(self)
        return self

    def __exit__(self, *args: object) -> None:
        stack = _local.stacks[_local.entered.pop()]
        stack.pop()
        _local.set(stack[-1])

    def __cuda_stream__(self) -> tuple[int, int]:
        """The protocol by which libraries hand streams to each other."""
        return (0, self.ptr)

    def use(self) -> _BaseStream:
        """Make it the current stream of this thread, on the current device."""
        here = runtime.getDevice()
        if self.device_id not in (-1, here):
            raise RuntimeError(
                f"The device that the stream is created on ({self.device_id}) does not match with "
                f"the current device ({here})")
        _local.set(self)
        return self

    @property
    def done(self) -> bool:
        """Whether all work on it is done."""
        return runtime.streamQuery(self.ptr) == 0

    def add_callback(self, callback: Callable, arg: object) -> None:
        """Call ``callback(stream, status, arg)`` when the work so far is done."""
        runtime.streamAddCallback(self.ptr, lambda stream, status, _: callback(self, status, arg),
                                  None)  # fmt: skip

    def record(self, event: Event | None = None) -> Event:
        """Put an event into it, a new one unless given, and return the event."""
        if event is None:
            event = Event()
        runtime.eventRecord(event.ptr, self.ptr)
        return event

    def wait_event(self, event: Event) -> None:
        """Let what comes from now on wait for an event."""
        runtime.streamWaitEvent(self.ptr, event.ptr)

    def begin_capture(self, mode: int | None = None) -> None:
        """Record what comes from now on into a graph, and run nothing."""
        if self.ptr in (0, runtime.streamLegacy):
            raise RuntimeError("cannot capture on the default (legacy) stream")
        if mode is None:
            mode = runtime.streamCaptureModeRelaxed
        runtime.streamBeginCapture(self.ptr, mode)

    def end_capture(self) -> _graph.Graph:
        """Stop recording; return the graph."""
        return _graph.Graph._from_handle(runtime.streamEndCapture(self.ptr))

    @property
    def is_non_blocking(self) -> bool:
        """Whether it is independent of the legacy default stream."""
        return bool(runtime.streamGetFlags(self.ptr) & runtime.streamNonBlocking)

    @property
    def priority(self) -> int:
        """Its priority: a smaller number comes first."""
        return runtime.streamGetPriority(self.ptr)


_CALLS = {"synchronize": runtime.streamSynchronize, "launch_host_func": runtime.launchHostFunc,
          "is_capturing": runtime.streamIsCapturing}  # fmt: skip
table.methods(_BaseStream, lambda name: lambda self, *how: _CALLS[name](self.ptr, *how), """
synchronize(self) -> None: Wait for all work on it.
launch_host_func(self, callback: Callable, arg: object) -> None:
    Call ``callback(arg)`` when the work so far is done.
is_capturing(self) -> bool: Whether it records.
""")


class Stream(_BaseStream):
    """A queue of work on the device."""

    null: Stream
    ptds: Stream

    def __init__(
        self, null: bool = False, non_blocking: bool = False, ptds: bool = False,
        priority: int | None = None,
    ) -> None:  # fmt: skip
        self._owned = False
        if null:
            super().__init__(0, -1)
        elif ptds:
            super().__init__(runtime.streamPerThread, -1)
        else:
            flags = runtime.streamNonBlocking if non_blocking else runtime.streamDefault
            ptr = runtime.streamCreateWithPriority(flags, 0 if priority is None else priority)
            super().__init__(ptr, runtime.getDevice())
            self._owned = True

    @classmethod
    def from_external(cls, obj: object) -> Stream:
        """A stream that another library owns: any object with ``__cuda_stream__``."""
        try:
            version, ptr = obj.__cuda_stream__()
        except AttributeError as error:
            raise TypeError(
                f"Object of type {type(obj).__name__} does not implement the CUDA stream "
                "protocol (__cuda_stream__ method)") from error
        except (TypeError, ValueError) as error:
            raise TypeError("__cuda_stream__() must return a 2-tuple of (version, stream_ptr)") \
                from error  # fmt: skip
        if not isinstance(version, int) or not isinstance(ptr, int):
            raise TypeError("__cuda_stream__() must return (int, int), got "
                            f"({type(version).__name__}, {type(ptr).__name__})")  # fmt: skip
        if version != 0:
            raise TypeError(f"__cuda_stream__() returned unsupported version {version}, only "
                            "version 0 is supported")  # fmt: skip
        stream = cls.__new__(cls)
        stream._owned = False
        _BaseStream.__init__(stream, ptr, -1)
        stream._keep = obj
        return stream

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if not is_finalizing() and getattr(self, "_owned", False):
            self._owned = False
            self._engine.destroy()


class ExternalStream(_BaseStream):
    """A stream by its handle; owned by something else."""

    def __init__(self, ptr: int, device_id: int = -1) -> None:
        warnings.warn(
            "ExternalStream is deprecated. Use Stream.from_external() instead to interoperate "
            "with external streams that implement the CUDA stream protocol.",
            DeprecationWarning,
            stacklevel=2,
        )
        super().__init__(ptr, device_id)


_graph.Graph._handle_of = staticmethod(_handle)
Stream.null = Stream(null=True)
Stream.ptds = Stream(ptds=True)
_local = _Local()
_contexts.told.append(lambda: _local.arrive())
