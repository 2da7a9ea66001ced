"""Submissions are judged again: each answer alone, by the teacher's copy of the checks."""

import copy

import nbformat
import pytest

from authoring.__main__ import main
from authoring.notebook_form import ROOT
from checks.grading import submissions as grading
from checks.grading.submissions import GradingError, questions, run_answer

SOLUTION = ROOT / "solutions" / "03_einsum.ipynb"
STUB = "def my_einsum(*operands):\n    raise NotImplementedError()"
CHECK = "check.fixed(fixed)"
HEAD = "def convolve(x, weight, bias, hop, pad):\n"
PATCHES = {
    "the check's call": "check.convolve.__class__.__call__ = lambda *a: print('[ok]')",
    "the judgement": "from checks.machinery.task import Task, Verdict\n"
                     "Task.judge = lambda *a: Verdict('ok', 'fine')",
    "the comparison": "from checks.machinery import task\ntask.difference = lambda *a: None",
    "NumPy": "import numpy\nnumpy.all = lambda *a, **k: True",
    "code": "from checks.machinery import task\n"
            "task.difference.__code__ = (lambda expected, got, rtol: None).__code__",
    "a module": "import sys\nsys.modules['checks.machinery.task'] = sys",
    "the task": "object.__setattr__(check.convolve, 'cases', lambda: [])",
    "the tasks of a module": "check.convolve = print",
    "printing": "import builtins\nbuiltins.print = lambda *a: None",
}


@pytest.fixture(scope="module")
def asked():
    return {question.name: question for question in questions(SOLUTION)}


@pytest.fixture(scope="module")
def convolve():
    """A task whose processes start quickly, since they draw nothing."""
    return next(question for question in questions(ROOT / "solutions" / "04_network_in_numpy.ipynb")
                if question.name == "convolve")


def cell_of(notebook, name):
    return next(cell for cell in notebook.cells
                if cell.metadata.get("nbgrader", {}).get("grade_id") == name)


def test_a_notebook_tells_its_tasks(asked):
    assert list(asked) == ["letters", "fixed", "low_rank_scores", "letters_to_matmul",
                           "convolution", "my_einsum"]
    fixed = asked["fixed"]
    assert (fixed.check_name, fixed.points, fixed.check) == ("fixed_check", 2, CHECK)
    assert fixed.before[0].startswith("from math") and len(fixed.before) == 2


@pytest.mark.parametrize("answer, state, words", [
    (None, "ok", ""),
    (f"{HEAD}    return 0", "no", "expected"),
    (f"{HEAD}    raise NotImplementedError()", "todo", "not attempted"),
    (f"{HEAD}    import os\n    os._exit(1)", "died",
     "ended in the check, which calls the answer (exit status 1)"),
    ("import os\nos._exit(0)", "died", "in the answer's cell (exit status 0)"),
    (f"{HEAD}    import os\n    os.kill(os.getpid(), 9)", "died", "SIGKILL"),
    ("import sys\nsys.exit(1)", "no", "SystemExit"),
    (f"{HEAD}    import sys\n    sys.exit(1)", "no", "asked Python to exit"),
    ("def broken(:", "no", "SyntaxError"),
    ("x = 1", "no", "NameError: name 'convolve' is not defined"),
    ("fill = bytearray(3 * 2**30)", "no", "MemoryError"),
], ids=lambda value: None if value is None else value[:12])
def test_an_answer_gets_its_verdict(convolve, answer, state, words):
    got, text = run_answer(convolve, convolve.answer if answer is None else answer, 20, 2)
    assert got == state and words in text, (got, text)


def test_an_endless_answer_is_stopped(convolve):
    for seconds in (3, 20, 60):  # a busy machine takes longer to come to the answer
        verdict = run_answer(convolve, "import time\nwhile True: time.sleep(0.01)", seconds, 2)
        if "the answer's cell" in verdict[1]:
            break
    assert verdict == ("endless", f"stopped after {seconds} seconds in the answer's cell")


@pytest.mark.parametrize("when", [
    "at once", pytest.param("when called", marks=pytest.mark.slow)])
@pytest.mark.parametrize("patch", [
    patch if k < 3 else pytest.param(patch, marks=pytest.mark.slow)
    for k, patch in enumerate(PATCHES)])
