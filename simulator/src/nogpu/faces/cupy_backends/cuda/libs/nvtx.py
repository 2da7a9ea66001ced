"""Marks for tools that draw when a program did what. No such tool listens here: they do nothing.

Ranges of a thread are counted, as in the real library each push needs its pop.
"""

from __future__ import annotations

import threading

from nogpu.faces import table

available = True
_local = threading.local()


def get_build_version() -> int:
    """The version of NVTX."""
    return 3


def _push(*mark: object) -> None:
    _local.depth = getattr(_local, "depth", 0) + 1


table.functions(globals(), lambda name: _push if "Push" in name else table.nothing, """
MarkC(message: str, color: int = 0) -> None: Mark a moment, with a colour (ARGB).
Mark(message: str, id_color: int = -1) -> None: Mark a moment, with the number of a colour.
RangePushC(message: str, color: int = 0) -> None: Begin a range, with a colour (ARGB).
RangePush(message: str, id_color: int = -1) -> None: Begin a range, with the number of a colour.
""")


def RangePop() -> None:
    """End the range that began last."""
    _local.depth = max(0, getattr(_local, "depth", 0) - 1)
