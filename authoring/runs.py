"""Keep what the lessons measure on this machine, so that they can show it on other machines.

`compare`, `timeline` and `tune` hand each run that has a key to `helpers.recordings`; here it is
written into a file of this machine's runs, as they lie in helpers/data/recorded.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from helpers import backend, bounds, recordings
from helpers.ladder import Rung
from helpers.timeline import Timeline
from helpers.timing import Comparison


def keep_runs(path: Path | str) -> None:
    """From now on add each run of this process to the file."""
    recordings.listeners.append(partial(add_run, Path(path)))


def add_run(path: Path, key: str, run: Any, device: str) -> None:
    """Add one run to a file, which is made where there is none.

    Parameters
    ----------
    path : Path
    key : str
        The run's name; an older run of that name is replaced.
    run : Comparison, Timeline or Rung
    device : {"cpu", "gpu"}
        What did the work.
    """
    content = json.loads(path.read_text()) if path.exists() else heading()
    kept = ({"rung": asdict(run)} if isinstance(run, Rung)
            else {"title": run.title, **as_recorded(run)})
    content["runs"][key] = {"device": device, "date": date.today().isoformat(), **kept}
    if isinstance(run, Comparison):
        # One for all runs of a machine: a CPU's best, which may still have been raised.
        name, limit = bounds.as_recorded(run.ceiling)
        content["runs"][key]["ceiling"], content["ceilings"][name] = name, limit
        for other in content["ceilings"].values():
            if other["name"] == limit["name"]:
                other["bandwidth"] = limit["bandwidth"]
    path.write_text(json.dumps(content, indent=1) + "\n")


def heading() -> dict:
    """What a file of runs says about this machine."""
    gpu = backend.find_gpu()
    return {
        "machine": recordings.this_machine(),
        "gpu": gpu.name if gpu else None,
        "numpy": np.__version__,
        "blas": backend.blas(),
        "cupy": backend.installed(*backend.CUPY) if gpu else None,
        "ceilings": {},
        "runs": {},
    }


def as_recorded(run: Any) -> dict:
    """A run as it is kept; a timeline's times in microseconds and with each name once."""
    if not isinstance(run, Timeline):
        return {"rows": [asdict(row) for row in run.rows]}
    streams, names = run.streams, sorted({span.name for span in run.spans})
    return {
        "rows": [],
        "returned": round(run.returned * 1e6, 1),
        "calls": [[round(1e6 * second, 1) for second in call] for call in run.calls],
        "streams": streams,
        "names": names,
        "spans": [[streams.index(s.stream), s.kind, names.index(s.name), round(s.start * 1e6, 1),
                   round(s.end * 1e6, 1), s.nbytes] for s in run.spans],
    }
