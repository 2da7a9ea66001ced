"""`python -m authoring`: each command does its work, and `--check` only says what is not done."""

import shutil

import nbformat
import pytest

from authoring.__main__ import main, parser
from authoring.notebook_form import ROOT, read, stored_text


@pytest.fixture
def course(tmp_path):
    """A folder with one solved task and what `new` needs."""
    for folder in ("notebooks", "solutions", "checks", "docs", "tests/checks/answers"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("pyproject.toml", "README.md", "docs/measured.md",
                 "notebooks/00_start_here.ipynb"):
        shutil.copy(ROOT / name, tmp_path / name)
    cell = nbformat.v4.new_code_cell("### BEGIN SOLUTION\n1\n### END SOLUTION", id="task")
    cell.metadata.nbgrader = {"solution": True}
    notebook = nbformat.v4.new_notebook(cells=[cell])
    (tmp_path / "solutions" / "00_start_here.ipynb").write_text(stored_text(notebook))
    return tmp_path


def test_check_names_what_is_not_up_to_date_and_changes_nothing(course, capsys):
    exercise = course / "exercises" / "00_start_here.ipynb"
    assert main(["exercises", "--check"], course) == 1
    assert not exercise.exists()
    assert capsys.readouterr().out == \
        "exercises/00_start_here.ipynb: not up to date, run make exercises\n"
    assert main(["exercises"], course) == 0 and exercise.exists()
    assert capsys.readouterr().out == "exercises/00_start_here.ipynb\n"
    assert main(["exercises", "--check"], course) == 0
    assert capsys.readouterr().out == "nothing to change\n"


def test_tables_are_written_into_the_pages_of_the_folder(course, commit, capsys):
    page = course / "docs" / "measured.md"
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("| **all** | 14 |", "| **all** | 15 |"), encoding="utf-8")
    assert main(["tables", "--check"], course) == 1
    assert main(["tables"], course) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: docs/measured.md: edited here and not committed")
    commit()
    assert main(["tables"], course) == 0
    assert page.read_text(encoding="utf-8") == text


def test_record_runs_the_named_notebooks(course, capsys):
    path = course / "notebooks" / "01_one.ipynb"
    path.write_text(stored_text(nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("print(6 * 7)", id="product")])))
    assert main(["record", str(path)], course) == 0
    assert read(path).cells[0].outputs[0].text == "42\n"


def test_new_names_the_files_and_an_error_is_one_line(course, capsys):
    assert main(["new", "15_sparse_arrays"], course) == 0
    assert "checks/sparse_arrays.py" in capsys.readouterr().out.splitlines()
    assert main(["new", "15_again"], course) == 1
    assert capsys.readouterr().err == "error: 15_sparse_arrays.ipynb has the number 15\n"


def test_every_command_is_a_target_of_the_makefile():
    (commands,) = (action.choices for action in parser()._actions if action.choices)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in commands:
        assert f"\n{command}:  #@ " in makefile and f"-m authoring {command} " in makefile
