"""Pieces of work with their times, and what can be said of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..formats import aligned, with_unit

IN, KERNEL, OUT, HOST = "copy in", "kernel", "copy out", "host function"
# The kinds of work, each with the word for several pieces of it.
KINDS = {IN: "copies in", KERNEL: "kernels", OUT: "copies out", HOST: "host functions"}
DEFAULT = "default stream"
LEAST = 1e-6  # seconds: what two clocks' readings may differ by


@dataclass(frozen=True)
class Span:
    """One piece of work: a copy, a kernel or a call of a host function.

    Attributes
    ----------
    stream : str
        "stream 1", "stream 2", ... or "default stream".
    kind : str
        `IN` (host to device), `OUT` (device to host), `KERNEL` (all that works inside the device's
        memory) or `HOST`.
    name : str
        The kernel's name; for copies the kind.
    start, end : float
        Seconds since the block began.
    nbytes : int
        Bytes copied, 0 for others.
    """

    stream: str
    kind: str
    name: str
    start: float
    end: float
    nbytes: int = 0


@dataclass
class Timeline:
    """What ran on each stream. `print` shows a table, `draw.timeline` a picture.

    Attributes
    ----------
    spans : tuple of Span
        By their start.
    returned : float
        Seconds until Python had run through the block; the device may have gone on.
    calls : tuple of (float, float)
        Seconds of the start and end of Python's calls that queue work, copy or wait. Between them,
        Python ran the program's own code.
    recorded : tuple of Timeline
        The same block on other machines.
    """

    title: str
    machine: str
    spans: tuple[Span, ...]
    returned: float = 0.0
    recorded: tuple[Timeline, ...] = field(default=(), repr=False)
    calls: tuple[tuple[float, float], ...] = field(default=(), repr=False)
    begin: float = field(default=0.0, repr=False)  # by the host's clock

    @property
    def streams(self) -> list[str]:
        """The streams that had work: the default stream, then the numbered ones."""
        return sorted({span.stream for span in self.spans},
                      key=lambda name: 0 if name == DEFAULT else int(name.split()[-1]))

    @property
    def kinds(self) -> dict[str, str]:
        """The kinds of work that there may be, each with the word for several pieces of it."""
        return KINDS

    def of(self, *kinds: str) -> list[Span]:
        """The pieces of these kinds, of all kinds where none is given."""
        return [span for span in self.spans if not kinds or span.kind in kinds]

    @property
    def seconds(self) -> float:
        """From the beginning of the block to the end of the last piece."""
        return max((span.end for span in self.spans), default=0.0)

    @property
    def calling(self) -> float:
        """Seconds in which Python was in a call that queues, copies or waits."""
        return sum(end - start for start, end in self.calls)

    def busy(self, *kinds: str) -> float:
        """Seconds in which at least one piece of these kinds ran."""
        return _length(self.of(*kinds))

    @property
    def least(self) -> float:
        """For how long the busiest unit works: all copies in, all kernels or all copies out."""
        return max(self.busy(kind) for kind in (IN, KERNEL, OUT))

    @property
    def beside(self) -> float:
        """Seconds in which a copy ran beside a kernel."""
        seconds = self.busy(KERNEL) + self.busy(IN, OUT) - self.busy(IN, KERNEL, OUT)
        return seconds if seconds > LEAST else 0.0

    def __repr__(self) -> str:
        return "\n\n".join(run.table() for run in (self, *self.recorded))

    def table(self) -> str:
        """This run alone, without recorded ones."""
        head = f"{self.title}, {self.machine}" if self.title else self.machine
        if not self.spans:
            return f"{head}: nothing ran on a stream"
        cells = [("", "pieces", "bytes", "busy", "share", "rate")]
        for kind, several in KINDS.items():
            spans, busy = self.of(kind), self.busy(kind)
            nbytes = sum(span.nbytes for span in spans)
            if spans:
                cells.append((several, str(len(spans)),
                              with_unit(nbytes, "B") if nbytes else "-", with_unit(busy, "s"),
                              f"{busy / self.seconds:.0%}",
                              with_unit(nbytes / busy, "B/s") if nbytes and busy else "-"))
        lines = [f"{head}: {with_unit(self.seconds, 's')}; busiest unit"
                 f" {with_unit(self.least, 's')}, {self.least / self.seconds:.0%} of it"]
        lines += aligned(cells)
        lines += [f"a copy beside a kernel for {with_unit(self.beside, 's')}",
                  f"Python was through after {with_unit(self.returned, 's')}:"
                  f" {with_unit(self.calling, 's')} in calls that queue, copy or wait"]
        return "\n".join(lines)


def _length(spans: Iterable[Span]) -> float:
    """Seconds covered by at least one of the spans."""
    total, until = 0.0, float("-inf")
    for span in sorted(spans, key=lambda span: span.start):
        total += max(0.0, span.end - max(span.start, until))
        until = max(until, span.end)
    return total
