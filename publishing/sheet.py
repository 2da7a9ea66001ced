"""The teacher's sheet of a day, in running order: from the guide's tables and from the lessons."""

import json
import re
from itertools import groupby
from pathlib import Path

from jinja2 import StrictUndefined, Template

from authoring.minutes import cell_minutes, with_paths
from authoring.notebook_form import ROOT, read
from authoring.timetable import GUIDE, LINK, ROW

WORDS = json.loads((ROOT / "install/pages/workshop/lessons.json").read_text(encoding="utf-8"))


def sheet_of(title: str, day: str, root: Path = ROOT) -> str:
    """The sheet, in Markdown, of the day with this heading, whose folder is called `day`."""
    guide = (root / GUIDE).read_text(encoding="utf-8")

    def section(name: str) -> str:  # to the next heading that is not below its own
        level, text = re.search(rf"^(#+) {name}\b.*?\n(.*)", guide, re.M | re.S).groups()
        return re.split(rf"^#{{1,{len(level)}}} ", text, flags=re.M)[0].strip()

    def rows(table: str, key: str) -> list[list[str]]:
        found = re.findall(rf"^\| {re.escape(key)}.*\|$", section(table), re.M)
        return [row.strip("| ").split(" | ") for row in found]

    def parts(place: str, skip: str = "", begin: float = 0, taken: float = 0) -> list[tuple]:
        lesson = with_paths(read(next(root.glob(f"{place}_*.ipynb"))))
        kept = [(cell, heading) for cell, on, heading in lesson if on != "deeper"]
        takes = [cell_minutes(cell) * (not skip or heading not in skip.split("; "))
                 for cell, heading in kept]
        starts = [begin + sum(takes[:k]) * taken / (sum(takes) or 1) for k in range(len(kept))]
        timed = zip(starts, kept)  # each cell with the time at which it begins
        return [(heading, [(time, cell) for time, (cell, _) in group])
                for heading, group in groupby(timed, key=lambda pair: pair[1][1])]

    page = (root / "install/pages/workshop/sheet.md.j2").read_text(encoding="utf-8")
    text = Template(page, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True).render(
        **locals(), words=WORDS, rows_of=ROW.findall, link_of=LINK.search, find=re.findall)
    return re.sub(r"\[([^][\n]+)\]\([^)\n]*\)", r"\1", text)
