"""Compiled kernels on disk: one file per entry, complete or not there at all.

An entry holds a description (JSON) and the library, with a digest over both. It is written aside
and renamed, so two processes that compile the same source at once both end with a whole entry,
and whatever is damaged fails its digest and is compiled again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import struct
import tempfile
from pathlib import Path

_MAGIC = b"nogpu01\n"
_HEADER = struct.Struct("<8s32sQ")
_LIMIT_BYTES = 256 * 2**20
_stores = 0


def directory() -> Path:
    """The cache's folder, made if need be.

    ``NOGPU_CACHE_DIR`` overrides the user's cache folder; where that cannot be written, a
    folder of this user's in the system's temporary one serves.
    """
    base = os.environ.get("NOGPU_CACHE_DIR")
    if base:
        candidates = [Path(base)]
    else:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        candidates = [Path(home) / "strides-to-streams" / "engine"]
    candidates.append(Path(tempfile.gettempdir()) / f"strides-to-streams-{os.getuid()}")
    for candidate in candidates:
        try:
            candidate.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError:
            continue
        # Libraries from here are loaded into the process: the folder must be this user's own.
        if os.access(candidate, os.W_OK | os.X_OK) and candidate.stat().st_uid == os.getuid():
            return candidate
    raise OSError(f"no folder for compiled kernels can be written: tried {candidates}")


def key(*parts: object) -> str:
    """A name for an entry that depends on every part."""
    digest = hashlib.sha256()
    for part in parts:
        data = repr(part).encode()
        digest.update(struct.pack("<Q", len(data)))
        digest.update(data)
    return digest.hexdigest()


def load(name: str) -> tuple[dict, bytes] | None:
    """The entry's description and library, or None where it is absent or damaged."""
    try:
        data = (directory() / f"{name}.bin").read_bytes()
        magic, digest, length = _HEADER.unpack_from(data)
        body = data[_HEADER.size :]
        if magic != _MAGIC or hashlib.sha256(body).digest() != digest or length > len(body):
            return None
        return json.loads(body[:length]), body[length:]
    except (OSError, ValueError, struct.error):
        return None


def store(name: str, description: dict, library: bytes) -> None:
    """Write an entry. A full or read-only disk costs the next run a compilation, nothing else."""
    global _stores
    text = json.dumps(description).encode()
    body = text + library
    data = _HEADER.pack(_MAGIC, hashlib.sha256(body).digest(), len(text)) + body
    try:
        write_whole(directory() / f"{name}.bin", data)
    except OSError:
        return
    _stores += 1
    if _stores % 50 == 0:
        _prune()


def write_whole(path: Path, data: bytes) -> None:
    """Put ``data`` at ``path`` in one step: readers see the old content or the new one."""
    handle, aside = tempfile.mkstemp(dir=path.parent, prefix="new-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(aside, 0o755)
        os.replace(aside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(aside)
        raise


def _prune() -> None:
    """Drop the entries used longest ago when the cache has outgrown its limit."""
    entries = []
    for path in directory().glob("*.bin"):
        with contextlib.suppress(OSError):
            status = path.stat()
            entries.append((max(status.st_atime, status.st_mtime), status.st_size, path))
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= _LIMIT_BYTES:
            break
        with contextlib.suppress(OSError):
            path.unlink()
            total -= size
