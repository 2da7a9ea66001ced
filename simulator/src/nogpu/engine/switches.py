"""Which faults are looked for: all of them, unless told otherwise."""

from __future__ import annotations

import contextlib
import re

from .records import CheckBits

# A check's name and its bit: the runtime's GlobalBounds is "global_bounds" here.
NAMES = {re.sub(r"\B([A-Z])", r"_\1", bit.name).lower(): int(bit) for bit in CheckBits}
ALL = sum(NAMES.values())
_state = ALL


def enabled() -> int:
    """The checks that are on, as the sum of their bits."""
    return _state


def active() -> list[str]:
    """Names of the checks that are on."""
    return [name for name, bit in NAMES.items() if _state & bit]


def _new_state(everything: bool | None, named: dict[str, bool]) -> int:
    state = _state if everything is None else (ALL if everything else 0)
    for name, on in named.items():
        if name not in NAMES:
            raise ValueError(f"no check is called {name!r}; there are {', '.join(NAMES)}")
        state = state | NAMES[name] if on else state & ~NAMES[name]
    return state


class _Switch(contextlib.AbstractContextManager):
    """Already switched; as a context manager it switches back at the end."""

    def __init__(self, before: int) -> None:
        self._before = before

    def __exit__(self, *exception: object) -> None:
        global _state
        _state = self._before


def checks(everything: bool | None = None, /, **named: bool) -> _Switch:
    """Turn checks on or off, for good or for the length of a ``with`` block.

    Parameters
    ----------
    everything : bool, optional
        All of them first.
    **named : bool
        ``global_bounds``, ``shared_bounds``, ``use_after_free``, ``misaligned``,
        ``uninitialised``, ``race``, ``barrier``, ``division``.

    Notes
    -----
    Without any check kernels run uninstrumented, ten times faster or more. Null pointers, stack
    overflow and other signals are caught always: the process could not go on otherwise.

    Examples
    --------
    >>> with checks(race=False):
    ...     pass
    """
    global _state
    state = _new_state(everything, named)
    switch = _Switch(_state)
    _state = state
    return switch
