"""Build the course as static pages, from the stored outputs: nothing is executed.

Sphinx, with the settings in docs/conf.py, makes the site from a copy of the course. In this copy
the answers to predictions are there, folded, and so are the solutions of tasks.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat

from authoring.exercises import DELIMITER, exercise_from
from authoring.notebook_form import (
    ROOT,
    AuthoringError,
    course_of,
    lesson_paths,
    notebooks,
    outputs_of,
    read,
    stored_text,
)
from authoring.publish import repository

# A picture from another host, and a link to another branch.
BADGE = re.compile(r"(?:!\[|\[(?=the badges))([\w ]+)\]\((?:https:|\.\./\.\./\.\./)[^)]*\)")
KERNEL = re.compile(r"\(\.\./helpers/kernels/([\w.]+)\)")  # a link to a file
SOURCE = re.compile(r"(?!Line |.* \| ).*?;\s*(//[^\n]*)?\n", re.S)  # a kernel; a report has bars
LEFT_OUT = (".*", "build", "work", "__pycache__", "solutions")
PARTS = {"To look up": ["notebooks/glossary", "notebooks/index", "notebooks/claims", "kernels",
                        "docs/measured", "docs/open_in", "docs/where_it_runs",
                        "docs/updating"],
         "To teach, to change": ["docs/teaching", "docs/rooms", "CONTRIBUTING", "docs/authoring",
                                 "docs/style", "docs/reading", "AGENTS"],
         "Besides": ["README.zh", "docs/other_courses", "simulator/README", "helpers/data/README"]}


def page_of(notebook: nbformat.NotebookNode, solution: nbformat.NotebookNode | None = None
            ) -> nbformat.NotebookNode:
    """Change a notebook into what its page shows, with alternative texts and folded parts.

    Parameters
    ----------
    notebook : NotebookNode
        A lesson or an exercise; it is changed.
    solution : NotebookNode, optional
        The solved exercise. Each solution is added, folded, below its stub.
    """
    solved = {cell.id: cell.source for cell in solution.cells} if solution else {}
    for place, cell in reversed(list(enumerate(notebook.cells))):
        if cell.cell_type != "code":
            continue
        cell.outputs = outputs_of(cell)
        about = [output.get("metadata", {}).get("image/png", {}).get("alt", "").split("\n")[0]
                 for output in cell.outputs]
        cell.metadata["mystnb"] = {"image": {"alt": " ".join(filter(None, about))}}
        if any(SOURCE.match(output.get("text", "")) for output in cell.outputs):
            cell.metadata["mystnb"]["text_lexer"] = "cuda"
        if course_of(cell).get("recorded"):
            fold(cell, "output", "the recorded answer")
        if cell.metadata.get("jupyter", {}).get("source_hidden"):
            fold(cell, "input", "the code")
        if solved.get(cell.id, cell.source) != cell.source:
            lines = [line for line in solved[cell.id].split("\n") if not DELIMITER.match(line)]
            added = nbformat.v4.new_code_cell("\n".join(lines), id=f"{cell.id}-solved")
            fold(added, "input", "the solution")
            notebook.cells.insert(place + 1, added)
    return notebook


def fold(cell: nbformat.NotebookNode, part: str, called: str) -> None:
    """Let MyST-NB show a cell's "input" or "output" only after a click."""
    cell.metadata["tags"] = [*cell.metadata.get("tags", []), f"hide-{part}"]
    cell.metadata.setdefault("mystnb", {}).update(
        code_prompt_show=f"Show {called}", code_prompt_hide=f"Hide {called}")


def kernels_page(root: Path) -> str:
    """Every CUDA source that lessons read, coloured as C++."""
    files = sorted((root / "helpers" / "kernels").glob("*.cu*"))
    return "# Kernels\n\n" + "\n".join(
        f"## {file.name}\n\n```{{literalinclude}} helpers/kernels/{file.name}\n:language: cuda\n"
        "```\n" for file in files)


def toctree(caption: str, pages: list[str]) -> str:
    """What lets pages follow the one that it stands on, in MyST's Markdown."""
    return "\n".join(["\n\n```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```\n"])


def write_source(folder: Path, root: Path = ROOT) -> None:
    """Copy the course from `root` into a folder, which must not exist, as Sphinx gets it."""
    shutil.copytree(root, folder, ignore=shutil.ignore_patterns(*LEFT_OUT))
    texts = {path: path.read_text(encoding="utf-8") for path in folder.rglob("*.md")}
    texts[folder / "README.md"] += "".join(toctree(*part) for part in [
        ("Lessons", [f"notebooks/{lesson.stem}" for lesson in lesson_paths(root)]), *PARTS.items()])
    texts[folder / "kernels.md"] = kernels_page(root)
    for lesson in notebooks("notebooks", root):
        page, solved = page_of(read(lesson)), root / "solutions" / lesson.name
        if solved.exists():
            after = toctree("Exercises", [f"../exercises/{lesson.stem}"])
            page.cells.append(nbformat.v4.new_markdown_cell(after, id="to-exercises"))
            exercise = page_of(exercise_from(read(solved), lesson.name), read(solved))
            texts[folder / "exercises" / lesson.name] = stored_text(exercise)
        texts[folder / "notebooks" / lesson.name] = stored_text(page)
    for path, text in texts.items():
        text = KERNEL.sub(lambda found: f"(../kernels.md#{found[1].replace('.', '')})", text)
        path.write_text(BADGE.sub(r"\1", text), encoding="utf-8")


def build_site(root: Path = ROOT) -> Path:
    """Build the site anew in build/site/html; return its first page.

    Raises
    ------
    AuthoringError
        When Sphinx is not installed, and when it has a warning: it is printed.
    """
    build = root / "build" / "site"
    source, html = build / "source", build / "html"
    shutil.rmtree(build, ignore_errors=True)
    write_source(source, root)
    address = f"html_theme_options.repository_url=https://github.com/{repository(root)}"
    done = subprocess.run([sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-j", "auto",
                           "-c", str(root / "docs"), "-d", str(build / "read"), "-D", address,
                           str(source), str(html)])
    if done.returncode:
        raise AuthoringError("Sphinx says above what is wrong")
    shutil.copy(html / "README.html", html / "index.html")
    for folder in ("notebooks", "exercises"):  # what the pages offer to download
        for path in notebooks(folder, root):
            shutil.copy(path, html / "_sources" / folder)
    return html / "index.html"
