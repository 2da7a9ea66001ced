"""Measuring, and marks for tools that measure."""

from __future__ import annotations

import contextlib

from cupy.cuda import profiler as _profiler

from ._time import benchmark as benchmark
from ._time_range import time_range as time_range


@contextlib.contextmanager
def profile():
    """Let a profiler look at a block. None listens to the simulator."""
    _profiler.start()
    try:
        yield
    finally:
        _profiler.stop()


def load_ipython_extension(ipython: object) -> None:
    """Add the magic commands ``%gpu_timeit`` and ``%%gpu_timeit``."""
    from ._ipython import magic

    ipython.register_magic_function(magic, "line_cell", "gpu_timeit")
