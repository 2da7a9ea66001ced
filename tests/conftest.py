"""Settings that all tests share."""

import signal
import sys
import threading
from pathlib import Path

import matplotlib
import matplotlib.pyplot
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from contrast import faults  # noqa: E402

matplotlib.use("Agg")  # no window, whatever the machine has

# Started in a shell's background a process ignores the interrupts that some tests are about.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


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
