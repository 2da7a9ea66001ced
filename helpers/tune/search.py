"""The search: generate, compile, check, measure, rank."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from .. import recordings
from ..backend import SIMULATOR, device_name, find_cupy, is_simulated
from ..bounds import ceiling
from ..timing import Comparison, Timing, recorded_runs
from . import simulator
from .gpu import Gpu
from .result import Tuning, Variant
from .trial import Case, Failure, compiled
from .variant import Generated, Tuned, compile_ahead

CLOSE = 1.25  # a variant within this factor of the fastest may be the fastest


class TuningFailed(RuntimeError):
    """No variant gave right results; `tuning` holds what each failed at."""

    def __init__(self, text: str, tuning: Tuning) -> None:
        super().__init__(text)
        self.tuning = tuning


def tune(
    generate: Callable[..., Generated],
    grid: Mapping[str, Sequence],
    spec: Callable,
    inputs: Sequence,
    *,
    out: int | None = None,
    checks: Sequence[Sequence] = (),
    where: Callable[..., bool] | None = None,
    nbytes: float = 0,
    flops: float = 0,
    rtol: float | None = None,
    atol: float = 0.0,
    title: str | None = None,
    key: str | None = None,
    rehearse: bool = True,
    time_limit: float = 10.0,
) -> Tuning:
    """Try all variants of a kernel and find the best of those that are right.

    Each is generated, compiled, checked against the specification, and only then measured. The
    table says what a variant failed at.

    Parameters
    ----------
    generate : callable
        `generate(**parameters)` returns a `Generated`: the kernel's text and its launch.
    grid : mapping of str to sequence
        For each parameter the values to try, all combinations of them.
    spec : callable
        The same in NumPy: `spec(*inputs)` returns what the array `out` must hold after the launch.
        It gets copies.
    inputs : sequence
        The kernel's arguments: NumPy arrays, which are copied to the device afresh for every
        launch, and NumPy scalars such as `np.int32(7)`.
    out : int, optional
        Which argument holds the result; may be left out where only one is an array.
    checks : sequence of sequences, optional
        Further arguments to check with, not to measure: sizes that are no multiple of a block.
    where : callable, optional
        `where(**parameters)` says which combinations are worth generating.
    nbytes, flops : float
        Bytes moved and operations done by one launch, counted by you: the table then shows shares
        of what the device can do.
    rtol, atol : float
        Tolerances, as `numpy.isclose` has them; by default `rtol` is 1e-5 for float32, 1e-12 for
        float64, 0.01 for float16. Integers must be equal.
    title : str, optional
        The table's heading; the kernel's name by default.
    key : str, optional
        Name under which runs of this search were recorded on GPUs (`make bench`); they are shown
        beside.
    rehearse : bool
        On a GPU, run each variant on the `checks` in the simulator first: on the GPU a faulty
        access ends all work. Switch it off for what the simulator lacks, such as tensor cores.
    time_limit : float
        Seconds that a launch in the simulator may take.

    Returns
    -------
    Tuning
        `best` (parameters), `kernel` (to call), `heatmap()`, and when printed the table.

    Raises
    ------
    TuningFailed
        Where no variant is right.
    TypeError, ValueError
        For an empty grid, inputs that no kernel takes, a specification that returns no result.

    Notes
    -----
    *On a GPU* a launch is timed between two events, with the arrays as they were given and with
    other data in the caches: seven times after its check. Then all that are within 25 percent of
    the fastest are measured in turns, 21 times each, so that a clock that changes meanwhile changes
    all of them; these medians decide. A launch of less than 10 us shows mostly what a launch costs.

    *On the simulator* variants are ranked by the counters of one launch, by the first of these in
    which they differ: sectors of global memory, wavefronts of shared memory, requests to global
    memory, barriers. Two that ask the same of memory share a rank, and may differ on a GPU.
    """
    combinations = _combinations(grid, where)
    cases = _cases(spec, inputs, checks, out, rtol, atol)
    cupy = find_cupy()
    simulated = is_simulated(cupy)
    progress = _Progress()
    try:
        search = _Search(generate, cases, progress, rehearse, time_limit)
        variants = search.run(combinations, simulated)
    finally:
        progress.close()
    names = {v.generated.name for v in variants if v.generated}
    machine = f"This machine: {SIMULATOR if simulated else device_name(cupy)}"
    tuning = Tuning(title or (names.pop() if len(names) == 1 else "Tuning"), tuple(variants),
                    simulated, machine, nbytes, flops)
    if not tuning.ranked:
        raise TuningFailed("\n".join([f"none of the {len(variants)} variants of {tuning.title} gave"
                                      " right results.", *tuning.failures()]), tuning)
    return _with_ceiling_and_recorded(tuning, key)


def _with_ceiling_and_recorded(tuning: Tuning, key: str | None) -> Tuning:
    """The same beside what the device can do, and beside recorded runs."""
    if not tuning.simulated and (key or tuning.nbytes or tuning.flops):
        limit = ceiling("gpu")
        if key:
            rows = tuple(replace(v.timing, nbytes=tuning.nbytes, flops=tuning.flops)
                         for v in tuning.ranked)
            machine = f"This machine: {limit.name}"
            recordings.tell(key, Comparison(tuning.title, machine, limit, rows), "gpu")
        if tuning.nbytes or tuning.flops:
            tuning = replace(tuning, ceiling=limit)
    if key:
        here = "" if tuning.simulated else recordings.this_machine()
        tuning = replace(tuning, recorded=recorded_runs(key, but=here))
    return tuning


def _combinations(grid: Mapping[str, Sequence], where: Callable | None) -> list[dict]:
    if not isinstance(grid, Mapping):
        raise TypeError(f"the grid must be a dict of lists, not {type(grid).__name__}.")
    if not grid:
        raise ValueError("the grid is empty: it names no parameter.")
    for name, values in grid.items():
        if not isinstance(values, (Sequence, np.ndarray)) or isinstance(values, (str, bytes)):
            raise TypeError(f"the grid's {name!r} must be a list of values, not {values!r}.")
        if not len(values):
            raise ValueError(f"the grid is empty: {name!r} has no value to try.")
    plain = [[v.item() if isinstance(v, np.generic) else v for v in values]
             for values in grid.values()]
    combinations = [dict(zip(grid, values)) for values in itertools.product(*plain)]
    chosen = [one for one in combinations if where is None or where(**one)]
    if not chosen:
        raise ValueError("the grid is empty: where() refuses all of its combinations.")
    return chosen


def _cases(spec: Callable, inputs: Sequence, checks: Sequence[Sequence], out: int | None,
           rtol: float | None, atol: float) -> list[Case]:
    """The checks, then the inputs themselves."""
    names = [*(f"checks[{k}]" for k in range(len(checks))), "inputs"]
    cases = []
    for name, given in zip(names, (*checks, inputs)):
        args = tuple(_argument(value, f"{name}[{k}]") for k, value in enumerate(given))
        arrays = [k for k, arg in enumerate(args) if isinstance(arg, np.ndarray)]
        if out is None and len(arrays) != 1:
            raise TypeError(f"{name} has {len(arrays)} arrays: say with out= which argument holds"
                            " the result, counted from 0.")
        number = arrays[0] if out is None else out
        if number not in arrays:
            raise ValueError(f"out={out}: the arrays in {name} are at {arrays}.")
        result = spec(*(arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args))
        expected = np.asarray(result.get() if hasattr(result, "get") else result)
        if result is None or expected.shape != args[number].shape:
            got = "None" if result is None else f"an array of shape {expected.shape}"
            raise ValueError(f"the specification returned {got} for {name}; argument {number},"
                             f" which holds the result, has shape {args[number].shape}.")
        cases.append(Case(args, number, expected, rtol, atol, "" if name == "inputs" else name))
    return cases


def _argument(value: object, name: str) -> object:
    """An argument as an array in the host's memory, or as a NumPy scalar."""
    if hasattr(value, "__cuda_array_interface__") and hasattr(value, "get"):
        value = value.get()
    if not isinstance(value, (np.generic, np.ndarray)):
        raise TypeError(f"{name} is a {type(value).__name__}: kernels take arrays and NumPy"
                        " scalars, such as np.int32(7) or np.float32(0.5).")
    if value.ndim and not value.flags.c_contiguous:
        raise ValueError(f"{name} is not contiguous: a kernel gets its memory, not its strides."
                         " Give np.ascontiguousarray of it.")
    return value if value.ndim else value[()]


