"""Recording: Python's calls, and exact spans of the simulator's scheduler or pairs of events."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from types import ModuleType

from .. import backend, recordings
from .events import Watch
from .spans import DEFAULT, HOST, IN, KERNEL, OUT, Span, Timeline

SIMULATED = {"HtoD": IN, "DtoH": OUT, "call": HOST}  # all else works on the device
# Marks and waits of events have no name.
BOOKKEEPING = ("", "memory given out again", "freeAsync")
_recording = False


@contextmanager
def timeline(title: str = "", *, key: str | None = None) -> Iterator[Timeline]:
    """Record what runs on which stream while the block's code runs as it is.

    Parameters
    ----------
    title : str
        Heading of table and picture.
    key : str, optional
        Name under which the same block was recorded on other machines (`make bench`); they are
        shown too.

    Yields
    ------
    Timeline
        Empty until the block ends, which waits for the device.

    Raises
    ------
    RuntimeError
        Inside another timeline, or where there is neither CuPy with a GPU nor the simulator.

    Notes
    -----
    On a GPU an event is put into the stream before and behind each piece of work that the block
    asks for; `events.py` lists the functions of CuPy and PyCUDA. Each piece costs about five
    microseconds of the host's time, and nothing waits for an event until the block is over. What a
    library does on its own (random numbers, FFT, solvers) is not seen. A graph is one piece, and
    nothing is recorded during a capture.

    An event tells when the *stream* reaches a piece. Copies of one direction take turns on the
    bus, so a copy's span begins when the one before it has ended. A kernel that waits for others
    to make room counts from when it might begin. The simulator's spans are exact.

    All times count from the beginning of the block, by the host's clock. On a GPU, an event that
    the host waits for just before ties the device's clock to it, within about ten microseconds.
    """
    global _recording
    if _recording:
        raise RuntimeError("a timeline is being recorded already: close its block first.")
    cupy = backend.find_cupy()
    simulated = backend.is_simulated(cupy)
    machine = backend.SIMULATOR if simulated else backend.device_name(cupy)
    result = Timeline(title, machine, ())
    _recording = True
    try:
        if simulated:
            yield from _from_scheduler(cupy, result)
        else:
            yield from _from_events(cupy, result)
    finally:
        _recording = False
    if key is None:
        return
    if not simulated:
        recordings.tell(key, result, "gpu")
    here = "" if simulated else recordings.this_machine()
    result.recorded = recorded_timelines(key, but=here)


def _label(handles: list[int]) -> dict[int, str]:
    """A name for each handle, given in the order in which streams are to be numbered."""
    new = [handle for handle in dict.fromkeys(handles) if handle not in (0, 1)]
    return {0: DEFAULT, 1: DEFAULT, **{handle: f"stream {k}" for k, handle in enumerate(new, 1)}}


def _block(watch: Watch, result: Timeline) -> Iterator[Timeline]:
    """The block itself: when it began and ended, and when Python was in calls."""
    begin = perf_counter()
    try:
        yield result
    finally:
        result.returned = perf_counter() - begin
        result.begin = begin
        result.calls = tuple((start - begin, end - begin) for start, end in watch.calls)


def _from_scheduler(cupy: ModuleType, result: Timeline) -> Iterator[Timeline]:
    with backend.simulated_spans() as seen, Watch(cupy, events=False) as watch:
        yield from _block(watch, result)
    seen = [span for span in seen if span.name not in BOOKKEEPING]
    labels = _label(sorted({span.stream for span in seen}))  # handles count upwards
    spans = []
    for span in seen:
        kind = SIMULATED.get(span.kind, KERNEL)
        name = kind if kind in (IN, OUT) else span.name
        start, end = (max(0.0, ns / 1e9 - result.begin) for ns in (span.start_ns, span.end_ns))
        spans.append(Span(labels[span.stream], kind, name, start, end,
                          span.nbytes if kind in (IN, OUT) else 0))
    result.spans = tuple(sorted(spans, key=lambda span: span.start))


def _from_events(cupy: ModuleType, result: Timeline) -> Iterator[Timeline]:
    watch = Watch(cupy)
    cupy.cuda.Device().synchronize()
    with watch:
        yield from _block(watch, result)
    cupy.cuda.Device().synchronize()
    late = result.begin - watch.origin
    pieces = [(work, max(0.0, start - late), max(0.0, end - late))
              for work, start, end in watch.times()]
    labels = _label([work.stream for work, _, _ in pieces])
    spans, free = [], {IN: 0.0, OUT: 0.0}
    for work, start, end in sorted(pieces, key=lambda piece: piece[2]):
        if work.kind in free:
            start = min(end, max(start, free[work.kind]))
            free[work.kind] = end
        spans.append(Span(labels[work.stream], work.kind, work.name, start, end,
                          work.nbytes if work.kind in free else 0))
    result.spans = tuple(sorted(spans, key=lambda span: span.start))


def recorded_timelines(key: str, but: str = "") -> tuple[Timeline, ...]:
    """Timelines of the block `key` that other machines recorded, without that of machine `but`."""
    found = []
    for file, run in recordings.find(key, but):
        spans = tuple(Span(run["streams"][stream], kind, run["names"][name], start / 1e6,
                           end / 1e6, nbytes)
                      for stream, kind, name, start, end, nbytes in run["spans"])
        machine = f"recorded on {file['gpu']} ({run['date']})"
        calls = tuple((start / 1e6, end / 1e6) for start, end in run["calls"])
        found.append(Timeline(run["title"], machine, spans, run["returned"] / 1e6, calls=calls))
    return tuple(found)
