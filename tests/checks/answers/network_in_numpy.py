"""Right answers besides the solution, and wrong ones that are no known mistake."""

import math

import numpy as np

from checks.network_in_numpy import MEMORY_STEP, PretendNetwork, _measure_case
from helpers import peak_bytes


def attention_by_einsum(q, k, v, heads, keep):
    """Letters instead of transposes, and a large negative number for the mask."""
    q, k, v = (x.reshape(*x.shape[:2], heads, -1) for x in (q, k, v))
    scores = np.einsum("nqhd,nkhd->nhqk", q, k) / math.sqrt(q.shape[-1])
    scores[np.broadcast_to(~keep[:, None, None], scores.shape)] = -1e30
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return np.einsum("nhqk,nkhe->nqhe", weights, v).reshape(*q.shape[:2], -1)


def attention_by_heads(q, k, v, heads, keep):
    """Right, with a loop over the heads."""
    d, e = q.shape[-1] // heads, v.shape[-1] // heads
    pieces = []
    for h in range(heads):
        scores = q[..., h * d:(h + 1) * d] @ k[..., h * d:(h + 1) * d].swapaxes(1, 2) / math.sqrt(d)
        scores = np.where(keep[:, None], scores, -np.inf)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        pieces.append(weights @ v[..., h * e:(h + 1) * e])
    return np.concatenate(pieces, axis=-1)


def convolution_by_shifts(x, weight, bias, hop, pad):
    """One product for each position of the kernel, added up."""
    rows, columns = weight.shape[2:]
    n, channels, height, width = x.shape
    padded = np.zeros((n, channels, height + 2 * pad, width + 2 * pad), x.dtype)
    padded[:, :, pad:pad + height, pad:pad + width] = x
    down, across = (height + 2 * pad - rows) // hop + 1, (width + 2 * pad - columns) // hop + 1
    result = np.zeros((n, down, across, len(weight)), x.dtype) + bias
    for i in range(rows):
        for j in range(columns):
            seen = padded[:, :, i:i + hop * down:hop, j:j + hop * across:hop][:, :, :down, :across]
            result += np.tensordot(seen, weight[:, :, i, j], axes=(1, 1))
    return np.moveaxis(result, -1, 1)


def convolution_by_einsum(x, weight, bias, hop, pad):
    padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, weight.shape[2:], axis=(2, 3))
    return np.einsum("ncyzij,ocij->noyz", windows[:, :, ::hop, ::hop], weight) + bias[:, None, None]


def convolution_by_images(x, weight, bias, hop, pad):
    """Right, with a loop over the images."""
    return np.concatenate([convolution_by_einsum(one[None], weight, bias, hop, pad) for one in x])


def convolution_by(axis):
    """Right, with a loop over the channels, the outputs or the rows."""

    def convolve(x, weight, bias, hop, pad):
        if axis == "channels":
            parts = [convolution_by_einsum(x[:, c:c + 1], weight[:, c:c + 1], 0 * bias, hop, pad)
                     for c in range(x.shape[1])]
            return sum(parts) + bias[:, None, None]
        if axis == "outputs":
            return np.concatenate([convolution_by_einsum(x, one[None], b, hop, pad)
                                   for one, b in zip(weight, bias[:, None])], axis=1)
        padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
        size = weight.shape[2]
        rows = range(0, padded.shape[2] - size + 1, hop)
        return np.concatenate([convolution_by_einsum(padded[:, :, i:i + size], weight, bias, hop, 0)
                               for i in rows], axis=2)

    return convolve


