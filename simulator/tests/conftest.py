"""Settings that all tests of nogpu share."""

import signal
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

# Started in a shell's background a process ignores the interrupts that some tests are about.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
