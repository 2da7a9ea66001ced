"""A strided array over its buffer: where each element lies, byte for byte."""

from __future__ import annotations

import itertools

import numpy as np
from matplotlib.axes import Axes

from .style import FAINT, INK, SHADES, box, canvas, show, style, text_at

MAX_CELLS = 96
MAX_WIDTH = 100  # characters in a line of the text
MAX_NOTES = 4  # indices listed below one cell of the picture
MIN_COLUMNS = 9  # keeps the headings inside a picture of few cells


def owner_of(x: np.ndarray) -> np.ndarray:
    """The array at the end of `x`'s chain of bases: the one that has the buffer.

    `as_strided` puts an object of its own into the chain, which is skipped.
    """
    owner = x
    while True:
        base = owner.base
        if not isinstance(base, np.ndarray):
            base = getattr(base, "base", None)
        if not isinstance(base, np.ndarray):
            return owner
        owner = base


def address(x: np.ndarray) -> int:
    """Address of `x`'s first element."""
    return x.__array_interface__["data"][0]


def shape_of(operand: object, name: str) -> tuple[int, ...]:
    """The shape of an array, or the tuple that is given as one; a TypeError for anything else."""
    shape = operand if isinstance(operand, tuple) else getattr(operand, "shape", None)
    if not isinstance(shape, tuple) or not all(
            isinstance(n, (int, np.integer)) and n >= 0 for n in shape):
        kind = f"the tuple {operand!r}" if isinstance(operand, tuple) else type(operand).__name__
        raise TypeError(f"{name} must be an array, or a shape as a tuple of whole numbers, none of"
                        f" them negative, not {kind}.")
    return tuple(map(int, shape))


class _Layout:
    """Cells of the buffer, and which indices of the array land on each."""

    def __init__(self, x: np.ndarray, unit: str) -> None:
        if not isinstance(x, np.ndarray):
            raise TypeError(f"draw.memory() draws NumPy arrays, not {type(x).__name__}.")
        if unit not in ("element", "byte"):
            raise ValueError(f'unit={unit!r} is unknown; it must be "element" or "byte".')
        if x.dtype.hasobject:
            raise TypeError(f"draw.memory() cannot draw {x.dtype}: its buffer holds pointers.")
        owner = owner_of(x)
        start, stop = np.lib.array_utils.byte_bounds(owner)
        self.array, self.bytes = x, stop - start
        self.offset = address(x) - start
        self.step = 1 if unit == "byte" else x.itemsize
        first = self.offset % self.step  # a view may start between the base's elements
        if self.bytes // self.step > MAX_CELLS:
            raise ValueError(
                f"The buffer has {self.bytes} bytes, {self.bytes // self.step} cells of"
                f" {self.step} B; draw.memory() draws at most {MAX_CELLS}. Draw a smaller example."
            )
        raw = np.ndarray(self.bytes, np.uint8, buffer=_buffer(owner, start, self.bytes))
        self.at = list(range(first, self.bytes - self.step + 1, self.step))
        if unit == "byte":
            self.values = [f"{raw[k]:02x}" for k in self.at]
        else:
            self.values = [_text(raw[k:k + self.step].tobytes(), x.dtype) for k in self.at]
        self.indices: dict[int, list[tuple[int, ...]]] = {k: [] for k in self.at}
        for index in itertools.product(*map(range, x.shape)):
            place = self.offset + sum(i * s for i, s in zip(index, x.strides))
            if not 0 <= place <= self.bytes - x.itemsize:
                raise ValueError(
                    f"Element {list(index)} would lie at byte {place}, outside the buffer of"
                    f" {self.bytes} bytes. Reading this view is undefined behaviour."
                )
            for part in range(0, x.itemsize, self.step):
                if place + part not in self.indices:
                    raise ValueError(
                        f"Element {list(index)} starts at byte {place}, between two cells of"
                        f' {self.step} bytes; draw it with unit="byte".'
                    )
                self.indices[place + part].append(index)


def _buffer(owner: np.ndarray, start: int, size: int) -> object:
    """The owner's memory as bytes, whatever its strides."""
    flat = np.lib.stride_tricks.as_strided(owner.view(np.ndarray), writeable=False)
    interface = dict(flat.__array_interface__, shape=(size,), typestr="|u1", strides=None,
                     data=(start, True), descr=[("", "|u1")])
    holder = type("Holder", (), {"__array_interface__": interface, "keep": owner})()
    return np.asarray(holder).data


def _text(raw: bytes, dtype: np.dtype) -> str:
    return element_text(np.frombuffer(raw, dtype)[0])


def element_text(value: np.generic) -> str:
    """One element as it stands in a cell: floats with four significant digits."""
    if value.dtype.kind == "f":
        return f"{value:.4g}"
    if value.dtype.kind == "c":
        return f"{value:.3g}"
    return str(value)


def _index_text(index: tuple[int, ...]) -> str:
    return ",".join(map(str, index)) if index else "()"


def _tuple(numbers: tuple[int, ...]) -> str:
    return str(tuple(int(n) for n in numbers))


def _describe(layout: _Layout) -> str:
    x = layout.array
    return (f"shape {_tuple(x.shape)}   strides {_tuple(x.strides)} bytes   {x.dtype}"
            f"   starts at byte {layout.offset} of {layout.bytes}")


