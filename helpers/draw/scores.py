"""The scores of attention as a matrix of tiles, and what one thread computes of them."""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from .gpu import _count
from .style import COLOURS, FAINT, INK, SHADES, box, show, style, text_at

FULL, PARTLY, NEVER, NOW = SHADES[0], SHADES[1], "white", COLOURS[0]
MOST = 64  # tiles along one side that can still be told apart


def scores(queries: int, keys: int, tile: tuple[int, int], causal: bool = False,
           block: int | None = None) -> None:
    """Draw the tiles of a score matrix, and print how many of them are computed.

    Parameters
    ----------
    queries, keys : int
        Rows and columns of the matrix.
    tile : (int, int)
        Rows and columns of a tile.
    causal : bool
        Query i may use keys 0 to i only: tiles above the diagonal are skipped, tiles on it masked.
    block : int, optional
        A row of tiles to mark, with the order in which its tiles are visited.

    Raises
    ------
    ValueError
        For sizes below one, more than 64 tiles along a side, or a block that is not there.
    """
    queries, keys = _count("queries", queries), _count("keys", keys)
    rows, columns = _count("tile[0]", tile[0]), _count("tile[1]", tile[1])
    high, wide = -(-queries // rows), -(-keys // columns)
    if max(high, wide) > MOST:
        raise ValueError(f"{high} x {wide} tiles are too many to draw, {MOST} along a side is the"
                         " limit: take fewer queries and keys, or a larger tile.")
    if block is not None and not 0 <= block < high:
        raise ValueError(f"block={block}: there are blocks 0 to {high - 1}.")
    kinds = [[_kind(i, j, rows, columns, queries, keys, causal) for j in range(wide)]
             for i in range(high)]
    with style():
        figure = plt.figure(figsize=(6.4, 4.2))
        axes = figure.add_axes((0.09, 0.02, 0.55, 0.86))
        _matrix(axes, kinds, queries, keys, rows, columns, block)
        if causal:
            end = min(queries, keys)
            axes.plot([0, end], [0, end], color=INK, linewidth=1.5, zorder=2)
        _legend(figure.add_axes((0.66, 0.02, 0.33, 0.86)), kinds, block)
        show("The scores of attention in tiles",
             _text(kinds, queries, keys, rows, columns, block))


def shares(side: int, d: int, thread: tuple[int, int]) -> None:
    """Draw what one thread of lesson 16's kernel computes of a tile and of the answers.

    Parameters
    ----------
    side : int
        Queries of the block and keys of the tile, a multiple of 16.
    d : int
        Numbers of an answer, a multiple of 16.
    thread : (int, int)
        `threadIdx.x`, 0 to 15, and `threadIdx.y`, 0 to 7.

    Raises
    ------
    ValueError
        For sizes that 16 does not divide, or a thread that is not there.
    """
    side, d = _count("side", side), _count("d", d)
    if side % 16 or d % 16:
        raise ValueError(f"side={side} and d={d} must be multiples of 16: the block's threads are"
                         " 16 across.")
    x, y = thread
    if not (0 <= x < 16 and 0 <= y < 8):
        raise ValueError(f"thread={thread}: x goes from 0 to 15, y from 0 to 7.")
    rows = side // 8
    keys, numbers = range(x, side, 16), range(x, d, 16)
    with style():
        figure = plt.figure(figsize=(8.0, 3.2))
        for k, (columns, across, title) in enumerate((
                (keys, side, f"scores: {side} queries, {side} keys"),
                (numbers, d, f"answers: {side} queries, {d} numbers"))):
            axes = figure.add_axes((0.05 + 0.38 * k, 0.09, 0.33, 0.78))
            _share(axes, side, across, rows, y, columns)
            axes.set_title(title, fontsize=9)
        handles = [Patch(facecolor=NOW, edgecolor=INK, label=f"thread ({x}, {y})"),
                   Patch(facecolor=FULL, edgecolor=INK, label="its warp")]
        figure.legend(handles=handles, loc="upper left", bbox_to_anchor=(0.79, 0.93),
                      frameon=False, fontsize=9)
        show("What one thread computes of a tile and of the answers",
             f"Thread ({x}, {y}): queries {rows * y} to {rows * y + rows - 1},"
             f" keys {', '.join(map(str, keys))},\n"
             f"numbers {', '.join(map(str, numbers))} of the answers.\n"
             f"{rows * len(keys)} scores and {rows * len(numbers)} numbers in its registers; its"
             f" warp\nhas all keys of queries {2 * rows * (y // 2)} to"
             f" {2 * rows * (y // 2 + 1) - 1}.")


def _share(axes: Axes, side: int, across: int, rows: int, y: int, columns: range) -> None:
    box(axes, 0, 0, across, side, linewidth=1)
    box(axes, 0, 2 * rows * (y // 2), across, 2 * rows, fill=FULL, linewidth=1)
    for i in range(rows):
        for j in columns:
            box(axes, j, rows * y + i, 1, fill=NOW, edgecolor="none", linewidth=1)
    axes.set_xlim(-1, max(across, side) + 1)
    axes.set_ylim(side + 1, -1)
    axes.set_aspect("equal")
    axes.set_anchor("NW")
    axes.set_xticks([j + 0.5 for j in columns], [str(j) for j in columns])
    ends = [rows * y, rows * (y + 1) - 1][:1 if 12 * rows < max(across, side) else 2]
    axes.set_yticks([i + 0.5 for i in ends], [str(i) for i in ends])
    axes.tick_params(length=3, labelsize=8)
    axes.spines[:].set_visible(False)


def _kind(i: int, j: int, rows: int, columns: int, queries: int, keys: int, causal: bool) -> str:
    """Of the tile in row i and column j: "full", "partly" (a mask is needed) or "never"."""
    if not causal:
        return "full"
    last_query, last_key = min((i + 1) * rows, queries) - 1, min((j + 1) * columns, keys) - 1
    if j * columns > last_query:
        return "never"
    return "full" if last_key <= i * rows else "partly"


def _matrix(axes: Axes, kinds: list[list[str]], queries: int, keys: int, rows: int, columns: int,
            block: int | None) -> None:
    fills = {"full": FULL, "partly": PARTLY, "never": NEVER}
    order = 0
    for i, line in enumerate(kinds):
        for j, kind in enumerate(line):
            x, y = j * columns, i * rows
            width, height = min(columns, keys - x), min(rows, queries - y)
            marked = i == block and kind != "never"
            box(axes, x, y, width, height, fill=fills[kind], linewidth=0.6,
                edgecolor=INK if kind != "never" else FAINT, hatch="//" if kind == "partly" else "")
            if marked:
                box(axes, x, y, width, height, fill="none", edgecolor=NOW, linewidth=2.5, zorder=3)
                text_at(axes, x + width / 2, y + height / 2, str(order), 9, zorder=4,
                        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})
                order += 1
    axes.set_xlim(-0.01 * keys, 1.01 * keys)
    axes.set_ylim(1.01 * queries, -0.01 * queries)
    axes.set_aspect("equal" if 0.4 < queries / keys < 2.5 else "auto")
    axes.set_anchor("NW")
    axes.xaxis.tick_top()
    axes.set_xticks([0, keys], ["0", f"{keys} keys"])
    axes.set_yticks([0, queries], ["0", f"{queries}\nqueries"])
    axes.tick_params(length=0, labelsize=9)
    axes.spines[:].set_visible(False)


def _legend(axes: Axes, kinds: list[list[str]], block: int | None) -> None:
    flat = [kind for line in kinds for kind in line]
    names = {"full": ("computed", FULL, None), "partly": ("computed and masked", PARTLY, "//"),
             "never": ("never touched", NEVER, None)}
    handles = [Patch(facecolor=fill, edgecolor=INK if kind != "never" else FAINT, hatch=hatch,
                     label=label)
               for kind, (label, fill, hatch) in names.items() if kind in flat]
    if block is not None:
        handles.append(Patch(facecolor="white", edgecolor=NOW, linewidth=2.5,
                             label="one block, and the\norder of its tiles"))
    axes.legend(handles=handles, loc="upper left", frameon=False, fontsize=9)
    axes.axis("off")


def _text(kinds: list[list[str]], queries: int, keys: int, rows: int, columns: int,
          block: int | None) -> str:
    flat = [kind for line in kinds for kind in line]
    text = (f"{queries} x {keys} scores in tiles of {rows} x {columns}: {len(kinds)} x"
            f" {len(kinds[0])} = {len(flat)} tiles")
    if "never" in flat or "partly" in flat:
        text += (f",\n{flat.count('full')} computed, {flat.count('partly')} computed and masked,"
                 f" {flat.count('never')} never touched.")
    else:
        text += ", all computed."
    if block is not None:
        mine = sum(kind != "never" for kind in kinds[block])
        text += f"\nBlock {block} visits {mine} of them, one after the other."
    return text
