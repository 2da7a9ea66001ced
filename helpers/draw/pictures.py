"""Photographs, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np

from .style import COLOURS, show, style


def pictures(named: Mapping[str, np.ndarray],
             squares: Sequence[tuple[int, int, int]] = ()) -> None:
    """Draw grey pictures with their names, and print shape and brightness of each.

    Parameters
    ----------
    named : mapping of str to array
        By its name each picture, shape (rows, columns): 0 is black, 1 is white.
    squares : sequence of (row, column, size)
        Are outlined in each picture: first row, first column and pixels of a side.
    """
    width = max(map(len, named))
    lines = [f"{name:{width}}  {' x '.join(map(str, picture.shape))} pixels, mean brightness"
             f" {picture.mean():.2f}" for name, picture in named.items()]
    lines += [f"square of {n} x {n} pixels from row {i}, column {j}" for i, j, n in squares]
    with style():
        figure, axes = plt.subplots(1, len(named), figsize=(3.4 * len(named), 4.2),
                                    layout="constrained", squeeze=False)
        for place, (name, picture) in zip(axes[0], named.items()):
            place.imshow(picture, cmap="gray", vmin=0, vmax=1)
            place.set(title=name, xticks=[], yticks=[])
            for k, (row, column, size) in enumerate(squares):
                at = column - 0.5 + 0.12 * k, row - 0.5 + 0.12 * k  # common sides stay visible
                place.add_patch(plt.Rectangle(
                    at, size - 0.24 * k, size - 0.24 * k, fill=False, linewidth=3,
                    edgecolor=COLOURS[1 + k], linestyle=("-", "--", ":")[k % 3]))
        show(f"Grey pictures: {' and '.join(named)}", "\n".join(lines))
