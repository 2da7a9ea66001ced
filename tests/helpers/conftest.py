"""The simulator's libraries in this process, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pytest

import nogpu
from nogpu import finder


@pytest.fixture(autouse=True)
def careful_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure as in a lesson: see `helpers.timing.quick`."""
    monkeypatch.delenv("COURSE_QUICK_TIMES", raising=False)


@pytest.fixture(scope="session")
def cp() -> Iterator[ModuleType]:
    """The simulator's CuPy, put away again afterwards where it was not there before."""
    if finder.imported_real_libraries():
        pytest.skip("a real library is loaded in this process")
    was_there = finder.is_installed()
    nogpu.install()
    import cupy

    yield cupy
    if not was_there:
        nogpu.uninstall()
