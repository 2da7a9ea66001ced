"""Measurement that is right by construction, set against what the machine can do."""

from __future__ import annotations

import os
import statistics
import textwrap
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from time import perf_counter

import numpy as np

from . import backend, recordings
from .backend import find_cupy, is_simulated, synchronize
from .formats import aligned, range_with_unit, with_unit

MIN_SAMPLE = 1e-3  # seconds: shorter samples measure the clock as much as the work
MIN_SAMPLES, MAX_SAMPLES = 5, 200


def quick() -> bool:
    """Whether times are only to be shown and not to be right: COURSE_QUICK_TIMES=1.

    The course's own tests set it, because they look at every cell but never at a time.
    """
    return os.environ.get("COURSE_QUICK_TIMES", "0") not in ("", "0")


@dataclass(frozen=True)
class Ceiling:
    """What this machine was measured to reach.

    Attributes
    ----------
    name : str
        The device.
    bandwidth, bandwidth_one_core : float
        Bytes read plus bytes written a second by a large copy, by all cores and by one, which is
        what a NumPy expression uses. Equal on a GPU.
    flops, flops_one_core : float
        Floating-point operations a second of a large matrix product, which all cores do, and of
        many small ones, which one core does. Equal on a GPU.
    """

    name: str
    bandwidth: float
    bandwidth_one_core: float
    flops: float
    flops_one_core: float

    def least(self, nbytes: float, flops: float) -> float:
        """Least seconds for this much work: the roofline model, Williams et al., CACM 2009."""
        return max(nbytes / self.bandwidth, flops / self.flops)

    def one_core(self) -> Ceiling:
        """The ceiling of a single core."""
        return Ceiling(f"one core of {self.name}", self.bandwidth_one_core,
                       self.bandwidth_one_core, self.flops_one_core, self.flops_one_core)


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

    function(*args)  # warm-up: first touches of memory, caches, compilation
    synchronize()
    calls = 1
    while (once := sample(calls)) * calls < MIN_SAMPLE and until == "done":
        calls = max(2 * calls, int(MIN_SAMPLE / max(once, 1e-9)))
    taken = [once]
    least, most = (2, 2) if quick() else (MIN_SAMPLES, MAX_SAMPLES)
    deadline = perf_counter() + seconds
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


def _fastest(function: Callable, *args: object, device: str = "cpu",
             seconds: float = 0.4) -> float:
    """Seconds of the fastest of many calls: a ceiling is what the machine can do at its best."""
    clock = _clock(device)
    clock(function, args, 1)  # warm-up
    # On a crowded machine a single call may take longer than `seconds`: one counts in any case.
    best = clock(function, args, 1)
    deadline = perf_counter() + (seconds / 16 if quick() else seconds)
    while perf_counter() < deadline:
        best = min(best, clock(function, args, 1))
    return best


def _copy_with(workers: int, target: np.ndarray, source: np.ndarray) -> Callable[[], object]:
    if workers == 1:
        return lambda: np.copyto(target, source)
    pieces = list(zip(np.array_split(target, workers), np.array_split(source, workers)))
    pool = ThreadPoolExecutor(workers)  # NumPy releases the interpreter's lock while it copies
    return lambda: list(pool.map(lambda piece: np.copyto(*piece), pieces))


def ceiling(device: str = "cpu") -> Ceiling:
    """Measure once what `device` ("cpu" or "gpu") can do, in one or two seconds.

    The bandwidth is a copy's, bytes read plus bytes written, of arrays larger than the caches: for
    "gpu" `cp.copyto`'s inside its memory. The arithmetic is a large matrix product through the
    library that NumPy or CuPy calls: float64 on a CPU, float32 or float64, whichever is faster, on
    a GPU. Of many calls the fastest counts. Where the simulator runs, "gpu" is the simulator.

    Raises
    ------
    ValueError
        For another device name.
    RuntimeError
        For "gpu" where there is neither CuPy with a GPU nor the simulator.
    """
    return _ceiling(device)


