"""Compiled kernels on disk: one file per entry, complete or not there at all.

An entry holds a description (JSON) and the library, with a digest over both and over the entry's
own name. It is written aside and renamed, so two processes that compile the same source at once
both end with a whole entry, and whatever is damaged fails its digest and is compiled again.

The libraries are loaded into the process, so nobody else may be able to put one here. The folder
must belong to the user, and no other user may be able to write to it; the same holds for each
entry, which is never read through a symbolic link. A folder that fails is passed over with a
warning. The digest has no secret key: it would have to lie beside the entries, where everybody
who can write an entry in the user's name can read it as well.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import grp
import hashlib
import json
import os
import pwd
import re
import secrets
import shutil
import stat
import struct
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

from .errors import EngineError

_MAGIC = b"nogpu02\n"
_HEADER = struct.Struct("<8s32sQ")
_ENTRY = re.compile(r"[0-9a-f]{64}\.bin")
_LIMIT_BYTES = 256 * 2**20
_stores = 0
_warned: set[str] = set()
_private: str | None = None  # a folder of this process alone, where no other is to be had


class _Refused(Exception):
    """Why a folder is passed over.

    Attributes
    ----------
    unsafe : bool
        Whether somebody else could have put something there.
    """

    def __init__(self, reason: str, unsafe: bool) -> None:
        super().__init__(reason)
        self.unsafe = unsafe


def directory() -> Path:
    """The cache's folder, made if need be.

    ``NOGPU_CACHE_DIR``, or else ``nogpu`` in the user's cache folder; where that cannot be
    written, or is not safe, a folder of this user's in the system's temporary one.

    Raises
    ------
    EngineError
        If there is no folder at all that can be written.
    """
    with _folder() as (path, _):
        return path


@contextlib.contextmanager
def _folder() -> Iterator[tuple[Path, int]]:
    """The cache's folder and a descriptor of it: what is done through it is done in the folder
    that was looked at, whatever is renamed meanwhile."""
    path, descriptor = _open()
    try:
        yield path, descriptor
    finally:
        os.close(descriptor)


def _open() -> tuple[Path, int]:
    given = os.environ.get("NOGPU_CACHE_DIR")
    refused: list[tuple[Path | str, _Refused]] = []
    for candidate in (_first, _temporary, _private_folder):
        path: Path | str = "a new folder"
        try:
            path = candidate()
            descriptor = _open_safely(path)
        except _Refused as error:
            refused.append((path, error))
            continue
        except OSError as error:  # there is no temporary folder
            refused.append((path, _Refused(error.strerror or str(error), False)))
            continue
        for unused, reason in refused:
            # That a home cannot be written is nothing new to a user who has asked for nothing.
            if reason.unsafe or (given and unused == _first()):
                _warn(f"Compiled kernels are not kept in {unused}: {reason}. They are kept in "
                      f"{path}; NOGPU_CACHE_DIR names another folder.")  # fmt: skip
        return path, descriptor
    tried = "; ".join(f"{path}: {reason}" for path, reason in refused)
    raise EngineError(
        f"no folder for compiled kernels can be written ({tried}): let NOGPU_CACHE_DIR name one"
    )


def _first() -> Path:
    given = os.environ.get("NOGPU_CACHE_DIR")
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(given) if given else Path(home, "nogpu")


def _temporary() -> Path:
    return Path(tempfile.gettempdir(), f"nogpu-{os.geteuid()}")


def _open_safely(path: Path) -> int:
    """A descriptor of a folder that only this user can write to."""
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        link = os.lstat(path)
        if stat.S_ISLNK(link.st_mode) and link.st_uid not in (0, os.geteuid()):
            raise _Refused(f"it is a symbolic link made by {_user(link.st_uid)}", True)
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise _Refused(error.strerror or str(error), False) from None
    try:
        _check_owner(os.fstat(descriptor))
        if not os.access(".", os.W_OK | os.X_OK, dir_fd=descriptor, effective_ids=True):
            raise _Refused("it cannot be written", False)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _check_owner(status: os.stat_result) -> None:
    """Raise if anybody but this user can write to a file or folder."""
    mode = stat.S_IMODE(status.st_mode)
    if status.st_uid != os.geteuid():
        raise _Refused(f"it belongs to {_user(status.st_uid)}", True)
    if mode & 0o002 or (mode & 0o020 and not _is_own_group(status.st_gid)):
        raise _Refused(
            f"other users may write to it (mode {mode:o}; chmod go-w would end that)", True
        )


def _is_own_group(group: int) -> bool:
    """Whether a group has this user as its only member, as on systems where each user has one."""
    try:
        user, found = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    own = user.pw_gid == group and found.gr_name == user.pw_name
    return own and all(member == user.pw_name for member in found.gr_mem)


def _user(number: int) -> str:
    try:
        return f"user {pwd.getpwuid(number).pw_name}"
    except KeyError:
        return f"user {number}"


def _private_folder() -> Path:
    global _private
    if _private is None or not os.path.isdir(_private):
        _private = tempfile.mkdtemp(prefix="nogpu-")
        atexit.register(_remove_private, _private, os.getpid())
    return Path(_private)


def _remove_private(folder: str, process: int) -> None:
    if os.getpid() == process:  # not in a child of fork
        shutil.rmtree(folder, ignore_errors=True)


def _warn(text: str) -> None:
    if text not in _warned:
        _warned.add(text)
        warnings.warn(text, RuntimeWarning, stacklevel=2)


def key(*parts: object) -> str:
    """A name for an entry that depends on every part."""
    digest = hashlib.sha256()
    for part in parts:
        data = repr(part).encode()
        digest.update(struct.pack("<Q", len(data)))
        digest.update(data)
    return digest.hexdigest()


def load(name: str) -> tuple[dict, bytes] | None:
    """The entry's description and library, or None where it is absent, damaged or not ours."""
    try:
        with _folder() as (_, folder):
            data = _read(f"{name}.bin", folder)
        magic, digest, length = _HEADER.unpack_from(data)
        body = data[_HEADER.size :]
        if magic != _MAGIC or _digest(name, body) != digest or length > len(body):
            return None
        return json.loads(body[:length]), body[length:]
    except (EngineError, _Refused, OSError, ValueError, struct.error):
        return None


