"""What a variant is tried with, whether its result is right, and what it failed at."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from .. import backend
from ..errors import find_compiler_error, message
from .variant import Generated, Tuned

# Relative tolerances where none is given: a few dozen roundings.
RTOL = {"float16": 1e-2, "float32": 1e-5, "float64": 1e-12}
PIECE = 2**22  # bytes that one thread compares at a time


class Failure(Exception):
    """What a variant failed at: `state` is the step, the text says why."""

    def __init__(self, state: str, text: str) -> None:
        super().__init__(text)
        self.state = state


@dataclass(frozen=True)
class Case:
    """Arguments for one launch, and what some of its arrays must hold after it.

    Attributes
    ----------
    args : tuple
        NumPy arrays and scalars.
    expected : dict
        By the argument's number: the array that it must hold after the launch.
    rtol, atol : float
        Tolerances; `rtol` None picks that of the dtype.
    name : str
        Of a case that is only checked, "" for the one that is measured.
    """

    args: tuple
    expected: dict[int, np.ndarray]
    rtol: float | None
    atol: float
    name: str = ""

    def check(self, arrays: dict[int, np.ndarray]) -> None:
        """Raise a Failure where an array does not hold what is expected."""
        which = f" ({self.name})" if self.name else ""
        for number, expected in self.expected.items():
            if text := difference(arrays[number], expected, self.rtol, self.atol):
                raise Failure("wrong", f"{text}{which}")


def difference(got: np.ndarray, expected: np.ndarray, rtol: float | None,
               atol: float) -> str | None:
    """Say how `got` differs from `expected` of the same shape; None where it does not.

    Numbers agree when they differ by no more than `atol + rtol * abs(expected)`; nan agrees with
    nan, an infinity with itself, integers with equal ones.
    """
    if rtol is None:
        rtol = RTOL.get(got.dtype.name, 0.0)
    one, other = got.reshape(-1), np.ascontiguousarray(expected).reshape(-1)
    step = PIECE // got.itemsize

    def wrong(at: int) -> np.ndarray:
        g, e = one[at:at + step], other[at:at + step]
        same = g == e
        if same.all():
            return np.empty(0, np.intp)
        if got.dtype.kind in "fc":
            same |= np.isclose(g, e, rtol=rtol, atol=atol, equal_nan=True)
        return at + np.flatnonzero(~same)

    with ThreadPoolExecutor(backend.cores()) as pool:  # NumPy frees the interpreter meanwhile
        found = list(pool.map(wrong, range(0, one.size, step)))
    count = sum(places.size for places in found)
    if not count:
        return None
    first = next(places[0] for places in found if places.size)
    index = ", ".join(map(str, np.unravel_index(first, got.shape)))
    verb = "is" if count == 1 else "are"
    return (f"{count:,} of {one.size:,} numbers {verb} wrong, the first at [{index}]:"
            f" {one[first]} instead of {other[first]}")


def compiled(generated: Generated) -> Tuned:
    """The variant as something to launch; a Failure where it does not compile."""
    try:
        return Tuned(generated)
    except Exception as error:
        if "CompileError" in {kind.__name__ for kind in type(error).__mro__}:
            raise Failure("compile", compiler_error(error)) from error
        if "not found" in str(error):
            text = f"there is no kernel {generated.name!r} in the source"
            raise Failure("compile", text) from error
        raise Failure("compile", one_line(error)) from error


def one_line(error: Exception) -> str:
    """The first line of an error's message, with its type."""
    return message(error).split("\n")[0]


def compiler_error(error: Exception, lines_before: int = 1) -> str:
    """The first thing that a compiler says against a variant, with the line in its text.

    Before that text nvcc sees one line of PyCUDA's: extern "C" {
    """
    found = find_compiler_error(message(error))
    if found is None:
        return one_line(error)
    return f"line {found.line - lines_before}: {found.text}"


def launch_shape(generated: Generated, args: Sequence) -> tuple[tuple, tuple]:
    """Grid and block for these arguments; a Failure where they are none."""
    try:
        return generated.launch_shape(args)
    except Exception as error:
        raise Failure("launch", str(error)) from error
