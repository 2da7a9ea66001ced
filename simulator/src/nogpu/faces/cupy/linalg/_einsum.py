"""Sums of products along labelled axes."""

from __future__ import annotations

import string

import numpy as np
from cupy import _host
from cupy._core import _routines_linalg, core

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


def _split(args):
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


def _label(text: str, number: int, ndim: int) -> list:
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


def _output(text, labels: list[list]) -> list:
    """Return the output's labels; without a text, those that occur once, in order."""
    flat = [label for one in labels for label in one]
    hidden = sorted({label for label in flat if isinstance(label, int)})
    if text is None:
        letters = sorted({label for label in flat if isinstance(label, str)})
        return hidden + [label for label in letters if flat.count(label) == 1]
    for letter in text.replace("...", ""):
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


def _sizes(labels, operands) -> dict:
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


def _diagonals(x, labels: list):
    """Return a view where each label has one axis."""
    for label in [label for label in dict.fromkeys(labels) if labels.count(label) > 1]:
        places = [i for i, one in enumerate(labels) if one == label]
        if len({x.shape[i] for i in places}) > 1:
            raise ValueError(
                f"dimensions in operand for collapsing index '{label}' don't match")
        view = x._view
        kept = [i for i in range(x.ndim) if i not in places[1:]]
        strides = [sum(view.strides[j] for j in places) if i == places[0] else view.strides[i]
                   for i in kept]
        x = core._wrap(
            np.lib.stride_tricks.as_strided(view, [x.shape[i] for i in kept], strides), x)
        labels = [labels[i] for i in kept]
    return x, labels


def _sum_out(x, labels: list, keep: set, dtype):
    """Sum over the labels that nothing else needs."""
    axes = tuple(i for i, label in enumerate(labels) if label not in keep)
    if not axes:
        return x, labels
    kind = _host.wide(dtype)
    shape = _host.reduced(x.shape, axes, False)
    x = _host.compute(lambda v: np.sum(v, axis=axes, dtype=kind), [x], shape, dtype)
    return x, [label for label in labels if label in keep]


def _arrange(x, labels: list, order: list):
    """Return a view with its axes in another order."""
    if labels == order:
        return x
    return x.transpose(tuple(labels.index(label) for label in order))


def _spread(x, labels: list, order: list):
    """Return a view with an axis of one for each label that it lacks."""
    mine = [label for label in order if label in labels]
    sizes = dict(zip(mine, _arrange(x, labels, mine).shape))
    return _arrange(x, labels, mine).reshape(tuple(sizes.get(label, 1) for label in order))


def _in_order(labels) -> list:
    """Sort labels, those of the ellipsis first."""
    return sorted(labels, key=lambda label: (isinstance(label, str), label))


def _pair(a, a_labels, b, b_labels, others: list, dtype):
    """Contract two operands; ``others`` are the labels of the output and of what is left."""
    keep = set(others)
    a, a_labels = _sum_out(a, a_labels, keep | set(b_labels), dtype)
    b, b_labels = _sum_out(b, b_labels, keep | set(a_labels), dtype)
    shared = [label for label in a_labels if label in b_labels]
    stretched = [
        label for label in shared
        if a.shape[a_labels.index(label)] != b.shape[b_labels.index(label)]
    ]
    contracted = [label for label in shared if label not in keep]
    if stretched or not contracted:
        return _multiply(a, a_labels, b, b_labels, others, dtype)
    contracted = _in_order(contracted)
    batch = _in_order(label for label in shared if label in keep)
    a_free = _in_order(label for label in a_labels if label not in shared)
    b_free = _in_order(label for label in b_labels if label not in shared)
    sizes = {**dict(zip(a_labels, a.shape)), **dict(zip(b_labels, b.shape))}

    def count(labels):
        return _host.size_of([sizes[label] for label in labels])

    left = _arrange(a, a_labels, batch + a_free + contracted)
    right = _arrange(b, b_labels, batch + contracted + b_free)
    product = _routines_linalg.matmul(
        _cast(left, dtype).reshape(count(batch), count(a_free), count(contracted)),
        _cast(right, dtype).reshape(count(batch), count(contracted), count(b_free)))
    labels = batch + a_free + b_free
    return product.reshape(tuple(sizes[label] for label in labels)), labels


