"""The search: generate, compile, check, measure, remember."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..timing import (
    Comparison,
    Timing,
    _cupy,
    _is_simulator,
    _machine,
    _record,
    ceiling,
    recorded_runs,
)
from .device import FINALISTS, Case, Gpu, Refused, compiled, in_simulator, summary
from .result import Tuning, Variant, label
from .store import FORMAT, Memory, digest
from .variant import LIBRARIES, Generated, compile_ahead, versions

CLOSE = 1.15  # a variant within this factor of the fastest may be the fastest


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
    out: int | Sequence[int] | None = None,
    checks: Sequence[Sequence] = (),
    where: Callable[..., bool] | None = None,
    library: str = "pycuda",
    nbytes: float = 0,
    flops: float = 0,
    rtol: float | None = None,
    atol: float = 0.0,
    title: str | None = None,
    key: str | None = None,
    remember: bool = True,
    rehearse: bool = False,
    time_limit: float = 10.0,
) -> Tuning:
    """Try all variants of a kernel and find the best of those that are right.

    Each is generated, compiled, checked against the specification, and only then measured. A
    variant that fails at any of it is out, with the reason in the table.

    Parameters
    ----------
    generate : callable
        `generate(**parameters)` returns a `Generated`: the kernel's text and its launch.
    grid : mapping of str to sequence
        For each parameter the values to try, all combinations of them.
    spec : callable
        The same in NumPy: `spec(*inputs)` returns what the array `out` must hold after the launch
        (a tuple for several). It gets copies.
    inputs : sequence
        The kernel's arguments: NumPy arrays, which are copied to the device afresh for every
        launch, and NumPy scalars such as `np.int32(7)`.
    out : int or sequence of int, optional
        Which arguments hold the result; may be left out where only one is an array.
    checks : sequence of sequences, optional
        Further arguments to check with, not to measure: sizes that are no multiple of a block.
    where : callable, optional
        `where(**parameters)` says which combinations are worth generating.
    library : {"pycuda", "cupy"}
        Who compiles and launches: SourceModule or RawKernel.
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
    remember : bool
        Whether to use what an earlier run found out on this device; False measures again.
        Results are kept on disk in any case.
    rehearse : bool
        On a GPU, run each variant on the `checks` (on the inputs, where there are none) in the
        simulator first: a faulty one is then found without harm.
    time_limit : float
        Seconds that a launch may take.

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
    other data in the caches. Each variant is measured seven times after its check. Then the
    fastest (six at a time, within 15 percent) are measured in turns, 21 times each, and the medians
    of these decide: a clock that changes meanwhile changes all of them. Where one that was not
    among them now has the least median, it and its like are measured so as well. A launch of less
    than some 10 us shows mostly what a launch costs. A kernel that touches memory that is not its
    own ends the CUDA context, and with it the search; what was measured is on disk, and the next
    search (in a new process) goes on behind that variant.

    *On the simulator* there are no times to compare: variants are ranked by the counters of one
    launch, by the first of these in which they differ: sectors of global memory, wavefronts of
    shared memory, requests to global memory, barriers. Two that ask the same of memory share a
    rank there, and may differ on a GPU.

    What was found is kept for each variant under its text and launch, the device, the versions of
    compiler and libraries, and the content of inputs and expected results; in the folder
    `strides-to-streams/tune` of the user's cache folder. `Tuning.forget()` deletes this search's,
    `forget()` (`from helpers.tune import forget`) all.
    """
    if library not in LIBRARIES:
        raise ValueError(f'library={library!r}: it must be "pycuda" or "cupy".')
    combinations = list(_combinations(grid, where))
    cases = _cases(spec, inputs, checks, out, rtol, atol)
    simulated = _is_simulator(_cupy())
    about = versions(library)
    asked = [part for case in cases
             for part in (*case.args, list(case.expected), *case.expected.values())]
    recording = bool(key and os.environ.get("COURSE_RECORD_RUNS"))
    kept = Memory(digest(FORMAT, about, *asked, rtol, atol), about,
                  fresh=recording or not remember)
    with _Progress(len(combinations)) as progress:
        search = _Search(generate, library, cases, kept, progress, rehearse, time_limit)
        variants, stopped = search.run(combinations, simulated)
    names = {v.generated.name for v in variants if v.generated}
    machine = "The course's simulator" if simulated else f"This machine: {about[1]}"
    tuning = Tuning(title or (names.pop() if len(names) == 1 else "Tuning"), tuple(variants),
                    simulated, library, machine, nbytes, flops, stopped=stopped, _memory=kept)
    if not tuning.ranked:
        raise TuningFailed(_all_failed(tuning), tuning)
    return _with_yardsticks(tuning, key)


def _with_yardsticks(tuning: Tuning, key: str | None) -> Tuning:
    """The same beside what the device can do, and beside recorded runs."""
    gpu = not tuning.simulated and not tuning.stopped  # one that has failed measures nothing
    if gpu and (key or tuning.nbytes or tuning.flops):
        limit = ceiling("gpu")
        rows = tuple(replace(v.timing, name=v.name, nbytes=tuning.nbytes, flops=tuning.flops)
                     for v in tuning.ranked)
        run = Comparison(tuning.title, f"This machine: {limit.name}", limit, rows)
        if key and (path := os.environ.get("COURSE_RECORD_RUNS")):
            _record(Path(path), key, run, "gpu")
        if tuning.nbytes or tuning.flops:
            tuning = replace(tuning, ceiling=limit)
    if key:
        here = "" if tuning.simulated else _machine()
        tuning = replace(tuning, recorded=recorded_runs(key, but=here))
    return tuning


def _all_failed(tuning: Tuning) -> str:
    lines = tuning._failures()
    return (f"none of the {len(tuning.variants)} variants of {tuning.title} gave right results.\n"
            + "\n".join(lines))


def _combinations(grid: Mapping[str, Sequence], where: Callable | None) -> Iterator[dict]:
    if not isinstance(grid, Mapping):
        raise TypeError(f"the grid must be a dict of lists, not {type(grid).__name__}.")
    if not grid:
        raise ValueError("the grid is empty: it names no parameter.")
    for name, values in grid.items():
        listed = isinstance(values, (Sequence, np.ndarray)) and not isinstance(values, (str, bytes))
        if not listed:
            raise TypeError(f"the grid's {name!r} must be a list of values, not {values!r}.")
        if not len(values):
            raise ValueError(f"the grid is empty: {name!r} has no value to try.")
    found = 0
    for values in itertools.product(*grid.values()):
        parameters = dict(zip(grid, (v.item() if isinstance(v, np.generic) else v for v in values)))
        if where is None or where(**parameters):
            found += 1
            yield parameters
    if not found:
        raise ValueError("the grid is empty: where() refuses all of its combinations.")


def _cases(spec: Callable, inputs: Sequence, checks: Sequence[Sequence],
           out: int | Sequence[int] | None, rtol: float | None, atol: float) -> list[Case]:
    """The checks, then the inputs themselves."""
    names = [*(f"checks[{k}]" for k in range(len(checks))), "inputs"]
    cases = []
    for name, given in zip(names, (*checks, inputs)):
        args = tuple(_argument(value, f"{name}[{k}]") for k, value in enumerate(given))
        places = _places(args, out, name)
        result = spec(*(arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args))
        results = result if isinstance(result, tuple) else (result,)
        if result is None or len(results) != len(places):
            got = "None" if result is None else f"{len(results)} results"
            raise TypeError(f"the specification returned {got}; it must return what"
                            f" {' and '.join(f'argument {p}' for p in places)} must hold.")
        expected = {}
        for place, wanted in zip(places, results):
            wanted = np.asarray(wanted.get() if hasattr(wanted, "get") else wanted)
            if wanted.shape != args[place].shape:
                raise ValueError(f"the specification returned an array of shape {wanted.shape} for"
                                 f" {name}; argument {place} has {args[place].shape}.")
            expected[place] = wanted
        cases.append(Case(args, expected, rtol, atol, "" if name == "inputs" else name))
    return cases


def _argument(value: object, name: str) -> object:
    if hasattr(value, "__cuda_array_interface__") and hasattr(value, "get"):
        value = value.get()
    if isinstance(value, np.ndarray) and value.ndim:
        if not value.flags.c_contiguous:
            raise ValueError(f"{name} is not contiguous: a kernel gets its memory, not its strides."
                             " Give np.ascontiguousarray of it.")
        return value
    if isinstance(value, (np.generic, np.ndarray)):
        return value[()]
    raise TypeError(f"{name} is a {type(value).__name__}: kernels take arrays and NumPy scalars,"
                    " such as np.int32(7) or np.float32(0.5).")


def _places(args: tuple, out: int | Sequence[int] | None, name: str) -> list[int]:
    arrays = [k for k, arg in enumerate(args) if isinstance(arg, np.ndarray)]
    if out is None:
        if len(arrays) != 1:
            raise TypeError(f"{name} has {len(arrays)} arrays: say with out= which argument holds"
                            " the result, counted from 0.")
        return arrays
    places = [out] if isinstance(out, int) else list(out)
    for place in places:
        if place not in arrays:
            raise ValueError(f"out={place}: the arrays in {name} are at {arrays}.")
    return places


class _Search:
    """Goes through the variants once."""

    def __init__(self, generate: Callable, library: str, cases: list[Case], kept: Memory,
                 progress: _Progress, rehearse: bool, time_limit: float) -> None:
        self._generate, self._library, self._cases, self._kept = generate, library, cases, kept
        self._progress, self._rehearse, self._time_limit = progress, rehearse, time_limit

    def run(self, combinations: list[dict], simulated: bool) -> tuple[list[Variant], str]:
        """The variants, and why the search ended early, if it did."""
        texts = [self._text(parameters) for parameters in combinations]
        names = [digest(label(parameters), generated.source, generated.name, generated.options,
                        generated.shared, self._shapes(generated))
                 if isinstance(generated, Generated) else None
                 for parameters, generated in zip(combinations, texts)]
        new = [name is not None and not self._is_known(name) for name in names]
        if any(new):
            self._progress(f"compiling {sum(new)} variants")
            compile_ahead([text for text, is_new in zip(texts, new) if is_new], self._library)
        gpu = None
        if any(new) and not simulated:
            gpu = Gpu(self._cases, self._time_limit)
        found: list[dict] = []
        tuned, stopped = {}, ""
        for k, (parameters, generated, name) in enumerate(zip(combinations, texts, names)):
            self._progress(f"{k + 1} of {len(combinations)}: {label(parameters)}")
            if isinstance(generated, Refused):
                found.append({"state": generated.state, "note": str(generated)})
            elif not new[k]:
                found.append({**self._kept.get(name), "remembered": True})
            elif stopped:
                found.append({"state": "untried"})
            else:
                try:
                    entry, tuned[k] = self._try(generated, gpu)
                except Refused as why:
                    entry = {"state": why.state, "note": str(why), "limit": self._time_limit}
                    if why.fatal:
                        stopped = _last_words(label(parameters))
                self._kept.put(name, entry)
                found.append(entry)
        if gpu is not None and not stopped:
            try:
                self._finals(gpu, found, texts, names, tuned)
            except Refused as why:
                stopped = _last_words("one of the fastest") if why.fatal else ""
        return [_variant(parameters, entry, generated) for parameters, entry, generated
                in zip(combinations, found, texts)], stopped

    def _is_known(self, name: str) -> bool:
        """Whether nothing new would come of trying it: a launch may have more time now."""
        entry = self._kept.get(name)
        if entry is None:
            return False
        return entry["state"] != "endless" or entry.get("limit", 0) >= self._time_limit

    def _text(self, parameters: dict) -> Generated | Refused:
        try:
            generated = self._generate(**parameters)
        except Exception as error:
            text = error.args[0] if isinstance(error, KeyError) and error.args else error
            return Refused("generate", f"{type(error).__name__}: {text}")
        if not isinstance(generated, Generated):
            raise TypeError(f"generate({label(parameters)}) returned"
                            f" {type(generated).__name__}; it must return helpers.Generated("
                            "source, name, block=, grid=).")
        return generated

    def _shapes(self, generated: Generated) -> object:
        """The launches, as far as they can be told; what is wrong with them shows later."""
        try:
            return [generated.launch_shape(case.args) for case in self._cases]
        except Exception as error:
            return repr(error)

    def _try(self, generated: Generated, gpu: Gpu | None) -> tuple[dict, object]:
        tuned = compiled(generated, self._library)
        if gpu is None:
            counts = in_simulator(generated, self._library, self._cases, self._time_limit)
            return {"state": "ok", "counts": counts}, tuned
        if self._rehearse:
            rehearsed = self._cases[:-1] or self._cases
            in_simulator(generated, self._library, rehearsed, self._time_limit)
        gpu.check(tuned)
        return {"state": "ok", **summary(gpu.samples(tuned))}, tuned

    def _finals(self, gpu: Gpu, found: list[dict], texts: list, names: list, tuned: dict) -> None:
        """Measure the fastest in turns until the best of all has been among them.

        Remembered ones, too; these figures replace the first, of which noise may have had a share.
        """
        right = [k for k, entry in enumerate(found) if entry["state"] == "ok"]
        measured: set[int] = set()
        while len(right) > 1:
            right.sort(key=lambda k: found[k]["median"])
            if right[0] in measured:
                return
            limit = CLOSE * found[right[0]]["median"]
            close = [k for k in right if k not in measured and found[k]["median"] <= limit]
            close = close[:FINALISTS]
            close += [k for k in right if k in measured][:1]  # the best so far, to compare with
            for k in close:
                if k not in tuned:
                    tuned[k] = compiled(texts[k], self._library)
            samples = gpu.finals([tuned[k] for k in close], self._progress)
            for k, taken in zip(close, samples):
                entry = {"state": "ok", **summary(taken)}
                self._kept.put(names[k], entry)
                found[k] = {**entry, "remembered": found[k].get("remembered", False)}
            measured.update(close)


def _last_words(who: str) -> str:
    return (f"The search ended at {who}: after such a fault CUDA refuses all further work in this"
            " process. What was measured is kept. Restart the notebook's kernel and run this again:"
            " it goes on behind that variant. rehearse=True finds such variants in the simulator,"
            " without harm.")


def _variant(parameters: dict, entry: dict, generated: object) -> Variant:
    timing = None
    if "median" in entry:
        timing = Timing(label(parameters), entry["median"], entry["low"], entry["high"],
                        entry["samples"])
    return Variant(parameters, entry["state"], entry.get("note", ""), timing, entry.get("counts"),
                   entry.get("remembered", False),
                   generated if isinstance(generated, Generated) else None)


class _Progress:
    """One line that says how far the search is, gone when it has ended.

    Only where somebody watches: in a terminal and in a notebook, not under a test or in a
    recording, whose text must be the same each time.
    """

    def __init__(self, count: int) -> None:
        watched = sys.stdout.isatty() or type(sys.stdout).__name__ == "OutStream"
        automatic = {"PYTEST_VERSION", "PYTEST_CURRENT_TEST", "COURSE_QUIET"} & set(os.environ)
        self._on, self._width = watched and not automatic and count > 1, 0

    def __call__(self, text: str) -> None:
        if self._on:
            print("\r" + text.ljust(self._width), end="", flush=True)
            self._width = max(self._width, len(text))

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *exception: object) -> None:
        self("")
        if self._on:
            print("\r", end="", flush=True)


