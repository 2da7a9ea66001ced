"""What CuPy has beyond NumPy's interface, as the simulator has it."""

# ruff: noqa: F401 -- names that CuPy has here
from __future__ import annotations

import importlib as _importlib

from ._pinned_array import empty_like_pinned, empty_pinned, zeros_like_pinned, zeros_pinned
from ._rsqrt import rsqrt
from ._runtime import get_runtime_info
from ._scatter import scatter_add, scatter_max, scatter_min
from ._ufunc_config import errstate, geterr, seterr

from cupy.cuda._synchronize import DeviceSynchronized, allow_synchronize  # isort: skip
from nogpu.faces import missing as _missing

_MODULES = ("cusparse", "profiler", "scipy")


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return _importlib.import_module(f"cupyx.{name}")
    raise _missing.error("cupyx", name)
