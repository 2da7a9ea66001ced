"""Bits in bytes."""

import numpy as np
from cupy import _host, _tables


def _bits(name):
    packs, function = name == "packbits", getattr(np, name)
    kinds, what = ("biu", "integer or boolean") if packs else ("u", "unsigned byte")

    def call(a, axis, bitorder):
        if a.dtype.kind not in kinds or not packs and a.dtype != np.uint8:
            raise TypeError(f"Expected an input array of {what} data type")
        if bitorder not in ("big", "little"):
            raise ValueError("bitorder must be either 'big' or 'little'")
        shape = [a.size] if axis is None else list(a.shape)
        at = 0 if axis is None else _host.one_axis(axis, a.ndim)
        shape[at] = (shape[at] + 7) // 8 if packs else shape[at] * 8
        return _host.compute(
            lambda v: function(v, axis=axis, bitorder=bitorder), [a], shape, np.uint8)

    return call


_tables.functions(globals(), _bits, """
packbits(a: array, axis=None, bitorder="big"): Pack what is not zero into the bits of bytes.
unpackbits(a: array, axis=None, bitorder="big"): Unpack bytes into an array of bits.
""")
