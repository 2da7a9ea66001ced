"""Measurement that is right by construction, set against what the machine can do."""

from __future__ import annotations

import statistics
import textwrap
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

from . import recordings
from .backend import find_cupy, is_simulated, synchronize
from .bounds import TOLERATED, Ceiling, ceiling, from_recorded, quick, raised
from .formats import aligned, listed, range_with_unit, with_unit

MIN_SAMPLE = 1e-3  # seconds: shorter samples measure the clock as much as the work
MIN_SAMPLES, MAX_SAMPLES = 5, 200


@dataclass(frozen=True)
class Timing:
    """One measured function: seconds a call, and the work of one call as the caller counted it.

    `low` and `high` are the quartiles of the samples.
    """

    name: str
    median: float
    low: float
    high: float
    samples: int
    nbytes: float = 0
    flops: float = 0

    @classmethod
    def of(cls, name: str, samples: Sequence[float], nbytes: float = 0,
           flops: float = 0) -> Timing:
        """Median and quartiles of samples, in seconds."""
        low, median, high = statistics.quantiles(samples, n=4)
        return cls(name, median, low, high, len(samples), nbytes, flops)

    def __repr__(self) -> str:
        text = f"{self.name}: {with_unit(self.median, 's')} (middle half of {self.samples} samples:"
        text += f" {with_unit(self.low, 's')} to {with_unit(self.high, 's')})"
        if self.nbytes:
            text += f", {with_unit(self.nbytes / self.median, 'B/s')}"
        if self.flops:
            text += f", {with_unit(self.flops / self.median, 'flop/s')}"
        return text


def _until_queued(function: Callable, args: tuple, calls: int) -> float:
    """Seconds of the host for one call, which begins with an idle device and may leave it busy."""
    device = find_cupy().cuda.Device()
    device.synchronize()
    begin = perf_counter()
    function(*args)
    taken = perf_counter() - begin
    device.synchronize()
    return taken


def _clock(device: str) -> Callable[[Callable, tuple, int], float]:
    """What measures `calls` calls of a function to the end of all their work, in seconds.

    For "gpu" two events on the current stream: they stand in its queue before and behind the work.
    The simulator has no GPU's clock; there, as on the CPU, the host's clock runs until all is done.
    """
    if device not in ("cpu", "gpu"):
        raise ValueError(f'device={device!r}: it must be "cpu" or "gpu".')
    cupy = find_cupy() if device == "gpu" else None
    if cupy is not None and not is_simulated(cupy):
        before, behind = cupy.cuda.Event(), cupy.cuda.Event()

        def by_events(function: Callable, args: tuple, calls: int) -> float:
            before.record()
            for _ in range(calls):
                function(*args)
            behind.record()
            behind.synchronize()
            return cupy.cuda.get_elapsed_time(before, behind) / 1e3

        return by_events

    def by_host(function: Callable, args: tuple, calls: int) -> float:
        begin = perf_counter()
        for _ in range(calls):
            function(*args)
        synchronize()
        return perf_counter() - begin

    return by_host


def bench(function: Callable, *args: object, nbytes: float = 0, flops: float = 0,
          name: str | None = None, seconds: float = 0.3, device: str = "cpu",
          until: str = "done") -> Timing:
    """Measure `function(*args)`: the median of synchronised samples after a warm-up.

    Parameters
    ----------
    function, args
        The call to measure. Its result is dropped.
    nbytes, flops : float
        Bytes moved and floating-point operations done by one call, counted by you.
    name : str, optional
        Shown in tables; the function's own name otherwise.
    seconds : float
        Time to spend on samples after the warm-up, at least five samples whatever they take.
    device : {"cpu", "gpu"}
        "gpu" for work that CuPy does: on a GPU it is timed between two events on the current
        stream, on the simulator by the host's clock until all work is done.
    until : {"done", "queued"}
        "queued" for the host's time alone, from an idle device to the return of one call.

    Returns
    -------
    Timing
        Short calls are repeated inside a sample until a sample takes a millisecond. So work on a
        GPU that is shorter than its launch shows the time of a launch.
    """
    if not callable(function):
        raise TypeError(f"bench() needs a function to call, not {type(function).__name__}."
                        " Write bench(f, x), not bench(f(x)).")
    if until not in ("done", "queued"):
        raise ValueError(f'until={until!r}: it must be "done" or "queued".')
    clock = _clock(device) if until == "done" else _until_queued

    def sample(calls: int) -> float:
        return clock(function, args, calls) / calls

    if not quick():
        function(*args)  # warm-up: first touches of memory, caches, compilation
    synchronize()
    calls = 1
    while (once := sample(calls)) * calls < MIN_SAMPLE and until == "done":
        calls = max(2 * calls, int(MIN_SAMPLE / max(once, 1e-9)))
    least, most = (2, 2) if quick() else (MIN_SAMPLES, MAX_SAMPLES)
    taken, deadline = [once], perf_counter() + seconds
    while len(taken) < least or (perf_counter() < deadline and len(taken) < most):
        taken.append(sample(calls))
    return Timing.of(name or getattr(function, "__name__", "call"), taken, nbytes, flops)


def peak_bytes(function: Callable, *args: object) -> int:
    """Most bytes of new memory that `function(*args)` held at once, NumPy's buffers included."""
    running = tracemalloc.is_tracing()
    if not running:
        tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        function(*args)
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        if not running:
            tracemalloc.stop()


