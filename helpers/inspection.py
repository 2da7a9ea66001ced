"""`helpers.inspect`: one launch inspected by nogpu, on every machine; its report can also draw."""

from __future__ import annotations

import functools
from typing import Any

from nogpu.inspect import Report as PlainReport
from nogpu.inspect import inspect as inspect_launch


class Report(PlainReport):
    """What `inspect` found. Print it, draw it, or read its attributes."""

    def draw(self, line: int | None = None, array: str | None = None, warps: int = 2,
             time: int = 0) -> None:
        """Draw which thread of the first warps touches which address, and print the same facts.

        The parameters are those of `access_pattern`.
        """
        from .draw.accesses import draw  # Matplotlib takes half a second

        if self.counts is None or not self.counts.samples:
            nothing = "nothing to draw, no access to memory was counted."
            print(self if self.fault is not None else f"{self.source.kernel}: {nothing}")
            return
        pattern = self.access_pattern(line, array, warps, time)
        draw(pattern)
        print(pattern)


@functools.wraps(inspect_launch)
def inspect(*args: Any, **options: Any) -> Report:
    return inspect_launch(*args, **{"report_type": Report, **options})
