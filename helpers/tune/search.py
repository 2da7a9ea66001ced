"""The search: generate, compile, check, measure, rank."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from .. import recordings
from ..backend import SIMULATOR, device_name, find_cupy, is_simulated
from ..bounds import ceiling
from ..timing import Comparison, Timing, recorded_runs
from . import simulator
from .gpu import Gpu
from .result import Tuning, Variant, failures
from .variant import Case, Failure, Generated, Tuned, compile_ahead, compiled

CLOSE = 1.25  # a variant within this factor of the fastest may be the fastest


def tune(
    generate: Callable[..., Generated],
    grid: Mapping[str, Sequence],
    spec: Callable,
    inputs: Sequence,
    *,
    out: int | None = None,
    checks: Sequence[Sequence] = (),
    nbytes: float = 0,
    rtol: float | None = None,
    atol: float = 0.0,
    title: str | None = None,
    key: str | None = None,
) -> Tuning:
    """Try all variants of a kernel and find the best of those that are right.

    Each is generated, compiled, checked against the specification, and only then measured. The
    table says what a variant failed at.

    Parameters
    ----------
    generate : callable
        `generate(**parameters)` returns a `Generated`: the kernel's text and its launch. For
        parameters that do not go together it may raise an error, which the table shows.
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
        Further arguments to check with, not to measure: sizes that are no multiple of a block. On
        a GPU each variant is launched with them in the simulator first, because on the GPU a faulty
        access ends all work. Give none where the simulator cannot run the kernel.
    nbytes : float
        Bytes moved by one launch, counted by you: the table then shows shares of what the device
        can do.
    rtol, atol : float
        Tolerances, as `numpy.isclose` has them; by default `rtol` is 1e-5 for float32, 1e-12 for
        float64, 0.01 for float16. Integers must be equal.
    title : str, optional
        The table's heading; the kernel's name by default.
    key : str, optional
        Name under which runs of this search were recorded on GPUs (`make bench`); `heatmap` shows
        them beside.

    Returns
    -------
    Tuning
        `best` (parameters), `kernel` (to call), `heatmap()`, and when printed the table.

    Raises
    ------
    RuntimeError
        Where no variant is right; it says what each failed at.
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
    combinations = _combinations(grid)
    cases = _cases(spec, inputs, checks, out, rtol, atol)
    cupy = find_cupy()
    simulated = is_simulated(cupy)
    variants = _search(generate, combinations, cases, simulated)
    names = {v.generated.name for v in variants if v.generated}
    title = title or (names.pop() if len(names) == 1 else "Tuning")
    right = [v for v in variants if v.state == "ok"]
    if not right:
        raise RuntimeError("\n".join([f"none of the {len(variants)} variants of {title} gave right"
                                      " results.", *failures(variants)]))
    machine = f"This machine: {SIMULATOR if simulated else device_name(cupy)}"
    limit = None if simulated or not (key or nbytes) else ceiling("gpu")
    if key and limit:
        rows = tuple(replace(v.timing, nbytes=nbytes) for v in sorted(right, key=lambda v: v.cost))
        here = f"This machine: {limit.name}"
        recordings.tell(key, Comparison(title, here, limit, rows), "gpu")
    others = recorded_runs(key, but="" if simulated else recordings.this_machine()) if key else ()
    return Tuning(title, tuple(variants), simulated, machine, nbytes, limit, others)


def _combinations(grid: Mapping[str, Sequence]) -> list[dict]:
    for name, values in grid.items():
        if isinstance(values, str) or not np.iterable(values):
            raise TypeError(f"the grid's {name!r} must be a list of values, not {values!r}.")
    combinations = [dict(zip(grid, values)) for values in itertools.product(*grid.values())]
    if not grid or not combinations:
        raise ValueError(f"the grid {dict(grid)} is empty: it must name a parameter, and for each"
                         " a value to try.")
    return combinations


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
        expected = np.asarray(result)
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


def _search(generate: Callable, combinations: list[dict], cases: list[Case],
            simulated: bool) -> list[Variant]:
    """All variants, each with its result or with what it failed at."""
    variants = [_generated(generate, parameters) for parameters in combinations]
    texts = [variant.generated for variant in variants if variant.generated]
    (simulator.compile_ahead if simulated else compile_ahead)(texts)
    gpu = None if simulated or not texts else Gpu(cases)
    tuned: dict[int, Tuned] = {}
    for k, variant in enumerate(variants):
        if variant.generated:
            try:
                variants[k], tuned[k] = _tried(variant, cases, gpu)
            except Failure as why:
                variants[k] = replace(variant, state=why.state, note=str(why))
    if gpu is not None:
        _finals(gpu, variants, tuned)
    return variants


def _generated(generate: Callable, parameters: dict) -> Variant:
    """The variant with its text, or with what went wrong while it was generated."""
    variant = Variant(parameters, "generate")
    try:
        made = generate(**parameters)
    except Exception as error:
        return replace(variant, note=f"{type(error).__name__}: {error}")
    if not isinstance(made, Generated):
        raise TypeError(f"generate({variant.name}) returned {type(made).__name__}; it must"
                        " return a helpers.Generated.")
    return replace(variant, generated=made)


def _tried(variant: Variant, cases: list[Case], gpu: Gpu | None) -> tuple[Variant, Tuned]:
    """The variant with its time or its counters, and its compiled kernel."""
    tuned = compiled(variant.generated)
    if gpu is None:
        return replace(variant, state="ok", counts=simulator.run(variant.generated, cases)), tuned
    simulator.run(variant.generated, cases[:-1])
    gpu.check(tuned)
    timing = Timing.of(variant.name, gpu.samples(tuned))
    return replace(variant, state="ok", timing=timing), tuned


def _finals(gpu: Gpu, variants: list[Variant], tuned: dict[int, Tuned]) -> None:
    """Measure in turns all that are nearly as fast as the fastest.

    These figures replace the first ones, which were taken at different times.
    """
    times = {k: v.timing.median for k, v in enumerate(variants) if v.state == "ok"}
    close = [k for k in times if times[k] <= CLOSE * min(times.values())]
    if len(close) > 1:
        samples = gpu.finals([tuned[k] for k in close])
        for k, taken in zip(close, samples):
            variants[k] = replace(variants[k], timing=Timing.of(variants[k].name, taken))
