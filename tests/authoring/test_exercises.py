"""Exercises are generated from solutions, and run from top to bottom unsolved."""

import re

import nbformat
import pytest
from jupyter_client import KernelManager
from nbclient import NotebookClient

from authoring.exercises import exercise_from, strip_solution, write_exercises
from authoring.notebook_form import (
    METADATA,
    ROOT,
    SOLUTION_TAG,
    AuthoringError,
    notebooks,
    read,
    stored_text,
)

EXERCISES = notebooks("exercises")


def test_exercises_are_up_to_date():
    assert write_exercises(check=True) == []


@pytest.fixture(scope="module")
def kernel():
    """One kernel for all exercises, since to start one takes longer than an unsolved notebook.

    The solutions, which begin with the same cells, are each run in a new one.
    """
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(cwd=str(ROOT / "exercises"))
    yield manager
    manager.shutdown_kernel(now=True)


@pytest.mark.parametrize("path", EXERCISES, ids=[path.stem for path in EXERCISES])
def test_unsolved_exercise_runs_and_says_so(path, kernel):
    notebook = read(path)
    notebook.cells.insert(0, nbformat.v4.new_code_cell("%reset -f"))
    NotebookClient(notebook, km=kernel, timeout=120).execute()
    checks = [cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade")]
    assert checks
    for cell in checks:
        printed = "".join(output.get("text", "") for output in cell.outputs)
        assert re.fullmatch(r"\[todo\] \w+: not attempted yet\n", printed), (cell.id, printed)


@pytest.mark.parametrize("path", EXERCISES, ids=[path.stem for path in EXERCISES])
def test_only_solutions_differ(path):
    solved = [cell for cell in read(ROOT / "solutions" / path.name).cells
              if SOLUTION_TAG not in cell.metadata.get("tags", [])]
    exercise = read(path)
    assert [cell.id for cell in exercise.cells] == [cell.id for cell in solved]
    for ours, theirs in zip(solved, exercise.cells):
        if not ours.metadata.get("nbgrader", {}).get("solution"):
            assert ours.source == theirs.source
        else:
            assert "SOLUTION" not in theirs.source
            assert "raise NotImplementedError()" in theirs.source or \
                "// YOUR CODE HERE" in theirs.source


def solve(path, answer):
    """Write a notebook with one solved task."""
    cell = nbformat.v4.new_code_cell(f"### BEGIN SOLUTION\n{answer}\n### END SOLUTION", id="task")
    cell.metadata.nbgrader = {"solution": True}
    path.parent.mkdir(exist_ok=True)
    path.write_text(stored_text(nbformat.v4.new_notebook(cells=[cell])))


def test_a_solution_is_written_as_an_exercise_and_one_without_a_solution_is_removed(
        tmp_path, commit):
    solve(tmp_path / "solutions" / "01_a.ipynb", 1)
    solve(tmp_path / "exercises" / "00_removed.ipynb", 1)
    commit()
    names = ["exercises/01_a.ipynb", "exercises/00_removed.ipynb"]
    assert write_exercises(check=True, root=tmp_path) == names
    assert [path.name for path in notebooks("exercises", tmp_path)] == ["00_removed.ipynb"]
    assert write_exercises(root=tmp_path) == names
    (written,) = notebooks("exercises", tmp_path)
    assert read(written).cells[0].source == "# YOUR CODE HERE\nraise NotImplementedError()"


@pytest.fixture
def course(tmp_path, commit):
    """Two lessons whose exercises are up to date and committed."""
    for name in ("01_a", "02_b"):
        solve(tmp_path / "solutions" / f"{name}.ipynb", name)
    commit()
    write_exercises(root=tmp_path)
    commit()
    return tmp_path


def texts(course):
    return {path.name: path.read_text() for path in sorted((course / "exercises").iterdir())}


def test_an_answered_exercise_is_up_to_date_and_stays(course):
    answered = course / "exercises" / "01_a.ipynb"
    answered.write_text("a learner's answer")
    (course / "exercises" / "mine_07.ipynb").write_text("a learner's own notebook")
    before = texts(course)
    assert write_exercises(check=True, root=course) == []
    assert write_exercises(root=course) == []
    assert texts(course) == before


def add_a_heading(path):
    notebook = read(path)
    notebook.cells.insert(0, nbformat.v4.new_markdown_cell("# New"))
    path.write_text(stored_text(notebook))


def test_an_exercise_that_was_edited_is_not_overwritten(course):
    """Not even where its solution has changed; and then no other exercise is written either."""
    for name in ("01_a", "02_b"):
        add_a_heading(course / "solutions" / f"{name}.ipynb")
    (course / "exercises" / "02_b.ipynb").write_text("an answer")
    before = texts(course)
    assert write_exercises(check=True, root=course) == ["exercises/01_a.ipynb",
                                                        "exercises/02_b.ipynb"]
    with pytest.raises(AuthoringError, match=r"^exercises/02_b.ipynb: edited here and not"):
        write_exercises(root=course)
    assert texts(course) == before


def test_an_answer_in_the_stored_form_is_not_overwritten_either(course):
    add_a_heading(course / "solutions" / "02_b.ipynb")
    answer = stored_text(nbformat.v4.new_notebook(metadata=nbformat.from_dict(METADATA)))
    (course / "exercises" / "02_b.ipynb").write_text(answer)
    with pytest.raises(AuthoringError, match=r"^exercises/02_b.ipynb: edited here and not"):
        write_exercises(root=course)
    assert texts(course)["02_b.ipynb"] == answer


def test_an_author_may_write_exercises_again_and_again(course):
    """Without a commit in between: what the tool wrote it may overwrite."""
    for _ in range(3):
        add_a_heading(course / "solutions" / "01_a.ipynb")
        assert write_exercises(check=True, root=course) == ["exercises/01_a.ipynb"]
        assert write_exercises(root=course) == ["exercises/01_a.ipynb"]
        assert write_exercises(check=True, root=course) == []


def test_a_leftover_exercise_that_was_edited_is_not_removed(course):
    (course / "solutions" / "01_a.ipynb").unlink()
    answered = course / "exercises" / "01_a.ipynb"
    answered.write_text("an answer")
    with pytest.raises(AuthoringError, match=r"^exercises/01_a.ipynb: edited here"):
        write_exercises(root=course)
    assert answered.read_text() == "an answer"


def test_without_git_no_exercise_is_overwritten_or_removed(tmp_path):
    solve(tmp_path / "solutions" / "01_a.ipynb", 1)
    (tmp_path / "exercises").mkdir()
    for name in ("01_a", "mine_07"):
        (tmp_path / "exercises" / f"{name}.ipynb").write_text("an answer")
    before = texts(tmp_path)
    with pytest.raises(AuthoringError, match="edited here"):
        write_exercises(root=tmp_path)
    assert texts(tmp_path) == before


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
