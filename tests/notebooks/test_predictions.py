"""Predictions: the learner types first, and the answer stands nowhere in the open."""

import ast
import os
import re
import subprocess
import sys
from types import SimpleNamespace

import nbformat
import pytest

from authoring.notebook_form import (
    FOLDERS,
    METADATA,
    ROOT,
    course_of,
    lesson_paths,
    notebooks,
    outputs_of,
    read,
)
from authoring.record import hidden, record

LESSONS = lesson_paths()
MOST = 3  # predictions in a lesson
ROW = re.compile(r"^(?P<name>.*\S)\s{2,}-\s{2,}(?P<measured>\S.*)$", re.M)
NUMBER = re.compile(r"(?<![\w.])(\d[\d,]*(?:\.\d+)?)(?:\s*([A-Za-z%]+))?")


def problems(notebook):
    """Each way in which a lesson's predictions do not have their form, as a sentence."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    predictions = [cell for cell in code if course_of(cell).get("prediction")]
    found = []
    if len(predictions) > MOST:
        found.append(f"{len(predictions)} predictions, more than {MOST}")
    asked = {cell.id for cell in hidden(notebook)}
    waiting = None  # the prediction whose answer has not come yet
    last = None
    for cell in code:
        course = course_of(cell)
        if course.get("prediction"):
            if not is_left_empty(cell.source):
                found.append(f"{cell.id}: a prediction only has lines like `name = ...`")
            waiting = cell
        elif course.get("answer"):
            if waiting is None and not (last is not None and course_of(last).get("answer")):
                found.append(f"{cell.id}: an answer without a prediction before it")
            waiting = None
            found += in_the_open(cell, notebook.cells)
        elif waiting is not None and cell.outputs:
            found.append(f"{cell.id}: prints between the prediction {waiting.id} and its answer")
        if cell.id in asked and cell.outputs:
            found.append(f"{cell.id}: its output is stored in the open, run make record")
        if "recorded" in course and cell.id not in asked:
            found.append(f"{cell.id}: hides outputs, and nothing asks for them")
        last = cell
    if waiting is not None:
        found.append(f"{waiting.id}: a prediction without an answer")
    return found


def is_left_empty(source):
    """Whether every statement is `name = ...`."""
    return all(isinstance(line, ast.Assign) and isinstance(line.value, ast.Constant)
               and line.value.value is ... for line in ast.parse(source).body)


def in_the_open(answer, cells):
    """Where an answer can be seen before its cell is run."""
    found = []
    printed = "".join(output.get("text", "") for output in outputs_of(answer))
    measured = [row["measured"] for row in ROW.finditer(printed)]
    if not measured:
        found.append(f"{answer.id}: nothing is recorded, or show_predictions does not print it")
    for cell in around(answer, cells):
        told = [value for value in measured if tells(cell.source, value)]
        found += [f"{cell.id}: tells the answer {value}" for value in told]
    return found


def around(answer, cells):
    """The texts that are read with an answer, from above its prediction to below it."""
    last = first = cells.index(answer)
    while first and not course_of(cells[first]).get("prediction"):
        first -= 1
    while first and cells[first - 1].cell_type == "markdown":
        first -= 1
    while last + 1 < len(cells) and cells[last + 1].cell_type == "markdown":
        last += 1
    return [cell for cell in cells[first:last + 1]
            if cell.cell_type == "markdown" or course_of(cell).get("prediction")]


def tells(text, measured):
    """Whether a text has a number of the answer, also rounded; a single digit only with its unit.

    A list is told as a whole: the question may give its numbers. The address of a link is not read.

    >>> tells("about 6.2 times", "6.23 times"), tells("as in lesson 01", "0.53")
    (True, False)
    """
    if measured.startswith("["):
        return measured.strip("[]") in text
    text = re.sub(r"\]\([^)]*\)", "]", text)
    numbers = [(float(n.replace(",", "")), unit) for n, unit in NUMBER.findall(measured)]
    for written, unit in NUMBER.findall(text):
        plain = written.rstrip(",").replace(",", "")
        if plain[0] == "0" and plain[1:2].isdigit():
            continue  # the number of a lesson
        decimals = len(plain.partition(".")[2])
        for value, its in numbers:
            if float(plain) == round(value, decimals) and (
                    len(plain.replace(".", "")) > 1 or unit == its != ""):
                return True
    return False


@pytest.mark.parametrize("path", LESSONS, ids=[path.stem for path in LESSONS])
def test_predictions_have_their_form(path):
    assert problems(read(path)) == []


def test_what_stands_below_a_question_is_hidden_until_it_is_run():
    asks, tells = (nbformat.v4.new_markdown_cell(text, id=f"text-{number}") for number, text
                   in enumerate(["Before you run the second cell: how many?", "They are three."]))
    prints = [nbformat.v4.new_output("stream", text="3\n")]
    before, quiet, first, second, after = [nbformat.v4.new_code_cell(
        "x", id=name, outputs=prints[:name != "quiet"])
        for name in ("before", "quiet", "first", "second", "after")]
    lesson = nbformat.v4.new_notebook(cells=[before, asks, quiet, first, second, tells, after])
    assert list(hidden(lesson)) == [quiet, first, second]
    first.metadata.course = nbformat.from_dict({"recorded": first.outputs})
    after.metadata.course = nbformat.from_dict({"recorded": after.outputs})
    first.outputs = []
    assert problems(lesson) == [
        "second: its output is stored in the open, run make record",
        "after: hides outputs, and nothing asks for them"]


def test_the_address_of_a_link_tells_nothing():
    assert not tells("as in [our kernel](17_one_kernel.ipynb)", "17.2 times")
    assert tells("[about 17 times](17_one_kernel.ipynb)", "17.2 times")


def test_a_list_is_told_as_a_whole():
    assert tells("So it gives 10, 10, 20.", "[10, 10, 20]")
    assert not tells("The biases are 10, 20 and 30.", "[10, 10, 20]")


def test_only_lessons_have_predictions():
    for folder in FOLDERS[1:]:
        for path in notebooks(folder):
            marks = {key for cell in read(path).cells for key in course_of(cell)}
            assert not marks & {"prediction", "answer", "recorded"}, path


# ---- a toy lesson -------------------------------------------------------------------------------


def cell(name, source, **course):
    made = nbformat.v4.new_code_cell(source, id=name)
    if course:
        made.metadata.course = course
    return made


def lesson():
    """A lesson that an author has run in JupyterLab, recorded before it was edited."""
    old = [nbformat.v4.new_output("stream", text="old")]
    made = nbformat.v4.new_notebook(metadata=nbformat.from_dict(METADATA), cells=[
        cell("setup", "from helpers import show_predictions"),
        nbformat.v4.new_markdown_cell("**Predict.** A float32 has 4 bytes.", id="ask"),
        cell("guess", "nbytes = ...  # how many bytes?", prediction=True),
        cell("count", "measured = 17 * 4"),
        cell("answer", "show_predictions(('bytes', nbytes, measured, 'bytes'))\nmeasured",
             answer=True, recorded=old),
        nbformat.v4.new_markdown_cell("If yours is smaller, you have left out one.", id="why"),
        cell("after", "print(measured)", recorded=old),
    ])
    by_name(made, "answer").outputs = old
    return made


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The lesson as `make record` stores it."""
    path = tmp_path_factory.mktemp("toy") / "01_toy.ipynb"
    nbformat.write(lesson(), path)
    record(path)
    return path.read_text()


