"""The helpers behind the NumPy lessons: backend, timing, drawing, errors."""

import gc
import importlib.util
import json
import sys
import time
import types
import weakref
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view

import helpers
import nogpu
from authoring.runs import add_run
from helpers import backend, bounds, draw, errors, formats, recordings, timing
from helpers.backend import Gpu
from nogpu import engine, finder


@pytest.fixture(autouse=True)
def no_windows(monkeypatch):
    monkeypatch.setattr(plt, "show", lambda: None)
    yield
    plt.close("all")


H200 = Gpu("NVIDIA H200", (9, 0), 150_000_000_000, (13, 0))


# backend


@pytest.fixture
def no_gpu(monkeypatch):
    """A machine without a GPU, whose path and modules are put back afterwards."""
    was_there = finder.is_installed()
    for name in [name for name in sys.modules if name.split(".")[0] in finder.LIBRARIES]:
        monkeypatch.delitem(sys.modules, name)  # on a GPU machine the real ones
    nogpu.uninstall()
    monkeypatch.setattr(backend, "find_gpu", lambda: None)
    monkeypatch.delenv("COURSE_BACKEND", raising=False)
    monkeypatch.setattr(backend, "_started", None)
    yield
    nogpu.uninstall()
    if was_there:
        for name in finder.LIBRARIES:  # what a test put in the real library's place
            sys.modules.pop(name, None)
        nogpu.install()


def test_start_without_a_gpu_switches_the_simulator_on(no_gpu, capsys):
    first, second = helpers.start(), helpers.start()
    assert first == second and first.name == "simulator"
    printed = capsys.readouterr().out
    assert printed == 2 * (first.line + "\n")
    assert printed.startswith("Backend: nogpu, the course's simulator (no CUDA GPU answers here)")
    assert finder.is_installed()
    assert helpers.size(gpu=10, simulator=3) == 3
    assert str(finder.FACES) in importlib.util.find_spec("cupy").origin


def test_start_after_the_real_cupy_says_what_to_do(no_gpu, monkeypatch, tmp_path):
    real = types.ModuleType("cupy")
    real.__file__ = str(tmp_path / "cupy" / "__init__.py")
    monkeypatch.setitem(sys.modules, "cupy", real)
    with pytest.raises(RuntimeError, match="Restart the kernel"):
        helpers.start()
    assert not finder.is_installed()


def test_start_without_a_compiler_says_how_to_get_one(no_gpu, monkeypatch, capsys):
    def find_none():
        raise engine.CompilerNotFound("none")

    monkeypatch.setattr(engine, "find_compiler", find_none)
    helpers.start()
    assert "C++ compiler" in capsys.readouterr().out


def test_the_simulator_can_be_asked_for_beside_a_gpu(no_gpu, monkeypatch, capsys):
    monkeypatch.setattr(backend, "find_gpu", lambda: H200)
    monkeypatch.setenv("COURSE_BACKEND", "simulator")
    assert helpers.start().name == "simulator"
    assert "instead of" in capsys.readouterr().out
    monkeypatch.setenv("COURSE_BACKEND", "cuda")
    with pytest.raises(RuntimeError, match="restart"):
        helpers.start()


def test_one_gpu_is_too_few_for_a_notebook_that_needs_two(no_gpu, monkeypatch, capsys):
    monkeypatch.setattr(backend, "find_gpu", lambda: H200)
    monkeypatch.setenv("NOGPU_DEVICES", "2")  # is taken away again
    assert helpers.start(devices=2).name == "simulator"
    assert f"instead of {H200.name}; it simulates 2" in capsys.readouterr().out
    monkeypatch.setenv("COURSE_BACKEND", "cuda")
    with pytest.raises(RuntimeError, match="but 1 CUDA device answers"):
        helpers.start(devices=2)


@pytest.mark.parametrize("value, error, words", [
    ("cuda", RuntimeError, "no CUDA device answers"),
    ("gpu", ValueError, "must be one of auto, cuda, simulator"),
])
def test_forced_backend_that_is_not_there(monkeypatch, value, error, words):
    monkeypatch.setattr(backend, "find_gpu", lambda: None)
    monkeypatch.setenv("COURSE_BACKEND", value)
    with pytest.raises(error, match=words):
        helpers.start()


def test_start_refuses_unknown_needs():
    with pytest.raises(ValueError, match="torch"):
        helpers.start(needs="torch")


@pytest.mark.parametrize("choice, name", [("auto", "simulator"), ("cuda", "cuda")])
def test_nogpu_that_is_installed_already_is_used_unless_cuda_is_asked_for(
    no_gpu, monkeypatch, choice, name
):
    monkeypatch.setattr(backend, "find_gpu", lambda: H200)
    monkeypatch.setenv("COURSE_BACKEND", choice)
    nogpu.install()
    assert helpers.start().name == name
    assert finder.is_installed() == (name == "simulator")


