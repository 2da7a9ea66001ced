"""`draw.show`: a picture's alternative text, which a table also has printed below it."""

import json

import matplotlib.pyplot as plt
import numpy as np
import pytest
from IPython.core.formatters import DisplayFormatter

from helpers import draw
from helpers.recordings import FOLDER
from helpers.timing import recorded_runs


def alt(figure):
    data, metadata = DisplayFormatter().format(figure)
    assert data["text/plain"] == metadata["image/png"]["alt"]
    return data["text/plain"]


def test_a_figure_of_ones_own_gets_its_text(capsys, monkeypatch):
    figure, axes = plt.subplots()
    axes.plot([1, 2])
    draw.show("A line", "from 1\nto 2")
    assert alt(figure) == "A line.\nfrom 1\nto 2"
    assert capsys.readouterr().out == "from 1\nto 2\n"
    monkeypatch.setattr(plt, "get_backend", lambda: "module://matplotlib_inline.backend_inline")
    draw.show("A line", "from 1")
    assert not capsys.readouterr().out  # a notebook shows the picture: not once more in letters
    draw.show("A line", "from 1", printed=True)
    assert capsys.readouterr().out == "from 1\n"
    monkeypatch.undo()
    draw.show("A line", "from 1", printed=False)
    assert alt(figure) == "A line.\nfrom 1" and not capsys.readouterr().out
    draw.show("A line")
    assert alt(figure) == "A line." and not capsys.readouterr().out


@pytest.mark.parametrize("drawn", [
    lambda: draw.memory(np.arange(4)),
    lambda: draw.occupancy(256),
    lambda: draw.driver("__global__ void scale(float* x) {}", x=np.zeros(4)),
])
def test_a_pictures_alternative_text_ends_with_what_is_printed(capsys, drawn):
    drawn()
    about, _, text = alt(plt.gcf()).partition("\n")
    assert about.endswith(".") and text == capsys.readouterr().out.strip("\n")


KEYS = sorted(key for key, run in json.loads(
    (FOLDER / "nvidia-h200.json").read_text())["runs"].items() if "ceiling" in run)


@pytest.mark.parametrize("key", KEYS)
def test_each_recorded_table_fits_80_columns(key):
    for run in recorded_runs(key):
        lines = repr(run).splitlines()
        assert max(map(len, lines[4:])) <= 80
        text = " ".join(" ".join(lines).split())
        for row in run.rows:
            assert all(word in text for word in row.name.split()), row.name
