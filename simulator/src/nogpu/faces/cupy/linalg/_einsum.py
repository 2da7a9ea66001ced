"""Sums of products along labelled axes."""

from __future__ import annotations

import numpy as np
from cupy import _host
from cupy._core import _routines_linalg, core

from nogpu.engine import subscripts


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
    names = {label: subscripts.LETTERS[i] for i, label in enumerate(sizes)}
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
    texts, output_text, arrays = subscripts.split(operands)
    arrays = [_host.asarray(x) for x in arrays]
    labels = [subscripts.label_axes(text, i, x.ndim)
              for i, (text, x) in enumerate(zip(texts, arrays))]  # fmt: skip
    output = subscripts.output_labels(output_text, labels)
    sizes = subscripts.sizes_of(labels, arrays)
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