def attention_masked(masked, over=None):
    """Masked scores that become a constant, or a maximum over the masked keys, too."""

    def attention(q, k, v, heads, keep):
        def split(x):
            return x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)

        scores = split(q) @ split(k).swapaxes(-1, -2) / math.sqrt(q.shape[-1] // heads)
        top = scores.max(axis=-1, keepdims=True)
        kept = np.where(keep[:, None, None], scores, np.float32(masked))
        with np.errstate(all="ignore"):
            weights = np.exp(kept - (top if over else kept.max(axis=-1, keepdims=True)))
            weights /= weights.sum(axis=-1, keepdims=True)
        return (weights @ split(v)).swapaxes(1, 2).reshape(*q.shape[:2], -1)

    return attention


def measure_cold(forward, images, labels, clock):
    def seconds(batch):
        taken = []
        for _ in range(5):
            begin = clock()
            forward(batch)
            taken.append(clock() - begin)
        return sorted(taken)[2]

    right = int((forward(images).argmax(axis=1) == labels).sum())
    return (seconds(images[:1]), len(images) / seconds(images), peak_bytes(forward, images), right)


def convolution_with_bias_along_the_width(x, weight, bias, hop, pad):
    return convolution_by_einsum(x, weight, 0 * bias, hop, pad) + bias


def quantised_rows(weight, axis, bits):
    """Move the channels to the front, flatten the rest, and move everything back."""
    rows = np.moveaxis(weight, axis, 0).reshape(weight.shape[axis], -1)
    scales = np.maximum(rows.max(axis=1), -rows.min(axis=1)) / (2 ** (bits - 1) - 1)
    scales[scales == 0] = 1
    shape = [1] * weight.ndim
    shape[axis] = -1
    scales = scales.reshape(shape)
    return np.round(weight / scales).astype(np.int8), scales


def quantised_by_loop(weight, axis, bits):
    integers, scales = np.zeros(weight.shape, np.int8), []
    for channel in range(weight.shape[axis]):
        index = (slice(None),) * axis + (channel,)
        scale = np.abs(weight[index]).max() / (2 ** (bits - 1) - 1) or weight.dtype.type(1)
        integers[index] = np.rint(weight[index] / scale)
        scales.append(scale)
    shape = [1] * weight.ndim
    shape[axis] = -1
    return integers, np.array(scales, weight.dtype).reshape(shape)


def measure_by_sorting(forward, images, labels, clock):
    def third_of_five(batch):
        forward(batch)
        marks = [clock()]
        for _ in range(5):
            forward(batch)
            marks.append(clock())
        return sorted(np.diff(marks))[2]

    predicted = np.argmax(forward(images), axis=1)
    return (third_of_five(images[:1]), images.shape[0] / third_of_five(images),
            peak_bytes(forward, images), np.count_nonzero(predicted == labels))


RIGHT = {
    "multi_head": [attention_by_einsum],
    "convolve": [convolution_by_shifts, convolution_by_einsum],
    "quantise": [quantised_rows],
    "measure": [measure_by_sorting],
}

WRONG = {
    "multi_head": [
        (attention_by_heads, "loops in Python"),
        (attention_masked(-100), "values are wrong"),
        (attention_masked(-20), "values are wrong"),
        (attention_masked(-1e4), "values are wrong"),
        (attention_masked(-np.inf, over="all"), "values are wrong"),
        (lambda q, k, v, heads, keep: attention_by_einsum(q, k, v, heads, keep).astype(float),
         "expected dtype float32, got float64"),
        (lambda q, k, v, heads, keep: q @ v, "it raised ValueError"),
    ],
    "convolve": [
        (convolution_by_images, "loops in Python"),
        (convolution_by("channels"), "loops in Python"),
        (convolution_by("outputs"), "loops in Python"),
        (convolution_by("rows"), "loops in Python"),
        (convolution_with_bias_along_the_width, "it raised ValueError"),
    ],
    "quantise": [
        (quantised_by_loop, "loops in Python"),
        (lambda weight, axis, bits: quantised_rows(weight, axis, bits)[0], "expected a tuple of 2"),
        (lambda weight, axis, bits: tuple(map(np.squeeze, quantised_rows(weight, axis, bits))),
         "expected shape"),
    ],
    "measure": [
        (lambda forward, images, labels, clock: (clock(), clock(), 0), "expected the tuple"),
        (lambda forward, images, labels, clock: ("fast", 1, 1, 1), "latency must be a number"),
        (lambda forward, images, labels, clock: (0.003, 937.5, 0, 21), "memory"),
        (measure_cold, "5 times with one image"),
    ],
}


# One random input of a task: what mutants and solutions are compared on, thousands of times.


def random_measure(rng):
    n = int(rng.integers(2, 20))
    times = 10 ** rng.uniform(-4, -1, 2)
    network = PretendNetwork(*times, int(rng.integers(1, 4)) * MEMORY_STEP)
    return _measure_case(n, int(rng.integers(0, n + 1)), network)


INPUTS = {"measure": random_measure}
