"""Which lane of a warp touches which address: one access of a report, as plain data and as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..engine.counters import Counts, Line, Sample

SECTOR = 32  # bytes
BANKS, WORD = 32, 4  # of shared memory; bytes
MOST_WARPS = 8
_VERBS = {"load": "loads from", "store": "stores to", "atomic": "updates"}


@dataclass(frozen=True)
class WarpAccess:
    """What the lanes of one warp do in one request.

    Attributes
    ----------
    warp : int
        Its number in block (0, 0, 0).
    lanes : tuple of int
        The lanes that take part.
    offsets : tuple of int
        For each of them the first byte that it touches, from the array's start.
    sectors : dict
        In global memory: for each sector, by its first byte in the array, the lanes that use each
        of its cells (of the access's size), by the cell's number. Empty for shared memory.
    banks : tuple of dict
        In shared memory: for each of the 32 banks the lanes that want each of its words, by the
        word's number in the array. Empty for global memory.
    """

    warp: int
    lanes: tuple[int, ...]
    offsets: tuple[int, ...]
    size: int
    sectors: dict[int, dict[int, list[int]]]
    banks: tuple[dict[int, list[int]], ...]

    def summary(self) -> str:
        """How many lanes there are, and how many sectors or banks they need."""
        start = f"warp {self.warp} of block (0, 0, 0): {many(len(self.lanes), 'lane')}, "
        if self.banks:
            deepest = max(len(bank) for bank in self.banks)
            used = sum(1 for bank in self.banks if bank)
            most = "one word a bank" if deepest == 1 else f"up to {deepest} words in one bank"
            return f"{start}{many(used, 'bank')}, {most}"
        distinct = len(set(self.offsets)) * self.size
        return f"{start}{many(len(self.sectors), 'sector')} of 32 bytes for {distinct:,} bytes"

    def places(self) -> str:
        """Which lane is at which byte."""
        offsets, lanes = self.offsets, self.lanes
        if len(offsets) == 1:
            return f"lane {lanes[0]} at byte {offsets[0]:,}"
        steps = {b - a for a, b in zip(offsets, offsets[1:])}
        gaps = {b - a for a, b in zip(lanes, lanes[1:])}
        if steps == {0}:
            return f"all at byte {offsets[0]:,}"
        if len(steps) == 1 and len(gaps) == 1:
            step = steps.pop()
            on = f"{abs(step):,} bytes {'on' if step > 0 else 'back'}"
            note = ", its neighbour" if step == self.size and gaps == {1} else ""
            return f"lane {lanes[0]} at byte {offsets[0]:,}, each next lane {on}{note}"
        shown = ", ".join(f"{lane}: {offset:,}" for lane, offset in zip(lanes[:8], offsets[:8]))
        return f"lane and byte {shown}{', ...' if len(lanes) > 8 else ''}"


@dataclass(frozen=True)
class AccessPattern:
    """One access of the source as the first warps do it; `str` says the same in words.

    Attributes
    ----------
    line : int or None
        Of the source.
    text : str
        What that line says.
    space, access, array : str
        "global" or "shared"; "load", "store" or "atomic"; the array's name.
    size : int
        Bytes that a lane touches.
    warps : tuple of WarpAccess
    """

    line: int | None
    text: str
    space: str
    access: str
    array: str | None
    size: int
    warps: tuple[WarpAccess, ...]

    def __str__(self) -> str:
        where = "shared memory, " if self.space == "shared" else ""
        rows = [f"Line {self.line} {_VERBS[self.access]} {where}{self.array}, "
                f"{self.size} bytes a lane:"]  # fmt: skip
        for warp in self.warps:
            rows += [f"  {warp.summary()};", f"    {warp.places()}."]
        return "\n".join(rows)


def find_pattern(
    counts: Counts, line: int | None, array: str | None, warps: int, time: int
) -> AccessPattern:
    """The access that is meant, the most wasteful one where several are.

    Raises
    ------
    ValueError
        Where block (0, 0, 0) made no such access; the message names those that it made.
    """
    samples = [sample for sample in counts.samples if sample.occurrence == time]
    chosen = _most_wasteful(counts, samples, line, array, time)
    first: dict[int, Sample] = {}  # a structure moves in pieces: the first of each warp
    for sample in samples:
        if sample.line is chosen:
            first.setdefault(sample.warp, sample)
    shown = list(first.values())[: max(1, min(MOST_WARPS, warps))]
    return AccessPattern(
        chosen.line, chosen.text, chosen.space, chosen.access, chosen.array, chosen.size,
        tuple(_of_a_warp(sample, chosen) for sample in shown),
    )  # fmt: skip


def _most_wasteful(
    counts: Counts, samples: Sequence[Sample], line: int | None, array: str | None, time: int
) -> Line:
    recorded = {id(sample.line) for sample in samples}
    known = [found for found in counts.lines if id(found) in recorded]
    pool = [a for a in known if line in (None, a.line) and array in (None, a.array)]
    if not pool:
        there = sorted({f"line {found.line} ({found.array})" for found in known})
        raise ValueError(
            f"line={line}, array={array!r}, time={time}: block (0, 0, 0) has no such access on "
            f"record; there are {', '.join(there) or 'none'}"
        )

    def waste(found: Line) -> float:
        used, ideal, _ = units(found)
        return used / max(1, ideal)

    return max(pool, key=lambda a: (waste(a), a.space == "global", a.access == "store"))


def _of_a_warp(sample: Sample, line: Line) -> WarpAccess:
    shared = line.space == "shared"
    return WarpAccess(
        sample.warp, tuple(sample.lanes), tuple(sample.offsets), line.size,
        {} if shared else _sectors(sample, line.size),
        _banks(sample, line.size) if shared else (),
    )  # fmt: skip


def _sectors(sample: Sample, size: int) -> dict[int, dict[int, list[int]]]:
    found: dict[int, dict[int, list[int]]] = {}
    array_start = sample.addresses[0] - sample.offsets[0]
    for lane, address in zip(sample.lanes, sample.addresses):
        sector, inside = divmod(address, SECTOR)
        cells = found.setdefault(sector * SECTOR - array_start, {})
        cells.setdefault(inside // min(size, SECTOR), []).append(lane)
    return dict(sorted(found.items()))


def _banks(sample: Sample, size: int) -> tuple[dict[int, list[int]], ...]:
    banks: tuple[dict[int, list[int]], ...] = tuple({} for _ in range(BANKS))
    for lane, offset in zip(sample.lanes, sample.offsets):
        for word in range(offset // WORD, (offset + size - 1) // WORD + 1):
            banks[word % BANKS].setdefault(word, []).append(lane)
    return banks


def units(line: Line) -> tuple[int, int, str]:
    """What an access costs, what it would cost at best, and in what that is counted."""
    if line.space == "shared":
        return line.wavefronts, line.ideal_wavefronts, "wavefronts"
    return line.sectors, line.ideal_sectors, "sectors"


def many(count: int, what: str) -> str:
    """A number of things, in words: ``"1,024 threads"``."""
    return f"{count:,} {what}" + ("" if count == 1 else "s")
