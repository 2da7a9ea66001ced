"""Padding."""

import numpy as np
from cupy import _host

OPTIONS = {
    "constant": {"constant_values"},
    "edge": set(),
    "linear_ramp": {"end_values"},
    "maximum": {"stat_length"},
    "mean": {"stat_length"},
    "minimum": {"stat_length"},
    "reflect": {"reflect_type"},
    "symmetric": {"reflect_type"},
    "wrap": set(),
    "empty": set(),
}


def pad(array, pad_width, mode="constant", **kwargs):
    """Return a copy with ``pad_width`` elements more at each end; functions get NumPy vectors."""
    _host.argument(array)
    if _host.is_array(pad_width):
        pad_width = _host.look(pad_width)
    pad_width = np.asarray(pad_width)
    if pad_width.dtype.kind != "i":
        raise TypeError("`pad_width` must be of integral type.")
    widths = np.broadcast_to(pad_width, (array.ndim, 2))
    if (widths < 0).any():
        raise ValueError("index can't contain negative values")
    if not callable(mode):
        if mode not in OPTIONS:
            raise ValueError(f"mode '{mode}' is not supported")
        wrong = set(kwargs) - OPTIONS[mode]
        if wrong:
            raise ValueError(f"unsupported keyword arguments for mode '{mode}': {wrong}")
    options = {
        name: _host.look(value) if _host.is_array(value) else value
        for name, value in kwargs.items()
    }
    if not array.ndim:
        return array.copy()
    shape = [n + int(a) + int(b) for n, (a, b) in zip(array.shape, widths)]
    if array.size == 0 and mode not in ("constant", "empty"):
        for n, (a, b) in zip(array.shape, widths):
            if n == 0 and (a or b):
                raise ValueError(
                    "can't extend empty axis 0 using modes other than 'constant' or 'empty'")
    return _host.compute(
        lambda v: np.pad(v, widths, mode, **options), [array], shape, array.dtype)
