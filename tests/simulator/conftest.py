"""The simulator's libraries in this process, for the tests of this folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from helpers import backend

FACES = {"cupy", "cupyx", "cupy_backends", "pycuda"}


def _loaded() -> list[str]:
    return [name for name in sys.modules if name.partition(".")[0] in FACES]


def _is_real(name: str) -> bool:
    file = getattr(sys.modules[name], "__file__", None)
    return bool(file) and backend.FACES not in Path(file).resolve().parents


@pytest.fixture(scope="session")
def cp() -> Iterator[ModuleType]:
    """The simulator's CuPy, put away again afterwards where it was not there before."""
    if any(_is_real(name) for name in _loaded()):
        pytest.skip("a real library is loaded in this process")
    was_there = bool(_loaded())
    backend._use_simulator()
    import cupy

    yield cupy
    if was_there:
        return
    sys.path.remove(str(backend.FACES))
    for name in _loaded():
        del sys.modules[name]
