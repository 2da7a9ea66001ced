"""Numbers with units and columns that line up, as all of the course's tables have them."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real


def with_unit(value: float, unit: str) -> str:
    """Three significant digits and a decimal prefix: `with_unit(2.5e-5, "s")` is "25.0 us"."""
    factor, prefix = _prefix(value)
    return f"{_three_digits(value / factor)} {prefix}{unit}"


def range_with_unit(low: float, high: float, unit: str) -> str:
    """Two values with one prefix: `range_with_unit(9.5e-4, 2.5e-3, "s")` is "0.95-2.50 ms"."""
    factor, prefix = _prefix(high)
    return f"{_three_digits(low / factor)}-{_three_digits(high / factor)} {prefix}{unit}"


def _prefix(value: float) -> tuple[float, str]:
    """The largest decimal prefix with which `value` is 1 or more, as factor and letter."""
    if value == 0:
        return 1, ""
    return next(((factor, prefix) for factor, prefix in (
        (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""), (1e-3, "m"), (1e-6, "u"))
        if abs(value) >= factor * 0.9995), (1e-9, "n"))


def _three_digits(number: float) -> str:
    if number == 0:
        return "0"
    return f"{number:.{2 if abs(number) < 9.995 else 1 if abs(number) < 99.95 else 0}f}"


def aligned(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """One line for each row, its columns as wide as their longest cell.

    The first `left` columns begin on the left, the others end on the right.
    """
    widths = [max(map(len, column)) for column in zip(*rows)]
    return [
        "  ".join(cell.ljust(width) if k < left else cell.rjust(width)
                  for k, (cell, width) in enumerate(zip(row, widths)))
        for row in rows
    ]


def listed(things: Sequence[object]) -> str:
    """The things as text, with "and" before the last of several."""
    *most, last = map(str, things)
    return f"{', '.join(most)} and {last}" if most else last


def show_predictions(*rows: tuple) -> None:
    """Print what the learner predicted beside what was measured.

    Parameters
    ----------
    rows : tuple
        Name, prediction, measured value and, for numbers, a unit: `("copied", copied, 24, "MB")`.
        A prediction that was left at `...` is shown as "-", and whatever else was typed as it is.
    """
    cells = [("", "yours", "measured")]
    for name, yours, measured, *unit in rows:
        cells.append((name, _as_typed(yours, *unit), _as_typed(measured, *unit)))
    print("\n".join(aligned(cells)))


def _as_typed(value: object, unit: str = "") -> str:
    """An integer with all its digits, another number with three, anything else as text."""
    if value is ...:
        return "-"
    if not isinstance(value, Real) or isinstance(value, bool):
        return str(value)
    whole = isinstance(value, Integral) or abs(value) >= 999.5
    return f"{f'{value:,.0f}' if whole else _three_digits(value)} {unit}".strip()


def duration(seconds: float) -> str:
    """A time in the largest unit of which it has at least one: "31 hours", "10 seconds"."""
    for unit, size in (("years", 31_557_600), ("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.2g} {unit}" if seconds < 9.5 * size else \
                f"{seconds / size:.0f} {unit}"
    return f"{seconds:.2g} seconds" if seconds < 9.5 else f"{seconds:.0f} seconds"
