"""Hooks that see what memory pools do."""

from __future__ import annotations

import threading

from nogpu import engine
from nogpu.faces import table


class _Local(threading.local):
    def __init__(self) -> None:
        self.hooks: dict[str, MemoryHook] = {}


class told:  # noqa: N801 -- used as a function; a generator would show in traces that hooks take
    """Tell this thread's hooks before a pool does something, and after, with what is known then."""

    def __init__(self, what: str, **about: int) -> None:
        self._what, self._about, self._hooks = what, about, _local.hooks.values()

    def __enter__(self) -> dict[str, int]:
        for hook in self._hooks:
            getattr(hook, f"{self._what}_preprocess")(**self._about)
        return self._about

    def __exit__(self, *error: object) -> None:
        for hook in self._hooks:
            getattr(hook, f"{self._what}_postprocess")(**self._about)


def get_memory_hooks() -> dict[str, MemoryHook]:
    """The hooks of this thread, by name."""
    return _local.hooks


class MemoryHook:
    """A context manager whose methods are called at what pools do within it.

    ``alloc_*`` is new memory from the device, ``malloc_*`` a block that is given out, ``free_*``
    a block that comes back.
    """

    name = "MemoryHook"

    def __enter__(self) -> MemoryHook:
        global _active
        if self.name in _local.hooks:
            raise KeyError(f"memory hook {self.name} already exists")
        _local.hooks[self.name] = self
        with _lock:
            _active += 1
        return self

    def __exit__(self, *args: object) -> None:
        global _active
        del _local.hooks[self.name]
        with _lock:
            _active -= 1


table.methods(MemoryHook, lambda name: table.nothing, """
alloc_preprocess(self, **kwargs: int) -> None: Before new memory: ``device_id``, ``mem_size``.
alloc_postprocess(self, **kwargs: int) -> None:
    After new memory: ``device_id``, ``mem_size``, ``mem_ptr``.
malloc_preprocess(self, **kwargs: int) -> None:
    Before a block: ``device_id``, ``size`` as asked, ``mem_size`` as rounded.
malloc_postprocess(self, **kwargs: int) -> None: After a block: also ``mem_ptr`` and ``pmem_id``.
free_preprocess(self, **kwargs: int) -> None:
    Before a block comes back: ``device_id``, ``mem_size``, ``mem_ptr``, ``pmem_id``.
free_postprocess(self, **kwargs: int) -> None: After a block came back.
""")
_local = _Local()
_active = 0  # hooks of all threads: pools look here first
_lock = engine.forking.held("hooks", threading.Lock())
