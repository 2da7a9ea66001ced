"""How a check answers, whatever its task."""

import pkgutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import checks
from authoring.notebook_form import ROOT
from checks import buffers, streams
from checks.machinery.task import Task
from helpers.draw import layout


def test_every_lesson_has_its_answers_and_its_solutions():
    here = Path(__file__).parent
    modules = {module.name for module in pkgutil.iter_modules(checks.__path__)}
    answers = {file.stem for file in here.joinpath("answers").glob("*.py")}
    solutions = {file.stem[3:] for file in ROOT.joinpath("solutions").glob("[0-9][0-9]_*.ipynb")}
    assert answers == solutions <= modules


def test_answers_of_a_lesson_share_a_process(pytestconfig):
    find_group = pytestconfig.pluginmanager.get_plugin(str(ROOT / "conftest.py")).find_group
    answers = "tests/checks/test_answers.py"
    assert find_group(f"{answers}::test_solution_passes[einsum-my_einsum]") == f"{answers}::einsum"
    assert find_group(f"{answers}::test_mistake_is_recognised[einsum-fixed-3]") == (
        f"{answers}::einsum")
    assert find_group("solutions/03_einsum.ipynb::Cell 3") == "solutions/03_einsum.ipynb"
    assert ROOT.joinpath(answers).is_file()


def test_long_groups_come_first(pytestconfig):
    in_turn = pytestconfig.pluginmanager.get_plugin(str(ROOT / "conftest.py")).in_turn
    tests = {"tests/a.py": 2, "solutions/b.ipynb": 3, "tests/c.py": 700, "notebooks/d.ipynb": 40}
    assert sorted(tests, key=lambda group: in_turn(group, tests)) == [
        "notebooks/d.ipynb", "solutions/b.ipynb", "tests/c.py", "tests/a.py"]


def test_cuda_stub_is_not_attempted_yet():
    task = Task("kernel", lambda x: x, lambda: [(1,)])
    assert task.judge("void f() {\n// YOUR CODE HERE\n}").state == "todo"


def test_graders_get_an_exception(monkeypatch, capsys):
    task = Task("double", lambda x: 2 * x, lambda: [(1.5,)])
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    task(lambda x: x + x)
    with pytest.raises(AssertionError, match="double: for x=1.5: expected 3, got 4.5"):
        task(lambda x: 3 * x)


def test_interrupting_a_check_is_possible():
    def interrupted(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Task("f", lambda x: x, lambda: [(1,)]).judge(interrupted)


@pytest.mark.parametrize("expected, got, words", [
    (np.zeros(3), np.zeros(3, np.float32), "expected dtype float64, got float32"),
    (np.zeros(3), np.zeros(4), "expected shape (3,), got (4,)"),
    (np.array([1, 2]), np.array([1, 3]), "1 of 2 values are wrong, the first at [1]"),
    (np.array([1.0, np.nan]), np.array([1.0, 2.0]), "expected nan, got 2"),
    (np.array([1.0, 2.0]), np.array([1.0, np.nan]), "got nan"),
    (1.0, 1.001, "expected 1, got 1.001"),
    (1.0, "1.0", "expected a number, got a str"),
    (True, 1, "expected True, got 1"),
    ((1, 2), (1, 3), "value 1 of the tuple"),
])
def test_difference(expected, got, words):
    from checks.machinery.task import difference

    assert words in difference(expected, got, 1e-6)
    assert difference(expected, expected, 1e-6) is None


def test_tolerance_is_of_the_largest_value():
    from checks.machinery.task import difference

    large = np.array([1e6, 1e-3])
    assert difference(large, large + [0.5, 0.5], 1e-6) is None
    assert difference(large, large + [0, 1.5], 1e-6)


@pytest.mark.parametrize("loop", [
    lambda x: [value + 1 for value in x.tolist()],
    lambda x: np.vectorize(lambda value: value + 1)(x),
    lambda x: list(map(lambda value: value + 1, x)),
    lambda x: sum(value for value in x),
])
def test_python_loops_are_seen(loop):
    from checks.machinery.task import no_python_loop

    rule = no_python_loop((np.arange(10),), (np.arange(1000),))
    assert "loops in Python" in rule(loop, [])
    assert rule(lambda x: x + 1, []) is None


def by_queues(seconds, streams):
    """When all chunks are done on three units and `streams` streams, by simulating the queues.

    Each stream is a queue of pieces (chunk, stage). A piece begins when it is at the head of its
    queue and its unit is free; a unit takes the chunks in their order.
    """
    queues = [[(k, stage) for k in range(s, len(seconds), streams) for stage in range(3)]
              for s in range(streams)]
    turn = [0, 0, 0]  # the chunk that each unit takes next
    running = {}  # unit: (end, stream)
    now = 0.0
    while any(queues):
        for s, queue in enumerate(queues):
            if queue and s not in [stream for _, stream in running.values()]:
                k, stage = queue[0]
                if stage not in running and turn[stage] == k:
                    running[stage] = (now + float(seconds[k][stage]), s)
        unit = min(running, key=lambda unit: running[unit][0])
        now, s = running.pop(unit)
        turn[unit] += 1
        queues[s].pop(0)
    return now


def test_the_recurrence_of_a_pipeline_says_what_its_queues_do():
    for case in streams.makespan.cases():
        assert streams.makespan.spec(*case) == pytest.approx(by_queues(*case), rel=1e-12)


@pytest.mark.parametrize("x", [
    np.arange(6), np.arange(6)[1:], np.arange(6).reshape(2, 3).T[1:], np.asfortranarray(np.eye(3)),
    np.broadcast_to(np.arange(3), (4, 3)), np.lib.stride_tricks.as_strided(np.arange(6)[2:], (2,)),
    np.frombuffer(b"abcd", np.uint8)[1:], np.arange(5)[2:2], np.array(7),
])
def test_the_owner_of_a_view_is_found_without_pictures_too(x):
    assert buffers.owner_of(x) is layout.owner_of(x)


def test_checks_of_kernels_need_no_pictures():
    code = ("import sys; from checks import debugging_kernels, fast_kernels, streams;"
            "assert not [name for name in sys.modules if name.startswith('matplotlib')]")
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
