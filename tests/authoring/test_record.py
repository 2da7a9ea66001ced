"""Recording runs a notebook and stores what it prints, in a form that depends on nothing else."""

import json

import nbformat
import pytest

from authoring.notebook_form import METADATA, ROOT, AuthoringError, read
from authoring.record import record


def test_record_stores_outputs_and_nothing_of_the_run(tmp_path):
    cells = [nbformat.v4.new_code_cell("print(1)\nprint(2)", id="a"),
             nbformat.v4.new_code_cell("import sys; print('x'); sys.stdout.flush(); print('y')")]
    path = tmp_path / "note.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    record(path)
    stored = read(path)
    assert [cell.execution_count for cell in stored.cells] == [1, 2]
    assert [[output.text for output in cell.outputs] for cell in stored.cells] == \
        [["1\n2\n"], ["x\ny\n"]]
    assert stored.metadata == METADATA
    assert "execution" not in stored.cells[0].metadata


def test_record_keeps_a_pictures_alternative_text_and_no_other_metadata(tmp_path):
    picture = ("from IPython.display import display\n"
               "metadata = {'image/png': {'alt': 'A line', 'width': 3}, 'isolated': True}\n"
               "display({'image/png': 'iVBORw0KGgo='}, raw=True, metadata=metadata)")
    path = tmp_path / "note.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(picture)]), path)
    record(path)
    (output,) = read(path).cells[0].outputs
    assert output.metadata == {"image/png": {"alt": "A line"}}


def test_record_leaves_a_failing_notebook_as_it_was(tmp_path):
    path = tmp_path / "note.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0")]), path)
    before = path.read_text()
    with pytest.raises(Exception, match="ZeroDivisionError"):
        record(path)
    assert path.read_text() == before


def test_runs_with_a_key_are_added_to_the_file_that_is_asked_for(tmp_path, monkeypatch):
    cell = ("from helpers import bounds, compare, recordings, timing\n"
            "timing.ceiling = lambda *which: bounds.Ceiling('toy', 1e9, 1e9)\n"
            "for key in ('toy/f', None):\n"
            "    compare({'f': lambda: 0}, key=key, title='F', seconds=0.01)\n"
            "print(sorted(set(dir()) & {'sys', 'runs', 'keep_runs'}))")
    path = tmp_path / "note.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)]), path)
    monkeypatch.setenv("COURSE_RECORD_RUNS", str(tmp_path / "runs.json"))
    record(path)
    assert read(path).cells[0].outputs[0].text == "[]\n"
    content = json.loads((tmp_path / "runs.json").read_text())
    assert list(content["runs"]) == ["toy/f"]
    assert content["runs"]["toy/f"]["rows"][0]["name"] == "f" and content["machine"]


def test_a_notebook_that_is_saved_while_it_is_recorded_stays_as_it_was_saved(tmp_path):
    path = tmp_path / "note.ipynb"
    code = f"open({str(path)!r}, 'a').write(' ')"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)]), path)
    before = path.read_text()
    with pytest.raises(AuthoringError, match="changed while its cells ran"):
        record(path)
    assert path.read_text() == before + " "


def test_an_exercise_is_not_recorded():
    path = ROOT / "exercises" / "03_einsum.ipynb"
    before = path.read_bytes()
    with pytest.raises(AuthoringError, match="exercises are not recorded"):
        record(path)
    assert path.read_bytes() == before
