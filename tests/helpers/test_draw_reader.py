"""The picture of the reader in one kernel and its peers, and what is recorded for it."""

import matplotlib.pyplot as plt
import pytest

from helpers import draw
from helpers.data import load_profile
from helpers.draw.reader import FLOAT16, FLOAT32, OURS, groups


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def made_up():
    """A run with small numbers; rates are in the order of the names."""
    host = {"kernel": 11, "streams 3": 10}
    return {
        "gpu": "Toy 1", "date": "2026-01-01",
        "rates": {name: {"rate": k} for k, name in enumerate((*FLOAT32, *FLOAT16), 1)},
        "from_host": {"bus": 99, "float32": host, "float16": {"kernel": 13, "streams 3": 12}},
        "one_digit": {OURS[0]: {"us": 3.25}, OURS[1]: {"us": 3.5}, "NumPy": {"us": 70}},
        "one_digit_by_torch": {"PyTorch, float32": {"us": 500}},
    }


def test_each_comparison_has_the_slowest_first():
    for _, unit, values in groups(made_up()):
        assert list(values.values()) == sorted(values.values(), reverse=unit == "us")
        assert set(OURS) & set(values)


def test_the_picture_has_a_point_and_its_number_for_each_value(capsys):
    draw.reader(made_up())
    printed = capsys.readouterr().out
    assert printed.startswith("One run on an Toy 1, 2026-01-01\n")
    for panel, (title, unit, values) in zip(plt.gcf().axes, groups(made_up()), strict=True):
        assert title in printed and panel.get_title(loc="left") == title
        assert [line.get_xdata()[0] for line in panel.lines] == list(values.values())
        for (name, value), text in zip(values.items(), panel.texts, strict=True):
            assert text.get_text() == (f"{value:,.1f}" if unit == "us" else f"{value:,.0f}")
            assert f"  {name} " in printed


def test_the_recorded_run_reaches_the_lessons_goals():
    run = load_profile("reader")
    rates, host = run["rates"], run["from_host"]
    assert rates[OURS[0]]["rate"] >= 28e6 and rates[OURS[1]]["rate"] >= 100e6
    one = run["one_digit"] | run["one_digit_by_torch"]
    peers = [row["us"] for name, row in one.items() if name.startswith("PyTorch")]
    assert len(peers) >= 4 and max(one[name]["us"] for name in OURS) < min(peers)
    for name in ("float32", "float16"):
        assert host[name]["streams 3"] >= 0.9 * min(host[name]["kernel"], host["bus"])
        assert host[name]["right"] >= 500
    assert all(row["right"] >= 500 for row in one.values())
