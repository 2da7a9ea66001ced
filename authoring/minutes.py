"""How many minutes a lesson or an exercise takes: one rule, from the notebook's cells.

A lesson's cells are on one of three paths, each of which contains the ones before it: "spine", the
way for one learner alone; "core", the whole lesson; "deeper", what is optional (Going deeper). A
cell names its path in its metadata, as {"course": {"path": "deeper"}}. On a heading it counts for
the whole section below it, unless a cell in there names another path. Everything else is core.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from functools import cache

import nbformat

from .notebook_form import AuthoringError, course_of, outputs_of

WORDS_A_MINUTE = 100  # of readers whose second language is English
PYTHON_LINE, KERNEL_LINE = 12 / 60, 25 / 60
PREDICTION, TIMES = 1, 3  # one prediction; one table or picture of times
PATHS = ("spine", "core", "deeper")
WARM_UP = re.compile(r"^### Warm-up: .+ \((\d+) minutes\)$", re.M)
# "## 1. Tiles ★ (core, 10 minutes)"; three small ones in one: "## 8 to 10. ...".
TASK = re.compile(r"^##+ (\d+)(?: to (\d+))?\. (.+?) ★+ \((core|more), (\d+) minutes\)$", re.M)
HEADING = re.compile(r"^(#+) (.+)$", re.M)
STATED = re.compile(r"\*\*\d[^*\n]* minutes\.\*\*")  # in a notebook's first cell


def cell_minutes(cell: nbformat.NotebookNode) -> float:
    """The minutes of one cell of a lesson.

    A warm-up takes the minutes that its heading states, the text and the answer included. Folded
    cells, the setup and an opening picture's, take none.
    """
    course = course_of(cell)
    if cell.cell_type != "code":
        found = WARM_UP.search(cell.source)
        return float(found[1]) if found else count_words(cell.source) / WORDS_A_MINUTE
    if "source_hidden" in cell.metadata.get("jupyter", {}) or course.get("warm_up"):
        return 0.0
    if course.get("prediction"):
        return float(PREDICTION)
    python, kernel = count_lines(cell.source)
    kept = course.get("not_compared") != "compiler text"  # no kernel to read, but its errors
    printed = "".join(output.get("text", "") for output in outputs_of(cell) if kept)
    kernel += len(printed.splitlines()) if "__global__ void" in printed else 0
    times = TIMES if course.get("not_compared") == "time" else 0
    return python * PYTHON_LINE + kernel * KERNEL_LINE + times


def count_words(text: str) -> int:
    """The words of a text in Markdown, without badges and the targets of links."""
    text = re.sub(r"\[!\[[^\]]*\]\([^)]*\)\]\([^)]*\)|</?\w+>", "", text)
    return len(re.findall(r"\w[\w'.-]*", re.sub(r"\]\([^)]*\)", "]", text)))


@cache
def count_lines(source: str) -> tuple[int, int]:
    """The lines of Python in a cell, and those of kernels in its strings; blank lines left out."""
    kernel: set[int] = set()
    for node in ast.walk(ast.parse(re.sub(r"^(\s*)[%!].*$", r"\1pass", source, flags=re.M))):
        if not isinstance(node, (ast.Constant, ast.JoinedStr)):
            continue
        text = "".join(part.value for part in ast.walk(node) if isinstance(part, ast.Constant)
                       and isinstance(part.value, str))
        if "\n" in text and ";" in text:
            kernel |= set(range(node.lineno + 1, node.end_lineno))
    filled = {number for number, line in enumerate(source.splitlines()) if line.strip()}
    return len(filled - kernel), len(filled & kernel)


def with_paths(notebook: nbformat.NotebookNode) -> Iterator[tuple[nbformat.NotebookNode, str, str]]:
    """Each cell with its path and with the `##` section that it stands in ("" above the first)."""
    marks: dict[int, str] = {}  # the paths that headings of each level have named
    section = ""
    for cell in notebook.cells:
        own = course_of(cell).get("path")
        if cell.cell_type == "markdown" and (heading := HEADING.search(cell.source)):
            level = len(heading[1])
            marks = {other: path for other, path in marks.items() if other < level}
            if own:
                marks[level] = own
            section = heading[2] if level == 2 else section
        yield cell, own or (marks[max(marks)] if marks else "core"), section


def lesson_minutes(notebook: nbformat.NotebookNode, path: str = "core",
                   skipped: Collection[str] = ()) -> int:
    """The minutes of a lesson on a path, without the skipped sections, to the nearest five."""
    wanted, cells = PATHS[:PATHS.index(path) + 1], list(with_paths(notebook))
    if unknown := set(skipped) - {section for _, _, section in cells}:
        raise AuthoringError(f"{sorted(unknown)[0]!r} is no section of"
                             f" {notebook.cells[0].source.partition(chr(10))[0]!r}")
    return to_five(sum(cell_minutes(cell) for cell, on, section in cells
                       if on in wanted and section not in skipped))


def tasks_of(notebook: nbformat.NotebookNode) -> dict[int, tuple[str, int, int]]:
    """Of each task of an exercise notebook: "core" or "more", minutes, how many tasks it counts.

    A heading such as "8 to 10" counts as three.
    """
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    return {int(first): (kind, int(minutes), int(last or first) - int(first) + 1)
            for first, last, _, kind, minutes in TASK.findall(text)}


def task_minutes(notebook: nbformat.NotebookNode, kind: str) -> int:
    """The minutes of an exercise notebook's "core" tasks, or of the "more" that there are."""
    return sum(minutes for its, minutes, _ in tasks_of(notebook).values() if its == kind)


def to_five(minutes: float) -> int:
    """The nearest multiple of five; of a few minutes five, of none 0."""
    return max(5 * (minutes > 0), 5 * round(minutes / 5))


def state_minutes(notebook: nbformat.NotebookNode) -> None:
    """Write its minutes into a notebook's first cell, where that cell states some."""
    if tasks := tasks_of(notebook).values():
        parts = []
        for kind in ("core", "more"):
            if number := sum(count for its, _, count in tasks if its == kind):
                called = f"core task{'s' * (number > 1)}" if kind == "core" else kind
                parts.append(f"{number} {called}, {task_minutes(notebook, kind)} minutes")
        text = f"**{'; '.join(parts)}.**"
    else:
        text = f"**{lesson_minutes(notebook)} minutes.**"
    notebook.cells[0].source = STATED.sub(text, notebook.cells[0].source, count=1)