@pytest.fixture
def path(tmp_path, recorded):
    """The recorded lesson in a file of the test's own."""
    path = tmp_path / "01_toy.ipynb"
    path.write_text(recorded)
    return path


def by_name(notebook, name):
    return next(cell for cell in notebook.cells if cell.id == name)


def test_record_moves_the_answer_into_metadata_and_leaves_other_outputs(path):
    """In place of what was recorded before, also where a cell is no longer an answer."""
    notebook = read(path)
    answer = by_name(notebook, "answer")
    assert answer.outputs == [] and answer.execution_count == 4
    stream, value = answer.metadata.course.recorded
    assert stream.text == "       yours  measured\nbytes      -  68 bytes\n"
    assert value.data["text/plain"] == "68"
    assert outputs_of(answer) == [stream, value]
    assert by_name(notebook, "after").outputs[0].text == "68\n"
    assert "recorded" not in course_of(by_name(notebook, "after"))
    assert problems(notebook) == []


def damage_open(notebook):
    answer = by_name(notebook, "answer")
    answer.outputs = answer.metadata.course.pop("recorded")


def damage_text(notebook):
    by_name(notebook, "ask").source += " That is 68 in all."


def damage_below(notebook):
    by_name(notebook, "why").source += " The 68 bytes are few."


