"""Which numbers a block and a thread of a tiled matrix product read."""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from .gpu import _count
from .style import COLOURS, FAINT, INK, SHADES, box, show, style

LEFT, RIGHT, BOTH = COLOURS[0], COLOURS[1], COLOURS[2]


def tiles(m: int, n: int, k: int, tile: tuple[int, int], depth: int = 1,
          thread: tuple[int, int] | None = None) -> None:
    """Draw what one block of the product of A (m x k) and B (k x n) reads, and print the counts.

    Parameters
    ----------
    m, n, k : int
        C is m x n.
    tile : (int, int)
        Rows and columns of C that a block computes.
    depth : int
        Columns of A, and rows of B, that are in shared memory at a time.
    thread : (int, int), optional
        Rows and columns of C that a thread computes: drawn in a second panel.

    Raises
    ------
    ValueError
        For sizes below one, or a tile larger than C, or a thread's share larger than the tile.
    """
    m, n, k = (_count(*pair) for pair in (("m", m), ("n", n), ("k", k)))
    rows, columns = _count("tile[0]", tile[0]), _count("tile[1]", tile[1])
    depth = _count("depth", depth)
    if rows > m or columns > n or depth > k:
        raise ValueError(f"a tile of {rows} x {columns} and depth {depth} is larger than"
                         f" C, {m} x {n}, with k = {k}.")
    if thread is not None and (thread[0] > rows or thread[1] > columns):
        raise ValueError(f"a thread's {thread[0]} x {thread[1]} elements are more than the tile's"
                         f" {rows} x {columns}.")
    with style():
        figure = plt.figure(figsize=(8.5 if thread else 5.2, 4.2))
        axes = figure.add_axes((0.01, 0.02, 0.58 if thread else 0.96, 0.94))
        _matrices(axes, m, n, k, rows, columns, depth)
        if thread:
            _one_tile(figure.add_axes((0.62, 0.02, 0.37, 0.94)), rows, columns, *thread)
        show("The tiles of a matrix product", _text(m, n, rows, columns, thread))


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


def _one_tile(axes: Axes, rows: int, columns: int, high: int, wide: int) -> None:
    gap = columns * 0.09
    for y in range(0, rows, high):
        for x in range(0, columns, wide):
            box(axes, x, y, wide, high, edgecolor=FAINT, linewidth=0.5)
    y, x = high * (rows // high // 2), wide * (columns // wide // 2)
    box(axes, x, y, wide, high, fill=BOTH, linewidth=1)
    box(axes, -gap, y, gap * 0.5, high, fill=LEFT, linewidth=1)
    box(axes, x, -gap, wide, gap * 0.5, fill=RIGHT, linewidth=1)
    axes.plot([-gap * 0.5, x], [y + high / 2] * 2, ":", color=INK, linewidth=1)
    axes.plot([x + wide / 2] * 2, [-gap * 0.5, y], ":", color=INK, linewidth=1)
    axes.text(0, rows + gap * 0.3, f"the tile, {rows} x {columns}: each cell is a thread\nwith"
                                   f" {high} x {wide} sums; one step needs\n{high} numbers of A and"
                                   f" {wide} of B", va="top", fontsize=8)
    axes.set_xlim(-gap * 1.2, columns + gap * 0.2)
    axes.set_ylim(rows + gap * 2.6, -gap * 1.2)
    axes.set_aspect("equal")
    axes.axis("off")


def _text(m: int, n: int, rows: int, columns: int, thread: tuple[int, int] | None) -> str:
    each = rows * columns / (rows + columns)
    lines = [f"A block computes {rows} x {columns} elements of C: for each of the k steps",
             f"it reads {rows} + {columns} numbers for {rows * columns} multiply-adds, {each:.3g}"
             " for each number.",
             f"The grid reads A {-(-n // columns)} times and B {-(-m // rows)} times."]
    if thread:
        high, wide = thread
        lines.append(f"A thread computes {high} x {wide}: for each step {high} + {wide} numbers,"
                     f" {high * wide} multiply-adds, {high * wide / (high + wide):.3g} for each.")
    return "\n".join(lines)
