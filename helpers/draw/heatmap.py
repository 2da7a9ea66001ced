"""Numbers that depend on several parameters as maps: two of them, and in each cell the least."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np

from ..formats import aligned, with_unit
from .style import FAINT, INK, box, ink_on, show, style, text_at

CELL = (0.95, 0.45)  # inches
LEAST_RANGE = 1.5  # from the lightest cell to the darkest: small differences look small


class Panel(NamedTuple):
    """One map: for each combination of parameters a number (or None) and its text."""

    title: str
    cells: Sequence[tuple[dict, float | None, str]]


class _Map(NamedTuple):
    """A panel reduced to two parameters: numbers, words where there is none, the others' names."""

    title: str
    across: list
    down: list
    values: np.ndarray
    texts: list[list[str]]
    others: list[str]


def heatmap(panels: Sequence[Panel], x: str, y: str) -> None:
    """Draw numbers by two parameters, a map for each panel, and print the same numbers.

    Parameters
    ----------
    panels : sequence of Panel
        The maps' titles and cells. The values of a parameter stand in the order of the cells.
    x, y : str
        The parameters across and down. Of the others the least number counts.

    Raises
    ------
    ValueError
        For a parameter that the cells do not have.
    """
    names = list(panels[0].cells[0][0])
    for name in (x, y):
        if name not in names:
            raise ValueError(f"draw.heatmap(): no parameter is called {name!r}; there are"
                             f" {', '.join(names)}.")
    maps = [_reduced(panel, x, y) for panel in panels]
    lines = []
    for panel in maps:
        over = f"; each cell the best over {', '.join(panel.others)}" if panel.others else ""
        lines += [f"{panel.title}{over} (* least)", _text(panel, x, y)]
    _draw(maps, x, y, "\n".join(lines))


def panels(tuning: Any, counters: Sequence[str], words: Mapping[str, str]) -> list[Panel]:
    """The maps of a search: what was found here, and what was recorded on each GPU.

    Parameters
    ----------
    tuning : helpers.tune.Tuning
    counters : sequence of str
        What the simulator ranks by. The first in which variants differ is shown.
    words : mapping of str to str
        What a cell says of a variant that failed, by its state.
    """
    if tuning.simulated:
        costs = list(zip(*(variant.cost for variant in tuning.ranked)))
        which = next((k for k, column in enumerate(costs) if len(set(column)) > 1), 0)
        title = f"{counters[which]} of a launch (simulator)"
    else:
        which, title = 0, "time of a launch, this machine"
    cells = []
    for variant in tuning.variants:
        number = variant.cost[which]
        text = f"{number:,}" if tuning.simulated else with_unit(number, "s")
        cells.append((variant.parameters, number, text) if variant.state == "ok" else
                     (variant.parameters, None, words[variant.state]))
    found = [Panel(title, cells)]
    for run in tuning.recorded:
        cells = [(_parameters(row.name), row.median, with_unit(row.median, "s"))
                 for row in run.rows]
        gpu = run.machine.removeprefix("Recorded on ").split(" (")[0]
        found.append(Panel(f"time of a launch, recorded on {gpu}", sorted(
            cells, key=lambda cell: [(str(value) == value, value) for value in cell[0].values()])))
    return found


def _parameters(name: str) -> dict:
    """What a recorded row's name says: numbers where all of a value is one."""
    pairs = (pair.partition("=") for pair in name.split(", "))
    return {key: int(value) if value.isdecimal() else value for key, _, value in pairs}


def _reduced(panel: Panel, x: str, y: str) -> _Map:
    """The least number of each cell; a word only where there is no number."""
    values_of = {name: list(dict.fromkeys(cell[0][name] for cell in panel.cells))
                 for name in panel.cells[0][0]}
    across, down = values_of[x], values_of[y]
    values = np.full((len(down), len(across)), np.nan)
    texts = [["-"] * len(across) for _ in down]
    for parameters, number, text in panel.cells:
        r, c = down.index(parameters[y]), across.index(parameters[x])
        if number is None:
            texts[r][c] = text if texts[r][c] == "-" else texts[r][c]
        elif not values[r, c] <= number:
            values[r, c], texts[r][c] = number, text
    others = [name for name in values_of if name not in (x, y) and len(values_of[name]) > 1]
    return _Map(panel.title, across, down, values, texts, others)


def _draw(maps: list[_Map], x: str, y: str, text: str) -> None:
    widths = [max(3.2, 0.9 + CELL[0] * len(panel.across)) for panel in maps]
    height = 1.0 + CELL[1] * max(len(panel.down) for panel in maps)
    with style():
        figure, panels = plt.subplots(
            1, len(maps), squeeze=False, layout="constrained", width_ratios=widths,
            figsize=(round(sum(widths), 1), round(height, 1)))
        for axes, panel in zip(panels[0], maps):
            _draw_one(axes, panel)
            axes.set_xticks(range(len(panel.across)), [_shown(v) for v in panel.across])
            axes.set_yticks(range(len(panel.down)), [_shown(v) for v in panel.down])
            axes.set_xlabel(x)
            axes.set_ylabel(y)
            axes.set_title(panel.title, fontsize=9)
            axes.tick_params(length=0)
            axes.spines[:].set_visible(False)
        show(f"Maps over {x} and {y}", text)


def _draw_one(axes: plt.Axes, panel: _Map) -> None:
    """Light cells take least, dark ones most; framed is the best, hatched what has no number."""
    known = np.log(np.maximum(panel.values, 1e-12))
    low = np.nanmin(known)
    high = max(np.nanmax(known), low + np.log(LEAST_RANGE))
    colours = plt.get_cmap("cividis_r")
    rows, columns = panel.values.shape
    axes.set_xlim(-0.5, columns - 0.5)
    axes.set_ylim(rows - 0.5, -0.5)
    for r in range(rows):
        for c in range(columns):
            finite = np.isfinite(panel.values[r, c])
            shade = (known[r, c] - low) / (high - low) if finite else 0.0
            fill = colours(0.05 + 0.9 * shade) if finite else "white"
            best = finite and panel.values[r, c] == np.nanmin(panel.values)
            box(axes, c - 0.47, r - 0.44, 0.94, 0.88, fill=fill, hatch="" if finite else "///",
                edgecolor=INK if best else FAINT, linewidth=3 if best else 0.6)
            behind = None if finite else {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
            text_at(axes, c, r, panel.texts[r][c], color=ink_on(fill), bbox=behind,
                    fontweight="bold" if best else "normal")


def _shown(value: object) -> str:
    return str(value) or "''"


def _text(panel: _Map, x: str, y: str) -> str:
    rows = [[f"{y} \\ {x}", *(_shown(value) + "  " for value in panel.across)]]
    for value, texts, numbers in zip(panel.down, panel.texts, panel.values):
        cells = [text + (" *" if number == np.nanmin(panel.values) else "  ")
                 for text, number in zip(texts, numbers)]
        rows.append([_shown(value), *cells])
    return "\n".join(row.rstrip() for row in aligned(rows))
