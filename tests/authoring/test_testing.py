"""`make test` tests the course, and not what a learner made of it in its own folder."""

import json
import subprocess
import sys

import nbformat
import pytest
import run

from authoring.exercises import exercise_text, write_exercises
from authoring.notebook_form import METADATA, ROOT, stored_text

TEST = """
from pathlib import Path

def test_the_course():
    assert sorted(path.name for path in Path("exercises").iterdir()) == EXPECTED
    assert "raise NotImplementedError()" in Path("exercises/01_a.ipynb").read_text()
    assert "mine" not in Path("notebooks/01_a.ipynb").read_text()
    assert Path("helpers/tool.py").read_text() == "edited = 1"
"""


def write(path, *cells, **metadata):
    """Write a notebook in the stored form."""
    notebook = nbformat.v4.new_notebook(cells=list(cells), metadata=nbformat.from_dict(METADATA))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(stored_text(notebook))


def solve(path, answer):
    cell = nbformat.v4.new_code_cell(f"### BEGIN SOLUTION\n{answer}\n### END SOLUTION", id="task")
    cell.metadata.nbgrader = {"solution": True}
    write(path, cell)


def as_jupyter_saves(path, source=None):
    """Save a notebook as Jupyter does, with another source in its first cell."""
    notebook = json.loads(path.read_text())
    if source:
        notebook["cells"][0]["source"] = [source]
    notebook["metadata"]["language_info"]["version"] = "3.12.1"
    path.write_text(json.dumps(notebook, indent=1) + "\n")


@pytest.fixture
def course(tmp_path, commit, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # its one test needs none of them
    folder = tmp_path / "course"
    for name in ("01_a", "02_b"):
        solve(folder / "solutions" / f"{name}.ipynb", name)
        write(folder / "notebooks" / f"{name}.ipynb", nbformat.v4.new_code_cell("1", id="one"))
    (folder / "helpers").mkdir()
    (folder / "helpers" / "tool.py").write_text("committed = 1")
    (folder / "test_course.py").write_text(
        TEST.replace("EXPECTED", "['01_a.ipynb', '02_b.ipynb']"))
    commit(folder)
    write_exercises(root=folder)
    commit(folder)
    return folder


def test_an_authors_course_is_tested_where_it_is(course):
    """Edited in the stored form, with exercises that `make exercises` wrote, and a new lesson."""
    solve(course / "solutions" / "01_a.ipynb", "another")
    solve(course / "solutions" / "03_c.ipynb", "new")
    write(course / "notebooks" / "02_b.ipynb", nbformat.v4.new_code_cell("2", id="one"))
    subprocess.run(["git", "-C", str(course), "add", "-N", "solutions"], check=True)
    write_exercises(root=course)
    assert run.learners_notebooks(course) == []


def test_a_forgotten_make_exercises_is_still_found(course):
    solution = course / "solutions" / "01_a.ipynb"
    write(solution, nbformat.v4.new_markdown_cell("# New"), *nbformat.read(solution, 4).cells)
    assert run.learners_notebooks(course) == []
    assert write_exercises(check=True, root=course) == ["exercises/01_a.ipynb"]


def test_a_forgotten_make_exercises_is_found_where_that_exercise_was_answered(course, tmp_path):
    solution = course / "solutions" / "01_a.ipynb"
    write(solution, nbformat.v4.new_markdown_cell("# New"), *nbformat.read(solution, 4).cells)
    as_jupyter_saves(course / "exercises" / "01_a.ipynb", "my answer")
    left_out = run.learners_notebooks(course)
    assert left_out == ["exercises/01_a.ipynb"]
    run.copy_course(tmp_path / "copy", left_out, course)
    assert write_exercises(check=True, root=tmp_path / "copy") == ["exercises/01_a.ipynb"]


def worked_in(course):
    """What a learner leaves who works in the course's own folder."""
    as_jupyter_saves(course / "exercises" / "01_a.ipynb", "mine")
    (course / "exercises" / "mine_07.ipynb").write_text("no notebook any more")
    as_jupyter_saves(course / "notebooks" / "01_a.ipynb", "mine")
    as_jupyter_saves(course / "notebooks" / "02_b.ipynb")
    (course / "solutions" / "02_b.ipynb").unlink()
    (course / "helpers" / "tool.py").write_text("edited = 1")
    return ["exercises/01_a.ipynb", "exercises/mine_07.ipynb", "notebooks/01_a.ipynb",
            "notebooks/02_b.ipynb", "solutions/02_b.ipynb"]


def test_what_a_learner_did_is_left_out_and_named(course):
    names = worked_in(course)
    before = {path: path.read_bytes() for path in course.rglob("*.ipynb")}
    code = ("import sys; from pathlib import Path; sys.path.insert(0, 'tests'); import run;"
            " sys.exit(run.main(['-q', '-p', 'no:cacheprovider'], Path(sys.argv[1])))")
    done = subprocess.run([sys.executable, "-c", code, course], cwd=ROOT, capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
    assert done.stdout.count(", ".join(names)) == 2
    assert {path: path.read_bytes() for path in course.rglob("*.ipynb")} == before


def test_pytests_exit_status_is_kept(course):
    worked_in(course)
    (course / "test_course.py").write_text("def test_it(): assert False")
    assert run.main(["-q"], course) == 1


def test_an_answer_in_the_stored_form_is_a_learners_all_the_same(course):
    """Some editors write it; in exercises/ only what `make exercises` writes is an author's."""
    write(course / "exercises" / "01_a.ipynb", nbformat.v4.new_code_cell("mine", id="task"))
    assert run.learners_notebooks(course) == ["exercises/01_a.ipynb"]
    text = exercise_text(course / "solutions" / "01_a.ipynb")
    (course / "exercises" / "01_a.ipynb").write_text(text)
    assert run.learners_notebooks(course) == []


def test_a_course_without_git_is_tested_as_it_is(course):
    (course / ".git").rename(course / "git")
    worked_in(course)
    assert run.learners_notebooks(course) == []
