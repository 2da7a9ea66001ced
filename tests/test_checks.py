"""Every check, proven: right answers pass, wrong ones are refused for the right reason."""

import importlib
import importlib.util
import pkgutil
from pathlib import Path

import nbformat
import numpy as np
import pytest

import helpers.check
from helpers.authoring import ROOT
from helpers.check.kernel import KernelTask
from helpers.check.task import Task

LESSONS = sorted(module.name for module in pkgutil.iter_modules(helpers.check.__path__)
                 if module.name.startswith("lesson"))


def tasks_of(lesson):
    module = importlib.import_module(f"helpers.check.{lesson}")
    return {task.name: task for task in vars(module).values() if isinstance(task, Task)}


def answers_of(lesson):
    path = Path(__file__).parent / "answers" / f"{lesson}.py"
    spec = importlib.util.spec_from_file_location(f"answers_{lesson}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def solutions_of(lesson):
    """The functions of the solution notebook: its cell `imports` and its solution cells."""
    number = lesson.removeprefix("lesson")
    (path,) = (ROOT / "solutions").glob(f"{number}_*.ipynb")
    namespace = {}
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.id == "imports" or cell.metadata.get("nbgrader", {}).get("solution"):
            exec(cell.source, namespace)
    return namespace


TASKS = {lesson: tasks_of(lesson) for lesson in LESSONS}
ANSWERS = {lesson: answers_of(lesson) for lesson in LESSONS}
EVERY_TASK = [(lesson, name) for lesson in LESSONS for name in TASKS[lesson]]


def listed(kind):
    return [pytest.param(lesson, name, k, id=f"{lesson}-{name}-{k}")
            for lesson, name in EVERY_TASK
            for k in range(len(kind(lesson, name)))]


def right(lesson, name):
    return ANSWERS[lesson].RIGHT.get(name, [])


def wrong(lesson, name):
    return ANSWERS[lesson].WRONG.get(name, [])


def mistakes(lesson, name):
    return TASKS[lesson][name].mistakes


@pytest.fixture(scope="module")
def solved():
    return {lesson: solutions_of(lesson) for lesson in LESSONS}


def test_there_are_tasks():
    assert EVERY_TASK


@pytest.mark.parametrize("lesson, name", EVERY_TASK)
def test_solution_passes(lesson, name, solved):
    verdict = TASKS[lesson][name].judge(solved[lesson][name])
    assert verdict.state == "ok", verdict.text


@pytest.mark.parametrize("lesson, name", EVERY_TASK)
def test_enough_answers_prove_the_check(lesson, name):
    assert right(lesson, name), "no second correct answer"
    assert len(mistakes(lesson, name)) + len(wrong(lesson, name)) >= 3, "too few wrong answers"


@pytest.mark.parametrize("lesson, name, k", listed(right))
def test_other_right_answer_passes(lesson, name, k):
    verdict = TASKS[lesson][name].judge(right(lesson, name)[k])
    assert verdict.state == "ok", verdict.text


@pytest.mark.parametrize("lesson, name, k", listed(mistakes))
def test_mistake_is_recognised(lesson, name, k):
    mistake = mistakes(lesson, name)[k]
    verdict = TASKS[lesson][name].judge(mistake.function)
    assert verdict.state == "no"
    assert mistake.looks_like in verdict.text


@pytest.mark.parametrize("lesson, name, k", listed(wrong))
def test_wrong_answer_is_refused_for_the_right_reason(lesson, name, k):
    function, words = wrong(lesson, name)[k]
    verdict = TASKS[lesson][name].judge(function)
    assert verdict.state == "no"
    assert words in verdict.text


NOT_FOUND = OSError(2, "No such file", "/secret/place/file.txt")


def raises(*args):
    raise NOT_FOUND


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


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("lesson, name", EVERY_TASK)
def test_bad_answer_gets_a_sentence(lesson, name, bad):
    answer, words = BAD[bad]
    if isinstance(TASKS[lesson][name], KernelTask) and callable(answer):
        words = "got a function"
    verdict = TASKS[lesson][name].judge(answer)
    assert verdict.state == "no"
    assert words in verdict.text
    assert "secret" not in verdict.text and "Traceback" not in verdict.text


@pytest.mark.parametrize("lesson, name", EVERY_TASK)
def test_stub_is_not_attempted_yet(lesson, name, capsys):
    def stub(*args):
        raise NotImplementedError()

    if isinstance(TASKS[lesson][name], KernelTask):
        stub = "__global__ void kernel() {\n    // YOUR CODE HERE\n}"
    TASKS[lesson][name](stub)
    assert capsys.readouterr().out == f"[todo] {name}: not attempted yet\n"


def test_cuda_stub_is_not_attempted_yet():
    task = Task("kernel", lambda x: x, lambda: [(1,)])
    assert task.judge("void f() {\n// YOUR CODE HERE\n}").state == "todo"


def test_graders_get_an_exception(monkeypatch, capsys):
    task = Task("double", lambda x: 2 * x, lambda: [(1.5,)])
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    task(lambda x: x + x)
    with pytest.raises(AssertionError, match="double: for x=1.5: expected 3, got 4.5"):
        task(lambda x: 3 * x)


def test_interrupting_a_check_is_possible():
    def interrupted(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Task("f", lambda x: x, lambda: [(1,)]).judge(interrupted)


@pytest.mark.parametrize("expected, got, words", [
    (np.zeros(3), np.zeros(3, np.float32), "expected dtype float64, got float32"),
    (np.zeros(3), np.zeros(4), "expected shape (3,), got (4,)"),
    (np.array([1, 2]), np.array([1, 3]), "1 of 2 values are wrong, the first at [1]"),
    (np.array([1.0, np.nan]), np.array([1.0, 2.0]), "expected nan, got 2"),
    (np.array([1.0, 2.0]), np.array([1.0, np.nan]), "got nan"),
    (1.0, 1.001, "expected 1, got 1.001"),
    (1.0, "1.0", "expected a number, got a str"),
    (True, 1, "expected True, got 1"),
    ((1, 2), (1, 3), "value 1 of the tuple"),
])
def test_difference(expected, got, words):
    from helpers.check.task import difference

    assert words in difference(expected, got, 1e-6)
    assert difference(expected, expected, 1e-6) is None


def test_tolerance_is_of_the_largest_value():
    from helpers.check.task import difference

    large = np.array([1e6, 1e-3])
    assert difference(large, large + [0.5, 0.5], 1e-6) is None
    assert difference(large, large + [0, 1.5], 1e-6)


@pytest.mark.parametrize("loop", [
    lambda x: [value + 1 for value in x.tolist()],
    lambda x: np.vectorize(lambda value: value + 1)(x),
    lambda x: list(map(lambda value: value + 1, x)),
    lambda x: sum(value for value in x),
])
def test_python_loops_are_seen(loop):
    from helpers.check.task import no_python_loop

    rule = no_python_loop((np.arange(10),), (np.arange(1000),))
    assert "loops in Python" in rule(loop, [], [])
    assert rule(lambda x: x + 1, [], []) is None
