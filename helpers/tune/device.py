"""Where variants are tried: on the GPU with its clock, on the simulator with its counters."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter, sleep
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..errors import message
from ..timing import _cupy
from .compare import difference
from .variant import Generated, Tuned, inspected_source

SAMPLES = 7  # of each variant, right after its check
FINALISTS, FINAL_ROUNDS = 6, 21  # then of the fastest, one after another in turns
WARM_UP = 2
NOT_READY = 600  # cudaErrorNotReady: not an error
_abandoned: list[object] = []  # what a GPU that hangs or has failed must not be asked to free


class Refused(Exception):
    """A variant that is out: `state` says at which step, the text why."""

    def __init__(self, state: str, text: str, *, fatal: bool = False) -> None:
        super().__init__(text)
        self.state, self.fatal = state, fatal


@dataclass(frozen=True)
class Case:
    """Arguments for one launch, and what the arrays at these places must hold after it."""

    args: tuple
    expected: dict[int, np.ndarray]
    rtol: float | None
    atol: float
    name: str = ""
    """Of a case that is only checked."""

    def judge(self, arrays: dict[int, np.ndarray]) -> None:
        """Refuse a result that is not the expected one."""
        which = f" ({self.name})" if self.name else ""
        for place, wanted in self.expected.items():
            if text := difference(arrays[place], wanted, self.rtol, self.atol):
                raise Refused("wrong", f"{text}{which}")


def compiled(generated: Generated, library: str) -> Tuned:
    """The variant as something to launch; Refused where it does not compile."""
    try:
        return Tuned(generated, library)
    except Exception as error:
        kinds = {kind.__name__ for kind in type(error).__mro__}
        if kinds & {"CompileError", "CompileException"}:
            raise Refused("compile", _first_error(error, library)) from error
        if "not found" in str(error):
            raise Refused("compile", f"there is no kernel {generated.name!r} in the source"
                          ' (for CuPy it needs extern "C")') from error
        if isinstance(error, ValueError):  # more shared memory than there is
            raise Refused("launch", str(error)) from error
        raise Refused("compile", _one_line(error)) from error


def _one_line(error: Exception) -> str:
    return message(error).split("\n")[0]


def _first_error(error: Exception, library: str) -> str:
    from checks.machinery.kernel_task import _compiler_says

    text = _compiler_says(message(error))
    if library != "pycuda":
        return text
    # The first line that nvcc sees is PyCUDA's own: extern "C" {
    return re.sub(r"^line (\d+)", lambda found: f"line {int(found[1]) - 1}", text)


def _shape(generated: Generated, args: Sequence) -> tuple[tuple, tuple]:
    try:
        return generated.launch_shape(args)
    except Exception as error:
        raise Refused("launch", str(error)) from error


def in_simulator(generated: Generated, library: str, cases: Sequence[Case],
                 time_limit: float) -> dict[str, int]:
    """Run a variant on each case in the simulator; what the last one asked of memory.

    Raises
    ------
    Refused
        For a fault, a launch that a device would refuse, a wrong result.
    """
    from nogpu import engine

    from ..inspection import inspect

    kernel = as_inspected(generated, library)
    for case in cases:
        grid, block = _shape(generated, case.args)
        try:
            report = inspect(kernel, grid, block, case.args, generated.shared,
                             time_limit=time_limit)
        except engine.InvalidLaunch as error:
            raise Refused("launch", str(error)) from error
        except engine.CompileError as error:  # where another compiler is content
            raise Refused("compile", _first_error(error, "")) from error
        if report.fault is not None:
            if isinstance(report.fault, engine.KernelTimeout):
                raise Refused("endless", f"stopped after {time_limit:g} s")
            from checks.machinery.kernel_task import explained

            raise Refused("fault", str(explained(report.fault, generated.name)).rstrip("."))
        places = [place for place, arg in enumerate(case.args) if isinstance(arg, np.ndarray)]
        arrays = dict(zip(places, report.arrays.values()))
        case.judge(arrays)
    return report.counts.as_dict()


def as_inspected(generated: Generated, library: str) -> SimpleNamespace:
    """What `inspect` needs to know of a kernel, whoever compiles it for the device."""
    return SimpleNamespace(
        code=inspected_source(generated, library), name=generated.name,
        options=tuple(generated.options), backend="nvcc" if library == "pycuda" else "nvrtc",
        max_dynamic_shared_size_bytes=generated.shared)


class Gpu:
    """The GPU, with the cases' arrays in its memory.

    Every launch finds the arrays as they were given, and while the clock runs caches that hold
    none of them.
    """

    def __init__(self, cases: Sequence[Case], time_limit: float) -> None:
        self._cupy = cupy = _cupy()
        self._cases, self._time_limit = cases, time_limit
        self._given = [self._on_device(case.args) for case in cases]
        self._work = [[cupy.empty_like(a) if isinstance(a, cupy.ndarray) else a for a in args]
                      for args in self._given]
        self._host = {place: np.empty_like(wanted, dtype=case.args[place].dtype)
                      for case in cases[-1:] for place, wanted in case.expected.items()}
        cache = cupy.cuda.Device().attributes.get("L2CacheSize") or 2**22
        self._other = cupy.zeros(max(4 * cache, 2**22) // 4, cupy.float32)
        self._sum = cupy.zeros((), cupy.float32)
        self._events = cupy.cuda.Event(), cupy.cuda.Event()

    def _on_device(self, args: Sequence) -> list:
        return [self._cupy.asarray(a) if isinstance(a, np.ndarray) else a for a in args]

    def _restore(self, number: int, places: Sequence[int] | None = None) -> list:
        given, work = self._given[number], self._work[number]
        for place in range(len(given)) if places is None else places:
            if isinstance(work[place], self._cupy.ndarray):
                self._cupy.copyto(work[place], given[place])
        return work

    def check(self, tuned: Tuned) -> None:
        """Launch it once on each case and compare; Refused where something is wrong with it."""
        for number, case in enumerate(self._cases):
            _shape(tuned.generated, case.args)
            last = number == len(self._cases) - 1
            with self._watched(tuned):
                args = self._restore(number)
                self._launch(tuned, args)
                self._wait(tuned)
                arrays = {place: args[place].get(out=self._host[place] if last else None)
                          for place in case.expected}
            case.judge(arrays)

    @contextmanager
    def _watched(self, tuned: Tuned) -> Iterator[None]:
        """Turn what CUDA raises into a Refused, fatal where nothing works any more after it."""
        try:
            yield
        except Exception as error:
            why = error if isinstance(error, Refused) else Refused("fault", _one_line(error))
            if not why.fatal:
                try:
                    self._cupy.cuda.runtime.deviceSynchronize()
                except Exception:
                    why = Refused("fault", _one_line(error), fatal=True)
            if why.fatal:
                _abandoned.extend((tuned, self))
            raise why from error

    def _launch(self, tuned: Tuned, args: list) -> None:
        try:
            tuned(*args)
        except Exception as error:
            raise Refused("launch", _one_line(error)) from error
        self._events[1].record()

    def _wait(self, tuned: Tuned) -> None:
        """Until the last event; a kernel that goes on and on is left behind."""
        deadline, query = perf_counter() + self._time_limit, self._cupy.cuda.runtime.eventQuery
        pause = 1e-5
        while query(self._events[1].ptr) == NOT_READY:
            if perf_counter() > deadline:
                text = f"had not ended after {self._time_limit:g} s"
                raise Refused("endless", text, fatal=True)
            sleep(pause)
            pause = min(1e-3, 1.5 * pause)
        self._events[1].synchronize()  # raises what went wrong

    def sample(self, tuned: Tuned) -> float:
        """Seconds of one launch on the inputs as given, with other data in the caches."""
        cupy, (before, behind) = self._cupy, self._events
        with self._watched(tuned):
            args = self._restore(-1, tuple(self._cases[-1].expected))
            # Also keeps the device busy while the host prepares the launch: no gap is measured.
            cupy.sum(self._other, out=self._sum)
            before.record()
            self._launch(tuned, args)
            self._wait(tuned)
            return cupy.cuda.get_elapsed_time(before, behind) / 1e3

    def samples(self, tuned: Tuned, count: int = SAMPLES) -> list[float]:
        """Several samples after a warm-up."""
        for _ in range(WARM_UP):
            self.sample(tuned)
        return [self.sample(tuned) for _ in range(count)]

    def finals(self, finalists: Sequence[Tuned], progress: Callable[[str], Any]) -> list[list]:
        """Samples of each, taken in turns so that what changes meanwhile changes all."""
        taken: list[list[float]] = [[] for _ in finalists]
        for round_ in range(FINAL_ROUNDS):
            progress(f"round {round_ + 1} of {FINAL_ROUNDS} with the fastest")
            for k in range(len(finalists)):
                which = (k + round_) % len(finalists)  # no one is always behind the same other
                taken[which].append(self.sample(finalists[which]))
        return taken


def summary(samples: Sequence[float]) -> dict[str, float]:
    """Median, quartiles and number, as they are kept."""
    low, median, high = statistics.quantiles(samples, n=4)
    return {"median": median, "low": low, "high": high, "samples": len(samples)}
