"""Settings that all tests share."""

import signal
import sys
import threading
from pathlib import Path

import matplotlib
import matplotlib.pyplot
import pytest

import helpers  # noqa: F401 -- makes nogpu importable where it is not installed
from nogpu import finder

sys.path.insert(0, str(Path(__file__).parent))
from contrast import faults  # noqa: E402

matplotlib.use("Agg")  # no window, whatever the machine has

# Started in a shell's background a process ignores the interrupts that some tests are about.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def libraries_as_before():
    """Put back nogpu's import hook and the modules that a test has replaced.

    Another file of tests may hold objects of theirs, whose classes must be those of the modules.
    """
    before, installed = _imported_libraries(), finder.is_installed()
    yield
    if any(sys.modules.get(name) is not module for name, module in before.items()):
        for name in _imported_libraries():
            del sys.modules[name]
        sys.modules.update(before)
    if installed and not finder.is_installed():
        finder.install()


def _imported_libraries() -> dict:
    prefixes = tuple(finder.LIBRARIES)  # the quick look first: twice a test, thousands of modules
    return {name: module for name, module in sys.modules.items()
            if name.startswith(prefixes) and name.partition(".")[0] in finder.LIBRARIES}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    """Each picture that a test in here leaves open must be one that everybody can read."""
    result = yield
    try:
        for number in matplotlib.pyplot.get_fignums():
            problems = faults(matplotlib.pyplot.figure(number))
            assert not problems, "\n".join(["a picture is hard to read:", *problems])
    finally:
        matplotlib.pyplot.close("all")
    return result
