"""Where the axes of an indexed array come from: kept, dropped, new, or made by index arrays."""

from __future__ import annotations

import operator
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from ..formats import aligned
from .broadcasting import clash
from .layout import shape_of
from .style import INK, SHADES, box, canvas, show, style, text_at

MAX_AXES = 8


@dataclass
class _Entry:
    """One entry of an index: what it is, which axis of x it takes, what it makes of it.

    `kind` is "slice", "new", "integer" or "array"; `axis` is None for a new axis; `made` holds the
    sizes that it gives on its own; `lands` the axes of the result.
    """

    kind: str
    text: str
    axis: int | None
    made: tuple[int, ...]
    lands: tuple[int, ...] = ()


def _written(item: object) -> str:
    """An entry of an index as one would type it."""
    if isinstance(item, slice):
        text = ":".join("" if part is None else str(part) for part in (item.start, item.stop))
        return text + (f":{item.step}" if item.step is not None else "")
    if isinstance(item, (list, np.ndarray)):
        array = np.asarray(item)
        if array.dtype == bool:
            return f"mask {array.shape}"
        return str(array.tolist()) if array.size <= 4 else f"array {array.shape}"
    return "None" if item is None else str(item)


def _entries(shape: tuple[int, ...], index: object) -> list[_Entry]:
    items = list(index) if isinstance(index, tuple) else [index]
    arrays = [np.asarray(item) if isinstance(item, (list, np.ndarray)) else None for item in items]
    takes = []
    for item, array in zip(items, arrays):
        if item is None or item is Ellipsis:
            takes.append(0)
        elif array is not None and array.dtype == bool:
            takes.append(array.ndim)
        else:
            takes.append(1)
    dots = [k for k, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can have only one Ellipsis (...).")
    if sum(takes) > len(shape):
        raise IndexError(f"x has {len(shape)} axes, but the index has entries for {sum(takes)}.")
    rest = len(shape) - sum(takes)
    entries: list[_Entry] = []
    axis = 0
    for item, array, taken in zip(items, arrays, takes):
        if item is Ellipsis:
            for _ in range(rest):
                entries.append(_Entry("slice", "...", axis, (shape[axis],)))
                axis += 1
            if not rest:
                entries.append(_Entry("slice", "...", None, ()))
            continue
        if item is None:
            entries.append(_Entry("new", "None", None, (1,)))
            continue
        entries.extend(_taking(item, array, axis, shape))
        axis += taken
    if not dots:
        entries.extend(_Entry("slice", "(:)", k, (shape[k],)) for k in range(axis, len(shape)))
    return entries


def _taking(item: object, array: np.ndarray | None, axis: int, shape: tuple) -> list[_Entry]:
    """The entries for an item that takes one axis of x, or for a mask that takes several."""
    if isinstance(item, slice):
        return [_Entry("slice", _written(item), axis, (len(range(*item.indices(shape[axis]))),))]
    if array is None:
        try:
            if isinstance(item, (bool, np.bool_)):
                raise TypeError
            number = operator.index(item)
        except TypeError:
            raise TypeError(f"the entry for axis {axis} is of type {type(item).__name__}; an index"
                            " is made of integers, slices, None, ..., and arrays or lists of"
                            " integers or of truth values.") from None
        _check_range(number, number, axis, shape[axis])
        return [_Entry("integer", str(number), axis, ())]
    if array.dtype == bool:
        for k, (size, wanted) in enumerate(zip(array.shape, shape[axis:])):
            if size != wanted:
                raise IndexError(f"axis {axis + k} of x has size {wanted}, but the mask has size"
                                 f" {size} along its axis {k}.")
        chosen = (int(np.count_nonzero(array)),)
        return [_Entry("array", _written(item), axis + k, chosen) for k in range(array.ndim)]
    if array.size == 0 and isinstance(item, list):
        array = array.astype(np.intp)
    if array.dtype.kind not in "iu":
        raise TypeError(f"the index array for axis {axis} has dtype {array.dtype}; it must hold"
                        " integers or truth values.")
    if array.size:
        _check_range(int(array.min()), int(array.max()), axis, shape[axis])
    return [_Entry("array", _written(item), axis, array.shape)]


def _check_range(least: int, most: int, axis: int, size: int) -> None:
    for number in (least, most):
        if not -size <= number < size:
            valid = f"valid are {-size} to {size - 1}" if size else "nothing can be picked from it"
            raise IndexError(f"axis {axis} of x has size {size}, so index {number} does not exist;"
                             f" {valid}.")


@dataclass
class _Plan:
    entries: list[_Entry]
    shape: tuple[int, ...]
    advanced: bool
    apart: bool  # the index arrays are separated, so that their axes come first


def plan(shape: tuple[int, ...], index: object) -> _Plan:
    """The shape that indexing gives, and which axis of it comes from which entry.

    Follows NumPy's rules for combined indexing,
    https://numpy.org/doc/stable/user/basics.indexing.html#combining-advanced-and-basic-indexing
    """
    entries = _entries(shape, index)
    advanced = any(entry.kind == "array" for entry in entries)
    group = [k for k, entry in enumerate(entries)
             if entry.kind == "array" or (advanced and entry.kind == "integer")]
    together: tuple[int, ...] = ()
    if advanced:
        names = [f"{entries[k].text} (for axis {entries[k].axis})" for k in group]
        shapes = [entries[k].made for k in group]
        if problem := clash(names, shapes):
            raise IndexError("index arrays are used together, element by element, but "
                             + problem + " For all combinations use np.ix_.")
        together = np.broadcast_shapes(*shapes)
    apart = bool(group) and group[-1] - group[0] + 1 != len(group)
    result: list[int] = list(together) if apart else []
    lands = tuple(range(len(together)))
    for k, entry in enumerate(entries):
        if k in group:
            if not apart and k == group[0]:
                lands = tuple(range(len(result), len(result) + len(together)))
                result.extend(together)
        elif entry.made:
            entry.lands = (len(result),)
            result.extend(entry.made)
    for k in group:
        entries[k].lands = lands
    return _Plan(entries, tuple(result), advanced, apart)


def indexing(x: object, index: object) -> None:
    """Draw where each axis of `x[index]` comes from, and print the same facts.

    Parameters
    ----------
    x : numpy.ndarray or tuple of int
        An array or its shape.
    index
        What would stand between the brackets; `np.s_[...]` writes it down:
        `draw.indexing(x, np.s_[:, [0, 2], None])`.

    Raises
    ------
    IndexError
        For an index that does not fit, with the axis and both sizes.
    TypeError
        For anything that is no index, and for an `x` that is neither array nor shape.
    """
    shape = shape_of(x, "x")
    if len(shape) > MAX_AXES:
        raise ValueError(f"x has {len(shape)} axes; draw.indexing() draws at most {MAX_AXES}.")
    drawn = plan(shape, index)
    with style():
        _figure(shape, drawn)
        show("Which axes of the result come from which part of an index",
             _as_text(shape, drawn))


def _fate(entry: _Entry, drawn: _Plan) -> str:
    if entry.kind == "integer" and not drawn.advanced:
        return "dropped"
    if not entry.lands:
        return "-"
    return ", ".join(map(str, entry.lands))


def _rule(drawn: _Plan) -> list[str]:
    if not drawn.advanced:
        if not drawn.shape and all(entry.kind == "integer" for entry in drawn.entries):
            return [f"result {drawn.shape}: one element"]
        return [f"result {drawn.shape}: a view, since there is no index array"]
    group = [entry for entry in drawn.entries
             if entry.kind == "array" or entry.kind == "integer"]
    made = drawn.shape[group[0].lands[0]:][:len(group[0].lands)] if group[0].lands else ()
    texts = list(dict.fromkeys(entry.text for entry in group))
    where = ("which comes first, since they are apart" if drawn.apart
             else f"which stays in {'its' if len(texts) == 1 else 'their'} place")
    return [f"result {drawn.shape}: a copy, since there is an index array",
            f"{' and '.join(texts)} make{'s' if len(texts) == 1 else ''} {tuple(made)}, {where}"]


def _as_text(shape: tuple[int, ...], drawn: _Plan) -> str:
    rows = [["index"], ["axis of x"], ["its size"], ["axis of the result"]]
    for entry in drawn.entries:
        cells = (entry.text, "-" if entry.axis is None else str(entry.axis),
                 "-" if entry.axis is None else str(shape[entry.axis]), _fate(entry, drawn))
        for row, cell in zip(rows, cells):
            row.append(cell)
    lines = [line.rstrip() for line in aligned(rows)]
    return "\n".join(lines + _rule(drawn))


def _figure(shape: tuple[int, ...], drawn: _Plan) -> None:
    entries = drawn.entries
    wide = max(1.5, 0.4 + 0.17 * max((len(entry.text) for entry in entries), default=0))
    left = 2.1
    count = max(len(entries), len(drawn.shape), 1)
    width = max(left + wide * count, 7.5)
    axes = canvas(0.6 * (width + 0.4), 2.9, (-0.2, width + 0.2), (4.65, -0.15))
    for text, y in (("axis of x", 0.2), ("its size", 0.9), ("index", 1.5), ("result", 3.2),
                    ("its axis", 3.8)):
        axes.text(0, y, text, va="center", fontsize=9)
    for k, entry in enumerate(entries):
        x = left + wide * k
        array = entry.kind == "array" or (drawn.advanced and entry.kind == "integer")
        size = "none" if entry.axis is None else str(shape[entry.axis])
        text_at(axes, x + wide / 2, 0.2, "" if entry.axis is None else str(entry.axis))
        box(axes, x + 0.1, 0.5, wide - 0.2, 0.75, linewidth=1,
            fill="white" if entry.axis is None else SHADES[0],
            linestyle="--" if entry.axis is None else "-")
        text_at(axes, x + wide / 2, 0.89, size, 10)
        text_at(axes, x + wide / 2, 1.5, entry.text, 9, family="DejaVu Sans Mono",
                weight="bold" if array else "normal")
        for lands in entry.lands:
            _arrow(axes, x + wide / 2, left + wide * (lands + 0.5), array)
        if not entry.lands and entry.kind == "integer":
            text_at(axes, x + wide / 2, 2.05, "dropped")
    for k, size in enumerate(drawn.shape):
        sources = [entry for entry in entries if k in entry.lands]
        array = any(entry.kind in ("array", "integer") for entry in sources)
        fill = SHADES[1] if array else SHADES[0]
        box(axes, left + wide * k + 0.1, 2.8, wide - 0.2, 0.75, fill=fill, linewidth=1,
            hatch=".." if array else "")
        behind = {"facecolor": fill, "edgecolor": "none", "pad": 1.5} if array else None
        text_at(axes, left + wide * (k + 0.5), 3.19, str(size), 10, bbox=behind)
        text_at(axes, left + wide * (k + 0.5), 3.8, str(k))
    if not drawn.shape:
        axes.text(left + 0.1, 3.2, "no axis: one element", va="center", fontsize=9)
    note = _rule(drawn)[-1] if drawn.advanced else "no index array: a view"
    axes.text(0, 4.3, note, va="center", fontsize=9)


def _arrow(axes: Axes, begin: float, end: float, array: bool) -> None:
    axes.annotate("", (end, 2.78), (begin, 1.8), arrowprops={
        "arrowstyle": "-|>", "color": INK, "linewidth": 1.8 if array else 1,
        "linestyle": "-" if array else (0, (4, 3))})
