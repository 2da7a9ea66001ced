"""Which thread of a warp touches which address: sectors of global memory, banks of shared."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes

from .style import FAINT, INK, SHADES, box, canvas, show, style, text_at

# One a warp: stronger shades first, dark text stays legible on all of them.
FILLS = (SHADES[1], SHADES[3], SHADES[2], SHADES[5], SHADES[0], SHADES[4])
ROW = 8  # sectors beside each other
CELL = 0.42  # inches: height of a row of sectors
WORD = 0.21  # inches: height of a word of a bank
MOST_WORDS = 8  # words of one bank that are drawn
BOLD = " Bold: the first of several lanes."


def draw(pattern: Any) -> None:
    """Draw an access pattern; `str(pattern)` has the same facts as text.

    Parameters
    ----------
    pattern : AccessPattern
        As `Report.access_pattern` returns it: of one access of the source what each warp does.
    """
    with style():
        if pattern.space == "shared":
            _draw_banks(pattern)
        else:
            _draw_sectors(pattern)
        show("What each lane of a warp reads or writes", str(pattern), printed=False)


def _canvas(pattern: Any, heights: list[float], left: float, right: float) -> Axes:
    """Axes in inches from the top, with the access as title."""
    height = round(0.7 + sum(heights), 1)
    axes = canvas(7.6, height, (left, right), (height, 0), (0.01, 0, 0.98, 1))
    title = f"line {pattern.line}, {pattern.space} {pattern.access} {pattern.array}:"
    title = f"{title}  {pattern.text}"
    title = title if len(title) <= 92 else title[:89] + "..."
    axes.text(left, 0.12, title, va="top", fontsize=9, family="DejaVu Sans Mono")
    return axes


def _draw_sectors(pattern: Any) -> None:
    rows = [-(-len(warp.sectors) // ROW) for warp in pattern.warps]
    axes = _canvas(pattern, [0.35 + CELL * n for n in rows], 0, ROW)
    y = 0.42
    for k, warp in enumerate(pattern.warps):
        axes.text(0, y, warp.summary(), va="top", fontsize=8.5)
        y += 0.35
        _draw_warp(axes, warp.sectors, y, pattern.size, FILLS[k % len(FILLS)])
        y += CELL * rows[k]
    several = any(len(lanes) > 1 for warp in pattern.warps for cells in warp.sectors.values()
                  for lanes in cells.values())
    note = "In the cells: lanes. Above a sector: its first byte in the array."
    note += " A thick bar: memory left out." if len(pattern.warps[0].sectors) > 1 else ""
    axes.text(0, y + 0.08, note + BOLD * several, va="top", fontsize=7)


def _draw_warp(axes: Axes, sectors: dict[int, dict[int, list[int]]], y: float, size: int,
               fill: str) -> None:
    cells = 32 // min(size, 32)
    width = 0.94 / cells
    before = None
    for n, (offset, lanes_of) in enumerate(sectors.items()):
        x, top = n % ROW, y + CELL * (n // ROW)
        if n % ROW and before is not None and offset != before + 32:
            axes.plot([x, x], [top - 0.03, top + 0.27], color=INK, linewidth=2.5)
        before = offset
        for cell in range(cells):
            lanes, left = lanes_of.get(cell, []), x + 0.03 + cell * width
            box(axes, left, top + 0.08, width, 0.19, fill=fill if lanes else "white",
                edgecolor=FAINT, linewidth=0.4)
            if lanes and cells <= 8:
                text_at(axes, left + width / 2, top + 0.178, str(lanes[0]), 5.3, color=INK,
                        fontweight="bold" if len(lanes) > 1 else "normal")
        box(axes, x + 0.03, top + 0.08, 0.94, 0.19, fill="none", linewidth=1)
        axes.text(x + 0.05, top + 0.07, f"{offset:,}", fontsize=5.6, va="bottom", color=INK)


def _draw_banks(pattern: Any) -> None:
    deepest = [max(len(bank) for bank in warp.banks) for warp in pattern.warps]
    rows = [min(MOST_WORDS, deep) + (deep > MOST_WORDS) for deep in deepest]
    axes = _canvas(pattern, [0.58 + WORD * n for n in rows], -1.2, 32.2)
    y = 0.42
    for k, warp in enumerate(pattern.warps):
        axes.text(-1.2, y, warp.summary(), va="top", fontsize=8.5)
        y += 0.4
        axes.text(-0.2, y - 0.02, "bank", fontsize=5.6, ha="right", va="bottom")
        for bank, words in enumerate(warp.banks):
            axes.text(bank + 0.5, y - 0.02, str(bank), ha="center", va="bottom", fontsize=5.6)
            _draw_words(axes, bank, list(words.values()), y, FILLS[k % len(FILLS)])
        y += WORD * rows[k] + 0.18
    several = any(len(lanes) > 1 for warp in pattern.warps for bank in warp.banks
                  for lanes in bank.values())
    note = "In the cells: lanes. Words of one bank stand under each other: they take turns."
    axes.text(-1.2, y, note + BOLD * several, va="top", fontsize=7)


def _draw_words(axes: Axes, bank: int, words: list[list[int]], y: float, fill: str) -> None:
    """The words of one bank under each other; an empty cell where no lane wants one."""
    for n, lanes in enumerate(words[:MOST_WORDS] or [[]]):
        box(axes, bank + 0.04, y + WORD * n + 0.01, 0.92, WORD - 0.03,
            fill=fill if lanes else "white", edgecolor=INK if lanes else FAINT,
            linewidth=0.8 if lanes else 0.4)
        if lanes:
            text_at(axes, bank + 0.5, y + WORD * (n + 0.48), str(lanes[0]), 6.5,
                    fontweight="bold" if len(lanes) > 1 else "normal")
    if len(words) > MOST_WORDS:
        text_at(axes, bank + 0.5, y + WORD * (MOST_WORDS + 0.5), f"+{len(words) - MOST_WORDS}", 6.5)
