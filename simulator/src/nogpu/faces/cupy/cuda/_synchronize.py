"""Forbidding what waits for the device."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

_local = threading.local()


class DeviceSynchronized(RuntimeError):
    """Something waited for the device where `allow_synchronize(False)` forbids it."""

    def __init__(self, message: str = "Device synchronize is prohibited") -> None:
        super().__init__(message)


def _is_allowed() -> bool:
    return getattr(_local, "allowed", True)


def _declare_synchronize() -> None:
    """Called by what waits for the device."""
    if not _is_allowed():
        raise DeviceSynchronized()


@contextlib.contextmanager
def allow_synchronize(allow: bool) -> Iterator[None]:
    """Allow or forbid, within a block, what waits for the device."""
    before = _is_allowed()
    _local.allowed = bool(allow)
    try:
        yield
    finally:
        _local.allowed = before
