"""Marks for tools that draw when a program did what. No such tool listens here: they do nothing."""

from __future__ import annotations

from nogpu.faces import table

available = True


def get_build_version() -> int:
    """The version of NVTX."""
    return 3


table.functions(globals(), lambda name: table.nothing, """
MarkC(message: str, color: int = 0) -> None: Mark a moment, with a colour (ARGB).
Mark(message: str, id_color: int = -1) -> None: Mark a moment, with the number of a colour.
RangePushC(message: str, color: int = 0) -> None: Begin a range, with a colour (ARGB).
RangePush(message: str, id_color: int = -1) -> None: Begin a range, with the number of a colour.
RangePop() -> None: End the range that began last.
""")
