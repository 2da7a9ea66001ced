"""The tasks about debugging: patients of the clinic, which are kernels with one fault each."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .clinic import KINDS, PATIENTS, Patient
from .machinery.kernel_task import explained, wrong_declaration
from .machinery.task import (
    COMMENT,
    Case,
    Mistake,
    Refusal,
    Task,
    Verdict,
    describe_value,
    difference,
    replaced,
    require_tuple,
)


class _Source(str):
    """A source that a verdict's sentence shows as three dots."""

    def __repr__(self) -> str:
        return "..."


class Repair(NamedTuple):
    """An answer: a diagnosis and the repaired source, which a call returns."""

    kind: str
    line: int
    thread: int
    code: str

    def __call__(self, source: str) -> tuple:
        return tuple(self)

    def replaced(self, *texts: str, times: int = 1) -> Repair:
        """The same diagnosis with texts replaced in the source; see `task.replaced`."""
        return self._replace(code=replaced(self.code, *texts, times=times))


class RepairTask(Task):
    """A patient of the clinic: the answer is a diagnosis and a repaired source."""

    repeatable = True

    def judge(self, answer: object) -> Verdict:
        """As a Task does, in other words where the answer is right."""
        verdict = super().judge(answer)
        text = verdict.text.removeprefix("for source=...: ")
        return replace(verdict, text="diagnosed and repaired" if verdict.state == "ok" else text)


def _patient(name: str, mistakes: Sequence[Mistake],
             also: Callable[[object], str | None] = lambda code: None) -> RepairTask:
    """The task of one patient. Its mistakes replace texts in the broken source.

    `also` refuses repairs for a reason of their own.
    """
    patient = PATIENTS[name]
    diagnosis = patient.kind, patient.lines[0], patient.threads[0]

    def read(value: object, case: Case) -> str:
        _diagnosed(patient, value)
        if sentence := also(value[3]) or _unrepaired(patient, value[3]):
            raise Refusal(f"the diagnosis is right, but {sentence}")
        return "repaired"

    return RepairTask(name, lambda source: "repaired", lambda: [(_Source(patient.source),)],
                      read=read, mistakes=mistakes, right=Repair(*diagnosis, patient.source))


def _diagnosed(patient: Patient, value: object) -> None:
    """Refuse another kind, line or thread than the patient's."""
    kind, line, thread, _ = require_tuple(value, "kind", "line", "thread", "repaired source")
    if isinstance(kind, str):
        kind = kind.lower().replace("uninitialized", "uninitialised")
    if kind not in KINDS:
        raise Refusal(f"the kind must be one of {', '.join(map(repr, KINDS))}, not {kind!r}.")
    if kind != patient.kind:
        raise Refusal(f"the kind of fault is not {kind!r}.")
    if not isinstance(line, (int, np.integer)):
        raise Refusal(f"the line must be a number, not {line!r}.")
    if line not in patient.lines:
        raise Refusal(f"the fault is not in line {line!r}.")
    if isinstance(thread, tuple) and thread:
        thread = thread[0]
    if not isinstance(thread, (int, np.integer)) or thread not in patient.threads:
        raise Refusal(f"kind and line are right, but the thread with threadIdx.x = {thread!r} is"
                      " not at fault.")


def _unrepaired(patient: Patient, code: object) -> str | None:
    """A sentence on a source that is no repair."""
    from nogpu import engine

    if not isinstance(code, str):
        return f"the repaired source must be a str, not {describe_value(code)}."
    if code == patient.source:
        return "the repaired source is the broken one. Did `replace` find the text to replace?"
    declared = re.search(rf"\b{patient.name}\s*\(([^)]*)\)", patient.source).group(1)
    if sentence := wrong_declaration(code, patient.name, declared):
        return sentence
    for seed in 7, 8:
        try:
            report = patient.examine(code, seed, counters=False)
        except engine.CompileError as error:
            return f"the repaired source is at fault: {explained(error, patient.name)}"
        if report.fault is not None:
            return f"the repaired kernel is at fault: {explained(report.fault, patient.name)}"
        got = list(report.arrays.values())[patient.arguments(seed)[1]]
        if sentence := difference(patient.expected(seed), got, 1e-6):
            return f"not the result of the repaired kernel: {sentence}"
    return None


