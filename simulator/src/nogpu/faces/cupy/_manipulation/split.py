"""Arrays taken apart: views."""

from __future__ import annotations

import numpy as np
from cupy._core import core
from cupy._core.core import ndarray


def _split(function, ary, indices, *axis):
    if isinstance(indices, ndarray):
        indices = indices.get()
    return [core._wrap(view, ary) for view in function(ary._view, indices, *axis)]


def array_split(ary, indices_or_sections, axis=0) -> list[ndarray]:
    """Into parts that need not be equal."""
    return _split(np.array_split, ary, indices_or_sections, axis)


def split(ary, indices_or_sections, axis=0) -> list[ndarray]:
    """Into equal parts, or at indices."""
    return _split(np.split, ary, indices_or_sections, axis)


def dsplit(ary, indices_or_sections) -> list[ndarray]:
    """Along the third axis."""
    return _split(np.dsplit, ary, indices_or_sections)


def hsplit(ary, indices_or_sections) -> list[ndarray]:
    """Along the second axis, or the only one."""
    return _split(np.hsplit, ary, indices_or_sections)


def vsplit(ary, indices_or_sections) -> list[ndarray]:
    """Along the first axis."""
    return _split(np.vsplit, ary, indices_or_sections)
