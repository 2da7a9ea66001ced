"""Stream capture and graphs."""

import cupy as cp
import numpy as np

from tests.behaviour.marks import alone

x = cp.zeros(4, dtype=cp.float32)
x += 1  # the kernel is there before anything is captured
x *= 2
x[...] = 0
cp.cuda.Device().synchronize()


def capture_and_launch():
    """What is captured does not run until the graph is launched, and then each time."""
    s = cp.cuda.Stream(non_blocking=True)
    with s:
        s.begin_capture()
        cp.add(x, 1, out=x)
        g = s.end_capture()
        s.synchronize()
        print(type(g).__name__, x)
        g.launch(stream=s)
        g.launch()
        s.synchronize()
    print(x)


def is_capturing():
    """is_capturing says so."""
    s = cp.cuda.Stream(non_blocking=True)
    with s:
        print(s.is_capturing())
        s.begin_capture()
        print(s.is_capturing())
        s.end_capture()
        print(s.is_capturing())


def empty_graph():
    """A capture without work gives a graph that can be launched."""
    s = cp.cuda.Stream(non_blocking=True)
    s.begin_capture()
    g = s.end_capture()
    g.launch(s)
    s.synchronize()
    print("launched")


def launch_on_another_stream():
    """A graph may be launched on any stream; upload prepares it."""
    s, t = cp.cuda.Stream(non_blocking=True), cp.cuda.Stream(non_blocking=True)
    y = cp.ones(4, dtype=cp.float32)
    cp.cuda.Device().synchronize()
    with s:
        s.begin_capture()
        y *= 2
        g = s.end_capture()
    g.upload(t)
    for _ in range(3):
        g.launch(t)
    t.synchronize()
    print(y)


def graph_reads_the_same_memory():
    """A graph works on the addresses it was captured with, with what is in them then."""
    s, y, z = cp.cuda.Stream(), cp.ones(4, dtype=cp.float32), cp.zeros(4, dtype=cp.float32)
    cp.add(y, y, out=z)
    cp.cuda.Device().synchronize()
    with s:
        s.begin_capture()
        cp.add(y, y, out=z)
        g = s.end_capture()
    y[...] = 5
    g.launch()
    cp.cuda.Device().synchronize()
    print(z)


def two_streams_in_one_graph():
    """A second stream joins a capture through events."""
    s, t = cp.cuda.Stream(non_blocking=True), cp.cuda.Stream(non_blocking=True)
    y, z = cp.ones(4, dtype=cp.float32), cp.ones(4, dtype=cp.float32)
    y *= 2
    cp.cuda.Device().synchronize()
    with s:
        s.begin_capture()
        t.wait_event(s.record())
        with t:
            z *= 2
        y *= 2
        s.wait_event(t.record())
        g = s.end_capture()
    g.launch(s)
    s.synchronize()
    print(y, z)


@alone
def unjoined_stream():
    """A stream that was not joined again spoils the capture: CUDARuntimeError."""
    s, t = cp.cuda.Stream(non_blocking=True), cp.cuda.Stream(non_blocking=True)
    s.begin_capture()
    t.wait_event(s.record())
    with t:
        x.fill(1)
    s.end_capture()


def capture_on_the_default_stream():
    """The default stream cannot be captured: RuntimeError."""
    cp.cuda.Stream.null.begin_capture()


def end_without_begin():
    """end_capture without a capture is a CUDARuntimeError."""
    cp.cuda.Stream(non_blocking=True).end_capture()


@alone
def begin_twice():
    """begin_capture while capturing is a CUDARuntimeError."""
    s = cp.cuda.Stream(non_blocking=True)
    s.begin_capture()
    s.begin_capture()


@alone
def transfer_to_the_device():
    """cp.asarray of a NumPy array while capturing is a RuntimeError."""
    s = cp.cuda.Stream(non_blocking=True)
    with s:
        s.begin_capture()
        cp.asarray(np.arange(3))


@alone
def transfer_to_the_host():
    """get() while capturing is a RuntimeError."""
    s = cp.cuda.Stream(non_blocking=True)
    with s:
        s.begin_capture()
        x.get()


@alone
def truth_of_an_array():
    """bool() of a device value while capturing is a RuntimeError: it is a transfer."""
    s = cp.cuda.Stream(non_blocking=True)
    with s:
        s.begin_capture()
        bool(x[0])


@alone
def synchronize_while_capturing():
    """synchronize() of a capturing stream is a CUDARuntimeError."""
    s = cp.cuda.Stream(non_blocking=True)
    s.begin_capture()
    s.synchronize()


@alone
def end_after_a_violation():
    """After a violation end_capture is a CUDARuntimeError, too."""
    s = cp.cuda.Stream(non_blocking=True)
    s.begin_capture()
    try:
        s.synchronize()
    except cp.cuda.runtime.CUDARuntimeError as error:
        print(error)
    s.end_capture()


def allocation_while_capturing():
    """New arrays may be made while capturing; a launch fills them."""
    s = cp.cuda.Stream(non_blocking=True)
    with s:
        s.begin_capture()
        y = x + 1
        g = s.end_capture()
        g.launch()
        s.synchronize()
    print(y - x)


def host_function_in_a_graph():
    """A host function can be captured; it is called at each launch."""
    seen, s = [], cp.cuda.Stream(non_blocking=True)
    s.begin_capture()
    s.launch_host_func(seen.append, 1)
    g = s.end_capture()
    print(seen)
    g.launch(s)
    g.launch(s)
    s.synchronize()
    print(seen)


def graph_constructor():
    """Graph() is a NotImplementedError."""
    cp.cuda.Graph()
