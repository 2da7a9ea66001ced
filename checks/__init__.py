"""Checks of the exercises: one module per lesson, each task an object to call with an answer.

>>> from checks import strided_views
>>> strided_views.tiles(tiles)  # doctest: +SKIP
[ok] tiles: right in all 7 cases

`progress()` shows which tasks are right so far.

nbgrader takes points off for an error in a check, and knows no verdict for a check that the machine
keeps from judging. Then the process ends while nbgrader grades: `nbgrader autograde` fails, and the
submission is left without a grade.
"""

from __future__ import annotations

import os
import sys

from .learner.progress import progress

__all__ = ["NothingJudged", "progress", "stop_grading"]

STOPPED = 75  # the exit status of a process that ends because nothing can be judged


class NothingJudged(RuntimeError):
    """While nbgrader runs: the machine kept a check from judging. It says nothing of the answer."""


def stop_grading(sentence: str) -> None:
    """While nbgrader runs, leave the submission without a grade; otherwise do nothing.

    Raises
    ------
    NothingJudged
        Outside a notebook's process. In one the process ends instead.
    """
    mode = os.environ.get("NBGRADER_EXECUTION")
    if not mode:
        return
    text = f"Nothing was judged, and nothing is said of the answer: {sentence}"
    python = sys.modules.get("IPython")
    if mode == "autograde" and hasattr(python and python.get_ipython(), "kernel"):
        # What a notebook's process prints is lost with it. The terminal of `nbgrader autograde` is
        # where its standard error went before ipykernel took it.
        terminal = getattr(sys.stderr, "_original_stdstream_copy", 2)
        os.write(terminal, f"\ncourse: {text}\ncourse: This notebook is left without a grade, as"
                           " autograde reports below (no endless loop is to blame).\n".encode())
        os._exit(STOPPED)
    raise NothingJudged(text)


def stop_grading_without_kernels() -> None:
    """While nbgrader runs, compile a kernel of our own and leave all ungraded where that fails.

    An answer cell may compile, too. Where it cannot, its check fails for want of a name.
    """
    from checks.machinery.environment import hindrance_in
    from nogpu import engine

    if os.environ.get("NBGRADER_EXECUTION") and os.environ.get("COURSE_BACKEND") != "cuda":
        try:
            engine.compile('extern "C" __global__ void nothing() {}').build(checked=True)
        except Exception as error:
            stop_grading(hindrance_in(error) or f"a kernel cannot be compiled: {error}")
