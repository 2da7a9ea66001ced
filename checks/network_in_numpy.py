"""The tasks about a network in NumPy: layers, their costs, attention, convolution."""

import functools
import math

import numpy as np

from .machinery.task import Case, Task, no_python_loop, peak_memory


def _random(*shape: int, seed: int, scale: float = 1, shift: float = 0,
            dtype: type = np.float32) -> np.ndarray:
    values = np.random.default_rng(seed).standard_normal(shape)
    return (values * scale + shift).astype(dtype)


# layer_norm, a warm-up of the lesson
def _layer_norm(x, scale, shift):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5) * scale + shift


def _norm_of(x, scale, shift, *, axis=-1, power=0.5, inside=1e-5, ddof=0):
    spread = (x.var(axis=axis, ddof=ddof, keepdims=True) + inside) ** power
    return (x - x.mean(axis=axis, keepdims=True)) / spread * scale + shift


def _norm_case(*shape, scale=1.0, shift=0.0, dtype=np.float32) -> Case:
    return (_random(*shape, seed=7, scale=scale, shift=shift, dtype=dtype),
            *(_random(shape[-1], seed=seed, shift=0.5, dtype=dtype) for seed in (8, 9)))


layer_norm = Task(
    name="layer_norm",
    spec=_layer_norm, right=_norm_of, rtol=1e-3,
    cases=lambda: [_norm_case(4, 6), _norm_case(5, shift=3.0), _norm_case(2, 3, 4, scale=5.0),
                   _norm_case(3, 3, 3, dtype=np.float64), _norm_case(3, 8, scale=0.003),
                   tuple(array[..., ::-1] for array in _norm_case(4, 7, shift=1000.0))],
    mistakes=[
        ("a division by the variance, without the square root", {"power": 1}),
        ("a division without the 1e-5", {"inside": 0}),
        ("a variance divided by one less than how many numbers there are", {"ddof": 1}),
        ("a mean along the first axis; each row has its own", {"axis": 0}),
    ],
)


