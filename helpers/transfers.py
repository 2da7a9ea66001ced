"""Which lines of a function copy between host and device, and at which the host waits."""

from __future__ import annotations

import functools
import linecache
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from time import perf_counter
from types import FrameType, ModuleType

from .backend import find_cupy, is_simulated, synchronize
from .formats import aligned

STILL = 0.1  # seconds in one and the same call after which the host counts as waiting
BUSY = 2.0  # the same where the processors are so busy that any thread may stand still
TO_DEVICE = ("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray")
TO_HOST = ("get", "item", "tolist", "__float__", "__int__", "__bool__", "__complex__",
           "__repr__", "__str__", "__format__")


@dataclass
class Line:
    """One line of the function: bytes of each copy that it asked for, and how often it waited."""

    number: int
    text: str
    to_device: list[int] = field(default_factory=list)
    to_host: list[int] = field(default_factory=list)
    waits: int = 0


@dataclass(frozen=True)
class Traffic:
    """What `traffic` saw of each line; `result` is what the function returned."""

    name: str
    lines: tuple[Line, ...]
    result: object

    @property
    def to_device(self) -> list[int]:
        """Bytes of each copy from the host to the device."""
        return [nbytes for line in self.lines for nbytes in line.to_device]

    @property
    def to_host(self) -> list[int]:
        """Bytes of each copy from the device to the host."""
        return [nbytes for line in self.lines for nbytes in line.to_host]

    @property
    def waits(self) -> int:
        """How often the host waited for the device."""
        return sum(line.waits for line in self.lines)

    def __repr__(self) -> str:
        shown = [line for line in self.lines if line.to_device or line.to_host or line.waits]
        cells = [("line", "to device", "to host", "waits")]
        for line in shown:
            cells.append((str(line.number), _copies(line.to_device), _copies(line.to_host),
                          str(line.waits or "")))
        cells.append(("all", _copies(self.to_device), _copies(self.to_host), str(self.waits)))
        texts = [self.name, *(line.text for line in shown), ""]
        return "\n".join(f"{row}  {text}".rstrip() for row, text in zip(aligned(cells, 0), texts))


def _copies(sizes: list[int]) -> str:
    return f"{len(sizes)} ({sum(sizes):,} B)" if sizes else ""


def stands_still(thread: int, until: threading.Event) -> bool:
    """Whether a thread stays in one and the same call for `STILL` seconds before `until` is set.

    Where the processors are busy, a thread that computes may stand still too: there it must also
    have used almost no processor time for `BUSY` seconds.
    """
    place, since, pause = None, perf_counter(), STILL / 5
    idle, used = since, _processor_seconds(thread)
    while True:
        asked = perf_counter()
        if until.wait(pause):
            return False
        frame = sys._current_frames().get(thread)
        now = (id(frame), frame.f_lasti if frame else None)
        # A thread that runs Python gives the interpreter away only after its switch interval.
        contended = perf_counter() - asked - pause > sys.getswitchinterval() / 2
        if now != place or _processor_seconds(thread) - used > BUSY / 20:
            idle, used = perf_counter(), _processor_seconds(thread)
        if now != place or contended:  # Python goes on, however slowly
            place, since = now, perf_counter()
        if perf_counter() - since > STILL or perf_counter() - idle > BUSY:
            return True


def _processor_seconds(thread: int) -> float:
    """Processor time of a thread; where the system does not tell, the time that passes."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return perf_counter()
    return time.clock_gettime(time.pthread_getcpuclockid(thread))


class _Gate:
    """Stops the stream's queue until the host opens it, or is seen to wait for the stream."""

    def __init__(self, stream: object) -> None:
        self._opened, self._host_waited = threading.Event(), False
        self._host = threading.get_ident()
        stream.launch_host_func(self._stop, None)

    def _stop(self, argument: None) -> None:
        self._host_waited = stands_still(self._host, self._opened)

    def open(self) -> bool:
        """Let the queue go on; True where the host waited for it meanwhile."""
        self._opened.set()
        return self._host_waited