def _multiply(a, a_labels, b, b_labels, others, dtype):
    """Multiply where nothing is summed, or where an axis of one is stretched."""
    labels = list(dict.fromkeys([*a_labels, *b_labels]))
    if sorted(map(str, labels)) == sorted(map(str, others)):
        labels = list(others)  # what is left is written as the output wants it
    left, right = _spread(a, a_labels, labels), _spread(b, b_labels, labels)
    shape = np.broadcast_shapes(left.shape, right.shape)
    product = _host.compute(
        lambda x, y: np.multiply(x, y, dtype=dtype), [left, right], shape, dtype)
    return _sum_out(product, labels, set(others), dtype)


def _cast(x, dtype):
    return x if x.dtype == dtype else _host.copy(x, dtype)


def _path(optimize, labels, output, sizes) -> list[tuple]:
    """Return which operands to contract at each step; what comes out goes to the end."""
    every = [(0, 1)] * (len(labels) - 1)
    if optimize is False:
        return every
    if len(optimize) and optimize[0] == "einsum_path":
        return [tuple(step) for step in optimize[1:]]
    kind = optimize
    if len(optimize) == 2 and isinstance(optimize[1], (int, float)):
        kind = optimize[0]  # the second is the largest intermediate size: NumPy ignores it, too
    if kind not in ("greedy", "optimal"):
        raise TypeError(f"Did not understand the path (optimize): {optimize}")
    if len(labels) < 3:
        return every
    names = {label: LETTERS[i] for i, label in enumerate(sizes)}
    text = ",".join("".join(names[label] for label in one) for one in labels)
    text += "->" + "".join(names[label] for label in output)
    shapes = [np.broadcast_to(0.0, [sizes[label] for label in one]) for one in labels]
    return list(np.einsum_path(text, *shapes, optimize=kind)[0][1:])


def einsum(*operands, **kwargs):
    """Evaluate the Einstein summation convention on the operands."""
    dtype = kwargs.pop("dtype", None)
    optimize = kwargs.pop("optimize", False)
    optimize = "greedy" if optimize is True else optimize
    if kwargs:
        raise TypeError(f"Did not understand the following kwargs: {list(kwargs)}")
    texts, output_text, arrays = _split(operands)
    arrays = [_host.asarray(x) for x in arrays]
    labels = [_label(text, i, x.ndim) for i, (text, x) in enumerate(zip(texts, arrays))]
    output = _output(output_text, labels)
    sizes = _sizes(labels, arrays)
    kind = np.result_type(*(x.dtype for x in arrays)) if dtype is None else np.dtype(dtype)
    if len(arrays) > 1 and any(x.size == 0 for x in arrays):
        shape = tuple(sizes[label] for label in output)
        return _host.compute(lambda: np.zeros(shape, kind), [], shape, kind)
    work = []
    for x, one in zip(arrays, labels):
        x, one = _diagonals(x, one)
        stretched = [i for i, label in enumerate(one) if x.shape[i] == 1 != sizes[label]]
        if stretched and len(arrays) > 1:  # an axis of one fits any size
            one = list(one)
            shape = tuple(n for i, n in enumerate(x.shape) if i not in stretched)
            x, one = x.reshape(shape), [v for i, v in enumerate(one) if i not in stretched]
        work.append((x, one))
    for step in _path(optimize, [one for _, one in work], output, sizes):
        chosen = [work[i] for i in step]
        for i in sorted(step, reverse=True):
            del work[i]
        x, one = chosen[0]
        for y, other in chosen[1:]:
            later = [label for _, rest in [*work, *chosen[2:]] for label in rest]
            x, one = _pair(x, one, y, other, [*output, *later], kind)
        work.append((x, one))
    x, one = work[0]
    if len(arrays) == 1 and set(one) <= set(output):  # a view, whatever ``dtype`` says
        return _arrange(x, one, output).view()
    x, one = _sum_out(x, one, set(output), kind)
    x = _arrange(x, one, [label for label in output if label in one])
    return _cast(x, kind)
