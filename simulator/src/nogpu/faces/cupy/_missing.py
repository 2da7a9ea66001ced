"""What the real library has and the simulator lacks says so, instead of looking misspelt."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=1)
def _recorded() -> dict[str, list[str]]:
    path = Path(__file__).with_name("_names.json")
    return json.loads(path.read_text(encoding="utf-8"))


def missing(module: str) -> Callable[[str], object]:
    """A module's ``__getattr__`` for names that it lacks.

    Parameters
    ----------
    module : str
        The real library's name of the module or class, e.g. ``"cupy.linalg"``.
    """

    def __getattr__(name: str) -> object:
        raise error(module, name, f"module '{module}' has no attribute '{name}'")

    return __getattr__


def error(owner: str, name: str, otherwise: str) -> AttributeError:
    """The AttributeError for ``owner.name``."""
    if not name.startswith("_") and name in _recorded().get(owner, ()):
        otherwise = (
            f"{owner}.{name} exists in CuPy, but the course's simulator lacks it: "
            "it needs a machine with a GPU"
        )
    return AttributeError(otherwise)