@cache
def _ceiling(device: str) -> Ceiling:
    if device == "cpu":
        source, target = np.ones((2, 2**22 if quick() else 2**25))  # 256 MiB: beyond all caches
        one = _fastest(_copy_with(1, target, source))
        everyone = min(one, _fastest(_copy_with(backend.cores(), target, source)))
        x = np.random.default_rng(0).random((1024, 1024))
        product = 2 * 1024**3 / _fastest(np.matmul, x, x.copy())
        # Products this small are below the size from which BLAS libraries use several cores.
        small = np.random.default_rng(0).random((64, 96, 96))
        one_product = 2 * small.size * 96 / _fastest(np.matmul, small, small.copy())
        moved = 2 * source.nbytes
        return Ceiling(backend.cpu(), moved / everyone, moved / one, max(product, one_product),
                       one_product)
    if device == "gpu":
        cupy = find_cupy()
        numbers, side = (2**22, 512) if is_simulated(cupy) else (2**28, 4096)
        source = cupy.ones(numbers, dtype=cupy.float32)
        target = cupy.empty_like(source)
        bandwidth = 2 * source.nbytes / _fastest(cupy.copyto, target, source, device=device)
        products = []
        for dtype in ("float32", "float64"):  # which is faster depends on the device
            x = cupy.ones((side, side), dtype=dtype)
            products.append(2 * side**3 / _fastest(cupy.matmul, x, x, device=device, seconds=0.2))
        name = f"{backend.SIMULATOR}, on {backend.cpu()}"
        name = name if is_simulated(cupy) else backend.device_name(cupy)
        return Ceiling(name, bandwidth, bandwidth, max(products), max(products))
    raise ValueError(f'ceiling({device!r}): the device must be "cpu" or "gpu".')


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

    def _table(self) -> str:
        """The table in at most 80 columns: a column that has no numbers is left out."""
        one_core, lines = self.ceiling.one_core(), []
        cells = [("",) * 5 + ("middle", "", "of a"),
                 ("", "bytes", "flop", "at least", "measured", "half", "share", "core")]
        for row in self.rows:
            least = self.ceiling.least(row.nbytes, row.flops)
            by_core = least and one_core.bandwidth != self.ceiling.bandwidth  # not on a GPU
            cells.append((
                row.name,
                with_unit(row.nbytes, "B") if row.nbytes else "-",
                with_unit(row.flops, "").strip() if row.flops else "-",
                with_unit(least, "s") if least else "-",
                with_unit(row.median, "s"),
                range_with_unit(row.low, row.high, "s"),
                f"{least / row.median:.0%}" if least else "-",
                f"{one_core.least(row.nbytes, row.flops) / row.median:.0%}" if by_core else "-",
            ))
        names, *columns = zip(*cells)
        columns = [column for column in columns if set(column[2:]) != {"-"}]
        width = 80 - sum(2 + max(map(len, column)) for column in columns)
        for name, line in zip(names, zip(*columns)):
            name, *rest = textwrap.wrap(name, max(width, 12), subsequent_indent="  ") or [""]
            lines += [(name, *line), *((part, *[""] * len(columns)) for part in rest)]
        return "\n".join([self.machine, *(line.rstrip() for line in aligned(lines))])

    def __repr__(self) -> str:
        runs = (self, *self.recorded)
        return "\n\n".join([self.title, *(run._table() for run in runs)])


def compare(functions: Mapping[str, Callable], *args: object,
            nbytes: Mapping[str, float] | None = None, flops: Mapping[str, float] | None = None,
            title: str = "", key: str | None = None, device: str = "cpu", seconds: float = 0.3,
            until: str = "done") -> Comparison:
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
        Decides the clock (see `bench`) and the ceiling that the shares refer to. Times of "gpu" on
        the simulator are labelled as its own, and never recorded.
    seconds, until
        As for `bench`, for each function.
    """
    work = {"nbytes": nbytes or {}, "flops": flops or {}}
    for what, given in work.items():
        if unknown := set(given) - set(functions):
            raise ValueError(f"{what} names {sorted(unknown)}, but the functions are"
                             f" {sorted(functions)}.")
    limit = ceiling(device)
    rows = tuple(
        bench(function, *args, name=name, seconds=seconds, device=device, until=until,
              nbytes=work["nbytes"].get(name, 0), flops=work["flops"].get(name, 0))
        for name, function in functions.items()
    )
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
            machine = f"Recorded on {file['gpu']} ({file['date']}, {file['cupy']})"
        else:
            machine = f"Recorded on {file['machine']} ({file['date']}, NumPy {file['numpy']})"
        rows = tuple(Timing(**row) for row in run["rows"])
        found.append(Comparison(run["title"], machine, Ceiling(**run["ceiling"]), rows))
    return tuple(found)
