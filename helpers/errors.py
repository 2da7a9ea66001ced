"""Errors that a lesson provokes on purpose, shown without a traceback; what compilers say."""

from __future__ import annotations

import re
from types import TracebackType
from typing import NamedTuple

PATH = re.compile(r"(?:[A-Za-z]:)?(?:[\\/][^\s\\/:'\"]+)+[\\/]([^\s\\/:'\"]+)")

# As nvcc and NVRTC write it, and as the host's compilers do.
COMPILER_ERRORS = (
    re.compile(r"(\S*)\((\d+)\): (?:catastrophic )?error: ([^\n]*)"),
    re.compile(r"(\S*?):(\d+):(?:\d+:)? (?:fatal )?error: ([^\n]*)"),
)


class CompilerError(NamedTuple):
    """One error of a compiler's log: the file's name, the line, the sentence."""

    file: str
    line: int
    text: str


def find_compiler_error(log: str) -> CompilerError | None:
    """The first error in a compiler's log; None where it has none of a known form."""
    for pattern in COMPILER_ERRORS:
        if found := pattern.search(log):
            return CompilerError(found[1], int(found[2]), found[3].strip())
    return None


def message(error: BaseException) -> str:
    """`Type: text` of an error, every path in it cut to the file's name."""
    text = PATH.sub(r"\1", str(error)).strip()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


class show_error:
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

    # A class, because contextlib leaves the error in a cycle with its traceback from Python 3.12
    # on: what the failing functions hold, memory of a GPU for example, then stays for a while.

    def __init__(self, *expected: type[BaseException]) -> None:
        self._shown = expected or (Exception,)

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> bool:
        if error is None:
            raise AssertionError("This block was expected to raise an error, and it did not.")
        if not isinstance(error, self._shown):
            return False
        print(message(error))
        return True
