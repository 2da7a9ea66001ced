"""A part of SciPy on the simulated device. SciPy itself is not needed."""

import importlib

from nogpu.faces import missing as _missing

_PARTS = ("ndimage", "signal", "sparse", "special")


def get_array_module(*args):
    """Return this module where an argument is on the device, otherwise SciPy."""
    import sys

    from cupy import _host

    for one in args:
        if _host.is_array(one) or type(one).__module__.startswith("cupyx.scipy.sparse"):
            return sys.modules[__name__]
    return importlib.import_module("scipy")


def __getattr__(name):
    if name in _PARTS:
        return importlib.import_module(f"cupyx.scipy.{name}")
    raise _missing.error("cupyx.scipy", name)
