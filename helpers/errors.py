"""Errors that a lesson provokes on purpose, shown without a traceback."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

PATH = re.compile(r"(?:[A-Za-z]:)?(?:[\\/][^\s\\/:'\"]+)+[\\/]([^\s\\/:'\"]+)")


def message(error: BaseException) -> str:
    """`Type: text` of an error, every path in it cut to the file's name."""
    text = PATH.sub(r"\1", str(error)).strip()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


@contextmanager
def show_error(*expected: type[BaseException]) -> Iterator[None]:
    """Run a block that must fail, and print `Type: message` of its error.

    Parameters
    ----------
    expected : exception types
        Which errors to show; any `Exception` when none is named. Others pass through.

    Raises
    ------
    AssertionError
        If the block does not fail: a lesson that announces an error must produce it.

    Examples
    --------
    >>> with show_error():
    ...     [1, 2][2]
    IndexError: list index out of range
    """
    shown = expected or (Exception,)
    try:
        yield
    except shown as error:
        print(message(error))
    else:
        raise AssertionError("This block was expected to raise an error, and it did not.")
