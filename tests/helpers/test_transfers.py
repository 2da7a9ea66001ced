"""`helpers.traffic`: copies that code asks for, and lines at which the host waits."""

import gc
import sys
import threading
import weakref

import numpy as np
import pytest

import helpers
from helpers import transfers

HOST = np.linspace(0, 1, 1000)


def test_copies_and_waits_stand_at_their_lines(cp):
    def work(host):
        x = cp.asarray(host)
        y = x + 1
        if y.sum() > 0:
            y[0] = float(y[1])
        return y.get()

    seen = helpers.traffic(work, HOST)
    lines = {line.number: (line.to_device, line.to_host, line.waits) for line in seen.lines}
    assert lines == {2: ([8000], [], 0), 4: ([], [1], 1), 5: ([], [8], 1), 6: ([], [8000], 1)}
    assert (seen.to_device, seen.to_host, seen.waits) == ([8000], [1, 8, 8000], 3)
    assert np.allclose(seen.result[1:], HOST[1:] + 1)
    assert "1 (8,000 B)" in repr(seen) and "y[0] = float(y[1])" in repr(seen)


def test_what_the_function_held_is_gone_after_it(cp):
    """Not only when Python next looks for cycles: PyCUDA's memory must go in its own thread."""
    class Held:
        pass

    def work():
        held = Held()
        seen.append(weakref.ref(held))

    seen = []
    gc.disable()
    try:
        helpers.traffic(work)
        assert [held() for held in seen] == [None, None]
    finally:
        gc.enable()


def test_masks_wait_and_where_does_not(cp):
    x = cp.asarray(HOST)

    def masks(x):
        kept = x[x > 0.5]
        return kept.sum()

    def where(x):
        return cp.where(x > 0.5, x, 0).sum()

    assert helpers.traffic(masks, x).waits == 1
    assert helpers.traffic(where, x).waits == 0


def test_a_loop_counts_each_time_and_the_callers_line_counts_the_callee(cp):
    x = cp.asarray(HOST)

    def callee(k):
        return float(x[k])

    def loop():
        total = 0
        for k in range(3):
            total += callee(k)
        return total

    seen, = [line for line in helpers.traffic(loop).lines if line.waits]
    assert (seen.number, seen.waits, seen.to_host) == (4, 3, [8, 8, 8])


def test_slow_python_is_no_wait(cp):
    x = cp.asarray(HOST)

    def slow():
        total = sum(k * k for k in range(3_000_000))
        return x + total

    assert helpers.traffic(slow).waits == 0


def test_an_error_passes_through_and_everything_is_put_back(cp):
    names = ("get", "__float__", "__getitem__", "set")
    before = [vars(cp.ndarray).get(name) for name in names], cp.asarray, sys.gettrace()

    calls = []

    def fails():
        calls.append(1)
        if len(calls) > 1:
            raise KeyError("second call")
        return cp.asarray(HOST)

    with pytest.raises(KeyError):
        helpers.traffic(fails)
    assert before == ([vars(cp.ndarray).get(name) for name in names], cp.asarray, sys.gettrace())


def test_what_has_no_lines_is_refused(cp):
    with pytest.raises(TypeError, match="follows the lines of a Python function"):
        helpers.traffic(len, [1])


def test_a_thread_that_waits_is_found_on_a_busy_machine(monkeypatch):
    monkeypatch.setattr(sys, "getswitchinterval", lambda: -1.0)  # each look comes late
    monkeypatch.setattr(transfers, "BUSY", 0.3)
    end = threading.Event()
    waits = threading.Thread(target=end.wait, args=(60,), daemon=True)
    waits.start()
    assert transfers.stands_still(waits.ident, threading.Event())
    end.set()
    waits.join()
