"""CuPy and PyCUDA without a GPU, with the errors that a GPU hides.

>>> import nogpu
>>> nogpu.install()
>>> import cupy as cp                               # nogpu's, as is `import pycuda` from now on
>>> cp.arange(3) + 1
array([1, 2, 3])

`python -m nogpu script.py` and `pytest --nogpu` do the same for programs that are not to be
changed, `%load_ext nogpu` does it in a notebook. `checks` switches the search for faults,
`counting` counts memory accesses, `inspect` looks at one launch; a kernel's fault is raised as one
of the exceptions below `KernelFault`.

PYTEST_DONT_REWRITE: pytest passes this module over where it was imported before pytest.
"""

from __future__ import annotations

from .finder import install, uninstall

TYPE_CHECKING = False  # type checkers take it for True; `typing` itself costs milliseconds
if TYPE_CHECKING:
    from . import inspect  # noqa: I001 -- one line for each name is too long
    from .engine import (
        AssertionFault, BarrierFault, GlobalOutOfBounds, IntegerDivisionByZero,
        IntegerDivisionOverflow, KernelFault, KernelSignal, KernelTimeout, LocalOutOfBounds,
        MisalignedAccess, NotDeviceMemory, NullPointer, Race, SharedOutOfBounds, StackOverflow,
        StreamRace, UninitialisedRead, UseAfterFree, checks, counting,
    )  # fmt: skip

__version__ = "0.1"
__all__ = [
    "AssertionFault", "BarrierFault", "GlobalOutOfBounds", "IntegerDivisionByZero",
    "IntegerDivisionOverflow", "KernelFault", "KernelSignal", "KernelTimeout", "LocalOutOfBounds",
    "MisalignedAccess", "NotDeviceMemory", "NullPointer", "Race", "SharedOutOfBounds",
    "StackOverflow", "StreamRace", "UninitialisedRead", "UseAfterFree", "checks", "counting",
    "inspect", "install", "uninstall",
]  # fmt: skip
# What IPython looks for in a module that `%load_ext` names.
_IPYTHON = ("load_ipython_extension", "unload_ipython_extension")


def __getattr__(name: str) -> object:
    """The public names that need NumPy, imported when they are first used."""
    from importlib import import_module

    if name == "inspect":
        return import_module(".inspect", __name__)
    if name in _IPYTHON:
        return getattr(import_module(".ipython", __name__), name)
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(".engine", __name__), name)
    return value


def __dir__() -> list[str]:
    return [name for name in globals() if name.startswith("__")] + __all__
