"""The simulator's libraries in this process, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pytest
from machine import install_here

import nogpu
from nogpu import finder


@pytest.fixture(scope="session")
def cp() -> Iterator[ModuleType]:
    """The simulator's CuPy, put away again afterwards where it was not there before."""
    if finder.imported_real_libraries():
        pytest.skip("a real library is loaded in this process")
    was_there = finder.is_installed()
    if not was_there:
        install_here()
    import cupy

    yield cupy
    if not was_there:
        nogpu.uninstall()
