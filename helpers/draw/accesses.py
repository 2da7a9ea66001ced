"""Which thread of a warp touches which address: sectors of global memory, banks of shared."""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle

from .style import FAINT, INK, SHADES, style

# One a warp: stronger shades first, dark text stays legible on all of them.
FILLS = (SHADES[1], SHADES[3], SHADES[2], SHADES[5], SHADES[0], SHADES[4])
ROW = 8  # sectors beside each other
CELL = 0.42  # inches: height of a row of sectors
MOST_WORDS = 8  # words of one bank that are drawn
_PLAIN = {"load": "loads from", "store": "stores to", "atomic": "updates"}


def draw(report, line: int | None, array: str | None, warps: int, time: int) -> None:
    """Draw one access of a report; see `Report.draw`."""
    counts = report.counts
    if counts is None or not counts.samples:
        if report.fault is not None:
            print(report)
        else:
            print(f"{report.source.kernel}: nothing to draw, no access to memory was counted.")
        return
    access = _choose(counts, line, array, time)
    found: dict[int, object] = {}  # of a structure that moves in pieces, the first
    for sample in counts.samples:
        if sample.line is access and sample.occurrence == time:
            found.setdefault(sample.warp, sample)
    samples = list(found.values())[: max(1, min(8, warps))]
    with style():
        if access.space == "shared":
            _draw_banks(access, samples)
        else:
            _draw_sectors(access, samples)
        plt.show()
    print(facts(access, samples))


def _choose(counts, line: int | None, array: str | None, time: int):
    """The access that is meant, the most wasteful one where several are."""
    drawn = {id(s.line) for s in counts.samples if s.occurrence == time}
    pool = [
        a for a in counts.lines
        if id(a) in drawn and line in (None, a.line) and array in (None, a.array)
    ]  # fmt: skip
    if not pool:
        known = sorted({f"line {a.line} ({a.array})" for a in counts.lines if id(a) in drawn})
        raise ValueError(
            f"line={line}, array={array!r}, time={time}: block (0, 0, 0) has no such access on "
            f"record; there are {', '.join(known) or 'none'}"
        )

    def waste(a) -> float:
        if a.space == "shared":
            return a.wavefronts / max(1, a.ideal_wavefronts)
        return a.sectors / max(1, a.ideal_sectors)

    return max(pool, key=lambda a: (waste(a), a.space == "global", a.access == "store"))


def _title(access) -> str:
    return f"line {access.line}, {access.space} {access.access} {access.array}:  {access.text}"


