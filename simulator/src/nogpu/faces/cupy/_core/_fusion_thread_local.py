"""Whether this thread runs a function that is being fused, and what its operations do then."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable


class _Local(threading.local):
    fusing = False
    interpreter: Callable  # calls a function with what proxies stand for; set while fusing


thread_local = _Local()


def call(function: Callable, *args: object, **kwargs: object) -> object:
    """Call with what the proxies stand for; the results are proxies again."""
    return thread_local.interpreter(function, args, kwargs)


def fusable(function: Callable) -> Callable:
    """Let a routine take the proxies that a fused function works on."""

    @functools.wraps(function)
    def routine(*args: object, **kwargs: object) -> object:
        if thread_local.fusing:
            return call(function, *args, **kwargs)
        return function(*args, **kwargs)

    return routine
