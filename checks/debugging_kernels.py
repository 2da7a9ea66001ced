"""The tasks about debugging: patients of the clinic, which are kernels with one fault each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .clinic import KINDS, PATIENTS, Patient
from .machinery.kernel_task import declared_kernels, explained, wrong_declaration
from .machinery.task import (
    Case,
    ExperimentTask,
    Refusal,
    Task,
    Verdict,
    describe_value,
    difference,
    replaced,
    require_tuple,
)

# the lesson's first warm-up: what each suspect predicts for three experiments

outcomes = Task(
    "outcomes", lambda suspect: {"index": ("same",) * 3, "tile": ("differ",) * 3,
                                 "blocks": ("differ", "right", "right")}[suspect],
    lambda: [("index",), ("tile",), ("blocks",)], mistakes=[
        ("a new array for `tile`: that suspect is about the shared tile, not about the output",
         lambda suspect: ("same",) * 3 if suspect == "index" else ("differ", "right", "right")),
        ("a race for `index`: a wrong index is wrong in the same way each time",
         lambda suspect: ("differ", *["right" if suspect == "blocks" else "differ"] * 2)),
    ],
)


class _Source(str):
    """A source that a verdict's sentence shows as three dots."""

    def __repr__(self) -> str:
        return "..."


class Repair(NamedTuple):
    """An answer: a diagnosis and the repaired source, which a call returns."""

    kind: str
    line: int
    threads: tuple
    code: str

    def __call__(self, source: str) -> tuple:
        return tuple(self)

    def replaced(self, *texts: str, times: int = 1) -> Repair:
        """The same diagnosis with texts replaced in the source; see `task.replaced`."""
        return self._replace(code=replaced(self.code, *texts, times=times))


class PatientTask(Task):
    """A patient of the clinic: the answer is a diagnosis, mostly with a repaired source."""

    repeatable = True

    def judge(self, answer: object) -> Verdict:
        """As a Task does, in other words."""
        verdict = super().judge(answer)
        text = verdict.text.removeprefix("for source=...: ")
        return replace(verdict, text="right" if verdict.state == "ok" else text)


def _diagnosis(name: str, *mistakes: tuple[str, tuple]) -> PatientTask:
    """The task of a patient that is diagnosed only. Mistakes: a sentence and a diagnosis."""
    def read(value: object, case: Case) -> str:
        _diagnosed(PATIENTS[name], *require_tuple(value, "kind", "line", "threads"))
        return "diagnosed"

    return PatientTask(name, lambda n: "diagnosed", lambda: [(1000,)], read=read, mistakes=[
        (sentence, lambda n, wrong=wrong: wrong) for sentence, wrong in mistakes])


def _patient(name: str, threads: tuple, *mistakes: tuple) -> PatientTask:
    """The task of a patient that is repaired, too. Its mistakes replace texts in the source."""
    patient = PATIENTS[name]

    def read(value: object, case: Case) -> str:
        *diagnosis, code = require_tuple(value, "kind", "line", "threads", "repaired source")
        _diagnosed(patient, *diagnosis)
        if sentence := _unrepaired(patient, code):
            raise Refusal(f"the diagnosis is right, but {sentence}")
        return "repaired"

    return PatientTask(name, lambda source: "repaired", lambda: [(_Source(patient.source),)],
                       read=read, mistakes=mistakes,
                       right=Repair(patient.kind, patient.lines[0], threads, patient.source))


def _diagnosed(patient: Patient, kind: object, line: object, threads: object) -> None:
    """Refuse another kind, line or thread than the patient's."""
    if isinstance(kind, str):
        kind = kind.lower().replace("uninitialized", "uninitialised")
    if kind not in KINDS:
        raise Refusal(f"the kind must be one of {', '.join(map(repr, KINDS))}, not {kind!r}.")
    if kind != patient.kind:
        raise Refusal(f"the kind of fault is not {kind!r}.")
    if line not in patient.lines:
        raise Refusal(f"the fault is not in line {line!r}.")
    try:
        found = np.array(threads, dtype=int)
    except (TypeError, ValueError):
        found = np.zeros(0)
    two = kind in ("race", "barrier")
    if found.shape != ((2, 2) if two else (2,)):
        raise Refusal(f"kind and line are right, but this kind of fault takes {1 + two} pair(s)"
                      f" (blockIdx.x, threadIdx.x), not {threads!r}.")
    launched = (found >= 0).all() and (found < (patient.grid, patient.block)).all()
    if not launched or not patient.threads(*sorted(map(tuple, found.reshape(-1, 2).tolist()))):
        raise Refusal(f"kind and line are right, but not the threads {threads!r}.")


