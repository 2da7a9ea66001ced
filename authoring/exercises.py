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
from .repository import committed
from .working_copy import refuse_to_lose, text_now, update_files, would_be_lost

# nbgrader's delimiters: `### BEGIN SOLUTION`, in CUDA `// ### BEGIN SOLUTION`.
DELIMITER = re.compile(r"^(\s*)(//\s*)?###\s*(BEGIN|END) SOLUTION\s*$")
STUBS = {"Python": ("# YOUR CODE HERE", "raise NotImplementedError()"),
         "CUDA": ("// YOUR CODE HERE",)}


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
    is_empty = False
    for number, line in enumerate(source.split("\n"), 1):
        match, wrong = DELIMITER.match(line), ""
        indent, slashes, word = match.groups() if match else ("", "", "")
        kind = "CUDA" if slashes else "Python"
        if not match and re.search(r"(BEGIN|END) SOLUTION", line):
            wrong = "a solution delimiter must stand alone on its line, as `### BEGIN SOLUTION`"
        elif word == "BEGIN" and opened:
            wrong = f"BEGIN SOLUTION inside the region that line {opened[0]} opened"
        elif word == "END" and not opened:
            wrong = "END SOLUTION without a BEGIN"
        elif word == "END" and opened[1] != kind:
            wrong = f"a {opened[1]} BEGIN (line {opened[0]}) ends with a {kind} END"
        elif word == "END" and is_empty:
            wrong = "the solution is empty"
        if wrong:
            raise AuthoringError(f"{place}, line {number}: {wrong}.")
        if word == "BEGIN":
            opened, is_empty = (number, kind), True
            kept += [indent + stub for stub in STUBS[kind]]
        elif word == "END":
            opened = None
        elif opened:
            is_empty = is_empty and not line.strip()
        else:
            kept.append(line)
    if opened:
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


def exercise_text(solution: Path) -> str:
    """The text of the exercise notebook that belongs to a solved one."""
    return stored_text(exercise_from(read(solution), f"solutions/{solution.name}"))


def write_exercises(check: bool = False, root: Path = ROOT) -> list[str]:
    """Write `exercises/` from `solutions/`, or with `check` only name what is not up to date.

    An exercise that was edited here, and is up to date in git, stays as it is. So does a notebook
    that git does not know.

    Returns
    -------
    list of str
        The files written and removed, or with `check` the files that are missing, out of date or
        without a solution.

    Raises
    ------
    AuthoringError
        When a file to be written or removed was edited here; no file is then changed.
    """
    texts = {f"exercises/{path.name}": exercise_text(path) for path in notebooks("solutions", root)}
    changed = [name for name, text in texts.items() if text_now(name, root) != text and not (
        committed(name, root) == text and would_be_lost(name, root))]  # an answered exercise
    removed = [f"exercises/{path.name}" for path in notebooks("exercises", root)
               if f"exercises/{path.name}" not in texts]
    if not check:
        refuse_to_lose(removed, root)
        update_files({name: texts[name] for name in changed}, root, generated=set(changed))
        for name in removed:
            (root / name).unlink()
    return changed + removed
