"""Sums of products along labelled axes."""

from __future__ import annotations

import numpy as np
from cupy import _host
from cupy._core import core

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
    shape = tuple(sizes[label] for label in output)
    names = {label: subscripts.LETTERS[i] for i, label in enumerate(sizes)}
    if len(arrays) == 1:
        x, one = _diagonals(arrays[0], labels[0])
        if set(one) == set(output):  # a view, whatever ``dtype`` says
            return x.transpose(tuple(one.index(label) for label in output)).view()
        arrays, labels = [x], [one]
    text = ",".join("".join(names[label] for label in one) for one in labels)
    text += "->" + "".join(names[label] for label in output)
    path = _path(optimize, text, [x.shape for x in arrays])
    if len(arrays) == 2 and labels[1][-1:] and labels[1][-1] not in output:
        core._new(arrays[1].shape, kind)  # CuPy's product takes it transposed, as a copy
    wide = _host.wide(kind)
    return _host.compute(
        lambda *views: np.einsum(text, *[v.astype(wide, copy=False) for v in views],
                                 optimize=path), arrays, shape, kind)  # fmt: skip


def _path(optimize, text: str, shapes: list[tuple]) -> object:
    """The order of contractions, as NumPy takes it; without a wish, products by matrices."""
    if len(shapes) < 2 or optimize is False and len(shapes) > 2:
        return False
    if optimize is False:
        return "greedy"
    if len(optimize) and optimize[0] == "einsum_path":
        return list(optimize)
    kind = optimize
    if len(optimize) == 2 and isinstance(optimize[1], (int, float)):
        kind = optimize[0]  # the second is the largest intermediate size: NumPy ignores it, too
    if kind not in ("greedy", "optimal"):
        raise TypeError(f"Did not understand the path (optimize): {optimize}")
    return np.einsum_path(text, *[np.broadcast_to(0.0, n) for n in shapes], optimize=kind)[0]
