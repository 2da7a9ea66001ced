"""Minutes come from the notebooks' cells by one rule, and stand right wherever they are stated."""

import nbformat
import pytest

from authoring import minutes, timetable
from authoring.notebook_form import METADATA, AuthoringError, notebooks, read, stored_text
from authoring.timetable import with_minutes, write_minutes


def text(source, **course):
    return marked(nbformat.v4.new_markdown_cell(source), course)


def code(source, printed="", **course):
    cell = nbformat.v4.new_code_cell(source)
    cell.outputs = [nbformat.v4.new_output("stream", text=printed)]
    return marked(cell, course)


def marked(cell, course):
    if course:
        cell.metadata.course = course
    return cell


def notebook(*cells):
    return nbformat.v4.new_notebook(cells=list(cells), metadata=nbformat.from_dict(METADATA))


def words(number):
    return " ".join(["word"] * number)


def test_minutes_are_up_to_date_everywhere():
    assert write_minutes(check=True) == [], "run make tables"


@pytest.mark.parametrize("cell, expected", [
    (text(words(150)), 1.5),
    (text("[one](https://example.org/a/b/c) `np.where` [![no badge](a)](b)"), 0.02),
    (code("x = 1\n\ny = 2"), 0.4),
    (code("!ls\n%time f()\nx = 1"), 0.6),
    (code('k = r"""\n__global__ void f() {\n    g();\n}\n"""\nprint(k)'), 0.6 + 3 * 25 / 60),
    (code('text = """\nno kernel\n"""'), 0.6),
    (code("print(source)", "__global__ void f() {\n    g();\n}\n"), 0.2 + 3 * 25 / 60),
    (code("compare()", not_compared="time"), 3.2), (code("f()", not_compared="device"), 0.2),
    (code("a = ...\nb = ...", prediction=True), 1),
    (code("def f(x):\n    return ...", warm_up=True), 0),
    (text("### Warm-up: name it (4 minutes)\n\n" + words(300)), 4),
    (nbformat.v4.new_code_cell("import sys\n" * 30, metadata={
        "cellView": "form", "jupyter": {"source_hidden": True}}), 0),
    (nbformat.v4.new_code_cell("import sys\n" * 30), 6),
])
def test_the_rule(cell, expected):
    assert minutes.cell_minutes(cell) == pytest.approx(expected)


def test_the_recorded_answer_of_a_prediction_counts_like_an_open_one():
    listing = [nbformat.v4.new_output("stream", text="__global__ void f() {}\n")]
    cell = code("show()", answer=True, recorded=listing)
    assert minutes.cell_minutes(cell) == pytest.approx(12 / 60 + 25 / 60)


def lesson():
    return notebook(
        text("# 01 Toy\n\n**3 minutes.** " + words(996), path="spine"),
        text("## One\n\n" + words(998)), text(words(1000), path="core"),
        text("## Going deeper: two\n\n" + words(996), path="deeper"),
        text("### Three\n\n" + words(999)), text(words(1000), path="core"),
        text("## Four\n\n" + words(999)))


def test_a_heading_gives_its_path_to_its_section_and_a_cell_may_differ():
    assert [on for _, on, _ in minutes.with_paths(lesson())] == [
        "spine", "spine", "core", "deeper", "deeper", "core", "spine"]
    assert [section for _, _, section in minutes.with_paths(lesson())] == [
        "", "One", "One", *3 * ["Going deeper: two"], "Four"]


def test_a_lessons_minutes_by_path_and_without_sections():
    assert minutes.lesson_minutes(lesson(), "spine") == 30
    assert minutes.lesson_minutes(lesson()) == 50
    assert minutes.lesson_minutes(lesson(), "deeper") == 70
    assert minutes.lesson_minutes(lesson(), skipped=["One"]) == 30
    assert minutes.lesson_minutes(notebook(text("# Toy")), "spine") == 0
    with pytest.raises(AuthoringError, match="'Five' is no section of '# 01 Toy'"):
        minutes.lesson_minutes(lesson(), skipped=["Five"])


def exercises():
    return notebook(
        text("# 01 Toy: exercises\n\n**1 core task, 3 minutes.** Here."),
        text("## 1. A name ★ (core, 10 minutes)"), text("## 2 to 3. Two (core, 25 minutes)"),
        text("### 2. B ★★ (core, 10 minutes)"), text("### 3. C ★ (core, 15 minutes)"),
        text("## 4 to 6. Three ★★ (more, 25 minutes)"))


