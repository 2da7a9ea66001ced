"""What tuning found: a table, the best variant, its kernel."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ..bounds import Ceiling
from ..formats import aligned, range_with_unit, with_unit
from ..timing import Comparison, Timing
from .variant import Generated, Tuned

# The simulator's order: the first of these counters in which two variants differ decides.
ORDER: dict[str, tuple[str, ...]] = {
    "sectors": ("global_load_sectors", "global_store_sectors", "global_atomic_sectors"),
    "wavefronts": ("shared_load_wavefronts", "shared_store_wavefronts", "shared_atomic_wavefronts"),
    "requests": ("global_load_requests", "global_store_requests", "global_atomic_requests"),
    "barriers": ("barriers",),
}
SHOWN = 12  # rows of a table, unless more are asked for
WIDTH = 96  # columns of the text below it
# What a variant failed at, as the table and as a cell of the map say it.
STATES = {
    "generate": ("not generated", "no text"),
    "compile": ("does not compile", "compiler"),
    "launch": ("cannot be launched", "no launch"),
    "fault": ("faulty access", "fault"),
    "endless": ("does not end", "endless"),
    "wrong": ("wrong result", "wrong"),
}


@dataclass(frozen=True)
class Variant:
    """One point of the grid.

    Attributes
    ----------
    parameters : dict
        What the generator was called with.
    state : str
        "ok", or what it failed at: "generate", "compile", "launch", "fault", "endless", "wrong".
    note : str
        Why it failed.
    timing : Timing or None
        On a GPU: seconds of a launch.
    counts : dict or None
        On the simulator: what a launch asks of memory.
    generated : Generated or None
        Its text and launch.
    """

    parameters: dict
    state: str
    note: str = ""
    timing: Timing | None = None
    counts: dict[str, int] | None = None
    generated: Generated | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """The parameters as text: "block=128"."""
        return ", ".join(f"{name}={value}" for name, value in self.parameters.items())

    @property
    def cost(self) -> tuple[float, ...]:
        """What it is ranked by: seconds, or on the simulator the counters in their order."""
        if self.timing is not None:
            return (self.timing.median,)
        counts = self.counts or {}
        return tuple(sum(counts.get(name, 0) for name in names) for names in ORDER.values())


@dataclass(frozen=True)
class Tuning:
    """All variants of one search; print it for the table.

    Attributes
    ----------
    title : str
    variants : tuple of Variant
        In the grid's order.
    simulated : bool
        Whether the simulator ranked them, by its counters.
    recorded : tuple of Comparison
        The same search on GPUs, recorded: `heatmap` draws them.
    """

    title: str
    variants: tuple[Variant, ...]
    simulated: bool
    machine: str
    nbytes: float = 0
    ceiling: Ceiling | None = None
    recorded: tuple[Comparison, ...] = ()

    @property
    def ranked(self) -> list[Variant]:
        """The variants with right results, the best first; equal ones in the grid's order."""
        return sorted((v for v in self.variants if v.state == "ok"), key=lambda v: v.cost)

    @property
    def best(self) -> dict:
        """The parameters of the best variant."""
        return dict(self.ranked[0].parameters)

    @cached_property
    def kernel(self) -> Tuned:
        """The best variant, compiled: call it with the kernel's arguments on the device."""
        return Tuned(self.ranked[0].generated)

    def heatmap(self, x: str, y: str) -> None:
        """Draw the variants by two of the parameters, across and down.

        A cell shows the best variant over the other parameters. On a GPU it holds the time of a
        launch, on the simulator the first of the counters that it ranks by in which variants
        differ. Runs recorded on GPUs get maps of their own beside, of all variants that were
        recorded.
        """
        from ..draw.heatmap import heatmap, panels

        heatmap(panels(self, list(ORDER), {state: short for state, (_, short) in STATES.items()}),
                x, y)

    # ---- the table ---------------------------------------------------------------------------

    def __repr__(self) -> str:
        return self.table()

    def table(self, rows: int | None = SHOWN) -> str:
        """The heading, the best `rows` variants (None: all), and those that failed."""
        ranked = self.ranked
        shown = ranked[:rows]
        costs = [v.cost for v in ranked]
        columns = [["rank", *(str(costs.index(v.cost) + 1) for v in shown)]]
        columns += [[name, *(str(v.parameters[name]) or "''" for v in shown)]
                    for name in self.variants[0].parameters]
        columns += self._counters(shown) if self.simulated else self._times(shown)
        lines = aligned(list(zip(*columns)), left=0) if shown else []
        if len(shown) < len(ranked):
            lines.append(f"... and {len(ranked) - len(shown)} more")
        return "\n".join([*self._heading(), *lines, *failures(self.variants)])

    def _heading(self) -> list[str]:
        ranked = self.ranked
        lines = [f"{self.title}: {len(self.variants)} variants, {len(ranked)} with right results"]
        lines.append(self.machine)
        if self.simulated:
            lines.append("Not by time: ranked by what a launch asks of memory, in the order")
            lines.append(", ".join(ORDER) + "; equal ones share a rank.")
        elif alike := sum(v.timing.low <= ranked[0].timing.high for v in ranked[1:]):
            verb = "is" if alike == 1 else "are"
            lines.append(f"{alike} of the others {verb} too near the best to tell: the middle"
                         " halves of their times overlap.")
        return lines

    def _times(self, shown: Sequence[Variant]) -> list[list[str]]:
        times = [v.timing for v in shown]
        columns = [
            ["measured", *(with_unit(t.median, "s") for t in times)],
            ["middle half", *(range_with_unit(t.low, t.high, "s") for t in times)],
        ]
        if self.nbytes:
            columns.append(["bytes/s", *(with_unit(self.nbytes / t.median, "B/s") for t in times)])
            least = self.ceiling.least(self.nbytes, 0)
            columns.append(["share", *(f"{least / t.median:.0%}" for t in times)])
        return columns

    def _counters(self, shown: Sequence[Variant]) -> list[list[str]]:
        return [[name, *(f"{v.cost[k]:,}" for v in shown)] for k, name in enumerate(ORDER)
                if k == 0 or any(v.cost[k] for v in self.ranked)]


def failures(variants: Sequence[Variant]) -> list[str]:
    """What variants failed at, one line for those that failed alike."""
    alike: dict[tuple[str, str], list[str]] = {}
    for v in variants:
        if v.state != "ok":
            alike.setdefault((STATES[v.state][0], v.note), []).append(v.name)
    lines = []
    for (what, note), (first, *others) in alike.items():
        more = f" (and {len(others)} more)" if others else ""
        lines.append(textwrap.fill(f"{what}: {first}{more}: {note}", WIDTH,
                                   subsequent_indent="    "))
    return lines
