"""Tracebacks of faults without nogpu's own frames: they are of no use for finding the mistake."""

from __future__ import annotations

import os
from types import TracebackType

PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def outside(traceback: TracebackType | None) -> TracebackType | None:
    """A copy of the traceback without the frames of this package; None where none is left."""
    if traceback is None:
        return None
    rest = outside(traceback.tb_next)
    if traceback.tb_frame.f_code.co_filename.startswith(PACKAGE):
        return rest
    return TracebackType(rest, traceback.tb_frame, traceback.tb_lasti, traceback.tb_lineno)