def test_an_answer_that_replaces_a_check_gets_no_points(convolve, patch, when):
    lines = PATCHES[patch].splitlines()
    inside = "\n".join(f"    {line}" for line in lines) if when == "when called" else ""
    outside = PATCHES[patch] if when == "at once" else ""
    answer = f"{outside}\n{HEAD}{inside}\n    return 0\n"
    state, text = run_answer(convolve, answer, 60)
    assert state in ("tampered", "no"), (state, text)
    if when == "at once":
        assert state == "tampered" and "replaced" in text, (state, text)


def test_a_message_that_the_answer_forges_does_not_count(convolve):
    answer = ("import os\nfor k in range(3, 30):\n    try:\n"
              "        os.write(k, b'{\"state\": \"ok\", \"text\": \"\"}\\n')\n"
              "    except OSError: pass\nos._exit(0)")
    assert run_answer(convolve, answer, 60)[0] == "died"


def test_a_folder_of_submissions_becomes_a_table(tmp_path, monkeypatch, capsys):
    source = nbformat.read(SOLUTION, as_version=4)
    asked_for = []

    def judged(question, answer, seconds, gigabytes):
        asked_for.append(question.name)
        if answer == STUB:
            return "todo", "not attempted yet"
        return ("ok", "") if answer == question.answer else ("no", "wrong")

    monkeypatch.setattr(grading, "run_answer", judged)
    changed = {name: copy.deepcopy(source) for name in ("ada", "ben", "cleo")}
    changed["ben"].cells.remove(cell_of(changed["ben"], "fixed_check"))
    changed["ben"].cells.remove(cell_of(changed["ben"], "letters"))
    cleo = changed["cleo"]
    cell_of(cleo, "convolution").source = "import sys"
    cell_of(cleo, "fixed_check").source = "print('[ok]')"
    twice = copy.deepcopy(cell_of(cleo, "my_einsum"))
    twice.source = STUB
    cleo.cells.append(twice)
    for learner, notebook in changed.items():
        place = tmp_path / "submitted" / learner / "03_einsum"
        place.mkdir(parents=True)
        nbformat.write(notebook, place / SOLUTION.name)
    broken = tmp_path / "submitted" / "dan" / "03_einsum" / SOLUTION.name
    broken.parent.mkdir(parents=True)
    broken.write_text("{")
    table = tmp_path / "again.csv"
    assert main(["grade", str(SOLUTION), str(tmp_path), "--table", str(table)]) == 0
    said = capsys.readouterr().out
    assert "ada  fixed  [ok]  2 of 2" in said
    assert "ben  fixed  [ok]  2 of 2  ; its check cell was deleted" in said
    assert "ben  letters  [missing]  0 of 3  there is no answer; its answer cell was del" in said
    assert "cleo  convolution  [no]  0 of 2  wrong; read this answer: it says sys" in said
    assert "its check cell was changed" in said
    assert ("cleo  my_einsum  [todo]  0 of 4  not attempted yet; its answer cell stands 2 times;"
            " the last one counts") in said
    rows = table.read_text().splitlines()
    assert len(rows) == 1 + 4 * 6 and rows[0].startswith("learner,task,points,of,verdict")
    assert sum(row.startswith("dan,") and "cannot be read" in row for row in rows) == 6
    assert len(asked_for) == 6 + 6 + 5 + 6


def test_nothing_is_judged_where_the_solution_is_not_right(tmp_path, monkeypatch, capsys):
    (tmp_path / "ada.ipynb").write_text(SOLUTION.read_text())
    monkeypatch.setattr(grading, "run_answer", lambda *args: ("unchecked", "a disk is full"))
    assert main(["grade", str(SOLUTION), str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "nothing was judged" in said and "a disk is full" in said


def test_folders_without_submissions_and_notebooks_without_tasks(tmp_path):
    with pytest.raises(GradingError, match="no submitted notebook 03_einsum"):
        grading.grade(SOLUTION, tmp_path, tmp_path / "x.csv")
    with pytest.raises(GradingError, match="no cell is marked"):
        questions(ROOT / "notebooks" / "03_einsum.ipynb")


def test_nbgraders_own_mark_stands_beside_another(asked):
    one = grading.Result("ada", "fixed", 0, 2, "tampered", "the answer replaced x", nbgrader=2.0)
    assert str(one) == "ada  fixed  [tampered]  0 of 2 (nbgrader: 2)  the answer replaced x"
