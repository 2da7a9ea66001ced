"""Right answers besides the solution, and wrong ones that are no known mistake."""

import math

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


def layer_cost(shape, outputs):
    """By the rows of inputs."""
    rows = math.prod(shape[:-1])
    return rows * outputs * 2 * shape[-1], shape[-1] * outputs + outputs


def layer_cost_by_an_array(shape, outputs):
    x, weight = np.empty(shape), np.empty((shape[-1], outputs))
    return 2 * x.size * outputs, weight.size + outputs


def heads_swapped(y, heads):
    n, positions, features = y.shape
    return y.reshape(n, heads, positions, -1).swapaxes(1, 2).reshape(n, positions, features)


def heads_by_einsum(y, heads):
    return np.einsum("nhpd->nphd", y.reshape(len(y), heads, y.shape[1], -1)).reshape(y.shape)


def heads_by_loop(y, heads):
    """Right, with a loop over the heads."""
    mixed = y.reshape(len(y), heads, y.shape[1], -1)
    return np.concatenate([mixed[:, head] for head in range(heads)], axis=-1)


def attention_by_einsum(q, k, v, heads, groups):
    """Letters instead of transposes: the heads are (groups, heads of a group)."""
    n, queries, _ = q.shape
    q = q.reshape(n, queries, groups, heads // groups, -1)
    k, v = k.reshape(*k.shape[:2], groups, -1), v.reshape(*v.shape[:2], groups, -1)
    scores = np.einsum("nqgsd,nkgd->ngsqk", q, k) / math.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return np.einsum("ngsqk,nkge->nqgse", weights, v).reshape(n, queries, -1)


def attention_by_rows(q, k, v, heads, groups):
    """The queries of all heads that share their keys are rows of one matrix."""
    n, queries, _ = q.shape
    rows = q.reshape(n, queries, groups, heads // groups, -1).transpose(0, 2, 3, 1, 4)
    shape, rows = rows.shape, rows.reshape(n, groups, -1, rows.shape[-1])
    k, v = (x.reshape(*x.shape[:2], groups, -1).swapaxes(1, 2) for x in (k, v))
    scores = rows @ k.swapaxes(-1, -2) / math.sqrt(shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    answers = weights @ v / weights.sum(axis=-1, keepdims=True)
    return answers.reshape(*shape[:-1], -1).transpose(0, 3, 1, 2, 4).reshape(n, queries, -1)


def attention_by_heads(q, k, v, heads, groups):
    """Right, with a loop over the heads."""
    d, e, pieces = q.shape[-1] // heads, v.shape[-1] // groups, []
    for h in range(heads):
        g = h * groups // heads
        pieces.append(attention_by_einsum(q[..., h * d:(h + 1) * d], k[..., g * d:(g + 1) * d],
                                          v[..., g * e:(g + 1) * e], 1, 1))
    return np.concatenate(pieces, axis=-1)


def attention_with_copies(q, k, v, heads, groups):
    """Right, but every head has keys and values of its own."""
    k, v = (np.repeat(x.reshape(*x.shape[:2], groups, -1), heads // groups, axis=2) for x in (k, v))
    return attention_by_einsum(q, k, v, heads, heads)


def convolution_by_shifts(x, weight, bias, hop, pad):
    """One product for each position of the kernel, added up."""
    rows, columns = weight.shape[2:]
    n, height, width, channels = x.shape
    padded = np.zeros((n, height + 2 * pad, width + 2 * pad, channels), x.dtype)
    padded[:, pad:pad + height, pad:pad + width] = x
    down, across = (height + 2 * pad - rows) // hop + 1, (width + 2 * pad - columns) // hop + 1
    result = np.zeros((n, down, across, len(weight)), x.dtype) + bias
    for i in range(rows):
        for j in range(columns):
            seen = padded[:, i:i + hop * down:hop, j:j + hop * across:hop]
            result += seen @ weight[:, :, i, j].T
    return result


def convolution_by_einsum(x, weight, bias, hop, pad):
    padded = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    windows = sliding_window_view(padded, weight.shape[2:], axis=(1, 2))
    return np.einsum("nyzcij,ocij->nyzo", windows[:, ::hop, ::hop], weight) + bias


def convolution_by_images(x, weight, bias, hop, pad):
    """Right, with a loop over the images."""
    return np.concatenate([convolution_by_einsum(one[None], weight, bias, hop, pad) for one in x])


def convolution_by(axis):
    """Right, with a loop over the channels, the outputs or the rows."""

    def convolve(x, weight, bias, hop, pad):
        if axis == "channels":
            parts = [convolution_by_einsum(x[..., c:c + 1], weight[:, c:c + 1], 0 * bias, hop, pad)
                     for c in range(x.shape[-1])]
            return sum(parts) + bias
        if axis == "outputs":
            return np.concatenate([convolution_by_einsum(x, one[None], b, hop, pad)
                                   for one, b in zip(weight, bias[:, None])], axis=-1)
        padded = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
        size = weight.shape[2]
        rows = range(0, padded.shape[1] - size + 1, hop)
        return np.concatenate([convolution_by_einsum(padded[:, i:i + size], weight, bias, hop, 0)
                               for i in rows], axis=1)

    return convolve


def convolution_with_bias_along_the_width(x, weight, bias, hop, pad):
    return convolution_by_einsum(x, weight, 0 * bias, hop, pad) + bias[:, None]


RIGHT = {
    "linear_cost": [layer_cost, layer_cost_by_an_array],
    "repair_heads": [heads_swapped, heads_by_einsum],
    "multi_head": [attention_by_einsum, attention_by_rows],
    "convolve": [convolution_by_shifts, convolution_by_einsum],
}

WRONG = {
    "linear_cost": [
        (lambda shape, outputs: 2 * math.prod(shape) * outputs, "expected a tuple of 2"),
        (lambda shape, outputs: (2 * math.prod(shape) * outputs, outputs), "expected 32, got 8"),
        (lambda shape, outputs: (2 * shape[0] * shape[1] * shape[2] * outputs,
                                 (shape[2] + 1) * outputs), "it raised IndexError"),
    ],
    "repair_heads": [
        (heads_by_loop, "loops in Python"),
        (lambda y, heads: heads_swapped(y, 2), "it raised ValueError"),
        (lambda y, heads: heads_swapped(y, y.shape[2] // heads), "values are wrong"),
        (lambda y, heads: heads_swapped(y[:1], heads), "expected shape"),
    ],
    "multi_head": [
        (attention_by_heads, "loops in Python"),
        (attention_with_copies, "bytes of new memory"),
        (lambda *case: attention_by_rows(*(x.astype(np.float32) for x in case[:3]),
                                         *case[3:]).astype(case[0].dtype), "values are wrong"),
        (lambda q, k, v, heads, groups: attention_by_einsum(q, k, v, heads, groups).astype(float),
         "expected dtype float32, got float64"),
        (lambda q, k, v, heads, groups: attention_by_einsum(q, k, v, heads, heads), "it raised"),
        (lambda q, k, v, heads, groups: q @ v, "it raised ValueError"),
    ],
    "convolve": [
        (convolution_by_images, "loops in Python"),
        (convolution_by("channels"), "loops in Python"),
        (convolution_by("outputs"), "loops in Python"),
        (convolution_by("rows"), "loops in Python"),
        (convolution_with_bias_along_the_width, "it raised ValueError"),
        (lambda *case: convolution_by_einsum(*(x.astype(np.float32) for x in case[:3]),
                                             *case[3:]).astype(case[0].dtype), "wrong"),
    ],
}
