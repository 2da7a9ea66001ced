"""The ladder: rungs are measured only where the answers are right, and are shown beside others."""

import json
from functools import partial

import numpy as np
import pytest

from authoring.runs import add_run
from helpers import bounds, kernels, ladder, memory, network, recordings
from helpers.data import load_network

QUICK = {"batch": 50, "images": 100, "seconds": 0.01}


@pytest.fixture
def weights():
    return load_network()


@pytest.fixture(autouse=True)
def own(monkeypatch, tmp_path):
    """Nothing recorded, nothing kept, and what is measured here is kept elsewhere."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("PYTEST_VERSION", raising=False)
    monkeypatch.delenv("COURSE_QUIET", raising=False)
    monkeypatch.setattr(ladder, "quick", lambda: False)
    monkeypatch.setattr(recordings, "FOLDER", tmp_path / "recorded")
    (tmp_path / "recorded").mkdir()
    return tmp_path


def test_a_reader_is_checked_measured_and_remembered(weights, own, capsys):
    rung = ladder.measure(lambda x: network.forward(x, weights), "NumPy", **QUICK)
    assert rung.rate == 100 / rung.seconds and 10 < rung.rate < 1e6
    assert f"{rung.rate:,.0f} digits a second" in repr(rung)
    here, = ladder.machines()
    assert here.name == "this machine" and here.rungs == {"NumPy": rung}
    ladder.show()
    assert f"{rung.rate:,.0f}" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["PYTEST_VERSION", "COURSE_QUIET"])
def test_where_nobody_watches_only_recorded_rungs_are_shown(weights, monkeypatch, name):
    ladder.measure(lambda x: network.forward(x, weights), "NumPy", **QUICK)
    monkeypatch.setenv(name, "1")
    assert ladder.machines() == []


def test_the_images_are_distinct_and_go_in_batches(weights):
    seen = []

    def read(x):
        seen.append(x.copy())
        return network.forward(x, weights)

    ladder.measure(read, "NumPy", **QUICK)
    last = np.concatenate(seen[-2:])
    assert [len(x) for x in seen[-2:]] == [50, 50]
    assert len({x.tobytes() for x in last}) == 100


@pytest.mark.parametrize("number", ["float32", "float16"])
@pytest.mark.parametrize("fault", ["one digit off", "all zeros", "wrong shape", "nan"])
def test_wrong_answers_are_not_measured(weights, number, fault, own):
    def read(x):
        logits = network.forward(x, weights)
        if fault == "one digit off" and number == "float32":
            logits[3, 2] += 2e-4
        elif fault == "wrong shape":
            return logits[:, :9]
        else:
            logits[:] = np.nan if fault == "nan" else 0
        return logits

    with pytest.raises(ValueError, match="digit|shape"):
        ladder.measure(read, "NumPy", number=number, **QUICK)
    assert not memory.load("ladder")


def test_narrow_numbers_may_be_less_exact(weights):
    narrow = {name: array.astype(np.float16).astype(np.float32) for name, array in weights.items()}
    read = partial(network.forward, w=narrow)
    with pytest.raises(ValueError, match="more than 0.0001 off"):
        ladder.measure(read, "narrow", **QUICK)
    assert ladder.measure(read, "narrow", number="float16", **QUICK).rate > 0


def test_on_the_simulator_work_is_counted_and_no_time_is_kept(cp, weights):
    w = {name: cp.asarray(array) for name, array in weights.items()}
    rung = ladder.measure(lambda x: network.forward(x, w, cp), "CuPy", where="device", **QUICK)
    assert rung.launches > 50 and rung.sectors == 0 and "your own kernels" not in repr(rung)
    assert not ladder.machines()


def test_on_the_simulator_the_bytes_of_cupys_operations_are_counted(cp, monkeypatch):
    monkeypatch.setattr(ladder, "check", lambda *args: None)
    rung = ladder.measure(lambda x: x.reshape(50, 64) + x[0].ravel(), "sum", where="device",
                          **QUICK)
    assert rung.arrays == 2 * 50 * 64 * 4 + 64 * 4
    assert "reads and writes is 517 bytes." in repr(rung)


def test_on_the_simulator_own_kernels_are_counted(cp, weights):
    w = {name: cp.asarray(array) for name, array in weights.items()}
    kernel = cp.RawKernel(kernels.source("bias_gelu"), "bias_gelu")
    sizes = []

    def bias_gelu(x, bias):
        y, n = cp.empty_like(x), x.size // 4
        kernel((-(-n // 128),), (128,), (x, bias, y, np.uint32(len(bias)), np.uint32(n)))
        sizes.append(x.nbytes)
        return y

    rung = ladder.measure(lambda x: network.forward(x, w, cp, bias_gelu=bias_gelu), "fused",
                          where="device", **QUICK)
    moved = sum(sizes[-3:])  # of the call that was counted, the last one
    assert rung.nbytes == 3 * moved  # x, bias, y: a bias for each element
    assert rung.sectors >= 2 * moved / 32 and "your own kernels ask for" in repr(rung)


def test_recorded_rungs_stand_beside_with_their_roof(weights, own, monkeypatch, capsys):
    listener = partial(add_run, own / "recorded" / "toy.json")
    monkeypatch.setattr(recordings, "listeners", [listener])
    ladder.measure(lambda x: network.forward(x, weights), "NumPy", **QUICK)
    content = json.loads((own / "recorded" / "toy.json").read_text())
    content.update(machine="toy", gpu="Toy 1", ceilings={"Toy 1: float32": bounds.as_recorded(
        bounds.Ceiling("Toy 1", 1e12, ladder.FLOPS * 2e6, number="float32"))[1]})
    content["runs"]["ladder/NumPy"]["rung"].update(seconds=10.0)
    content["runs"]["ladder/faster"] = {"device": "gpu", "rung": dict(
        content["runs"]["ladder/NumPy"]["rung"], name="faster", seconds=1e-4)}
    (own / "recorded" / "toy.json").write_text(json.dumps(content))
    ladder.show()
    lines = capsys.readouterr().out.strip("\n").splitlines()
    assert [line.split("  ")[0] for line in lines[2:5]] == [
        "NumPy", "faster", "roof of float32's arithmetic"]
    assert lines[3].split() == ["faster", "host", "1,000,000", "-", "17", "minutes"]
    assert "2,000,000" in lines[4] and lines[2].split()[-2:] == ["3.2", "years"]
    assert max(map(len, lines)) <= 80


def test_notes_name_where_each_rung_ran_and_those_above_the_roof(own, capsys, monkeypatch):
    def rung(name, machine, where, number="float32", rate=1e3):
        return ladder.Rung(name, machine, where, number, 100, 100, 100 / rate, 0, 0)

    rungs = [rung("NumPy, small", "Toy CPU", "host"),
             rung("NumPy, large", "Toy CPU", "host", rate=500),
             rung("CuPy", "Toy 1", "device"), rung("copied", "Toy 1", "host", rate=2e3),
             rung("fewer operations", "Toy 1", "device", rate=3e6),
             rung("short numbers", "Toy 1", "device", "float16", rate=4e6)]
    roof = bounds.Ceiling("Toy 1", 1e12, ladder.FLOPS * 2e6, number="float32")
    found = [ladder.Machine("Toy 1, recorded", {one.name: one for one in rungs}, roof),
             ladder.Machine("this machine", {"CuPy": rung("CuPy", "Toy 2", "device")})]
    monkeypatch.setattr(ladder, "machines", lambda: found)
    ladder.show()
    assert capsys.readouterr().out.rstrip().splitlines()[-3:] == [
        "Above the roof of float32, with products in float16: short numbers",
        "Recorded: Toy 1; but on Toy CPU: NumPy, large; NumPy, small", "This machine: Toy 2"]
    ladder.show("copied", "NumPy, small")  # no rung of this machine, and none above the roof
    lines = capsys.readouterr().out.strip("\n").splitlines()
    assert [line.split("  ")[0] for line in lines[2:]] == [
        "NumPy, small", "copied", "roof of float32's arithmetic",
        "Recorded: Toy 1; but on Toy CPU: NumPy, small"]
    assert "this machine" not in "".join(lines).lower()
    with pytest.raises(ValueError, match="no rung 'Numpy'"):
        ladder.show("copied", "Numpy")


@pytest.mark.parametrize("seconds, text", [
    (0.5, "0.5 seconds"), (10, "10 seconds"), (89, "89 seconds"), (91, "1.5 minutes"),
    (870, "14 minutes"), (5400, "1.5 hours"), (111_600, "31 hours"), (2e5, "2.3 days"),
    (1e8, "3.2 years"),
])
def test_durations(seconds, text):
    assert ladder.duration(seconds) == text


def test_the_count_of_operations_is_that_of_the_network(weights):
    """Two for each weight and place where it is used, attention's two products besides."""
    places = {"conv1": 64, "conv2": 64, "head": 1}
    flops = sum(2 * array.size * places.get(name.split(".")[0], 16)
                for name, array in weights.items() if array.ndim > 1 and name != "position")
    assert flops + 2 * 2 * 16 * 16 * 32 == ladder.FLOPS
