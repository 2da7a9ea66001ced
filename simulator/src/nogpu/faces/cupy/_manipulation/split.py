"""Arrays taken apart: views."""

import numpy as np
from cupy import _tables
from cupy._core import core


def _split(name):
    function = getattr(np, name)

    def call(ary, where, *axis):
        where = where.get() if isinstance(where, core.ndarray) else where
        return [core._wrap(view, ary) for view in function(ary._view, where, *axis)]

    return call


_tables.functions(globals(), _split, """
array_split(ary, indices_or_sections, axis=0) -> list[ndarray]: Into parts that need not be equal.
split(ary, indices_or_sections, axis=0) -> list[ndarray]: Into equal parts, or at indices.
dsplit(ary, indices_or_sections) -> list[ndarray]: Along the third axis.
hsplit(ary, indices_or_sections) -> list[ndarray]: Along the second axis, or the only one.
vsplit(ary, indices_or_sections) -> list[ndarray]: Along the first axis.
""")
