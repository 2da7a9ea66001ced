"""What the engine's tests share: compilers, arguments, arrays."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import sys

import numpy as np
import pytest

from nogpu import engine


def _found(name: str) -> str | None:
    """The file behind a command's name, links followed."""
    path = shutil.which(name)
    return path and os.path.realpath(path)


# Where c++ is g++, by that name: the other tests have its kernels in the cache already.
GCC = "c++" if _found("c++") == _found("g++") else "g++"
ZIG = f"{shlex.quote(sys.executable)} -m ziglang c++"
# Each compiler's command by its name, and whether it is here: the tests of one that is not are left
# out, and `test_compile` names it.
KNOWN = {
    "g++": (GCC, shutil.which("g++") is not None),
    "clang++": ("clang++", shutil.which("clang++") is not None),
    "zig": (ZIG, importlib.util.find_spec("ziglang") is not None),
}
COMPILERS = [pytest.param(command, id=name) for name, (command, here) in KNOWN.items() if here]


def array(values: object, name: str) -> engine.Allocation:
    """Device memory that holds ``values``."""
    values = np.ascontiguousarray(values)
    allocation = engine.allocate(values.nbytes, name, itemsize=values.itemsize)
    engine.copy_to_device(allocation.address, values)
    return allocation


def read(allocation: engine.Allocation, dtype: object, shape: object = -1) -> np.ndarray:
    """A copy of what an allocation holds."""
    return engine.view(allocation.address, allocation.nbytes, dtype).reshape(shape).copy()


def pack(*arguments: object) -> list[bytes]:
    """Raw bytes by position: allocations as addresses, NumPy scalars and arrays as they are."""
    return [
        np.uint64(a.address).tobytes()
        if isinstance(a, engine.Allocation)
        else np.asarray(a).tobytes()
        for a in arguments
    ]


def launch(
    kernel: engine.Kernel, grid: object, block: object, *arguments: object, shared: int = 0
) -> None:
    """Launch with packed arguments and a limit that a hanging test would hit."""
    kernel.launch(grid, block, pack(*arguments), shared, time_limit=60)
