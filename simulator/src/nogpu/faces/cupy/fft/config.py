"""Switches of the library's transforms. Here they change nothing: NumPy computes."""

import contextvars
import sys
import types
import warnings

from cupy.fft._callbacks import set_cufft_callbacks  # noqa: F401

use_multi_gpus = False
_devices = None
_planning = contextvars.ContextVar("cupy.fft.config.enable_nd_planning", default=True)


class _Config(types.ModuleType):
    """The module, with a switch that warns whoever reads or sets it."""

    @property
    def enable_nd_planning(self) -> bool:
        """Whether one plan does several axes."""
        _warn()
        return _planning.get()

    @enable_nd_planning.setter
    def enable_nd_planning(self, value: bool) -> None:
        _warn()
        _planning.set(value)


def _warn() -> None:
    warnings.warn(
        "enable_nd_planning is deprecated as of CuPy 14 and will always be True in the future.",
        DeprecationWarning, stacklevel=3)


def set_cufft_gpus(gpus):
    """Keep which devices a transform over several would use."""
    global _devices
    _devices = list(range(gpus)) if isinstance(gpus, int) else list(gpus)


class _PlanCache:
    """The plans that are kept: none, since NumPy needs no plan."""

    def clear(self):
        """Forget nothing."""

    def show_info(self):
        """Print what is kept."""
        print("nogpu keeps no plans of transforms.")


_plans = _PlanCache()


def get_plan_cache():
    """Return the plans that are kept."""
    return _plans


sys.modules[__name__].__class__ = _Config
