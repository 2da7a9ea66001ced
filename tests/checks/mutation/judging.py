"""Mutants given to the checks, in processes of their own, each with a time limit."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import importlib.util
import inspect
import multiprocessing
import os
import resource
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from threading import Lock
from types import ModuleType
from unittest.mock import patch

import nbformat

from checks.machinery import kernel_task, stream_task
from checks.machinery.task import Task

from .cuda_rules import cuda_changes
from .python_rules import python_changes
from .source import BEGIN, END, Mutant, mutants_of, regions

ROOT = Path(__file__).parents[3]
SECONDS = 60.0  # for one mutant
TRIES = 3  # of a solution
MEMORY = 8 * 2**30  # bytes that a process may take
ENVIRONMENT = {"many_gpus": {"NOGPU_DEVICES": "2"}}  # with one device, no device is the wrong one


def tasks_of(lesson: str) -> dict[str, Task]:
    """The tasks of a lesson (its subject, `strided_views`) by name."""
    module = importlib.import_module(f"checks.{lesson}")
    return {task.name: task for task in vars(module).values() if isinstance(task, Task)}


@functools.cache
def answers_of(lesson: str) -> ModuleType:
    """The module of the lesson's other answers; importing it starts the backend."""
    path = ROOT / "tests" / "checks" / "answers" / f"{lesson}.py"
    spec = importlib.util.spec_from_file_location(f"answers_{lesson}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cells_of(lesson: str) -> list[str]:
    """The cell `imports` and the solution cells of a lesson's solution notebook."""
    (path,) = (ROOT / "solutions").glob(f"[0-9][0-9]_{lesson}.ipynb")
    return [cell.source for cell in nbformat.read(path, as_version=4).cells
            if cell.id == "imports" or cell.metadata.get("nbgrader", {}).get("solution")]


@functools.cache
def solutions_of(lesson: str) -> dict[str, object]:
    """What the notebook's cells define."""
    answers_of(lesson)
    namespace: dict[str, object] = {}
    for source in cells_of(lesson):
        exec(source, namespace)
    return namespace


def cell_of(lesson: str, name: str) -> str:
    """The cell that defines a task's solution; of a warm-up a cell made of its first answer."""
    for source in cells_of(lesson):
        if f"def {name}(" in source or f"\n{name} = " in f"\n{source}":
            return source
    answer = answers_of(lesson).RIGHT[name][0]
    if isinstance(answer, str):
        return f'{name} = r"""\n// {BEGIN}\n{answer}\n// {END}\n"""\n'
    if hasattr(answer, "make"):  # an ElementwiseKernel
        inputs, outputs, operation, _ = answer.arguments
        return (f'import cupy as cp\n{name} = cp.{answer.kind}({inputs!r}, {outputs!r}, """\n'
                f'// {BEGIN}\n{operation}\n// {END}\n""", {name!r})\n')
    return f"{BEGIN}\n{inspect.getsource(answer)}{END}\n{name} = {answer.__name__}\n"


def mutants_of_task(lesson: str, name: str) -> list[Mutant]:
    """All mutants of a task's solution, in the order of their places."""
    answers_of(lesson)  # starts the backend, which the task's cases may need
    cell, task = cell_of(lesson, name), tasks_of(lesson)[name]
    values = _values(task)
    changes = []
    for region in regions(cell):
        make = python_changes if region.language == "Python" else cuda_changes
        changes += make(cell, region, values)
    return mutants_of(cell, changes)


def _values(task: Task) -> dict[str, list]:
    """The scalars that a task's cases give to each parameter, of a kernel those of its launches."""
    names = list(task._asked().__code__.co_varnames) if hasattr(task._asked(), "__code__") else []
    found: dict[str, list] = {}
    for case in task.cases():
        given = case
        if getattr(task, "launch", None) and getattr(task, "parameters", ""):
            given = task.launch(*case)[2]
            names = [one.replace("*", " ").split()[-1] for one in task.parameters.split(",")]
        for name, value in zip(names, given):
            if getattr(value, "ndim", 0) == 0 and not callable(value):
                found.setdefault(name, []).append(value)
    return found


def judge(lesson: str, name: str, source: str) -> tuple[str, str]:
    """How a mutant ends ("survived", "refused" or "does not compile"), and the verdict's text."""
    namespace = vars(answers_of(lesson)) | solutions_of(lesson)
    try:
        exec(compile(source, "<mutant>", "exec"), namespace)
    except Exception as error:
        return "does not compile", repr(error)
    verdict = _quick(tasks_of(lesson)[name]).judge(namespace[name])
    if verdict.state == "ok":
        return "survived", verdict.text
    if verdict.state == "unchecked":
        raise RuntimeError(verdict.text)
    return ("does not compile" if "does not compile" in verdict.text else "refused"), verdict.text


def _quick(task: Task) -> Task:
    """A task that waits for endless answers no longer than the right ones need."""
    kernel_task.TIME_LIMIT, stream_task.LONGEST_WAIT = 0.5, 0.3
    return dataclasses.replace(task, time_limit=2.0) if task.time_limit else task


def _serve(pipe: multiprocessing.connection.Connection, work: Callable, lesson: str) -> None:
    """In a process of its own: answer each question until the pipe ends."""
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    if work is judge:  # a survivor takes no more memory than the solution
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    elif work.__name__ == "agrees":  # two blocks that store one value at the same time are a race
        os.environ["NOGPU_WORKERS"] = "1"
    for name in tasks_of(lesson):  # if this machine cannot judge, no mutant may count as refused
        ended = "", ""
        for _ in range(TRIES):  # on a busy machine a solution may take longer than a mutant may
            if ended[0] != "survived":
                ended = judge(lesson, name, cell_of(lesson, name))
        if ended[0] != "survived":
            pipe.send(f"the solution of {name} is not right here: {ended}")
            return
    pipe.send("ready")
    while True:
        question = pipe.recv()
        if question is None:
            os._exit(0)
        pipe.send(work(lesson, *question))


def in_processes(work: Callable, lesson: str, questions: Iterable[tuple], processes: int,
                 seconds: float = SECONDS) -> list:
    """`work(lesson, *question)` for each question; ("timed out", "") or ("crashed", "") else.

    A process that takes too long or dies is replaced by a new one.
    """
    start = multiprocessing.get_context("spawn")
    here = sys.modules[__name__]  # a test may have imported these modules once more
    work = getattr(sys.modules[work.__module__], work.__name__)
    starting = Lock()  # a process inherits the environment, which all threads share
    idle: SimpleQueue = SimpleQueue()
    for _ in range(processes):
        idle.put(None)

    def ask(question: tuple) -> object:
        server = idle.get()
        if server is None:
            ours, theirs = start.Pipe()
            try:
                process = start.Process(target=here._serve, args=(theirs, work, lesson),
                                        daemon=True)
                with starting, patch.dict(os.environ, ENVIRONMENT.get(lesson, {})):
                    process.start()
                theirs.close()
                said = ours.recv()  # what it imports takes no time of a mutant's
            except Exception as error:
                said = f"no process could be started: {error!r}"
            if said != "ready":
                idle.put(None)  # those who wait for their turn find out, too
                raise RuntimeError(said)
            server = ours, process
        pipe, process = server
        answer: object = ("crashed", "")
        try:
            pipe.send(question)
            if pipe.poll(seconds):
                answer = pipe.recv()
            else:
                answer = ("timed out", "")
                process.kill()
        except (EOFError, OSError):
            process.kill()
        alive = answer not in (("crashed", ""), ("timed out", ""))
        idle.put(server if alive else None)
        return answer

    with ThreadPoolExecutor(processes) as pool:
        answers = list(pool.map(ask, questions))
    while not idle.empty():
        if (server := idle.get()) is not None:
            server[0].send(None)
            server[1].join()
    return answers


def judge_all(lesson: str, tasks: Sequence[str] = (), processes: int = 0,
              ) -> dict[str, list[tuple[Mutant, str, str]]]:
    """Every mutant of a lesson's tasks with how it ended and what the verdict said."""
    solutions_of(lesson)
    names = list(tasks) or list(tasks_of(lesson))
    made = [(name, mutant) for name in names for mutant in mutants_of_task(lesson, name)]
    ended = in_processes(judge, lesson, [(name, mutant.source) for name, mutant in made],
                         processes or os.cpu_count() or 1)
    found: dict[str, list] = {name: [] for name in names}
    for (name, mutant), (state, text) in zip(made, ended):
        found[name].append((mutant, state, text))
    return found
