"""A hook that prints what pools do."""

from __future__ import annotations

import json
import sys
from typing import TextIO

from .. import memory_hook


class DebugPrintHook(memory_hook.MemoryHook):
    """Prints one line of JSON for each request, each new piece of memory, each block freed.

    Parameters
    ----------
    file : file, optional
        Standard output unless given.
    flush : bool
    """

    name = "DebugPrintHook"

    def __init__(self, file: TextIO | None = None, flush: bool = True) -> None:
        self.file, self.flush = file, flush

    def _print(self, hook: str, names: tuple[str, ...], values: dict[str, int]) -> None:
        line = {"hook": hook, **{name: values[name] for name in names}}
        print(json.dumps(line, separators=(",", ":")), file=self.file or sys.stdout,
              flush=self.flush)  # fmt: skip

    def alloc_postprocess(self, **kwargs: int) -> None:
        """New memory."""
        self._print("alloc", ("device_id", "mem_size", "mem_ptr"), kwargs)

    def malloc_postprocess(self, **kwargs: int) -> None:
        """A block given out."""
        self._print("malloc", ("device_id", "size", "mem_size", "mem_ptr", "pmem_id"), kwargs)

    def free_postprocess(self, **kwargs: int) -> None:
        """A block that came back."""
        self._print("free", ("device_id", "mem_size", "mem_ptr", "pmem_id"), kwargs)
