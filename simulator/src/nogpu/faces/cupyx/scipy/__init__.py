"""A part of SciPy on the simulated device. SciPy itself is not needed."""

from nogpu.faces import missing as _missing

_PARTS = ("ndimage", "signal", "sparse", "special")


def get_array_module(*args):
    """Return this module where an argument is on the device, otherwise SciPy."""
    import sys

    from cupy import _host

    for one in args:
        if _host.is_array(one) or type(one).__module__.startswith("cupyx.scipy.sparse"):
            return sys.modules[__name__]
    import scipy

    return scipy


__getattr__ = _missing.missing(__name__, {_name: f"cupyx.scipy.{_name}" for _name in _PARTS})
