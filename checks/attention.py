"""The tasks about attention in O(n) memory: a mask, merging, tiles, split keys."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from helpers import kernels

from .machinery.kernel_task import KernelTask, blank, counters, to_device, undivided
from .machinery.task import (
    Case,
    Mistake,
    Task,
    Trial,
    instructions,
    no_python_loop,
    no_warnings,
    peak_memory,
)

TIME_LIMIT = 2.0  # seconds for a call that takes milliseconds

# the warm-ups of the lesson: a mask, the total of many pieces, what sharing a query costs


def _window(m, n, width, *, top=False, itself=0):
    last = np.arange(m)[:, None] + (0 if top else n - m) + itself
    return (np.arange(n) < last) & (np.arange(n) >= last - width)


window = Task(
    "window", _window, lambda: [(3, 5, 2), (4, 4, 1), (1, 6, 3), (5, 7, 20), (6, 9, 4)],
    right=_window,
    mistakes=[
        ("a diagonal at the top left: query 0 stands at place n - m", {"top": True}),
        ("each query with itself: only digits before it count", {"itself": 1}),
    ],
)

joined_total = Task(
    "joined_total",
    lambda tops, totals: (totals * np.exp(tops - tops.max())).sum(),
    lambda: [(np.array(tops, float), np.array(totals, float)) for tops, totals in (
        ([5, 5 + np.log(4)], [2, 1]), ([3], [7]), ([900, -900, 899.5], [1, 2, 3]),
        ([-2000, -2001], [1, 1]))]
    + [tuple(np.array(x, np.float32)[::-1] for x in ([1.5, 2.5, 0.25], [1, 2, 3]))],
    mistakes=[
        Mistake("totals added without rescaling: each is relative to its own top",
                lambda tops, totals: totals.sum()),
        Mistake("inverted factors: the pieces with the smaller tops shrink",
                np.errstate(over="ignore")(
                    lambda tops, totals: (totals * np.exp(tops.max() - tops)).sum())),
    ],
    rules=[no_python_loop(*((np.arange(n) / n, np.ones(n)) for n in (4, 400)))],
    rtol=1e-5,
)

shared_query = Task(
    "shared_query", lambda lanes: (lanes * (lanes.bit_length() - 1), 4 * lanes),
    lambda: [(lanes,) for lanes in (32, 1, 8, 2, 16, 4)],
    mistakes=[
        Mistake("the clocks of one warp: 32 queries are the work of several",
                lambda lanes: (lanes.bit_length() - 1, 4)),
        Mistake("a shuffle for each lane: with each one, the distance halves",
                lambda lanes: (lanes * (lanes - 1), 4 * lanes)),
    ],
)

# merge: two parts of a softmax


def _random_part(rng, shape, d, keys, far, dtype) -> list[np.ndarray]:
    """top, total and out of `keys` random scores around `far` and as many values, per query."""
    s = far + 3 * rng.standard_normal((*shape, keys))
    v = rng.standard_normal((keys, d)) - 1
    top = s.max(axis=-1)
    powers = np.exp(s - top[..., None])
    return [x.astype(dtype) for x in (top, powers.sum(axis=-1), powers @ v)]


def _merge_cases() -> list[Case]:
    rng = np.random.default_rng(121)
    cases = []
    for shape, d, far1, far2, dtype in (((5,), 3, 0, 0, "float32"), ((2, 4), 7, 1, -1, "float64"),
                                        ((6,), 6, 400, 403, "float32"),
                                        ((3, 2), 1, -300, 5, "float32"),
                                        ((4,), 5, 900, -900, "float64")):
        cases.append((*_random_part(rng, shape, d, 4, far1, dtype),
                      *_random_part(rng, shape, d, 9, far2, dtype)))
    for left, right in (([1, 3], []), ([], [0, 4]), ([0, 2], [0, 3])):  # rows without a key
        parts = [_random_part(rng, (6,), 3, 4, far, "float32") for far in (1, 2)]
        for rows, (top, total, out) in zip((left, right), parts):
            top[rows], total[rows], out[rows] = -np.inf, 0, 0
        cases.append(tuple(x[::-1] for x in (*parts[0], *parts[1])))
    return cases


def _rescaled(out1, f1, out2, f2, total) -> np.ndarray:
    return out1 * f1[..., None] + out2 * f2[..., None]


def _factors(top1: np.ndarray, top2: np.ndarray, top: np.ndarray) -> tuple:
    finite = np.where(np.isinf(top), 0, top).astype(top.dtype)
    return top, np.exp(top1 - finite), np.exp(top2 - finite)


def _merge(top1, total1, out1, top2, total2, out2, *, factors=_factors, out=_rescaled):
    """The merge whose top and two factors are `factors(top1, top2, the larger one)`."""
    with np.errstate(all="ignore"):
        top, f1, f2 = factors(top1, top2, np.maximum(top1, top2))
        total = total1 * f1 + total2 * f2
        return top, total, out(out1, f1, out2, f2, total)


def _new_arrays(answer: Callable, trials: Sequence[Trial]) -> str | None:
    for case, _, got in trials:
        if any(np.may_share_memory(result, part) for result in got.value for part in case):
            return ("it returns one of the caller's own arrays, which the caller may write to"
                    " later. Return new ones.")
    return None


merge = Task(
    "merge", _merge, _merge_cases, right=_merge,
    mistakes=[
        ("sums added without rescaling: their powers are relative to different tops",
         {"factors": lambda top1, top2, top: (top, np.ones_like(top1), np.ones_like(top2))}),
        ("total rescaled and out not: both are sums of the same powers",
         {"out": lambda out1, f1, out2, f2, total: out1 + out2}),
        ("inverted factors: exp(top - top1) makes the smaller part larger",
         {"factors": lambda top1, top2, top: (top, np.exp(top - top1), np.exp(top - top2))}),
        ("-inf minus -inf where both parts are without a key: that is no number",
         {"factors": lambda top1, top2, top: (top, np.exp(top1 - top), np.exp(top2 - top))}),
        ("everything made relative to top2: where top1 is larger, its powers overflow",
         {"factors": lambda top1, top2, top: (top2, np.exp(top1 - top2), np.ones_like(top2))}),
        ("powers made relative to 0, exp(top1) and exp(top2): those overflow",
         {"factors": lambda top1, top2, top: (top, np.exp(top1), np.exp(top2))}),
        ("out divided by total already: a later merge needs the sum itself",
         {"out": lambda *parts: _rescaled(*parts) / parts[4][..., None]}),
        ("a query's factor along the wrong axis of out: it needs [..., None]",
         {"out": lambda out1, f1, out2, f2, total: out1 * f1 + out2 * f2}),
    ],
    rules=[no_warnings, _new_arrays, no_python_loop(*(
        2 * tuple(_random_part(np.random.default_rng(n), (n,), 3, 4, 0, "float32"))
        for n in (4, 400)))],
    rtol=2e-6,
    time_limit=TIME_LIMIT,
)

# tiled_attention: attention one tile at a time


def _tiled_attention(q, k, v, counts, rows, keys) -> np.ndarray:
    if not counts.any():
        return np.zeros((len(q), v.shape[1]), q.dtype)
    q64, k64, v64 = (x.astype(np.float64) for x in (q, k, v))
    s = np.where(counts, q64 @ k64.T / math.sqrt(q.shape[1]), -np.inf)
    powers = np.exp(s - s.max(axis=1, keepdims=True))
    return (powers / powers.sum(axis=1, keepdims=True) @ v64).astype(q.dtype)


def _tiled_cases() -> list[Case]:
    rng = np.random.default_rng(122)
    cases = []
    for m, n, d, e, rows, keys, strength in ((8, 12, 4, 4, 4, 4, 1), (10, 13, 6, 3, 4, 5, 3),
                                             (7, 30, 16, 5, 3, 8, 4), (1, 50, 8, 8, 1, 7, 40),
                                             (20, 3, 5, 2, 16, 64, 2)):
        q, k = (rng.standard_normal((length, d), dtype=np.float32) for length in (m, n))
        v = rng.standard_normal((n, e), dtype=np.float32) + np.float32(5)
        cases.append([np.float32(strength) * q, k, v, np.ones(n, bool), rows, keys])
    q, k, v, _, rows, keys = *map(np.asfortranarray, cases[2][:4]), *cases[2][4:]
    some = rng.random(30) < 0.6
    later = np.arange(30) >= 17  # no key of the first two tiles counts
    gap = (np.arange(30) < 8) | (np.arange(30) >= 24)
    for counts in (some[::-1], later, gap, np.zeros(30, bool)):
        cases.append([q, k, v, counts, rows, keys])
    # Whole numbers, whose products are exact: scores rise by 8 from key to key, or fall, and those
    # that do not count are far above the others.
    q, k, v = (rng.integers(-2, 3, (length, 4)).astype(np.float32) for length in (7, 25, 25))
    q[:, 0] = 8
    for rising in (2 * np.arange(25), -2 * np.arange(25), -5000 - 20 * np.arange(25)):
        k[:, 0] = rising
        far = k.copy()
        far[::4, 0] += 10_000
        cases += [[q, k.copy(), v, np.ones(25, bool), 3, 4],
                  [q, far, v, np.arange(25) % 4 > 0, 2, 6]]
    cases[-1][:3] = (x.astype(np.float64) for x in cases[-1][:3])
    return [tuple(case) for case in cases]


def _random_strip(m: int, n: int, d: int, rows: int, keys: int, share: float = 1) -> Case:
    """Queries, keys and values, of which about so many count, and the sizes of a tile."""
    rng = np.random.default_rng(n)
    q, k, v = (rng.standard_normal((length, d), dtype=np.float32) for length in (m, n, n))
    return q, k, v, rng.random(n) < share, rows, keys


def _tiles_as_given(answer: Callable, trials: Sequence[Trial]) -> str | None:
    """With smaller tiles the interpreter has more work, unless the answer ignores the sizes."""
    one, *smaller = (instructions(answer, _random_strip(32, 32, 4, rows, keys))
                     for rows, keys in ((32, 32), (4, 32), (32, 4)))
    for name, what, many in zip(("rows", "keys"), ("queries", "keys"), smaller):
        if many < 2 * one:
            return (f"of 32 {what} it does not make eight times as many tiles with {name}=4 as with"
                    f" {name}=32: a tile has `rows` queries and `keys` keys, both as given.")
    return None


def _not_exchanged(answer: Callable, trials: Sequence[Trial]) -> str | None:
    of_rows, of_keys = (instructions(answer, _random_strip(64, 16, 4, rows, keys))
                        for rows, keys in ((4, 64), (64, 4)))
    if of_rows < 2 * of_keys:
        return "it takes tiles of `keys` queries and `rows` keys: `rows` are rows of q."
    return None


def _online(q, k, v, counts, rows, keys, *, ends=None, fade_out=True, fade_total=True,
            masked=-np.inf, scale=True, mean=False, finite=True):
    """The right answer, or one with the mistakes that the keywords name."""
    out = np.zeros((len(q), v.shape[1]), q.dtype)
    root = np.float32(math.sqrt(q.shape[1]) if scale else 1)
    with np.errstate(all="ignore"):
        for i in range(0, len(q), rows):
            b = q[i:i + rows] / root
            top, total, o = np.full((len(b), 1), -np.inf, q.dtype), 0, 0
            for j in range(0, ends(len(k), keys) if ends else len(k), keys):
                c = counts[j:j + keys]
                if finite and not c.any() and masked == -np.inf:
                    continue
                s = np.where(c, b @ k[j:j + keys].T, np.float32(masked))
                most = np.maximum(top, s.max(axis=1, keepdims=True))
                fade, p = np.exp(top - most), np.exp(s - most)
                if mean:
                    p, fade = p / p.sum(axis=1, keepdims=True), 1
                total = total * (fade if fade_total else 1) + p.sum(axis=1, keepdims=True)
                o = o * (fade if fade_out else 1) + p @ v[j:j + keys]
                top = most
            out[i:i + rows] = o / (np.where(total == 0, 1, total) if finite else total)
    return out


tiled_attention = Task(
    "tiled_attention", _tiled_attention, _tiled_cases, right=_online,
    mistakes=[
        ("the last, smaller tile of keys left out", {"ends": lambda n, keys: n // keys * keys}),
        ("out not rescaled when a larger score comes", {"fade_out": False}),
        ("total not rescaled when a larger score comes", {"fade_total": False}),
        ("keys that do not count given the score 0, whose power is not 0", {"masked": 0}),
        ("scores not divided by the root of d", {"scale": False}),
        ("the plain mean of each tile's own answers: tiles with large powers weigh more",
         {"mean": True}),
        ("a tile in which no key counts: -inf minus -inf, or 0 / 0, is no number",
         {"finite": False}),
        Mistake("an array made without `dtype=q.dtype`, or float32 divided by np.sqrt(d), a"
                " float64: that makes float64 of all that follows, and math.sqrt(d) does not",
                lambda q, k, v, counts, rows, keys: _tiled_attention(
                    *(x.astype(np.float64) for x in (q, k, v)), counts, rows, keys)),
    ],
    rules=[_tiles_as_given, no_warnings,
           peak_memory(_random_strip(200, 6000, 16, 64, 64, 0.9), 400_000,
                       "one tile of scores at a time, and no copies of k and v."),
           peak_memory(_random_strip(4096, 256, 2, 64, 128), 1_000_000,
                       "one tile of scores at a time, of `rows` queries only."),
           _not_exchanged],
    rtol=3e-6,
    time_limit=TIME_LIMIT,
)

# split and join: the keys of each query in pieces, and the merge of all of them

def _split(q, k, v, each, scale) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    found = []
    for begin in range(0, len(k), each):
        s = scale * q.astype(np.float64) @ k[begin:begin + each].astype(np.float64).T
        powers = np.exp(s - s.max(axis=1, keepdims=True))
        found.append((s.max(axis=1), powers.sum(axis=1), powers @ v[begin:begin + each]))
    return tuple(np.stack(parts, axis=1).astype(np.float32) for parts in zip(*found))


def _split_cases() -> list[Case]:
    rng = np.random.default_rng(126)
    cases = []
    for m, n, each, scale, strength in ((1, 64, 16, 0.125, 1), (3, 75, 20, 0.25, 2),
                                        (2, 20, 32, -0.5, 3), (5, 33, 1, 0.125, 1)):
        q, k, v = (rng.standard_normal((length, 64), dtype=np.float32) for length in (m, n, n))
        cases.append((np.float32(strength) * q, k, v + np.float32(1), each, scale))
    far = np.float32(2.5)  # all scores are near 100, where expf overflows
    cases.append((cases[0][0] + far, cases[0][1] + far, *cases[0][2:]))
    # Whole numbers, exact products: scores rise within each piece, fall, or are very low.
    q, k = (rng.integers(-1, 2, (length, 64)).astype(np.float32) for length in (3, 75))
    q[:, 0] = 8
    for first in (4 * np.arange(75), -4 * np.arange(75), -30_000 - 100 * (np.arange(75) * 7 % 75)):
        k[:, 0] = first
        cases.append((q, k.copy(), rng.standard_normal((75, 64), np.float32), 30, 0.125))
    return cases


def _split_launch(q: np.ndarray, k: np.ndarray, v: np.ndarray, each: int, scale: float) -> tuple:
    pieces = len(q), -(-len(k) // each)
    return pieces[::-1], (32, 8), (*map(to_device, (q, k, v)), blank(pieces, np.float32),
                                 blank(pieces, np.float32), blank((*pieces, 64), np.float32),
                                 np.int32(len(k)), np.int32(each), np.float32(scale))


def _divided(counts: object, *case: object) -> str | None:
    if not counts.barriers:
        return "no block passes a barrier: give each warp keys of its own, and merge their sums."
    return undivided(counts, load=4 * 300 * 64)


split = KernelTask(
    "split", _split, _split_cases, launch=_split_launch, result=slice(3, 6), given="",
    right=kernels.source("split_keys"), rtol=5e-5,
    mistakes=[
        ("out not rescaled when a larger score comes",
         "out0 * fade", "out0", "out1 * fade", "out1"),
        ("total not rescaled when a larger score comes", "total * fade", "total"),
        ("the warps' sums added without rescaling: each warp has a top of its own",
         "expf(top8[w] - most)", "1"),
        ("pieces that begin with the first key: piece p begins with key p * each",
         "int key = begin + y;", "int key = y;"),
        ("the scale left out", "s *= scale;", ""),
        ("powers without the largest score subtracted: they overflow",
         "expf(top - most)", "1", "expf(s - most)", "expf(s)"),
        ("out divided by total already: to merge the pieces needs the sum itself",
         "= out;", "= out / sum;"),
        ("all queries taken to be the first one", "q += blockIdx.y * 64;", ""),
        ("no barrier between the warps' sums and the merge of them", "__syncthreads();", ""),
    ],
    rules=[counters(_divided, *(np.ones((length, 64), np.float32) for length in (4, 80, 80)), 16,
                    0.125)],
)


def _join(tops: np.ndarray, totals: np.ndarray, outs: np.ndarray) -> np.ndarray:
    factors = np.exp(tops.astype(np.float64) - tops.max(axis=1, keepdims=True))
    total = (totals * factors).sum(axis=1)
    out = (outs * factors[..., None]).sum(axis=1)
    return (out / np.where(total == 0, 1, total)[:, None]).astype(np.float32)


def _join_cases() -> list[Case]:
    rng = np.random.default_rng(124)
    cases = []
    for m, pieces, far in (1, 1, 0), (2, 33, 0), (3, 7, 90), (4, 20, -32_750), (1, 300, 5):
        parts = [_random_part(rng, (m,), 64, min(pieces, 4), far + 3 * rng.standard_normal(),
                              "float32") for _ in range(pieces)]
        cases.append(tuple(np.stack(part, axis=1) for part in zip(*parts)))
    for empty in (slice(0, 2), slice(4, 7), slice(0, 7)):  # pieces of which no key counts
        tops, totals, outs = (x.copy() for x in cases[2])
        tops[1, empty], totals[1, empty], outs[1, empty] = -3.4e38, 0, 0
        cases.append((tops, totals, outs))
    return cases


join = KernelTask(
    "join", _join, _join_cases, result=3, given="", rtol=5e-6,
    right=kernels.source("join_pieces"),
    launch=lambda tops, totals, outs: ((len(tops),), (64,), (
        to_device(tops), to_device(totals), to_device(outs), blank((len(tops), 64), np.float32),
        np.int32(tops.shape[1]))),
    mistakes=[
        ("sums added without rescaling: each piece is relative to its own top",
         "expf(top - most)", "1", "expf(tops[piece] - most)", "1"),
        ("the new piece not rescaled: its top may be the smaller one",
         "totals[piece] * factor", "totals[piece]", "+ outs[piece * 64 + c] * factor",
         "+ outs[piece * 64 + c]"),
        ("no division by the total at the end", "total > 0 ? out / total : 0", "out"),
        ("the mean of the pieces' own answers: pieces with large powers weigh more",
         "totals[piece] * factor", "1", "total * fade", "total", "outs[piece * 64 + c] * factor",
         "outs[piece * 64 + c] / totals[piece]", "out * fade", "out"),
        ("what was there before not rescaled", "total * fade", "total", "out * fade", "out"),
        ("powers relative to 0, exp(top): those overflow, or become 0",
         "expf(top - most)", "1", "expf(tops[piece] - most)", "expf(tops[piece])"),
        ("a division by 0 where no piece has a key", "total > 0 ? out / total : 0", "out / total"),
        ("each query with the pieces of the first one", "first = blockIdx.x * pieces", "first = 0"),
    ],
)
