"""The files that a new lesson begins with: a lesson, one solved task, its check, its answers.

The tests of form accept the files as they are, once the README and the lesson before it name the
new lesson. An author replaces them piece by piece.
"""

from __future__ import annotations

import re
from pathlib import Path

import nbformat

from .notebook_form import (
    METADATA,
    PROGRESS_TEXT,
    ROOT,
    SETUP_TEXT,
    AuthoringError,
    notebooks,
    read,
    stored_text,
    subject_of,
)
from .publish import badges
from .repository import make_known

# Cells as (kind, id, text); the setup cell is copied from the first lesson.
LESSON = (
    ("text", "title", "# {number} {title}\n\n{badges}\n\n**30 minutes.** You need"
     " [lesson 06](06_first_kernels.ipynb).\n\nAfter this lesson you can\n\n- say what ...;"
     "\n- do ..."),
    ("text", "run-setup", SETUP_TEXT),
    ("setup", "setup", ""),
    ("text", "question", "## The question\n\nWhat will the learner want to know?"),
    ("code", "imports", "import numpy as np\n\nx = np.arange(3)"),
    ("text", "predict", "**Predict:** how many bytes does `x + x` have? Write a number into the"
     " next cell."),
    ("prediction", "guess", "nbytes = ..."),
    ("answer", "counted", "from helpers import show_predictions\n\n"
     'show_predictions(("x + x", nbytes, (x + x).nbytes, "bytes"))'),
    ("text", "why", "Why it does, in two sentences."),
    ("text", "twice-text", "### Warm-up: twice (2 minutes)\n\nReturn each number twice as large."
     " Replace the three dots, and run both cells."),
    ("warm_up", "twice", "def twice(x):\n    return ..."),
    ("code", "twice-check", "from checks import {subject} as check\n\ncheck.twice(twice)"),
    ("code", "shown", "print(x + x)"),
    ("text", "key", "## Key points\n\n- One sentence for each thing learnt."),
    ("text", "self-test", "## Self-test\n\n" + "\n\n".join(
        f"{k}. Question?\n\n<details><summary>Answer</summary>\n\nAnswer.\n\n</details>"
        for k in range(1, 6)) + "\n\n**Exercises:** [exercises/{file}](../exercises/{file})."),
)
SOLUTION = (
    ("text", "title", "# {number} {title}: exercises\n\n{badges}\n\nOne task to"
     " [lesson {number}](../notebooks/{file})."),
    ("text", "run-setup", SETUP_TEXT),
    ("setup", "setup", ""),
    ("code", "imports", "from checks import {subject} as check"),
    ("text", "doubled-text", "## 1. Twice as much ★ (core, 5 minutes)\n\nWrite `doubled(x)`:\n\n"
     "```python\nx + x\n```\n\n<details><summary>Hint</summary>\n\nA product.\n\n</details>"),
    ("solution", "doubled", "def doubled(x):\n    ### BEGIN SOLUTION\n    return 2 * x\n"
     "    ### END SOLUTION"),
    ("check", "doubled-check", "check.doubled(doubled)"),
    ("text", "progress-text", PROGRESS_TEXT),
    ("code", "progress", 'from checks import progress\n\nprogress("{subject}")'),
)
CHECK = '''"""What the task of "{title}" must satisfy."""

import numpy as np

from .machinery.task import Mistake, Task


def _cases():
    rng = np.random.default_rng(1)
    for shape, dtype in (((3, 5), np.float32), ((7,), np.int64), ((0, 2), np.float64)):
        yield ((10 * rng.standard_normal(shape) + 100).astype(dtype),)


doubled = Task(
    name="doubled",
    spec=lambda x: x + x,
    cases=_cases,
    mistakes=[
        Mistake("a square", lambda x: x * x),
        Mistake("the argument itself", lambda x: x),
    ],
)
twice = Task("twice", lambda x: x + x, _cases, mistakes=doubled.mistakes)  # the lesson's warm-up
'''
ANSWERS = '''"""Other right answers to "{title}", and wrong answers that are no known mistake."""

RIGHT = {{"doubled": [lambda x: x - (-x)], "twice": [lambda x: 2 * x, lambda x: x - (-x)]}}
WRONG = {{name: [(lambda x: 0, "expected")] for name in RIGHT}}
'''


def new_lesson(stem: str, root: Path = ROOT) -> list[str]:
    """Write the files of a new lesson with one task.

    Parameters
    ----------
    stem : str
        The notebooks' name without ending, as "15_sparse_arrays".
    root : Path
        The course's folder.

    Returns
    -------
    list of str
        The files written.

    Raises
    ------
    AuthoringError
        When the name is not of that form, when a lesson has the number or the subject, and when
        one of the files exists; none is then written.
    """
    if not re.fullmatch(r"\d\d_[a-z0-9_]+", stem):
        raise AuthoringError(f"{stem!r} is not of the form 15_sparse_arrays")
    number, subject = stem[:2], subject_of(stem)
    for path in notebooks("notebooks", root):
        if path.stem[:2] == number:
            raise AuthoringError(f"{path.name} has the number {number}")
    checks, answers = f"checks/{subject}.py", f"tests/checks/answers/{subject}.py"
    if (root / checks).exists():
        raise AuthoringError(f"{checks} exists: a lesson has the subject {subject}")
    words = {"number": number, "subject": subject, "file": f"{stem}.ipynb",
             "title": subject.replace("_", " ").capitalize()}
    files = {checks: CHECK.format(**words), answers: ANSWERS.format(**words)}
    for folder, opened, form in (("notebooks", "notebooks", LESSON),
                                 ("solutions", "exercises", SOLUTION)):
        words["badges"] = badges(f"{opened}/{stem}.ipynb", root)
        cells = [_cell(kind, name, text.format(**words), subject, root)
                 for kind, name, text in form]
        notebook = nbformat.v4.new_notebook(cells=cells, metadata=nbformat.from_dict(METADATA))
        notebook.nbformat_minor = 5
        files[f"{folder}/{stem}.ipynb"] = stored_text(notebook)
    for name in files:
        if (root / name).exists():
            raise AuthoringError(f"{name} exists: remove it or choose another name")
    for name, text in files.items():
        (root / name).write_text(text, encoding="utf-8")
    make_known(files, root)
    return list(files)


def _cell(kind: str, name: str, text: str, subject: str, root: Path) -> nbformat.NotebookNode:
    """A cell with the id `name` and the metadata that its kind has."""
    if kind == "text":
        return nbformat.v4.new_markdown_cell(text, id=name)
    if kind == "setup":
        return _setup(root)
    cell = nbformat.v4.new_code_cell(text, id=name)
    if kind in ("prediction", "answer", "warm_up"):
        cell.metadata["course"] = {kind: True}
    if kind in ("solution", "check"):
        grade_id = f"{subject}_{name}".replace("-", "_")
        cell.metadata["nbgrader"] = {
            "schema_version": 3, "grade_id": grade_id, "solution": kind == "solution",
            "grade": kind == "check", "locked": kind == "check", "task": False,
            **({"points": 1} if kind == "check" else {}),
        }
    return cell


def _setup(root: Path) -> nbformat.NotebookNode:
    """The setup cell of the first lesson, before it was run."""
    first = read(notebooks("notebooks", root)[0])
    cell = next(cell for cell in first.cells if cell.id == "setup")
    cell.outputs, cell.execution_count = [], None
    return cell
