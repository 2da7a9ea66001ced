"""What the other modules of this folder use: two folders, lines for the learner, files, a lock."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The learner's folder: `make lab WORK=...` or the variable COURSE_WORK names another one.
NAMED_WORK = os.environ.get("COURSE_WORK")
WORK = Path(os.path.abspath(os.path.expanduser(NAMED_WORK))) if NAMED_WORK else ROOT / "work"

PART = ".course-part"  # what a file's name ends with while it is written


class Problem(Exception):
    """An error whose text is one line for the learner: the cause and what to do."""


def say(line: str) -> None:
    """Print one line at once."""
    print(line, flush=True)


def shown(path: Path) -> str:
    """A path as the learner reads it: from the course's folder, where it is in there."""
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


def is_writable(folder: Path) -> bool:
    """Whether files can be made in `folder`, or in the first folder above it that exists."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return os.access(folder, os.W_OK)


def put(path: Path, content: bytes, *, replace: bool = False) -> None:
    """Write a file completely or not at all.

    Raises
    ------
    FileExistsError
        Where a file exists and `replace` is false.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}{PART}")
    try:
        with open(part, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            os.replace(part, path)
            return
        try:
            os.link(part, path)  # unlike a renaming it never replaces a file
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS):
                raise
            # A disk without hard links.
            if os.path.lexists(path):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
            os.rename(part, path)
    finally:
        part.unlink(missing_ok=True)


def put_free(path: Path, content: bytes, word: str = "") -> Path:
    """Write a file under a name that is free; return its path.

    The name is that of `path` or else has `word` and a number behind it. Where a file of one of
    these names has the same content already, that file's path is returned.
    """
    for k in count():
        ending = f"{'_' * bool(word)}{word}" * (k > 0) + f"_{k}" * (k > 1)
        free = path.with_name(f"{path.stem}{ending}{path.suffix}")
        try:
            put(free, content)
        except FileExistsError:
            if not free.is_file() or free.read_bytes() != content:
                continue
        return free
    raise AssertionError("count() does not end")


@contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Wait while another `make` changes files in `folder`."""
    lock = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"Another make is changing {folder}: waiting until it has finished.")
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError:
            pass  # Some network disks have no locks. Then the learner has to run one at a time.
        yield
    finally:
        os.close(lock)


def explain(error: OSError) -> str:
    """One line with the cause and what to do, for an error with a file of the course."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return disk_is_full()
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return not_writable()
    return f"{error.strerror}: {error.filename}. Correct this and run it again."


def tells_of_full_disk(output: str) -> bool:
    """Whether a program's output says that the disk is full. git has words of its own for it."""
    return any(words in output for words in (
        "No space left on device", "Disk quota exceeded", "Out of diskspace",
        "unable to write file"))


def disk_is_full() -> str:
    """The line that explains a full disk."""
    folders = dict.fromkeys([str(ROOT), str(WORK), tempfile.gettempdir()])
    left = ", ".join(f"{one} has {free(one)} left" for one in folders if os.path.isdir(one))
    return (
        f"The disk is full: {left}; the course needs 700 MB (with a GPU 6 GB). "
        "Free some space and run this again."
    )


def free(folder: str | Path) -> str:
    """The space left in `folder`, in words."""
    return f"{shutil.disk_usage(folder).free / 1e6:.0f} MB"


def not_writable() -> str:
    """The line that explains a folder in which nothing can be written."""
    folder = WORK if is_writable(ROOT) or NAMED_WORK else ROOT
    return f"{folder} is not writable: name a folder of your own, make lab WORK=~/my-course"
