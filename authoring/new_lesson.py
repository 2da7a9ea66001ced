"""The files that a new lesson begins with: a lesson, one solved task, its check, its answers.

They are those of `authoring/template`, with the lesson's number, subject and so on in place of the
words in capitals. The tests of form accept them as they are, once the README and the lesson before
it name the new lesson. An author replaces them piece by piece.
"""

from __future__ import annotations

import re
from pathlib import Path

from .notebook_form import ROOT, AuthoringError, lesson_paths, read, stored_text, subject_of
from .publish import badges
from .repository import make_known

TEMPLATE = Path(__file__).parent / "template"


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
    if taken := [path.name for path in lesson_paths(root) if path.stem[:2] == number]:
        raise AuthoringError(f"{taken[0]} has the number {number}")
    checks, answers = f"checks/{subject}.py", f"tests/checks/answers/{subject}.py"
    if (root / checks).exists():
        raise AuthoringError(f"{checks} exists: a lesson has the subject {subject}")
    words = {"NUMBER": number, "SUBJECT": subject, "LESSON_FILE": f"{stem}.ipynb",
             "TITLE": subject.replace("_", " ").capitalize()}
    files = {checks: _filled((TEMPLATE / "checks.txt").read_text(encoding="utf-8"), words),
             answers: _filled((TEMPLATE / "answers.txt").read_text(encoding="utf-8"), words)}
    for folder, opened, template in (("notebooks", "notebooks", "lesson"),
                                     ("solutions", "exercises", "solution")):
        words["BADGES"] = badges(f"{opened}/{stem}.ipynb", root)
        files[f"{folder}/{stem}.ipynb"] = _notebook(TEMPLATE / f"{template}.ipynb", words, root)
    for name in files:
        if (root / name).exists():
            raise AuthoringError(f"{name} exists: remove it or choose another name")
    for name, text in files.items():
        (root / name).write_text(text, encoding="utf-8")
    make_known(files, root)
    return list(files)


def _filled(text: str, words: dict[str, str]) -> str:
    """A template's text with what stands for its words in capitals."""
    return re.sub("|".join(words), lambda found: words[found[0]], text)


def _notebook(template: Path, words: dict[str, str], root: Path) -> str:
    """The text of a notebook from its template, with the first lesson's setup cell, not run."""
    notebook = read(template)
    setup = next(cell for cell in read(lesson_paths(root)[0]).cells if cell.id == "setup")
    setup.outputs, setup.execution_count = [], None
    for k, cell in enumerate(notebook.cells):
        cell.source = _filled(cell.source, words)
        if mark := cell.metadata.get("nbgrader"):
            mark.grade_id = _filled(mark.grade_id, words)
        if cell.id == "setup":
            notebook.cells[k] = setup
    return stored_text(notebook)
