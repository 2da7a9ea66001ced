"""A hook that prints what pools do."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import TextIO

from nogpu.faces import table

from .. import memory_hook


class DebugPrintHook(memory_hook.MemoryHook):
    """Prints one line of JSON for each request, each new piece of memory, each block freed."""

    name = "DebugPrintHook"

    def __init__(self, file: TextIO | None = None, flush: bool = True) -> None:
        self.file, self.flush = file, flush


def _printer(name: str) -> Callable:
    hook = name.partition("_")[0]
    shown = {"alloc": ("device_id", "mem_size", "mem_ptr"),
             "malloc": ("device_id", "size", "mem_size", "mem_ptr", "pmem_id"),
             "free": ("device_id", "mem_size", "mem_ptr", "pmem_id")}[hook]  # fmt: skip

    def show(self: DebugPrintHook, **values: int) -> None:
        line = {"hook": hook, **{name: values[name] for name in shown}}
        line |= {name: hex(line[name]) for name in shown if name == "pmem_id"}
        print(json.dumps(line, separators=(",", ":")), file=self.file or sys.stdout,
              flush=self.flush)  # fmt: skip

    return show


table.methods(DebugPrintHook, _printer, """
alloc_postprocess(self, **kwargs: int) -> None: New memory.
malloc_postprocess(self, **kwargs: int) -> None: A block given out.
free_postprocess(self, **kwargs: int) -> None: A block that came back.
""")
