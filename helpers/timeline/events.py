"""Pairs of events around what code asks CuPy and PyCUDA to do, without a change of that code."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import ModuleType
from typing import Any, NamedTuple

from .spans import IN, KERNEL, OUT

COPIES = {1: IN, 2: OUT}  # cudaMemcpyKind; the others stay on the device
NEW_ARRAYS = ("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray")
PRODUCTS = ("dot", "einsum", "inner", "matmul", "outer", "tensordot", "vdot")
# Methods that may call a compiled library without a kernel object of CuPy's own.
METHODS = ("__matmul__", "argmax", "argmin", "argsort", "copy", "cumsum", "dot", "fill", "max",
           "mean", "min", "prod", "sort", "std", "sum", "var")
IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE
FLAGS_AT = 21 * ctypes.sizeof(ctypes.c_void_p)  # tp_flags, the 22nd field of PyTypeObject


class Mark(NamedTuple):
    """One piece of work: handle of its stream, what it was, seconds since the watch began."""

    stream: int
    kind: str
    name: str
    nbytes: int
    start: Any  # an event until `Watch.times`
    end: Any


def set_attribute(owner: Any, name: str, value: Any) -> None:
    """`setattr` also for compiled types, such as CuPy's kernels.

    Python forbids it for those by a flag of the type, which is taken away for a moment. What
    happens then is what happens for a class written in Python: the slot that a call goes through
    follows the new attribute, and back when the old one is set again.
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
    """While it is open (`with watch:`) each piece of work gets an event before and behind it."""

    def __init__(self, cupy: ModuleType) -> None:
        self._cupy, self._runtime = cupy, cupy.cuda.runtime
        self._marks: list[Mark] = []
        self._spare: list[int] = []
        self._local = threading.local()
        self._undo: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> Watch:
        self._spare = [self._runtime.eventCreate() for _ in range(512)]
        stream = self._cupy.cuda.Stream(non_blocking=True)
        self._origin = self._event(stream.ptr)
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

    def times(self) -> list[Mark]:
        """The pieces, in the order in which they were asked for; all must be done."""
        runtime, marks = self._runtime, []
        for mark in self._marks:
            start, end = (runtime.eventElapsedTime(self._origin, event) / 1e3
                          for event in (mark.start, mark.end))
            marks.append(mark._replace(start=start, end=end))
        self._destroy_events()
        return marks

    def _destroy_events(self) -> None:
        used = [event for mark in self._marks for event in (mark.start, mark.end)]
        for event in [self._origin, *self._spare, *used]:
            self._runtime.eventDestroy(event)
        self._marks, self._spare = [], []

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

    def around(self, call: Callable[[], Any], stream: int, kind: str, name: str,
               nbytes: int | Callable[[Any], int] = 0) -> Any:
        """`call()` with an event before and behind, unless it is part of a larger piece."""
        local = self._local
        if getattr(local, "inside", False) or self._capturing(stream):
            return call()
        local.inside = True
        try:
            start = self._event(stream)
            try:
                result = call()
            except BaseException:
                self._spare.append(start)
                raise
            end = self._event(stream)
        finally:
            local.inside = False
        size = nbytes(result) if callable(nbytes) else nbytes
        self._marks.append(Mark(stream, kind, name, size, start, end))
        return result

    def _stream(self, stream: Any) -> int:
        """The handle of a `stream=` argument; None is the current stream."""
        if stream is None:
            return self._cupy.cuda.get_current_stream().ptr
        return stream if isinstance(stream, int) else getattr(stream, "ptr", 0)

    # what is hooked

    def _replace(self, owner: Any, name: str, make: Callable[[Callable], Callable]) -> None:
        original = getattr(owner, name, None)
        if original is None:
            return
        own = vars(owner).get(name)
        set_attribute(owner, name, make(original))
        self._undo.append((owner, name, own))

    def _unhook(self) -> None:
        while self._undo:
            owner, name, own = self._undo.pop()
            if own is None:
                delattr(owner, name)  # only classes written in Python inherit what is hooked
            else:
                set_attribute(owner, name, own)

    def _hook_cupy(self) -> None:
        cupy = self._cupy
        for kernel in self._kernel_types():
            self._replace(kernel, "__call__", self._launch)
        array, pointer, runtime = cupy.ndarray, cupy.cuda.MemoryPointer, self._runtime
        for name in NEW_ARRAYS:
            self._replace(cupy, name, self._new_array)
        for owner, names in ((cupy, PRODUCTS), (array, METHODS)):
            for name in names:
                self._replace(owner, name, lambda call, name=name: self._method(call, name))
        self._replace(array, "set", lambda call: self._copy(call, IN, stream_at=2))
        self._replace(array, "get", lambda call: self._copy(call, OUT, stream_at=1))
        for name, kind in (("copy_from_host_async", IN), ("copy_to_host_async", OUT),
                           ("copy_from_device_async", KERNEL)):
            self._replace(pointer, name, lambda call, kind=kind: self._pointer_copy(call, kind))
        self._replace(runtime, "memcpyAsync", self._memcpy)
        self._replace(runtime, "memcpy", self._memcpy)
        self._replace(runtime, "memsetAsync", self._memset)
        self._replace(cupy.cuda.graph.Graph, "launch", self._graph)

    def _kernel_types(self) -> list[type]:
        core, found = self._cupy._core, [self._cupy.RawKernel, self._cupy.ElementwiseKernel,
                                         self._cupy.ReductionKernel, self._cupy.ufunc]
        for module, name in (("_reduction", "_SimpleReductionKernel"), ("fusion", "Fusion")):
            with suppress(AttributeError):
                found.append(getattr(getattr(core, module), name))
        with suppress(AttributeError):
            found.append(self._cupy.cuda.Function)
        return list(dict.fromkeys(found))

    def _launch(self, original: Callable) -> Callable:
        def launch(kernel: Any, *args: Any, **kwargs: Any) -> Any:
            name = getattr(kernel, "name", None) or getattr(kernel, "__name__", "kernel")
            return self.around(lambda: original(kernel, *args, **kwargs),
                               self._stream(kwargs.get("stream")), KERNEL,
                               str(name).removeprefix("cupy_"))

        return launch

    def _method(self, original: Callable, name: str) -> Callable:
        plain = name.strip("_")

        def method(*args: Any, **kwargs: Any) -> Any:
            return self.around(lambda: original(*args, **kwargs), self._stream(None), KERNEL,
                               plain)

        return method

    def _new_array(self, original: Callable) -> Callable:
        def new_array(*args: Any, **kwargs: Any) -> Any:
            source = args[0] if args else None
            if hasattr(source, "__cuda_array_interface__"):
                return original(*args, **kwargs)
            return self.around(lambda: original(*args, **kwargs), self._stream(None), IN, IN,
                               lambda result: result.nbytes)

        return new_array

    def _copy(self, original: Callable, kind: str, stream_at: int) -> Callable:
        def copy(array: Any, *args: Any, **kwargs: Any) -> Any:
            given = args[stream_at - 1] if len(args) >= stream_at else kwargs.get("stream")
            return self.around(lambda: original(array, *args, **kwargs), self._stream(given), kind,
                               kind, array.nbytes)

        return copy

    def _pointer_copy(self, original: Callable, kind: str) -> Callable:
        def copy(pointer: Any, mem: Any, size: int, stream: Any = None) -> Any:
            name = kind if kind in (IN, OUT) else "copy"
            return self.around(lambda: original(pointer, mem, size, stream), self._stream(stream),
                               kind, name, size)

        return copy

    def _memcpy(self, original: Callable) -> Callable:
        def memcpy(dst: int, src: int, size: int, kind: int, *stream: int) -> Any:
            what = COPIES.get(kind, KERNEL)
            name = what if what in (IN, OUT) else "copy"
            return self.around(lambda: original(dst, src, size, kind, *stream),
                               stream[0] if stream else 0, what, name, size)

        return memcpy

    def _memset(self, original: Callable) -> Callable:
        def memset(pointer: int, value: int, size: int, stream: int) -> Any:
            return self.around(lambda: original(pointer, value, size, stream), stream, KERNEL,
                               "fill")

        return memset

    def _graph(self, original: Callable) -> Callable:
        def launch(graph: Any, stream: Any = None) -> Any:
            return self.around(lambda: original(graph, stream), self._stream(stream), KERNEL,
                               "graph")

        return launch

    # PyCUDA: all launches end in one method, copies are functions of its driver module

    def _hook_pycuda(self, driver: ModuleType) -> None:
        for name, kind in (("memcpy_htod", IN), ("memcpy_htod_async", IN), ("memcpy_dtoh", OUT),
                           ("memcpy_dtoh_async", OUT)):
            self._replace(driver, name, lambda call, kind=kind: self._driver_copy(call, kind))
        self._replace(driver.Function, "_launch_kernel", self._driver_launch)

    def _driver_copy(self, original: Callable, kind: str) -> Callable:
        def copy(dest: Any, source: Any, stream: Any = None, **kwargs: Any) -> Any:
            host = memoryview(source if kind == IN else dest)
            args = (dest, source) if stream is None else (dest, source, stream)
            return self.around(lambda: original(*args, **kwargs), getattr(stream, "handle", 0),
                               kind, kind, host.nbytes)

        return copy

    def _driver_launch(self, original: Callable) -> Callable:
        def launch(function: Any, grid: Any, block: Any, arguments: Any, shared: int,
                   stream: Any) -> Any:
            return self.around(
                lambda: original(function, grid, block, arguments, shared, stream),
                getattr(stream, "handle", 0), KERNEL, "kernel")

        return launch
