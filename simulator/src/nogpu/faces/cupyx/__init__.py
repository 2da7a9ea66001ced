"""What CuPy has beyond NumPy's interface, as the simulator has it."""

# ruff: noqa: F401 -- names that CuPy has here
from __future__ import annotations

from nogpu.faces import missing as _missing  # isort: skip -- the modules need it

from ._pinned_array import empty_like_pinned, empty_pinned, zeros_like_pinned, zeros_pinned
from ._rsqrt import rsqrt
from ._runtime import get_runtime_info
from ._scatter import scatter_add, scatter_max, scatter_min
from ._ufunc_config import errstate, geterr, seterr

from cupy.cuda._synchronize import DeviceSynchronized, allow_synchronize  # isort: skip

__getattr__ = _missing.missing(
    __name__, {_name: f"cupyx.{_name}" for _name in ("cusparse", "profiler", "scipy")})
