"""A new lesson begins with files that the course's own tools and tests accept."""

import importlib.util
import re
import shutil

import nbformat
import pytest

from authoring.exercises import write_exercises
from authoring.minutes import WARM_UP
from authoring.new_lesson import new_lesson
from authoring.notebook_form import (
    METADATA,
    PROGRESS_TEXT,
    ROOT,
    SETUP_TEXT,
    AuthoringError,
    course_of,
    read,
    stored_text,
)
from authoring.publish import badges

STEM = "15_sparse_arrays"
CHECKS, ANSWERS = "checks/sparse_arrays.py", "tests/checks/answers/sparse_arrays.py"
FIRST = "notebooks/00_start_here.ipynb"


@pytest.fixture
def course(tmp_path):
    """A folder with the files that `new_lesson` reads and the folders that it writes to."""
    for folder in ("notebooks", "solutions", "exercises", "checks", "tests/checks/answers"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("pyproject.toml", FIRST):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def load(path, name):
    """The module in a file, under a name that says where its relative imports begin."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cell_of(notebook, name):
    (cell,) = (cell for cell in notebook.cells if cell.id == name)
    return cell


def test_all_files_are_there_and_in_the_stored_form(course):
    assert sorted(new_lesson(STEM, course)) == sorted([
        CHECKS, ANSWERS, f"notebooks/{STEM}.ipynb", f"solutions/{STEM}.ipynb"])
    for folder in ("notebooks", "solutions"):
        path = course / folder / f"{STEM}.ipynb"
        notebook = read(path)
        nbformat.validate(notebook)
        assert path.read_text(encoding="utf-8") == stored_text(notebook)
        assert notebook.metadata == METADATA
        assert not any(re.search("NUMBER|SUBJECT|LESSON_FILE|TITLE|BADGES", cell.source)
                       for cell in notebook.cells if cell.id != "setup"), "left from the template"
        assert cell_of(notebook, "run-setup").source == SETUP_TEXT
    assert cell_of(notebook, "progress-text").source == PROGRESS_TEXT


def test_badges_and_setup_are_those_of_the_other_notebooks(course):
    new_lesson(STEM, course)
    first = read(course / FIRST)
    assert any(badges(FIRST) in cell.source for cell in first.cells)
    for folder in ("notebooks", "solutions"):
        notebook = read(course / folder / f"{STEM}.ipynb")
        opened = folder.replace("solutions", "exercises")
        assert badges(f"{opened}/{STEM}.ipynb") in notebook.cells[0].source
        assert cell_of(notebook, "setup").source == cell_of(first, "setup").source
        assert cell_of(notebook, "setup").metadata == cell_of(first, "setup").metadata
        assert cell_of(notebook, "setup").outputs == []


def test_its_task_becomes_an_exercise(course):
    new_lesson(STEM, course)
    assert write_exercises(root=course) == [f"exercises/{STEM}.ipynb"]
    exercise = read(course / "exercises" / f"{STEM}.ipynb")
    assert "raise NotImplementedError()" in cell_of(exercise, "doubled").source


def test_what_is_graded_is_named_by_the_subject(course):
    new_lesson(STEM, course)
    solution = read(course / "solutions" / f"{STEM}.ipynb")
    graded = [cell.metadata["nbgrader"] for cell in solution.cells if "nbgrader" in cell.metadata]
    assert [mark["grade_id"] for mark in graded] == [
        "sparse_arrays_doubled", "sparse_arrays_doubled_check"]
    assert cell_of(solution, "imports").source == "from checks import sparse_arrays as check"


def test_its_check_and_its_answers_agree(course):
    new_lesson(STEM, course)
    module = load(course / CHECKS, "checks.sparse_arrays")
    task = module.doubled
    answers = load(course / ANSWERS, "answers_of_sparse_arrays")
    assert task.judge(lambda x: 2 * x).state == "ok"
    for task in (module.doubled, module.twice):
        for right in answers.RIGHT[task.name]:
            assert task.judge(right).state == "ok"
        for wrong, words in answers.WRONG[task.name]:
            assert words in task.judge(wrong).text
        for mistake in task.mistakes:
            assert mistake.looks_like in task.judge(mistake.answer).text
    assert len(answers.RIGHT["twice"]) > 1  # a warm-up's solution is one of them


def test_its_lesson_has_a_prediction_and_a_warm_up(course):
    new_lesson(STEM, course)
    lesson = read(course / "notebooks" / f"{STEM}.ipynb")
    marks = {cell.id: dict(course_of(cell)) for cell in lesson.cells if course_of(cell)}
    assert marks == {"setup": {"not_compared": "device"}, "guess": {"prediction": True},
                     "counted": {"answer": True}, "twice": {"warm_up": True}}
    (warm_up,) = (cell for cell in lesson.cells if WARM_UP.search(cell.source))
    assert warm_up.id == "twice-text"
    solution = read(course / "solutions" / f"{STEM}.ipynb")
    assert solution.cells[-1].source.endswith('progress("sparse_arrays")')


@pytest.mark.parametrize("stem, words", [
    ("sparse", "is not of the form"), ("15 sparse", "is not of the form"),
    ("00_again", "00_start_here.ipynb has the number 00"),
    ("15_taken", "a lesson has the subject taken")])
def test_an_unsuitable_name_is_refused(course, stem, words):
    (course / "checks" / "taken.py").touch()
    with pytest.raises(AuthoringError, match=words):
        new_lesson(stem, course)
    assert len(list(course.rglob("*.ipynb"))) == 1


def test_a_file_that_exists_is_not_overwritten(course):
    solution = course / "solutions" / f"{STEM}.ipynb"
    solution.write_text("somebody's")
    before = sorted(course.rglob("*"))
    with pytest.raises(AuthoringError, match=f"solutions/{STEM}.ipynb exists"):
        new_lesson(STEM, course)
    assert solution.read_text() == "somebody's" and sorted(course.rglob("*")) == before
