"""Events and clocks around what code asks CuPy and PyCUDA to do, without a change of that code."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter
from types import ModuleType
from typing import Any, NamedTuple

from .spans import IN, KERNEL, OUT

COPIES = {1: IN, 2: OUT}  # cudaMemcpyKind; the others stay on the device
NAMES = {IN: IN, OUT: OUT, KERNEL: "copy"}  # of copies, by their kind
NEW_ARRAYS = ("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray")
PRODUCTS = ("dot", "einsum", "inner", "matmul", "outer", "tensordot", "vdot")
# Methods that may call a compiled library without a kernel object of CuPy's own.
METHODS = ("__matmul__", "argmax", "argmin", "argsort", "copy", "cumsum", "dot", "fill", "max",
           "mean", "min", "prod", "sort", "std", "sum", "var")
IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE
FLAGS_AT = 21 * ctypes.sizeof(ctypes.c_void_p)  # tp_flags, the 22nd field of PyTypeObject


class Work(NamedTuple):
    """A piece of work: the handle of its stream, what it is, the bytes that it copies."""

    stream: int
    kind: str
    name: str
    nbytes: int | Callable[[Any], int] = 0  # or what tells the bytes from the call's result


WAIT = Work(0, "wait", "wait")  # of the host: no piece of work


def set_attribute(owner: Any, name: str, value: Any) -> None:
    """`setattr` also for compiled types, such as CuPy's kernels.

    A flag of such a type forbids it; the flag is cleared for a moment. The type then behaves like a
    class written in Python: a call uses the new attribute, until the old one is set again.
    """
    flags = None
    if isinstance(owner, type) and owner.__flags__ & IMMUTABLE:
        flags = ctypes.c_ulong.from_address(id(owner) + FLAGS_AT)
        if flags.value != owner.__flags__:
            raise RuntimeError("this Python lays out its types in another way than the course"
                               " knows; a timeline is not possible.")
        flags.value &= ~IMMUTABLE
    try:
        setattr(owner, name, value)
    finally:
        if flags is not None:
            flags.value |= IMMUTABLE  # only this bit: Python changes others meanwhile


class Watch:
    """While it is open (`with watch:`), Python's calls are timed, each piece of work with events.

    Attributes
    ----------
    origin : float
        `perf_counter` just before the event from which `times` counts: no piece looks later than
        it was.
    calls : list of tuple
        `perf_counter` at the start and end of each call that queues, copies or waits.
    """

    def __init__(self, cupy: ModuleType, events: bool = True) -> None:
        self._cupy, self._runtime, self._events = cupy, cupy.cuda.runtime, events
        self.calls: list[tuple[float, float]] = []
        self._marked: list[tuple[Work, Any, Any]] = []  # each with an event before and behind
        self._spare: list[int] = []
        self._local = threading.local()
        self._undo: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> Watch:
        if self._events:
            self._spare = [self._runtime.eventCreate() for _ in range(512)]
            stream = self._cupy.cuda.Stream(non_blocking=True)
            self._spare.append(self._event(stream.ptr))  # the first one takes longer
            stream.synchronize()
        self.origin = perf_counter()
        if self._events:
            self._first = self._event(stream.ptr)
            stream.synchronize()
        try:
            self._hook_cupy()
            if "pycuda.driver" in sys.modules:
                self._hook_pycuda(sys.modules["pycuda.driver"])
        except BaseException:
            self._unhook()
            raise
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        self._unhook()
        if kind is not None:
            self._destroy_events()

    def times(self) -> list[tuple[Work, float, float]]:
        """The pieces in the order in which they were asked for, each with the seconds of its start
        and end since the watch began; all must be done."""
        found = [(work, *(self._runtime.eventElapsedTime(self._first, event) / 1e3
                          for event in events)) for work, *events in self._marked]
        self._destroy_events()
        return found

    def _destroy_events(self) -> None:
        used = [event for _, *events in self._marked for event in events]
        for event in [self._first, *self._spare, *used] if self._events else []:
            self._runtime.eventDestroy(event)
        self._marked, self._spare = [], []

    # what each piece is surrounded by

    def _event(self, stream: int) -> int:
        event = self._spare.pop() if self._spare else self._runtime.eventCreate()
        self._runtime.eventRecord(event, stream)
        return event

    def _capturing(self, stream: int) -> bool:
        try:
            return bool(self._runtime.streamIsCapturing(stream))
        except self._runtime.CUDARuntimeError:
            return True  # the default stream, while another one captures

    def around(self, call: Callable[[], Any], work: Work) -> Any:
        """`call()`, timed, with an event before and behind, unless it is part of a larger piece."""
        local = self._local
        if getattr(local, "inside", False):
            return call()
        local.inside, begun = True, perf_counter()
        try:
            if not self._events or work is WAIT or self._capturing(work.stream):
                return call()
            start = self._event(work.stream)
            try:
                result = call()
            except BaseException:
                self._spare.append(start)
                raise
            end = self._event(work.stream)
        finally:
            local.inside = False
            self.calls.append((begun, perf_counter()))
        if callable(work.nbytes):
            work = work._replace(nbytes=work.nbytes(result))
        self._marked.append((work, start, end))
        return result

    def _stream(self, stream: Any = None) -> int:
        """The handle of a `stream=` argument; None is the current stream."""
        if stream is None:
            return self._cupy.cuda.get_current_stream().ptr
        return stream if isinstance(stream, int) else getattr(stream, "ptr", 0)

    # what is hooked: each function or method with a description of the work in a call of it

    def _hook(self, owner: Any, name: str, describe: Callable[..., Work | None]) -> None:
        """Surround the calls of an attribute; `describe` gets their arguments."""
        original = getattr(owner, name, None)
        if original is None:
            return

        def hooked(*args: Any, **kwargs: Any) -> Any:
            work = describe(*args, **kwargs)
            if work is None:
                return original(*args, **kwargs)
            return self.around(lambda: original(*args, **kwargs), work)

        own = vars(owner).get(name)
        set_attribute(owner, name, hooked)
        self._undo.append((owner, name, own))

    def _unhook(self) -> None:
        while self._undo:
            owner, name, own = self._undo.pop()
            if own is None:
                delattr(owner, name)  # only classes written in Python inherit what is hooked
            else:
                set_attribute(owner, name, own)

    def _hook_cupy(self) -> None:
        cupy, at = self._cupy, self._stream
        array, pointer, runtime = cupy.ndarray, cupy.cuda.MemoryPointer, self._runtime
        for kernel in self._kernel_types():
            self._hook(kernel, "__call__", lambda kernel, *args, stream=None, **kwargs: Work(
                at(stream), KERNEL, _name(kernel)))
        for name in NEW_ARRAYS:
            self._hook(cupy, name, lambda source=None, *args, **kwargs: None if hasattr(
                source, "__cuda_array_interface__") else Work(at(), IN, IN, lambda new: new.nbytes))
        for owner, names in ((cupy, PRODUCTS), (array, METHODS)):
            for name in names:
                self._hook(owner, name, lambda *args, name=name, **kwargs: Work(
                    at(), KERNEL, name.strip("_")))
        self._hook(array, "set", lambda array, arr, stream=None: Work(
            at(stream), IN, IN, array.nbytes))
        self._hook(array, "get", lambda array, stream=None, *args, **kwargs: Work(
            at(stream), OUT, OUT, array.nbytes))
        for name, kind in (("copy_from_host_async", IN), ("copy_to_host_async", OUT),
                           ("copy_from_device_async", KERNEL)):
            self._hook(pointer, name, lambda pointer, mem, size, stream=None, kind=kind: Work(
                at(stream), kind, NAMES[kind], size))
        for name in ("memcpyAsync", "memcpy"):
            self._hook(runtime, name, lambda dst, src, size, kind, stream=0: Work(
                stream, COPIES.get(kind, KERNEL), NAMES[COPIES.get(kind, KERNEL)], size))
        self._hook(runtime, "memsetAsync", lambda ptr, value, size, stream: Work(
            stream, KERNEL, "fill"))
        for waiting in (cupy.cuda.Stream, cupy.cuda.ExternalStream, cupy.cuda.Event,
                        cupy.cuda.Device):
            self._hook(waiting, "synchronize", lambda *args, **kwargs: WAIT)
        self._hook(cupy.cuda.graph.Graph, "launch", lambda graph, stream=None: Work(
            at(stream), KERNEL, "graph"))

    def _kernel_types(self) -> list[type]:
        core, found = self._cupy._core, [self._cupy.RawKernel, self._cupy.ElementwiseKernel,
                                         self._cupy.ReductionKernel, self._cupy.ufunc]
        for module, name in (("_reduction", "_SimpleReductionKernel"), ("fusion", "Fusion")):
            with suppress(AttributeError):
                found.append(getattr(getattr(core, module), name))
        with suppress(AttributeError):
            found.append(self._cupy.cuda.Function)
        return list(dict.fromkeys(found))

    def _hook_pycuda(self, driver: ModuleType) -> None:
        """PyCUDA: all launches end in one method, copies are functions of its driver module."""
        for waiting in (driver.Stream, driver.Event, driver.Context):
            self._hook(waiting, "synchronize", lambda *args, **kwargs: WAIT)
        for name, kind in (("memcpy_htod", IN), ("memcpy_htod_async", IN), ("memcpy_dtoh", OUT),
                           ("memcpy_dtoh_async", OUT)):
            self._hook(driver, name, lambda dest, src, stream=None, kind=kind: Work(
                getattr(stream, "handle", 0), kind, kind,
                memoryview(src if kind == IN else dest).nbytes))
        self._hook(driver.Function, "_launch_kernel",
                   lambda function, grid, block, arguments, shared, stream: Work(
                       getattr(stream, "handle", 0), KERNEL, "kernel"))


def _name(kernel: Any) -> str:
    name = getattr(kernel, "name", None) or getattr(kernel, "__name__", "kernel")
    return str(name).removeprefix("cupy_")
