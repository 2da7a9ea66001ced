"""Timelines: what is seen, what is left as it was, and what is said about it."""

import collections
import json
import time
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pytest

import helpers
from authoring.runs import add_run
from helpers import backend, draw, recordings
from helpers.timeline import IN, KERNEL, OUT, Span, Timeline
from helpers.timeline.events import IMMUTABLE, set_attribute
from helpers.timeline.record import recorded_timelines

helpers.start()

import cupy as cp  # noqa: E402
import cupyx  # noqa: E402

both = pytest.mark.parametrize("by_events", [False, True], ids=["scheduler", "events"])
SIMULATED = backend.is_simulated(cp)
SPIN = cp.RawKernel(r"""
extern "C" __global__ void spin(long long cycles) {
    long long start = clock64();
    while (clock64() - start < cycles) { }
}
""", "spin")


@pytest.fixture(autouse=True)
def no_windows(monkeypatch):
    monkeypatch.setattr(plt, "show", lambda: None)
    yield
    plt.close("all")


@pytest.fixture
def by(by_events, monkeypatch):
    """Whether events are used, as on a GPU, or what the simulator's scheduler knows."""
    if not by_events and not SIMULATED:
        pytest.skip("a GPU has events only")
    monkeypatch.setattr(backend, "is_simulated", lambda cupy: not by_events)
    return by_events


def spans(*rows):
    return tuple(Span(stream, kind, kind, start, end, nbytes)
                 for stream, kind, start, end, nbytes in rows)


TWO = Timeline("two", "toy", spans(
    ("stream 1", IN, 1.0, 2.0, 100), ("stream 1", KERNEL, 2.0, 4.0, 0),
    ("stream 2", IN, 2.0, 3.5, 100), ("stream 2", KERNEL, 3.5, 5.0, 0),
    ("stream 2", OUT, 5.0, 5.5, 50)), returned=6.0, calls=((0.5, 1.0), (3.0, 5.5)))


def test_busy_times_and_the_ideal():
    assert TWO.seconds == 5.5
    assert TWO.calling == 3.0
    assert (TWO.busy(IN), TWO.busy(KERNEL), TWO.busy(OUT)) == (2.5, 3.0, 0.5)
    assert TWO.least == 3.0
    assert TWO.beside == 1.5
    assert Timeline("", "toy", TWO.spans[:1]).beside == 0


def test_table_has_the_facts_of_the_picture(capsys):
    draw.timeline(TWO)
    printed = capsys.readouterr().out
    assert printed.strip() == repr(TWO)
    assert printed.splitlines()[0] == "two, toy: 5.50 s; busiest unit 3.00 s, 55% of it"
    assert [line.split()[:5] for line in printed.splitlines()[2:4]] == [
        ["copies", "in", "2", "200", "B"], ["kernels", "2", "-", "3.00", "s"]]
    assert "a copy beside a kernel for 1.50 s" in printed
    (axes,) = plt.gcf().axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "Python", "copies in", "kernels", "copies out"]


def test_pictures_refuse_what_they_cannot_draw():
    with pytest.raises(TypeError, match="helpers.timeline"):
        draw.timeline([1])
    with pytest.raises(ValueError, match="nothing ran"):
        draw.timeline(Timeline("empty", "toy", ()))
    many = spans(*((f"stream {k}", IN, 0.0, 1.0, 1) for k in range(1, 20)))
    with pytest.raises(ValueError, match="19 streams"):
        draw.timeline(Timeline("many", "toy", many))


def pieces(run):
    """What each stream did, in order and without times: the same on every machine."""
    return {stream: [span.name for span in run.spans if span.stream == stream]
            for stream in run.streams}


def mixed(one, other, x, y, host):
    with one:
        x.set(host)
        SPIN((1,), (1,), (np.int64(1000),))
        cp.matmul(x, x, out=y)
        y += 1
    other.wait_event(one.record())
    y.get(stream=other, out=host, blocking=False)
    SPIN((1,), (1,), (np.int64(1000),), stream=other)
    return cp.asnumpy(cp.asarray(np.ones(3)))


@both
def test_both_ways_see_the_same_pieces(by):
    one, other = (cp.cuda.Stream(non_blocking=True) for _ in range(2))
    x, y = cp.ones((70, 70), cp.float32), cp.ones((70, 70), cp.float32)
    host = cupyx.zeros_pinned((70, 70), np.float32)
    mixed(one, other, x, y, host)
    with helpers.timeline("mixed") as seen:
        assert seen.spans == ()
        mixed(one, other, x, y, host)
    done = pieces(seen)
    assert done.pop("default stream") == ["copy in", "copy out"]
    assert sorted(done) == ["stream 1", "stream 2"]
    assert sorted(done.values()) == [["copy in", "spin", "matmul", "add"], ["copy out", "spin"]]
    assert sum(span.nbytes for span in seen.of(IN)) == x.nbytes + 24
    assert all(0 <= span.start <= span.end for span in seen.spans)
    back = next(span for span in seen.of(OUT) if span.stream == "default stream")
    assert seen.returned >= back.end > seen.spans[0].start  # asnumpy waits for it: one origin
    assert len(seen.calls) >= 7
    assert all(0 <= start <= end <= seen.returned for start, end in seen.calls)


