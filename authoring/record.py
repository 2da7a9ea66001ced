"""Run notebooks: to record what their cells print, and to measure this machine.

What a cell prints is compared by the tests with what is recorded here, on a GPU machine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import nbformat

from .minutes import state_minutes
from .notebook_form import METADATA, ROOT, AuthoringError, course_of, notebooks, read, stored_text
from .working_copy import note_written, refuse_to_lose

QUESTION = "Before you run "  # and then: "the next cell: how many?"


def execute(notebook: nbformat.NotebookNode, folder: Path, timeout: int = 600) -> None:
    """Run a notebook's cells in a new kernel and store the outputs in the notebook.

    Parameters
    ----------
    notebook : NotebookNode
        Changed in place.
    folder : Path
        The kernel's working folder.
    timeout : int
        Seconds that a cell may take.

    Notes
    -----
    Where the environment variable COURSE_RECORD_RUNS names a file, the runs that the cells measure
    under a key are added to it.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        When a cell raises.
    """
    from nbclient import NotebookClient

    os.environ["COURSE_QUIET"] = "1"  # progress lines are for people, not for recorded outputs
    arguments = []
    if file := os.environ.get("COURSE_RECORD_RUNS"):
        first = (f"import sys; sys.path.append({str(ROOT)!r}); from authoring import runs;"
                 f" runs.keep_runs({os.path.abspath(file)!r}); del sys, runs")
        arguments = [f"--IPKernelApp.exec_lines={first}"]
    NotebookClient(notebook, timeout=timeout, kernel_name="python3", record_timing=False,
                   extra_arguments=arguments,
                   resources={"metadata": {"path": str(folder)}}).execute()


def record(path: Path) -> None:
    """Run a notebook in place and store what its cells print.

    What answers a question is stored in the cell's metadata; see `hidden` and `outputs_of`.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        When a cell raises; the file then stays as it was.
    AuthoringError
        When the file was changed while its cells ran, and when it is an exercise.
    """
    if path.resolve().parent == ROOT / "exercises":
        raise AuthoringError(f"{path}: exercises are not recorded, they are written by make"
                             " exercises")
    before = path.read_bytes()
    notebook = read(path)
    execute(notebook, path.resolve().parent)
    notebook.metadata = nbformat.from_dict(METADATA)
    state_minutes(notebook)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            outputs = [_only_alt(output) for output in _joined_streams(cell.outputs)]
            course_of(cell).pop("recorded", None)
            cell.outputs = outputs
    for cell in hidden(notebook):
        if cell.outputs:
            course = cell.metadata.setdefault("course", nbformat.NotebookNode())
            course.recorded, cell.outputs = cell.outputs, []
    if path.read_bytes() != before:
        raise AuthoringError(f"{path}: changed while its cells ran, so it stays as it is now")
    path.write_text(stored_text(notebook), encoding="utf-8")


def hidden(notebook: nbformat.NotebookNode) -> Iterator[nbformat.NotebookNode]:
    """The code cells whose outputs no front end shows before they are run.

    They print the answer to a prediction, or stand below a text that asks a `QUESTION`.
    """
    asked = False
    for cell in notebook.cells:
        if cell.cell_type != "code":
            asked = QUESTION in cell.source
        elif course_of(cell).get("answer") or asked:
            yield cell


def _joined_streams(outputs: list) -> Iterator[nbformat.NotebookNode]:
    """Join neighbouring pieces of one stream, because where they are split depends on timing."""
    def stream(output: nbformat.NotebookNode) -> tuple | int:
        return ("stream", output.name) if output.output_type == "stream" else id(output)

    for _, pieces in groupby(outputs, key=stream):
        first, *others = pieces
        if others:
            first.text += "".join(other.text for other in others)
        yield first


def _only_alt(output: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """An output of whose metadata only the pictures' alternative texts are left."""
    if "metadata" in output:
        output.metadata = nbformat.from_dict({
            kind: {"alt": noted["alt"]} for kind, noted in output.metadata.items()
            if isinstance(noted, dict) and "alt" in noted})
    return output


def machine_file() -> Path:
    """The file of this machine's runs in helpers/data/recorded, after its GPU or processor."""
    from helpers import backend, recordings

    gpu = backend.find_gpu()
    machine = gpu.name if gpu else backend.cpu_name()
    name = re.sub(r"[^a-z0-9]+", "-", machine.lower()).strip("-")
    return recordings.FOLDER / f"{name}.json"


def bench() -> Path:
    """Run every notebook that compares times and write this machine's times to a data file.

    The lessons' own cells measure: `compare(..., key=...)` and the like; see `runs`.

    Returns
    -------
    Path
        The file in helpers/data/recorded, named after the GPU or the processor.

    Raises
    ------
    AuthoringError
        When no notebook has measured anything, and when the data file was edited here.
    """
    path = machine_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    data = str(path.relative_to(ROOT))
    refuse_to_lose([data], ROOT)
    unfinished = path.with_suffix(".json.part")
    unfinished.unlink(missing_ok=True)
    os.environ["COURSE_RECORD_RUNS"] = str(unfinished)
    for folder in ("notebooks", "solutions"):
        for source in notebooks(folder):
            notebook = read(source)
            if any("key=" in cell.source for cell in notebook.cells if cell.cell_type == "code"):
                print(f"{source.relative_to(ROOT)} ...", flush=True)
                execute(notebook, source.parent)
    if not unfinished.exists():
        raise AuthoringError("no notebook has measured anything")
    refuse_to_lose([data], ROOT)
    unfinished.replace(path)
    note_written({data: path.read_text(encoding="utf-8")}, ROOT)
    return path
