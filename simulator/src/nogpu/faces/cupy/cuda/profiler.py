"""Marks for a profiler: none listens here."""

from __future__ import annotations

from cupy_backends.cuda.api import runtime

from nogpu.faces import table

table.functions(globals(), lambda name: getattr(runtime, f"profiler{name.title()}"), """
start() -> None: Let a profiler begin.
stop() -> None: Let a profiler stop.
""")