@dataclass(frozen=True)
class Comparison:
    """Several measured functions on one machine, shown as a table; `recorded` holds other
    machines' runs of the same comparison."""

    title: str
    machine: str
    ceiling: Ceiling
    rows: tuple[Timing, ...]
    recorded: tuple[Comparison, ...] = ()

    def __getitem__(self, name: str) -> Timing:
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(f"no row {name!r}; there are {', '.join(row.name for row in self.rows)}")

    def share(self, row: Timing) -> float:
        """The least time for a row's work over its measured time; 0 where no work was counted."""
        return self.ceiling.least(row.nbytes, row.flops) / row.median

    def _table(self) -> str:
        """The table in at most 80 columns: a column that has no numbers is left out."""
        limit, lines = self.ceiling, [self.machine]
        if any(map(self.share, self.rows)):
            lines += textwrap.wrap(str(limit), 80)
        cells = [("",) * 5 + ("middle", ""),
                 ("", "bytes", "flop", limit.word, "measured", "half", "share")]
        for row in self.rows:
            least = limit.least(row.nbytes, row.flops)
            cells.append((
                row.name,
                with_unit(row.nbytes, "B") if row.nbytes else "-",
                with_unit(row.flops, "").strip() if row.flops else "-",
                with_unit(least, "s") if least else "-",
                with_unit(row.median, "s"),
                range_with_unit(row.low, row.high, "s"),
                f"{self.share(row):.0%}" if least else "-",
            ))
        names, *columns = zip(*cells)
        columns = [column for column in columns if set(column[2:]) != {"-"}]
        width = 80 - sum(2 + max(map(len, column)) for column in columns)
        table = []
        for name, line in zip(names, zip(*columns)):
            name, *rest = textwrap.wrap(name, max(width, 12), subsequent_indent="  ") or [""]
            table += [(name, *line), *((part, *[""] * len(columns)) for part in rest)]
        lines += [line.rstrip() for line in aligned(table)]
        most = TOLERATED if limit.seen else 1
        if beating := [row.name for row in self.rows if self.share(row) > most]:
            lines += textwrap.wrap(f"{listed(beating)}: faster than this machine can be. Is the"
                                   " work counted right, or did the data stay in a cache?", 80)
        return "\n".join(lines)

    def __repr__(self) -> str:
        runs = (self, *self.recorded)
        return "\n\n".join([self.title, *(run._table() for run in runs)])


def compare(functions: Mapping[str, Callable], *args: object,
            nbytes: Mapping[str, float] | None = None, flops: Mapping[str, float] | None = None,
            title: str = "", key: str | None = None, device: str = "cpu", seconds: float = 0.3,
            until: str = "done", number: str | None = None,
            cores: int | None = None) -> Comparison:
    """Measure several functions on the same arguments and set them against the machine.

    Parameters
    ----------
    functions : mapping of str to callable
        What to measure, by the name that the table shows.
    args
        Passed to each function.
    nbytes, flops : mapping of str to float, optional
        Work that one call of each function does, counted by you, from which the table derives the
        least time that this machine needs for it.
    title : str
        The table's heading.
    key : str, optional
        Name under which runs of this comparison were recorded on other machines (`make bench`);
        they are shown below this machine's.
    device : {"cpu", "gpu"}
        Decides the clock (see `bench`). Times of "gpu" on the simulator are labelled as its own,
        and never recorded.
    seconds, until
        As for `bench`, for each function.
    number, cores
        As for `ceiling`: whose rates give the least time of every row.
    """
    work = {"nbytes": nbytes or {}, "flops": flops or {}}
    for what, given in work.items():
        if unknown := set(given) - set(functions):
            raise ValueError(f"{what} names {sorted(unknown)}, but the functions are"
                             f" {sorted(functions)}.")
    rows = tuple(
        bench(function, *args, name=name, seconds=seconds, device=device, until=until,
              nbytes=work["nbytes"].get(name, 0), flops=work["flops"].get(name, 0))
        for name, function in functions.items()
    )
    limit = raised(ceiling(device, number, cores), rows)
    result = Comparison(title, f"This machine: {limit.name}", limit, rows)
    if key is None:
        return result
    simulated = device == "gpu" and is_simulated(find_cupy())
    if not simulated:
        recordings.tell(key, result, device)
    here = "" if simulated else recordings.this_machine()
    return replace(result, recorded=recorded_runs(key, but=here))


def recorded_runs(key: str, but: str = "") -> tuple[Comparison, ...]:
    """Runs of the comparison `key` from the files that `make bench` wrote on other machines.

    The machine named `but` is left out, because its own run is shown already.
    """
    found = []
    for file, run in recordings.find(key, but):
        if run.get("device", "cpu") == "gpu":
            machine = f"Recorded on {file['gpu']} ({run['date']}, {file['cupy']})"
        else:
            machine = f"Recorded on {file['machine']} ({run['date']}, NumPy {file['numpy']})"
        rows = tuple(Timing(**row) for row in run["rows"])
        limit = from_recorded(file["ceilings"][run["ceiling"]])
        found.append(Comparison(run["title"], machine, limit, rows))
    return tuple(found)
