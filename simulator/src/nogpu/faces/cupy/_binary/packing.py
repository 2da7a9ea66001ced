"""Bits in bytes."""

import numpy as np
from cupy import _host


def packbits(a, axis=None, bitorder="big"):
    """Pack what is not zero into the bits of bytes."""
    _host.argument(a)
    if a.dtype.kind not in "biu":
        raise TypeError("Expected an input array of integer or boolean data type")
    if bitorder not in ("big", "little"):
        raise ValueError("bitorder must be either 'big' or 'little'")
    if axis is None:
        shape = ((a.size + 7) // 8,)
    else:
        axis = _host.one_axis(axis, a.ndim)
        shape = tuple((n + 7) // 8 if i == axis else n for i, n in enumerate(a.shape))
    return _host.compute(lambda v: np.packbits(v, axis, bitorder), [a], shape, np.uint8)


def unpackbits(a, axis=None, bitorder="big"):
    """Unpack bytes into an array of bits."""
    _host.argument(a)
    if a.dtype != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    if bitorder not in ("big", "little"):
        raise ValueError("bitorder must be either 'big' or 'little'")
    if axis is None:
        shape = (a.size * 8,)
    else:
        axis = _host.one_axis(axis, a.ndim)
        shape = tuple(n * 8 if i == axis else n for i, n in enumerate(a.shape))
    return _host.compute(
        lambda v: np.unpackbits(v, axis, bitorder=bitorder), [a], shape, np.uint8)
