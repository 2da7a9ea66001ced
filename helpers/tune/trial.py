"""What a variant is tried with, whether its result is right, and what it failed at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import backend
from ..generate import explain
from .variant import Generated, Tuned

# Relative tolerances where none is given: a few dozen roundings.
RTOL = {"float16": 1e-2, "float32": 1e-5, "float64": 1e-12}
Array = Any  # numpy.ndarray or cupy.ndarray


class Failure(Exception):
    """What a variant failed at: `state` is the step, the text says why."""

    def __init__(self, state: str, text: str) -> None:
        super().__init__(text)
        self.state = state


@dataclass(frozen=True)
class Case:
    """Arguments for one launch, and what one of its arrays must hold after it.

    Attributes
    ----------
    args : tuple
        NumPy arrays and scalars.
    out : int
        Which of them holds the result.
    expected : numpy.ndarray
    rtol, atol : float
        Tolerances; `rtol` None picks that of the dtype.
    name : str
        Of a case that is only checked, "" for the one that is measured.
    """

    args: tuple
    out: int
    expected: np.ndarray
    rtol: float | None
    atol: float
    name: str = ""

    def check(self, result: Array) -> None:
        """Raise a Failure where the result is not what is expected."""
        if text := difference(result, self.expected, self.rtol, self.atol):
            raise Failure("wrong", f"{text} ({self.name})" if self.name else text)


def difference(got: Array, expected: np.ndarray, rtol: float | None, atol: float) -> str | None:
    """Say how `got`, of NumPy or CuPy, differs from `expected`; None where it does not.

    Numbers agree when they differ by no more than `atol + rtol * abs(expected)`; nan agrees with
    nan, an infinity with itself, integers with equal ones.
    """
    xp = np if isinstance(got, np.ndarray) else backend.find_cupy()
    wanted = xp.asarray(expected)
    if got.dtype.kind in "fc":
        rtol = RTOL.get(got.dtype.name, 0.0) if rtol is None else rtol
        same = xp.isclose(got, wanted, rtol=rtol, atol=atol, equal_nan=True)
    else:
        same = got == wanted
    wrong = xp.flatnonzero(~same)
    if not wrong.size:
        return None
    first = np.unravel_index(int(wrong[0]), got.shape)
    verb = "is" if wrong.size == 1 else "are"
    return (f"{wrong.size:,} of {got.size:,} numbers {verb} wrong, the first at"
            f" [{', '.join(map(str, first))}]: {got[first]} instead of {expected[first]}")


def compiled(generated: Generated) -> Tuned:
    """The variant as something to launch; a Failure where it does not compile."""
    try:
        return Tuned(generated)
    except Exception as error:
        raise Failure("compile", compiler_error(error, generated)) from error


def compiler_error(error: Exception, generated: Generated) -> str:
    """The first thing that a compiler says against a variant, with the line in its text."""
    if "cuModuleGetFunction" in str(error):
        return f"there is no kernel {generated.name!r} in the source"
    return explain(error, generated.source).split("\n")[0]
