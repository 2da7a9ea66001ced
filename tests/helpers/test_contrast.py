"""The measure of a picture's legibility, and the palette that all pictures share.

tests/conftest.py applies the measure to every figure that any test draws.
"""

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pytest
from contrast import GRAPHICS, LIGHTNESS, TEXT, contrast, faults, lightness
from matplotlib.patches import Rectangle

from helpers.draw.charts import HATCHES
from helpers.draw.style import COLOURS, FAINT, INK, SHADES, ink_on


def test_contrast_is_that_of_wcag():
    assert contrast("black", "white") == pytest.approx(21)
    assert contrast("#777777", "white") == pytest.approx(4.48, abs=0.01)
    assert contrast("white", "#767676") == pytest.approx(4.54, abs=0.01)
    assert lightness("white") == pytest.approx(100, abs=0.1) and lightness("black") == 0


def test_text_colours_are_legible_on_their_grounds():
    assert contrast(FAINT, "white") >= TEXT
    for ground in ("white", *SHADES):
        assert contrast(INK, ground) >= TEXT, ground
    for ground in (*COLOURS, *SHADES, *np.random.default_rng(0).random((200, 3))):
        assert contrast(ink_on(ground), ground) >= TEXT, ground


def test_lines_and_outlines_stand_out():
    assert contrast(INK, "white") >= GRAPHICS and contrast(FAINT, "white") >= GRAPHICS
    # Fills that do not stand out by themselves are drawn with an outline of this.
    assert max(contrast(INK, fill) for fill in COLOURS) >= GRAPHICS


def test_fills_are_told_apart_in_grey():
    for one, other in itertools.combinations(("white", *SHADES), 2):
        assert abs(lightness(one) - lightness(other)) >= LIGHTNESS, (one, other)
    # Bars of one chart differ in hatch as well.
    assert len(set(HATCHES)) == len(HATCHES) >= len(COLOURS)


@pytest.fixture
def axes():
    figure, axes = plt.subplots()
    axes.set(xlim=(0, 10), ylim=(0, 10))
    yield axes
    plt.close(figure)


def box(axes, x, fill, edge=INK, **more):
    axes.add_patch(Rectangle((x, 1), 2, 2, facecolor=fill, edgecolor=edge, **more))


@pytest.mark.parametrize("draw, words", [
    (lambda axes: axes.text(1, 1, "pale", color="#888888"), "text 'pale': contrast 3.5"),
    (lambda axes: (box(axes, 1, COLOURS[2]), axes.text(2, 2, "on", ha="center")), "text 'on'"),
    (lambda axes: (axes.imshow(np.zeros((2, 2)), cmap="gray", extent=(0, 9, 0, 9)),
                   axes.text(4, 4, "dark")), "text 'dark': contrast 1"),
    (lambda axes: axes.set_title("title", color="#AAAAAA"), "text 'title'"),
    (lambda axes: axes.plot([1, 2], [1, 2], color=COLOURS[1]), "line '_child0': contrast 2.0"),
    (lambda axes: axes.scatter([1], [1], color="#DDDDDD"), "points that stand out neither"),
    (lambda axes: box(axes, 1, SHADES[0], "none"), "area filled #DEECF9, outlined None"),
    (lambda axes: (box(axes, 1, "#F0D58C"), box(axes, 5, "#C3E3D3")), "lightness differs by 2"),
], ids=["text", "text on a fill", "text on an image", "title", "line", "points", "area", "fills"])
def test_what_is_hard_to_see_is_found(axes, draw, words):
    draw(axes)
    (found,) = faults(axes.figure)
    assert words in found
    plt.close(axes.figure)  # or tests/conftest.py would complain of it, too


def test_what_is_well_drawn_passes(axes):
    box(axes, 1, SHADES[0])
    box(axes, 4, "#F0D58C")
    box(axes, 7, "#C3E3D3", hatch="//")
    axes.text(2, 2, "on", ha="center", color=INK)
    axes.plot([1, 2], [5, 6], "o", color=COLOURS[1], markeredgecolor=INK)
    axes.plot([1, 2], [1, 2], color="white", linewidth=6)
    axes.plot([1, 2], [1, 2], color=INK)
    assert faults(axes.figure) == []
