"""Charts of measured times: bars against the least time."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt

from ..formats import with_unit
from .style import COLOURS, INK, show, style

HATCHES = ("", "//", "..", "xx", r"\\", "++")  # one for each colour


def bars(comparison: Any) -> None:
    """Draw the median times of a comparison as bars from zero, each labelled with its time.

    The line at a bar's end spans the middle half of the samples; a thick tick marks the least time
    that the counted work allows. Runs recorded on other machines get bars of their own beside the
    machine at hand. The comparison's table, `print(comparison)`, has the same facts.
    """
    if not hasattr(comparison, "rows") or not hasattr(comparison, "ceiling"):
        raise TypeError("draw.bars() draws what compare() returned,"
                        f" not {type(comparison).__name__}.")
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