def _as_text(layout: _Layout) -> str:
    deepest = max((len(found) for found in layout.indices.values()), default=0)
    columns = []
    for place, value in zip(layout.at, layout.values):
        found = [_index_text(index) for index in layout.indices[place]]
        columns.append([str(place), value, *found, *[""] * (deepest - len(found))])
    names = ["byte", "holds", "index", *[""] * max(deepest - 1, 0)]
    width = max(len(cell) for column in columns for cell in column) if columns else 1
    in_line = max(1, (MAX_WIDTH - 7) // (width + 1))
    lines = [_describe(layout)]
    for begin in range(0, len(columns), in_line):
        part = columns[begin:begin + in_line]
        for row, name in enumerate(names):
            cells = " ".join((column[row] if row < len(column) else "").rjust(width)
                             for column in part)
            if cells.strip():
                lines.append(f"{name:<6} {cells}".rstrip())
    return "\n".join(lines)


def memory(x: np.ndarray, unit: str = "element", title: str = "") -> None:
    """Draw `x` as you see it above the buffer that holds it, and print the same facts.

    Cells of the array and of the buffer that belong together have the same shade (one for each
    index of the first axis) and carry the same index; a buffer cell that no index reaches is left
    white.

    Parameters
    ----------
    x : numpy.ndarray
        Any array of at most two dimensions for the upper part; of more dimensions only the
        buffer is drawn. The buffer may have at most 96 cells.
    unit : {"element", "byte"}
        What one cell of the buffer is; bytes are shown in hexadecimal.
    title : str
        Printed above the picture, normally the expression that made `x`.

    Raises
    ------
    TypeError
        For anything but a NumPy array of plain values.
    ValueError
        For a buffer too large to draw, and for a view that reaches outside its buffer.
    """
    layout = _Layout(x, unit)
    with style():
        _figure(layout, title)
        show(f"{title or 'An array'} above the buffer that holds it", _as_text(layout))


def _shade(index: tuple[int, ...]) -> str:
    return SHADES[(index[0] if index else 0) % len(SHADES)]


def _figure(layout: _Layout, title: str) -> None:
    x = layout.array
    per_row = 16 if len(layout.at) > 12 else max(len(layout.at), 1)
    buffer_rows = -(-len(layout.at) // per_row)
    deepest = max((len(found) for found in layout.indices.values()), default=0)
    notes = max(1, min(deepest, MAX_NOTES))  # lines of indices below a cell of the buffer
    row_height = 1.5 + 0.33 * notes
    seen = x.reshape(1, -1) if x.ndim == 1 else x  # a copy is fine here: only values are shown
    show_array = x.ndim in (1, 2) and x.size > 0
    steps = _steps(layout) if buffer_rows == 1 else []
    top = 0.95 if show_array else 0.0  # of the buffer part
    if show_array:
        top += seen.shape[0]
    height = top + 0.55 + row_height * buffer_rows + 0.62 * len(steps)
    columns = max(per_row, seen.shape[1] if show_array else 0, MIN_COLUMNS)
    heading = 0.5 if title else 0.3  # inches
    inches = round(0.42 * (height + 0.5) + heading, 1)
    axes = canvas(0.6 * columns + 0.3, inches, (-0.15, columns + 0.35), (height, -0.5),
                  (0, 0, 1, 1 - heading / inches))
    if show_array:
        axes.text(0, -0.2, "the array, as indexed", fontsize=9)
        for index in itertools.product(*map(range, seen.shape)):
            own = index[1:] if x.ndim == 1 else index
            value = _text(np.asarray(seen[index]).tobytes(), x.dtype)
            _cell(axes, index[1], index[0], value, _shade(own), _index_text(own))
    axes.text(0, top - 0.2, "the buffer: above each cell its byte, below it the index that"
              " lands there", fontsize=9)
    for k, (place, value) in enumerate(zip(layout.at, layout.values)):
        row, column = divmod(k, per_row)
        y = top + 0.35 + row_height * row
        found = layout.indices[place]
        axes.text(column + 0.5, y - 0.06, str(place), ha="center", va="bottom", fontsize=7.5)
        lines = [_index_text(index) for index in found]
        if len(lines) > notes:
            lines[notes - 1:] = [f"+{len(lines) - notes + 1} more"]
        _cell(axes, column, y, value, _shade(found[0]) if found else "white", "",
              INK if found else FAINT)
        axes.text(column + 0.5, y + 1.06, "\n".join(lines), ha="center", va="top", fontsize=7.5)
    for k, (label, begin, end) in enumerate(steps):
        y = top + 0.35 + row_height + 0.62 * k + 0.2
        axes.annotate("", (end + 0.5, y), (begin + 0.5, y),
                      arrowprops={"arrowstyle": "-|>", "color": INK, "shrinkA": 0, "shrinkB": 0})
        side, align = (end + 0.75, "left") if end > begin else (end + 0.25, "right")
        axes.text(side, y, label, va="center", ha=align, fontsize=8.5)
    axes.figure.text(0.012, 1 - 0.06 / inches, (f"{title}\n" if title else "") + _describe(layout),
                     va="top", fontsize=9, family="DejaVu Sans Mono")


def _steps(layout: _Layout) -> list[tuple[str, int, int]]:
    """For each axis of two or more elements: a label, and the buffer cells of its first step."""
    x = layout.array
    cell = {place: k for k, place in enumerate(layout.at)}
    return [
        (f"one step along axis {axis}: {stride:+d} bytes", cell[layout.offset],
         cell[layout.offset + stride])
        for axis, (n, stride) in enumerate(zip(x.shape, x.strides)) if x.size and n > 1 and stride
    ]


def _cell(axes: Axes, x: float, y: float, value: str, fill: str, corner: str,
          ink: str = INK) -> None:
    box(axes, x, y, 1, fill=fill)
    size = 10 if len(value) < 5 else 8 if len(value) < 8 else 6
    text_at(axes, x + 0.5, y + (0.6 if corner else 0.5), value, size, color=ink)
    if corner:
        axes.text(x + 0.06, y + 0.05, corner, ha="left", va="top", fontsize=6.5, color=INK)
