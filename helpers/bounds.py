"""What nothing on this machine can beat: bytes and operations a second."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import date
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from . import backend, memory
from .formats import with_unit

# What a multiprocessor does in one clock, by compute capability: float32 and float64 operations on
# its lanes (a multiply-add is two: CUDA C++ Programming Guide, throughput of arithmetic
# instructions), then on its tensor cores those of float64, TF32 and float16, without sparsity (the
# white papers' rates over multiprocessors and clock; where boards differ, the faster ones').
PER_CLOCK = {
    "7.0": (128, 64, 0, 0, 1024), "7.5": (128, 4, 0, 0, 1024), "8.0": (128, 64, 128, 1024, 2048),
    "8.6": (256, 4, 0, 512, 1024), "8.9": (256, 4, 0, 512, 1024),
    "9.0": (256, 128, 256, 2048, 4096), "10.0": (256, 128, 128, 4096, 8192),
    "12.0": (256, 4, 0, 512, 1024),
}
NUMBERS = {"cpu": ("float64", "float32"),
           "gpu": ("float32", "float64", "tf32", "float16", "bfloat16")}
PER_CORE = 2**21  # bytes of cache: a virtual machine reports the cache of its whole host
TOLERATED = 1.25  # by how much a time may beat the best seen so far without being a wrong count


def quick() -> bool:
    """Whether times are only to be shown and not to be right: COURSE_QUICK_TIMES=1.

    The course's own tests set it, because they look at every cell but never at a time.
    """
    return os.environ.get("COURSE_QUICK_TIMES", "0") not in ("", "0")


@dataclass(frozen=True)
class Ceiling:
    """The most that a device can do with one format of numbers.

    Attributes
    ----------
    name : str
        The device.
    bandwidth, flops : float
        Bytes, and floating-point operations, a second.
    cache : float
        Arrays of no more bytes may stay in a cache, so they are not compared with memory.
    number : str
        What the operations are done with: "float32", "tf32, on tensor cores".
    seen : str
        Of a CPU the day on which the rates were seen last; "" for a GPU, whose driver tells them.
    """

    name: str
    bandwidth: float
    flops: float
    cache: float = 0
    number: str = ""
    seen: str = ""

    @property
    def word(self) -> str:
        """What its least time is called."""
        return "best seen" if self.seen else "at least"

    def least(self, nbytes: float, flops: float) -> float:
        """Least seconds for this much work: the roofline model, Williams et al., CACM 2009."""
        return max(nbytes / self.bandwidth if nbytes > self.cache else 0, flops / self.flops)

    def __str__(self) -> str:
        rates = [f"{with_unit(self.bandwidth, 'B/s')} of memory"] * (self.bandwidth < inf)
        rates += [f"{with_unit(self.flops, 'flop/s')} ({self.number})"] * (self.flops < inf)
        day = f" ({self.seen})" if self.seen else ""
        return f"{self.word.capitalize()}{day}: {', '.join(rates) or 'not known'}"


def ceiling(device: str = "cpu", number: str | None = None, cores: int | None = None) -> Ceiling:
    """The most that `device` can do: no measured time is shorter than this allows.

    Parameters
    ----------
    device : {"cpu", "gpu"}
        Where the simulator runs, "gpu" is the processor that it runs on.
    number : str, optional
        The numbers and units that count. For "cpu" "float64" (the default) or "float32"; for "gpu"
        "float32" (the default), "float64", or on tensor cores "tf32", "float16", "bfloat16".
    cores : int, optional
        1 for what one core of a CPU can do; otherwise all that this process may use.

    Returns
    -------
    Ceiling
        *Of a GPU* it follows from what the driver tells: the memory's bus and clock, two transfers
        a clock; multiprocessors, their clock, and what one does in a clock. *Of a CPU*, whose
        clocks nobody tells, it is the best that was seen on this machine in reading, writing and
        copying 256 MiB and in products of matrices. It is kept in a file of the user's, and raised
        when something is faster.

    Raises
    ------
    ValueError
        For another device, number or count of cores.
    RuntimeError
        For "gpu" where there is neither CuPy with a GPU nor the simulator.
    """
    if device not in NUMBERS:
        raise ValueError(f'ceiling({device!r}): the device must be "cpu" or "gpu".')
    if cores not in (None, 1):
        raise ValueError(f"cores={cores}: it must be 1, or left out for all.")
    number = number or NUMBERS[device][0]
    if number not in NUMBERS[device]:
        raise ValueError(f"number={number!r}: for {device!r} it must be one of"
                         f" {', '.join(NUMBERS[device])}.")
    if device == "gpu" and not backend.is_simulated(cupy := backend.find_cupy()):
        return _gpu(cupy, number)
    limit = _cpu(number if number in NUMBERS["cpu"] else "float32", cores)
    simulated = f"{backend.SIMULATOR}, on {limit.name}"
    return replace(limit, name=simulated) if device == "gpu" else limit


def _gpu(cupy: Any, number: str) -> Ceiling:
    device = cupy.cuda.Device()
    told = device.attributes
    clock = told["ClockRate"] * 1e3
    capability = str(device.compute_capability)
    per_clock = PER_CLOCK.get(f"{capability[:-1]}.{capability[-1]}")
    flops, words = inf, number
    if per_clock and clock:
        float32, float64, *tensor = per_clock
        rates = {"float32": float32, "float64": max(float64, tensor[0]), "tf32": tensor[1],
                 "float16": tensor[2], "bfloat16": tensor[2]}
        flops = rates[number] * told["MultiProcessorCount"] * clock or inf
        if number not in ("float32", "float64") or number == "float64" and tensor[0] > float64:
            words += ", on tensor cores"
    # Two transfers a clock: also of the newer memories, whose clock the driver tells accordingly.
    bandwidth = 2 * told["MemoryClockRate"] * 1e3 * told["GlobalMemoryBusWidth"] / 8 or inf
    return Ceiling(backend.device_name(cupy), bandwidth, flops, 2 * told["L2CacheSize"], words)


# ---- a CPU: the best seen, kept in a file ------------------------------------------------------

_best: dict[str, tuple[float, str]] = {}  # by what was measured: the rate, and the day


def _cpu(number: str, cores: int | None) -> Ceiling:
    where = "one core" if cores == 1 else "all cores"
    name = backend.cpu() if cores is None else f"one core of {backend.cpu()}"
    if not _best and not quick():
        _best.update({what: tuple(best) for what, best in memory.load("best-seen").items()})
    for what, measure in (("memory", _measure_memory), (number, _measure_products)):
        if f"{what}, {where}" not in _best:
            note_best(f"{what}, {where}", measure(what, cores))
    (bandwidth, day), (flops, other_day) = _best[f"memory, {where}"], _best[f"{number}, {where}"]
    return Ceiling(name, bandwidth, flops, _cache_bytes(), f"{number}, {where}",
                   max(day, other_day))


def note_best(what: str, rate: float) -> None:
    """Keep a rate of this machine where it is the best so far: of "memory, one core", say."""
    if rate <= _best.get(what, (0, ""))[0]:
        return
    _best[what] = rate, date.today().isoformat()
    if not quick():
        # Another notebook may have seen a better one.
        kept = memory.load("best-seen")
        memory.keep("best-seen", {name: max(list(best), kept.get(name, [0, ""]))
                                  for name, best in _best.items()})


def raised(limit: Ceiling, rows: list) -> Ceiling:
    """The ceiling of a CPU after these timings, which may have beaten the best seen so far.

    A time that beats it by more than a quarter does not count: there the work was counted wrong.
    """
    if not limit.seen:
        return limit
    where = limit.number.partition(", ")[2]
    for row in rows:
        beaten = limit.least(row.nbytes, row.flops) / row.low
        if 1 < beaten <= TOLERATED:
            if limit.least(row.nbytes, 0) >= limit.least(0, row.flops):
                limit = replace(limit, bandwidth=row.nbytes / row.low)
                note_best(f"memory, {where}", limit.bandwidth)
            else:
                limit = replace(limit, flops=row.flops / row.low)
                note_best(limit.number, limit.flops)
    return limit


def as_recorded(limit: Ceiling) -> tuple[str, dict]:
    """A name for the ceiling among those of its machine, and what is kept of it."""
    return f"{limit.name}: {limit.number}", {
        key: None if value == inf else value for key, value in asdict(limit).items()}


def from_recorded(kept: dict) -> Ceiling:
    """The ceiling of which `as_recorded` kept this."""
    return Ceiling(**{key: inf if value is None else value for key, value in kept.items()})


def _cache_bytes() -> float:
    """Bytes that may stay in this processor's caches."""
    largest = 0
    with suppress(OSError, ValueError):
        for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
            number = path.read_text().strip()
            largest = max(largest, int(number[:-1]) * {"K": 2**10, "M": 2**20}[number[-1]])
    return 2 * min(largest or 2**25, PER_CORE * backend.cores())


