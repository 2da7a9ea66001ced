"""Lets `import cupy` and `import pycuda` find nogpu's own modules, until told otherwise."""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder

from . import children

TYPE_CHECKING = False  # as in __init__.py: every child process imports this module
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

LIBRARIES = ("cupy", "cupyx", "cupy_backends", "pycuda")
FACES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "faces")


class _Finder:
    """Finds the four libraries; their submodules follow from each package's `__path__`."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        library = name.partition(".")[0]
        if name == "distributed.protocol.cupy":  # Dask's
            from importlib.util import spec_from_file_location

            return spec_from_file_location(name, os.path.join(FACES, "dask_arrays.py"))
        if library in LIBRARIES and library != name and is_simulated(sys.modules[library]):
            return sys.modules[library]._missing.find_spec(name, path)
        if name not in LIBRARIES or not _has_numpy():
            return None
        return PathFinder.find_spec(name, [FACES])


_finder = _Finder()


def _has_numpy() -> bool:
    """Whether this Python has NumPy: a child process may run one that has not."""
    from importlib.util import find_spec

    return "numpy" in sys.modules or find_spec("numpy") is not None


def is_installed() -> bool:
    """Whether `import cupy` finds nogpu's module."""
    return _finder in sys.meta_path


def is_simulated(module: ModuleType) -> bool:
    """Whether a module is nogpu's own and not the real library's."""
    place = getattr(module, "__file__", None) or ""
    return os.path.abspath(place).startswith(FACES + os.sep)


def imported_real_libraries() -> list[str]:
    """Names of the real libraries that are imported already, a broken import left out."""
    return [
        name
        for name in LIBRARIES
        if (module := sys.modules.get(name)) is not None
        and getattr(module, "__file__", None)
        and not is_simulated(module)
    ]


def install() -> None:
    """Let `cupy`, `cupyx`, `cupy_backends` and `pycuda` be nogpu's from the next import on.

    This holds for this process and for the Python processes that it starts, which find nogpu
    through the environment variable PYTHONPATH. Calling it again changes nothing.

    Raises
    ------
    RuntimeError
        Where one of the real libraries is imported already: their arrays and kernels would meet
        nogpu's under one name. Nothing is changed then.
    """
    if real := imported_real_libraries():
        raise RuntimeError(
            f"The real {real[0]} is imported already. Call nogpu.install() before "
            f"`import {real[0]}`, in a fresh process."
        )
    if not is_installed():
        sys.meta_path.insert(0, _finder)
    children.serve()


def uninstall() -> None:
    """Undo `install`: the next `import cupy` finds what else is there, the real one or none.

    Modules of nogpu's libraries leave `sys.modules`; arrays and kernels that a program holds go on
    working. Python processes that are started from now on are not served any more.
    """
    if is_installed():
        sys.meta_path.remove(_finder)
    children.leave()
    for library in LIBRARIES:
        if library in sys.modules and is_simulated(sys.modules[library]):
            for name in [n for n in sys.modules if n == library or n.startswith(library + ".")]:
                del sys.modules[name]
