"""The teacher's sheet of a day, in running order: from the guide's tables and from the lessons."""

import re
from itertools import groupby
from pathlib import Path

from jinja2 import StrictUndefined, Template

from authoring.minutes import cell_minutes, with_paths
from authoring.notebook_form import ROOT, read
from authoring.timetable import GUIDE, LINK, ROW


def sheet_of(title: str, day: str, root: Path = ROOT) -> str:
    """The sheet, in Markdown, of the day with this heading, whose folder is called `day`."""
    guide = (root / GUIDE).read_text(encoding="utf-8")

    def section(name: str) -> str:  # to the next heading that is not below its own
        level, text = re.search(rf"^(#+) {name}\b.*?\n(.*)", guide, re.M | re.S).groups()
        return re.split(rf"^#{{1,{len(level)}}} ", text, flags=re.M)[0].strip()

    def rows(table: str, key: str) -> list[list[str]]:
        found = re.findall(rf"^\| {re.escape(key)}.*\|$", section(table), re.M)
        return [row.strip("| ").split(" | ") for row in found]

    def parts(place: str, skip: str = "", passed: float = 0) -> list[tuple]:
        (path,) = root.glob(f"{place}_*.ipynb")
        found = []  # when each section that is read begins, its heading, and its cells
        for heading, cells in groupby(with_paths(read(path)), key=lambda part: part[2]):
            if heading not in skip.split("; "):
                found.append((passed, heading, [cell for cell, on, _ in cells if on != "deeper"]))
                passed += sum(map(cell_minutes, found[-1][2]))
        return found

    page = (root / "install" / "pages" / "workshop" / "sheet.md.j2").read_text(encoding="utf-8")
    text = Template(page, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True).render(
        locals() | {"row_of": ROW.match, "link_of": LINK.search, "find": re.findall})
    return re.sub(r"\[([^][\n]+)\]\([^)\n]*\)", r"\1", text)
