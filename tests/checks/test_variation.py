"""The cases of every task vary whatever may vary, and the audit sees what they do not."""

import numpy as np
import pytest
from mutation.judging import answers_of, solutions_of
from test_answers import TASKS
from variation import constants, read_reasons, unexplained

from checks.machinery.kernel_task import KernelTask, to_device
from checks.machinery.task import ExperimentTask, Task

REASONS = read_reasons()


def seen(*cases, spec=lambda x, k: None, **fields):
    return constants(Task("task", spec, lambda: list(cases), **fields), None)


@pytest.mark.parametrize("lesson, name", [
    pytest.param(*key, id="-".join(key), marks=[pytest.mark.slow] * isinstance(
        task, ExperimentTask)) for key, task in TASKS.items()])
def test_what_cases_never_vary_has_a_reason(lesson, name):
    task, solution = TASKS[lesson, name], None
    if isinstance(task, ExperimentTask):
        solution = solutions_of(lesson).get(name) or answers_of(lesson).RIGHT[name][0]
    reasons = REASONS.get(lesson, {}).get(name, {})
    assert not unexplained(constants(task, solution), reasons)


def test_reasons_are_about_tasks():
    assert {(lesson, name) for lesson, tasks in REASONS.items() for name in tasks} <= set(TASKS)


X = np.arange(-6.0, 6).reshape(3, 4)


@pytest.mark.parametrize("change, found", [
    (lambda x: x, "x axis 0 always 3"),
    (lambda x: x[:2 + len(x)], "x always float64"),
    (lambda x: x, "x always in C order"),
    (lambda x: x, "x always 2 axes"),
    (abs, "x never negative"),
    (lambda x: 0 * x + x[:, :1], "x the same along axis 1"),
])
def test_arrays_that_never_change_are_found(change, found):
    assert found in seen((change(X), 1), (change(X), 2))


def test_what_varies_is_not_found():
    assert not seen((X, 1), (X[:2, :3].astype(np.float32).T, -3), (np.arange(5), 2))


def test_numbers_that_never_change_are_found():
    assert seen((3, "a"), (3, "a")) == ["x always 3", "k always 'a'"]
    assert "x always a multiple of 4" in seen((4, 1), (12, 2))
    assert "x never negative" in seen((0.5, 1), (1.5, 2))


def test_relations_are_found():
    assert "x, k always equal" in seen((3, 3), (5, 5))
    cases = (np.ones((3, 2)), np.ones(3)), (np.ones((7, 5)), np.ones(7))
    assert "x axis 0, k axis 0 always equal" in seen(*cases)
    cases = (np.ones((4, 9)), 2), (np.ones((9, 7)), 3)
    assert "x axis 0 always a multiple of k" in seen(*cases)


def test_items_of_a_list_are_one_parameter():
    found = seen(([X, X[:2]], 1), ([X.T], 2))
    assert "x[k] always float64" in found and "x[k] always in C order" not in found


@pytest.mark.parametrize("blocks, found", [(1, "one block alone"), (3, "n always a multiple of")])
def test_launches_that_never_change_are_found(blocks, found):
    task = KernelTask("task", lambda n: None, lambda: [(64,), (128,)], parameters="float* y, int n",
                      launch=lambda n: ((blocks,), (n // 2,), (to_device(X), n)))
    assert any(found in what for what in constants(task, ""))


def test_a_kernels_own_output_is_not_looked_at():
    task = KernelTask("task", lambda n: None, lambda: [(5,), (7,)], parameters="float* y, int n",
                      launch=lambda n: ((n - 2,), (2 * n - 9,), (to_device(abs(X)), n)))
    assert constants(task, "") == []


def test_reasons_are_patterns_and_must_be_needed():
    assert unexplained(["x always 2 axes", "k always 3"], {"* axes": ""}) == ["k always 3"]
    assert unexplained(["x always 2 axes"], {"* axes": "", "k *": ""}) == [
        "a reason about nothing: k *"]
