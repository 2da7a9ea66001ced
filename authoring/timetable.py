"""Write minutes wherever they are stated: in the notebooks, and in the days for teachers."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from .minutes import lesson_minutes, state_minutes, task_minutes, tasks_of
from .notebook_form import ROOT, notebooks, read, stored_text
from .working_copy import update_files

GUIDE = "docs/teaching.md"
# A row of a day: from, what, minutes, the sections that are skipped. The link is a lesson's or a
# task's; what has none, a break for example, keeps its minutes.
ROW = re.compile(r"^\| (\d+):(\d\d) \| (.+?) \| (\d+) \| (.*?) ?\|$", re.M)
LINK = re.compile(r"\]\(\.\./(notebooks/\S+|exercises/\S+)\)(?:, task (\d+))?")
SUMS = re.compile(r"^Lessons \d+ minutes, tasks \d+,.* \d+:\d\d\.$", re.M)
WHOLE = re.compile(r"(with every core task, is about) \d+ hours")


def write_minutes(root: Path = ROOT, check: bool = False) -> list[str]:
    """Write minutes into lessons, solutions and the guide for teachers.

    Returns
    -------
    list of str
        The files changed, or with `check` those that are not up to date.

    Raises
    ------
    AuthoringError
        When somebody is at work in one of the notebooks, and when a day skips a section that its
        lesson does not have; no file is then changed.
    """
    texts = {}
    if (root / GUIDE).exists():
        texts[GUIDE] = with_minutes((root / GUIDE).read_text(encoding="utf-8"), root)
    for folder in ("notebooks", "solutions"):  # exercises are written from solutions
        for path in notebooks(folder, root):
            notebook = read(path)
            state_minutes(notebook)
            texts[f"{folder}/{path.name}"] = stored_text(notebook)
    return update_files(texts, root, check)


def with_minutes(guide: str, root: Path = ROOT) -> str:
    """The guide for teachers with the minutes, hours and sums of its days computed anew."""
    whole = sum(lesson_minutes(read(path)) for path in notebooks("notebooks", root)) + sum(
        task_minutes(read(path), "core") for path in notebooks("exercises", root))
    head, *days = re.split(r"^(?=\| from \| what )", guide, flags=re.M)
    text = head + "".join(_day(day, root) for day in days)
    return WHOLE.sub(rf"\1 {round(whole / 60)} hours", text)


def _day(day: str, root: Path) -> str:
    """A day's table and what follows it, with right minutes, hours and sums."""
    sums: Counter[str] = Counter()
    clock: list[int] = []

    def row(found: re.Match) -> str:
        hours, past, what, minutes, skip = found.groups()
        kind, taken = ("breaks" if what in ("Break", "Lunch") else "rest"), int(minutes)
        if link := LINK.search(what):
            notebook = read(root / link[1])
            kind, taken = ("tasks", tasks_of(notebook)[int(link[2])][1]) if link[2] else (
                "lessons", lesson_minutes(notebook, skipped=skip.split("; ") if skip else ()))
        begin = clock[-1] if clock else 60 * int(hours) + int(past)
        clock.extend((begin, begin + taken))
        sums[kind] += taken
        return f"| {_time(begin)} | {what} | {taken} | {skip}{' ' if skip else ''}|"

    day = ROW.sub(row, day)
    return SUMS.sub(f"Lessons {sums['lessons']} minutes, tasks {sums['tasks']}, breaks"
                    f" {sums['breaks']}, the rest {sums['rest']}: {_time(clock[0])} to"
                    f" {_time(clock[-1])}.", day, count=1)


def _time(minutes: int) -> str:
    """Minutes since midnight as a clock shows them."""
    return f"{minutes // 60}:{minutes % 60:02}"
