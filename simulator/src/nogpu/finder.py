"""Lets `import cupy` and `import pycuda` find nogpu's own modules, until told otherwise."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

LIBRARIES = ("cupy", "cupyx", "cupy_backends", "pycuda")
FACES = Path(__file__).resolve().parent / "faces"


class _Finder(MetaPathFinder):
    """Finds the four libraries; their submodules follow from each package's `__path__`."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in LIBRARIES:
            return None
        folder = FACES / name
        return spec_from_file_location(
            name, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )


_finder = _Finder()


def is_installed() -> bool:
    """Whether `import cupy` finds nogpu's module."""
    return _finder in sys.meta_path


def is_simulated(module: ModuleType) -> bool:
    """Whether a module is nogpu's own and not the real library's."""
    place = getattr(module, "__file__", None) or ""
    return FACES in Path(place).resolve().parents


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

    Calling it again changes nothing.

    Raises
    ------
    RuntimeError
        Where one of the real libraries is imported already: two of a name cannot be told apart.
    """
    if real := imported_real_libraries():
        raise RuntimeError(
            f"The real {real[0]} is imported already. Call nogpu.install() before "
            f"`import {real[0]}`, in a fresh process."
        )
    if not is_installed():
        sys.meta_path.insert(0, _finder)
        importlib.invalidate_caches()


def uninstall() -> None:
    """Undo `install`: the next `import cupy` finds what else is there, the real one or none.

    Modules of nogpu's that are imported leave `sys.modules`; names that programs hold go on
    working.
    """
    if is_installed():
        sys.meta_path.remove(_finder)
    for name in [n for n in sys.modules if n.partition(".")[0] in LIBRARIES]:
        del sys.modules[name]
