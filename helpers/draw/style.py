"""Colours and fonts that all pictures share: safe for colour-blind readers and legible in grey."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb

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


def show(about: str, text: str = "", printed: bool = True) -> None:
    """Show the current figure with its alternative text, and print the same facts.

    Parameters
    ----------
    about, text : str
        What the picture shows in a few words, and its facts. A notebook's output keeps both as the
        picture's "alt", which pages made from it give to screen readers.
    printed : bool
        Whether `text` is printed; not where the caller does so.
    """
    alt = {"image/png": {"alt": f"{about}.\n{text}".strip()}}
    # IPython takes the metadata from here, and the picture itself from Matplotlib's own formatter.
    plt.gcf()._repr_mimebundle_ = lambda include=None, exclude=None: ({}, alt)
    plt.show()
    if printed and text:
        print(text)


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
