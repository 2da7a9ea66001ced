"""Every check passes right answers, and refuses wrong ones for the right reason.

The id of each test begins with its lesson, so that the scheduler in the root's conftest.py can give
whole lessons to a process.
"""

import dataclasses
import functools
import importlib
import importlib.util
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest

from authoring.notebook_form import ROOT, course_of, notebooks, read, subject_of
from checks.machinery import kernel_task, stream_task
from checks.machinery.kernel_task import KernelTask
from checks.machinery.task import Task

LESSONS = sorted(subject_of(path.stem) for path in notebooks("solutions"))


def answers_of(lesson):
    path = Path(__file__).parent / "answers" / f"{lesson}.py"
    spec = importlib.util.spec_from_file_location(f"answers_{lesson}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TASKS = {(lesson, task.name): task for lesson in LESSONS
         for task in vars(importlib.import_module(f"checks.{lesson}")).values()
         if isinstance(task, Task)}
ANSWERS = {lesson: answers_of(lesson) for lesson in LESSONS}
RIGHT = {(lesson, name): ANSWERS[lesson].RIGHT.get(name, []) for lesson, name in TASKS}
WRONG = {(lesson, name): ANSWERS[lesson].WRONG.get(name, []) for lesson, name in TASKS}
MISTAKES = {key: task.mistakes for key, task in TASKS.items()}


@functools.cache
def solutions_of(lesson):
    """The functions of the solution notebook: its cell `imports` and its solution cells."""
    (path,) = (ROOT / "solutions").glob(f"[0-9][0-9]_{lesson}.ipynb")
    namespace = {}
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.id == "imports" or cell.metadata.get("nbgrader", {}).get("solution"):
            exec(cell.source, namespace)
    return namespace


def warm_ups():
    """Subject and name of each warm-up: a lesson's stub, whose check is the next code cell.

    Its right answer stands in no notebook: it is the first of the task's `RIGHT`.
    """
    found = []
    for path in notebooks("notebooks"):
        code = [cell for cell in read(path).cells if cell.cell_type == "code"]
        found += [(subject_of(path.stem), re.search(r"^check\.(\w+)\(\1\)$", check.source, re.M)[1])
                  for stub, check in zip(code, code[1:]) if course_of(stub).get("warm_up")]
    return found


WARM_UPS = warm_ups()
PLACE = "/secret/place/file.txt"


def raises(*args):
    # A new one each time: an error keeps its traceback, and with it what the check had in hand.
    raise OSError(2, "No such file", PLACE)


BAD = {
    "None": (None, "got None"),
    "a number": (3, "got an int"),
    "a result instead of the function": (np.zeros(3), "got a float64 array of shape (3,)"),
    "wrong arguments": (lambda: 0, "it must take"),
    "raises": (raises, "it raised"),
    "exits": (lambda *args: exit(), "asked Python to exit"),
    "returns nothing": (lambda *args: None, "None"),
    "returns a list": (lambda *args: [1, 2], "a list"),
    "returns the wrong object": (lambda *args: object(), "an object"),
    "returns the wrong shape": (lambda *args: np.zeros((1, 2, 3, 1, 1)), ""),
    "returns strings": (lambda *args: np.array(["a", "b"]), ""),
}

# Some wrong answers compute inf - inf on the way.
pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")

# What a verdict says after a wait that nothing ends: not found out any sooner by waiting longer.
WAITED_FOR_IN_VAIN = ("has not ended after", "does not come to an end", "other streams do not end",
                      "waits for left", "one row, not two")

each_task = pytest.mark.parametrize("key", [pytest.param(key, id="-".join(key)) for key in TASKS])


def each_of(answers):
    """A test for each answer of each task."""
    return pytest.mark.parametrize("key, k", [
        pytest.param(key, k, id=f"{'-'.join(key)}-{k}")
        for key in TASKS for k in range(len(answers[key]))])


