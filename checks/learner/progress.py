"""Which tasks are right so far: remembered on the learner's machine, and sent nowhere.

A small JSON file in the learner's folder names the tasks that a check has found right, and those
that were tried. Outside such a folder (the course's own, Colab) the file lies in the user's state
folder. Where it cannot be written, nothing is remembered, and nobody is told.

Nothing is read or written while notebooks are graded, tested or recorded. What is shown then is
what this process has checked, so that a recorded notebook prints the same everywhere.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from helpers.formats import aligned

ROOT = Path(__file__).resolve().parent.parent.parent
AUTOMATIC = ("NBGRADER_EXECUTION", "PYTEST_VERSION", "PYTEST_CURRENT_TEST", "COURSE_QUIET", "CI")
HEADING = re.compile(r"^##+ \d+(?: to \d+)?\. .+ \((core|more), \d+ minutes\)$", re.M)
CHECKED = re.compile(r"^check\.(\w+)\(", re.M)
KINDS = {"core": "core", "more": "more", "warm-up": "warm-ups"}

_seen: dict[str, str] = {}  # what this process has checked: "strided_views/tiles" to "right"


class Listed(NamedTuple):
    """A task as its notebook has it: `kind` is "core", "more" or "warm-up"."""

    notebook: str  # "01_strided_views"
    name: str
    kind: str

    @property
    def key(self) -> str:
        """What it is remembered by; a lesson's number may change."""
        return f"{self.notebook[3:]}/{self.name}"


def remember(task: object, state: str) -> None:
    """Note a check's verdict on a task of a lesson. What was right once stays right."""
    lesson = lesson_of(task)
    if lesson is None or state not in ("ok", "no"):
        return
    key = f"{lesson}/{task.name}"
    if state == "ok" or known().get(key) != "right":
        _seen[key] = "right" if state == "ok" else "tried"
    with suppress(OSError, RuntimeError):  # a full disk, a folder that cannot be written, no home
        if path := find_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_name(f".{path.name}.{os.getpid()}")
            try:
                part.write_text(json.dumps({"tasks": known()}, indent=1) + "\n", encoding="utf-8")
                os.replace(part, path)
            finally:
                part.unlink(missing_ok=True)


def known() -> dict[str, str]:
    """What is remembered of each task, this process's checks included: "right" or "tried"."""
    stored = {}
    with suppress(OSError, RuntimeError, ValueError, LookupError, TypeError, AttributeError):
        if path := find_file():
            tasks = json.loads(path.read_text(encoding="utf-8"))["tasks"]
            stored = {key: state for key, state in tasks.items() if state in ("right", "tried")}
    right = {key for both in (stored, _seen) for key, state in both.items() if state == "right"}
    return {**stored, **_seen, **dict.fromkeys(right, "right")}


def find_file() -> Path | None:
    """Where the learner's progress is remembered; None where nothing is to be remembered."""
    if any(os.environ.get(name) for name in AUTOMATIC):
        return None
    here = Path.cwd()
    named = [Path(os.environ["COURSE_WORK"]).expanduser()] if os.environ.get("COURSE_WORK") else []
    for folder in (here, *here.parents, *named):
        if (folder / ".course").is_dir():
            return folder / ".course" / "progress.json"
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "strides-to-streams" / "progress.json"


def lesson_of(task: object) -> str | None:
    """The module of `checks` that has a task, as "strided_views"; None for a task of no lesson."""
    return next((name.partition(".")[2] for name, module in list(sys.modules.items())
                 if name.startswith("checks.")
                 and any(value is task for value in vars(module).values())), None)


def listed() -> Iterator[Listed]:
    """All tasks of the course, as the notebooks in the course's folder have them."""
    for folder in ("notebooks", "solutions"):  # warm-ups; the exercises, as they are authored
        for path in sorted((ROOT / folder).glob("*.ipynb")):
            kind = ""
            for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
                source, metadata = "".join(cell["source"]), cell["metadata"]
                if heading := cell["cell_type"] == "markdown" and HEADING.search(source):
                    kind = heading[1]
                elif metadata.get("course", {}).get("warm_up"):
                    kind = "warm-up"
                elif kind == "warm-up" or metadata.get("nbgrader", {}).get("grade"):
                    for name in CHECKED.findall(source):
                        yield Listed(path.stem, name, kind)
                        kind = "" if kind == "warm-up" else kind


def progress(lesson: str | None = None) -> None:
    """Print which tasks are right so far.

    Parameters
    ----------
    lesson : str, optional
        Only the exercises of this lesson, one a line: "strided_views". Otherwise all lessons, with
        their warm-ups.
    """
    states, tasks = known(), list(listed())
    if lesson is not None:
        rows = [(task.name, task.kind, {"right": "right", "tried": "not right yet"}.get(
            states.get(task.key), "not attempted yet"))
            for task in tasks if task.notebook[3:] == lesson and task.kind != "warm-up"]
        print(f"{how_many(row[2] == 'right' for row in rows)} exercises are right.")
        print("\n".join(line.rstrip() for line in aligned(rows, left=3)))
        return
    right = [states.get(task.key) == "right" for task in tasks]
    rows = [("", *KINDS.values())]
    for notebook in sorted({task.notebook for task in tasks}):
        rows.append((notebook, *(how_many(
            states.get(task.key) == "right" for task in tasks
            if (task.notebook, task.kind) == (notebook, kind)) for kind in KINDS)))
    print("\n".join([f"{how_many(right)} tasks are right.", "", *aligned(rows)]))


def how_many(right: Iterator[bool]) -> str:
    """ "2 of 6", and "-" of nothing."""
    right = list(right)
    return f"{sum(right)} of {len(right)}" if right else "-"
