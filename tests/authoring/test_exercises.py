"""Exercises are generated from solutions, and run from top to bottom unsolved."""

import re

import nbformat
import pytest

from authoring import course as authoring
from authoring.course import AuthoringError, exercise_from, strip_solution

EXERCISES = authoring.notebooks("exercises")


def test_exercises_are_up_to_date():
    assert authoring.write_exercises(check=True) == []


@pytest.mark.parametrize("path", EXERCISES, ids=[path.stem for path in EXERCISES])
def test_unsolved_exercise_runs_and_says_so(path):
    notebook = nbformat.read(path, as_version=4)
    authoring.execute(notebook, path.parent, timeout=120)
    checks = [cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade")]
    assert checks
    for cell in checks:
        printed = "".join(output.get("text", "") for output in cell.outputs)
        assert re.fullmatch(r"\[todo\] \w+: not attempted yet\n", printed), (cell.id, printed)


@pytest.mark.parametrize("path", EXERCISES, ids=[path.stem for path in EXERCISES])
def test_only_solutions_differ(path):
    solution = nbformat.read(authoring.ROOT / "solutions" / path.name, as_version=4)
    exercise = nbformat.read(path, as_version=4)
    assert [cell.id for cell in exercise.cells] == [cell.id for cell in solution.cells]
    for ours, theirs in zip(solution.cells, exercise.cells):
        if not ours.metadata.get("nbgrader", {}).get("solution"):
            assert ours.source == theirs.source
        else:
            assert "SOLUTION" not in theirs.source
            assert "raise NotImplementedError()" in theirs.source or \
                "// YOUR CODE HERE" in theirs.source


def test_python_and_cuda_solutions_become_stubs():
    source = ("def f(x):\n    ### BEGIN SOLUTION\n    y = x\n    return y\n    ### END SOLUTION\n"
              "code = '''\n  // ### BEGIN SOLUTION\n  int i = 0;\n  // ### END SOLUTION\n'''")
    assert strip_solution(source, "here") == (
        "def f(x):\n    # YOUR CODE HERE\n    raise NotImplementedError()\n"
        "code = '''\n  // YOUR CODE HERE\n'''")


@pytest.mark.parametrize("source, words", [
    ("### BEGIN SOLUTION\nx = 1", "line 1: BEGIN SOLUTION is never ended"),
    ("x = 1\n### END SOLUTION", "line 2: END SOLUTION without a BEGIN"),
    ("### BEGIN SOLUTION\n### BEGIN SOLUTION\n1", "line 2: BEGIN SOLUTION inside"),
    ("### BEGIN SOLUTION\n\n### END SOLUTION", "line 3: the solution is empty"),
    ("### BEGIN SOLUTION\n1\n// ### END SOLUTION", "a Python BEGIN (line 1) ends with a CUDA END"),
    ("x = 1  ### BEGIN SOLUTION\n1\n### END SOLUTION", "must stand alone on its line"),
    ("# BEGIN SOLUTION\n1\n# END SOLUTION", "must stand alone on its line"),
])
def test_malformed_delimiters_name_file_and_cell(source, words):
    cell = nbformat.v4.new_code_cell(source, id="task-one")
    cell.metadata.nbgrader = {"solution": True}
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# T"), cell])
    with pytest.raises(AuthoringError) as caught:
        exercise_from(notebook, "solutions/99.ipynb")
    assert str(caught.value).startswith("solutions/99.ipynb, cell 2 (task-one), line ")
    assert words in str(caught.value)


def test_a_solution_outside_a_solution_cell_is_refused():
    cell = nbformat.v4.new_code_cell("### BEGIN SOLUTION\n1\n### END SOLUTION", id="stray")
    with pytest.raises(AuthoringError, match=r"cell 1 \(stray\).*solution: true"):
        exercise_from(nbformat.v4.new_notebook(cells=[cell]), "s.ipynb")


def test_cells_for_the_solution_only_are_dropped():
    cells = [nbformat.v4.new_markdown_cell("why", metadata={"tags": ["solution-only"]}),
             nbformat.v4.new_code_cell("x = 1", execution_count=3)]
    exercise = exercise_from(nbformat.v4.new_notebook(cells=cells), "s.ipynb")
    assert [cell.source for cell in exercise.cells] == ["x = 1"]
    assert exercise.cells[0].execution_count is None


@pytest.fixture
def unpublished(tmp_path, monkeypatch):
    """A course of four files: their text, by name."""
    files = {
        "README.md": "cd REPO\n[b](https://mybinder.org/v2/gh/OWNER/REPO/main) MY-OWNER/REPO,"
                     " github.com/OWNER/REPO-2, OWNER/REPO. See github.com/OWNER/REPO.\n",
        "pyproject.toml": 'Repository = "https://github.com/OWNER/REPO"\n',
        "simulator/README.md": "pip install git+https://github.com/OWNER/REPO.git",
        "simulator/pyproject.toml": 'Repository = "https://github.com/OWNER/REPO"\n',
        "docs/teaching.md": "git clone https://github.com/OWNER/REPO.git\ncd REPO\n",
        "notebooks/00.ipynb": "(https://colab.research.google.com/github/OWNER/REPO/blob/main/x)"
                              "(https://raw.githubusercontent.com/OWNER/REPO/main/x)",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(authoring, "ROOT", tmp_path)
    return files, lambda: {name: (tmp_path / name).read_text() for name in files}


def test_publish_writes_one_address_everywhere(unpublished):
    before, now = unpublished
    assert set(authoring.publish("ada-l/a.b")) == set(before)
    assert authoring.repository() == "ada-l/a.b"
    assert now()["README.md"] == (
        "cd a.b\n[b](https://mybinder.org/v2/gh/ada-l/a.b/main) MY-OWNER/REPO,"
        " github.com/OWNER/REPO-2, OWNER/REPO. See github.com/ada-l/a.b.\n")
    assert now()["docs/teaching.md"] == "git clone https://github.com/ada-l/a.b.git\ncd a.b\n"
    assert "github/ada-l/a.b/blob" in now()["notebooks/00.ipynb"]
    assert "content.com/ada-l/a.b/main" in now()["notebooks/00.ipynb"]
    assert authoring.publish("ada-l/a.b") == []
    assert set(authoring.publish("OWNER/REPO")) == set(before)
    assert now() == before


@pytest.mark.parametrize("name, words", [
    ("", "owner/name"), ("no slash", "owner/name"), ("one", "owner/name"),
    ("https://github.com/ada/course", "owner/name"), ("a/b/c", "owner/name"),
    ("ada-/course", "owner on GitHub"), ("a--b/course", "owner on GitHub"),
    ("ada lovelace/course", "owner on GitHub"), ("a" * 40 + "/course", "owner on GitHub"),
    ("ada/", "repository on GitHub"), ("ada/..", "repository on GitHub"),
    ("ada/x y", "repository on GitHub"), ("ada/" + "x" * 101, "repository on GitHub"),
    ("ada/course.git", "leave .git out"),
])
def test_publish_refuses_what_is_no_address(unpublished, capsys, name, words):
    before, now = unpublished
    assert authoring.main(["publish", name] if name else ["publish"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: ") and words in said and said.count("\n") == 1
    assert now() == before


def test_record_stores_outputs_and_nothing_of_the_run(tmp_path):
    cells = [nbformat.v4.new_code_cell("print(1)\nprint(2)", id="a"),
             nbformat.v4.new_code_cell("import sys; print('x'); sys.stdout.flush(); print('y')")]
    path = tmp_path / "note.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    authoring.record(path)
    stored = nbformat.read(path, as_version=4)
    assert [cell.execution_count for cell in stored.cells] == [1, 2]
    assert [[output.text for output in cell.outputs] for cell in stored.cells] == \
        [["1\n2\n"], ["x\ny\n"]]
    assert stored.metadata == authoring.METADATA
    assert "execution" not in stored.cells[0].metadata


def test_record_leaves_a_failing_notebook_as_it_was(tmp_path):
    path = tmp_path / "note.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0")]), path)
    before = path.read_text()
    with pytest.raises(Exception, match="ZeroDivisionError"):
        authoring.record(path)
    assert path.read_text() == before
