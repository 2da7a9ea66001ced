"""CUDA's runtime interface, as far as the simulator has it."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable

from helpers.simulator import engine

from . import _errors


class CUDARuntimeError(RuntimeError):
    """A call of the runtime failed; ``status`` is CUDA's number for it."""

    def __init__(self, status: int) -> None:
        self.status = int(status)
        name, text = _errors.by_number(_errors.RUNTIME, self.status)
        super().__init__(f"{name}: {text}")

    def __reduce__(self) -> tuple:
        return (type(self), (self.status,))


_NUMBERS = {name: number for name, (number, _) in _errors.RUNTIME.items()}
errorMemoryAllocation = _NUMBERS["cudaErrorMemoryAllocation"]
errorInvalidValue = _NUMBERS["cudaErrorInvalidValue"]
errorInvalidResourceHandle = _NUMBERS["cudaErrorInvalidResourceHandle"]
errorNotReady = _NUMBERS["cudaErrorNotReady"]
errorPeerAccessAlreadyEnabled = _NUMBERS["cudaErrorPeerAccessAlreadyEnabled"]
errorContextIsDestroyed = 709


def _error(name: str) -> CUDARuntimeError:
    return CUDARuntimeError(_errors.RUNTIME[name][0])


def _translated(function: Callable) -> Callable:
    """Let it raise the engine's refusals as CUDA words them; a kernel's faults pass."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except engine.StreamError as error:
            raise _error(error.code) from None
        except engine.OutOfMemory:
            raise _error("cudaErrorMemoryAllocation") from None
        except engine.InvalidAddress as error:
            raise _error("cudaErrorInvalidValue") from error

    return call


# streams and events by their handles

streamLegacy, streamPerThread = 1, 2
streamDefault, streamNonBlocking = 0, 1
streamCaptureModeGlobal, streamCaptureModeThreadLocal, streamCaptureModeRelaxed = 0, 1, 2
streamCaptureStatusNone, streamCaptureStatusActive, streamCaptureStatusInvalidated = 0, 1, 2
eventDefault, eventBlockingSync, eventDisableTiming, eventInterprocess = 0, 1, 2, 4
_CAPTURE_MODES = {0: "global", 1: "thread_local", 2: "relaxed"}
_event_handles = itertools.count(0x10000, 0x10)
_events: dict[int, engine.streams.Event] = {}
_graph_handles = itertools.count(0x20000, 0x10)
_graphs: dict[int, engine.streams.Graph] = {}


@_translated
def _stream(handle: int) -> engine.streams.Stream:
    return engine.streams.from_handle(int(handle))


def _event(handle: int) -> engine.streams.Event:
    try:
        return _events[handle]
    except KeyError:
        raise _error("cudaErrorInvalidResourceHandle") from None


def streamCreate() -> int:
    """Make a stream; return its handle."""
    return engine.streams.Stream().handle


def streamCreateWithFlags(flags: int) -> int:
    """Make a stream; ``flags`` may be `streamNonBlocking`."""
    return engine.streams.Stream(non_blocking=bool(flags & streamNonBlocking)).handle


def streamCreateWithPriority(flags: int, priority: int) -> int:
    """Make a stream with a priority, clamped to what the device has."""
    return engine.streams.Stream(bool(flags & streamNonBlocking), priority).handle


def streamGetFlags(stream: int) -> int:
    """The flags that a stream was made with."""
    return streamNonBlocking if _stream(stream).non_blocking else streamDefault


def streamGetPriority(stream: int) -> int:
    """A stream's priority."""
    return _stream(stream).priority


def deviceGetStreamPriorityRange() -> tuple[int, int]:
    """The least and the greatest priority: a smaller number comes first."""
    return 0, -5


@_translated
def streamDestroy(stream: int) -> None:
    """Forget a stream; what is queued still runs."""
    _stream(stream).destroy()


@_translated
def streamSynchronize(stream: int) -> None:
    """Wait for all work on a stream."""
    _stream(stream).synchronize()


@_translated
def streamQuery(stream: int) -> int:
    """0 where all work is done, 600 (not ready) otherwise."""
    return 0 if _stream(stream).done else errorNotReady


@_translated
def streamWaitEvent(stream: int, event: int, flags: int = 0) -> None:
    """Let what a stream gets from now on wait for an event."""
    _stream(stream).wait(_event(event))


@_translated
def streamAddCallback(stream: int, callback: Callable, arg: object) -> None:
    """Call ``callback(stream, status, arg)`` after the work so far."""
    _stream(stream).call(lambda: callback(stream, 0, arg))