def _digest(name: str, body: bytes) -> bytes:
    digest = hashlib.sha256(f"{name}\n".encode())
    digest.update(body)
    return digest.digest()


def _read(file_name: str, folder: int, limit: int = -1) -> bytes:
    """The first ``limit`` bytes of a file, or all, if it is this user's own and no link."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with open(os.open(file_name, flags, dir_fd=folder), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise _Refused("it is no file", True)
        _check_owner(status)
        return file.read(limit)


def store(name: str, description: dict, library: bytes) -> None:
    """Write an entry. A full or read-only disk costs the next run a compilation, nothing else.

    A full disk is told in a warning, once in a process: every later run would be slow without it.
    """
    global _stores
    text = json.dumps(description).encode()
    body = text + library
    data = _HEADER.pack(_MAGIC, _digest(name, body), len(text)) + body
    try:
        with _folder() as (path, folder):
            try:
                _write_whole(f"{name}.bin", data, folder)
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.EDQUOT):
                    _warn(f"Compiled kernels are not kept, because the disk of {path} is full: each"
                          " run compiles them again. Free some space there, or let "
                          "NOGPU_CACHE_DIR name a folder elsewhere.")  # fmt: skip
                raise
            _stores += 1
            if _stores % 50 == 0:
                _prune(folder)
    except (EngineError, OSError):
        return


def _write_whole(file_name: str, data: bytes, folder: int) -> None:
    """Write a file in one step: readers see the old content or the new one."""
    aside = f"new-{secrets.token_hex(8)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with open(os.open(aside, flags, 0o600, dir_fd=folder), "wb") as file:
            file.write(data)
        os.replace(aside, file_name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(aside, dir_fd=folder)
        raise


def _prune(folder: int) -> None:
    """Drop the entries used longest ago when the cache has outgrown its limit."""
    entries = []
    with os.scandir(folder) as found:
        for file in found:
            if _ENTRY.fullmatch(file.name):
                with contextlib.suppress(OSError):
                    status = file.stat(follow_symlinks=False)
                    entries.append(
                        (max(status.st_atime, status.st_mtime), status.st_size, file.name)
                    )
    total = sum(size for _, size, _ in entries)
    for _, size, file_name in sorted(entries):
        if total <= _LIMIT_BYTES:
            break
        with contextlib.suppress(OSError, _Refused):
            # Of this version or an older one; a file that somebody else put here stays.
            if _read(file_name, folder, len(_MAGIC)).startswith(_MAGIC[:5]):
                os.unlink(file_name, dir_fd=folder)
                total -= size
