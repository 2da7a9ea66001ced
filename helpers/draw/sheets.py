"""The shapes of the arrays between a network's layers, as stacks of sheets."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.patches import Rectangle

from .style import canvas, show

STEP = 30  # from one stack to the next


def sheets(shapes: Mapping[str, tuple[int, ...]], title: str) -> None:
    """Draw each array as a stack of sheets, a sheet for up to four numbers of its last axis.

    Parameters
    ----------
    shapes : mapping of str to tuple of int
        Of each array its name and its shape, of one to three axes: rows, columns, channels.
    title : str
        What the picture shows, for its alternative text.

    Raises
    ------
    ValueError
        Where there are no arrays, or one has no axis or more than three.
    """
    if not shapes or not all(1 <= len(shape) <= 3 for shape in shapes.values()):
        raise ValueError("draw.sheets() needs at least one shape, and each of one to three axes.")
    axes = canvas(8.6, 1.4, (-3, STEP * len(shapes) - 1), (-27, 17))
    for left, (name, shape) in zip(range(0, STEP * len(shapes), STEP), shapes.items()):
        height, width = (*shape[:-1], 1, 1)[:2]
        for k in reversed(range(-(-shape[-1] // 4))):
            axes.add_patch(Rectangle((left + k, k - height / 2), width, height, ec="k", fc="#def"))
        axes.text(left, -12, f"{name}\n{shape}", va="top", fontsize=8)
    longest = max(map(len, shapes))
    show(title, "\n".join(f"{name:{longest}} {shape}" for name, shape in shapes.items()))
