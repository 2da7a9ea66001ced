"""Pictures of launches and of the cost model."""

import matplotlib.pyplot as plt
import pytest

from helpers import draw
from helpers.bounds import Ceiling
from helpers.timing import Comparison, Timing

LIMIT = Ceiling("toy", 1e9, 1e9)


@pytest.fixture(autouse=True)
def no_windows(monkeypatch):
    monkeypatch.setattr(plt, "show", lambda: None)
    yield
    plt.close("all")


def comparison(*sizes, recorded=()):
    rows = tuple(Timing(str(size), 1e-5 + size / 1e9, 0, 0, 5, nbytes=size) for size in sizes)
    return Comparison("x + 1", "toy machine", LIMIT, rows, recorded)


def test_launches_prints_what_it_draws(capsys):
    draw.launches({"a + a": (2e-5, 3e-3), "float": (4e-3, 4e-3)})
    printed = capsys.readouterr().out.splitlines()
    assert [line.split() for line in printed[1:]] == [
        ["a", "+", "a", "20.0", "us", "3.00", "ms"], ["float", "4.00", "ms", "4.00", "ms"]]
    assert [bar.get_width() for bar in plt.gca().patches] == [2e-5, 3e-3, 4e-3, 4e-3]


def test_launches_refuses_times_in_the_wrong_order():
    with pytest.raises(ValueError, match="in order"):
        draw.launches({"a": (2.0, 1.0)})


def test_cost_gives_the_fit_sorted_sizes_and_draws_recorded_runs_too(capsys):
    seen = []

    def fit(nbytes, seconds):
        seen.append(list(nbytes))
        return 1e-5, 1e9

    draw.cost(comparison(4e6, 1e3, recorded=(comparison(1e3, 1e9),)), fit)
    assert seen == [[1e3, 4e6], [1e3, 1e9]]
    assert capsys.readouterr().out.splitlines()[1].split() == [
        "10.0", "us", "1.00", "GB/s", "10.0", "kB", "toy", "machine"]


def test_cost_needs_sizes():
    with pytest.raises(ValueError, match="two rows"):
        draw.cost(comparison(1e3), lambda nbytes, seconds: (1, 1))
    with pytest.raises(TypeError, match="compare"):
        draw.cost([1, 2], lambda nbytes, seconds: (1, 1))