def _unset(code: object) -> str | None:
    """A sentence on a variable that only some lanes set.

    The simulator checks memory and no registers. Such a variable may hold the right value there.
    """
    code = COMMENT.sub(" ", str(code))
    unset = re.search(r"\bfloat\s+(\w+)\s*;", code)
    if unset is None or "else" in code:
        return None
    first = re.search(rf"([^;{{}}]*)\b{unset.group(1)}\s*=", code[unset.end():])
    if not first or not re.search(r"\bif\b", first.group(1)):
        return None
    return (f"in the repaired kernel lanes without an element add a `{unset.group(1)}` that was"
            " never set.")


overlap_add = _patient("overlap_add", [
    ("a barrier, which orders the threads of one block: these are threads of several",
     "    y[k", "    __syncthreads();\n    y[k"),
    ("an assignment: what the other frames added is lost",
     "y[k * hop + j] += value", "y[k * hop + j] = value"),
    ("an atomicAdd with a plain read of y: adding twice what is there",
     "y[k * hop + j] += value", "atomicAdd(&y[k * hop + j], value + value)"),
])
barrier_in_a_branch = _patient("barrier_in_a_branch", [
    ("a repair without any barrier: one is needed, outside the branch",
     "            __syncthreads();\n", ""),
    ("the barrier in both branches: two barriers in the source are two different ones",
     "            __syncthreads();\n        }",
     "            __syncthreads();\n        } else __syncthreads();"),
    ("a step too few: the last one adds tile[1] to tile[0]",
     "step > 0", "step > 1",
     "            __syncthreads();\n        }", "        }\n        __syncthreads();"),
])
half_a_tile = _patient("half_a_tile", [
    ("zeros for what is missing: among negative numbers 0 is the largest",
     "    if (i < n) {\n        tile[t] = x[i];\n    }", "    tile[t] = i < n ? x[i] : 0;"),
    ("no guard: the last threads read beyond the end of x", "if (i < n) {", "{"),
    ("an early return: who returns leaves a place of the tile unwritten",
     "    if (i < n) {\n        tile[t] = x[i];\n    }",
     "    if (i >= n) return;\n    tile[t] = x[i];"),
])
one_barrier_too_few = _patient("one_barrier_too_few", [
    ("the barrier moved: both are needed, one before the tile is read and one after",
     "        __syncthreads();\n        sum += tile[63 - t];",
     "        sum += tile[63 - t];\n        __syncthreads();"),
    ("__syncwarp, which orders 32 threads only: the tile is filled by two warps",
     "sum += tile[63 - t];", "sum += tile[63 - t];\n        __syncwarp();"),
    ("no barrier between a round's reads and the next round's writes; behind the loop it is too"
     " late",
     "    y[t] = sum;", "    __syncthreads();\n    y[t] = sum;"),
])
edge_of_the_tile = _patient("edge_of_the_tile", [
    ("a longer tile whose last place is never written: it is read all the same",
     "tile[64]", "tile[65]"),
    ("0 in place of the next block's element",
     "tile[t] + tile[t + 1]", "tile[t] + (t < 63 ? tile[t + 1] : 0)"),
    ("x[i + 1] without a guard of its own, which reads beyond the end of x",
     "tile[t] + tile[t + 1]", "tile[t] + (t < 63 ? tile[t + 1] : x[i + 1])"),
])
absent_lanes = _patient("absent_lanes", [
    ("a guard taken away, so that the last lanes read beyond the end of x", "if (lane < n) {", "{"),
    ("a shorter mask with all the steps: lanes take values from lanes outside the mask",
     "0xffffffffu", "(1u << n) - 1"),
    ("a barrier put into the branch: the lanes outside it never reach it",
     "float v = x[lane];", "float v = x[lane];\n        __syncwarp();"),
], also=_unset)
