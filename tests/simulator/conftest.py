"""The simulator's libraries in this process, for the tests of this folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from helpers import backend

FACES = {"cupy", "cupyx", "cupy_backends", "pycuda"}


def _loaded() -> list[str]:
    return [name for name in sys.modules if name.partition(".")[0] in FACES]


@pytest.fixture(scope="session")
def cp() -> Iterator[ModuleType]:
    """The simulator's CuPy, put away again afterwards."""
    if _loaded():
        pytest.skip("a real library is loaded in this process")
    backend._use_simulator()
    import cupy

    yield cupy
    sys.path.remove(str(backend.FACES))
    for name in _loaded():
        del sys.modules[name]
