"""The broadcasting rule, drawn from shapes: which axes meet, which are repeated, which clash."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes

from ..formats import aligned
from .layout import element_text, shape_of
from .style import SHADES, box, canvas, show, style, text_at

MAX_OPERANDS, MAX_AXES = 6, 8
MAX_ROWS, MAX_COLUMNS = 6, 8  # of the elements drawn below the table
LETTERS = "abcdef"
Shape = tuple[int, ...]


def clash(names: list[str], shapes: list[Shape]) -> str | None:
    """What keeps `shapes` from broadcasting, as a sentence with the axis and both sizes, or None.

    Axes are counted from the right, as the rule does: axis -1 is the last one of every operand.
    """
    for axis in range(-1, -1 - max(map(len, shapes), default=0), -1):
        sizes = {name: shape[axis] for name, shape in zip(names, shapes)
                 if len(shape) >= -axis and shape[axis] != 1}
        first, *others = sizes or ("",)
        for other in others:
            if sizes[other] != sizes[first]:
                return (f"{first} and {other} do not broadcast: axis {axis} has size"
                        f" {sizes[first]} in {first} and {sizes[other]} in {other};"
                        " they must be equal, or one of them 1.")
    return None


def _advice(names: list[str], shapes: list[Shape]) -> str:
    """A new axis that would make two operands fit, where there is one."""
    if len(shapes) != 2:
        return ""
    long, short = sorted((0, 1), key=lambda k: -len(shapes[k]))
    missing = len(shapes[long]) - len(shapes[short])
    for place in range(missing, 0, -1):  # the fewest axes moved first
        padded = shapes[short] + (1,) * place
        if clash(names, [shapes[long], padded]) is None:
            index = "[..., None]" if place == 1 else f"[..., {', '.join(['None'] * place)}]"
            return f" {names[short]}{index}, of shape {padded}, would fit."
    return ""


def _operands(given: tuple, named: dict) -> tuple[list[str], list[Shape], list]:
    everyone = dict(zip(LETTERS, given)) | named
    if len(everyone) != len(given) + len(named) or not 1 <= len(everyone) <= MAX_OPERANDS:
        raise ValueError(f"draw.broadcast() draws 1 to {MAX_OPERANDS} operands, each with a name"
                         " of its own.")
    names, shapes, arrays = [], [], []
    for name, operand in everyone.items():
        numbers = isinstance(operand, (np.ndarray, np.generic, int, float, complex))
        array = np.asarray(operand) if numbers else None
        shape = shape_of(array if numbers else operand, name)
        if len(shape) > MAX_AXES:
            raise ValueError(f"{name} has {len(shape)} axes; draw.broadcast() draws at most"
                             f" {MAX_AXES}.")
        names.append(name)
        shapes.append(shape)
        arrays.append(array)
    return names, shapes, arrays


def broadcast(*operands: object, **named: object) -> None:
    """Draw how operands broadcast against each other, and print the same facts.

    The table lines their axes up from the right: an axis of size one and a missing axis are
    repeated. Where the result is small and has at most two axes, each operand is also drawn as
    the operation sees it, with its repeated elements in dashed frames.

    Parameters
    ----------
    operands
        Arrays, numbers, or shapes as tuples; called a, b, c and so on.
    named
        The same with names of your choice: `draw.broadcast(x=x, mean=mean)`.

    Raises
    ------
    TypeError
        For anything else.
    ValueError
        For shapes that do not broadcast: names the axis and both sizes. The table is drawn before,
        with that axis marked.
    """
    names, shapes, arrays = _operands(operands, named)
    problem = clash(names, shapes)
    axes = max(map(len, shapes))
    padded = [(None,) * (axes - len(shape)) + shape for shape in shapes]
    result = [_together([row[k] for row in padded]) for k in range(axes)]
    with style():
        _figure(names, shapes, arrays, padded, result)
        show("Shapes set against each other from the right, as broadcasting does",
             _as_text(names, shapes, arrays, padded, result))
    if problem:
        raise ValueError(problem + _advice(names, shapes))


def _together(sizes: list[int | None]) -> int | None:
    """The size that an axis gets, or None where two sizes clash."""
    distinct = {size for size in sizes if size not in (None, 1)}
    if len(distinct) > 1:
        return None
    return distinct.pop() if distinct else 1


def _as_text(names, shapes, arrays, padded, result) -> str:
    head = [f"{name} {shape}" for name, shape in zip(names, shapes)]
    cells = [["axis", *(str(k - len(result)) for k in range(len(result)))]]
    for label, row in zip(head, padded):
        cells.append([label, *("." if size is None else str(size) for size in row)])
    cells.append(["together", *("clash" if size is None else str(size) for size in result)])
    lines = [line.rstrip() for line in aligned(cells)]
    if None in result:
        return "\n".join(lines)
    for name, array, row in zip(names, arrays, padded):
        repeated = [f"axis {k - len(result)} ({size} -> {n})" if size == 1 else
                    f"axis {k - len(result)} (missing -> {n})"
                    for k, (size, n) in enumerate(zip(row, result)) if size is None or size != n]
        text = "is repeated along " + ", ".join(repeated) if repeated else "is used as it is"
        if array is not None:
            strides = np.broadcast_to(array, result).strides
            text += f"; its strides become {strides}"
        lines.append(f"{name} {text}")
    lines.append(f"result {tuple(result)}: {math.prod(result):,} elements")
    return "\n".join(lines)


def _figure(names, shapes, arrays, padded, result) -> None:
    left = 0.7 + 0.16 * max(len(f"{name} {shape}") for name, shape in zip(names, shapes))
    wide, row = 1.25, 0.62
    table = len(names) + 1
    small = (None not in result and len(result) <= 2
             and (result or [1])[0] <= (MAX_ROWS if len(result) == 2 else MAX_COLUMNS)
             and (result or [1])[-1] <= MAX_COLUMNS and 0 not in result)
    height, columns = ([1, 1] + result)[-2:] if small else (0, 0)
    blocks_width = len(names) * (columns + 1.2) - 1.2 if small else 0
    width = max(left + wide * max(len(result), 1) + 0.2, blocks_width, 5)
    depth = 0.5 + row * table + (1.1 + height * 0.8 if small else 0)
    axes = canvas(0.6 * (width + 0.4), 0.6 * (depth + 0.3), (-0.2, width + 0.2),
                  (depth + 0.15, -0.15))
    for k in range(len(result)):
        text_at(axes, left + wide * (k + 0.5), 0.3, f"axis {k - len(result)}")
    for i, (name, shape, sizes) in enumerate(zip(names, shapes, padded)):
        y = 0.5 + row * i
        axes.text(0, y + row / 2, f"{name} {shape}", va="center", fontsize=9,
                  family="DejaVu Sans Mono")
        for k, size in enumerate(sizes):
            _size(axes, left + wide * k, y, wide, row, size, result[k])
    y = 0.5 + row * len(names)
    axes.text(0, y + row / 2, "together", va="center", fontsize=9, weight="bold")
    for k, size in enumerate(result):
        text = "clash" if size is None else str(size)
        text_at(axes, left + wide * (k + 0.5), y + row / 2, text, 11, weight="bold")
    if small:
        _elements(axes, names, shapes, arrays, (height, columns), 0.5 + row * table + 0.7)


def _size(axes: Axes, x: float, y: float, wide: float, row: float, size: int | None,
          result: int | None) -> None:
    """One axis of one operand: its own size, what it is repeated to, or the mark of a clash."""
    own = size is not None and size == result
    clashes = result is None and size not in (None, 1)
    box(axes, x + 0.05, y + 0.05, wide - 0.1, row - 0.1, linewidth=2.2 if clashes else 1,
        fill=SHADES[0] if own else SHADES[5] if clashes else "white",
        linestyle="-" if own or clashes else "--", hatch="//" if clashes else "")
    if result is None:
        text = f"{size}" if clashes else "1" if size == 1 else "none"
    else:
        text = f"{size}" if own else f"1 \u2192 {result}" if size == 1 else f"none \u2192 {result}"
    text_at(axes, x + wide / 2, y + row / 2, text, 9 if len(text) < 10 else 7,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1} if clashes else None)


def _elements(axes: Axes, names, shapes, arrays, grid: tuple[int, int], top: float) -> None:
    """Each operand as the operation sees it: repeated elements in a dashed frame."""
    rows, columns = grid
    for k, (name, shape, array) in enumerate(zip(names, shapes, arrays)):
        left = k * (columns + 1.2)
        axes.text(left, top - 0.2, f"{name}, as the operation sees it" if columns > 4 else name,
                  fontsize=9)
        own = ((1, 1) + shape)[-2:]
        numbers = np.broadcast_to(np.arange(math.prod(shape)).reshape(own), grid)
        for i, j in np.ndindex(*grid):
            original = i < own[0] and j < own[1]
            number = int(numbers[i, j])
            shade = SHADES[number % len(SHADES)] if own != grid else SHADES[0]
            value = (",".join(map(str, np.unravel_index(number, shape))) if array is None
                     else element_text(array.flat[number]))
            box(axes, left + j + 0.04, top + 0.8 * i + 0.04, 0.92, 0.72, fill=shade, linewidth=1,
                linestyle="-" if original else "--")
            text_at(axes, left + j + 0.5, top + 0.8 * i + 0.4, value, 9 if len(value) < 5 else 7,
                    fontweight="bold" if original and own != grid else "normal")
