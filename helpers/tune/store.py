"""What tuning found, kept on disk: one file for each search on each device."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from .. import backend

FORMAT = 1  # of the files, and of the way to measure: another number forgets all
PIECE = 2**22  # bytes that one thread digests or compares at a time


def folder() -> Path:
    """Where the files lie: `strides-to-streams/tune` in the user's cache folder."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(home) / "strides-to-streams" / "tune"


def forget() -> int:
    """Delete all that `tune` remembers on this machine, and return how many searches that was."""
    files = list(folder().glob("*.json"))
    for file in files:
        file.unlink(missing_ok=True)
    return len(files)


def digest(*parts: object) -> str:
    """A name that depends on every part: text, numbers, and arrays with their content."""
    whole = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            whole.update(f"{part.dtype.str} {part.shape} {part.strides}".encode())
            memory = np.ascontiguousarray(part).reshape(-1).view(np.uint8)
            pieces = [memory[at:at + PIECE] for at in range(0, memory.size, PIECE)]
            with ThreadPoolExecutor(backend.cores()) as pool:
                for piece in pool.map(lambda p: hashlib.blake2b(p).digest(), pieces):
                    whole.update(piece)
        else:
            text = f"{type(part).__name__} {part!r}".encode()
            whole.update(f"{len(text)} ".encode() + text)
    return whole.hexdigest()


class Memory:
    """The results of one search, by the digest of each variant; written whole at every addition.

    Parameters
    ----------
    name : str
        The search's digest.
    about : sequence of str
        For whoever opens the file.
    fresh : bool
        Whether to begin with nothing, whatever lies on disk.
    """

    def __init__(self, name: str, about: Sequence[str], fresh: bool = False) -> None:
        self.path, self._about = folder() / f"{name}.json", list(about)
        self._found: dict[str, dict] = {} if fresh else self._read()

    def _read(self) -> dict[str, dict]:
        """What the file says; nothing where it is missing or damaged."""
        try:
            content = json.loads(self.path.read_text(encoding="utf-8"))
            found = content["variants"]
            whole = content["format"] == FORMAT and content["check"] == digest(_plain(found))
            return found if whole else {}
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    def get(self, name: str) -> dict | None:
        """What was found out about a variant, or None."""
        return self._found.get(name)

    def put(self, name: str, found: dict) -> None:
        """Keep it. Where the disk is full or read-only it is kept in this process only."""
        self._found[name] = found
        content = {"format": FORMAT, "about": self._about, "check": digest(_plain(self._found)),
                   "variants": self._found}
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle, aside = tempfile.mkstemp(dir=self.path.parent, prefix="new-")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    json.dump(content, file, indent=1)
                os.replace(aside, self.path)  # readers see the old file or the new one
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(aside)
                raise

    def forget(self) -> None:
        """Delete the file."""
        self._found = {}
        self.path.unlink(missing_ok=True)


def _plain(found: dict) -> str:
    return json.dumps(found, sort_keys=True)
