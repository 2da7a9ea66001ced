"""A teacher's assignment: generated, handed in right, wrong and half-done, and graded by nbgrader.

Runs where nbgrader is installed: `python -m pip install -e ".[dev,grading]"`.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

pytest.importorskip("nbgrader", reason="nbgrader, of the extra `grading`, is not installed")

ROOT = Path(__file__).resolve().parents[3]
LESSON = "03_einsum"
NOTEBOOK = f"{LESSON}.ipynb"


def read(folder: str) -> nbformat.NotebookNode:
    return nbformat.read(ROOT / folder / NOTEBOOK, as_version=4)


def nbgrader(course: Path, *words: str) -> None:
    """Run a command of nbgrader's in the course's folder, as a teacher types it."""
    # It calls alembic by its name, so the environment's programs have to be on the path.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-m", "nbgrader", *words], cwd=course, text=True,
                          env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def points(notebook: nbformat.NotebookNode) -> dict[str, int]:
    """Points of each check."""
    marks = [cell.metadata.get("nbgrader", {}) for cell in notebook.cells]
    return {mark["grade_id"]: mark["points"] for mark in marks if mark.get("grade")}


def handed_in() -> dict[str, nbformat.NotebookNode]:
    """A notebook for each learner: solved, untouched, the first task solved, all wrong."""
    solved, untouched, half, wrong = read("solutions"), *(read("exercises") for _ in range(3))
    tasks = [k for k, cell in enumerate(solved.cells)
             if cell.metadata.get("nbgrader", {}).get("solution")]
    half.cells[tasks[0]].source = solved.cells[tasks[0]].source
    for k in tasks:
        stub = wrong.cells[k]
        assert "raise NotImplementedError()" in stub.source
        stub.source = stub.source.replace("raise NotImplementedError()", "return 0")
    return {"right": solved, "untouched": untouched, "half": half, "wrong": wrong}


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course's folder after generating, collecting and grading."""
    folder = tmp_path_factory.mktemp("course")
    (folder / "nbgrader_config.py").write_text('c = get_config()\n'
                                               'c.CourseDirectory.course_id = "room"\n')
    (folder / "source" / LESSON).mkdir(parents=True)
    shutil.copy(ROOT / "solutions" / NOTEBOOK, folder / "source" / LESSON)
    nbgrader(folder, "generate_assignment", LESSON)
    for learner, notebook in handed_in().items():
        place = folder / "submitted" / learner / LESSON
        place.mkdir(parents=True)
        nbformat.write(notebook, place / NOTEBOOK)
    nbgrader(folder, "autograde", LESSON)
    return folder


def test_the_released_assignment_is_our_exercise(course: Path) -> None:
    released = nbformat.read(course / "release" / LESSON / NOTEBOOK, as_version=4)
    ours = read("exercises")
    assert [cell.source for cell in released.cells] == [cell.source for cell in ours.cells]


def test_each_learner_has_the_right_mark(course: Path) -> None:
    from nbgrader.api import Gradebook

    worth = points(read("solutions"))
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        found = {one.student.id: {grade.name: grade.score for grade in one.notebooks[0].grades}
                 for one in book.assignment_submissions(LESSON)}
    first = next(iter(worth))
    assert found == {
        "right": worth,
        "untouched": dict.fromkeys(worth, 0),
        "half": {name: worth[name] if name == first else 0 for name in worth},
        "wrong": dict.fromkeys(worth, 0),
    }
