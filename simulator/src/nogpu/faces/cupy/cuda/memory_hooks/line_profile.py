"""A hook that counts memory by the line of Python that asked for it."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import TextIO

from .. import memory_hook

_OWN = str(Path(__file__).parents[2])


class _Frame:
    """A line of the call tree, with what it and its callees asked for."""

    def __init__(self, where: str) -> None:
        self.where, self.used, self.acquired = where, 0, 0
        self.children: dict[str, _Frame] = {}


def _size(nbytes: int) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if nbytes < 1024 or unit == "GB":
            return f"{nbytes:.2f}{unit}"
        nbytes /= 1024
    return ""


class LineProfileHook(memory_hook.MemoryHook):
    """Counts the bytes asked of pools, and those that these asked of the device, by line."""

    name = "LineProfileHook"

    def __init__(self, max_depth: int = 0) -> None:
        self._root, self._max_depth = _Frame("_root"), max_depth

    def _add(self, used: int, acquired: int) -> None:
        frames = [frame for frame in traceback.extract_stack()
                  if not frame.filename.startswith(_OWN)]  # fmt: skip
        node = self._root
        node.used, node.acquired = node.used + used, node.acquired + acquired
        for frame in frames[-self._max_depth:] if self._max_depth else frames:
            where = f"{frame.filename}:{frame.lineno}:{frame.name}"
            node = node.children.setdefault(where, _Frame(where))
            node.used, node.acquired = node.used + used, node.acquired + acquired

    def malloc_preprocess(self, **kwargs: int) -> None:
        """A request."""
        self._add(kwargs["mem_size"], 0)

    def alloc_preprocess(self, **kwargs: int) -> None:
        """New memory."""
        self._add(0, kwargs["mem_size"])

    def print_report(self, file: TextIO | None = None) -> None:
        """Print the tree of lines, each with its (used, acquired) bytes."""
        file = file or sys.stdout

        def show(node: _Frame, depth: int) -> None:
            print(f"{'  ' * depth}{node.where} ({_size(node.used)}, {_size(node.acquired)})",
                  file=file)  # fmt: skip
            for child in node.children.values():
                show(child, depth + 1)

        show(self._root, 0)