def test_start_on_a_gpu_without_cupy_gives_the_command(no_gpu, monkeypatch, capsys):
    monkeypatch.setattr(backend, "find_gpu", lambda: H200)
    monkeypatch.setattr(backend, "installed", lambda *names: None)
    monkeypatch.delenv("COURSE_BACKEND", raising=False)
    monkeypatch.setattr(backend, "_started", None)
    assert helpers.start().name == "cuda"
    assert 'CuPy is missing: python -m pip install "cupy-cuda12x[ctk]"' in capsys.readouterr().out
    assert helpers.size(gpu=10, simulator=3) == 10


def test_start_on_an_old_driver_says_so(no_gpu, monkeypatch, capsys):
    old = Gpu("Tesla K80", (3, 7), 12 * 2**30, (11, 4))
    monkeypatch.setattr(backend, "find_gpu", lambda: old)
    monkeypatch.delenv("COURSE_BACKEND", raising=False)
    monkeypatch.setattr(backend, "_started", None)
    helpers.start()
    assert "driver is too old" in capsys.readouterr().out


def test_size_before_start(monkeypatch):
    monkeypatch.setattr(backend, "_started", None)
    with pytest.raises(RuntimeError, match=r"helpers.start\(\) first"):
        helpers.size(1, 2)


def test_machine_description_names_numpy_and_blas():
    described = helpers.describe_machine()
    assert np.__version__ in described["NumPy"] and " with " in described["NumPy"]


# timing


def test_bench_measures_what_the_call_takes():
    measured = helpers.bench(time.sleep, 0.01, name="sleep", seconds=0.05)
    assert 0.01 <= measured.low <= measured.median <= measured.high < 0.2
    assert measured.samples >= timing.MIN_SAMPLES


def test_bench_does_not_count_the_first_call():
    calls = []

    def slow_once():
        time.sleep(0.2 if not calls else 0.002)
        calls.append(1)

    assert helpers.bench(slow_once, seconds=0.02).high < 0.1


def test_bench_refuses_a_result():
    with pytest.raises(TypeError, match=r"bench\(f, x\)"):
        helpers.bench(np.zeros(3))


def test_compare_shares_are_least_over_measured(monkeypatch):
    limit = bounds.Ceiling("toy", 1e9, 1e9)
    monkeypatch.setattr(timing, "ceiling", lambda *which: limit)
    table = helpers.compare({"nap": lambda: time.sleep(0.02)}, nbytes={"nap": 1e7},
                            flops={"nap": 1e6}, seconds=0.02)
    assert limit.least(1e7, 1e6) == 0.01
    assert repr(table).split()[-1] == f"{0.01 / table['nap'].median:.0%}"
    assert "10.0 ms" in repr(table)
    with pytest.raises(KeyError, match="nap"):
        table["sleep"]


def test_compare_refuses_counts_of_unknown_functions():
    with pytest.raises(ValueError, match="lop"):
        helpers.compare({"loop": lambda: 0}, nbytes={"lop": 3})


def test_recorded_runs_come_back_beside_the_machines_own(monkeypatch, tmp_path):
    monkeypatch.setattr(recordings, "FOLDER", tmp_path)
    limit = bounds.Ceiling("toy", 1e9, 1e9)
    monkeypatch.setattr(timing, "ceiling", lambda *which: limit)
    monkeypatch.setattr(recordings, "listeners", [partial(add_run, tmp_path / "toy.json")])
    helpers.compare({"f": lambda: 0}, key="99/f", title="F", seconds=0.01)
    stored = json.loads((tmp_path / "toy.json").read_text())
    assert stored["runs"]["99/f"]["rows"][0]["name"] == "f"
    monkeypatch.setattr(recordings, "listeners", [])
    assert helpers.compare({"f": lambda: 0}, key="99/f", seconds=0.01).recorded == ()
    monkeypatch.setattr(recordings, "this_machine", lambda: "another machine")
    again = helpers.compare({"f": lambda: 0}, key="99/f", title="F", seconds=0.01)
    assert len(again.recorded) == 1
    assert f"Recorded on {stored['machine']} ({stored['runs']['99/f']['date']}" in repr(again)
    assert timing.recorded_runs("99/other") == ()


@pytest.mark.parametrize("value, text", [
    (0, "0 s"), (1.5e-9, "1.50 ns"), (2.5e-5, "25.0 us"), (0.9999, "1.00 s"), (999.9e-6, "1.00 ms"),
    (0.123456, "123 ms"), (9.996, "10.0 s"), (3e9, "3.00 Gs"),
])
def test_units(value, text):
    assert formats.with_unit(value, "s") == text


def test_peak_bytes_counts_new_arrays():
    x = np.ones(100_000)
    assert helpers.peak_bytes(lambda: None) < 10_000
    assert helpers.peak_bytes(np.copy, x) == pytest.approx(x.nbytes, rel=0.02)


