"""Pictures of the values that the lanes of a warp exchange in shuffles."""

from __future__ import annotations

from collections.abc import Sequence

from .style import INK, SHADES, box, canvas, show, style, text_at

MOST = 16


def shuffles(values: Sequence[int], kind: str = "sum") -> None:
    """Draw how lanes add each other's values in shuffles, and print the same facts.

    Parameters
    ----------
    values : sequence of int
        One for each lane; 2, 4, 8 or 16 of them stand for the 32 of a warp.
    kind : {"sum", "scan"}
        "sum": each lane adds the value of the lane whose number differs by `step`, in halving
        steps, and all end with the sum. "scan": each lane from `step` on adds the value `step`
        lanes before, in doubling steps, and each ends with the sum up to itself.

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
        for r, (step, row) in enumerate(rows):
            top = 1.55 * r
            label = "at first" if step == 0 else f"step {step}"
            axes.text(-0.15, top + 0.4, label, ha="right", va="center", fontsize=9)
            for lane, value in enumerate(row):
                box(axes, (lane + 0.06) * unit, top, 0.88 * unit, 0.8, fill=SHADES[1],
                    edgecolor=INK)
                text_at(axes, (lane + 0.5) * unit, top + 0.4, str(value), 9, color=INK)
                source = lane ^ step if kind == "sum" else lane - step
                if step and source >= 0:
                    axes.annotate("", ((lane + 0.5) * unit, top - 0.02),
                                  ((source + 0.5) * unit, top - 0.73),
                                  arrowprops={"arrowstyle": "->", "color": INK, "linewidth": 0.9})
        show("A warp's values, step by step", "\n".join(
            f"{f'step {step}' if step else 'at first':<9}" + " ".join(map(str, row))
            for step, row in rows))


def _steps(lanes: list[int], kind: str) -> list[tuple[int, list[int]]]:
    """For each row of the picture the step, 0 at first, and the lanes' values after it."""
    rows = [(0, lanes)]
    steps = [1 << k for k in range(len(lanes).bit_length() - 1)]
    for step in steps[::-1] if kind == "sum" else steps:
        before = rows[-1][1]
        rows.append((step, [v + (before[k ^ step] if kind == "sum" else
                                 before[k - step] if k >= step else 0)
                            for k, v in enumerate(before)]))
    return rows