class _Search:
    """Goes through the variants once."""

    def __init__(self, generate: Callable, cases: list[Case], progress: _Progress,
                 rehearse: bool, time_limit: float) -> None:
        self._generate, self._cases = generate, cases
        self._progress, self._rehearse, self._time_limit = progress, rehearse, time_limit

    def run(self, combinations: list[dict], simulated: bool) -> list[Variant]:
        """All variants, each with its result or with what it failed at."""
        variants = [self._generated(parameters) for parameters in combinations]
        texts = [variant.generated for variant in variants if variant.generated]
        self._progress(f"compiling {len(texts)} variants")
        (simulator.compile_ahead if simulated else compile_ahead)(texts)
        gpu = None if simulated or not texts else Gpu(self._cases)
        tuned: dict[int, Tuned] = {}
        for k, variant in enumerate(variants):
            self._progress(f"{k + 1} of {len(variants)}: {variant.name}")
            if variant.generated:
                try:
                    variants[k], tuned[k] = self._tried(variant, gpu)
                except Failure as why:
                    variants[k] = replace(variant, state=why.state, note=str(why))
        if gpu is not None:
            self._finals(gpu, variants, tuned)
        return variants

    def _generated(self, parameters: dict) -> Variant:
        """The variant with its text, or with what went wrong while it was generated."""
        variant = Variant(parameters, "generate")
        try:
            made = self._generate(**parameters)
        except Exception as error:
            return replace(variant, note=f"{type(error).__name__}: {error}")
        if not isinstance(made, Generated):
            raise TypeError(f"generate({variant.name}) returned {type(made).__name__}; it must"
                            " return a helpers.Generated.")
        return replace(variant, generated=made)

    def _tried(self, variant: Variant, gpu: Gpu | None) -> tuple[Variant, Tuned]:
        """The variant with its time or its counters, and its compiled kernel."""
        tuned = compiled(variant.generated)
        if gpu is None:
            counts = self._simulated(variant, self._cases)
            return replace(variant, state="ok", counts=counts), tuned
        if self._rehearse:
            self._simulated(variant, self._cases[:-1])
        gpu.check(tuned)
        timing = Timing.of(variant.name, gpu.samples(tuned))
        return replace(variant, state="ok", timing=timing), tuned

    def _simulated(self, variant: Variant, cases: Sequence[Case]) -> dict[str, int]:
        return simulator.run(variant.generated, cases, self._time_limit)

    def _finals(self, gpu: Gpu, variants: list[Variant], tuned: dict[int, Tuned]) -> None:
        """Measure in turns all that are nearly as fast as the fastest.

        These figures replace the first ones, which were taken at different times.
        """
        times = {k: v.timing.median for k, v in enumerate(variants) if v.state == "ok"}
        close = [k for k in times if times[k] <= CLOSE * min(times.values())]
        if len(close) > 1:
            samples = gpu.finals([tuned[k] for k in close], self._progress)
            for k, taken in zip(close, samples):
                variants[k] = replace(variants[k], timing=Timing.of(variants[k].name, taken))


class _Progress:
    """One line that says how far the search is, and that is removed at its end.

    Only in a terminal and in a notebook that somebody runs: recorded text must always be the same.
    """

    def __init__(self) -> None:
        watched = sys.stdout.isatty() or type(sys.stdout).__name__ == "OutStream"
        automatic = {"PYTEST_VERSION", "PYTEST_CURRENT_TEST", "COURSE_QUIET"} & set(os.environ)
        self._on, self._width = watched and not automatic, 0

    def __call__(self, text: str, end: str = "") -> None:
        if self._on:
            print("\r" + text.ljust(self._width), end=end, flush=True)
            self._width = max(self._width, len(text))

    def close(self) -> None:
        self("", end="\r")
