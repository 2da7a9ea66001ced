"""An einsum from its letters: which operands share them, what is summed, and what it costs."""

from __future__ import annotations

import itertools
import math
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.patches import FancyArrowPatch

from .layout import shape_of
from .style import FAINT, INK, SHADES, box, canvas, show, style, text_at

MAX_LETTERS = 12  # columns of a picture
MAX_OPERANDS = 6  # rows; also bounds the search for the cheapest order
OPERAND_NAMES = "ABCDEF"
FATES = {  # what becomes of a letter: its shade, and whether its cells are hatched
    "paired, kept": (SHADES[2], ""),
    "kept": (SHADES[0], ""),
    "paired, summed": (SHADES[1], ""),
    "summed": (SHADES[1], ""),
    "summed alone": (SHADES[5], "///"),
}


@dataclass(frozen=True)
class Contraction:
    """An einsum whose letters have been set against its operands' shapes.

    Attributes
    ----------
    terms : tuple of tuple of str
        The letters of each operand, one for each axis. The axes that `...` stands for are called
        "...-1" (the last of them), "...-2" and so on.
    output : tuple of str
        The letters of the result, also where the subscripts have no arrow.
    shapes : tuple of tuple of int
        The operands' shapes.
    sizes : dict of str to int
        Each letter's size, in the order of first appearance.
    """

    terms: tuple[tuple[str, ...], ...]
    output: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    sizes: dict[str, int]

    @classmethod
    def read(cls, subscripts: str, *operands: object, names: Sequence[str] = ()) -> Contraction:
        """Set `subscripts` against operands, given as arrays or as shapes (tuples).

        Raises
        ------
        TypeError
            For subscripts that are no string and operands that are neither array nor shape.
        ValueError
            For letters or shapes that cannot work; the message names the letter, the operands and
            both sizes.
        """
        if not isinstance(subscripts, str):
            raise TypeError('the letters must be a string such as "ij,jk->ik", not'
                            f" {type(subscripts).__name__}.")
        shapes = tuple(shape_of(operand, f"operand {k}") for k, operand in enumerate(operands))
        terms, output = _split(subscripts)
        if len(terms) != len(shapes):
            raise ValueError(f'"{subscripts}" has letters for {_count(len(terms), "operand")},'
                             f" but {len(shapes)} {'was' if len(shapes) == 1 else 'were'} given.")
        called = [f"operand {k}" + (f" ({names[k]})" if k < len(names) else "")
                  for k in range(len(terms))]
        full = tuple(_expand(term, shape, name)
                     for term, shape, name in zip(terms, shapes, called))
        sizes = _sizes(full, shapes, called)
        dots = tuple(sorted((c for c in sizes if c.startswith("...")), key=_dots))
        if output is None:  # no arrow: what appears once, in alphabetical order, after the dots
            found = [c for term in terms for c in term if c != "..."]
            result = dots + tuple(sorted(c for c in set(found) if found.count(c) == 1))
        else:
            result = tuple(c for letter in output
                           for c in (dots if letter == "..." else (letter,)))
            _check_output(result, sizes, dots, output)
        return cls(full, result, shapes, sizes)

    @property
    def summed(self) -> tuple[str, ...]:
        """The letters that are not in the result."""
        return tuple(c for c in self.sizes if c not in self.output)

    @property
    def combinations(self) -> int:
        """How often the innermost statement of the written-out loops runs."""
        return math.prod(self.sizes.values())

    @property
    def operations(self) -> int:
        """Multiplications and additions of the written-out loops: for each combination of all
        letters one less than there are operands, and one more where something is summed."""
        return self.combinations * (len(self.terms) - 1 + bool(self.summed))

    @property
    def shape(self) -> tuple[int, ...]:
        """The result's shape."""
        return tuple(self.sizes[c] for c in self.output)

    def fate(self, letter: str) -> str:
        """What becomes of `letter`: one of the keys of FATES."""
        holders = sum(letter in term for term in self.terms)
        if letter in self.output:
            return "paired, kept" if holders > 1 else "kept"
        if len(self.terms) == 1:
            return "summed"
        return "paired, summed" if holders > 1 else "summed alone"

    def in_pairs(self) -> tuple[int, int, list[str]] | None:
        """The cheapest way to contract two operands at a time.

        Returns
        -------
        (operations, elements, steps) or None
            Fewest operations of all orders, the elements of the largest intermediate array of that
            order, and each step's subscripts. None for fewer than three operands, where there is
            nothing to choose.
        """
        if len(self.terms) < 3:
            return None

        def cost(letters: set[str]) -> int:
            return math.prod(self.sizes[c] for c in letters)

        def best(terms: tuple[tuple[str, ...], ...]) -> tuple[int, int, list[str]]:
            if len(terms) == 1:
                return 0, 0, []
            found = []
            for one, two in itertools.combinations(range(len(terms)), 2):
                before, after = terms[:one], terms[one + 1:two] + terms[two + 1:]
                rest = before + after
                letters = {*terms[one], *terms[two]}
                needed = set(self.output).union(*rest)
                order = [c for c in self.sizes if c in letters & needed]
                made = tuple(order) if rest else self.output
                step = (",".join("".join(terms[k]) for k in (one, two)) + "->" + "".join(made))
                operations, elements, steps = best((*before, made, *after))
                work = cost(letters) * (1 + bool(letters - needed))
                if rest:
                    elements = max(elements, cost(set(made)))
                found.append((work + operations, elements, [step, *steps]))
            return min(found, key=lambda plan: plan[:2])

        return best(self.terms)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _dots(letter: str) -> int:
    return int(letter.removeprefix("..."))