def damage_comment(notebook):
    by_name(notebook, "guess").source = "nbytes = ...  # 68"


def damage_filled(notebook):
    by_name(notebook, "guess").source = "nbytes = 68"


def damage_between(notebook):
    by_name(notebook, "count").outputs = [nbformat.v4.new_output("stream", text="68\n")]


def damage_unrecorded(notebook):
    by_name(notebook, "answer").metadata.course.recorded = []


def damage_answer_only(notebook):
    notebook.cells.remove(by_name(notebook, "guess"))


def damage_prediction_only(notebook):
    notebook.cells.remove(by_name(notebook, "answer"))


def damage_hidden(notebook):
    by_name(notebook, "after").metadata.course = {"recorded": []}


def damage_many(notebook):
    at = notebook.cells.index(by_name(notebook, "why"))
    pair = [by_name(notebook, "guess"), by_name(notebook, "answer")]
    notebook.cells[at:at] = 3 * pair


@pytest.mark.parametrize("damage, words", [
    (damage_open, "stored in the open"), (damage_text, "ask: tells the answer 68 bytes"),
    (damage_below, "why: tells"), (damage_comment, "guess: tells"),
    (damage_filled, "only has lines like"), (damage_between, "count: prints between"),
    (damage_unrecorded, "nothing is recorded"), (damage_answer_only, "without a prediction"),
    (damage_prediction_only, "without an answer"), (damage_hidden, "nothing asks for them"),
    (damage_many, "4 predictions, more than 3"),
])
def test_what_breaks_the_form_is_found(path, damage, words):
    notebook = read(path)
    damage(notebook)
    assert any(words in sentence for sentence in problems(notebook)), problems(notebook)


@pytest.mark.parametrize("text, measured, told", [
    ("about 6.2 times", "6.23 times", True), ("about 6 times", "6.23 times", True),
    ("6 cells below", "6.23 times", False), ("402,653,184 bytes", "402,653,184 bytes", True),
    ("float32", "32 bytes", False), ("page 32", "32 bytes", True), ("4 bytes", "68 bytes", False),
    ("strides", "(8, 16)", False), ("(8, 16)", "(8, 16)", True), ("a view", "view", False),
])
def test_a_number_of_the_answer_is_recognised(text, measured, told):
    assert tells(text, measured) == told


# ---- nbval --------------------------------------------------------------------------------------


def test_a_collected_cell_is_compared_with_what_is_recorded(path, pytestconfig):
    """nbval reads `cell.outputs`; the lessons with predictions show that it then compares them."""
    hook = pytestconfig.pluginmanager.get_plugin(str(ROOT / "conftest.py")).pytest_itemcollected
    for cell in read(path).cells:
        item = SimpleNamespace(cell=cell)
        if cell.cell_type == "code":
            hook(item)
            assert bool(item.cell.outputs) == (cell.id in ("answer", "after"))
    hook(SimpleNamespace(name="a test that is no cell"))


@pytest.mark.slow
def test_nbval_compares_what_is_recorded_in_metadata(path):
    text = path.read_text()
    assert text.count('"text/plain": "68"') == 1
    path.write_text(text.replace('"text/plain": "68"', '"text/plain": "67"'))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:nbval", "-p", "conftest", "--nbval",
         "--nbval-current-env", "-p", "no:cacheprovider", "-q", str(path)], cwd=path.parent,
        capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])})
    assert "1 failed, 4 passed" in done.stdout and "67" in done.stdout, done.stdout + done.stderr
