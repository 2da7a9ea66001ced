"""The ladder of the digit reader as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt

from .charts import MARKERS
from .style import COLOURS, FAINT, INK, show, style


def ladder(names: Sequence[str], machines: Sequence[Any], text: str, flops: float) -> None:
    """Draw digits a second, rung by rung, on a logarithmic axis, and print the same facts.

    Parameters
    ----------
    names : sequence of str
        The rungs, the slowest first: they are drawn upwards.
    machines : sequence
        What is known of each machine: `name`, `rungs` by name with a `rate`, and its `roof` with
        `flops` a second, or None.
    text : str
        The table.
    flops : float
        Operations of a digit, for the roof.
    """
    with style():
        figure, axes = plt.subplots(figsize=(8, 1.6 + 0.34 * len(names)), layout="constrained")
        for k, machine in enumerate(machines):
            have = [(machine.rungs[name].rate, y) for y, name in enumerate(names)
                    if name in machine.rungs]
            axes.plot(*zip(*have), MARKERS[k % len(MARKERS)] + "-", color=FAINT, markersize=8,
                      markerfacecolor=COLOURS[k % len(COLOURS)], markeredgecolor=INK, linewidth=1,
                      label=machine.name)
            for rate, y in have:
                side = -1 if 0 < k == len(machines) - 1 else 1  # the last one's on the left
                axes.annotate(f"{rate:,.0f}", (rate, y), xytext=(9 * side, 0), va="center",
                              ha="right" if side < 0 else "left", fontsize=8, zorder=3,
                              textcoords="offset points",
                              bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})
            if machine.roof:
                axes.axvline(machine.roof.flops / flops, color=FAINT, linestyle="--",
                             label=f"roof of float32's arithmetic, {machine.name.split(',')[0]}")
        axes.set_yticks(range(len(names)), names)
        axes.set(xscale="log", xlabel="digits a second (logarithmic)")
        axes.set_xlim(axes.get_xlim()[0] / 4, axes.get_xlim()[1] * 6)
        figure.legend(loc="outside lower center", fontsize=8, frameon=False)
        show("The ladder: digits a second, rung by rung", text)
