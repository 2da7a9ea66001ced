"""The clock for work on a device: events on a GPU, the host's clock on the simulator."""

import json
import sys
import time
from functools import partial
from types import SimpleNamespace

import pytest

import helpers
from authoring.runs import add_run
from helpers import backend, bounds, recordings, timing

TOY = bounds.Ceiling("toy", 1e9, 1e9)


class Events:
    """A pretend CuPy whose device is far behind the host: a call takes it two seconds."""

    __file__ = "/usr/lib/cupy/__init__.py"

    def __init__(self):
        self.work, self.recorded = 0.0, []
        outer = self

        class Event:
            def record(self):
                self.at = outer.work

            def synchronize(self):
                outer.recorded.append(self.at)

        self.cuda = SimpleNamespace(
            is_available=lambda: True, Event=Event,
            get_elapsed_time=lambda one, other: 1e3 * (other.at - one.at),
            get_current_stream=lambda: SimpleNamespace(synchronize=lambda: None))

    def launch(self):
        self.work += 2.0


def test_a_gpu_is_timed_by_events_not_by_the_hosts_clock(monkeypatch):
    device = Events()
    monkeypatch.setattr(timing, "find_cupy", lambda: device)
    measured = helpers.bench(device.launch, device="gpu", seconds=0.0)
    assert measured.median == pytest.approx(2.0)
    assert device.recorded, "nothing waited for the last event"


def test_an_unknown_device_is_refused():
    with pytest.raises(ValueError, match='"cpu" or "gpu"'):
        helpers.bench(lambda: 0, device="cuda")


def test_device_gpu_needs_a_gpu_or_the_simulator(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(RuntimeError, match=r"helpers\.start\(\)"):
        helpers.bench(lambda: 0, device="gpu")


def test_a_recorded_run_of_a_gpu_names_the_gpu_and_its_library(monkeypatch, tmp_path):
    device = Events()
    monkeypatch.setattr(recordings, "FOLDER", tmp_path)
    monkeypatch.setattr(timing, "ceiling", lambda *which: TOY)
    monkeypatch.setattr(timing, "find_cupy", lambda: device)
    monkeypatch.setattr(backend, "find_gpu", lambda: backend.Gpu("Toy 1", (9, 0), 1, (13, 0)))
    monkeypatch.setattr(backend, "installed", lambda *names: "cupy-cuda13x 14.2.0")
    monkeypatch.setattr(recordings, "listeners", [partial(add_run, tmp_path / "toy.json")])
    helpers.compare({"f": device.launch}, key="99/f", device="gpu", seconds=0.0)
    helpers.compare({"f": lambda: 0}, key="99/host", seconds=0.01)
    monkeypatch.setattr(recordings, "listeners", [])
    date = json.loads((tmp_path / "toy.json").read_text())["runs"]["99/f"]["date"]
    run, = timing.recorded_runs("99/f")
    assert run.machine == f"Recorded on Toy 1 ({date}, cupy-cuda13x 14.2.0)"
    host, = timing.recorded_runs("99/host")
    assert "host of an Toy 1" in host.machine


def test_quick_times_come_from_two_samples(monkeypatch):
    calls = []
    assert helpers.bench(lambda: time.sleep(0.002), seconds=0.05).samples > 5
    monkeypatch.setenv("COURSE_QUICK_TIMES", "1")
    assert helpers.bench(lambda: time.sleep(0.002), seconds=0.05).samples == 2
    bounds._fastest(lambda: calls.append(time.sleep(0.01)), seconds=0.4)
    assert 2 <= len(calls) < 20  # for a sixteenth of the time
    monkeypatch.setenv("COURSE_QUICK_TIMES", "0")
    assert helpers.bench(lambda: time.sleep(0.002), seconds=0.05).samples > 5


def test_a_ceiling_is_measured_however_long_one_call_takes():
    # Twenty learners on two cores: the first call alone took longer than the time for all.
    calls = []
    assert 0 < bounds._fastest(lambda: calls.append(1), seconds=0) < 10
    assert len(calls) == 2