def _split(subscripts: str) -> tuple[list[tuple[str, ...]], tuple[str, ...] | None]:
    """Letters of each operand and of the result (None without an arrow), `...` as one letter."""
    text = subscripts.replace(" ", "")
    if text.count("->") > 1:
        raise ValueError(f'"{subscripts}" has more than one arrow; there is one result.')
    inputs, arrow, output = text.partition("->")
    parts = []
    for part in (*inputs.split(","), output):
        letters = tuple(re.findall(r"\.\.\.|.", part))
        for letter in letters:
            if letter == ".":
                raise ValueError(f'"{subscripts}" has a "." that is not part of an ellipsis,'
                                 ' which is three of them: "...".')
            if letter != "..." and not (letter.isascii() and letter.isalpha()):
                raise ValueError(f'"{subscripts}" has the character {letter!r}; only letters,'
                                 ' ",", "->" and "..." have a meaning.')
        if letters.count("...") > 1:
            raise ValueError(f'"{part}" has "..." twice; it can stand for axes in one place only.')
        parts.append(letters)
    return parts[:-1], parts[-1] if arrow else None


def _expand(term: tuple[str, ...], shape: tuple[int, ...], name: str) -> tuple[str, ...]:
    """`term` with one letter for each axis of `shape`."""
    named = len(term) - ("..." in term)
    spare = len(shape) - named
    if spare < 0 or (spare > 0 and "..." not in term):
        raise ValueError(f'{name} has shape {shape}, which is {_count(len(shape), "axis")}, but'
                         f' "{"".join(term)}" names {named}.'.replace("axiss", "axes"))
    dots = tuple(f"...-{k}" for k in range(spare, 0, -1))
    return tuple(c for letter in term for c in (dots if letter == "..." else (letter,)))


