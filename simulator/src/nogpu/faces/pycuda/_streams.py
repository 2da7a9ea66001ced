"""Streams and events: the engine's, so CuPy's streams and PyCUDA's wait for each other."""

from __future__ import annotations

from cupy_backends.cuda.api import _contexts as _driver

from nogpu import engine

from . import _contexts
from ._contexts import Dependent, failed

__all__ = ["Event", "Stream"]


class Stream(Dependent):
    """A queue of work."""

    def __init__(self, *args: int, flags: int = 0) -> None:
        self._engine = None
        if len(args) > 1:
            raise _contexts.ArgumentError("Python argument types did not match C++ signature")
        flags = int(args[0]) if args else flags
        self._enter_context()
        if flags not in (0, 1):
            raise failed("cuStreamCreate", "CUDA_ERROR_INVALID_VALUE")
        self._engine = engine.streams.Stream(bool(flags), device=_driver.state.device)
        _driver.foreign_streams[self._engine.handle] = self._home

    def __del__(self) -> None:
        if getattr(self, "_engine", None) is not None:
            _driver.foreign_streams.pop(self._engine.handle, None)
            self._engine.destroy()

    @property
    def handle(self) -> int:
        """What other libraries know it by."""
        return self._engine.handle

    def synchronize(self) -> None:
        """Wait for its work."""
        self._engine.synchronize()

    def is_done(self) -> bool:
        """Whether nothing is left to run."""
        return self._engine.done

    def wait_for_event(self, event: Event) -> None:
        """Let what is queued from now on wait for an event."""
        if not isinstance(event, Event):
            raise _contexts.ArgumentError(
                "Python argument types in\n    Stream.wait_for_event("
                f"{type(self).__name__}, {type(event).__name__})\ndid not match C++ signature:\n"
                "    wait_for_event(pycuda::stream {lvalue}, pycuda::event)")
        self._engine.wait(event._engine)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.handle == other.handle

    def __hash__(self) -> int:
        return hash(self.handle)


def queue_of(stream: Stream | None) -> engine.streams.Stream:
    """The engine's stream; None is the default one."""
    if stream is None:
        return engine.streams.from_handle(0, _driver.state.device)
    if not isinstance(stream, Stream):
        raise TypeError(
            "No registered converter was able to extract a C++ reference to type pycuda::stream "
            f"from this Python object of type {type(stream).__name__}")
    return stream._engine


class Event(Dependent):
    """A mark in a stream."""

    def __init__(self, flags: int = 0) -> None:
        self._enter_context()
        self._engine = engine.streams.Event(not int(flags) & 2, _driver.state.device)

    def record(self, stream: Stream | None = None) -> Event:
        """Mark the work queued so far."""
        queue = queue_of(stream)
        if (_driver.current() if stream is None else stream._home) != self._home:
            raise failed("cuEventRecord", "CUDA_ERROR_INVALID_HANDLE")
        queue.record(self._engine)
        return self

    def synchronize(self) -> Event:
        """Wait for the work before it."""
        self._engine.synchronize()
        return self

    def query(self) -> bool:
        """Whether the work before it is done."""
        return self._engine.done

    def time_since(self, event: Event) -> float:
        """Milliseconds from ``event`` to this one."""
        return event.time_till(self)

    def time_till(self, event: Event) -> float:
        """Milliseconds from this one to ``event``."""
        try:
            return self._engine.elapsed(event._engine)
        except engine.StreamError as error:
            raise _contexts.stream_failed("cuEventElapsedTime", error) from None
