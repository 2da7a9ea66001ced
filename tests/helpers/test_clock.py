"""`helpers.bench` and `compare` where the simulator does the work."""

import threading
from functools import partial

import helpers
from authoring.runs import add_run
from helpers import bounds, recordings, timing

TOY = bounds.Ceiling("toy", 1e9, 1e9)


def test_the_simulator_is_timed_until_all_work_is_done(cp):
    stream = cp.cuda.get_current_stream()

    def nap():  # returns at once, and keeps the stream busy
        stream.launch_host_func(threading.Event().wait, 0.02)

    assert 0.02 <= helpers.bench(nap, device="gpu", seconds=0.05).median < 0.2


def test_the_simulators_ceiling_names_it(cp):
    limit = helpers.ceiling("gpu")
    assert "simulator" in limit.name
    assert limit.bandwidth > 1e8 and limit.flops > 1e8


def test_times_of_the_simulator_are_never_recorded(cp, monkeypatch, tmp_path):
    monkeypatch.setattr(timing, "ceiling", lambda *which: TOY)
    monkeypatch.setattr(recordings, "listeners", [partial(add_run, tmp_path / "toy.json")])
    x = cp.ones(10)
    helpers.compare({"add": lambda: x + x}, key="99/add", device="gpu", seconds=0.01)
    assert not (tmp_path / "toy.json").exists()
