"""A search's variants as a map: two parameters, and in each cell what the best of them takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle

from ..timing import with_unit
from .style import FAINT, INK, ink_on, style

if TYPE_CHECKING:
    from ..tune import Tuning

WORDS = {"generate": "no text", "compile": "compiler", "launch": "no launch", "fault": "fault",
         "endless": "endless", "wrong": "wrong", "untried": "untried"}  # fmt: skip
CELL = (0.95, 0.45)  # inches
LEAST_RANGE = 1.5  # from the lightest cell to the darkest: small differences look small


class _Map(NamedTuple):
    """One panel: numbers where there are any, words where there are none."""

    title: str
    across: list
    down: list
    values: np.ndarray
    texts: list[list[str]]
    others: list[str]
    """Parameters with several values that are not shown."""


def heatmap(tuning: Tuning, x: str | None = None, y: str | None = None) -> None:
    """Draw a tuning's variants by two parameters, and print the same numbers.

    Parameters
    ----------
    tuning : Tuning
        What `tune` returned. On a GPU a cell holds the time of a launch, on the simulator the first
        of the counters that it ranks by in which variants differ. Runs recorded on GPUs get maps of
        their own beside, of all variants that were recorded.
    x, y : str, optional
        The parameters across and down; by default the first two that have several values. Of the
        others the best counts.

    Raises
    ------
    ValueError
        For a parameter that the tuning does not have.
    """
    names = list(tuning.variants[0].parameters)
    for name in (x, y):
        if name is not None and name not in names:
            raise ValueError(f"draw.heatmap(): no parameter is called {name!r}; there are"
                             f" {', '.join(names)}.")
    several = [n for n in names if len({v.parameters[n] for v in tuning.variants}) > 1] or names
    free = [n for n in several if n not in (x, y)]
    y = y if y is not None else (free.pop(0) if len(free) + (x is not None) > 1 else None)
    x = x if x is not None else (free.pop(0) if free else names[0])
    maps = [_own(tuning, x, y), *_recorded(tuning, names, x, y)]
    _draw(maps, x, y)
    for panel in maps:
        over = f"; each cell the best over {', '.join(panel.others)}" if panel.others else ""
        print(f"{panel.title}{over} (* least)")
        print(_text(panel, x, y))


def _own(tuning: Tuning, x: str, y: str | None) -> _Map:
    ranked = tuning.ranked
    if tuning.simulated:
        from ..tune.result import ORDER

        costs = np.array([v.cost for v in ranked])
        which = next((k for k in range(costs.shape[1]) if np.ptp(costs[:, k])), 0)
        title = f"{list(ORDER)[which]} of a launch (simulator)"
        cells = [(v.parameters, v.cost[which]) for v in ranked]
        panel = _map(title, cells, "{:,}".format, x, y, [v.parameters for v in tuning.variants])
    else:
        title = "time of a launch, this machine"
        cells = [(v.parameters, v.timing.median) for v in ranked]
        panel = _map(title, cells, _seconds, x, y, [v.parameters for v in tuning.variants])
    for v in tuning.failed:
        r = panel.down.index(v.parameters[y]) if y else 0
        c = panel.across.index(v.parameters[x])
        if panel.texts[r][c] == "-":
            panel.texts[r][c] = WORDS[v.state]
    return panel


def _recorded(tuning: Tuning, names: list[str], x: str, y: str | None) -> list[_Map]:
    maps = []
    for run in tuning.recorded:
        cells = [(_parameters(row.name), row.median) for row in run.rows]
        cells = [cell for cell in cells if list(cell[0]) == names]
        if cells:
            title = "time of a launch, r" + run.machine[1:].split(" (")[0]
            maps.append(_map(title, cells, _seconds, x, y, [p for p, _ in cells], ordered=False))
    return maps


def _parameters(name: str) -> dict:
    """What a recorded row's name says: numbers where all of a value is one."""
    pairs = (pair.partition("=") for pair in name.split(", "))
    return {key: int(value) if value.isdecimal() else value for key, _, value in pairs}


def _seconds(value: float) -> str:
    return with_unit(value, "s")


def _map(title: str, cells: list[tuple[dict, float]], text: Callable, x: str, y: str | None,
         points: list[dict], ordered: bool = True) -> _Map:
    """The least number of each cell; `points` has all that there is, in order or not."""
    def values_of(name: str) -> list:
        found = list(dict.fromkeys(p[name] for p in points))
        return found if ordered else sorted(found, key=lambda v: (isinstance(v, str), v))

    across, down = values_of(x), values_of(y) if y else [None]
    values = np.full((len(down), len(across)), np.nan)
    texts = [["-"] * len(across) for _ in down]
    for parameters, number in cells:
        r, c = down.index(parameters[y]) if y else 0, across.index(parameters[x])
        if not values[r, c] <= number:
            values[r, c], texts[r][c] = number, text(number)
    others = [name for name in points[0] if name not in (x, y) and len(values_of(name)) > 1]
    return _Map(title, across, down, values, texts, others)


def _draw(maps: list[_Map], x: str, y: str | None) -> None:
    widths = [max(3.2, 0.9 + CELL[0] * len(panel.across)) for panel in maps]
    height = 1.0 + CELL[1] * max(len(panel.down) for panel in maps)
    with style():
        figure, panels = plt.subplots(
            1, len(maps), squeeze=False, layout="constrained", width_ratios=widths,
            figsize=(round(sum(widths), 1), round(height, 1)))
        for axes, panel in zip(panels[0], maps):
            _draw_one(axes, panel)
            axes.set_xticks(range(len(panel.across)), [_shown(v) for v in panel.across])
            axes.set_yticks(range(len(panel.down)), [_shown(v) if y else "" for v in panel.down])
            axes.set_xlabel(x)
            axes.set_ylabel(y or "")
            axes.set_title(panel.title, fontsize=9)
            axes.tick_params(length=0)
            axes.spines[:].set_visible(False)
        plt.show()


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
            axes.add_patch(Rectangle(
                (c - 0.47, r - 0.44), 0.94, 0.88, facecolor=fill, hatch="" if finite else "///",
                edgecolor=INK if best else FAINT, linewidth=3 if best else 0.6))
            axes.text(c, r, panel.texts[r][c], ha="center", va="center", fontsize=8,
                      color=ink_on(fill), fontweight="bold" if best else "normal",
                      bbox=None if finite else {"facecolor": "white", "edgecolor": "none",
                                                "pad": 1.5})


def _shown(value: object) -> str:
    return str(value) or "''"


def _text(panel: _Map, x: str, y: str | None) -> str:
    head = f"{y} \\ {x}" if y else x
    rows = [[head, *(_shown(value) + "  " for value in panel.across)]]
    for value, texts, numbers in zip(panel.down, panel.texts, panel.values):
        cells = [text + (" *" if number == np.nanmin(panel.values) else "  ")
                 for text, number in zip(texts, numbers)]
        rows.append([_shown(value) if y else "", *cells])
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]),
                   *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))]).rstrip()
        for row in rows)
