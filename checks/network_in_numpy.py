"""The tasks about a network in NumPy: layers, attention, convolution."""

import math

import numpy as np

from .machinery.task import Case, Mistake, Task, no_python_loop, peak_memory


def _random(*shape: int, seed: int, scale: float = 1, shift: float = 0,
            dtype: type = np.float32) -> np.ndarray:
    values = np.random.default_rng(seed).standard_normal(shape)
    return (values * scale + shift).astype(dtype)


# linear_cost, a warm-up of the lesson: operations of a product, numbers of a layer


linear_cost = Task(
    name="linear_cost",
    spec=lambda shape, outputs: (2 * math.prod(shape) * outputs, (shape[-1] + 1) * outputs),
    cases=lambda: [((5, 7, 3), 8), ((4,), 6), ((9, 5), 1), ((2, 3, 2, 7), 10), ((1, 1), 3),
                   ((1000, 3000), 4000)],  # more operations than an int32 can count,
    mistakes=[
        Mistake("a count of multiplications alone; each comes with an addition",
                lambda shape, outputs: (math.prod(shape) * outputs, (shape[-1] + 1) * outputs)),
        Mistake("the operations of a single row of inputs",
                lambda shape, outputs: (2 * shape[-1] * outputs, (shape[-1] + 1) * outputs)),
        Mistake("the weights without the bias, which has one number for each output",
                lambda shape, outputs: (2 * math.prod(shape) * outputs, shape[-1] * outputs)),
        Mistake("a bias for each input; there is one for each output",
                lambda shape, outputs: (2 * math.prod(shape) * outputs,
                                        shape[-1] * outputs + shape[-1])),
    ],
)


# repair_heads, a warm-up of the lesson: heads that were merged without swapping the axes


