"""The autotuner: on the simulator and, but for what is marked, on a GPU."""

import json
import re
import sys
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pytest

import helpers
from authoring.runs import add_run
from helpers import Generated, bounds, recordings, tune
from helpers.generate import render
from helpers.tune.gpu import FINAL_ROUNDS, Gpu
from helpers.tune.variant import Tuned, difference

backend = helpers.start(needs="pycuda")
on_simulator = pytest.mark.skipif(backend.name != "simulator", reason="ranked by counters")

search = sys.modules["helpers.tune.search"]
N = 1003
# What NVRTC and nvcc, g++ and clang say of a name that is not declared.
UNDEFINED = re.compile("identifier \"y\" is undefined|[‘']y[’'] was not declared in this scope"
                       "|use of undeclared identifier 'y'")


@pytest.fixture(autouse=True)
def no_pictures_left():
    yield
    plt.close("all")


# ---- a result compared --------------------------------------------------------------------------


def test_difference_counts_and_names_the_first():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    y = x.copy()
    assert difference(x, y, None, 0.0) is None
    y[1, 0], y[1, 2] = 4, np.nan
    assert difference(x, y, None, 0.0) == ("2 of 6 numbers are wrong, the first at [1, 0]: 3.0"
                                           " instead of 4.0")
    y = x * np.float32(1 + 5e-6)
    assert difference(x, y, None, 0.0) is None
    assert "numbers are wrong" in difference(x, y, 1e-7, 0.0)
    assert difference(x, y, 0.0, 1e-3) is None
    same = np.array([np.nan, np.inf, -np.inf])
    assert difference(same, same.copy(), None, 0.0) is None
    assert "1 of 3 numbers is wrong" in difference(same, np.array([np.nan, np.inf, 0]), None, 0.0)
    one, more = np.array([10**9]), np.array([10**9 + 1])
    assert difference(one, more, None, 0.0) and difference(one, one, None, 0.0) is None


# ---- searches -----------------------------------------------------------------------------------

SCALE = """
__global__ void scale(float* x, float a, int n) {
    int first = {{ first }};
    for (int k = 0; k < 4; k++)
        if (first + k * {{ step }} {{ less }} n) x[first + k * {{ step }}] = {{ result }};
}"""
KINDS = {
    "coalesced": {}, "neighbours": {"first": "4 * (blockIdx.x * blockDim.x + threadIdx.x)",
                                    "step": "1"},
    "outside": {"less": "<="}, "wrong": {"result": "x[0] + a"}, "broken": {"result": "y[first]"},
}


