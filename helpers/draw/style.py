"""Colours and fonts that all pictures share: safe for colour-blind readers and legible in grey."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib.pyplot as plt

# Paul Tol's "bright" set, ordered so that neighbours differ in lightness too.
COLOURS = ("#4477AA", "#CCBB44", "#AA3377", "#66CCEE", "#228833", "#EE6677")
# Light to dark shades for fills with dark text on them.
SHADES = ("#E4EFFA", "#F0D58C", "#C3E3D3", "#D9A9C6", "#DDE0E4", "#E8B08F")
INK = "#222222"
FAINT = "#9A9A9A"


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
