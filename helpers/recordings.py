"""Runs that were recorded on other machines, which tables and pictures show beside this one's."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from . import backend

FOLDER = Path(__file__).parent / "data" / "recorded"
# Called with key, run and device of each run with a key: how authors record this machine.
listeners: list[Callable[[str, Any, str], None]] = []


def this_machine() -> str:
    """What this machine is called in a file of runs."""
    gpu = backend.find_gpu()
    return f"{backend.cpu()}, host of an {gpu.name}" if gpu else backend.cpu()


def tell(key: str, run: Any, device: str) -> None:
    """Hand a run of this machine to all listeners."""
    for listener in listeners:
        listener(key, run, device)


def find(key: str, but: str = "") -> Iterator[tuple[dict, dict]]:
    """Each file that holds a run of the comparison or block `key`, and that run.

    The machine named `but` is left out, because its own run is shown already.
    """
    for path in sorted(FOLDER.glob("*.json")):
        content = json.loads(path.read_text())
        run = content["runs"].get(key)
        if run is not None and content["machine"] != but:
            yield content, run
