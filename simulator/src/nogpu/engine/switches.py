"""Which faults are looked for: all of them, unless told otherwise.

The switches belong to the context of the caller (`contextvars`): a thread that is started begins
with all checks on, whatever other threads have switched off, and an asyncio task begins with a
copy of the switches of the code that creates it.
"""

from __future__ import annotations

import contextlib
import re
from contextvars import ContextVar

from .records import CheckBits

# A check's name and its bit: the runtime's GlobalBounds is "global_bounds" here.
NAMES = {re.sub(r"\B([A-Z])", r"_\1", bit.name).lower(): int(bit) for bit in CheckBits}
ALL = sum(NAMES.values())
_enabled: ContextVar[int] = ContextVar("nogpu_checks", default=ALL)


def enabled() -> int:
    """The checks that are on in this context, as the sum of their bits."""
    return _enabled.get()


def active() -> list[str]:
    """Names of the checks that are on in this context."""
    return [name for name, bit in NAMES.items() if _enabled.get() & bit]


class _Switch(contextlib.AbstractContextManager):
    """Switched when it was made; as a context manager it switches back at the end."""

    def __init__(self, everything: bool | None, named: dict[str, bool]) -> None:
        for name in named:
            if name not in NAMES:
                raise ValueError(f"no check is called {name!r}; there are {', '.join(NAMES)}")
        self._everything, self._named = everything, named
        self._entered = False
        self._before: list[int] = []
        self._switch()

    def _switch(self) -> None:
        self._before.append(_enabled.get())
        state = _enabled.get()
        if self._everything is not None:
            state = ALL if self._everything else 0
        for name, on in self._named.items():
            state = state | NAMES[name] if on else state & ~NAMES[name]
        _enabled.set(state)

    def __enter__(self) -> _Switch:
        if self._entered:  # entered again: the first time it was switched already
            self._switch()
        self._entered = True
        return self

    def __exit__(self, *exception: object) -> None:
        _enabled.set(self._before.pop())


def checks(everything: bool | None = None, /, **named: bool) -> _Switch:
    """Turn checks on or off in this context, for good or for the length of a ``with`` block.

    Parameters
    ----------
    everything : bool, optional
        All of them first.
    **named : bool
        ``global_bounds``, ``shared_bounds``, ``use_after_free``, ``misaligned``,
        ``uninitialised``, ``race``, ``barrier``, ``division``, ``order`` (of streams).

    Raises
    ------
    ValueError
        For a name that no check has.

    Notes
    -----
    A kernel runs with the checks that are on where it is launched, however late its stream comes
    to it; a kernel of a graph with those that were on where it was recorded. Other threads are
    not affected, and a thread that is started begins with all checks on; start its work with
    `contextvars.copy_context` to pass the switches on. In Jupyter a switch for good holds for the
    cells that follow, unless its own cell uses ``await``.

    Without any check kernels run uninstrumented, several times faster. Null pointers, stack
    overflow and other signals are caught always: the process could not go on otherwise.

    Examples
    --------
    >>> with checks(race=False):
    ...     pass
    """
    return _Switch(everything, named)
