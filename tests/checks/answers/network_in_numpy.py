"""Right answers besides the solution, and wrong ones that are no known mistake."""

import functools
import math

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


def norm_by_var(x, scale, shift):
    """With NumPy's own functions; `var` divides by how many numbers there are."""
    spread = np.sqrt(np.var(x, axis=-1, keepdims=True) + 1e-5)
    return scale * ((x - np.mean(x, axis=-1, keepdims=True)) / spread) + shift


def norm_by_einsum(x, scale, shift):
    centred = x - (np.einsum("...i->...", x) / x.shape[-1])[..., None]
    return centred / np.sqrt(np.einsum("...i,...i->...", centred, centred)[..., None] / x.shape[-1]
                             + 1e-5) * scale + shift


def norm_in_one_pass(x, scale, shift):
    """The mean of the squares without the square of the mean: far from 0 they nearly cancel."""
    mean = x.mean(axis=-1, keepdims=True)
    variance = (x * x).mean(axis=-1, keepdims=True) - mean * mean
    return (x - mean) / np.sqrt(np.abs(variance) + 1e-5) * scale + shift


def norm_beside_the_root(x, scale, shift):
    root = x.std(axis=-1, keepdims=True) + 1e-5
    return (x - x.mean(axis=-1, keepdims=True)) / root * scale + shift


def cost_by_products(queries, keys, features, heads, groups):
    """Product by product."""
    d = features // heads
    layers = 2 * (2 * queries * features * features) + 2 * (2 * keys * features * groups * d)
    scores = heads * (2 * queries * d * keys)
    answers = heads * (2 * queries * keys * d)
    return layers + scores + answers, keys * groups * d + keys * groups * d


def cost_in_one(queries, keys, features, heads, groups):
    """The heads cancel, except in what is shared."""
    kept = 2 * keys * features * groups // heads
    return [4 * queries * features * (features + keys) + 2 * features * kept, kept]


def one_product_a_group(queries, keys, features, heads, groups):
    kept = 2 * keys * features * groups // heads
    return 4 * queries * features**2 + 2 * features * kept + 2 * queries * kept, kept


def profile_by_append(steps, x, seconds):
    def program(x):
        for step in steps.values():
            x = step(x)
        return x

    whole, shares = seconds(program, x), []
    for step in steps.values():
        shares.append(seconds(step, x) / whole)
        x = step(x)
    return [*shares, 1 - sum(shares)]


def profile_by_prefixes(steps, x, seconds):
    """The inputs of all steps first, then the seconds."""
    inputs = [x]
    for step in steps.values():
        inputs.append(step(inputs[-1]))

    def chain(x):
        return functools.reduce(lambda y, step: step(y), steps.values(), x)

    taken = [seconds(step, given) for step, given in zip(steps.values(), inputs)]
    whole = seconds(chain, x)
    return (*(one / whole for one in taken), (whole - sum(taken)) / whole)


def profile_from_the_end(steps, x, seconds):
    """The whole program, but with the last result as its input."""
    given, taken = x, []
    for step in steps.values():
        taken.append(seconds(step, given))
        given = step(given)

    def program(x):
        for step in steps.values():
            x = step(x)
        return x

    whole = seconds(program, np.resize(given, x.shape))
    return [*(one / whole for one in taken), 1 - sum(taken) / whole]


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
    "layer_norm": [norm_by_var, norm_by_einsum],
    "attention_cost": [cost_by_products, cost_in_one],
    "repair_heads": [heads_swapped, heads_by_einsum],
    "multi_head": [attention_by_einsum, attention_by_rows],
    "convolve": [convolution_by_shifts, convolution_by_einsum],
    "profile": [profile_by_append, profile_by_prefixes],
}

WRONG = {
    "layer_norm": [
        (norm_in_one_pass, "values are wrong"),
        (norm_beside_the_root, "values are wrong"),
        (lambda x, scale, shift: norm_by_var(x, 1, 0), "values are wrong"),
        (lambda x, scale, shift: norm_by_var(x, scale, shift).astype(float), "expected dtype"),
        (lambda x, scale, shift: (x - x.mean(axis=-1)) / np.sqrt(x.var(axis=-1) + 1e-5), "raised"),
        (lambda x, scale, shift: norm_by_var(x - x.mean(), scale, shift) * 1.01, "wrong"),
    ],
    "attention_cost": [
        (lambda *sizes: cost_in_one(*sizes)[0], "expected a tuple of 2"),
        (lambda *sizes: cost_in_one(*sizes[:-1], sizes[-2]), "expected"),
        (lambda queries, keys, *rest: cost_in_one(queries, queries, *rest), "expected"),
        (lambda *sizes: (cost_in_one(*sizes)[0], cost_in_one(*sizes)[1] // 2), "expected"),
        (one_product_a_group, "expected"),
        (lambda *sizes: cost_in_one(*sizes[:-1], 1), "expected"),
    ],
    "profile": [
        (profile_from_the_end, "expected"),
        (lambda *case: profile_by_append(*case)[:-1], "expected a tuple of 4"),
        (lambda steps, x, seconds: profile_by_append(steps, x, lambda *run: 1.0 + seconds(*run)),
         "expected"),
        (lambda *case: dict(zip(case[0], profile_by_append(*case))), "got a dict"),
        (lambda *case: [100 * share for share in profile_by_append(*case)], "expected"),
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
