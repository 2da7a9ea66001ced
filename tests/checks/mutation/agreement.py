"""Whether a mutant can be told from its solution: both get thousands of random inputs.

`tests/checks/answers/<lesson>.py` may name a function for a task in `INPUTS`: it takes a generator
of random numbers and returns one input of the task's kind, of any size. Of other tasks the cases
are made again with other seeds.
"""

from __future__ import annotations

import copy
import functools
import importlib
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np

from checks.machinery import kernel_task
from checks.machinery.kernel_task import KernelTask
from checks.machinery.task import Case, Outcome, Task, _snapshot, difference

from .judging import _quick, answers_of, cell_of, solutions_of, tasks_of

INPUTS = 10_000
# Each source has to be compiled, and a patient of the clinic is the only input of its task. Where
# there are so few inputs, a survivor's reason has to prove that it is equivalent.
FEWER = {"SourceTask": 100, "PatientTask": 1}


def least_inputs(lesson: str, name: str) -> int:
    """On how many random inputs a survivor of a task must agree with the solution."""
    return FEWER.get(type(tasks_of(lesson)[name]).__name__, INPUTS)


def inputs_of(lesson: str, task: Task, count: int) -> Iterator[Case]:
    """`count` random inputs of a task."""
    make: Callable | None = getattr(answers_of(lesson), "INPUTS", {}).get(task.name)
    if make:
        for seed in range(count):
            yield make(np.random.default_rng([seed, 2026]))
        return
    made, seed, original = 0, 0, np.random.default_rng
    while made < count:
        seed += 1
        try:
            np.random.default_rng = lambda own=0, shift=seed: original([shift, 2026, own or 0])
            cases = list(task.cases())
        finally:
            np.random.default_rng = original
        yield from cases[:count - made]
        made += len(cases)


def agrees(lesson: str, name: str, source: str, count: int = INPUTS) -> tuple[int, str]:
    """On how many inputs a mutant gives what the solution gives, up to the first other one.

    Returns the number, and what was different then. Both must raise errors of one type, or return
    values that the task's own comparison calls equal, and leave the same in the arguments.
    """
    task, functions = _quick(tasks_of(lesson)[name]), []
    namespace = vars(answers_of(lesson)) | solutions_of(lesson)
    checks, launches = importlib.import_module(f"checks.{lesson}"), nullcontext()
    if hasattr(checks, "_rehearse_launches"):  # of kernels that the learner's function compiles
        launches = patch.object(checks, "inspect", lambda *_, **__: SimpleNamespace(fault=None))
        namespace["SourceModule"] = functools.cache(namespace["SourceModule"])
    for text in (cell_of(lesson, name), source):
        exec(compile(text, "<mutant>", "exec"), namespace)
        functions.append(task._function(namespace[name]))
    solution, mutant = functions
    # A survivor ends; thousands of rehearsals and compilations would load as many modules. (A Mock
    # in the place of `rehearse` would hold all arrays.)
    with ExitStack() as stack:
        stack.enter_context(launches)
        for module in (kernel_task, checks):
            if hasattr(module, "rehearse"):
                stack.enter_context(patch.object(module, "rehearse", lambda *_: None))
        for done, case in enumerate(inputs_of(lesson, task, count)):
            if sentence := _difference(task, solution, mutant, case):
                return done, sentence
    return count, ""


def _difference(task: Task, solution: Callable, mutant: Callable, case: Case) -> str | None:
    found, sources = [], []
    for function in (solution, mutant):
        own = case if isinstance(task, KernelTask) else copy.deepcopy(case)
        outcome = Outcome.of(function, own)
        if isinstance(outcome.value, str):
            sources.append(re.findall(r"\w+|[^\w\s]", outcome.value))
            if sources[1:] == sources[:1]:  # the same source needs no compiler
                return None
        found.append((task._read(outcome, own), _snapshot(own)))
    (right, before), (other, after) = found
    if type(right.error) is not type(other.error):
        return f"{right.error!r} and {other.error!r}"
    if right.error is None and (sentence := difference(right.value, other.value, task.rtol)):
        return sentence
    return "the arguments differ afterwards" if before != after else None
