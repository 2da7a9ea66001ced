"""What blocks and threads of a tiled matrix product read and compute."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from .gpu import _count
from .style import COLOURS, INK, SHADES, box, show, style

LEFT, RIGHT, BOTH = COLOURS[0], COLOURS[1], COLOURS[2]


def tiles(m: int, n: int, k: int, tile: tuple[int, int], depth: int = 1) -> None:
    """Draw what one block of the product of A (m x k) and B (k x n) reads, and print the counts.

    Parameters
    ----------
    m, n, k : int
        C is m x n.
    tile : (int, int)
        Rows and columns of C that a block computes.
    depth : int
        Columns of A, and rows of B, that are in shared memory at a time.

    Raises
    ------
    ValueError
        For sizes below one, or a tile larger than C.
    """
    m, n, k = (_count(*pair) for pair in (("m", m), ("n", n), ("k", k)))
    rows, columns = _count("tile[0]", tile[0]), _count("tile[1]", tile[1])
    depth = _count("depth", depth)
    if rows > m or columns > n or depth > k:
        raise ValueError(f"a tile of {rows} x {columns} and depth {depth} is larger than"
                         f" C, {m} x {n}, with k = {k}.")
    with style():
        figure = plt.figure(figsize=(5.2, 4.2))
        _matrices(figure.add_axes((0.01, 0.02, 0.96, 0.94)), m, n, k, rows, columns, depth)
        show("The tiles of a matrix product", _text(m, n, rows, columns))


def owners(*shapes: tuple[int, int], side: int = 16) -> None:
    """Draw C in blocks of `side` x `side` threads, and the numbers of one thread; print the counts.

    Each shape is a panel: the rows and columns of C that a thread computes, `side` apart. C is as
    large as the largest block.
    """
    high, wide = (side * max(sizes) for sizes in zip(*shapes))
    lines = []
    with style():
        _, panels = plt.subplots(1, len(shapes), squeeze=False, layout="constrained",
                                 figsize=(2.9 * len(shapes), 0.3 + 2.9 * high / wide))
        for axes, (rows, columns) in zip(panels[0], shapes):
            block = side * rows, side * columns
            for k, y in enumerate(range(0, high, block[0])):
                for q, x in enumerate(range(0, wide, block[1])):
                    fill = SHADES[4 * ((k + q) % 2)] if k or q else SHADES[5]
                    box(axes, x, y, *block[::-1], fill=fill, linewidth=0.5)
            for y in range(3, block[0], side):  # thread (5, 3) of the first block
                axes.plot(np.arange(5, block[1], side) + 0.5, [y + 0.5] * columns, "o", color=INK,
                          markersize=3)
            axes.set(xlim=(0, wide), ylim=(high, 0), aspect="equal", xticks=[], yticks=[],
                     title=f"{rows} x {columns} numbers a thread")
            lines.append(f"{rows} x {columns} numbers a thread: {-(-high // block[0])} x"
                         f" {-(-wide // block[1])} blocks, each has {block[0]} x {block[1]} of C.")
        show("Who computes which numbers of C", "\n".join(lines))


def _matrices(axes: Axes, m: int, n: int, k: int, rows: int, columns: int, depth: int) -> None:
    gap = max(m, n, k) * 0.12
    top, left = k + gap, k + gap  # of C
    at = rows * ((m // rows) // 2), columns * ((n // columns) // 2)  # the block in the middle
    now = depth * ((k // depth) // 2)
    for x, y, width, height, name in ((0, top, k, m, f"A  {m} x {k}"),
                                      (left, 0, n, k, f"B  {k} x {n}"),
                                      (left, top, n, m, f"C  {m} x {n}")):
        box(axes, x, y, width, height, linewidth=1)
        axes.text(x, y - gap * 0.12, name, va="bottom", fontsize=9)
    box(axes, 0, top + at[0], k, rows, fill=SHADES[0], linewidth=1)
    box(axes, left + at[1], 0, columns, k, fill=SHADES[1], linewidth=1)
    box(axes, left + at[1], top + at[0], columns, rows, fill=BOTH, linewidth=1)
    box(axes, now, top + at[0], depth, rows, fill=LEFT, linewidth=1)
    box(axes, left + at[1], now, columns, depth, fill=RIGHT, linewidth=1)
    axes.text(0, k * 0.45, "strips: read by the block\ndark slices: in shared memory\n"
                           "square in C: its result", fontsize=8, va="center")
    axes.set_xlim(-gap * 0.1, left + n + gap * 0.1)
    axes.set_ylim(top + m + gap * 0.1, -gap * 0.7)
    axes.set_aspect("equal")
    axes.axis("off")


def _text(m: int, n: int, rows: int, columns: int) -> str:
    each = rows * columns / (rows + columns)
    return (f"A block computes {rows} x {columns} numbers of C: for each of the k steps\n"
            f"it reads {rows} + {columns} numbers for {rows * columns} multiply-adds, {each:.3g}"
            f" for each number.\nThe grid reads A {-(-n // columns)} times and B {-(-m // rows)}"
            " times.")