def _unrepaired(patient: Patient, code: object) -> str | None:
    """A sentence on a source that is no repair."""
    from nogpu import engine

    if not isinstance(code, str):
        return f"the repaired source must be a str, not {describe_value(code)}."
    if code == patient.source:
        return "the repaired source is the broken one. Did `replace` find the text to replace?"
    declared = declared_kernels(patient.source)[patient.name]
    if sentence := wrong_declaration(code, patient.name, declared):
        return sentence
    for seed in range(7, 12):
        try:
            report = patient.examine(code, seed, counters=False)
        except engine.CompileError as error:
            return f"the repaired source is at fault: {explained(error, patient.name)}"
        if report.fault is not None:
            return f"the repaired kernel is at fault: {explained(report.fault, patient.name)}"
        arguments, output = patient.arguments(seed)
        got = list(report.arrays.values())
        if sentence := difference(patient.expected(seed), got[output], 1e-6):
            return f"not the result of the repaired kernel: {sentence}"
        if not np.array_equal(got[0], arguments[0]):
            return "the repaired kernel changes its input."
    return None


# the lesson's other warm-ups

squares = _diagnosis(
    "squares",
    ("a thread that the guard stops: `i <= n` holds up to i = 1000",
     ("out of bounds", 5, (3, 233))),
    ("elements counted from 1: x[999] is the last one", ("out of bounds", 5, (3, 231))),
)
reverse_all = _diagnosis(
    "reverse_all",
    ("two threads with an element: these wait at the same barrier, that of line 8",
     ("barrier", 8, ((15, 0), (15, 39)))),
    ("a block in which all threads have an element", ("barrier", 8, ((0, 32), (0, 40)))),
)

# the exercises

overlap_add = _patient(
    "overlap_add", ((0, 16), (1, 0)),
    ("a barrier, which orders the threads of one block: these are threads of several",
     "    y[k", "    __syncthreads();\n    y[k"),
    ("an assignment: what the other frames added is lost",
     "y[k * hop + j] += value", "y[k * hop + j] = value"),
    ("an atomicAdd with a plain read of y: adding twice what is there",
     "y[k * hop + j] += value", "atomicAdd(&y[k * hop + j], value + value)"),
)
sum_tree = _patient(
    "sum_tree", ((0, 0), (0, 32)),
    ("a repair without any barrier: one is needed, outside the branch",
     "            __syncthreads();\n", ""),
    ("the barrier in both branches: two barriers in the source are two different ones",
     "            __syncthreads();\n        }",
     "            __syncthreads();\n        } else __syncthreads();"),
    ("a step too few: the last one adds tile[1] to tile[0]",
     "step > 0", "step > 1",
     "            __syncthreads();\n        }", "        }\n        __syncthreads();"),
)
block_maxima = _patient(
    "block_maxima", (15, 8),
    ("zeros for what is missing: among negative numbers 0 is the largest",
     "    if (i < n) {\n        tile[t] = x[i];\n    }", "    tile[t] = i < n ? x[i] : 0;"),
    ("no guard: the last threads read beyond the end of x", "if (i < n) {", "{"),
    ("an early return: who returns leaves a place of the tile unwritten",
     "    if (i < n) {\n        tile[t] = x[i];\n    }",
     "    if (i >= n) return;\n    tile[t] = x[i];"),
)


