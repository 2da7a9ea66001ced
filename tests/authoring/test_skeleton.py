"""A new lesson begins with files that the course's own tools and tests accept."""

import importlib.util
import shutil

import nbformat
import pytest

from authoring import course as authoring

STEM = "15_sparse_arrays"


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A folder with what `new` reads and where it writes."""
    for folder in ("notebooks", "solutions", "exercises", "helpers/check", "tests/answers",
                   "tests/checks"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("pyproject.toml", "notebooks/00_start_here.ipynb"):
        shutil.copy(authoring.ROOT / name, tmp_path / name)
    monkeypatch.setattr(authoring, "ROOT", tmp_path)
    return tmp_path


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_all_files_are_there_and_in_the_stored_form(course):
    files = authoring.new_lesson(STEM)
    assert sorted(files) == sorted([
        "helpers/check/lesson15.py", "tests/answers/lesson15.py", "tests/checks/test_lesson15.py",
        f"notebooks/{STEM}.ipynb", f"solutions/{STEM}.ipynb"])
    for folder in ("notebooks", "solutions"):
        path = course / folder / f"{STEM}.ipynb"
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        assert path.read_text(encoding="utf-8") == authoring.dumps(notebook)
        assert notebook.metadata == authoring.METADATA
        assert "{" not in notebook.cells[0].source


def test_badges_and_setup_are_those_of_the_other_notebooks(course):
    authoring.new_lesson(STEM)
    first = nbformat.read(course / "notebooks" / "00_start_here.ipynb", as_version=4)
    assert authoring.badges("notebooks/00_start_here.ipynb") in first.cells[0].source
    for folder in ("notebooks", "solutions"):
        cells = nbformat.read(course / folder / f"{STEM}.ipynb", as_version=4).cells
        opened = folder.replace("solutions", "exercises")
        assert authoring.badges(f"{opened}/{STEM}.ipynb") in cells[0].source
        (setup,) = (cell.source for cell in first.cells if cell.id == "setup")
        assert cells[1].source == setup


def test_its_task_becomes_an_exercise(course):
    authoring.new_lesson(STEM)
    assert authoring.write_exercises() == [f"exercises/{STEM}.ipynb"]
    cells = nbformat.read(course / "exercises" / f"{STEM}.ipynb", as_version=4).cells
    assert "raise NotImplementedError()" in [c for c in cells if c.id == "doubled"][0].source


def test_its_check_and_the_proofs_of_it_agree(course):
    authoring.new_lesson(STEM)
    task = load(course / "helpers/check/lesson15.py", "checks.checks.lesson15").doubled
    answers = load(course / "tests/answers/lesson15.py", "answers_lesson15")
    assert task.judge(lambda x: 2 * x).state == "ok"
    for right in answers.RIGHT["doubled"]:
        assert task.judge(right).state == "ok"
    for wrong, words in answers.WRONG["doubled"]:
        assert words in task.judge(wrong).text
    for mistake in task.mistakes:
        assert mistake.looks_like in task.judge(mistake.function).text


@pytest.mark.parametrize("stem, words", [
    ("sparse", "is not of the form"), ("15 sparse", "is not of the form"),
    ("00_again", "00_start_here.ipynb has the number 00")])
def test_a_name_that_will_not_do_is_refused(course, stem, words):
    with pytest.raises(authoring.AuthoringError, match=words):
        authoring.new_lesson(stem)
