"""Runs that were recorded on other machines, which tables and pictures show beside this one's."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import numpy as np

from . import backend

FOLDER = Path(__file__).parent / "data" / "recorded"


def this_machine() -> str:
    """What this machine is called in a file of runs."""
    gpu = backend.find_gpu()
    name = f"{backend.cpu_name()}, {backend.cores()} cores"
    return f"{name}, host of an {gpu.name}" if gpu else name


def find(key: str, but: str = "") -> Iterator[tuple[dict, dict]]:
    """Each file that holds a run of the comparison or block `key`, and that run.

    The machine named `but` is left out: it need not stand beside itself.
    """
    for path in sorted(FOLDER.glob("*.json")):
        content = json.loads(path.read_text())
        run = content["runs"].get(key)
        if run is not None and content["machine"] != but:
            yield content, run


def keep(key: str, run: dict) -> None:
    """While `make bench` records this machine, add a run to the file that it names."""
    name = os.environ.get("COURSE_RECORD_RUNS")
    if not name:
        return
    path = Path(name)
    content = json.loads(path.read_text()) if path.exists() else _heading()
    content["runs"][key] = run
    path.write_text(json.dumps(content, indent=1) + "\n")


def _heading() -> dict:
    gpu = backend.find_gpu()
    return {
        "machine": this_machine(),
        "gpu": gpu.name if gpu else None,
        "date": date.today().isoformat(),
        "numpy": np.__version__,
        "blas": backend.blas(),
        "cupy": backend.installed(*backend.CUPY) if gpu else None,
        "runs": {},
    }