# repair_heads, a warm-up of the lesson: heads that were merged without swapping the axes
def _swapped(y, heads):
    n, positions, features = y.shape
    return y.reshape(n, heads, positions, features // heads).swapaxes(1, 2).reshape(y.shape)


repair_heads = Task(
    name="repair_heads",
    spec=_swapped, right=_swapped,
    cases=lambda: [(_random(n, positions, heads * d, seed=11, dtype=dtype), heads)
                   for n, positions, heads, d, dtype in (
                       (1, 3, 2, 2, np.float32), (2, 16, 2, 16, np.float32),
                       (3, 4, 5, 1, np.float64), (2, 5, 1, 4, np.float32),
                       (2, 1, 3, 4, np.float64), (4, 6, 3, 2, np.float32))],
    mistakes=[
        ("y as it was", lambda y, heads: y),
        ("each row of y cut into heads; but in y, all positions of head 0 come first",
         lambda y, heads: y.reshape(*y.shape[:2], heads, -1).swapaxes(1, 2).reshape(y.shape)),
        ("heads that are still an axis: merge them with a last reshape",
         lambda y, heads: y.reshape(len(y), heads, y.shape[1], -1).swapaxes(1, 2)),
        ("the last two axes swapped; heads and positions must change places",
         lambda y, heads: y.reshape(len(y), heads, y.shape[1], -1).swapaxes(2, 3).reshape(y.shape)),
    ],
    rules=[no_python_loop((_random(2, 3, 4, seed=12), 2), (_random(90, 3, 4, seed=12), 2),
                          (_random(2, 90, 4, seed=12), 2), (_random(2, 3, 180, seed=12), 60))],
)


# profile, a warm-up of the lesson: each step's share of the time of one pass
def _profile(steps, x, clock, *, feed=True, restart=True, shares=True):
    taken, given, begin = [], x, clock()
    for step in steps.values():
        begin = clock() if restart else begin
        result = step(given)
        taken.append(clock() - begin)
        given = result if feed else x
    return tuple(one / sum(taken) if shares else one for one in taken)


class _Clock:
    now, calls = 40.0, 0  # seconds, which pass only while a step runs

    def __init__(self, steps):
        self.steps = steps

    def __call__(self, name="", x=0):  # a step where it gets a name, else the seconds
        if not name:
            return self.now
        self.now += 1.5 + 4 * self.calls + float(np.abs(x).sum())  # so a second call shows
        self.calls = (self.calls + 1) % self.steps
        return getattr(np, name)(x)

    def __repr__(self):
        return "a clock"


def _profile_case(names, *shape, dtype=np.float32) -> Case:
    clock, x = _Clock(len(names.split())), _random(*shape, seed=14, dtype=dtype).T
    return {name: functools.partial(clock, name) for name in names.split()}, x, clock


profile = Task(
    name="profile",
    spec=_profile, right=_profile,
    cases=lambda: [_profile_case("square arctan negative", 3, 4),
                   _profile_case("square", 5, dtype=float),
                   _profile_case("negative square sin arctan", 9, 2)],
    mistakes=[
        ("seconds, not shares of the seconds of all steps", {"shares": False}),
        ("times that all begin at the start of the program", {"restart": False}),
        ("each step with the first input, not with the last step's result", {"feed": False}),
    ],
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
    return (_random(n, queries, heads * d, seed=1, scale=scale, dtype=dtype),
            _random(n, keys, groups * d, seed=2, scale=scale, shift=0.5, dtype=dtype),
            _random(n, keys, groups * e, seed=3, shift=5, dtype=dtype), heads, groups)


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
        (np.asfortranarray(q)[:, ::-1], k[::-1], (-v)[..., ::-1], heads, groups),
        (exact[0], exact[1] + 1e5, *exact[2:]),  # scores too close together for float32
    ]


def _by_heads(q, k, v, heads, groups, scale=lambda d, features: math.sqrt(d), axis=-1, shift=True,
              swap=True, merge=True, share=np.repeat):
    def heads_of(x, pieces):
        cut = x.reshape(*x.shape[:2], pieces, -1).swapaxes(1, 2)
        return cut if swap else x.reshape(cut.shape)

    own = share(np.arange(groups), heads // groups)
    queries, keys, values = heads_of(q, heads), heads_of(k, groups), heads_of(v, groups)
    with np.errstate(over="ignore", invalid="ignore"):
        scores = queries @ keys[:, own].swapaxes(-1, -2) / scale(q.shape[-1] // heads, q.shape[-1])
        weights = np.exp(scores - scores.max(axis=axis, keepdims=True) if shift else scores)
        answers = weights / weights.sum(axis=axis, keepdims=True) @ values[:, own]
    return (answers.swapaxes(1, 2) if merge else answers).reshape(*q.shape[:2], -1)


_MANY_KEYS = _attention_case(2, 1, 2000, 32, 32, 8, 2)

multi_head = Task(
    name="multi_head",
    spec=_multi_head, right=_by_heads, rtol=1e-5,
    cases=_attention_cases,
    mistakes=[
        ("scores not divided by the square root of a head's features", {"scale": lambda *_: 1}),
        ("scores divided by the square root of all features; each head has only its share",
         {"scale": lambda d, features: math.sqrt(features)}),
        ("np.sqrt, whose float64 turns float32 arrays into float64: use math.sqrt",
         {"scale": lambda d, features: np.sqrt(d)}),
        ("a softmax over the queries: the shares of the *keys*, the last axis, sum to one for each"
         " query", {"axis": -2}),
        ("a softmax that overflows: subtract each row's largest score first", {"shift": False}),
        ("heads merged without swapping positions and heads back", {"merge": False}),
        ("heads made by a single reshape, which cuts along the wrong axis", {"swap": False}),
        ("head h with piece h % groups; *consecutive* heads share a piece", {"share": np.tile}),
    ],
    rules=[no_python_loop(_attention_case(2, 3, 4, 2, 2, 2, 2),
                          _attention_case(60, 3, 4, 2, 2, 2, 2),
                          _attention_case(2, 60, 60, 2, 2, 2, 2),
                          _attention_case(2, 3, 4, 2, 2, 60, 30)),
           peak_memory(_MANY_KEYS, 4 * _MANY_KEYS[1].nbytes,
                       "do not store keys or values once for each head that shares them.")],
)


# attention_cost: operations of an attention with shared keys, and the numbers of keys and values
def _attention_cost(queries, keys, features, heads, groups, *, each=2, own=2, products=2):
    pieces = features // heads * groups
    layers = own * queries * features * features + 2 * keys * features * pieces
    return each * (layers + products * queries * keys * features), 2 * keys * pieces


attention_cost = Task(
    name="attention_cost",
    spec=_attention_cost, right=_attention_cost,
    cases=lambda: [(5, 7, 12, 6, 2), (16, 16, 32, 2, 2), (1, 6, 15, 3, 1), (50, 9, 8, 8, 4),
                   (1, 2 * 10**6, 4096, 32, 8)],
    mistakes=[
        ("a count of multiplications alone; each comes with an addition", {"each": 1}),
        ("`query` without `out`; both work on the queries", {"own": 1}),
        ("layers without the products of scores and answers", {"products": 0}),
        ("scores without the answers, or the answers without the scores", {"products": 1}),
    ],
)


# convolve: patches with a hop and a ring of zeros, channels last, and their products
def _convolve(x, weight, bias, hop, pad):
    rows, columns = weight.shape[2:]
    padded = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    height, width = (padded.shape[1] - rows) // hop + 1, (padded.shape[2] - columns) // hop + 1
    patches = np.empty((len(x), height, width, rows * columns * x.shape[3]), x.dtype)
    result = np.empty((len(x), height, width, len(weight)), x.dtype)
    for i, y, z in np.ndindex(result.shape[:3]):
        patch = padded[i, y * hop:y * hop + rows, z * hop:z * hop + columns]
        patches[i, y, z] = patch.reshape(-1)
        result[i, y, z] = (patch * weight.transpose(0, 2, 3, 1)).sum(axis=(1, 2, 3)) + bias
    return patches, result


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


def _by_windows(x, weight, b, hop, pad, *, kernel=slice(None), ring=(1, 1), hops=(True, True),
                bias=1, order=(4, 5, 3), weights=(2, 3, 1, 0)):
    padded = np.pad(x, ((0, 0), *2 * [(ring[0] * pad, ring[1] * pad)], (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, weight.shape[2:], axis=(1, 2))
    windows = windows[:, ::hop if hops[0] else 1, ::hop if hops[1] else 1]
    patches = windows.transpose(0, 1, 2, 4, 5, 3).reshape(*windows.shape[:3], -1)
    matrix = weight[:, :, kernel, kernel].transpose(weights).reshape(-1, len(weight))
    return windows.transpose(0, 1, 2, *order).reshape(patches.shape), patches @ matrix + bias * b


convolve = Task(
    name="convolve",
    spec=_convolve, right=_by_windows, rtol=1e-5,
    cases=_convolution_cases,
    mistakes=[
        ("a flipped kernel: networks do not flip it", {"kernel": slice(None, None, -1)}),
        ("a result without the bias", {"bias": 0}),
        ("a result without the ring of zeros", {"ring": (0, 0)}),
        ("zeros behind the last row and column, and none in front", {"ring": (0, 2)}),
        ("a patch at every position: the hop was ignored", {"hops": (False, False)}),
        ("a hop along one axis only", {"hops": (True, False)}),
        ("patches in the order (channels, rows, columns), as in the lesson", {"order": (3, 4, 5)}),
        ("weights in the order (channels, rows, columns), which is no longer that of the patches",
         {"weights": (1, 2, 3, 0)}),
    ],
    rules=[no_python_loop(_convolution_case(2, 5, 6, 2, 3, 2, 2, 1, 1),
                          *(_convolution_case(*sizes, 2, 2, 1, 1)
                            for sizes in ((90, 5, 6, 2, 3), (2, 5, 6, 90, 3), (2, 90, 6, 2, 3),
                                          (2, 5, 90, 2, 3), (2, 5, 6, 2, 90))))],
)
