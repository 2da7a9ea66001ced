"""What tuning found: a table, the best variant, its kernel."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ..timing import Ceiling, Comparison, Timing, with_unit
from .store import Memory
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
STATES = {
    "generate": "not generated",
    "compile": "does not compile",
    "launch": "cannot be launched",
    "fault": "faulty access",
    "endless": "does not end",
    "wrong": "wrong result",
    "untried": "not tried",
}


@dataclass(frozen=True)
class Variant:
    """One point of the grid.

    Attributes
    ----------
    parameters : dict
        What the generator was called with.
    state : str
        "ok", or what it failed at: "generate", "compile", "launch", "fault", "endless", "wrong";
        "untried" where an earlier variant ended the search.
    note : str
        Why it failed.
    timing : Timing or None
        On a GPU: seconds of a launch.
    counts : dict or None
        On the simulator: what a launch asks of memory.
    remembered : bool
        Whether this was read from disk.
    """

    parameters: dict
    state: str
    note: str = ""
    timing: Timing | None = None
    counts: dict[str, int] | None = None
    remembered: bool = False
    generated: Generated | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """The parameters as text."""
        return label(self.parameters)

    @property
    def cost(self) -> tuple[float, ...]:
        """What it is ranked by: seconds, or on the simulator the counters in their order."""
        if self.timing is not None:
            return (self.timing.median,)
        counts = self.counts or {}
        return tuple(sum(counts.get(name, 0) for name in names) for names in ORDER.values())


def label(parameters: Mapping) -> str:
    """`{"block": 128}` as "block=128"."""
    return ", ".join(f"{name}={value}" for name, value in parameters.items())


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
        The same search on GPUs, recorded.
    stopped : str
        Why the search ended before its time, if it did.
    """

    title: str
    variants: tuple[Variant, ...]
    simulated: bool
    library: str
    machine: str
    nbytes: float = 0
    flops: float = 0
    ceiling: Ceiling | None = None
    recorded: tuple[Comparison, ...] = ()
    stopped: str = ""
    _memory: Memory | None = field(default=None, repr=False)

    @property
    def ranked(self) -> list[Variant]:
        """The variants with right results, the best first; equal ones in the grid's order."""
        return sorted((v for v in self.variants if v.state == "ok"), key=lambda v: v.cost)

    @property
    def failed(self) -> list[Variant]:
        """The others, in the grid's order."""
        return [v for v in self.variants if v.state != "ok"]

    @property
    def best(self) -> dict:
        """The parameters of the best variant."""
        return dict(self.ranked[0].parameters)

    @cached_property
    def kernel(self) -> Tuned:
        """The best variant, compiled: call it with the kernel's arguments on the device."""
        return Tuned(self.ranked[0].generated, self.library)

    @property
    def remembered(self) -> int:
        """How many variants were read from disk."""
        return sum(v.remembered for v in self.variants)

    @property
    def measured(self) -> int:
        """How many were tried now."""
        return sum(not v.remembered and v.state not in ("generate", "untried")
                   for v in self.variants)

    def __getitem__(self, parameters: Mapping) -> Variant:
        for variant in self.variants:
            if variant.parameters == dict(parameters):
                return variant
        raise KeyError(f"no variant has {label(parameters)}")

    def forget(self) -> None:
        """Delete what is remembered of this search; the next one measures everything."""
        self._memory.forget()

    def heatmap(self, x: str | None = None, y: str | None = None) -> None:
        """Draw the variants by two of the parameters; see `helpers.draw.heatmap`."""
        from ..draw import heatmap

        heatmap(self, x, y)

    # ---- the table ---------------------------------------------------------------------------

    def __repr__(self) -> str:
        return self.table()

    def table(self, rows: int | None = SHOWN) -> str:
        """The heading, the best `rows` variants (None: all), and those that failed."""
        ranked = self.ranked
        shown = ranked[:rows]
        columns = [self._ranks(shown), *self._parameters(shown)]
        columns += self._counters(shown) if self.simulated else self._times(shown)
        columns += [self._recorded(run, shown) for run in self.recorded]
        widths = [max(map(len, column)) for column in columns]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths))
                 for line in zip(*columns)] if shown else []
        if len(shown) < len(ranked):
            lines.append(f"... and {len(ranked) - len(shown)} more")
        return "\n".join([*self._heading(), *lines, *self._best_recorded(), *self._failures()])

    def _heading(self) -> list[str]:
        right = len(self.ranked)
        lines = [f"{self.title}: {len(self.variants)} variants, {right} with right results"]
        lines.append(self.machine)
        if self.simulated:
            lines.append("Not by time: ranked by what a launch asks of memory, in the order")
            lines.append(", ".join(ORDER) + "; equal ones share a rank.")
        elif right:
            first, *others = [v.timing for v in self.ranked]
            alike = sum(other.low <= first.high for other in others)
            if alike:
                verb = "is" if alike == 1 else "are"
                lines.append(f"{alike} of the others {verb} as fast as the best: the middle halves"
                             " of their times overlap.")
        return lines

    def _ranks(self, shown: Sequence[Variant]) -> list[str]:
        return ["rank", *map(str, _ranks([v.cost for v in shown]))]

    def _parameters(self, shown: Sequence[Variant]) -> list[list[str]]:
        names = list(self.variants[0].parameters)
        return [[name, *(str(v.parameters[name]) or "''" for v in shown)] for name in names]

    def _times(self, shown: Sequence[Variant]) -> list[list[str]]:
        def column(head: str, text: Callable[[Timing], str]) -> list[str]:
            return [head, *(text(v.timing) for v in shown)]

        columns = [
            column("measured", lambda t: with_unit(t.median, "s")),
            column("middle half", lambda t: f"{with_unit(t.low, 's')} to {with_unit(t.high, 's')}"),
        ]
        if self.nbytes:
            columns.append(column("bytes/s", lambda t: with_unit(self.nbytes / t.median, "B/s")))
        if self.ceiling is not None:
            least = self.ceiling.least(self.nbytes, self.flops)
            columns.append(column("share", lambda t: f"{least / t.median:.0%}"))
        return columns

    def _counters(self, shown: Sequence[Variant]) -> list[list[str]]:
        columns = []
        for k, name in enumerate(ORDER):
            if k == 0 or any(v.cost[k] for v in self.ranked):
                columns.append([name, *(f"{v.cost[k]:,}" for v in shown)])
        return columns

    def _recorded(self, run: Comparison, shown: Sequence[Variant]) -> list[str]:
        times = {row.name: row.median for row in run.rows}
        ranks = dict(zip(times, _ranks(list(times.values()))))
        cells = [f"{with_unit(times[v.name], 's')}, rank {ranks[v.name]:>{len(str(len(times)))}}"
                 if v.name in times else "-" for v in shown]
        return [_gpu(run) + ", recorded", *cells]

    def _best_recorded(self) -> list[str]:
        lines = []
        for run in self.recorded:
            best = min(run.rows, key=lambda row: row.median)
            share = run.ceiling.least(best.nbytes, best.flops) / best.median
            text = f"{_gpu(run)}, recorded: the best of {len(run.rows)} is {best.name} with"
            text += f" {with_unit(best.median, 's')}"
            text += f", share {share:.0%}." if share else "."
            lines.append(textwrap.fill(text, WIDTH, subsequent_indent="    "))
        return lines

    def _failures(self) -> list[str]:
        groups: dict[tuple[str, str], list[Variant]] = {}
        for variant in self.failed:
            if variant.state != "untried":
                groups.setdefault((variant.state, variant.note), []).append(variant)
        lines = []
        for (state, note), members in groups.items():
            others = f" (and {len(members) - 1} more)" if len(members) > 1 else ""
            text = f"{STATES[state]}: {members[0].name}{others}: {note}"
            lines.append(textwrap.fill(text, WIDTH, subsequent_indent="    "))
        if self.stopped:
            lines.append(textwrap.fill(self.stopped, WIDTH))
        return lines


def _gpu(run: Comparison) -> str:
    return run.machine.removeprefix("Recorded on ").split(" (")[0]


def _ranks(costs: Sequence) -> list[int]:
    """1 for the smallest; equal ones get the same."""
    order = sorted(costs)
    return [order.index(cost) + 1 for cost in costs]