def _experiments(answer: Callable, guilty: str, luck: int) -> object:
    """What an answer names; of five equal runs, a race shows in one, for each n in another."""
    runs = Counter()

    def wrong(n: int, block: int, new: bool) -> bool:
        if n < 1 or block not in (32, 64, 128, 256, 512, 1024):
            raise Refusal(f"it calls wrong({n!r}, {block!r}, {new!r}): see the task's limits.")
        if runs.total() == 10:
            raise Refusal("it needs more than 10 runs.", "runs")
        runs[n, block, bool(new)] += 1
        shown = (runs[n, block, bool(new)] + luck + n // 64 - 1) % 5 == 0
        return bool({"guard": n % block, "index": n > block, "tile": shown and min(n, block) > 32,
                     "blocks": shown and n > block and not new}[guilty])

    return answer(wrong)


def _hunt(wrong: Callable, runs: int = 5, n: int = 31, new: bool = True) -> str:
    return ("guard" if wrong(n, 32, new) else "index" if wrong(64, 32, new) else
            "tile" if any(wrong(64, 64, new) for _ in range(runs)) else "blocks")


suspect = ExperimentTask(
    "suspect", lambda guilty, luck: guilty,
    lambda: [(name, k) for k in (0, 4, 2) for name in ("guard", "index", "tile", "blocks")],
    run=_experiments, signature=lambda wrong: "", right=_hunt, mistakes=[
        ("one run for each experiment: a race can be right by luck", {"runs": 1}),
        ("an experiment in which several suspects predict the same", {"n": 33}),
        ("an old array with several blocks, where two suspects remain", {"new": False}),
    ])

# the whole hunt: `_peaks` gives rows, 1 to 300 numbers long, each with its largest anywhere

def _peaks(rng: np.random.Generator) -> tuple[list, int]:
    x = rng.normal(-9, size=(120, (2, 1, 50, 96, 97, 250, 3, 300)[rng.integers(8)]))
    x[range(120), rng.integers(x.shape[1], size=120)] = -rng.random(120, np.float32)
    return [np.float32(x), np.zeros(120, np.float32), np.int32(x.shape[1])], 1


BRIGHTEST = Patient("brightest", "", (), lambda: False, _peaks, lambda x, y, n: x.max(axis=1),
                    120, 96)


def _hunted(value: object, case: Case) -> str:
    places, row, code = require_tuple(value, "number", "row", "repaired source")
    if places != 32:
        raise Refusal(f"the number of places that lose the largest number is not {places!r}.")
    try:
        row = np.array(row, dtype=np.float32)
    except (TypeError, ValueError):
        row = np.zeros(0)
    if row.ndim != 1 or not row.size or not np.isfinite(row).all():
        raise Refusal("the number is right, but the row is no list of numbers.")
    if row.max() == row[np.arange(row.size) % 3 < 2].max():  # places 2, 5, 8, ... are lost
        raise Refusal("the number is right, but for this row the result is right, too.")
    if row.size > 3:
        raise Refusal("number and row are right, but there is a shorter row.")
    if sentence := _unrepaired(BRIGHTEST, code):
        raise Refusal(f"number and row are right, but {sentence}")
    return "hunted"


def _found(places: int = 32, *texts: str) -> Callable:
    return lambda source: (places, (0, 0, 1), replaced(BRIGHTEST.source, *texts))


hunt = PatientTask(
    "hunt", lambda source: "hunted", lambda: [(_Source(BRIGHTEST.source),)], read=_hunted,
    mistakes=[
        ("the places that are right: the question is how many lose the largest", _found(64)),
        ("a first step of 32: the places from 64 on are lost",
         _found(32, "step = 48", "step = 32")),
        ("a first step of 64, where some threads have no partner in the tile",
         _found(32, "step = 48", "step = 64")),
    ])
with_next = _patient(
    "with_next", (0, 63),
    ("a longer tile whose last place is never written: it is read all the same",
     "tile[64]", "tile[65]"),
    ("0 in place of the next block's element",
     "tile[t] + tile[t + 1]", "tile[t] + (t < 63 ? tile[t + 1] : 0)"),
    ("x[i + 1] without a guard of its own, which reads beyond the end of x",
     "tile[t] + tile[t + 1]", "tile[t] + (t < 63 ? tile[t + 1] : x[i + 1])"),
)