@both
def test_the_host_waits_in_calls(by):
    stream = cp.cuda.Stream(non_blocking=True)
    SPIN((1,), (1,), (np.int64(1),), stream=stream)
    stream.synchronize()
    with helpers.timeline() as seen:
        time.sleep(0.05)
        SPIN((1,), (1,), (np.int64(200_000_000),), stream=stream)  # long for a busy host
        stream.synchronize()
    (kernel,), (start, end) = seen.of(KERNEL), seen.calls[-1]
    assert kernel.start >= 0.045 and seen.calls[0][0] >= 0.045
    assert end - start > 0.5 * (kernel.end - kernel.start) and end > kernel.end - 0.001


@both
def test_a_copy_beside_a_held_kernel_overlaps_and_one_stream_does_not(by):
    one, other = (cp.cuda.Stream(non_blocking=True) for _ in range(2))
    x = cp.zeros(100_000, cp.float32)
    host = cupyx.zeros_pinned(100_000, np.float32)
    for second, expected in ((other, True), (one, False)):
        with helpers.timeline() as seen:
            SPIN((1,), (1,), (np.int64(200_000_000),), stream=one)
            for _ in range(5):  # the kernel may begin late on a busy machine
                x.set(host, stream=second)
                time.sleep(0.005)
            second.synchronize()
        assert (seen.beside > 0) is expected, seen


@both
def test_graphs_and_captures(by):
    stream, x = cp.cuda.Stream(non_blocking=True), cp.zeros(10, cp.float32)
    cp.add(x, 1, out=x)
    cp.cuda.Device().synchronize()
    with helpers.timeline() as seen, stream:
        stream.begin_capture()
        cp.add(x, 1, out=x)
        graph = stream.end_capture()
        graph.launch()
    assert float(x[0]) == 2
    assert pieces(seen) == {"stream 1": ["graph" if by else "add"]}


@pytest.mark.skipif(SIMULATED, reason="the simulator's scheduler sees PyCUDA's work anyway")
def test_pycuda_is_seen_on_a_gpu():
    driver = pytest.importorskip("pycuda.driver")
    pytest.importorskip("pycuda.autoprimaryctx")
    from pycuda.compiler import SourceModule

    kernel = SourceModule("__global__ void k(float* x) { x[threadIdx.x] = 1; }").get_function("k")
    stream, host = driver.Stream(1), driver.pagelocked_zeros(32, np.float32)
    there = driver.mem_alloc(host.nbytes)
    with helpers.timeline() as seen:
        driver.memcpy_htod_async(there, host, stream)
        kernel(there, block=(32, 1, 1), stream=stream)
        driver.memcpy_dtoh_async(host, there, stream)
        stream.synchronize()
    assert host.sum() == 32
    assert pieces(seen) == {"stream 1": ["copy in", "kernel", "copy out"]}


@pytest.mark.parametrize("by_events", [True], ids=["events"])
def test_afterwards_everything_is_as_before(by):
    kernels = (cp.RawKernel, cp.ElementwiseKernel, cp.ReductionKernel, cp.ufunc)
    before = [vars(kernel)["__call__"] for kernel in kernels]
    names = set(vars(cp.ndarray))
    with pytest.raises(TypeError), helpers.timeline():
        SPIN(1, 2, 3)
    assert [vars(kernel)["__call__"] for kernel in kernels] == before
    assert set(vars(cp.ndarray)) == names
    with helpers.timeline() as seen:
        pass
    assert seen.spans == ()


def test_timelines_are_not_nested():
    with helpers.timeline(), pytest.raises(RuntimeError, match="already"), helpers.timeline():
        pass


def test_compiled_types_change_and_change_back():
    own = vars(collections.deque)["append"]
    assert collections.deque.__flags__ & IMMUTABLE
    try:
        set_attribute(collections.deque, "append", lambda queue, x: queue.appendleft(x))
        queue = collections.deque([1])
        queue.append(2)
        assert list(queue) == [2, 1]
    finally:
        set_attribute(collections.deque, "append", own)
    queue.append(3)
    assert list(queue) == [2, 1, 3]
    assert collections.deque.__flags__ & IMMUTABLE
    with pytest.raises(TypeError):
        collections.deque.append = None


def test_recorded_timelines_come_back(monkeypatch, tmp_path):
    monkeypatch.setattr(recordings, "FOLDER", tmp_path)
    path = tmp_path / "toy.json"
    monkeypatch.setattr(recordings, "listeners", [partial(add_run, path)])
    recordings.tell("99/two", TWO, "gpu")
    content = json.loads(path.read_text())
    content["gpu"] = "Toy GPU"
    path.write_text(json.dumps(content))
    (again,) = recorded_timelines("99/two")
    assert pieces(again) == pieces(TWO)
    assert (again.least, again.calls) == (TWO.least, TWO.calls)
    assert again.machine.startswith("recorded on Toy GPU")
    assert recorded_timelines("99/two", but=content["machine"]) == ()
    assert recorded_timelines("99/none") == ()


def test_until_queued_leaves_out_the_device(monkeypatch):
    stream = cp.cuda.Stream(non_blocking=True)

    def launch():
        SPIN((1,), (1,), (np.int64(20_000_000),), stream=stream)
        stream.synchronize() if wait else None

    wait = False
    queued = helpers.bench(launch, device="gpu", until="queued", seconds=0.01)
    wait = True
    done = helpers.bench(launch, device="gpu", until="queued", seconds=0.01)
    assert queued.median < done.median
    with pytest.raises(ValueError, match="until"):
        helpers.bench(launch, until="now")
