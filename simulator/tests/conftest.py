"""Settings that all tests of nogpu share."""

import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from nogpu import engine

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def all_checks() -> Iterator[None]:
    """Every check, as a new process has them, whatever other tests of this process switched off."""
    with engine.checks(True):
        yield


# Started in a shell's background a process ignores the interrupts that some tests are about.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
