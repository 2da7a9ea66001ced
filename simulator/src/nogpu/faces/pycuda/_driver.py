"""The driver's interface, which in PyCUDA is compiled."""

# ruff: noqa: F403
from nogpu import engine
from nogpu.faces import table

from ._contexts import *
from ._enums import *
from ._memory import *
from ._modules import *
from ._pools import *
from ._streams import *

for _kind in [_one for _one in globals().values() if isinstance(_one, type)]:
    _kind.__module__ = __name__  # as messages and pickles of the real library say


def get_version() -> tuple[int, int, int]:
    """The version of CUDA whose language the simulator takes."""
    version = engine.limits.CUDA_VERSION
    return version // 1000, version % 1000 // 10, 0


def get_driver_version() -> int:
    """The same as one number."""
    return engine.limits.CUDA_VERSION


def get_curand_version() -> tuple[int, int, int]:
    """The version of cuRAND whose generators kernels have."""
    return 10, 30, 1


table.functions(globals(), lambda name: table.nothing, """
initialize_profiler(*arguments: object) -> None: There is no profiler here.
start_profiler() -> None: There is no profiler here.
stop_profiler() -> None: There is no profiler here.
""")
