"""Charts of measured times: bars against the least time, points under the machine's roof."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import LogLocator

from ..formats import with_unit
from .style import COLOURS, FAINT, INK, show, style

MARKERS = "osD^vPX*"
HATCHES = ("", "//", "..", "xx", r"\\", "++")  # one for each colour


def check_comparison(given: object, function: str) -> None:
    """Raise a TypeError for what is no comparison: it has rows and its machine's ceiling."""
    if not hasattr(given, "rows") or not hasattr(given, "ceiling"):
        raise TypeError(f"draw.{function}() draws what compare() returned,"
                        f" not {type(given).__name__}.")


def bars(comparison: Any) -> None:
    """Draw the median times of a comparison as bars from zero, each labelled with its time.

    The line at a bar's end spans the middle half of the samples; a thick tick marks the least time
    that the counted work allows. Runs recorded on other machines get bars of their own beside the
    machine at hand. The comparison's table, `print(comparison)`, has the same facts.
    """
    check_comparison(comparison, "bars")
    runs = (comparison, *comparison.recorded)
    names = [row.name for row in comparison.rows]
    thick = 0.8 / len(runs)
    with style():
        height = round(1.0 + 0.5 * len(names) * len(runs) ** 0.6, 1)
        figure, axes = plt.subplots(figsize=(8.5, height), layout="constrained")
        for k, run in enumerate(runs):
            for row in run.rows:
                if row.name not in names:
                    continue
                y = names.index(row.name) + (k + 0.5) * thick - 0.4
                axes.barh(y, row.median, thick * 0.9, color=COLOURS[k % len(COLOURS)],
                          edgecolor=INK, hatch=HATCHES[k % len(HATCHES)],
                          label=run.machine if row is run.rows[0] else None,
                          xerr=[[row.median - row.low], [row.high - row.median]],
                          error_kw={"ecolor": INK, "capsize": 3})
                axes.annotate(with_unit(row.median, "s"), (max(row.median, row.high), y),
                              xytext=(6, 0), textcoords="offset points", va="center", fontsize=8)
                least = run.ceiling.least(row.nbytes, row.flops)
                if least:
                    span = [y - 0.45 * thick, y + 0.45 * thick]
                    axes.plot([least] * 2, span, color="white", linewidth=6)
                    axes.plot([least] * 2, span, color=INK, linewidth=3)
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.set_xlim(right=axes.get_xlim()[1] * 1.12)
        axes.set_xlabel(f"seconds a call; thick tick: {comparison.ceiling.word}")
        axes.set_title(comparison.title)
        figure.legend(loc="outside lower center", fontsize=8, frameon=False)
        show("Bars: the time of each function", str(comparison), printed=False)


def roof(comparison: Any) -> None:
    """Draw a comparison's functions under the machine's roof, and print the same facts.

    The roof is the least of what the memory and what the arithmetic unit allow at an intensity of
    so many operations a byte (the roofline model: Williams, Waterman and Patterson, CACM 52(4),
    2009). Each point needs both its bytes and its operations counted. Where the bytes may have
    stayed in a cache, only the arithmetic's part of the roof counts.

    Raises
    ------
    ValueError
        Where no function has both counts.
    """
    check_comparison(comparison, "roof")
    limit = comparison.ceiling
    rows = [row for row in comparison.rows if row.nbytes and row.flops]
    if not rows:
        raise ValueError("draw.roof() needs functions with both nbytes and flops counted.")
    intensity = np.array([row.flops / row.nbytes for row in rows])
    rate = np.array([row.flops / row.median for row in rows]) / 1e9
    allowed = np.array([row.flops / limit.least(row.nbytes, row.flops) for row in rows]) / 1e9
    ridge = limit.flops / limit.bandwidth
    with style():
        figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
        left, right = min(intensity.min(), ridge) / 4, max(intensity.max(), ridge) * 6
        x = np.geomspace(left, right, 200)
        axes.plot(x, np.minimum(x * limit.bandwidth, limit.flops) / 1e9, color=INK, linewidth=2)
        middle = np.sqrt(left * ridge)
        axes.annotate("memory's slope", (middle, middle * limit.bandwidth / 1e9), xytext=(8, -4),
                      textcoords="offset points", va="top", fontsize=8)
        axes.annotate("arithmetic's roof", (right, limit.flops / 1e9), xytext=(0, 5),
                      textcoords="offset points", ha="right", fontsize=8)
        for k, row in enumerate(rows):
            axes.plot([intensity[k]] * 2, [rate[k], allowed[k]], color=FAINT, linestyle=":")
            axes.plot(intensity[k], rate[k], MARKERS[k % len(MARKERS)], markersize=9,
                      color=COLOURS[k % len(COLOURS)], markeredgecolor=INK, label=row.name)
        for axis in (axes.xaxis, axes.yaxis):
            axis.axes.set(**{f"{axis.axis_name}scale": "log"})
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.set_major_formatter("{x:g}")
            axis.set_minor_formatter("")
        axes.set_ylim(bottom=min(rate.min(), allowed.min()) / 3)
        axes.set_xlabel("operations a byte (logarithmic)")
        axes.set_ylabel("Gflop/s (logarithmic)")
        axes.set_title(f"{comparison.title} on {limit.name}")
        axes.legend(fontsize=8, frameon=False, loc="lower right")
        show("Functions under the machine's roof", _roof_text(rows, intensity, rate, allowed))


def _roof_text(rows: list, intensity: np.ndarray, rate: np.ndarray,
               allowed: np.ndarray) -> str:
    width = max(len(row.name) for row in rows)
    lines = [f"{'':{width}}  operations/byte  Gflop/s  roof there  share"]
    for row, *values in zip(rows, intensity, rate, allowed):
        at, reached, most = values
        lines.append(f"{row.name:{width}}  {at:15.3g}  {reached:7.3g}  {most:10.3g}"
                     f"  {reached / most:5.0%}")
    return "\n".join(lines)
