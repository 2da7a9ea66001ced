"""For authors and CI: exercises from solutions, recordings, notebook form, published address.

    python -m authoring new 15_name
    python -m authoring exercises [--check]
    python -m authoring record NOTEBOOK ...
    python -m authoring bench
    python -m authoring index [--check]
    python -m authoring publish owner/name
"""

from __future__ import annotations

import argparse
import copy
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat

from . import index as indexing
from . import new_lesson as skeleton
from . import tables as frontpage

ROOT = Path(__file__).resolve().parent.parent
METADATA = {
    "accelerator": "GPU",
    "colab": {"gpuType": "T4", "provenance": [], "toc_visible": True},
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
# Why the output of a cell is not compared with the recorded one.
REASONS = frozenset({
    "time", "device", "address", "path", "compiler text", "random stream", "optional package",
    "race", "device printf", "recorded tool",
})
# Lessons to look things up in, which have no tasks.
WITHOUT_EXERCISES = frozenset({"19_myths_measured", "20_where_next"})
IGNORE_TAG = "nbval-ignore-output"
SOLUTION_TAG = "solution-only"

# nbgrader's delimiters: `### BEGIN SOLUTION`, in CUDA `// ### BEGIN SOLUTION`.
DELIMITER = re.compile(r"^(\s*)(//\s*)?###\s*(BEGIN|END) SOLUTION\s*$")
PYTHON_STUB = ("# YOUR CODE HERE", "raise NotImplementedError()")
CUDA_STUB = ("// YOUR CODE HERE",)

# What stands for the course's address until `publish` writes the real one.
REPOSITORY = re.compile(r'Repository = "https://github\.com/([\w.-]+/[\w.-]+)"')


class AuthoringError(ValueError):
    """A notebook that cannot be processed; the message names file and cell."""


def notebooks(folder: str) -> list[Path]:
    """The notebooks of one of the course's folders, in order."""
    return sorted((ROOT / folder).glob("*.ipynb"))


def dumps(notebook: nbformat.NotebookNode) -> str:
    """A notebook as the repository stores it: one byte sequence for one content."""
    return nbformat.writes(notebook, version=4, indent=1) + "\n"


def strip_solution(source: str, place: str) -> str:
    """Replace each solution region of a cell by its stub.

    Parameters
    ----------
    source : str
        The cell's text with `### BEGIN SOLUTION` and `### END SOLUTION` lines around each
        solution, or the same behind `//` inside a CUDA string.
    place : str
        "file, cell n (id)" for messages.

    Raises
    ------
    AuthoringError
        For nested, unmatched or empty regions, and for delimiters of two kinds in one pair.
    """
    kept: list[str] = []
    opened: tuple[int, str] | None = None  # line number and kind of the open delimiter
    inside = 0
    for number, line in enumerate(source.split("\n"), 1):
        match = DELIMITER.match(line)
        if match is None:
            if re.search(r"(BEGIN|END) SOLUTION", line):
                raise AuthoringError(f"{place}, line {number}: a solution delimiter must stand"
                                     " alone on its line, as `### BEGIN SOLUTION`.")
            if opened is None:
                kept.append(line)
            else:
                inside += bool(line.strip())
            continue
        indent, cuda, word = match.groups()
        kind = "CUDA" if cuda else "Python"
        if word == "BEGIN":
            if opened is not None:
                raise AuthoringError(f"{place}, line {number}: BEGIN SOLUTION inside the region"
                                     f" that line {opened[0]} opened.")
            opened, inside = (number, kind), 0
            kept += [indent + stub for stub in (CUDA_STUB if cuda else PYTHON_STUB)]
            continue
        if opened is None:
            raise AuthoringError(f"{place}, line {number}: END SOLUTION without a BEGIN.")
        if opened[1] != kind:
            raise AuthoringError(f"{place}, line {number}: a {opened[1]} BEGIN (line {opened[0]})"
                                 f" ends with a {kind} END.")
        if not inside:
            raise AuthoringError(f"{place}, line {number}: the solution is empty.")
        opened = None
    if opened is not None:
        raise AuthoringError(f"{place}, line {opened[0]}: BEGIN SOLUTION is never ended.")
    return "\n".join(kept)


def exercise_from(solution: nbformat.NotebookNode, name: str) -> nbformat.NotebookNode:
    """The learner's notebook: solutions replaced by stubs, outputs and counts cleared."""
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
            # Nothing is compared in an exercise, so the reasons for not comparing go too.
            tags = [tag for tag in cell.metadata.get("tags", []) if tag != IGNORE_TAG]
            cell.metadata.pop("course", None)
            cell.metadata.pop("tags", None)
            if tags:
                cell.metadata.tags = tags
        exercise.cells.append(cell)
    return exercise


def write_exercises(check: bool = False) -> list[str]:
    """Write `exercises/` from `solutions/`, or with `check` only name what is not up to date.

    Returns
    -------
    list of str
        The files written, or with `check` the files that are missing, stale or left over.
    """
    changed = []
    wanted = {path.name for path in notebooks("solutions")}
    for path in notebooks("solutions"):
        notebook = nbformat.read(path, as_version=4)
        text = dumps(exercise_from(notebook, f"solutions/{path.name}"))
        target = ROOT / "exercises" / path.name
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            changed.append(f"exercises/{path.name}")
            if not check:
                target.parent.mkdir(exist_ok=True)
                target.write_text(text, encoding="utf-8")
    for path in notebooks("exercises"):
        if path.name not in wanted:
            changed.append(f"exercises/{path.name}")
            if not check:
                path.unlink()
    return changed


def execute(notebook: nbformat.NotebookNode, folder: Path, timeout: int = 600) -> None:
    """Run a notebook's cells in a fresh kernel started in `folder`; outputs are stored in it."""
    from nbclient import NotebookClient

    os.environ["COURSE_QUIET"] = "1"  # progress is for those who watch, not for recordings
    NotebookClient(notebook, timeout=timeout, kernel_name="python3", record_timing=False,
                   resources={"metadata": {"path": str(folder)}}).execute()


def record(path: Path) -> None:
    """Run a notebook in place and store what its cells print.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        When a cell fails; the file is then left as it was.
    """
    notebook = nbformat.read(path, as_version=4)
    execute(notebook, path.resolve().parent)
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [_without_kernel_traces(output) for output in _merged(cell.outputs)]
    path.write_text(dumps(notebook), encoding="utf-8")


def _merged(outputs: list) -> Iterator[nbformat.NotebookNode]:
    """Join neighbouring pieces of one stream: where they were split depends on timing."""
    last = None
    for output in outputs:
        if (last is not None and output.output_type == last.output_type == "stream"
                and output.name == last.name):
            last.text += output.text
            continue
        if last is not None:
            yield last
        last = output
    if last is not None:
        yield last


def _without_kernel_traces(output: nbformat.NotebookNode) -> nbformat.NotebookNode:
    if "metadata" in output:
        output.metadata = nbformat.from_dict({})
    return output


def bench() -> Path:
    """Run every notebook that compares times and write this machine's runs to a data file.

    The comparisons are the lessons' own cells: `compare(..., key=...)` appends to the file that
    COURSE_RECORD_RUNS names.
    """
    from helpers import backend, timing

    gpu = backend.find_gpu()
    label = gpu.name if gpu else backend.cpu_name()
    path = timing.RECORDED / (re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-") + ".json")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".json.part")
    partial.unlink(missing_ok=True)
    os.environ["COURSE_RECORD_RUNS"] = str(partial)
    for folder in ("notebooks", "solutions"):
        for source in notebooks(folder):
            notebook = nbformat.read(source, as_version=4)
            if any("key=" in cell.source for cell in notebook.cells if cell.cell_type == "code"):
                print(f"{folder}/{source.name} ...", flush=True)
                execute(notebook, source.parent)
    if not partial.exists():
        raise AuthoringError("no notebook recorded a comparison")
    partial.replace(path)
    return path


def repository() -> str:
    """The `owner/name` under which the course is published, as pyproject.toml states it."""
    match = REPOSITORY.search((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    if match is None:
        raise AuthoringError("pyproject.toml has no Repository in [project.urls]")
    return match[1]


def badges(place: str) -> str:
    """The badges that open the notebook at `place`, in Markdown."""
    file = f"github.com/{repository()}/blob/main/{place}"
    return (
        "[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]"
        f"(https://colab.research.google.com/{file.replace('.com', '', 1)})"
        " [![Open in Kaggle](https://kaggle.com/static/images/open-in-kaggle.svg)]"
        f"(https://kaggle.com/kernels/welcome?src=https://{file})"
        " [![Launch Binder](https://mybinder.org/badge_logo.svg)]"
        f"(https://mybinder.org/v2/gh/{repository()}/main?labpath={place.replace('/', '%2F')})")


def new_lesson(stem: str) -> list[str]:
    """Write the files of a new lesson, with one task: a beginning that the tests accept.

    Parameters
    ----------
    stem : str
        The notebooks' name without ending, as "15_sparse_arrays".

    Returns
    -------
    list of str
        The files written.

    Raises
    ------
    AuthoringError
        When the name is not of that form or a lesson has the number.
    """
    if not re.fullmatch(r"\d\d_[a-z0-9_]+", stem):
        raise AuthoringError(f"{stem!r} is not of the form 15_sparse_arrays")
    number, title = stem[:2], stem[3:].replace("_", " ").capitalize()
    if taken := list((ROOT / "notebooks").glob(f"{number}_*.ipynb")):
        raise AuthoringError(f"{taken[0].name} has the number {number}")
    words = {"number": number, "seed": int(number), "title": title, "file": f"{stem}.ipynb"}
    first = nbformat.read(notebooks("notebooks")[0], as_version=4)
    setup = next(cell.source for cell in first.cells if cell.id == "setup")
    texts = {f"helpers/check/lesson{number}.py": skeleton.CHECK,
             f"tests/answers/lesson{number}.py": skeleton.ANSWERS,
             f"tests/checks/test_lesson{number}.py": skeleton.PROOFS}
    files = {name: text.format(**words) for name, text in texts.items()}
    for folder, opened, form in (("notebooks", "notebooks", skeleton.LESSON),
                                 ("solutions", "exercises", skeleton.SOLUTION)):
        own = {**words, "badges": badges(f"{opened}/{stem}.ipynb")}
        cells = [_new_cell(kind, name, text.format(**own) or setup, number)
                 for kind, name, text in form]
        notebook = nbformat.v4.new_notebook(cells=cells, metadata=nbformat.from_dict(METADATA))
        notebook.nbformat_minor = 5
        files[f"{folder}/{stem}.ipynb"] = dumps(notebook)
    for name, text in files.items():
        (ROOT / name).write_text(text, encoding="utf-8")
    return list(files)


def _new_cell(kind: str, name: str, text: str, number: str) -> nbformat.NotebookNode:
    if kind == "md":
        return nbformat.v4.new_markdown_cell(text, id=name)
    cell = nbformat.v4.new_code_cell(text, id=name)
    if name == "setup":
        cell.metadata.update(tags=[IGNORE_TAG], course={"not_compared": "device"})
    if kind in ("solution", "check"):
        mark = {"schema_version": 3, "grade_id": f"{name.replace('-', '_')}_{number}",
                "solution": kind == "solution", "grade": kind == "check",
                "locked": kind == "check", "task": False}
        cell.metadata["nbgrader"] = {**mark, "points": 1} if mark["grade"] else mark
    return cell


def published_files() -> list[Path]:
    """The files that carry the course's address: badges, setup cells, pages, pyproject.toml."""
    return [*sorted(ROOT.glob("*.md")), ROOT / "pyproject.toml", *sorted(ROOT.glob("docs/**/*.md")),
            *sorted(ROOT.glob("simulator/*.md")), *sorted(ROOT.glob("simulator/pyproject.toml")),
            *(path for folder in ("notebooks", "exercises", "solutions")
              for path in notebooks(folder))]


def publish(new: str) -> list[str]:
    """Write `owner/name` into every badge, setup cell and page, and return the files changed.

    Raises
    ------
    AuthoringError
        When `new` is not what GitHub would take for owner/name; no file is then changed.
    """
    owner, slash, name = new.partition("/")
    if not slash or "/" in name:
        raise AuthoringError(f"{new!r} is not of the form owner/name: make publish REPO=owner/name")
    if not re.fullmatch(r"[A-Za-z0-9](?:[A-Za-z0-9]|-(?=[A-Za-z0-9])){0,38}", owner):
        raise AuthoringError(f"{owner!r} cannot be an owner on GitHub: at most 39 letters and"
                             " digits, with single hyphens between them")
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,100}", name) or name in (".", ".."):
        raise AuthoringError(f"{name!r} cannot be a repository on GitHub: at most 100 letters,"
                             " digits, hyphens, dots and underscores")
    if name.endswith(".git"):
        raise AuthoringError(f"{name!r}: leave .git out, the addresses add it where they need it")
    old = repository()
    # Only in addresses: what is called `a/b` may be a quotient elsewhere.
    address = re.compile(rf"(\b(?:github\.com|githubusercontent\.com|com/github|org/v2/gh)/)"
                         rf"{re.escape(old)}(?![\w-]|\.(?!git\b|\s|$))")
    # The README's first commands go into the folder that git names after the repository.
    folder = re.compile(rf"^cd {re.escape(old.partition('/')[2])}$", flags=re.M)
    changed = []
    for path in published_files():
        text = path.read_text(encoding="utf-8")
        replaced = address.sub(lambda found: found[1] + new, text)
        if path.suffix == ".md":
            replaced = folder.sub(f"cd {name}", replaced)
        if replaced != text:
            path.write_text(replaced, encoding="utf-8")
            changed.append(str(path.relative_to(ROOT)))
    return changed


def main(arguments: list[str] | None = None) -> int:
    """The command line; see the module's text."""
    parser = argparse.ArgumentParser(prog="python -m authoring")
    commands = parser.add_subparsers(dest="command", required=True)
    sub = commands.add_parser("new", help="write the files of a new lesson")
    sub.add_argument("name", help="as 15_sparse_arrays")
    sub = commands.add_parser("exercises", help="write exercises/ from solutions/")
    sub.add_argument("--check", action="store_true", help="only name what is not up to date")
    sub = commands.add_parser("record", help="run notebooks in place and store their outputs")
    sub.add_argument("notebook", nargs="+", type=Path)
    commands.add_parser("bench", help="write this machine's times to helpers/data/recorded")
    sub = commands.add_parser("index", help="write the lessons' index and glossary, and its links")
    sub.add_argument("--check", action="store_true", help="only name what is not up to date")
    sub = commands.add_parser("tables", help="write the README's tables from the recorded data")
    sub.add_argument("--check", action="store_true", help="only say whether they are up to date")
    sub = commands.add_parser("publish", help="write owner/name into badges and setup cells")
    sub.add_argument("repository", nargs="?", default="", metavar="owner/name")
    options = parser.parse_args(arguments)
    try:
        if options.command == "new":
            print("\n".join(new_lesson(options.name)))
            return 0
        if options.command == "exercises":
            changed = write_exercises(options.check)
            for name in changed:
                print(f"{name}: {'not up to date, run make exercises' if options.check else 'ok'}")
            return int(options.check and bool(changed))
        if options.command == "index":
            changed = indexing.write_pages(ROOT / "notebooks", options.check)
            print("\n".join(changed) or "nothing to change")
            return int(options.check and bool(changed))
        if options.command == "tables":
            changed = frontpage.write(ROOT / "README.md", options.check)
            print("README.md" if changed else "nothing to change")
            return int(options.check and changed)
        if options.command == "record":
            for path in options.notebook:
                record(path)
                print(f"{path}: recorded")
        elif options.command == "bench":
            print(bench().relative_to(ROOT))
            # A program of its own: the engine's threads and signal handlers stay out of here.
            subprocess.run([sys.executable, str(ROOT / "simulator" / "benchmark.py")], check=True)
        else:
            print("\n".join(publish(options.repository)) or "nothing to change")
    except AuthoringError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
