"""Pictures of work on a device: when Python goes on, and what a call of a given size costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from ..formats import with_unit
from .charts import MARKERS, check_comparison
from .style import COLOURS, FAINT, INK, show, style

Fit = Callable[[Sequence[float], Sequence[float]], "tuple[float, float]"]


def launches(times: Mapping[str, tuple[float, float]]) -> None:
    """Draw when the host went on and when the device was done, and print the same facts.

    Parameters
    ----------
    times : mapping of str to (seconds, seconds)
        For each operation, from its call: until Python went on, and until the device was done.
    """
    for name, pair in times.items():
        if not 0 <= pair[0] <= pair[1]:
            raise ValueError(f"{name}: Python went on after {pair[0]} s and the device was done"
                             f" after {pair[1]} s; give (until Python, until device), in order.")
    longest = max(done for _, done in times.values())
    with style():
        figure, axes = plt.subplots(figsize=(8, round(1.1 + 0.6 * len(times), 1)),
                                    layout="constrained")
        for k, (on, done) in enumerate(times.values()):
            bars = ((on, "Python is busy or waits", COLOURS[1], ""),
                    (done, "the device's queue has work", COLOURS[0], "//"))
            for row, (seconds, label, colour, hatch) in enumerate(bars):
                y = k + (0.2 if row else -0.2)
                axes.barh(y, seconds, 0.36, color=colour, edgecolor=INK, hatch=hatch,
                          label=None if k else label)
                axes.annotate(with_unit(seconds, "s"), (seconds, y), xytext=(5, 0),
                              textcoords="offset points", va="center", fontsize=8)
        axes.set_yticks(range(len(times)), times)
        axes.invert_yaxis()
        axes.set_xlim(0, 1.15 * longest)
        axes.xaxis.set_major_formatter(lambda seconds, _: with_unit(seconds, "s"))
        axes.set_xlabel("time after the call")
        figure.legend(loc="outside lower center", ncols=2, fontsize=8, frameon=False)
        width = max(map(len, times))
        show("When Python went on after a call, and when the device was done", "\n".join([
            f"{'':{width}}  Python went on  device done",
            *(f"{name:{width}}  {with_unit(on, 's'):>14}  {with_unit(done, 's'):>11}"
              for name, (on, done) in times.items())]))


def cost(comparison: Any, fit: Fit) -> None:
    """Draw a comparison's times against their bytes with the cost model, and print the model.

    Parameters
    ----------
    comparison : Comparison
        Rows that differ in size, each with its bytes counted. Recorded runs are drawn beside.
    fit : callable
        `fit(nbytes, seconds)` returns (launch, bandwidth): seconds that a call costs whatever its
        size, and bytes a second.
    """
    check_comparison(comparison, "cost")
    runs = (comparison, *comparison.recorded)
    lines = ["launch      bandwidth   as long as launch"]
    with style():
        figure, axes = plt.subplots(figsize=(8, 4.4), layout="constrained")
        for k, run in enumerate(runs):
            rows = sorted((row for row in run.rows if row.nbytes), key=lambda row: row.nbytes)
            if len(rows) < 2:
                raise ValueError("draw.cost() needs two rows or more with their bytes counted.")
            nbytes = np.array([row.nbytes for row in rows])
            seconds = np.array([row.median for row in rows])
            launch, bandwidth = map(float, fit(nbytes, seconds))
            colour = COLOURS[k % len(COLOURS)]
            x = np.geomspace(nbytes[0], nbytes[-1], 200)
            axes.plot(x, launch + x / bandwidth, color=INK, linewidth=1, zorder=1,
                      linestyle=("-", "--", "-.", ":")[k % 4])
            axes.axhline(launch, color=FAINT, linestyle=":", linewidth=1, zorder=0)
            axes.plot(nbytes, seconds, MARKERS[k % len(MARKERS)], color=colour,
                      markeredgecolor=INK, label=run.machine)
            lines.append(f"{with_unit(launch, 's'):10}  {with_unit(bandwidth, 'B/s'):10}"
                         f"  {with_unit(launch * bandwidth, 'B'):10}  {run.machine}")
        axes.set(xscale="log", yscale="log", xlabel="bytes a call moves (logarithmic)",
                 ylabel="seconds a call (logarithmic)")
        axes.set_title("time = launch + bytes / bandwidth")
        figure.legend(loc="outside lower center", fontsize=8, frameon=False)
        show("Seconds a call against its bytes, measured and by the cost model",
             "\n".join(lines))
