"""The ceilings: rates that nothing on a machine beats."""

import json
import re
from math import inf
from types import SimpleNamespace

import pytest

import helpers
from authoring.notebook_form import notebooks, read
from helpers import bounds, memory, recordings
from helpers.data import load_gpus
from helpers.timing import Comparison, Timing

RUNS = [(path, key) for path in sorted(recordings.FOLDER.glob("*.json"))
        for key, run in json.loads(path.read_text())["runs"].items() if "ceiling" in run]


@pytest.fixture
def file(monkeypatch, tmp_path):
    """A user's file of best rates, empty."""
    monkeypatch.setattr(bounds, "_best", {})
    monkeypatch.setattr(bounds, "quick", lambda: False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return memory.file("best-seen")


@pytest.fixture
def measured(file, monkeypatch):
    """What is measured, by name, in place of a machine."""
    asked = []

    def rate(what, cores):
        asked.append((what, cores))
        return {"memory": 1e9, "float64": 1e10, "float32": 2e10}[what] / (2 if cores else 1)

    monkeypatch.setattr(bounds, "_measure_memory", rate)
    monkeypatch.setattr(bounds, "_measure_products", rate)
    return asked


def gpu(**attributes):
    """A pretend CuPy with an H200."""
    told = {"ClockRate": 1_980_000, "MultiProcessorCount": 132, "MemoryClockRate": 3_201_000,
            "GlobalMemoryBusWidth": 6144, "L2CacheSize": 60 * 2**20, **attributes}
    capability = told.pop("capability", "90")
    device = SimpleNamespace(attributes=told, compute_capability=capability, id=0)
    return SimpleNamespace(cuda=SimpleNamespace(
        Device=lambda: device,
        runtime=SimpleNamespace(getDeviceProperties=lambda _: {"name": b"Toy"})))


@pytest.mark.parametrize("number, flops, words", [
    ("float32", 132 * 128 * 2 * 1.98e9, "float32"),
    ("float64", 132 * 256 * 1.98e9, "float64, on tensor cores"),
    ("tf32", 132 * 2048 * 1.98e9, "tf32, on tensor cores"),
    ("float16", 132 * 4096 * 1.98e9, "float16, on tensor cores"),
])
def test_a_gpus_rates_follow_from_what_its_driver_tells(number, flops, words):
    limit = bounds._gpu(gpu(), number)
    assert limit.flops == pytest.approx(flops)
    assert limit.bandwidth == pytest.approx(4.9167e12, rel=1e-3)
    assert limit.number == words and limit.word == "at least"


def test_the_makers_rates_are_those_of_the_table():
    """Whole chips: what the white papers state, within their rounding."""
    stated = {g["name"]: g for g in load_gpus()}
    for name, clock in (("T4", 1.59e9), ("A100 80GB SXM", 1.41e9), ("H200 SXM", 1.98e9),
                        ("RTX 4090", 2.52e9), ("L4", 2.04e9)):
        g = stated[name]
        per_clock = bounds.PER_CLOCK[g["compute_capability"]]
        assert per_clock[0] * g["multiprocessors"] * clock == pytest.approx(
            g["float32"] * 1e12, rel=0.02), name
        most = per_clock[4] * g["multiprocessors"] * clock
        assert most >= 0.98 * g["tensor16"] * 1e12, name


def test_what_is_not_known_of_a_gpu_bounds_nothing():
    limit = bounds._gpu(gpu(capability="990", MemoryClockRate=0), "float32")
    assert limit.bandwidth == limit.flops == inf
    assert limit.least(1e12, 1e15) == 0 and str(limit) == "At least: not known"
    # Turing has no TF32
    assert bounds._gpu(gpu(capability="75"), "tf32").flops == inf


def test_arrays_that_fit_into_a_cache_are_not_compared_with_memory():
    limit = bounds.Ceiling("toy", 1e9, 1e9, cache=1e6)
    assert limit.least(1e6, 0) == 0 and limit.least(2e6, 0) == 2e-3
    assert limit.least(1e6, 1e6) == 1e-3


def test_a_cpu_is_measured_once_and_what_was_seen_is_kept(measured, file, monkeypatch):
    limit = helpers.ceiling(cores=1)
    assert (limit.bandwidth, limit.flops, limit.number) == (5e8, 5e9, "float64, one core")
    assert limit.word == "best seen" and re.fullmatch(r"\d{4}-\d\d-\d\d", limit.seen)
    assert helpers.ceiling("cpu", "float64", 1) == limit and len(measured) == 2
    assert helpers.ceiling(number="float32").flops == 2e10
    monkeypatch.setattr(bounds, "_best", {})  # another notebook
    assert helpers.ceiling(cores=1) == limit and len(measured) == 4
    kept = json.loads(file.read_text())
    assert set(kept[helpers.backend.cpu()]) == {
        "memory, one core", "float64, one core", "memory, all cores", "float32, all cores"}


def test_what_beats_the_best_seen_raises_it(measured, file):
    limit = helpers.ceiling()
    rows = [Timing("f", 0.9, 0.85, 1.0, 9, nbytes=1e9), Timing("g", 1.0, 0.9, 1, 9, flops=1e10)]
    risen = bounds.raised(limit, rows)
    assert risen.bandwidth == 1e9 / 0.85 and risen.flops == 1e10 / 0.9
    assert helpers.ceiling() == risen
    assert all(Comparison("", "", risen, rows).share(row) <= 1 for row in rows)
    slower = [Timing("f", 2.0, 2.0, 2.0, 9, nbytes=1e9)]
    assert bounds.raised(risen, slower) == risen


def test_a_wrong_count_raises_nothing_and_is_named(measured, file):
    limit = helpers.ceiling()
    row = Timing("f", 0.5, 0.5, 0.5, 9, nbytes=1e9)
    assert bounds.raised(limit, [row]) == limit
    said = repr(Comparison("", "toy", limit, (row,)))
    assert "200%" in said and "f: faster than this machine can be" in said
    gpu_limit = bounds.Ceiling("gpu", 1e9, 1e9)
    assert bounds.raised(gpu_limit, [Timing("f", 0.9, 0.9, 0.9, 9, nbytes=1e9)]) == gpu_limit


@pytest.mark.parametrize("damage", ["no folder", "not json", "a folder"])
def test_a_file_that_cannot_be_used_costs_only_another_measurement(measured, file, damage):
    if damage == "no folder":
        file.parent.parent.joinpath("strides-to-streams").write_text("a file")
    elif damage == "not json":
        file.parent.mkdir()
        file.write_text('{"half')
    else:
        file.mkdir(parents=True)
    assert helpers.ceiling().bandwidth == 1e9


@pytest.mark.parametrize("given", [{"device": "tpu"}, {"number": "tf32"}, {"cores": 2},
                                   {"device": "gpu", "number": "int4"}])
def test_what_ceiling_does_not_know(given):
    with pytest.raises(ValueError, match="must be"):
        helpers.ceiling(**given)


def test_the_real_machine_is_measured(file, monkeypatch):
    monkeypatch.setenv("COURSE_QUICK_TIMES", "1")
    monkeypatch.setattr(bounds, "quick", lambda: True)
    one, all_cores = helpers.ceiling(cores=1), helpers.ceiling()
    assert one.bandwidth > 1e8 and one.flops > 1e8 and all_cores.flops > 1e8
    assert one.cache >= 2 * 2**20 and not file.exists()


@pytest.mark.parametrize("path, key", RUNS, ids=lambda value: getattr(value, "stem", value))
def test_nothing_recorded_beats_its_bound(path, key):
    """From the raw seconds, bytes and operations."""
    content = json.loads(path.read_text())
    run = content["runs"][key]
    limit = content["ceilings"][run["ceiling"]]
    for row in run["rows"]:
        assert row["median"] > 0
        if limit["bandwidth"] and row["nbytes"] > limit["cache"]:
            assert row["nbytes"] / row["median"] <= limit["bandwidth"], row["name"]
        if limit["flops"]:
            assert row["flops"] / row["median"] <= limit["flops"], row["name"]


def test_one_device_has_one_bound():
    """Of all runs of a machine with the same numbers and cores."""
    for path in sorted(recordings.FOLDER.glob("*.json")):
        content = json.loads(path.read_text())
        limits = content["ceilings"].values()
        whose = [(limit["name"], limit["number"]) for limit in limits]
        assert len(set(whose)) == len(whose)
        for name in {limit["name"] for limit in limits}:
            assert len({limit["bandwidth"] for limit in limits if limit["name"] == name}) == 1


@pytest.mark.parametrize("path", [*notebooks("notebooks"), *notebooks("solutions")],
                         ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_no_stored_table_has_a_share_above_all(path):
    for cell in read(path).cells:
        for output in cell.get("outputs", []):
            text = output.get("text") or output.get("data", {}).get("text/plain", "")
            if re.search(r"\bshare\b", text):
                shares = re.findall(r"(?<![\d.])(\d+)%", text)
                assert all(int(share) <= 100 for share in shares), (cell.id, text)
