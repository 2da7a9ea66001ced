"""What all tests share.

The option `--slow` runs the tests that are slow by nature: other Pythons, arm64, all mutants.
Several processes take turns at whole files, as `--dist loadfile` says; of the tests of the checks'
answers, at whole lessons. They begin with the notebooks, whose few tests are long, and go on with
the files of many tests: what is handed out last is short, and no process waits long for another.
"""

import gc
import os
import subprocess
import sys
from collections import Counter

import pytest

import authoring  # noqa: F401 -- before nbval, which imports nbformat: see there
from tests import forked_kernels

# pyproject.toml keeps pytest from loading nbval by itself, which would be before this file.
pytest_plugins = ["nbval.plugin"]


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="run the tests that are marked slow, too")


def pytest_configure(config):
    config.option.loadscopereorder = False  # in the order of pytest_collection_modifyitems
    # Cells and checks measure as they do for a learner, but no test compares a time.
    os.environ.setdefault("COURSE_QUICK_TIMES", "1")
    # Hundreds of processes import the same modules: Python compiles these for the first one only.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    forked_kernels.install()
    if "PYTEST_XDIST_WORKER" not in os.environ:
        # Otherwise each of the first processes that run a kernel compiles nogpu's runtime.
        config.compiling = subprocess.Popen(
            [sys.executable, "-c", "import nogpu.engine.native as n; n.runtime()"],
            env={**os.environ, "PYTHONPATH": str(config.rootpath / "simulator/src")},
            stderr=subprocess.DEVNULL,
        )


def pytest_itemcollected(item):
    """A cell of a notebook is compared with what was recorded, wherever in the cell it stands."""
    if hasattr(item, "cell"):
        from authoring.notebook_form import outputs_of

        item.cell.outputs = outputs_of(item.cell)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What is collected stays: nobody looks for garbage in it, neither meanwhile nor in a test."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    if "PYTEST_XDIST_WORKER" in os.environ:
        tests = Counter(find_group(item.nodeid) for item in items)
        items.sort(key=lambda item: in_turn(find_group(item.nodeid), tests))
    if config.getoption("slow"):
        return
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="slow by nature: --slow runs it"))


def pytest_runtest_logreport(report):
    # At once, not only at the end: a run that is stopped has named what failed.
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        where = getattr(report.longrepr, "reprcrash", None) or str(report.longrepr)[-300:]
        print(f"\nFAILED {report.nodeid} {where}", flush=True)


def find_group(nodeid: str) -> str:
    """What a test shares its process with: its file, or the lesson that its id begins with."""
    file, _, test = nodeid.partition("::")
    if file == "tests/checks/test_answers.py":
        return f"{file}::{test.partition('[')[2].partition('-')[0]}"
    return file


def in_turn(group: str, tests: dict[str, int]) -> tuple:
    """The key by which groups are sorted: notebooks first, else by their numbers of tests."""
    return not group.endswith(".ipynb"), -tests[group], group


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class ByGroup(LoadFileScheduling):
        def _split_scope(self, nodeid):
            return find_group(nodeid)

        def mark_test_complete(self, node, item_index, duration=0):
            # The base class counts, after each test, all that its process has ever been given.
            super().mark_test_complete(node, item_index, duration)
            group = find_group(self.registered_collections[node][item_index])
            if all(self.assigned_work[node][group].values()):
                del self.assigned_work[node][group]

        def remove_node(self, node):
            # The test that a process died in has failed. The base class would run it once more.
            for unit in self.assigned_work.get(node, {}).values():
                for test, done in unit.items():
                    if not done:
                        unit[test] = True
                        super().remove_node(node)
                        return test
            return super().remove_node(node)

    return ByGroup(config, log)