def _sizes(terms: tuple[tuple[str, ...], ...], shapes: tuple[tuple[int, ...], ...],
           called: Sequence[str]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    seen: dict[str, tuple[int, int]] = {}  # operand and axis that fixed a letter's size
    for k, (term, shape) in enumerate(zip(terms, shapes)):
        for axis, (letter, size) in enumerate(zip(term, shape)):
            known = sizes.get(letter, 1)
            if letter in term[:axis] and shape[term.index(letter)] != size:
                before = term.index(letter)
                raise ValueError(f"letter {letter} stands twice for {called[k]} of shape {shape},"
                                 f" but axis {before} has {shape[before]} elements and axis {axis}"
                                 f" has {size}: a diagonal needs equal sizes.")
            if letter not in sizes or known == 1 != size:
                sizes[letter], seen[letter] = size, (k, axis)
            elif size not in (1, known):
                other, place = seen[letter]
                raise ValueError(
                    f"letter {letter} is {known} in {called[other]}, axis {place} of shape"
                    f" {shapes[other]}, and {size} in {called[k]}, axis {axis} of shape {shape}:"
                    " one letter, one size.")
    return sizes


def _check_output(result: tuple[str, ...], sizes: dict[str, int], dots: tuple[str, ...],
                  output: tuple[str, ...]) -> None:
    for letter in result:
        if letter not in sizes:
            there = ", ".join(c for c in sizes if c not in dots) or "none"
            raise ValueError(f"letter {letter} stands right of the arrow, but in no operand (their"
                             f" letters: {there}), so nothing says what its size is.")
        if result.count(letter) > 1:
            raise ValueError(f"letter {letter} stands {result.count(letter)} times right of the"
                             " arrow; each axis of a result has a letter of its own.")
    if dots and "..." not in output:
        raise ValueError(f'"..." stands for {_count(len(dots), "axis")} of the operands but is'
                         ' missing right of the arrow; write "..." there too.'
                         .replace("axiss", "axes"))


def einsum(
    subscripts: str,
    *operands: object,
    names: Sequence[str] = (),
    dtype: object = None,
    title: str = "",
) -> None:
    """Draw what `np.einsum(subscripts, *operands)` does, and print the same facts.

    Each letter is a column and each operand a row. A line joins the operands that meet along a
    letter; an arrow leads each kept letter to its axis of the result, and the others end in a sum.
    Below stands the cost: two operations (a multiplication and an addition) for each combination
    of all letters of a product of two, and the bytes of operands, result and intermediates. For
    three and more operands the cheapest order of pairwise contractions is set beside it.

    Parameters
    ----------
    subscripts : str
        As for `np.einsum`.
    operands : array or tuple of int
        Arrays, of which only shape and dtype are used, or shapes. At most six.
    names : sequence of str
        What to call the operands; A, B, C ... otherwise.
    dtype : dtype, optional
        Of the result. Without it that of the arrays, and float64 where only shapes are given.
    title : str
        Printed above the picture.

    Raises
    ------
    TypeError, ValueError
        For letters or shapes that cannot work, see `Contraction.read`, and for more than six
        operands or twelve letters.
    """
    found = Contraction.read(subscripts, *operands, names=names)
    if len(found.terms) > MAX_OPERANDS or len(found.sizes) > MAX_LETTERS:
        raise ValueError(f"draw.einsum() draws at most {MAX_OPERANDS} operands and {MAX_LETTERS}"
                         f" letters; here are {len(found.terms)} and {len(found.sizes)}.")
    called = [names[k] if k < len(names) else OPERAND_NAMES[k] for k in range(len(found.terms))]
    arrays = [operand.dtype for operand in operands if hasattr(operand, "dtype")]
    kind = np.dtype(dtype) if dtype is not None else np.result_type(*arrays or [np.float64])
    itemsizes = [getattr(operand, "dtype", kind).itemsize for operand in operands]
    cost = _cost(found, called, itemsizes, kind)
    with style():
        _figure(found, called, cost, title)
        show("The axes of an einsum",
             "\n".join([_formula(found, called), *_table(found, called), *cost]))


def _formula(found: Contraction, called: Sequence[str]) -> str:
    factors = " * ".join(_indexed(name, term) for name, term in zip(called, found.terms))
    over = f"sum over {', '.join(found.summed)} of " if found.summed else ""
    return f"{_indexed('result', found.output)} = {over}{factors}"


def _indexed(name: str, letters: tuple[str, ...]) -> str:
    return f"{name}[{','.join(letters)}]" if letters else name


def _columns(found: Contraction) -> list[str]:
    return [*found.output, *found.summed]


def _place(term: tuple[str, ...], letter: str) -> str:
    """Which axes of an operand carry a letter: "axis 0", "axes 0, 2" or nothing."""
    axes = [str(k) for k, c in enumerate(term) if c == letter]
    return f"{'axis' if len(axes) == 1 else 'axes'} {', '.join(axes)}" if axes else ""


def _notes(found: Contraction, called: Sequence[str], letter: str) -> list[str]:
    """What is unusual about a letter."""
    notes = []
    for name, term, shape in zip(called, found.terms, found.shapes):
        if term.count(letter) > 1:
            notes.append(f"diagonal of {name}")
        if letter in term and shape[term.index(letter)] != found.sizes[letter]:
            notes.append(f"1 in {name}, stretched")
    return notes


def _table(found: Contraction, called: Sequence[str]) -> list[str]:
    lines = [["letter", "size", *called, "result", "what happens"]]
    for letter in _columns(found):
        fate = ", ".join([found.fate(letter), *_notes(found, called, letter)])
        lines.append([letter, str(found.sizes[letter]),
                      *(_place(term, letter) for term in found.terms),
                      _place(found.output, letter), fate])
    widths = [max(map(len, column)) for column in zip(*lines)]
    return ["  ".join([line[0].ljust(widths[0]), line[1].rjust(widths[1]),
                       *(cell.ljust(width) for cell, width in zip(line[2:], widths[2:]))]).rstrip()
            for line in lines]


def _cost(found: Contraction, called: Sequence[str], itemsizes: Sequence[int],
          kind: np.dtype) -> list[str]:
    each = found.operations // found.combinations if found.combinations else 0
    work = f"{found.operations:,}"
    if each:
        sizes = " x ".join(str(found.sizes[c]) for c in _columns(found))
        work += f" = {each} x ({sizes})" if len(found.sizes) > 1 else ""
    elif len(found.terms) == 1:
        work += ": nothing to compute, the result is a view"
    plan = found.in_pairs()
    lines = [f"operations   {work}" + (", all at once" if plan else "")]
    if plan:
        operations, elements, steps = plan
        lines += [f"in pairs     {operations:,}: " + ", then ".join(steps)]
    sizes = [f"{name} {math.prod(shape) * size:,}"
             for name, shape, size in zip(called, found.shapes, itemsizes)]
    result = math.prod(found.shape) * kind.itemsize
    lines += [f"bytes        {', '.join(sizes)}, result {result:,}",
              "intermediate " + (f"{elements * kind.itemsize:,} bytes at most, in pairs" if plan
                                else "none")]
    return lines


def _figure(found: Contraction, called: Sequence[str], cost: list[str], title: str) -> None:
    columns = _columns(found)
    rows = len(called)
    wide, high, gap = 1.35, 0.8, 0.5  # of a cell; between two rows
    fates = {c: "\n".join([found.fate(c).replace(", ", ",\n"), *_notes(found, called, c)])
             for c in columns}
    lines = max((fate.count("\n") + 1 for fate in fates.values()), default=1)
    side = max(1.5, 0.16 * max(map(len, called)) + 0.4)
    text = textwrap.wrap(_formula(found, called), 84, subsequent_indent="    ")
    below = [line for entry in cost
             for line in textwrap.wrap(entry, 84, subsequent_indent=" " * 13)]
    if title:
        text.insert(0, title)
    longest = max(len(line) for line in text + below)
    unit = 0.62  # inches
    width = round(max(unit * (side + wide * max(len(columns), 1) + 0.4), 0.077 * longest + 0.3), 1)
    top, bottom = 0.19 * len(text) + 0.15, 0.19 * len(below) + 0.2
    tall = 1.2 + (rows + 1) * high + rows * gap + 0.2 + 0.24 * lines
    height = round(top + bottom + unit * tall, 1)
    axes = canvas(width, height, (-0.2, width / unit - 0.2), (tall, 0),
                  (0, bottom / height, 1, unit * tall / height))
    ys = [1.2 + k * (high + gap) for k in range(rows + 1)]
    for name, y in zip([*called, "result"], ys):
        axes.text(side - 0.3, y + high / 2, name, ha="right", va="center", fontsize=11,
                  weight="bold" if name == "result" else "normal")
    axes.plot([0.1, side + wide * max(len(columns), 1)], [ys[-1] - gap / 2] * 2, color=FAINT,
              linestyle=":", linewidth=1)
    for number, letter in enumerate(columns):
        x = side + wide * number
        middle = x + (wide - 0.15) / 2
        text_at(axes, middle, 0.42, letter, 15, weight="bold")
        text_at(axes, middle, 0.9, f"{found.sizes[letter]:,}", 9)
        fate = found.fate(letter)
        shade, hatch = FATES[fate]
        holders = [k for k, term in enumerate(found.terms) if letter in term]
        for above, under in itertools.pairwise(holders):
            axes.plot([middle] * 2, [ys[above] + high, ys[under]], color=INK, linewidth=3.5,
                      solid_capstyle="butt", zorder=0)
        axes.add_patch(FancyArrowPatch(
            (middle, ys[holders[-1]] + high), (middle, ys[-1]), arrowstyle="-|>", color=INK,
            mutation_scale=11, linewidth=1.2, shrinkA=0, shrinkB=0, zorder=0))
        for k, term in enumerate((*found.terms, found.output)):
            if place := _place(term, letter):
                stretched = k < rows and found.shapes[k][term.index(letter)] != found.sizes[letter]
                box(axes, x, ys[k], wide - 0.15, high, place + (" (1)" if stretched else ""), shade,
                    8.5, linewidth=0.9, linestyle="--" if stretched else "-")
        if letter not in found.output:
            box(axes, x, ys[-1], wide - 0.15, high, fill=shade, linewidth=0.9, linestyle=":",
                hatch=hatch)
            text_at(axes, middle, ys[-1] + high / 2, "\N{GREEK CAPITAL LETTER SIGMA}", 15,
                    bbox={"boxstyle": "circle,pad=0.12", "facecolor": "white",
                          "edgecolor": INK, "linewidth": 0.8})
        axes.text(middle, ys[-1] + high + 0.12, fates[letter], ha="center", va="top", fontsize=8,
                  weight="bold" if hatch else "normal")
    if not found.output:
        axes.text(0.1, ys[-1] + high + 0.12, "one number", fontsize=8, va="top")
    mono = {"family": "DejaVu Sans Mono", "fontsize": 9, "linespacing": 1.25}
    axes.figure.text(0.012, 1 - 0.08 / height, "\n".join(text), va="top", **mono)
    axes.figure.text(0.012, 0.1 / height, "\n".join(below), va="bottom", **mono)
