"""Write exercises/ from solutions/: each solution becomes a stub, everything else stays."""

from __future__ import annotations

import copy
import re
from pathlib import Path

import nbformat

from .notebook_form import (
    IGNORE_TAG,
    ROOT,
    SOLUTION_TAG,
    AuthoringError,
    notebooks,
    read,
    stored_text,
)

# nbgrader's delimiters: `### BEGIN SOLUTION`, in CUDA `// ### BEGIN SOLUTION`.
DELIMITER = re.compile(r"^(\s*)(//\s*)?###\s*(BEGIN|END) SOLUTION\s*$")
PYTHON_STUB = ("# YOUR CODE HERE", "raise NotImplementedError()")
CUDA_STUB = ("// YOUR CODE HERE",)


def strip_solution(source: str, place: str) -> str:
    """Replace each solution in a cell's text by its stub.

    Parameters
    ----------
    source : str
        The cell's text with `### BEGIN SOLUTION` and `### END SOLUTION` lines around each
        solution, or the same behind `//` inside a CUDA string.
    place : str
        "file, cell n (id)" for messages.

    Returns
    -------
    str
        The text with a stub in place of each solution.

    Raises
    ------
    AuthoringError
        For nested, unmatched or empty regions, and for delimiters of two kinds in one pair.
    """
    kept: list[str] = []
    opened: tuple[int, str] | None = None  # line number and kind of the open delimiter
    lines_inside = 0
    for number, line in enumerate(source.split("\n"), 1):
        match = DELIMITER.match(line)
        if match is None:
            if re.search(r"(BEGIN|END) SOLUTION", line):
                raise AuthoringError(f"{place}, line {number}: a solution delimiter must stand"
                                     " alone on its line, as `### BEGIN SOLUTION`.")
            if opened is None:
                kept.append(line)
            else:
                lines_inside += bool(line.strip())
            continue
        indent, cuda, word = match.groups()
        kind = "CUDA" if cuda else "Python"
        if word == "BEGIN":
            if opened is not None:
                raise AuthoringError(f"{place}, line {number}: BEGIN SOLUTION inside the region"
                                     f" that line {opened[0]} opened.")
            opened, lines_inside = (number, kind), 0
            kept += [indent + stub for stub in (CUDA_STUB if cuda else PYTHON_STUB)]
            continue
        if opened is None:
            raise AuthoringError(f"{place}, line {number}: END SOLUTION without a BEGIN.")
        if opened[1] != kind:
            raise AuthoringError(f"{place}, line {number}: a {opened[1]} BEGIN (line {opened[0]})"
                                 f" ends with a {kind} END.")
        if not lines_inside:
            raise AuthoringError(f"{place}, line {number}: the solution is empty.")
        opened = None
    if opened is not None:
        raise AuthoringError(f"{place}, line {opened[0]}: BEGIN SOLUTION is never ended.")
    return "\n".join(kept)


def exercise_from(solution: nbformat.NotebookNode, name: str) -> nbformat.NotebookNode:
    """The learner's notebook: solutions replaced by stubs, outputs and cell numbers removed.

    Parameters
    ----------
    solution : NotebookNode
        The solved notebook; it is not changed.
    name : str
        Its file name, for messages.

    Raises
    ------
    AuthoringError
        As `strip_solution`, and for a solution in a cell that nbgrader would not take for one.
    """
    exercise = copy.deepcopy(solution)
    exercise.cells = []
    for number, cell in enumerate(copy.deepcopy(solution.cells), 1):
        if SOLUTION_TAG in cell.metadata.get("tags", []):
            continue
        place = f"{name}, cell {number} ({cell.id})"
        stripped = strip_solution(cell.source, place)
        if stripped != cell.source and not cell.metadata.get("nbgrader", {}).get("solution"):
            raise AuthoringError(f"{place}: a solution in a cell whose nbgrader metadata does not"
                                 " say `solution: true`.")
        cell.source = stripped
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
            # Outputs of exercises are not compared, so the reasons for not comparing go too.
            tags = [tag for tag in cell.metadata.get("tags", []) if tag != IGNORE_TAG]
            cell.metadata.pop("course", None)
            cell.metadata.pop("tags", None)
            if tags:
                cell.metadata.tags = tags
        exercise.cells.append(cell)
    return exercise


def write_exercises(check: bool = False, root: Path = ROOT) -> list[str]:
    """Write `exercises/` from `solutions/`, or with `check` only name what is not up to date.

    Returns
    -------
    list of str
        The files written and removed, or with `check` the files that are missing, out of date or
        without a solution.
    """
    changed = []
    solutions = notebooks("solutions", root)
    for path in solutions:
        text = stored_text(exercise_from(read(path), f"solutions/{path.name}"))
        target = root / "exercises" / path.name
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            changed.append(f"exercises/{path.name}")
            if not check:
                target.parent.mkdir(exist_ok=True)
                target.write_text(text, encoding="utf-8")
    solved = {path.name for path in solutions}
    for path in notebooks("exercises", root):
        if path.name not in solved:
            changed.append(f"exercises/{path.name}")
            if not check:
                path.unlink()
    return changed
