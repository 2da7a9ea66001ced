"""What is mutated: the code between the solution's marks, in a cell of a solution notebook."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
MARKED = re.compile(rf"(?P<slashes>//[ ]*)?{BEGIN}[^\n]*\n(?P<code>.*?)[ \t]*(?://[ ]*)?{END}",
                    re.DOTALL)


@dataclass(frozen=True)
class Region:
    """The code that a learner writes: `cell[start:end]`, in "Python" or in "CUDA"."""

    start: int
    end: int
    language: str


@dataclass(frozen=True)
class Change:
    """One text of a cell replaced, or several at once.

    Attributes
    ----------
    rule : str
        Which rule made it.
    edits : tuple of (start, end, text)
        In rising order, without overlap.
    """

    rule: str
    edits: tuple[tuple[int, int, str], ...]

    @classmethod
    def at(cls, rule: str, start: int, end: int, text: str) -> Change:
        return cls(rule, ((start, end, text),))


@dataclass(frozen=True)
class Mutant:
    """A solution's cell with one change.

    Attributes
    ----------
    rule, source : str
    line : str
        The solution's line where the change begins.
    before, after : str
        The changed text, and what took its place; of several edits the first.
    which : int
        1, or 2 for the second mutant of a task whose line and change read like the first's.
    """

    rule: str
    source: str
    line: str
    before: str
    after: str
    which: int = 1

    @property
    def name(self) -> str:
        """What a report calls it; no two mutants of a task have the same name."""
        alike = f" ({self.which})" if self.which > 1 else ""
        return f"{self.rule}: `{self.before}` -> `{self.after}` in `{self.line}`{alike}"


def regions(cell: str) -> Iterator[Region]:
    """The marked parts of a cell."""
    for found in MARKED.finditer(cell):
        language = "CUDA" if found["slashes"] else "Python"
        yield Region(*found.span("code"), language)


def mutants_of(cell: str, changes: Iterator[Change]) -> list[Mutant]:
    """The cells that changes make of `cell`, each text once and in the order of their places."""
    made: dict[str, Mutant] = {}
    alike: Counter[tuple[str, ...]] = Counter()
    for change in sorted(changes, key=lambda change: (change.edits[0][:2], change.rule)):
        source = cell
        for start, end, text in reversed(change.edits):
            source = source[:start] + text + source[end:]
        if source != cell and source not in made:
            start, end, text = change.edits[0]
            line = cell[cell.rfind("\n", 0, start) + 1:].split("\n", 1)[0]
            reads = (change.rule, _short(line), _short(cell[start:end]), _short(text))
            alike[reads] += 1
            made[source] = Mutant(reads[0], source, *reads[1:], alike[reads])
    return list(made.values())


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 90 else f"{text[:60]} ... {text[-25:]}"
