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


def nbgrader(course: Path, *words: str, status: int = 0, **variables: str) -> str:
    """Run a command of nbgrader's in the course's folder, as a teacher types it; what it said."""
    # It calls alembic by its name, so the environment's programs have to be on the path.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), **variables}
    done = subprocess.run([sys.executable, "-m", "nbgrader", *words], cwd=course, text=True,
                          env=environment, capture_output=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


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


def collected(folder: Path, lesson: str, notebooks: dict[str, nbformat.NotebookNode]) -> Path:
    """A course's folder with a released assignment and what learners handed in."""
    (folder / "nbgrader_config.py").write_text('c = get_config()\n'
                                               'c.CourseDirectory.course_id = "room"\n'
                                               'c.ExecutePreprocessor.timeout = 300\n')
    (folder / "source" / lesson).mkdir(parents=True)
    shutil.copy(ROOT / "solutions" / f"{lesson}.ipynb", folder / "source" / lesson)
    nbgrader(folder, "generate_assignment", lesson)
    for learner, notebook in notebooks.items():
        place = folder / "submitted" / learner / lesson
        place.mkdir(parents=True)
        nbformat.write(notebook, place / f"{lesson}.ipynb")
    return folder


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course's folder after generating, collecting and grading."""
    folder = collected(tmp_path_factory.mktemp("course"), LESSON, handed_in())
    nbgrader(folder, "autograde", LESSON)
    return folder


def test_feedback_and_export_are_made(course: Path) -> None:
    nbgrader(course, "generate_feedback", LESSON)
    nbgrader(course, "export")
    page = (course / "feedback" / "wrong" / LESSON / f"{LESSON}.html").read_text()
    assert "[no] letters" in page
    assert len((course / "grades.csv").read_text().splitlines()) == 1 + len(handed_in())


def test_a_submission_that_ends_its_process_is_named_and_the_others_are_graded(
        tmp_path: Path) -> None:
    ends = read("solutions")
    cell = next(cell for cell in ends.cells if cell.id == "mine")
    cell.source = "def my_einsum(*operands):\n    import os\n    os._exit(1)"
    collected(tmp_path, LESSON, {"ends": ends, "right": read("solutions")})
    said = nbgrader(tmp_path, "autograde", LESSON, status=1)
    assert f"error processing assignment '{LESSON}' for student 'ends'" in said
    assert "for student 'right'" not in said
    assert [path.name for path in (tmp_path / "autograded").iterdir()
            if (path / LESSON).exists()] == ["right"]


def test_without_a_compiler_nobody_is_graded(tmp_path: Path) -> None:
    lesson = "06_first_kernels"
    solved = nbformat.read(ROOT / "solutions" / f"{lesson}.ipynb", as_version=4)
    collected(tmp_path, lesson, {"right": solved})
    said = nbgrader(tmp_path, "autograde", lesson, status=1, COURSE_BACKEND="simulator",
                    PATH=str(Path(sys.executable).parent), CXX="/nowhere")
    assert "course: Nothing was judged" in said and "no C++ compiler is here" in said
    assert not list((tmp_path / "autograded").glob("right/*/*.ipynb"))


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
