"""The errors for names that a real library has and nogpu lacks.

`names.json` holds the public names of the real libraries' modules and classes, as a GPU machine
listed them. A name on that list is not misspelt, and the error says so.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import MappingProxyType, ModuleType

# Public modules that the real libraries have (CuPy 14.2.0, PyCUDA 2026.1) and that nogpu lacks.
MODULES = frozenset("""
    cupy.cublas cupy.cuda.common cupy.cuda.cub cupy.cuda.cufft cupy.cuda.cutensor cupy.cuda.jitify
    cupy.cuda.nccl cupy.cuda.texture cupy.cuda.thrust cupy.typing cupy_backends.cuda.libs.cublas
    cupy_backends.cuda.libs.curand cupy_backends.cuda.libs.cusolver
    cupy_backends.cuda.libs.cusparse cupy_backends.cuda.libs.cusparselt
    cupy_backends.cuda.libs.cutensor cupy_backends.cuda.libs.nccl cupy_backends.cuda.stream
    cupyx.cusolver cupyx.cutensor cupyx.distributed cupyx.jit cupyx.lapack
    cupyx.linalg cupyx.optimizing cupyx.scipy.fft cupyx.scipy.fftpack cupyx.scipy.interpolate
    cupyx.scipy.linalg cupyx.scipy.signal.windows cupyx.scipy.sparse.csgraph
    cupyx.scipy.sparse.linalg cupyx.scipy.spatial cupyx.scipy.stats cupyx.signal cupyx.time
    cupyx.tools pycuda.debug pycuda.gl pycuda.gl.autoinit pycuda.sparse pycuda.sparse.cg
    pycuda.sparse.coordinate pycuda.sparse.inner pycuda.sparse.operator pycuda.sparse.packeted
    pycuda.sparse.pkt_build
""".split())
NAMES = Path(__file__).with_name("names.json")


@lru_cache(maxsize=1)
def recorded_names() -> dict[str, list[str]]:
    """Return the public names of each recorded module and class, e.g. of ``"cupy.ndarray"``."""
    libraries = json.loads(NAMES.read_text(encoding="utf-8"))
    return {owner: names for one in libraries.values() for owner, names in one["names"].items()}


def explain(name: str) -> str:
    """Return the sentence for a full name such as ``"cupy.linalg.name"`` that nogpu lacks."""
    library = "PyCUDA" if name.startswith("pycuda") else "CuPy"
    return f"{name} exists in {library}, but nogpu lacks it: it needs a machine with a GPU"


def error(owner: str, name: str, subject: str | None = None) -> AttributeError:
    """Return the error for an attribute that is not there.

    Parameters
    ----------
    owner : str
        The real library's name of the module or class, e.g. ``"cupy.ndarray"``.
    name : str
        The attribute.
    subject : str, optional
        What Python's own message begins with; ``"module 'owner'"`` unless given.
    """
    if not name.startswith("_"):
        names = recorded_names()
        if name in names.get(owner, ()) or f"{owner}.{name}" in MODULES:
            return AttributeError(explain(f"{owner}.{name}"))
        if owner not in names:
            return AttributeError(f"nogpu lacks {owner}.{name}, if the real library has it")
    subject = subject or f"module '{owner}'"
    return AttributeError(f"{subject} has no attribute '{name}'")


def refused(owner: str) -> Callable[[str], Callable]:
    """Return a rule for `table`: functions of ``owner`` that are there and raise an error."""

    def rule(name: str) -> Callable:
        def refuse(*arguments: object, **keywords: object) -> None:
            raise NotImplementedError(explain(f"{owner}.{name}"))

        return refuse

    return rule


class _Loader(SourceFileLoader):
    """Lets a module say of a name that it lacks whether the real library has it."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        if "__getattr__" not in vars(module):
            module.__getattr__ = missing(module.__name__)


def find_spec(name: str, path: Sequence[str]) -> ModuleSpec | None:
    """Find a module of a library; ModuleNotFoundError for one that nogpu lacks."""
    spec = PathFinder.find_spec(name, path)
    if spec is not None:
        spec.loader = _Loader(name, spec.origin)
        return spec
    package, _, part = name.rpartition(".")
    try:
        getattr(sys.modules[package], part)
    except AttributeError as error:
        if "nogpu lacks" in str(error):
            raise ModuleNotFoundError(str(error)) from None
    return None


def missing(module: str, lazy: Mapping[str, str] = MappingProxyType({})) -> Callable:
    """Return a ``__getattr__`` for a module that lacks some of the real module's names.

    ``lazy`` says of names that are imported when they are asked for which module has them, or is
    meant.
    """

    def __getattr__(name: str) -> object:
        if name not in lazy:
            raise error(module, name)
        found = importlib.import_module(lazy[name])
        if lazy[name] != f"{module}.{name}":
            found = getattr(found, name)
        setattr(sys.modules[module], name, found)
        return found

    return __getattr__
