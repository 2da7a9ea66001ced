"""Pictures of streams: what ran when, and how long a pipeline of so many chunks takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..formats import with_unit
from .charts import MARKERS, check_comparison
from .style import COLOURS, FAINT, INK, SHADES, show, style

# Colour and hatch of copies in, kernels, copies out and host functions, as a timeline orders them.
LOOKS = (("#9CC4EA", "///"), (SHADES[1], ""), (SHADES[3], "\\\\\\"), (SHADES[4], "..."))
GAP = 0.002  # of the picture's width: what lies nearer together is drawn as one bar
MOST_LANES = 12


class Piece(NamedTuple):
    """A bar of a lane: its kind of work, and seconds."""

    kind: str
    start: float
    end: float


def timeline(*runs: Any, recorded: bool = True) -> None:
    """Draw what ran when on which stream, and below it the ideal; print the same as a table.

    Parameters
    ----------
    runs : Timeline
        As `helpers.timeline` recorded them, one below the other on the same scale of time.
    recorded : bool
        Whether the same blocks' recordings of other machines are drawn too.

    Notes
    -----
    The lanes "all ..." below a run are the ideal: the same copies and kernels, each kind without a
    pause and all three kinds at the same time. The dashed line is the end of the longest of them,
    which no order of the same pieces beats. The dotted line is where Python left the block.
    """
    for run in runs:
        if not hasattr(run, "spans"):
            raise TypeError("draw.timeline() draws what `with helpers.timeline() as t:` recorded,"
                            f" not {type(run).__name__}.")
        if not run.spans:
            raise ValueError(f"nothing ran on a stream in the block {run.title!r}.")
        if len(run.streams) > MOST_LANES:
            raise ValueError(f"{len(run.streams)} streams are more than fit into a picture:"
                             f" at most {MOST_LANES}.")
    _draw(runs)
    others = [other for run in runs for other in run.recorded] if recorded else []
    for machine in dict.fromkeys(other.machine for other in others):
        theirs = [other for other in others if other.machine == machine]
        _draw(theirs)


def _draw(runs: Sequence[Any]) -> None:
    lanes = [_lanes(run) for run in runs]
    heights = [0.24 * len(lane) + 0.35 for lane in lanes]
    with style():
        figure, all_axes = plt.subplots(
            len(runs), figsize=(8.5, round(0.9 + sum(heights) + 0.1 * len(runs), 1)), sharex=True,
            height_ratios=heights, squeeze=False, layout="constrained")
        longest = max(max(run.seconds, run.returned) for run in runs)
        for axes, run, named in zip(all_axes[:, 0], runs, lanes):
            _draw_run(axes, run, named, GAP * longest)
        axes.set_xlim(0, 1.02 * longest)
        axes.xaxis.set_major_formatter(lambda seconds, _: with_unit(seconds, "s"))
        patches = [Patch(facecolor=colour, hatch=hatch, edgecolor=INK, label=several)
                   for (kind, several), (colour, hatch) in zip(runs[0].kinds.items(), LOOKS)
                   if any(run.of(kind) for run in runs)]
        lines = [Line2D([], [], color=INK, linestyle=line, linewidth=1.2, label=label)
                 for line, label in (("--", "at least"), (":", "Python was through"))]
        figure.legend(handles=patches + lines, loc="outside lower center", ncols=5, fontsize=8,
                      frameon=False)
        show("What ran when on each stream", "\n\n".join(run.table() for run in runs))


def _lanes(run: Any) -> list[tuple[str, list[Piece]]]:
    """The streams' lanes, then those of the ideal; times from the first piece's start."""
    begin = min(span.start for span in run.spans)
    lanes = [(stream, [Piece(span.kind, span.start - begin, span.end - begin)
                       for span in run.spans if span.stream == stream])
             for stream in run.streams]
    for kind, busy in run.ideal.items():
        lanes.append((f"all {run.kinds[kind]}", [Piece(kind, 0, busy)]))
    return lanes


def _draw_run(axes: Axes, run: Any, lanes: list[tuple[str, list[Piece]]], gap: float) -> None:
    for row, (_, pieces) in enumerate(lanes):
        for kind, (colour, hatch) in zip(run.kinds, LOOKS):
            bars = [(start, end - start) for start, end in _merged(pieces, kind, gap)]
            if bars:
                axes.broken_barh(bars, (row - 0.4, 0.8), facecolor=colour, hatch=hatch,
                                 edgecolor=INK, linewidth=0.5)
    axes.axhline(len(run.streams) - 0.5, color=FAINT, linewidth=0.8)
    axes.axvline(run.least, color=INK, linestyle="--", linewidth=1.2)
    begin = min(span.start for span in run.spans)
    if run.returned > begin:
        axes.axvline(run.returned - begin, color=INK, linestyle=":", linewidth=1.2)
    axes.set_yticks(range(len(lanes)), [name for name, _ in lanes], fontsize=8)
    axes.set_ylim(len(lanes) - 0.5, -0.5)
    axes.tick_params(axis="x", labelsize=8)
    axes.set_title(f"{run.title} ({run.machine}): {with_unit(run.seconds, 's')},"
                   f" at least {with_unit(run.least, 's')}", fontsize=9)


def _merged(pieces: Sequence[Piece], kind: str, gap: float) -> list[tuple[float, float]]:
    """Start and end of the bars of one kind, with what is too near together joined."""
    bars: list[tuple[float, float]] = []
    for piece in pieces:
        if piece.kind != kind:
            continue
        if bars and piece.start - bars[-1][1] < gap and piece.end - bars[-1][0] < 8 * gap:
            bars[-1] = bars[-1][0], max(bars[-1][1], piece.end)
        else:
            bars.append((piece.start, piece.end))
    return bars


def chunks(comparison: Any, model: Mapping[str, Sequence[float]] | None = None) -> None:
    """Draw a pipeline's time against its number of chunks, with a model's curve, and print both.

    Parameters
    ----------
    comparison : Comparison
        Rows named by their number of chunks ("1", "2", "4", ...). Recorded runs are drawn too.
    model : mapping of str to sequence of float, optional
        For a run's `machine` the seconds that a model predicts, one for each row.
    """
    check_comparison(comparison, "chunks")
    model = model or {}
    lines = []
    with style():
        figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
        for k, run in enumerate((comparison, *comparison.recorded)):
            numbers = [int(row.name) for row in run.rows]
            best = min(row.median for row in run.rows)
            colour, mark = COLOURS[k % len(COLOURS)], MARKERS[k % len(MARKERS)]
            axes.plot(numbers, [row.median / best for row in run.rows], mark, color=colour,
                      markersize=8, markeredgecolor=INK, label=f"measured. {run.machine}")
            predicted = model.get(run.machine)
            if predicted is not None:
                axes.plot(numbers, [seconds / best for seconds in predicted], color=INK,
                          linestyle=("-", "--", ":")[k % 3], linewidth=1, label="model")
            lines += ["", run.machine, "chunks    measured" + "       model  measured / model"
                      * (predicted is not None)]
            for i, row in enumerate(run.rows):
                line = f"{row.name:>6}  {with_unit(row.median, 's'):>10}"
                if predicted is not None:
                    line += f"  {with_unit(predicted[i], 's'):>10}  {row.median / predicted[i]:.2f}"
                lines.append(line)
        axes.set_xscale("log", base=2)
        axes.set_xticks(numbers, [str(number) for number in numbers])
        axes.minorticks_off()
        axes.set_ylim(bottom=0)
        axes.set(xlabel="chunks (logarithmic)", ylabel="time, the machine's best = 1")
        figure.legend(loc="outside lower center", fontsize=8, frameon=False)
        show("Time against the number of chunks", "\n".join(lines).strip())
