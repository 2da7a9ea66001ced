"""Einstein's summation convention: subscripts read into labels."""

from __future__ import annotations

import string

LETTERS = string.ascii_uppercase + string.ascii_lowercase
PREFIX = "einstein sum subscripts string"


def _letters(labels) -> str:
    """Turn one operand's list of numbers into letters."""
    text = ""
    for label in labels:
        if label is Ellipsis:
            text += "..."
            continue
        try:
            text += LETTERS[label]
        except TypeError:
            raise TypeError(
                "For this input type lists must contain either int or Ellipsis") from None
        except IndexError:
            raise ValueError("subscript is not within the valid range [0, 52)") from None
    return text


def split(args):
    """Return the inputs' subscripts, the output's or None, and the operands."""
    if not args:
        raise ValueError(
            "must specify the einstein sum subscripts string and at least one operand, or at "
            "least one operand and its corresponding subscripts list")
    if isinstance(args[0], str):
        text, operands = args[0].replace(" ", ""), list(args[1:])
    else:
        operands, inputs, rest = [], [], list(args)
        while len(rest) >= 2:
            operands.append(rest.pop(0))
            inputs.append(_letters(rest.pop(0)))
        text = ",".join(inputs) + ("->" + _letters(rest[0]) if rest else "")
    for letter in text.replace("->", "").replace(",", "").replace("...", ""):
        if letter not in LETTERS and letter != ".":
            raise ValueError(
                f"invalid subscript '{letter}' in {PREFIX}, subscripts must be letters")
    if text.count("->") > 1 or ("-" in text or ">" in text) and "->" not in text:
        raise ValueError(f"{PREFIX} does not contain proper '->' output specified")
    inputs, arrow, output = text.partition("->")
    inputs = inputs.split(",")
    if len(inputs) > len(operands):
        raise ValueError(
            "fewer operands provided to einstein sum function than specified in the "
            "subscripts string")
    if len(inputs) < len(operands):
        raise ValueError(
            "more operands provided to einstein sum function than specified in the "
            "subscripts string")
    return inputs, output if arrow else None, operands


def label_axes(text: str, number: int, ndim: int) -> list:
    """Return one label for each axis; those of the ellipsis are negative numbers."""
    if "." in text:
        if text.count("...") != 1 or text.count(".") != 3:
            raise ValueError(
                f"{PREFIX} {text} contains a '.' that is not part of an ellipsis ('...')")
        left, _, right = text.partition("...")
        hidden = ndim - len(left) - len(right)
        if hidden < 0:
            raise ValueError(
                f"{PREFIX} {text} contains too many subscripts for operand {number}")
        return [*left, *range(-hidden, 0), *right]
    if len(text) > ndim:
        raise ValueError(f"{PREFIX} {text} contains too many subscripts for operand {number}")
    if len(text) < ndim:
        raise ValueError(
            f"operand has more dimensions than subscripts given in {PREFIX}, but no '...' "
            "ellipsis provided to broadcast the extra dimensions.")
    return list(text)


def output_labels(text, labels: list[list]) -> list:
    """Return the output's labels; without a text, those that occur once, in order."""
    flat = [label for one in labels for label in one]
    hidden = sorted({label for label in flat if isinstance(label, int)})
    if text is None:
        letters = sorted({label for label in flat if isinstance(label, str)})
        return hidden + [label for label in letters if flat.count(label) == 1]
    for letter in text.replace("...", "", 1):
        if text.count(letter) > 1:
            raise ValueError(f"{PREFIX} includes output subscript '{letter}' multiple times")
        if letter not in flat:
            raise ValueError(
                f"{PREFIX} included output subscript '{letter}' which never appeared in an input")
    if "..." not in text:
        if hidden:
            raise ValueError(
                f"output has more dimensions than subscripts given in {PREFIX}, but no '...' "
                "ellipsis provided to broadcast the extra dimensions.")
        return list(text)
    left, _, right = text.partition("...")
    return [*left, *hidden, *right]


def sizes_of(labels, operands) -> dict:
    """Return the size of every label; sizes of one may stretch."""
    sizes: dict = {}
    for number, (one, operand) in enumerate(zip(labels, operands)):
        for label, size in zip(one, operand.shape):
            known = sizes.setdefault(label, size)
            if 1 not in (known, size) and known != size:
                raise ValueError(
                    f"Size of label '{label}' for operand {number} ({size}) does not match "
                    f"previous terms ({known}).")
            if known == 1:
                sizes[label] = size
    return sizes