def test_tasks_and_what_a_first_cell_states():
    tasks = exercises()
    assert minutes.task_minutes(tasks, "core") == 35 and minutes.task_minutes(tasks, "more") == 25
    minutes.state_minutes(tasks)
    stated = tasks.cells[0].source.partition("\n\n")[2]
    assert stated == "**3 core tasks, 35 minutes; 3 more, 25 minutes.** Here."
    toy = lesson()
    minutes.state_minutes(toy)
    assert toy.cells[0].source.startswith("# 01 Toy\n\n**50 minutes.** word")


GUIDE = """# Teaching

| from | what | minutes | skip |
|---|---|---|---|
| 9:00 | Welcome | 10 | |
| 8:00 | [Toy](../notebooks/toy.ipynb) | 1 | One |
| 8:00 | [A name](../exercises/toy.ipynb), task 1 | 1 | |
| 8:00 | Break | 15 | |
| 8:00 | [Three](../exercises/toy.ipynb), task 4 | 1 | |

Lessons 1 minutes, tasks 1, breaks 1, the rest 1: 9:00 to 9:01.

The whole course, with every core task, is about 99 hours.
"""


@pytest.fixture
def course(tmp_path):
    for folder, toy in (("notebooks", lesson()), ("exercises", exercises()),
                        ("solutions", exercises())):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "toy.ipynb").write_text(stored_text(toy))
    (tmp_path / "docs").mkdir()
    (tmp_path / timetable.GUIDE).write_text(GUIDE)
    return tmp_path


def test_a_day_gets_minutes_hours_and_sums(course):
    lines = with_minutes(GUIDE, course).splitlines()
    assert lines[4:9] == [
        "| 9:00 | Welcome | 10 | |", "| 9:10 | [Toy](../notebooks/toy.ipynb) | 30 | One |",
        "| 9:40 | [A name](../exercises/toy.ipynb), task 1 | 10 | |", "| 9:50 | Break | 15 | |",
        "| 10:05 | [Three](../exercises/toy.ipynb), task 4 | 25 | |"]
    assert lines[10].endswith(" 30 minutes, tasks 35, breaks 15, the rest 10: 9:00 to 10:30.")
    assert lines[12] == "The whole course, with every core task, is about 1 hours."


def test_everything_that_states_minutes_is_written_once(course):
    names = ["docs/teaching.md", "notebooks/toy.ipynb", "solutions/toy.ipynb"]
    assert write_minutes(course, check=True) == names
    assert (course / timetable.GUIDE).read_text() == GUIDE
    assert write_minutes(course) == names
    assert "**50 minutes.**" in read(course / names[1]).cells[0].source
    assert write_minutes(course) == []


def test_a_lesson_in_which_somebody_is_at_work_is_not_written(course, commit):
    commit(course)
    path = course / "notebooks" / "toy.ipynb"
    path.write_text(path.read_text().replace('"name": "python"', '"name": "mine"'))
    with pytest.raises(AuthoringError, match="notebooks/toy.ipynb: edited here"):
        write_minutes(course)
    assert (course / timetable.GUIDE).read_text() == GUIDE


@pytest.mark.parametrize("path", notebooks("notebooks"), ids=lambda path: path.stem)
def test_warm_ups_and_marks_have_their_form(path):
    """Two to five minutes each; their heading, the stub and the check follow one another."""
    cells = read(path).cells
    stubs = [k for k, cell in enumerate(cells) if minutes.course_of(cell).get("warm_up")]
    headings = [k for k, cell in enumerate(cells) if cell.source.startswith("### Warm-up")]
    assert headings == [k - 1 for k in stubs]
    for k in headings:
        assert 2 <= int(minutes.WARM_UP.search(cells[k].source)[1]) <= 5
        assert "check." in cells[k + 2].source and not cells[k + 1].outputs
        assert "not attempted yet" in cells[k + 2].outputs[0].text
    for cell in cells:
        assert minutes.course_of(cell).get("path", "core") in minutes.PATHS
        if cell.source.startswith("## Going deeper"):
            assert minutes.course_of(cell).get("path") == "deeper"
