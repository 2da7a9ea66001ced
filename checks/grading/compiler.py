"""Whether kernels can be compiled while nbgrader grades."""

from __future__ import annotations

import os

from checks import stop_grading
from checks.machinery.environment import hindrance_in
from nogpu import engine


def stop_grading_without_kernels() -> None:
    """While nbgrader runs, compile a kernel of our own and leave all ungraded where that fails.

    An answer cell may compile, too. Where it cannot, its check fails for want of a name.
    """
    if os.environ.get("NBGRADER_EXECUTION") and os.environ.get("COURSE_BACKEND") != "cuda":
        try:
            engine.compile('extern "C" __global__ void nothing() {}').build(checked=True)
        except Exception as error:
            stop_grading(hindrance_in(error) or f"a kernel cannot be compiled: {error}")