@each_task
def test_solution_passes(key):
    lesson, name = key
    solution = RIGHT[key][0] if key in WARM_UPS else solutions_of(lesson)[name]
    verdict = TASKS[key].judge(solution)
    assert verdict.state == "ok", verdict.text


@each_task
def test_enough_answers_prove_the_check(key):
    assert len(RIGHT[key]) > (key in WARM_UPS), "no second correct answer"
    assert len(MISTAKES[key]) + len(WRONG[key]) >= 3, "too few wrong answers"


@each_of(RIGHT)
def test_other_right_answer_passes(key, k):
    verdict = TASKS[key].judge(RIGHT[key][k])
    assert verdict.state == "ok", verdict.text


@each_of(MISTAKES)
def test_mistake_is_recognised(key, k):
    mistake = MISTAKES[key][k]
    verdict = TASKS[key].judge(mistake.answer)
    assert verdict.state == "no"
    assert mistake.looks_like in verdict.text, verdict.text


@pytest.fixture
def short_waits(monkeypatch):
    """For an answer that is known to be waited for in vain."""
    monkeypatch.setattr(kernel_task, "TIME_LIMIT", 0.2)
    monkeypatch.setattr(stream_task, "LONGEST_WAIT", 0.2)
    return 0.2


@each_of(WRONG)
def test_wrong_answer_is_refused_for_the_right_reason(key, k, request):
    answer, words = WRONG[key][k]
    task = TASKS[key]
    if any(vain in words for vain in WAITED_FOR_IN_VAIN):
        seconds = request.getfixturevalue("short_waits")
        if task.time_limit:
            task = dataclasses.replace(task, time_limit=seconds)
    verdict = task.judge(answer)
    assert verdict.state == "no"
    assert words in verdict.text, verdict.text


@pytest.mark.parametrize("bad", BAD)
@each_task
def test_bad_answer_gets_a_sentence(key, bad):
    answer, words = BAD[bad]
    if isinstance(TASKS[key], KernelTask) and callable(answer):
        words = "got a function"
    verdict = TASKS[key].judge(answer)
    assert verdict.state == "no"
    assert words in verdict.text, verdict.text
    assert "secret" not in verdict.text and "Traceback" not in verdict.text


@each_task
def test_stub_is_not_attempted_yet(key, capsys):
    def stub(*args):
        raise NotImplementedError()

    if isinstance(TASKS[key], KernelTask):
        stub = "__global__ void kernel() {\n    // YOUR CODE HERE\n}"
    TASKS[key](stub)
    assert capsys.readouterr().out == f"[todo] {TASKS[key].name}: not attempted yet\n"


@pytest.mark.parametrize("key", [pytest.param(key, id="-".join(key)) for key, task in TASKS.items()
                                 if type(task) is Task])
def test_dots_in_place_of_an_answer_are_not_attempted_yet(key, capsys):
    TASKS[key](lambda *args: ...)
    assert capsys.readouterr().out == f"[todo] {TASKS[key].name}: not attempted yet\n"


@pytest.mark.parametrize("key", WARM_UPS, ids=["-".join(key) for key in WARM_UPS])
def test_a_lessons_warm_up_is_answered_in_its_own_cells(key, capsys):
    """The stub as the lesson has it, then right and wrong answers in its place."""
    subject, name = key
    (path,) = (ROOT / "notebooks").glob(f"[0-9][0-9]_{subject}.ipynb")
    code = [cell for cell in read(path).cells if cell.cell_type == "code"]
    at = next(k for k, cell in enumerate(code) if f"check.{name}({name})" in cell.source)
    namespace = {}
    answers = [(None, "[todo]"), *((one, "[ok]") for one in RIGHT[key]),
               *((one.answer, "[no]") for one in MISTAKES[key]),
               *((one, "[no]") for one, _ in WRONG[key])]
    for answer, state in answers:
        exec(code[at - 1].source, namespace)
        if answer is not None:
            namespace[name] = answer
        exec(code[at].source, namespace)
        assert capsys.readouterr().out.startswith(f"{state} {name}: "), answer
