"""Pictures of streams: what Python, copies and kernels did, and when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..formats import with_unit
from .style import INK, SHADES, show, style

# Colour and hatch of copies in, kernels, copies out and host functions, as a timeline orders them.
LOOKS = (("#9CC4EA", "///"), (SHADES[1], ""), (SHADES[3], "\\\\\\"), (SHADES[4], "..."))
GAP = 0.002  # of the picture's width: what lies nearer together is drawn as one bar
CALLS = "#D9D9D9"  # of Python in a call
MOST_STREAMS = 12


def timeline(*runs: Any, recorded: bool = True) -> None:
    """Draw what Python, the copies and the kernels did and when; print the same as a table.

    Parameters
    ----------
    runs : Timeline
        As `helpers.timeline` recorded them, one below the other on the same scale of time.
    recorded : bool
        Whether the same blocks' recordings of other machines are drawn too.

    Notes
    -----
    The first lane is Python: dark in the program's own code, light in calls that queue, copy or
    wait. Each other lane is a unit of the machine, with a row for each stream. All times count from
    the beginning of the block. The dashed line is how long the busiest unit works.
    """
    for run in runs:
        if not hasattr(run, "spans"):
            raise TypeError("draw.timeline() draws what `with helpers.timeline() as t:` recorded,"
                            f" not {type(run).__name__}.")
        if not run.spans:
            raise ValueError(f"nothing ran on a stream in the block {run.title!r}.")
        if len(run.streams) > MOST_STREAMS:
            raise ValueError(f"{len(run.streams)} streams are more than fit into a picture:"
                             f" at most {MOST_STREAMS}.")
    _draw(runs)
    others = [other for run in runs for other in run.recorded] if recorded else []
    for machine in dict.fromkeys(other.machine for other in others):
        theirs = [other for other in others if other.machine == machine]
        _draw(theirs)


def _draw(runs: Sequence[Any]) -> None:
    kinds = [[kind for kind in run.kinds if run.of(kind)] for run in runs]
    heights = [0.3 * (len(used) + 1) + 0.35 for used in kinds]
    with style():
        figure, all_axes = plt.subplots(
            len(runs), figsize=(8.5, round(0.9 + sum(heights) + 0.1 * len(runs), 1)), sharex=True,
            height_ratios=heights, squeeze=False, layout="constrained")
        longest = max(max(run.seconds, run.returned) for run in runs)
        for axes, run, used in zip(all_axes[:, 0], runs, kinds):
            _draw_run(axes, run, used, GAP * longest)
        axes.set_xlim(0, 1.02 * longest)
        axes.xaxis.set_major_formatter(lambda seconds, _: with_unit(seconds, "s"))
        patches = [Patch(facecolor=colour, hatch=hatch, edgecolor=INK, label=several)
                   for (kind, several), (colour, hatch) in zip(runs[0].kinds.items(), LOOKS)
                   if any(run.of(kind) for run in runs)]
        patches += [Patch(facecolor=colour, edgecolor=INK, label=f"Python {where}")
                    for colour, where in ((INK, "in its own code"), (CALLS, "in a call"))]
        line = Line2D([], [], color=INK, linestyle="--", linewidth=1.2, label="busiest unit")
        figure.legend(handles=[*patches, line], loc="outside lower center", ncols=6, fontsize=8,
                      frameon=False)
        show("What Python, copies and kernels did and when",
             "\n\n".join(run.table() for run in runs), printed=True)


def _draw_run(axes: Axes, run: Any, used: Sequence[str], gap: float) -> None:
    axes.broken_barh([(0, run.returned)], (-0.4, 0.8), facecolor=INK)
    calls = _merged(run.calls, gap)
    axes.broken_barh([(start, end - start) for start, end in calls], (-0.4, 0.8), facecolor=CALLS,
                     edgecolor=INK, linewidth=0.5)
    looks, high = dict(zip(run.kinds, LOOKS)), 0.8 / len(run.streams)
    for row, kind in enumerate(used, 1):
        colour, hatch = looks[kind]
        for place, stream in enumerate(run.streams):
            spans = [(span.start, span.end) for span in run.of(kind) if span.stream == stream]
            axes.broken_barh([(start, end - start) for start, end in _merged(spans, gap)],
                             (row - 0.4 + place * high, high), facecolor=colour, hatch=hatch,
                             edgecolor=INK, linewidth=0.5)
    axes.axvline(run.least, color=INK, linestyle="--", linewidth=1.2)
    lanes = ["Python", *(run.kinds[kind] for kind in used)]
    axes.set_yticks(range(len(lanes)), lanes, fontsize=8)
    axes.set_ylim(len(lanes) - 0.5, -0.5)
    axes.tick_params(axis="x", labelsize=8)
    axes.set_title(f"{run.title} ({run.machine}): {with_unit(run.seconds, 's')},"
                   f" busiest unit {with_unit(run.least, 's')}", fontsize=9)


def _merged(spans: Sequence[tuple[float, float]], gap: float) -> list[tuple[float, float]]:
    """Start and end of bars, with what is too near together joined."""
    bars: list[tuple[float, float]] = []
    for start, end in sorted(spans):
        if bars and start - bars[-1][1] < gap and end - bars[-1][0] < 8 * gap:
            bars[-1] = bars[-1][0], max(bars[-1][1], end)
        else:
            bars.append((start, end))
    return bars
