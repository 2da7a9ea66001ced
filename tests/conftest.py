"""Settings that all tests share."""

import signal
import threading

import matplotlib

matplotlib.use("Agg")  # no window, whatever the machine has

# Started in a shell's background a process ignores the interrupts that some tests are about.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