@_translated
def launchHostFunc(stream: int, callback: Callable, arg: object) -> None:
    """Call ``callback(arg)`` after the work so far."""
    _stream(stream).call(lambda: callback(arg))


@_translated
def streamBeginCapture(stream: int, mode: int = streamCaptureModeRelaxed) -> None:
    """Record what a stream gets from now on, and run nothing."""
    if mode not in _CAPTURE_MODES:
        raise _error("cudaErrorInvalidValue")
    _stream(stream).begin_capture(_CAPTURE_MODES[mode])


@_translated
def streamEndCapture(stream: int) -> int:
    """Stop recording; return the graph's handle."""
    graph = _stream(stream).end_capture()
    handle = next(_graph_handles)
    _graphs[handle] = graph
    return handle


@_translated
def streamIsCapturing(stream: int) -> bool:
    """Whether a stream records."""
    return _stream(stream).capturing


def eventCreate() -> int:
    """Make an event; return its handle."""
    return eventCreateWithFlags(eventDefault)


def eventCreateWithFlags(flags: int) -> int:
    """Make an event; ``flags`` may hold `eventDisableTiming`."""
    handle = next(_event_handles)
    _events[handle] = engine.streams.Event(timing=not flags & eventDisableTiming)
    return handle


def eventDestroy(event: int) -> None:
    """Forget an event."""
    _event(event)
    _events.pop(event, None)


@_translated
def eventRecord(event: int, stream: int) -> None:
    """Queue an event's mark on a stream."""
    _stream(stream).record(_event(event))


@_translated
def eventQuery(event: int) -> int:
    """0 where an event is done, 600 (not ready) otherwise."""
    return 0 if _event(event).done else errorNotReady


@_translated
def eventSynchronize(event: int) -> None:
    """Wait for an event."""
    _event(event).synchronize()


@_translated
def eventElapsedTime(start: int, end: int) -> float:
    """Milliseconds between two events."""
    return float(_event(start).elapsed(_event(end)))


def _graph(handle: int) -> engine.streams.Graph:
    try:
        return _graphs[handle]
    except KeyError:
        raise _error("cudaErrorInvalidValue") from None


@_translated
def graphLaunch(graph: int, stream: int) -> None:
    """Queue a graph on a stream."""
    _graph(graph).launch(_stream(stream))


def graphUpload(graph: int, stream: int) -> None:
    """Nothing is left to prepare for a launch here."""
    _graph(graph)
    _stream(stream)


def graphDestroy(graph: int) -> None:
    """Forget a graph."""
    _graph(graph)
    _graphs.pop(graph, None)


graphExecDestroy = graphDestroy


# devices


def getDevice() -> int:
    """The current device: there is one."""
    return 0


def getDeviceCount() -> int:
    """How many devices there are."""
    return 1


# copies

memcpyHostToHost, memcpyHostToDevice, memcpyDeviceToHost = 0, 1, 2
memcpyDeviceToDevice, memcpyDefault = 3, 4
_KINDS = {0: "HtoH", 1: "HtoD", 2: "DtoH", 3: "DtoD"}


def _kind(destination: int, source: int, kind: int) -> str:
    if kind == memcpyDefault:
        ends = ["H" if engine.lookup(at) is None else "D" for at in (source, destination)]
        return "to".join(ends)
    if kind not in _KINDS:
        raise _error("cudaErrorInvalidMemcpyDirection")
    return _KINDS[kind]


@_translated
def memcpy(dst: int, src: int, size: int, kind: int) -> None:
    """Copy bytes on the legacy default stream, and wait for it."""
    memcpyAsync(dst, src, size, kind, 0)
    engine.streams.null.synchronize()


@_translated
def memcpyAsync(dst: int, src: int, size: int, kind: int, stream: int) -> None:
    """Queue a copy of bytes on a stream."""
    if not size:
        return
    if not dst or not src:
        raise _error("cudaErrorInvalidValue")
    _stream(stream).copy(dst, src, size, _kind(dst, src, kind))


@_translated
def memset(ptr: int, value: int, size: int) -> None:
    """Queue setting bytes on the legacy default stream."""
    memsetAsync(ptr, value, size, 0)


@_translated
def memsetAsync(ptr: int, value: int, size: int, stream: int) -> None:
    """Queue setting bytes on a stream."""
    if size:
        _stream(stream).fill(ptr, value, size)


# memory


def memGetInfo() -> tuple[int, int]:
    """Free and total bytes of the device."""
    used, capacity = engine.usage()
    return capacity - used, capacity