def traffic(function: Callable, *args: object) -> Traffic:
    """Find where `function(*args)` copies between host and device and where the host waits.

    Parameters
    ----------
    function : callable
        A Python function. It is called twice, first to warm up. What functions that it calls do
        counts for the line that calls them.
    args
        Its arguments.

    Returns
    -------
    Traffic
        Shows a table of the lines with traffic.

    Raises
    ------
    TypeError
        Where `function` has no Python source to look at.
    RuntimeError
        Where there is neither CuPy with a GPU nor the simulator.

    Notes
    -----
    *Waits* are found from outside: before each line a gate is put into the current stream's queue.
    A line that only adds work behind the gate comes to its end, and the gate opens. A line that
    waits for the device stands still; after a tenth of a second in one and the same call the gate
    opens by itself, and the line is counted. *Copies* are those that your code asks for, by
    `asarray`, `get`, `float` and the like. What a library copies inside its own functions is not
    seen, only that it waits.
    """
    code = getattr(function, "__code__", None)
    if code is None:
        raise TypeError(f"traffic() follows the lines of a Python function; {function!r} has none.")
    cupy = find_cupy()
    function(*args)  # compiles kernels and fills the memory pool, which could wait too
    synchronize()
    watch = _Watch(cupy, code)
    # The simulator's memory pool waits before it gives memory out again.
    without_pool = cupy.cuda.using_allocator(None) if is_simulated(cupy) else nullcontext()
    with without_pool, observed_copies(cupy, watch.copied):
        before = sys.gettrace()
        sys.settrace(watch.on_call)
        try:
            result = function(*args)
        finally:
            sys.settrace(before)
            watch.close()
            watch.frame = None  # the frame holds the watch, and its variables, in a cycle
    synchronize()
    return Traffic(getattr(function, "__name__", "function"), watch.lines(), result)


class _Watch:
    """Follows the lines of one call, with a gate in front of each."""

    def __init__(self, cupy: ModuleType, code: object) -> None:
        self._cupy, self._code = cupy, code
        self.frame: FrameType | None = None
        self._gate: _Gate | None = None
        self._number = code.co_firstlineno
        self._seen: dict[int, Line] = {}

    def on_call(self, frame: FrameType, event: str, argument: object) -> Callable | None:
        if frame.f_code is not self._code or self.frame is not None:
            return None
        self.frame = frame
        return self._on_line

    def _on_line(self, frame: FrameType, event: str, argument: object) -> Callable:
        if event in ("line", "return"):
            self.close()
        if event == "line":
            self._number = frame.f_lineno
            self._gate = _Gate(self._cupy.cuda.get_current_stream())
        return self._on_line

    def _line(self) -> Line:
        """The line that runs, numbered from the function's first."""
        text = linecache.getline(self._code.co_filename, self._number).rstrip()
        line = Line(self._number - self._code.co_firstlineno + 1, text)
        return self._seen.setdefault(self._number, line)

    def copied(self, nbytes: int, to_device: bool) -> None:
        (self._line().to_device if to_device else self._line().to_host).append(nbytes)

    def close(self) -> None:
        if self._gate is not None and self._gate.open():
            self._line().waits += 1
        self._gate = None

    def lines(self) -> tuple[Line, ...]:
        """The lines seen, from the first on."""
        return tuple(self._seen[number] for number in sorted(self._seen))


@contextmanager
def observed_copies(cupy: ModuleType, copied: Callable[[int, bool], None]) -> Iterator[None]:
    """Report each copy that code outside CuPy asks for, by wrapping what it can ask with."""
    from unittest.mock import patch  # takes a twentieth of a second

    inside = 0

    def wrap(original: Callable, report: Callable | None) -> Callable:
        @functools.wraps(original)
        def wrapped(*args: object, **kwargs: object) -> object:
            nonlocal inside
            caller = sys._getframe(1).f_globals.get("__name__", "").partition(".")[0]
            outermost = not inside and caller not in ("cupy", "cupyx")
            inside += 1
            try:
                result = original(*args, **kwargs)
            finally:
                inside -= 1
            if outermost and report is not None:
                report(args, result)
            return result

        return wrapped

    def created(args: tuple, result: object) -> None:
        if not hasattr(args[0], "__cuda_array_interface__"):
            copied(result.nbytes, True)

    def assigned(args: tuple, result: object) -> None:
        copied(args[0].nbytes, True)

    def read(args: tuple, result: object) -> None:
        if isinstance(args[0], cupy.ndarray):
            copied(args[0].nbytes, False)

    array = cupy.ndarray
    plan = [(cupy, name, created) for name in TO_DEVICE]
    plan += [(cupy, "asnumpy", read), (array, "set", assigned)]
    plan += [(array, name, read) for name in TO_HOST]
    plan += [(array, name, None) for name in ("__getitem__", "__setitem__")]  # copy on their own
    with ExitStack() as replaced:
        for place, name, report in plan:
            hook = wrap(getattr(place, name), report)
            replaced.enter_context(patch.object(place, name, hook))
        yield