def _sectors(sample, size: int) -> dict[int, dict[int, list[int]]]:
    """Sector to cell to the lanes that use it; cells of the access's size."""
    found: dict[int, dict[int, list[int]]] = {}
    start = sample.addresses[0] - sample.offsets[0]
    for lane, address in zip(sample.lanes, sample.addresses):
        sector, inside = divmod(address, 32)
        offset = sector * 32 - start
        found.setdefault(offset, {}).setdefault(inside // min(size, 32), []).append(lane)
    return dict(sorted(found.items()))


def _draw_sectors(access, samples) -> None:
    parts = [_sectors(sample, access.size) for sample in samples]
    rows = [-(-len(part) // ROW) for part in parts]
    height = round(0.7 + sum(0.35 + CELL * n for n in rows), 1)
    figure = plt.figure(figsize=(7.6, height))
    axes = figure.add_axes((0.01, 0, 0.98, 1))
    axes.set_xlim(0, ROW)
    axes.set_ylim(height, 0)
    axes.set_axis_off()
    axes.text(0, 0.12, _fit(_title(access)), va="top", fontsize=9, family="DejaVu Sans Mono")
    y = 0.42
    for k, (sample, part) in enumerate(zip(samples, parts)):
        axes.text(0, y, _caption(access, sample), va="top", fontsize=8.5)
        y += 0.35
        _draw_warp(axes, part, y, access.size, k)
        y += CELL * rows[k]
    several = any(len(lanes) > 1 for part in parts for cell in part.values()
                  for lanes in cell.values())  # fmt: skip
    note = "In the cells: lanes. Above a sector: its first byte in the array."
    note += " A thick bar: memory left out." if len(parts[0]) > 1 else ""
    note += " Bold: the first of several lanes." if several else ""
    axes.text(0, y + 0.08, note, va="top", fontsize=7)


def _draw_warp(axes, part: dict, y: float, size: int, k: int) -> None:
    fill, cells = FILLS[k % len(FILLS)], 32 // min(size, 32)
    before = None
    for n, (offset, lanes_of) in enumerate(part.items()):
        x, top = n % ROW, y + CELL * (n // ROW)
        if n % ROW and before is not None and offset != before + 32:
            axes.plot([x, x], [top - 0.03, top + 0.27], color=INK, linewidth=2.5)
        before = offset
        inner = 0.94 / cells
        for cell in range(cells):
            lanes = lanes_of.get(cell, [])
            axes.add_patch(
                Rectangle(
                    (x + 0.03 + cell * inner, top + 0.08), inner, 0.19,
                    facecolor=fill if lanes else "white", edgecolor=FAINT, linewidth=0.4,
                )
            )  # fmt: skip
            if lanes and cells <= 8:
                several = len(lanes) > 1
                axes.text(
                    x + 0.03 + (cell + 0.5) * inner, top + 0.178, str(lanes[0]),
                    ha="center", va="center", fontsize=5.3, color=INK,
                    fontweight="bold" if several else "normal",
                )  # fmt: skip
        axes.add_patch(
            Rectangle((x + 0.03, top + 0.08), 0.94, 0.19, facecolor="none",
                      edgecolor=INK, linewidth=1)
        )  # fmt: skip
        axes.text(x + 0.05, top + 0.07, f"{offset:,}", fontsize=5.6, va="bottom", color=INK)


def _words(sample, size: int) -> list[dict[int, list[int]]]:
    """For each of the 32 banks, the words that lanes want from it, with those lanes."""
    banks: list[dict[int, list[int]]] = [{} for _ in range(32)]
    for lane, offset in zip(sample.lanes, sample.offsets):
        for word in range(offset // 4, (offset + size - 1) // 4 + 1):
            banks[word % 32].setdefault(word, []).append(lane)
    return banks


def _draw_banks(access, samples) -> None:
    parts = [_words(sample, access.size) for sample in samples]
    deepest = [max(len(bank) for bank in part) for part in parts]
    rows = [min(MOST_WORDS, deep) + (deep > MOST_WORDS) for deep in deepest]
    unit = 0.21
    height = round(0.7 + sum(0.58 + unit * n for n in rows), 1)
    figure = plt.figure(figsize=(7.6, height))
    axes = figure.add_axes((0.01, 0, 0.98, 1))
    axes.set_xlim(-1.2, 32.2)
    axes.set_ylim(height, 0)
    axes.set_axis_off()
    axes.text(-1.2, 0.12, _fit(_title(access)), va="top", fontsize=9, family="DejaVu Sans Mono")
    y = 0.42
    for k, (sample, part) in enumerate(zip(samples, parts)):
        axes.text(-1.2, y, _caption(access, sample), va="top", fontsize=8.5)
        y += 0.4
        axes.text(-0.2, y - 0.02, "bank", fontsize=5.6, ha="right", va="bottom")
        for bank, words in enumerate(part):
            axes.text(bank + 0.5, y - 0.02, str(bank), ha="center", va="bottom", fontsize=5.6)
            for n, (word, lanes) in enumerate(words.items()):
                if n == MOST_WORDS:
                    axes.text(bank + 0.5, y + unit * (n + 0.5), f"+{len(words) - n}",
                              ha="center", va="center", fontsize=6.5)  # fmt: skip
                    break
                axes.add_patch(
                    Rectangle((bank + 0.04, y + unit * n + 0.01), 0.92, unit - 0.03,
                              facecolor=FILLS[k % len(FILLS)],
                              edgecolor=INK, linewidth=0.8)
                )  # fmt: skip
                axes.text(bank + 0.5, y + unit * (n + 0.48), str(lanes[0]), ha="center",
                          va="center", fontsize=6.5,
                          fontweight="bold" if len(lanes) > 1 else "normal")  # fmt: skip
                del word
        for bank in range(32):
            if not part[bank]:
                axes.add_patch(
                    Rectangle((bank + 0.04, y + 0.01), 0.92, unit - 0.03, facecolor="white",
                              edgecolor=FAINT, linewidth=0.4)
                )  # fmt: skip
        y += unit * rows[k] + 0.18
    several = any(len(lanes) > 1 for part in parts for bank in part for lanes in bank.values())
    note = "In the cells: lanes. Words of one bank stand under each other: they take turns."
    note += " Bold: the first of several lanes." if several else ""
    axes.text(-1.2, y, note, va="top", fontsize=7)


def _fit(text: str) -> str:
    return text if len(text) <= 92 else text[:89] + "..."


def _caption(access, sample) -> str:
    lanes = f"{len(sample.lanes)} lane" + ("s" if len(sample.lanes) != 1 else "")
    start = f"warp {sample.warp} of block (0, 0, 0): {lanes}, "
    if access.space == "shared":
        words = _words(sample, access.size)
        deepest = max(len(bank) for bank in words)
        used = sum(1 for bank in words if bank)
        plural = "s" if used != 1 else ""
        most = "one word a bank" if deepest == 1 else f"up to {deepest} words in one bank"
        return f"{start}{used} bank{plural}, {most}"
    count = len(_sectors(sample, access.size))
    distinct = len(set(sample.addresses)) * access.size
    return f"{start}{count} sector{'s' if count != 1 else ''} of 32 bytes for {distinct:,} bytes"


def _pattern(sample, size: int) -> str:
    """The lanes' places in a sentence."""
    offsets, lanes = sample.offsets, sample.lanes
    if len(offsets) == 1:
        return f"lane {lanes[0]} at byte {offsets[0]:,}"
    steps = {b - a for a, b in zip(offsets, offsets[1:])}
    gaps = {b - a for a, b in zip(lanes, lanes[1:])}
    if steps == {0}:
        return f"all at byte {offsets[0]:,}"
    if len(steps) == 1 and len(gaps) == 1:
        step = steps.pop()
        on = f"{abs(step):,} bytes {'on' if step > 0 else 'back'}"
        note = ", its neighbour" if step == size and gaps == {1} else ""
        return f"lane {lanes[0]} at byte {offsets[0]:,}, each next lane {on}{note}"
    shown = ", ".join(f"{lane}: {offset:,}" for lane, offset in zip(lanes[:8], offsets[:8]))
    rest = ", ..." if len(lanes) > 8 else ""
    return f"lane and byte {shown}{rest}"


def facts(access, samples) -> str:
    """What the picture shows, as text."""
    where = "shared memory, " if access.space == "shared" else ""
    rows = [f"Line {access.line} {_PLAIN[access.access]} {where}{access.array}, "
            f"{access.size} bytes a lane:"]  # fmt: skip
    for sample in samples:
        rows.append(f"  {_caption(access, sample)};")
        rows.append(f"    {_pattern(sample, access.size)}.")
    return "\n".join(rows)
