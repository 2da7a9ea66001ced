"""Which arrays lie in which place while a kernel goes through its stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt

from .style import FAINT, INK, SHADES, show, style


def lifetimes(stages: Sequence[str], places: Mapping[str, Sequence[tuple[str, int, int]]],
              about: str) -> None:
    """Draw a row for each place, and in it a bar for each array that lies there.

    `places` has a list for each place: an array's name, and the numbers of the first and the last
    stage that needs it. `about` says what the picture shows.
    """
    with style():
        _, axes = plt.subplots(figsize=(10, round(1 + 0.6 * len(places), 1)), layout="constrained")
        lines = []
        for row, (place, arrays) in enumerate(places.items()):
            for name, first, last in arrays:
                axes.barh(row, last + 1 - first, 0.8, left=first, color=SHADES[row % len(SHADES)],
                          edgecolor=INK)
                axes.text((first + last + 1) / 2, row, name, ha="center", va="center", fontsize=8)
                lines.append(f"{place}: {name}, {stages[first]}"
                             + f" to {stages[last]}" * (last > first))
        for border in range(1, len(stages)):
            axes.axvline(border, color=FAINT, linewidth=0.5, zorder=0)
        axes.set_xticks([k + 0.5 for k in range(len(stages))], stages, fontsize=8)
        axes.set_yticks(range(len(places)), places)
        axes.tick_params(length=0, top=False, labeltop=True, labelbottom=False)
        axes.invert_yaxis()
        axes.set_xlim(0, len(stages))
        show(about, "\n".join(lines))
