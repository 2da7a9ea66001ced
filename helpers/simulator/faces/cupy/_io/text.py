"""Arrays in text files."""

from __future__ import annotations

import numpy as np
from cupy import _host


def savetxt(fname, X, *args, **kwargs):  # noqa: N803
    """Save an array to a text file, with NumPy's parameters."""
    np.savetxt(fname, _host.look(X) if _host.is_array(X) else X, *args, **kwargs)


def _reader(name):
    def read(*args, **kwargs):
        return _host.device(getattr(np, name)(*args, **kwargs))

    read.__name__ = read.__qualname__ = name
    read.__doc__ = f"Call `numpy.{name}` and copy what it returns to the device."
    return read


loadtxt = _reader("loadtxt")
genfromtxt = _reader("genfromtxt")
fromstring = _reader("fromstring")
fromfile = _reader("fromfile")
frombuffer = _reader("frombuffer")
fromiter = _reader("fromiter")
fromfunction = _reader("fromfunction")