def scale(kind="coalesced", block=64):
    if block > 64 and kind != "coalesced":
        raise ValueError("one kind is enough for large blocks")
    parts = {"first": "blockIdx.x * blockDim.x * 4 + threadIdx.x", "step": "blockDim.x",
             "less": "<", "result": "a * x[first + k * blockDim.x]"}
    parts.update(KINDS[kind])
    if kind == "neighbours":
        parts["result"] = "a * x[first + k]"
    if kind == "wrong":
        parts["result"] = "a + x[first + k * blockDim.x]"
    return Generated(render(SCALE, **parts), "scale", block=block,
                     grid=lambda x, a, n: -(-int(n) // (4 * block)))


def times(x, a, n):
    return a * x


def arguments(n=N):
    x = np.random.default_rng(n).random(n, dtype=np.float32)
    return [x, np.float32(3), np.int32(n)]


def search_of_many_kinds():
    return tune(
        scale, {"kind": ["neighbours", "outside", "broken", "wrong", "coalesced"],
                "block": [64, 2048]}, times, arguments(4096),
        checks=[arguments()], nbytes=8 * 4096, title="Scaling")


def test_a_search_survives_what_fails(capsys):
    tuning = search_of_many_kinds()
    assert {v.name: v.state for v in tuning.variants} == {
        "kind=neighbours, block=64": "ok", "kind=outside, block=64": "fault",
        "kind=broken, block=64": "compile", "kind=wrong, block=64": "wrong",
        "kind=coalesced, block=64": "ok", "kind=coalesced, block=2048": "launch",
        **{f"kind={kind}, block=2048": "generate"
           for kind in ("neighbours", "outside", "broken", "wrong")}}
    text = " ".join(repr(tuning).split())
    assert text.startswith("Scaling: 10 variants, 2 with right results")
    assert re.search(f"kind=broken, block=64: line 5: ({UNDEFINED.pattern})", text)
    assert "kind=wrong, block=64: 1,003 of 1,003 numbers are wrong, the first at [0]" in text
    assert "(checks[0])" in text
    assert "reads 4 bytes at x[1003], right behind its end" in text
    assert "kind=coalesced, block=2048: block (2048, 1, 1): x must be 1 to 1,024" in text
    assert capsys.readouterr().out == ""


def test_a_kernel_without_end_is_stopped(monkeypatch):
    monkeypatch.setattr(search.simulator, "TIME_LIMIT", 0.15)
    endless = """__global__ void scale(volatile float* x, float a, int n) {
        while (x[0] < 1e30f) x[0] = 0;
    }"""
    with pytest.raises(RuntimeError, match="does not end: block=64: stopped after 0.15 s"):
        tune(lambda block: Generated(endless, "scale", block, 1), {"block": [64]}, times,
             arguments(4), checks=[arguments(4)])


def test_the_best_kernel_is_there_to_call():
    import cupy as cp

    inputs = arguments(4096)
    before = inputs[0].copy()
    tuning = tune(scale, {"block": [64, 128]}, times, inputs)
    assert tuning.best == tuning.ranked[0].parameters
    assert np.array_equal(inputs[0], before), "the caller's array was changed"
    x = cp.asarray(before)  # it finds its grid for any size
    short = x[:100].copy()
    tuning.kernel(short, np.float32(2), np.int32(100))
    tuning.kernel(x, np.float32(2), np.int32(4096))
    assert np.array_equal(x.get(), 2 * before) and np.array_equal(short.get(), 2 * before[:100])


@on_simulator
def test_the_simulator_ranks_by_counters(capsys):
    tuning = search_of_many_kinds()
    assert tuning.best == {"kind": "coalesced", "block": 64}
    best, worse = tuning.ranked
    assert best.counts["global_load_sectors"] == 4096 // 8
    assert worse.counts["global_load_sectors"] == 4 * 4096 // 8
    text = repr(tuning)
    assert "\nThis machine: nogpu, the course's simulator\nNot by time: ranked by" in text
    assert "   1   coalesced     64    1,024       256\n" in text
    assert "   2  neighbours     64    4,096       256\n" in text
    tuning.heatmap("block", "kind")
    assert capsys.readouterr().out == """\
sectors of a launch (simulator) (* least)
kind \\ block        64         2048
neighbours       4,096      no text
outside          fault      no text
broken        compiler      no text
wrong            wrong      no text
coalesced        1,024 *  no launch
"""
    written = [text.get_text() for text in plt.gcf().axes[0].texts]
    assert "1,024" in written and "no launch" in written
    assert all(round(10 * inches, 6) % 1 == 0 for inches in plt.gcf().get_size_inches())
    with pytest.raises(ValueError, match="no parameter is called 'unroll'; there are kind, block"):
        tuning.heatmap("unroll", "kind")


def test_a_kernel_of_another_name_is_missed():
    def generate(block):
        return Generated("__global__ void other(float* x, float a, int n) {}", "scale", block, 1)

    with pytest.raises(RuntimeError, match="block=64: there is no kernel 'scale'"):
        tune(generate, {"block": [64]}, times, arguments())


def test_all_variants_failing_says_why():
    def generate(kind, step):
        return scale(kind) if step else Generated(render("{{ step }}", stp=1), "scale", 64, 1)

    with pytest.raises(RuntimeError) as caught:
        tune(generate, {"kind": ["broken", "wrong"], "step": [0, 1]}, times, arguments())
    text = " ".join(str(caught.value).split())
    assert text.startswith("none of the 4 variants of scale gave right results.")
    assert ("not generated: kind=broken, step=0 (and 1 more): NameError: line 1 of the template"
            " names 'step'") in text
    assert re.search(f"does not compile: kind=broken, step=1: line 5: ({UNDEFINED.pattern})", text)


@pytest.mark.parametrize("grid, error, words", [
    ({}, ValueError, "the grid {} is empty: it must name a parameter"),
    ({"kind": ["wrong"], "block": []}, ValueError, r"'block': \[\]} is empty: .* a value to try"),
    ({"block": 64}, TypeError, "the grid's 'block' must be a list of values, not 64"),
    ({"kind": "wrong"}, TypeError, "the grid's 'kind' must be a list of values, not 'wrong'"),
])
def test_grids_without_variants(grid, error, words):
    with pytest.raises(error, match=words):
        tune(scale, grid, times, arguments())


PLAIN = "__global__ void f(float* x, float a, int n) {}"


@pytest.mark.parametrize("change, words", [
    ({"inputs": [np.ones(4, np.float32), 3.0, np.int32(4)]}, r"inputs\[1\] is a float: kernels"),
    ({"inputs": [np.ones(8, np.float32)[::2], np.float32(3), np.int32(4)]}, "is not contiguous"),
    ({"inputs": [np.ones(4), np.ones(4), np.int32(4)]}, "inputs has 2 arrays: say with out="),
    ({"out": 1}, r"out=1: the arrays in inputs are at \[0\]"),
    ({"spec": lambda x, a, n: None}, "the specification returned None for inputs; argument 0"),
    ({"spec": lambda x, a, n: (x, x)}, r"returned an array of shape \(2, 1003\)"),
    ({"spec": lambda x, a, n: x[:3]}, r"shape \(3,\) for inputs; .* has shape \(1003,\)"),
    ({"generate": lambda block: "text"}, r"generate\(block=64\) returned str; it must return"),
    ({"generate": lambda block: Generated(PLAIN, "f", block, (0,))}, r"grid is \(0,\); it must"),
    ({"generate": lambda block: Generated(PLAIN, "f", 1.5, 1)}, "block is 1.5; it must be one to"),
])
def test_what_tune_cannot_work_with_is_named(change, words):
    given = {"generate": scale, "spec": times, "inputs": arguments(), **change}
    with pytest.raises((TypeError, ValueError, RuntimeError), match=words):
        tune(grid={"block": [64]}, **given)


def test_a_specification_may_work_in_place():
    def whole(x, y, n):
        np.floor(x, out=y)
        x[:] = 0
        return y

    source = """__global__ void whole(const float* x, float* y, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) y[i] = floorf(x[i]) {{ more }};
    }"""

    def generate(more):
        text = render(source, more=more)
        return Generated(text, "whole", 128, lambda x, *rest: -(-x.size // 128))

    x = np.linspace(0, 9, 500, dtype=np.float32)
    inputs = [x, np.zeros_like(x), np.int32(500)]
    tuning = tune(generate, {"more": ["", "+ 1.0f"]}, whole, inputs, out=1)
    assert [v.state for v in tuning.variants] == ["ok", "wrong"]
    assert x[-1] == 9 and not inputs[1].any()


# ---- what a GPU does, with the simulator in its place and a clock of our own ---------------------


@pytest.fixture
def gpu(monkeypatch):
    """The path of a GPU; `gpu.seconds` says what a block size takes, sample by sample."""
    class Clock:
        asked: list = []

        def seconds(self, block, sample):
            return 1.0

    clock = Clock()
    clock.asked = []

    def sample(self, tuned):
        block = tuned.generated.block
        clock.asked.append(block)
        return clock.seconds(block, clock.asked.count(block))

    monkeypatch.setattr(search, "is_simulated", lambda cupy: False)
    monkeypatch.setattr(search, "ceiling", lambda *which: bounds.Ceiling("toy", 1e3, 1e9))
    monkeypatch.setattr(Gpu, "sample", sample)
    return clock


def test_on_a_gpu_finals_in_turns_decide(gpu, monkeypatch, tmp_path):
    # 128 is lucky in the first nine samples; 256 is out of reach.
    gpu.seconds = lambda block, sample: {
        32: 1.0 + 0.001 * sample, 128: 0.9 if sample < 10 else 1.5, 256: 3.0}[block]
    monkeypatch.setattr(recordings, "listeners", [partial(add_run, tmp_path / "toy.json")])
    monkeypatch.setattr(recordings, "this_machine", lambda: "toy")
    found = tune(scale, {"block": [32, 128, 256]}, times, arguments(), nbytes=500, key="99/scale")
    assert found.best == {"block": 32}
    finals = gpu.asked[-2 * FINAL_ROUNDS:]
    assert finals[:4] == [32, 128, 128, 32] and set(finals) == {32, 128}
    assert found.ranked[0].timing.samples == FINAL_ROUNDS
    assert "too near the best" not in repr(found)
    assert "49%" in repr(found) and "B/s" in repr(found)
    row = json.loads((tmp_path / "toy.json").read_text())["runs"]["99/scale"]["rows"][0]
    assert row["name"] == "block=32" and row["nbytes"] == 500
    gpu.seconds = lambda block, sample: {32: 1.0 + sample % 3, 128: 1.5 + sample % 3, 256: 9}[block]
    noisy = tune(scale, {"block": [32, 128, 256]}, times, arguments())
    assert "1 of the others is too near the best to tell" in repr(noisy)


def test_who_was_not_in_the_finals_does_not_win_by_few_samples(gpu):
    slow = 8 * 32  # six are lucky at first; of the two others one is really the fastest
    gpu.seconds = lambda block, sample: (
        1.05 + 0.01 * (block == slow) if block > 192 else 1.0 if sample < 10 else 1.2)
    found = tune(scale, {"block": [32 * k for k in range(1, 9)]}, times, arguments())
    assert found.best == {"block": 224}
    assert found.ranked[0].timing.samples == FINAL_ROUNDS


def test_a_rehearsal_finds_the_fault_first(gpu, monkeypatch):
    launched = []
    check = Gpu.check
    monkeypatch.setattr(Gpu, "check", lambda self, tuned: (
        launched.append(tuned.generated.source), check(self, tuned)))
    kinds = ["coalesced", "outside", "wrong"]
    found = tune(scale, {"kind": kinds}, times, arguments(), checks=[arguments(100)])
    assert [v.state for v in found.variants] == ["ok", "fault", "wrong"]
    assert launched == [scale("coalesced").source], "a faulty one must not reach the GPU"
    assert found.variants[2].note.endswith("(checks[0])")
    assert re.match(r"line 5: Thread .* at x\[100\], right behind its end", found.variants[1].note)


def test_every_launch_finds_the_arrays_as_they_were_given(monkeypatch):
    """In place, and measured many times: each launch must begin with the same values."""
    seen = []
    monkeypatch.setattr(search, "is_simulated", lambda cupy: False)
    monkeypatch.setattr(search, "ceiling", lambda *which: bounds.Ceiling("toy", 1, 1))
    launch = Tuned.__call__

    def look(tuned, *args):
        seen.append(float(args[0][1].get()))
        launch(tuned, *args)

    monkeypatch.setattr(Tuned, "__call__", look)
    inputs = arguments()
    tune(scale, {"block": [64]}, times, inputs)
    assert len(seen) >= 8 and set(seen) == {float(inputs[0][1])}


def test_a_cell_of_the_map_is_the_best_of_its_variants(gpu, capsys):
    def generate(block, kind, each):
        return scale(block=32 * block + each)

    gpu.seconds = lambda block, sample: {33: 3, 34: 2, 65: 4, 66: 5}[block]
    grid = {"block": [1, 2], "kind": ["a"], "each": [1, 2]}
    tuning = tune(generate, grid, times, arguments())
    capsys.readouterr()
    tuning.heatmap("block", "kind")
    assert capsys.readouterr().out == """\
time of a launch, this machine; each cell the best over each (* least)
kind \\ block       1         2
a             2.00 s *  4.00 s
"""
    tuning.heatmap("each", "block")
    assert "block \\ each       1         2" in capsys.readouterr().out


def test_recorded_maps_stand_beside(monkeypatch, tmp_path, capsys):
    rows = [{"name": f"kind=coalesced, block={block}", "median": seconds, "low": seconds,
             "high": seconds, "samples": 21}
            for block, seconds in ((128, 3e-3), (64, 2e-3), (32, 1e-3))]
    content = {"machine": "toy", "gpu": "Toy 1", "numpy": "2", "cupy": "14",
               "ceilings": {"toy": {"name": "toy", "bandwidth": 1, "flops": 1}},
               "runs": {"99/scale": {"title": "", "device": "gpu", "rows": rows,
                                     "date": "2026-01-02", "ceiling": "toy"}}}
    (tmp_path / "toy.json").write_text(json.dumps(content))
    monkeypatch.setattr(recordings, "FOLDER", tmp_path)
    found = tune(scale, {"kind": ["coalesced"], "block": [32, 64]}, times, arguments(),
                 key="99/scale")
    found.heatmap("block", "kind")
    out = capsys.readouterr().out
    assert out.endswith("""time of a launch, recorded on Toy 1 (* least)
kind \\ block       32         64        128
coalesced     1.00 ms *  2.00 ms    3.00 ms
""")
    assert len(plt.gcf().axes) == 2
