"""What every check must stand: right answers pass, wrong ones are refused for the right reason."""

import importlib
import importlib.util
from collections.abc import Callable
from pathlib import Path

import nbformat
import numpy as np
import pytest

from authoring.notebook_form import ROOT
from checks.machinery.kernel_task import KernelTask
from checks.machinery.task import Task


def tasks_of(lesson):
    module = importlib.import_module(f"checks.{lesson}")
    return {task.name: task for task in vars(module).values() if isinstance(task, Task)}


def answers_of(lesson):
    path = Path(__file__).parent / "answers" / f"{lesson}.py"
    spec = importlib.util.spec_from_file_location(f"answers_{lesson}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def solutions_of(lesson):
    """The functions of the solution notebook: its cell `imports` and its solution cells."""
    (path,) = (ROOT / "solutions").glob(f"[0-9][0-9]_{lesson}.ipynb")
    namespace = {}
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.id == "imports" or cell.metadata.get("nbgrader", {}).get("solution"):
            exec(cell.source, namespace)
    return namespace


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


def proofs_of(lesson: str) -> dict[str, Callable]:
    """The tests of a lesson's checks, by name: each lesson has a file, for pytest's processes."""
    tasks, answers = tasks_of(lesson), answers_of(lesson)

    def right(name):
        return answers.RIGHT.get(name, [])

    def wrong(name):
        return answers.WRONG.get(name, [])

    def mistakes(name):
        return tasks[name].mistakes

    def listed(kind):
        return [pytest.param(name, k, id=f"{name}-{k}")
                for name in tasks for k in range(len(kind(name)))]

    @pytest.fixture(scope="module")
    def solved():
        return solutions_of(lesson)

    @pytest.mark.parametrize("name", tasks)
    def test_solution_passes(name, solved):
        verdict = tasks[name].judge(solved[name])
        assert verdict.state == "ok", verdict.text

    @pytest.mark.parametrize("name", tasks)
    def test_enough_answers_prove_the_check(name):
        assert right(name), "no second correct answer"
        assert len(mistakes(name)) + len(wrong(name)) >= 3, "too few wrong answers"

    @pytest.mark.parametrize("name, k", listed(right))
    def test_other_right_answer_passes(name, k):
        verdict = tasks[name].judge(right(name)[k])
        assert verdict.state == "ok", verdict.text

    @pytest.mark.parametrize("name, k", listed(mistakes))
    def test_mistake_is_recognised(name, k):
        mistake = mistakes(name)[k]
        verdict = tasks[name].judge(mistake.answer)
        assert verdict.state == "no"
        assert mistake.looks_like in verdict.text, verdict.text

    @pytest.mark.parametrize("name, k", listed(wrong))
    def test_wrong_answer_is_refused_for_the_right_reason(name, k):
        function, words = wrong(name)[k]
        verdict = tasks[name].judge(function)
        assert verdict.state == "no"
        assert words in verdict.text, verdict.text

    @pytest.mark.parametrize("bad", BAD)
    @pytest.mark.parametrize("name", tasks)
    def test_bad_answer_gets_a_sentence(name, bad):
        answer, words = BAD[bad]
        if isinstance(tasks[name], KernelTask) and callable(answer):
            words = "got a function"
        verdict = tasks[name].judge(answer)
        assert verdict.state == "no"
        assert words in verdict.text, verdict.text
        assert "secret" not in verdict.text and "Traceback" not in verdict.text

    @pytest.mark.parametrize("name", tasks)
    def test_stub_is_not_attempted_yet(name, capsys):
        def stub(*args):
            raise NotImplementedError()

        if isinstance(tasks[name], KernelTask):
            stub = "__global__ void kernel() {\n    // YOUR CODE HERE\n}"
        tasks[name](stub)
        assert capsys.readouterr().out == f"[todo] {name}: not attempted yet\n"

    return {name: value for name, value in locals().items()
            if name.startswith("test_") or name == "solved"}
