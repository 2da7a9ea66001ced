"""What is done about errors that the device reports."""

from __future__ import annotations

import contextlib
import threading

_own = threading.local()
_DEFAULT = {"divide": None, "linalg": "ignore", "fallback_mode": None}


def geterr() -> dict:
    """Return what is set."""
    return dict(getattr(_own, "settings", _DEFAULT))


def seterr(*, divide=None, linalg=None, fallback_mode=None) -> dict:
    """Set how errors are treated, but for ``divide``; return what was set before."""
    before = geterr()
    if divide is not None:
        raise NotImplementedError
    if linalg not in (None, "ignore", "raise"):
        raise NotImplementedError
    if fallback_mode not in (None, "print", "warn", "ignore", "raise"):
        raise NotImplementedError
    _own.settings = {
        "divide": divide,
        "linalg": before["linalg"] if linalg is None else linalg,
        "fallback_mode": fallback_mode or before["fallback_mode"],
    }
    return before


class errstate(contextlib.ContextDecorator):  # noqa: N801
    """Sets how errors are treated inside a ``with``."""

    def __init__(self, **how):
        self._how = how

    def __enter__(self):
        self._before = seterr(**self._how)

    def __exit__(self, *_):
        _own.settings = self._before
