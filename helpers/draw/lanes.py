"""Pictures of the values that the lanes of a warp exchange in shuffles."""

from __future__ import annotations

from collections.abc import Sequence

from .style import FAINT, INK, SHADES, box, canvas, show, style, text_at

MOST = 16


def shuffles(values: Sequence[int], kind: str = "sum") -> None:
    """Draw how lanes add each other's values in shuffles, and print the same facts.

    Parameters
    ----------
    values : sequence of int
        One for each lane; 2, 4, 8 or 16 of them stand for the 32 of a warp.
    kind : {"sum", "scan"}
        "sum": each lane adds the value `step` lanes further on, in halving steps, and lane 0 ends
        with the sum. "scan": each lane from `step` on adds the value `step` lanes before, in
        doubling steps, and each ends with the sum up to itself.

    Raises
    ------
    ValueError
        For another kind, or another number of values.
    """
    lanes = [int(value) for value in values]
    if len(lanes) not in (2, 4, 8, MOST):
        raise ValueError(f"draw.shuffles() shows 2, 4, 8 or 16 lanes, not {len(lanes)}.")
    if kind not in ("sum", "scan"):
        raise ValueError(f'kind={kind!r}: it must be "sum" or "scan".')
    rows = _steps(lanes, kind)
    with style():
        axes = canvas(7.6, 0.6 + 0.62 * len(rows), (-2.4, MOST / 2),
                      (1.55 * len(rows) - 0.3, -0.65), (0.01, 0.01, 0.98, 0.98))
        unit = MOST / 2 / len(lanes)
        axes.text(-0.15, -0.3, "lane", ha="right", va="center", fontsize=8)
        for lane in range(len(lanes)):
            text_at(axes, (lane + 0.5) * unit, -0.3, str(lane))
        for r, (step, row, used) in enumerate(rows):
            top = 1.55 * r
            label = "at first" if step is None else f"step {step}"
            axes.text(-0.15, top + 0.4, label, ha="right", va="center", fontsize=9)
            for lane, value in enumerate(row):
                counts = lane in used
                box(axes, (lane + 0.06) * unit, top, 0.88 * unit, 0.8,
                    fill=SHADES[1] if counts else "white", edgecolor=INK if counts else FAINT)
                text_at(axes, (lane + 0.5) * unit, top + 0.4, str(value), 9,
                        color=INK if counts else "#666666")
                source = lane + step if step and kind == "sum" else lane - (step or 0)
                if step and counts and 0 <= source < len(row):
                    axes.annotate("", ((lane + 0.5) * unit, top - 0.02),
                                  ((source + 0.5) * unit, top - 0.73),
                                  arrowprops={"arrowstyle": "->", "color": INK, "linewidth": 0.9})
        show("A warp's values, step by step", "\n".join(
            f"{'at first' if step is None else f'step {step}':<9}"
            + " ".join(str(value) if lane in used else "." for lane, value in enumerate(row))
            for step, row, used in rows))


def _steps(lanes: list[int], kind: str) -> list[tuple[int | None, list[int], range]]:
    """For each row of the picture the step, the lanes' values, and the lanes that still count."""
    count = len(lanes)
    rows: list[tuple[int | None, list[int], range]] = [(None, lanes, range(count))]
    steps = [1 << k for k in range(count.bit_length() - 1)]
    for step in steps[::-1] if kind == "sum" else steps:
        before = rows[-1][1]
        if kind == "sum":  # beyond the last lane a shuffle returns the lane's own value
            now = [v + before[k + step if k + step < count else k] for k, v in enumerate(before)]
            rows.append((step, now, range(step)))
        else:
            now = [v + before[k - step] if k >= step else v for k, v in enumerate(before)]
            rows.append((step, now, range(count)))
    return rows
