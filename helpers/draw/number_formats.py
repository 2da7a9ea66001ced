"""Number formats, bit by bit."""

from __future__ import annotations

from typing import NamedTuple

from .style import COLOURS, SHADES, box, canvas, show, style, text_at


class Format(NamedTuple):
    """Bits of a floating-point format behind its sign."""

    exponent: int
    fraction: int

    @property
    def eps(self) -> float:
        """The distance from 1 to the next number."""
        return 2.0 ** -self.fraction

    @property
    def largest(self) -> float:
        """The largest finite number."""
        return (2 - self.eps) * 2.0 ** (2 ** (self.exponent - 1) - 1)

    @property
    def smallest(self) -> float:
        """The smallest positive number with all its digits."""
        return 2.0 ** (2 - 2 ** (self.exponent - 1))


FORMATS = {
    "float32": Format(8, 23),
    "TF32": Format(8, 10),
    "bfloat16": Format(8, 7),
    "float16": Format(5, 10),
}


def formats() -> None:
    """Draw the bits of the formats that matrix products use, and print what they can hold."""
    with style():
        axes = canvas(8.5, 2.0, (-4.2, 32.2), (len(FORMATS) - 0.1, -0.1), (0.01, 0.02, 0.98, 0.96))
        for row, (name, (exponent, fraction)) in enumerate(FORMATS.items()):
            axes.text(-0.4, row + 0.45, name, ha="right", va="center")
            parts = ((1, COLOURS[2], "", ""), (exponent, SHADES[1], "//", "exponent"),
                     (fraction, SHADES[0], "", "fraction"))
            x = 0
            for bits, fill, hatch, what in parts:
                for bit in range(bits):
                    box(axes, x + bit, row, 1, 0.8, fill=fill, hatch=hatch, linewidth=0.5)
                if what:
                    text_at(axes, x + bits / 2, row + 0.4, f"{bits} {what}",
                            bbox={"facecolor": fill, "edgecolor": "none", "pad": 1})
                x += bits
        axes.text(17.4, 3.4, "dark: the sign", va="center", fontsize=8)
        show("The bits of each number format", "\n".join([
            f"{'':9} sign exponent fraction  1 and the next    largest   smallest",
            *(f"{name:9} {1:4} {f.exponent:8} {f.fraction:8}  1 + {f.eps:<10.2g}  {f.largest:9.3g}"
              f"  {f.smallest:9.2g}" for name, f in FORMATS.items())]))
