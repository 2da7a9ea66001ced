"""Figures of this machine that the next notebook finds again, in files of the user's."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from . import backend


def file(name: str) -> Path:
    """The file `name` in the user's cache folder."""
    folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(folder) / "strides-to-streams" / f"{name}.json"


def load(name: str) -> dict[str, Any]:
    """What is kept of this machine under `name`; nothing where the file cannot be read."""
    return _content(name).get(backend.cpu(), {})


def keep(name: str, figures: dict[str, Any]) -> None:
    """Keep figures of this machine beside those that are kept; nothing where it cannot be written.

    Another notebook may write at the same time: then the figures of one of both may be lost.
    """
    with suppress(OSError):
        content = _content(name)
        content.setdefault(backend.cpu(), {}).update(figures)
        path = file(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.{os.getpid()}")
        part.write_text(json.dumps(content, indent=1))
        part.replace(path)


def _content(name: str) -> dict[str, Any]:
    with suppress(OSError, TypeError, ValueError):
        return dict(json.loads(file(name).read_text()))
    return {}
