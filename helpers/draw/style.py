"""Colours and fonts that all pictures share: safe for colour-blind readers and legible in grey."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle

# Paul Tol's "bright" set, ordered so that neighbours differ in lightness too.
COLOURS = ("#4477AA", "#CCBB44", "#AA3377", "#66CCEE", "#228833", "#EE6677")
# Fills for dark text: each differs from the others and from white in lightness too, so that they
# are told apart in grey.
SHADES = ("#DEECF9", "#EFD283", "#72BD97", "#C06FA0", "#BBC1C9", "#DC8653")
INK = "#222222"
FAINT = "#707070"


def ink_on(fill: tuple[float, ...] | str) -> str:
    """Black or white, whichever is read better on this fill (4.5 to 1 at the least)."""
    parts = np.array(to_rgb(fill))
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return "black" if linear @ [0.2126, 0.7152, 0.0722] > 0.179 else "white"


def show(about: str, text: str = "", printed: bool | None = None) -> None:
    """Show the current figure, with the same facts as text for those who cannot see it.

    Parameters
    ----------
    about, text : str
        What the picture shows in a few words, and its facts: the picture's "alt", and its text.
    printed : bool, optional
        Whether `text` is printed, too. By default only where no notebook shows the picture.
    """
    facts = f"{about}.\n{text}".strip()  # for IPython, beside the picture
    plt.gcf()._repr_mimebundle_ = lambda include=None, exclude=None: (
        {"text/plain": facts}, {"image/png": {"alt": facts}})
    plt.show()
    if text and ("inline" not in plt.get_backend() if printed is None else printed):
        print(text)


def canvas(width: float, height: float, x: tuple[float, float], y: tuple[float, float],
           frame: tuple[float, float, float, float] = (0, 0, 1, 1)) -> Axes:
    """A new figure of these inches; in its `frame` axes from `x` to `y` without lines or ticks."""
    axes = plt.figure(figsize=(round(width, 1), round(height, 1))).add_axes(frame)
    axes.set(xlim=x, ylim=y)
    axes.axis("off")
    return axes


def text_at(axes: Axes, x: float, y: float, text: str, size: float = 8, **options: object) -> None:
    """Text with its middle at a point."""
    axes.text(x, y, text, ha="center", va="center", fontsize=size, **options)


def box(axes: Axes, x: float, y: float, width: float, height: float = 1, text: str = "",
        fill: str = "white", size: float = 8, **options: object) -> None:
    """A rectangle, framed in ink unless `options` say otherwise, with text in its middle."""
    look = {"facecolor": fill, "edgecolor": INK, "linewidth": 0.8, **options}
    axes.add_patch(Rectangle((x, y), width, height, **look))
    if text:
        text_at(axes, x + width / 2, y + height / 2, text, size)


@contextmanager
def style() -> Iterator[None]:
    """The course's Matplotlib settings, for the duration of one picture."""
    settings = {
        "figure.dpi": 100,
        "font.family": "DejaVu Sans",
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlelocation": "left",
        "axes.titlesize": 11,
        "text.color": INK,
    }
    with plt.rc_context(settings):
        yield
