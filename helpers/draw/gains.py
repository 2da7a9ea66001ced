"""What was promised beside what was measured, as factors of speed."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
from matplotlib.ticker import LogLocator

from .style import COLOURS, FAINT, INK, show, style


def speed(factor: float) -> str:
    """A factor of speed in words: "12 times as fast", or of 1 / 12 "12 times slower"."""
    times = max(factor, 1 / factor)
    if times < 1.05:
        return "the same speed"
    return f"{times:,.{0 if times >= 9.95 else 1}f} times {'as fast' if factor > 1 else 'slower'}"


def gains(rows: Mapping[str, tuple[float | str | None, float]], title: str) -> None:
    """Draw factors of speed on a logarithmic axis, and print the same facts.

    Parameters
    ----------
    rows : mapping of str to tuple
        By what was tried: the factor that was promised, or a word such as "faster" where no
        number was given, or None; and the factor that was measured.
    title : str
        The heading, which says what a factor of 1 stands for.
    """
    width = max(map(len, rows))
    lines = [f"{'':{width}}  {'promised':16}  measured"]
    with style():
        height = round(1.2 + 0.38 * len(rows), 1)
        _, axes = plt.subplots(figsize=(8.5, height), layout="constrained")
        axes.axvline(1, color=FAINT, linewidth=1)
        for y, (name, (promised, measured)) in enumerate(rows.items()):
            axes.annotate(speed(measured), (measured, y), xytext=(0, 9), fontsize=8, ha="center",
                          textcoords="offset points", zorder=1,
                          bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.3})
            if isinstance(promised, str):
                axes.annotate("", (1, y), (40, 0), textcoords="offset points",
                              arrowprops={"arrowstyle": "<-", "color": INK})
            elif promised is not None:
                axes.plot(promised, y, "D", color="white", markeredgecolor=INK, markersize=11)
            axes.plot([1, measured], [y, y], color=COLOURS[0], linewidth=3)
            axes.plot(measured, y, "o", color=COLOURS[0], markeredgecolor=INK, markersize=8)
            words = promised if isinstance(promised, str) else speed(promised) if promised else "-"
            lines.append(f"{name:{width}}  {words:16}  {speed(measured)}")
        axes.set_yticks(range(len(rows)), rows)
        factors = [x for row in rows.values() for x in row if isinstance(x, (int, float))]
        low, high = min(0.8, *factors), max(2, *factors)
        margin = (high / low) ** 0.15
        axes.set(xscale="log", xlim=(low / margin, high * margin),
                 ylim=(len(rows) - 0.4, -0.8), title=title)
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 50 * low else (1,)))
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}" if x >= 1 else f"1/{1 / x:g}")
        axes.xaxis.set_minor_formatter("")
        axes.set_xlabel("times as fast (logarithmic). Filled: measured. Hollow, or arrow: promised")
        show("Factors of speed, promised and measured", "\n".join(lines), printed=True)
