"""Whether a picture can be read: contrasts as WCAG 2.2 has them, and differences left in grey.

https://www.w3.org/TR/WCAG22, criteria 1.4.3 (text: 4.5 to 1), 1.4.11 (graphics: 3 to 1) and 1.4.1
(colour is not the only sign).
"""

import itertools

import numpy as np
from matplotlib.collections import PathCollection
from matplotlib.colors import to_rgba
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.text import Text

TEXT, GRAPHICS = 4.5, 3.0
# Two fills side by side are told apart in grey from this difference of lightness (0 to 100) on.
LIGHTNESS = 6
WHITE = (1.0, 1.0, 1.0)


def luminance(colour):
    """Relative luminance of an sRGB colour, 0 for black and 1 for white."""
    rgb = np.array(to_rgba(colour)[:3])
    return float(np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
                 @ [0.2126, 0.7152, 0.0722])


def contrast(one, other):
    """Contrast ratio, from 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def lightness(colour):
    """CIE L*, which steps as the eye sees them: 0 for black and 100 for white."""
    y = luminance(colour)
    return 116 * y ** (1 / 3) - 16 if y > 0.008856 else 903.3 * y


def over(colour, below=WHITE):
    """An RGBA colour painted over another one."""
    *rgb, alpha = to_rgba(colour)
    return tuple(alpha * np.array(rgb) + (1 - alpha) * np.array(below))


def faults(figure):
    """What in a figure is hard to see: one sentence each.

    Parameters
    ----------
    figure : matplotlib.figure.Figure

    Returns
    -------
    list of str
    """
    found = []
    for axes in figure.axes:
        if axes.get_visible():
            found += _texts(axes) + _lines(axes) + _outlines(axes) + _fills(axes)
    return list(dict.fromkeys(found))


def _fill(patch):
    """The patch's fill, or None where it has none."""
    colour = patch.get_facecolor()
    return over(colour) if patch.get_fill() and colour[3] > 0 else None


def _edge(patch):
    """The patch's outline, or None where there is none to be seen."""
    colour = patch.get_edgecolor()
    return over(colour) if colour[3] > 0 and patch.get_linewidth() >= 0.4 else None


def _patches(axes):
    """What is filled or framed, in the order in which it is painted."""
    every = [one for one in axes.patches
             if one.get_visible() and not isinstance(one, FancyArrowPatch)]
    return sorted(every, key=lambda patch: patch.get_zorder())


def _below(axes, text):
    """The colour that a text stands on."""
    box = text.get_bbox_patch()
    if box is not None and _fill(box) is not None:
        return _fill(box)
    extent = text.get_window_extent()
    middle = ((extent.x0 + extent.x1) / 2, (extent.y0 + extent.y1) / 2)
    below = WHITE
    for image in axes.images:
        below = _pixel(axes, image, middle, below)
    for patch in _patches(axes):
        if _fill(patch) is not None and patch.contains_point(middle):
            below = over(patch.get_facecolor(), below)
    return below


def _pixel(axes, image, place, below):
    x, y = axes.transData.inverted().transform(place)
    left, right, bottom, top = image.get_extent()
    values = image.get_array()
    u, v = (x - left) / (right - left), (y - top) / (bottom - top)
    if not (0 <= u < 1 and 0 <= v < 1):
        return below
    row, column = int(v * values.shape[0]), int(u * values.shape[1])
    return over(image.to_rgba(values)[row, column], below)


def _texts(axes):
    found = []
    for text in axes.findobj(Text):
        words = text.get_text().strip()
        if not words or not text.get_visible() or text.figure is None:
            continue
        below = _below(axes, text) if text in axes.texts else WHITE
        ratio = contrast(over(text.get_color(), below), below)
        if ratio < TEXT:
            found.append(f"text {words!r}: contrast {ratio:.1f}, less than {TEXT}")
    return found


def _lines(axes):
    found = []
    for line in axes.lines:
        marked = line.get_marker() not in (None, "None", "", " ")
        drawn = line.get_linestyle() not in ("None", "", " ")
        colour = line.get_markeredgecolor() if marked and not drawn else line.get_color()
        if luminance(colour) > 0.999:
            continue  # what keeps another line apart from the ground
        if (ratio := contrast(over(colour), WHITE)) < GRAPHICS:
            found.append(f"line {line.get_label()!r}: contrast {ratio:.1f}, less than {GRAPHICS}")
    for points in (one for one in axes.collections if isinstance(one, PathCollection)):
        for fill, edge in zip(points.get_facecolors(), points.get_edgecolors()):
            if max(contrast(over(fill), WHITE), contrast(over(edge), WHITE)) < GRAPHICS:
                found.append("points that stand out neither by fill nor by outline")
    return found


def _bounds(patch):
    return tuple(np.round(patch.get_window_extent().bounds, 1))


def _outlines(axes):
    """Each area must stand out by its fill or by its outline."""
    framed = {_bounds(patch) for patch in _patches(axes)
              if _edge(patch) is not None and contrast(_edge(patch), WHITE) >= GRAPHICS}
    found = []
    for patch in _patches(axes):
        fill, edge = _fill(patch), _edge(patch)
        if fill is None and edge is None:
            continue
        best = max(contrast(colour, WHITE) for colour in (fill, edge) if colour is not None)
        white = fill is not None and edge is None and luminance(fill) > 0.999
        if best < GRAPHICS and not white and _bounds(patch) not in framed:
            found.append(f"area filled {fill and _name(fill)}, outlined {edge and _name(edge)}:"
                         f" contrast {best:.1f}, less than {GRAPHICS}")
    return found


def _looks(patch):
    """What tells an area from another one besides its colour."""
    return patch.get_hatch() or "", str(patch.get_linestyle()), patch.get_linewidth()


def _fills(axes):
    """Areas of two colours must differ in grey, too: in lightness or in hatch or outline.

    Pictures of many shades (more than eight: a scale) are left out; they print their numbers.
    """
    kinds = {}
    for patch in _patches(axes):
        if _fill(patch) is not None and not isinstance(patch, FancyBboxPatch):
            kinds.setdefault((tuple(np.round(_fill(patch), 3)), *_looks(patch)), patch)
    if len({colour for colour, *_ in kinds}) > 8:
        return []
    found = []
    for (one, *looks), (other, *others) in itertools.combinations(kinds, 2):
        apart = abs(lightness(one) - lightness(other))
        if one != other and looks == others and apart < LIGHTNESS:
            found.append(f"fills {_name(one)} and {_name(other)}: lightness differs by {apart:.0f},"
                         f" less than {LIGHTNESS}, with the same hatch and outline")
    return found


def _name(colour):
    return "#" + "".join(f"{round(255 * part):02X}" for part in colour)