def _swapped(y, heads, shape=lambda n, positions, heads, d: (n, heads, positions, d),
             axes=(0, 2, 1, 3)):
    n, positions, features = y.shape
    mixed = y.reshape(shape(n, positions, heads, features // heads))
    return mixed.transpose(axes).reshape(y.shape)


def _repaired(y, heads):
    n, positions, features = y.shape
    mixed = y.reshape(n, heads, positions, features // heads)
    return np.concatenate([mixed[:, head] for head in range(heads)], axis=-1)


repair_heads = Task(
    name="repair_heads",
    spec=_repaired,
    cases=lambda: [(_random(n, positions, heads * d, seed=11, dtype=dtype), heads)
                   for n, positions, heads, d, dtype in (
                       (1, 3, 2, 2, np.float32), (2, 16, 2, 16, np.float32),
                       (3, 4, 5, 1, np.float64), (2, 5, 1, 4, np.float32),
                       (2, 1, 3, 4, np.float64), (4, 6, 3, 2, np.float32))],
    mistakes=[
        Mistake("y as it was", lambda y, heads: y),
        Mistake("each row of y cut into heads, as before the call; but in y, all positions of"
                " head 0 come first", lambda y, heads: _swapped(
                    y, heads, lambda n, positions, heads, d: (n, positions, heads, d))),
        Mistake("heads that are still an axis: merge them with a last reshape",
                lambda y, heads: y.reshape(len(y), heads, y.shape[1], -1).swapaxes(1, 2)),
        Mistake("the last two axes swapped; heads and positions must change places",
                lambda y, heads: _swapped(y, heads, axes=(0, 1, 3, 2))),
        Mistake("positions and features swapped",
                lambda y, heads: y.swapaxes(1, 2).reshape(y.shape)),
    ],
    rules=[no_python_loop((_random(2, 3, 4, seed=12), 2), (_random(90, 3, 4, seed=12), 2),
                          (_random(2, 90, 4, seed=12), 2), (_random(2, 3, 180, seed=12), 60))],
)


# multi_head: attention of many sequences and heads at once, where heads share keys and values


def _multi_head(q, k, v, heads, groups):
    d, e, shared = q.shape[-1] // heads, v.shape[-1] // groups, heads // groups
    result = np.empty((*q.shape[:2], heads * e), q.dtype)
    for i, t, h in np.ndindex(*q.shape[:2], heads):
        g = h // shared
        scores = k[i, :, g * d:(g + 1) * d] @ q[i, t, h * d:(h + 1) * d] / math.sqrt(d)
        weights = np.exp(scores - scores.max())
        result[i, t, h * e:(h + 1) * e] = weights / weights.sum() @ v[i, :, g * e:(g + 1) * e]
    return result


def _attention_case(n, queries, keys, d, e, heads, groups, scale=1.0, dtype=np.float32) -> Case:
    return (
        _random(n, queries, heads * d, seed=1, scale=scale, dtype=dtype),
        _random(n, keys, groups * d, seed=2, scale=scale, shift=0.5, dtype=dtype),
        _random(n, keys, groups * e, seed=3, shift=5, dtype=dtype),
        heads, groups,
    )


def _attention_cases() -> list[Case]:
    q, k, v, heads, groups = _attention_case(3, 4, 6, 2, 2, 6, 3)
    exact = _attention_case(2, 3, 6, 4, 3, 4, 2, dtype=np.float64)
    return [
        _attention_case(2, 3, 5, 4, 2, 2, 2),
        _attention_case(2, 3, 5, 4, 3, 4, 2),
        _attention_case(1, 6, 4, 5, 3, 1, 1, dtype=np.float64),
        _attention_case(3, 4, 4, 3, 5, 6, 2),
        _attention_case(2, 3, 7, 5, 4, 3, 1),
        _attention_case(2, 5, 7, 4, 3, 4, 2, scale=9.0),  # scores of some hundreds
        (q[:, ::-1], k[::-1], (-v)[..., ::-1], heads, groups),
        (np.asfortranarray(q), k, v, heads, groups),
        (exact[0], exact[1] + 1e5, *exact[2:]),  # scores too close together for float32
    ]


def _make_multi_head(scale=lambda d, features: math.sqrt(d), axis=-1, shift=True, split="blocks",
                    merge=True, share=np.repeat):
    def multi_head(q, k, v, heads, groups):
        def heads_of(x, pieces):
            n, positions, features = x.shape
            if split == "interleaved":
                return x.reshape(n, positions, -1, pieces).transpose(0, 3, 1, 2)
            if split == "no swap":
                return x.reshape(n, pieces, positions, -1)
            return x.reshape(n, positions, pieces, -1).swapaxes(1, 2)

        own = [share(np.arange(groups), heads // groups)] if share else slice(None)
        queries, keys, values = heads_of(q, heads), heads_of(k, groups), heads_of(v, groups)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = queries @ keys[:, own[0]].swapaxes(-1, -2)
            scores = scores / scale(q.shape[-1] // heads, q.shape[-1])
            if shift:
                scores = scores - scores.max(axis=axis, keepdims=True)
            weights = np.exp(scores)
            weights = weights / weights.sum(axis=axis, keepdims=True)
            answers = weights @ values[:, own[0]]
            if split == "interleaved":
                return answers.transpose(0, 2, 3, 1).reshape(*q.shape[:2], -1)
            return (answers.swapaxes(1, 2) if merge else answers).reshape(*q.shape[:2], -1)

    return multi_head


_MANY_KEYS = _attention_case(2, 1, 2000, 32, 32, 8, 2)

multi_head = Task(
    name="multi_head",
    spec=_multi_head,
    cases=_attention_cases,
    rtol=1e-5,
    mistakes=[
        Mistake("scores that were not divided by the square root of a head's features",
                _make_multi_head(scale=lambda d, features: 1)),
        Mistake("scores divided by the square root of all features; each head has only its share",
                _make_multi_head(scale=lambda d, features: math.sqrt(features))),
        Mistake("scores divided by d and not by its square root",
                _make_multi_head(scale=lambda d, features: d)),
        Mistake("np.sqrt, whose float64 turns float32 arrays into float64: use math.sqrt",
                _make_multi_head(scale=lambda d, features: np.sqrt(d))),
        Mistake("a softmax over the queries: the shares of the *keys*, the last axis, sum to one"
                " for each query", _make_multi_head(axis=-2)),
        Mistake("a softmax that overflows: subtract the largest score of each row first",
                _make_multi_head(shift=False)),
        Mistake("heads merged without swapping positions and heads back",
                _make_multi_head(merge=False)),
        Mistake("heads made by one reshape to (n, heads, positions, d): it cuts along the wrong"
                " axis", _make_multi_head(split="no swap")),
        Mistake("interleaved heads: features 0, heads, 2 * heads, ... in the first; the pieces must"
                " be consecutive", _make_multi_head(split="interleaved")),
        Mistake("head h with piece h % groups; *consecutive* heads share a piece",
                _make_multi_head(share=np.tile)),
        Mistake("one head over all features", lambda q, k, v, heads, groups: _make_multi_head()(
            q, k, v, 1, 1) if heads == groups else _make_multi_head(scale=len)(q, k, v, 1, 1)),
    ],
    rules=[no_python_loop(_attention_case(2, 3, 4, 2, 2, 2, 2),
                          _attention_case(60, 3, 4, 2, 2, 2, 2),
                          _attention_case(2, 60, 60, 2, 2, 2, 2),
                          _attention_case(2, 3, 4, 2, 2, 60, 30)),
           peak_memory(_MANY_KEYS, 4 * _MANY_KEYS[1].nbytes,
                       "do not store keys or values once for each head that shares them.")],
)


# convolve: patches with a hop and a ring of zeros, channels last


def _convolve(x, weight, bias, hop, pad):
    rows, columns = weight.shape[2:]
    padded = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    height = (padded.shape[1] - rows) // hop + 1
    width = (padded.shape[2] - columns) // hop + 1
    result = np.empty((len(x), height, width, len(weight)), x.dtype)
    for i, y, z, o in np.ndindex(result.shape):
        patch = padded[i, y * hop:y * hop + rows, z * hop:z * hop + columns]
        result[i, y, z, o] = (patch * weight[o].transpose(1, 2, 0)).sum() + bias[o]
    return result


def _convolution_case(n, height, width, channels, outputs, rows, columns, hop, pad,
                      dtype=np.float32) -> Case:
    x = _random(n, height, width, channels, seed=4, scale=10, shift=50, dtype=dtype)
    weight = _random(outputs, channels, rows, columns, seed=5, scale=3, shift=1, dtype=dtype)
    return x, weight, _random(outputs, seed=6, scale=40, dtype=dtype), hop, pad


def _convolution_cases() -> list[Case]:
    x, weight, bias, hop, pad = _convolution_case(2, 6, 7, 3, 4, 2, 3, 1, 0)
    whole = _convolution_case(2, 6, 6, 2, 6, 2, 2, 1, 1, np.int64)
    return [
        (x, weight, bias, hop, pad),
        _convolution_case(2, 5, 6, 1, 3, 3, 3, 1, 1),
        _convolution_case(3, 7, 9, 2, 5, 3, 3, 2, 1),
        _convolution_case(1, 7, 5, 4, 2, 3, 2, 3, 2, np.float64),
        _convolution_case(2, 5, 5, 3, 3, 3, 3, 1, 1),  # as many outputs as channels
        _convolution_case(1, 4, 6, 2, 3, 1, 1, 2, 0, np.int16),  # np.sum returns int64
        (whole[0] * 10**15 + 1, *whole[1:]),  # floats round them
        (x[::-1, ::2, ::-1], weight, bias, 1, 1),
        (-np.asfortranarray(x), weight[:, ::-1], bias[::-1], 2, 2),
    ]


def _make_convolve(kernel=lambda weight: weight, pad_with=None, hops=(True, True), bias=True,
                      single=False):
    def convolve(x, weight, b, hop, pad):
        weight = kernel(weight)
        widths = ((0, 0), (pad, pad), (pad, pad), (0, 0))
        if pad_with == "none":
            padded = x
        elif pad_with == "behind":
            padded = np.pad(x, ((0, 0), (0, 2 * pad), (0, 2 * pad), (0, 0)))
        elif pad_with == "edge":
            padded = np.pad(x, widths, mode="edge")
        else:
            padded = np.pad(x, widths)
        steps = [hop if wanted else 1 for wanted in hops]
        windows = np.lib.stride_tricks.sliding_window_view(padded, weight.shape[2:], axis=(1, 2))
        windows = windows[:, ::steps[0], ::steps[1]]
        letters = "nyzcij,okij->nyzo" if single else "nyzcij,ocij->nyzo"
        result = np.einsum(letters, windows, weight)
        return result + b if bias else result

    return convolve


def _convolve_mixed(x, weight, bias, hop, pad):
    padded = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, weight.shape[2:], axis=(1, 2))
    windows = windows[:, ::hop, ::hop].transpose(0, 1, 2, 4, 5, 3)
    return windows.reshape(*windows.shape[:3], -1) @ weight.reshape(len(weight), -1).T + bias


convolve = Task(
    name="convolve",
    spec=_convolve,
    cases=_convolution_cases,
    rtol=1e-5,
    mistakes=[
        Mistake("a flipped kernel: networks do not flip it",
                _make_convolve(kernel=lambda weight: weight[:, :, ::-1, ::-1])),
        Mistake("channels summed independently of the kernel's: both carry the same letter",
                _make_convolve(single=True)),
        Mistake("a result without the bias", _make_convolve(bias=False)),
        Mistake("a result without the ring of zeros", _make_convolve(pad_with="none")),
        Mistake("zeros behind the last row and column only: half of them belong in front",
                _make_convolve(pad_with="behind")),
        Mistake("a ring that repeats the edge; it must be zeros",
                _make_convolve(pad_with="edge")),
        Mistake("a patch at every position: the hop was ignored",
                _make_convolve(hops=(False, False))),
        Mistake("a hop along one axis only", _make_convolve(hops=(True, False))),
        Mistake("a result with the outputs in axis 1; they are the last axis",
                lambda x, weight, bias, hop, pad: _make_convolve()(
                    x, weight, bias, hop, pad).transpose(0, 3, 1, 2)),
        Mistake("patches in the order (rows, columns, channels), but weights in the order"
                " (channels, rows, columns)", _convolve_mixed),
    ],
    rules=[no_python_loop(_convolution_case(2, 5, 6, 2, 3, 2, 2, 1, 1),
                          *(_convolution_case(*sizes, 2, 2, 1, 1)
                            for sizes in ((90, 5, 6, 2, 3), (2, 5, 6, 90, 3), (2, 90, 6, 2, 3),
                                          (2, 5, 90, 2, 3), (2, 5, 6, 2, 90))))],
)
