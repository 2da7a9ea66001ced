"""The option `--slow`, for tests that are slow by nature, and quick times in notebooks."""

import os

import pytest


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="run the tests that are marked slow, too")


def pytest_configure(config):
    # Cells and checks measure as they do for a learner, but no test compares a time.
    os.environ.setdefault("COURSE_QUICK_TIMES", "1")


def pytest_collection_modifyitems(config, items):
    if config.getoption("slow"):
        return
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="slow by nature: --slow runs it"))
