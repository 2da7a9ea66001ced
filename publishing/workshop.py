"""Write what a workshop needs: trimmed notebooks, the running order, slides, the teacher's sheet.

What a day has is said in docs/teaching.md: lessons, the sections that they skip, and tasks.
"""

from __future__ import annotations

import posixpath
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path

from nbconvert.filters import markdown2html
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from authoring.minutes import HEADING, STATED, lesson_minutes, state_minutes, with_paths
from authoring.notebook_form import (
    ROOT,
    SETUP_TEXT,
    SETUP_TITLE,
    AuthoringError,
    course_of,
    read,
    stored_text,
)
from authoring.publish import repository
from authoring.timetable import GUIDE, LINK, ROW

from .sheet import WORDS, sheet_of

DAYS = {"half": "Half a day", "six": "Six hours", "one": "One day", "two": "Two days"}
BADGES = re.compile(r"(\[!\[[^\]]*\]\([^)]*\)\]\([^)]*\) ?)+\n*")  # they open the whole notebook
TARGET = re.compile(r"\]\(([^)\s#:]+)(?=[)#])")
PAGES = ("notebooks/glossary.md", "notebooks/index.md")


def order_of(day: str, root: Path = ROOT) -> str:
    """A day's section of the guide for teachers: its tables and what is said about them."""
    text = (root / GUIDE).read_text(encoding="utf-8")
    return text[text.index(f"# {DAYS[day]}\n"):].split("\n## ")[0].replace("](../", "](") + "\n"


def parts_of(day: str, root: Path = ROOT) -> dict[str, list]:
    """The notebooks of a day: of a lesson the skipped sections, of exercises the tasks' numbers."""
    parts: dict[str, list] = {}
    for *_, what, _, skip in ROW.findall(order_of(day, root).replace("](", "](../")):
        if link := LINK.search(what):
            parts.setdefault(link[1], []).extend(
                [int(link[2])] if link[2] else filter(None, skip.split("; ")))
    return parts


def lesson_for(lesson: NotebookNode, skipped: list[str]) -> NotebookNode:
    """The core of a lesson, which is changed; a skipped `##` section becomes one folded cell."""
    minutes = f"**{lesson_minutes(lesson, skipped=skipped)} minutes.**"
    core = [(section, cell) for cell, path, section in with_paths(lesson) if path != "deeper"]
    lesson.cells, unseen = [], {"slideshow": {"slide_type": "skip"}}
    for section, group in groupby(core, key=lambda pair: pair[0]):
        cells = [cell for _, cell in group]
        if section not in skipped:
            lesson.cells += cells
            continue
        code = [cell.source for cell in cells if cell.cell_type == "code"]
        found = WORDS["folded"].get(f"{lesson.cells[0].source[2:4]} {section}", "")
        text = f"## {section}\n\nNot read today. {found}".rstrip()
        lesson.cells += [
            new_markdown_cell(f"{text} Run the folded cell: later cells need what it makes.",
                              id=f"{cells[0].id}-skipped", metadata=unseen),
            new_code_cell("\n\n\n".join(code), id=f"{cells[0].id}-run", metadata={
                "jupyter": {"outputs_hidden": True, "source_hidden": True}, **unseen})]
    lesson.cells[0].source = STATED.sub(minutes, lesson.cells[0].source, count=1)
    return lesson


def tasks_for(exercise: NotebookNode, numbers: list[int]) -> NotebookNode:
    """The exercises with these tasks only; the notebook is changed."""
    seen, kept = False, []
    for cell, _, section in with_paths(exercise):
        number = re.match(r"(\d+)\. ", section)
        seen = seen or bool(number)
        if not seen or number and int(number[1]) in numbers or section == "Your progress":
            kept.append(cell)
    exercise.cells = kept
    state_minutes(exercise)
    return exercise


def mark_slides(lesson: NotebookNode) -> NotebookNode:
    """Note in the cells' metadata where slides begin: with each text.

    Code belongs to the text above it. A prediction's answer appears at a press of the key.
    """
    for cell in lesson.cells:
        heading, kind = HEADING.search(cell.source), "-"
        if cell.source.startswith((SETUP_TITLE, SETUP_TEXT)):
            kind = "skip"
        elif cell.cell_type == "markdown":
            kind = "slide" if heading and len(heading[1]) < 3 else "subslide"
        elif course_of(cell).get("answer"):
            kind = "fragment"
        cell.metadata.setdefault("slideshow", {}).setdefault("slide_type", kind)
    return lesson


def write_notebooks(day: str, folder: Path, root: Path = ROOT) -> list[Path]:
    """Write a day's notebooks and its running order, README.md, into a folder.

    Links to what the folder does not have lead to the course on GitHub.
    """
    parts, course = parts_of(day, root), f"https://github.com/{repository(root)}/blob/main/"
    texts = {"README.md": order_of(day, root)}
    texts |= {page: (root / page).read_text(encoding="utf-8") for page in PAGES}

    def adapted(text: str, page: str) -> str:
        def link(found: re.Match) -> str:
            target = posixpath.normpath(posixpath.join(posixpath.dirname(page), found[1]))
            return found[0] if target in {*parts, *texts} else f"]({course}{target}"

        return TARGET.sub(link, BADGES.sub("", text))

    texts = {page: adapted(text, page) for page, text in texts.items()}
    for place, chosen in parts.items():
        whole = read(root / place)
        notebook = tasks_for(whole, chosen) if place.startswith("exercises/") else mark_slides(
            lesson_for(whole, chosen))
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = adapted(cell.source, place)
        notebook.cells[0].source += (
            "\n\n(A copy for a workshop. What it leaves out, *Going deeper* for example, is in"
            f" [the whole notebook]({course}{place}).)")
        texts[place] = stored_text(notebook)
    for place, text in texts.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(text, encoding="utf-8")
    return [folder / place for place in texts]


def write_slides(folder: Path, root: Path = ROOT) -> list[Path]:
    """Write the slides of a folder's lessons beside them, and reveal.js, which shows them.

    Raises
    ------
    AuthoringError
        When the package that brings reveal.js is not installed.
    """
    if (package := find_spec("sphinx_revealjs")) is None:
        raise AuthoringError("slides need the extra `site`, which make workshop installs")
    shutil.copytree(Path(package.origin).parent / "_static" / "revealjs" / "dist",
                    folder / "reveal.js" / "dist", dirs_exist_ok=True)
    subprocess.run(
        [sys.executable, "-m", "nbconvert", "--log-level=WARN", "--to=slides", "--no-prompt",
         f"--TemplateExporter.extra_template_basedirs={root / 'install' / 'pages'}",
         "--template=workshop", "--SlidesExporter.reveal_url_prefix=reveal.js",
         "--SlidesExporter.reveal_theme=white",  # the others load fonts from another host
         *map(str, folder.glob("*.ipynb"))], check=True)
    return sorted(folder.glob("*.slides.html"))


def write_workshop(day: str, root: Path = ROOT) -> list[str]:
    """Write a day's folder, the same as a zip, and the teacher's sheet; return the files' names."""
    folder = root / "build" / "workshop" / day
    shutil.rmtree(folder, ignore_errors=True)
    written = write_notebooks(day, folder, root) + write_slides(folder / "notebooks", root)
    sheet = folder.with_name(f"{day}_teacher.html")
    sheet.write_text(markdown2html(sheet_of(DAYS[day], day, root)), encoding="utf-8")
    archive = Path(shutil.make_archive(str(folder), "zip", folder.parent, day))
    return [str(path.relative_to(root)) for path in (*written, archive, sheet)]
