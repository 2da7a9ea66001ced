"""nogpu's headers as g++ reads them fastest: precompiled.

To read them takes a third of what g++ does for a small kernel. So the third library that a process
compiles with the same flags leaves them precompiled in the cache, and from the second on a process
looks for them there. They are unpacked into memory that has a descriptor: a process that is killed
leaves nothing behind. Where g++ cannot use them, it reads the headers themselves.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from . import cache, compiler, native

PRELUDE = "nogpu_prelude.h"
NAME = "nogpu_precompiled.h"  # in a compilation's own folder
_LOOKED_FOR, _MADE = 2, 3  # at which compilation of a process
_compilations: Counter[str] = Counter()
_descriptors: dict[str, int] = {}


def precompiled(found: compiler.Compiler, arguments: Sequence[str], folder: Path) -> str:
    """The header that a compilation includes: one in its ``folder``, or nogpu's prelude itself.

    ``arguments`` are all flags of a library of kernels, ``-include nogpu_prelude.h`` among them.
    """
    flags = list(arguments)
    # Not where other headers come first, or the system's are read, which may change.
    if (found.family != "gcc" or found.is_zig or not hasattr(os, "memfd_create")
            or "-DCUSIM_LIBC=0" not in flags or flags.count("-include") != 1):  # fmt: skip
        return PRELUDE
    name = cache.key("headers", native.engine_version(), found.identity, found.command,
                     found.machine(), flags)  # fmt: skip
    _compilations[name] += 1
    with contextlib.suppress(OSError, MemoryError, zlib.error):
        (folder / NAME).write_text(f"#include <{PRELUDE}>\n")
        if name not in _descriptors:
            data = _find(name, found, flags, folder)
            if data is None:
                return PRELUDE
            descriptor = os.memfd_create("nogpu-headers")
            with open(descriptor, "wb", closefd=False) as file:
                file.write(data)
            _descriptors[name] = descriptor
        # By the number of this process, which may be a child of a fork.
        place = f"/proc/{os.getpid()}/fd/{_descriptors[name]}"
        (folder / f"{NAME}.gch").symlink_to(place)
        return str(folder / NAME)
    return PRELUDE


def _find(name: str, found: compiler.Compiler, flags: list[str], folder: Path) -> bytes | None:
    """The precompiled headers from the cache, or made now, or None: it is too early for them."""
    entry = cache.load(name) if _compilations[name] >= _LOOKED_FOR else None
    if entry is not None:
        return zlib.decompress(entry[1])
    if _compilations[name] != _MADE:
        return None
    unwanted = ("-x", "c++", "-shared", *(word for word in flags if word.startswith("-Wl,")))
    left = [word for word in flags[: flags.index("-include")] if word not in unwanted]
    made = folder / "headers"
    found.run([*left, "-x", "c++-header", "-o", str(made), str(folder / NAME)])
    data = made.read_bytes()  # where it is not there, the kernel's compilation says why
    cache.store(name, {}, zlib.compress(data, 1))
    return data
