"""The lists, the mirrors and processes with a time limit: what all measurements share."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "src"


def rows(name: str) -> list[dict[str, str]]:
    """Return one list's rows."""
    with open(HERE / name, newline="") as file:
        return list(csv.DictReader(file))


def git(mirrors: Path, repository: str, *arguments: str) -> str | None:
    """Run git in a repository's mirror; None if it fails."""
    folder = mirrors / repository.replace("/", "+") / "repo"
    folder = folder / ".git" if (folder / ".git").is_dir() else folder
    done = subprocess.run(["git", "--git-dir", folder, *arguments], capture_output=True)
    return done.stdout.decode(errors="replace") if done.returncode == 0 else None


def environment(nogpu: Path, more: dict[str, str]) -> dict[str, str]:
    """Return the environment of a measured process: the nogpu of that source folder, no display."""
    path = [str(nogpu), str(HERE), more.get("PYTHONPATH", "")]
    return (
        os.environ
        | {"MPLBACKEND": "Agg", "PYTHONUNBUFFERED": "1"}
        | more
        | {"PYTHONPATH": os.pathsep.join(filter(None, path))}
    )


def ended(
    command: list[str],
    text: str,
    limit: float,
    nogpu: Path,
    folder: Path,
    more: dict[str, str] | None = None,
) -> tuple[int | None, str, str]:
    """Run a process with a time limit; return its status (None: time is up) and what it printed."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        stderr=subprocess.PIPE,
        env=environment(nogpu, more or {}),
        cwd=folder,
        start_new_session=True,
        errors="replace",
    )
    try:
        out, err = process.communicate(text, timeout=limit)
        return process.returncode, out, err
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        return None, out, err