# drawing


def drawn(capsys, *args, **kwargs):
    draw.memory(*args, **kwargs)
    return capsys.readouterr().out


def test_memory_says_where_every_element_is(capsys):
    x = np.arange(6, dtype=np.int64).reshape(2, 3)
    assert drawn(capsys, x.T) == (
        "shape (3, 2)   strides (8, 24) bytes   int64   starts at byte 0 of 48\n"
        "byte     0   8  16  24  32  40\n"
        "holds    0   1   2   3   4   5\n"
        "index  0,0 1,0 2,0 0,1 1,1 2,1\n")


@pytest.mark.parametrize("x", [
    np.arange(8.0)[::-2],
    np.arange(12, dtype=np.int16).reshape(2, 3, 2)[:, 1:, ::2],
    sliding_window_view(np.arange(7), 3),
    np.broadcast_to(np.arange(3), (4, 3)),
    np.asfortranarray(np.arange(6).reshape(2, 3)),
    np.arange(5)[2:2],
    np.array(7),
    np.frombuffer(b"abcdefgh", np.uint8)[2:5],
    np.array([1 + 2j, 3]),
    np.array([True, False]),
])
def test_text_agrees_with_the_array(capsys, x):
    lines = drawn(capsys, x).splitlines()
    owner = draw.layout.owner_of(x)
    rows = [line[7:].split() for line in lines[1:]]
    assert lines[0].startswith(f"shape {x.shape}")
    assert len(rows[0]) * x.itemsize == owner.nbytes
    shown = sum(len(row) for row in rows[2:])
    assert shown == (x.size if x.ndim else 1)


def test_bytes_are_those_of_the_buffer(capsys):
    x = np.array([1, 258, -1], dtype="<i2")
    assert drawn(capsys, x, unit="byte").splitlines()[2].split()[1:] == \
        ["01", "00", "02", "01", "ff", "ff"]


def test_views_that_leave_the_buffer_are_refused_unread():
    row = np.arange(7)
    with pytest.raises(ValueError, match=r"Element \[5, 2\] would lie at byte 56"):
        draw.memory(as_strided(row, (6, 3), (8, 8)))
    with pytest.raises(ValueError, match=r"Element \[1\] would lie at byte -8"):
        draw.memory(as_strided(row, (2,), (-8,)))


@pytest.mark.parametrize("bad, error, words", [
    ([1, 2], TypeError, "NumPy arrays, not list"),
    (np.array([{}, None]), TypeError, "holds pointers"),
    (np.arange(1000), ValueError, "at most 96"),
])
def test_what_memory_cannot_draw(bad, error, words):
    with pytest.raises(error, match=words):
        draw.memory(bad)
    with pytest.raises(ValueError, match="element"):
        draw.memory(np.arange(3), unit="bit")


def toy_comparison():
    limit = bounds.Ceiling("toy", 10e9, 40e9)
    rows = (timing.Timing("few", 2e-3, 1e-3, 3e-3, 9, nbytes=1e7, flops=1e7),
            timing.Timing("many", 1e-1, 1e-1, 2e-1, 9, nbytes=1e7, flops=2e9))
    return timing.Comparison("Toy", "This machine: toy", limit, rows)


def test_bars_are_as_long_as_the_times():
    draw.bars(toy_comparison())
    widths = sorted(patch.get_width() for patch in plt.gca().patches)
    assert widths == [2e-3, 1e-1]


def test_charts_refuse_other_things():
    with pytest.raises(TypeError, match=r"compare\(\) returned, not list"):
        draw.bars([1, 2])


# errors


def test_show_error_prints_type_and_message(capsys):
    with helpers.show_error():
        np.zeros(3) + np.zeros(4)
    assert capsys.readouterr().out == \
        "ValueError: operands could not be broadcast together with shapes (3,) (4,)\n"


def test_show_error_hides_where_files_are(capsys):
    with helpers.show_error(FileNotFoundError):
        open("/nowhere/at/all/data.bin")
    assert capsys.readouterr().out == \
        "FileNotFoundError: [Errno 2] No such file or directory: 'data.bin'\n"


def test_show_error_passes_other_errors_on():
    with pytest.raises(KeyError), helpers.show_error(ValueError):
        {}["key"]


def test_show_error_keeps_nothing_of_what_failed():
    """Memory of a GPU must go when the block ends, not when Python next looks for cycles."""
    class Memory:
        pass

    def fail():
        memory = Memory()
        seen.append(weakref.ref(memory))
        raise ValueError

    seen = []
    gc.disable()
    try:
        with helpers.show_error():
            fail()
        assert seen[0]() is None
    finally:
        gc.enable()


def test_show_error_demands_an_error():
    with pytest.raises(AssertionError, match="expected to raise"), helpers.show_error():
        pass


def test_message_without_text():
    assert errors.message(NotImplementedError()) == "NotImplementedError"
