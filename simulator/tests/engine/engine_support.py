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
COMPILERS = [
    pytest.param(
        GCC if name == "g++" else name,
        id=name,
        marks=pytest.mark.skipif(shutil.which(name) is None, reason=f"{name} is not installed"),
    )
    for name in ("g++", "clang++")
] + [
    pytest.param(
        f"{shlex.quote(sys.executable)} -m ziglang c++",
        id="zig",
        marks=pytest.mark.skipif(
            importlib.util.find_spec("ziglang") is None, reason="ziglang is not installed"
        ),
    )
]


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
