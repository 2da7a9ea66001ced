"""Fixtures of the engine's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from engine_support import COMPILERS

from nogpu import engine


@pytest.fixture(params=COMPILERS, scope="module")
def compiler(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each C++ compiler in turn."""
    engine.use_compiler(request.param)
    yield request.param
    engine.use_compiler(None)


@pytest.fixture(params=[True, False], ids=["checked", "plain"])
def checked(request: pytest.FixtureRequest) -> Iterator[bool]:
    """With all checks on, and with none."""
    with engine.checks(request.param):
        yield request.param
