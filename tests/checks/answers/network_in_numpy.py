"""Right answers besides the solution, and wrong ones that are no known mistake."""

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


def profile_by_append(steps, x, clock):
    first, times = clock(), []
    for step in steps.values():
        begin = clock()
        x = step(x)
        times.append(clock() - begin)
    whole = clock() - first
    return [time / whole for time in times]


def profile_by_readings(steps, x, clock):
    """One reading of the clock between two steps, and their differences."""
    readings = [clock()]
    for step in steps.values():
        x = step(x)
        readings.append(clock())
    return tuple(np.diff(readings) / (readings[-1] - readings[0]))


def profile_of_calls_made_twice(steps, x, clock):
    """The whole has each step twice, once for its time and once for its result."""
    start, times = clock(), []
    for step in steps.values():
        begin = clock()
        step(x)
        times.append(clock() - begin)
        x = step(x)
    return [time / (clock() - start) for time in times]


def profile_with_untimed_calls(steps, x, clock):
    """Each step runs twice, and the clock is read around the first call only."""
    times = []
    for step in steps.values():
        begin = clock()
        step(x)
        times.append(clock() - begin)
        x = step(x)
    return [time / sum(times) for time in times]


def profile_without_a_first_reading(steps, x, clock):
    """A reading after each step: the first step's time is missing."""
    readings = []
    for step in steps.values():
        x = step(x)
        readings.append(clock())
    times = np.diff(readings, prepend=readings[0])
    return list(times / max(times.sum(), 1))


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


def patches_by_slices(x, weight, bias, hop, pad):
    """One slice for each place of the kernel, its channels next to those of the last one."""
    rows, columns = weight.shape[2:]
    n, height, width, channels = x.shape
    padded = np.zeros((n, height + 2 * pad, width + 2 * pad, channels), x.dtype)
    padded[:, pad:pad + height, pad:pad + width] = x
    down, across = (height + 2 * pad - rows) // hop + 1, (width + 2 * pad - columns) // hop + 1
    patches = np.concatenate([padded[:, i:i + hop * down:hop, j:j + hop * across:hop]
                              for i in range(rows) for j in range(columns)], axis=-1)
    matrix = np.moveaxis(weight, 0, -1).swapaxes(0, 1).swapaxes(1, 2).reshape(-1, len(weight))
    return [patches, np.tensordot(patches, matrix, 1) + bias]


def convolution_by_einsum(x, weight, bias, hop, pad):
    padded = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    windows = sliding_window_view(padded, weight.shape[2:], axis=(1, 2))[:, ::hop, ::hop]
    patches = np.einsum("nyzcij->nyzijc", windows).reshape(*windows.shape[:3], -1)
    return patches, np.einsum("nyzcij,ocij->nyzo", windows, weight) + bias


def convolution_in_the_old_order(x, weight, bias, hop, pad):
    """Its patches are in the lesson's order, channels first; the result is right."""
    padded = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    windows = sliding_window_view(padded, weight.shape[2:], axis=(1, 2))[:, ::hop, ::hop]
    patches = windows.reshape(*windows.shape[:3], -1)
    return patches, patches @ weight.reshape(len(weight), -1).T + bias


def convolution_of_whole_patches(x, weight, bias, hop, pad):
    """The patches keep their three axes."""
    patches, result = convolution_by_einsum(x, weight, bias, hop, pad)
    return patches.reshape(*result.shape[:3], *weight.shape[2:], -1), result


def convolution_by_images(x, weight, bias, hop, pad):
    """Right, with a loop over the images."""
    each = [convolution_by_einsum(one[None], weight, bias, hop, pad) for one in x]
    return tuple(map(np.concatenate, zip(*each)))


def convolution_by(axis):
    """Right, with a loop over the channels, the outputs or the rows."""

    def convolve(x, weight, bias, hop, pad):
        patches = convolution_by_einsum(x, weight, bias, hop, pad)[0]
        if axis == "channels":
            parts = [convolution_by_einsum(x[..., c:c + 1], weight[:, c:c + 1], 0 * bias, hop,
                                           pad)[1] for c in range(x.shape[-1])]
            return patches, sum(parts) + bias
        if axis == "outputs":
            return patches, np.concatenate([
                convolution_by_einsum(x, one[None], b, hop, pad)[1]
                for one, b in zip(weight, bias[:, None])], axis=-1)
        padded = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
        size = weight.shape[2]
        rows = range(0, padded.shape[1] - size + 1, hop)
        return patches, np.concatenate([
            convolution_by_einsum(padded[:, i:i + size], weight, bias, hop, 0)[1] for i in rows],
            axis=1)

    return convolve


def convolution_with_bias_along_the_width(x, weight, bias, hop, pad):
    patches, result = convolution_by_einsum(x, weight, 0 * bias, hop, pad)
    return patches, result + bias[:, None]


def convolution_as_floats(x, weight, bias, hop, pad):
    floats = (array.astype(np.float32) for array in (x, weight, bias))
    return [array.astype(x.dtype) for array in convolution_by_einsum(*floats, hop, pad)]


def convolution_that_hops_late(x, weight, bias, hop, pad):
    """The first axis with a hop, the second one without: `[:, ::hop]` alone."""
    patches, result = convolution_by_einsum(x, weight, bias, 1, pad)
    return patches[:, ::hop], result[:, ::hop]


RIGHT = {
    "layer_norm": [norm_by_var, norm_by_einsum],
    "attention_cost": [cost_by_products, cost_in_one],
    "repair_heads": [heads_swapped, heads_by_einsum],
    "multi_head": [attention_by_einsum, attention_by_rows],
    "convolve": [patches_by_slices, convolution_by_einsum],
    "profile": [profile_by_append, profile_by_readings],
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
        (profile_of_calls_made_twice, "expected"),
        (profile_with_untimed_calls, "expected"),
        (profile_without_a_first_reading, "expected"),
        (lambda *case: [*profile_by_append(*case), 1.0], "expected a tuple of"),
        (lambda *case: dict(zip(case[0], profile_by_append(*case))), "got a dict"),
        (lambda *case: [100 * share for share in profile_by_append(*case)], "expected"),
        (lambda steps, x, clock: [1 / len(steps)] * len(steps), "expected"),
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
        (convolution_as_floats, "wrong"),
        (convolution_in_the_old_order, "patches in the order (channels, rows, columns)"),
        (convolution_of_whole_patches, "expected"),
        (convolution_that_hops_late, "a hop along one axis only"),
        (lambda *case: convolution_by_einsum(*case)[1], "expected a tuple of 2"),
    ],
}