def _fastest(function: Callable[[], object], seconds: float = 0.3) -> float:
    """Seconds of the fastest of many calls."""
    function()  # warm-up
    best, deadline = inf, perf_counter() + (seconds / 16 if quick() else seconds)
    while best == inf or perf_counter() < deadline:
        begin = perf_counter()
        function()
        best = min(best, perf_counter() - begin)
    return best


def _measure_memory(_: str, cores: int | None) -> float:
    """The highest rate of reading, of writing and of copying an array beyond all caches."""
    source, target = np.ones((2, 2**21 if quick() else 2**25))
    workers = 1 if cores == 1 else backend.cores()
    pieces = list(zip(np.array_split(target, workers), np.array_split(source, workers)))
    ways = {lambda a, b: np.copyto(a, b): 2, lambda a, b: a.fill(1.0): 1, lambda a, b: b.max(): 1}
    with ThreadPoolExecutor(workers) as pool:  # NumPy releases the interpreter's lock meanwhile
        return max(times * source.nbytes / _fastest(
            (lambda way=way: list(pool.map(lambda piece: way(*piece), pieces)))
            if workers > 1 else lambda way=way: way(target, source))
            for way, times in ways.items())


def _measure_products(number: str, cores: int | None) -> float:
    """The highest rate of products: large ones use all cores, small ones one."""
    # Products of 96 x 96 are below the size from which BLAS libraries use several cores.
    shapes = [(64, 96, 96)] if cores == 1 else [(64, 96, 96), (1024, 1024), (2048, 2048)]
    best = 0.0
    for shape in shapes[:2] if quick() else shapes:
        x = np.random.default_rng(0).random(shape).astype(number)
        y = x.copy()  # of `x @ x.T` only half is computed
        best = max(best, 2 * x.size * shape[-1] / _fastest(lambda x=x, y=y: x @ y))
    return best
