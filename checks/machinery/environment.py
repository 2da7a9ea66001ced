"""Failures of the machine, told from mistakes of an answer.

Without a compiler, with a full disk or without memory no answer can be judged. A check then prints
`[unchecked]` with the remedy, and says nothing about the answer.
"""

from __future__ import annotations

import errno
import os
import re
import sysconfig
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import helpers
import nogpu
from nogpu import engine

# Whose code the machine's failures come from, and code that raises them for whoever calls it.
OURS = tuple(str(path) + os.sep for path in (
    Path(__file__).parent.parent, Path(helpers.__file__).parent, Path(nogpu.__file__).parent))
LIBRARY, NUMPY = (sysconfig.get_path("stdlib"), "<frozen"), str(Path(np.__file__).parent)
PACKAGES = sysconfig.get_path("purelib"), sysconfig.get_path("platlib")
RESTART = "then restart the notebook's kernel."


class Cause(NamedTuple):
    """One way in which a machine keeps checks from judging, and what helps."""

    numbers: set[int]  # `errno` of an OSError
    types: tuple[type[Exception], ...]
    words: str  # a pattern in a line of the error's text, or of what the compiler said
    remedy: str  # what is wrong and what to do; {install} is the command for a compiler


# The first that fits counts.
CAUSES = (
    Cause({errno.ENOSPC, errno.EDQUOT}, (),
          r": (No space left on device|Disk quota exceeded)([.;)]|$)|NoSpaceLeft",
          "a disk is full. Make room in {folders}, or let the environment variables TMPDIR and"
          " NOGPU_CACHE_DIR name folders with room, " + RESTART),
    Cause({errno.EROFS, errno.EACCES, errno.EPERM}, (),
          r"No usable temporary directory|no folder for compiled kernels can be written"
          r"|: (Read-only file system|Permission denied)([.;)]|$)",
          "a folder cannot be written. Let the environment variables TMPDIR and NOGPU_CACHE_DIR"
          " name folders that you may write to (now {folders}), " + RESTART),
    Cause({errno.ENOMEM, errno.EAGAIN, errno.EMFILE, errno.ENFILE}, (MemoryError,),
          r"virtual memory exhausted|: Cannot allocate memory|out of memory allocating"
          r"|Killed signal terminated program|grants no address space",
          "the machine has no memory left for it. Shut other notebooks down, then run the cell"
          " again."),
    Cause(set(), (engine.CompilerNotFound,), r"C\+\+ compiler, and there is none",
          "no C++ compiler is here. Install one: {install}, " + RESTART),
    Cause(set(), (), r"No module named 'elftools|the package pyelftools",
          "the package pyelftools is missing. Install it: python -m pip install pyelftools, "
          + RESTART),
    Cause(set(), (), r"cannot execute\b|posix_spawn|error trying to exec|installation problem",
          "the C++ compiler does not work: {error}. Install it again: {install}, " + RESTART),
    Cause(set(), (engine.RuntimeUnavailable, engine.LoadError), "", "{error}."),
)


class Hindrance(BaseException):
    """The machine keeps a check from judging; the text says how and what helps.

    No Exception, since code that turns an answer's errors into verdicts must not catch it.
    """


def hindrance_in(error: BaseException) -> str | None:
    """What keeps the machine from judging, with its remedy; None for an error of the answer's.

    An error that the answer raises itself, or a library for it, is the answer's. The machine's
    come from nogpu, from the helpers or from the checks.
    """
    for one in _chain(error):
        if not _comes_from_us(one):
            continue
        text = f"{one}\n{getattr(one, 'log', '')}"
        lines = [line for line in text.splitlines() if "#error" not in line]
        for cause in CAUSES:
            if (getattr(one, "errno", None) in cause.numbers or isinstance(one, cause.types)
                    or cause.words and any(re.search(cause.words, line) for line in lines)):
                return cause.remedy.format(error=lines[0].rstrip("."), folders=_folders(),
                                           install=engine.compiler.install_line())
    return None


def stop_if_hindered(error: BaseException) -> None:
    """Raise `Hindrance` where an error is the machine's."""
    if sentence := hindrance_in(error):
        raise Hindrance(sentence) from error


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error and those that led to it, the earliest first."""
    seen = []
    while error is not None and error not in seen:
        seen.append(error)
        error = error.__cause__ or error.__context__
    return reversed(seen)


def _comes_from_us(error: BaseException) -> bool:
    """Whether our code raised an error, or a library that our code called.

    Memory may run out because the answer asks for too much. So a MemoryError is ours only where
    no code of the answer's was running, and the simulated device's only where it had room.
    """
    if isinstance(error, engine.OutOfMemory):
        return error.requested + error.used <= error.capacity
    files = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
    files = [file for file in files if not file.startswith(NUMPY) and (
        file.startswith(PACKAGES) or not file.startswith(LIBRARY))]
    if isinstance(error, MemoryError):
        return all(file.startswith(OURS) for file in files)
    return bool(files) and files[-1].startswith(OURS)


def _folders() -> str:
    """The folders that compiling a kernel writes to."""
    try:
        return f"{os.environ.get('TMPDIR') or tempfile.gettempdir()} and {engine.cache.directory()}"
    except (OSError, engine.EngineError):
        return "none is there"
