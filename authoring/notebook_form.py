"""What every notebook of the course has: where it lies, its metadata, its tags, its stored form."""

from __future__ import annotations

from pathlib import Path

import nbformat

from .repository import git_names, has_git

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("notebooks", "exercises", "solutions")
METADATA = {
    "accelerator": "GPU",
    "colab": {"gpuType": "T4", "provenance": [], "toc_visible": True},
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
# Why the output of a cell is not compared with the recorded output. A cell with IGNORE_TAG has one
# of these reasons in its metadata, as {"course": {"not_compared": "time"}}.
REASONS = frozenset({
    "time", "device", "address", "path", "compiler text", "random stream", "optional package",
    "race", "device printf", "recorded tool",
})
IGNORE_TAG = "nbval-ignore-output"
# The first line of each setup cell, which is folded, and the text above it.
SETUP_TITLE = "#@title Setup: find the course, and a GPU or the simulator"
SETUP_TEXT = ("**Run the folded cell below first.** It finds the course, and says whether a GPU"
              " or the simulator runs this notebook.")
# The text above the last cell of each exercise notebook.
PROGRESS_TEXT = ("## Your progress\n\nThe next cell shows which of these tasks are right so far."
                 " This is remembered on your machine, and sent nowhere. `progress()` shows all"
                 " lessons.")
SOLUTION_TAG = "solution-only"  # a cell of solutions/ that the exercise does not get
WITHOUT_EXERCISES = frozenset({"19_myths_measured", "20_where_next"})


class AuthoringError(ValueError):
    """Something that an author has to correct; the message names the file and the place."""


def notebooks(folder: str, root: Path = ROOT) -> list[Path]:
    """The notebooks in one of the course's folders, sorted by lesson number.

    In a git repository a notebook that git does not know is not the course's: a learner made it.

    Parameters
    ----------
    folder : {"notebooks", "exercises", "solutions"}
    root : Path
        The course's folder.
    """
    paths = sorted((root / folder).glob("*.ipynb"))
    if not has_git(root):
        return paths
    known = git_names(root, "ls-files", "-z", "--", folder)
    return [path for path in paths if f"{folder}/{path.name}" in known]


def lesson_paths(root: Path = ROOT) -> list[Path]:
    """The notebooks that are lessons; one without a number is an appendix."""
    return [path for path in notebooks("notebooks", root) if path.stem[:2].isdigit()]


def read(path: Path) -> nbformat.NotebookNode:
    """A notebook file as nbformat's version 4."""
    return nbformat.read(path, as_version=4)


def course_of(cell: nbformat.NotebookNode) -> dict:
    """What the course notes in a cell's metadata; docs/authoring.md lists the keys."""
    return cell.metadata.get("course", {})


def outputs_of(cell: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """What `make record` stored of a code cell's outputs.

    Of the answer to a prediction they stand in the cell's metadata, where no front end shows them.
    """
    return course_of(cell).get("recorded", cell.outputs)


def is_stored_form(text: str) -> bool:
    """Whether a notebook's text is as `make record` writes it; what Jupyter saves is not."""
    try:
        notebook = nbformat.reads(text, as_version=4)
    except Exception:  # noqa: BLE001, what nbformat raises for a damaged file is not documented
        return False
    return notebook.metadata == METADATA and text == stored_text(notebook)


def stored_text(notebook: nbformat.NotebookNode) -> str:
    """The text of a notebook's file, the same text for the same content."""
    return nbformat.writes(notebook, version=4, indent=1) + "\n"


def subject_of(stem: str) -> str:
    """What names a lesson's checks and answers: "sparse_arrays" for "15_sparse_arrays"."""
    return stem[3:]


def number_of(subject: str) -> str:
    """The number of the lesson on a subject: "08" for "memory_and_tiles"."""
    for path in lesson_paths():
        if subject_of(path.stem) == subject:
            return path.stem[:2]
    raise AuthoringError(f"no lesson has the subject {subject}")
