"""The tasks about attention in O(n) memory: merging, tiles, the kernel, causal tiles, bytes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from .machinery.kernel_task import KernelTask, blank, counters, to_device
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

# merge: two parts of a softmax


def _merge(top1: np.ndarray, total1: np.ndarray, out1: np.ndarray, top2: np.ndarray,
           total2: np.ndarray, out2: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return _merge_by(top1, total1, out1, top2, total2, out2, factors=_right_factors)


def _random_part(rng: np.random.Generator, shape: tuple[int, ...], d: int, keys: int, far: float,
          dtype: str) -> list[np.ndarray]:
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


def _merge_case(n: int) -> Case:
    rng = np.random.default_rng(n)
    return tuple(x for _ in range(2) for x in _random_part(rng, (n,), 3, 4, 0, "float32"))


def _rescaled(out1: np.ndarray, f1: np.ndarray, out2: np.ndarray, f2: np.ndarray,
              total: np.ndarray) -> np.ndarray:
    return out1 * f1[..., None] + out2 * f2[..., None]


def _merge_by(top1, total1, out1, top2, total2, out2, *,
              factors=lambda top1, top2, top: (top, np.exp(top1 - top), np.exp(top2 - top)),
              out=_rescaled):
    """A merge whose top and two factors are `factors(top1, top2, the larger one)`."""
    with np.errstate(all="ignore"):
        top, f1, f2 = factors(top1, top2, np.maximum(top1, top2))
        total = total1 * f1 + total2 * f2
        return top, total, out(out1, f1, out2, f2, total)


def _right_factors(top1: np.ndarray, top2: np.ndarray, top: np.ndarray) -> tuple:
    finite = np.where(np.isinf(top), 0, top).astype(top.dtype)
    return top, np.exp(top1 - finite), np.exp(top2 - finite)


def _new_arrays(answer: Callable, trials: Sequence[Trial]) -> str | None:
    for case, _, got in trials:
        if any(np.may_share_memory(result, part) for result in got.value for part in case):
            return ("it returns one of the caller's own arrays, which the caller may write to"
                    " later. Return new ones.")
    return None


merge = Task(
    "merge", _merge, _merge_cases, right=_merge_by,
    mistakes=[
        ("sums added without rescaling: their powers are relative to different tops",
         {"factors": lambda top1, top2, top: (top, np.ones_like(top1), np.ones_like(top2))}),
        ("total rescaled and out not: both are sums of the same powers",
         {"factors": _right_factors, "out": lambda out1, f1, out2, f2, total: out1 + out2}),
        ("inverted factors: exp(top - top1) makes the smaller part larger",
         {"factors": lambda top1, top2, top: (top, np.exp(top - top1), np.exp(top - top2))}),
        ("-inf minus -inf where both parts are without a key: that is no number",
         {"out": _rescaled}),
        ("everything made relative to top2: where top1 is larger, its powers overflow",
         {"factors": lambda top1, top2, top: (top2, np.exp(top1 - top2), np.ones_like(top2))}),
        ("powers made relative to 0, exp(top1) and exp(top2): those overflow",
         {"factors": lambda top1, top2, top: (top, np.exp(top1), np.exp(top2))}),
        ("out divided by total already: a later merge needs the sum itself",
         {"factors": _right_factors,
          "out": lambda *parts: _rescaled(*parts) / parts[4][..., None]}),
        ("a query's factor along the wrong axis of out: it needs [..., None]",
         {"out": lambda out1, f1, out2, f2, total: out1 * f1 + out2 * f2}),
    ],
    rules=[no_warnings, _new_arrays, no_python_loop(_merge_case(4), _merge_case(400))],
    rtol=2e-6,
    time_limit=TIME_LIMIT,
)

# tiled_attention: attention one tile at a time


def _tiled_attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, counts: np.ndarray, rows: int,
                     keys: int) -> np.ndarray:
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

# attend: the kernel

ATTEND = r"""
extern "C" __global__ void attend(const float* q, const float* k, const float* v, float* o,
                                  int m, int n, float scale) {
    __shared__ float qs[8][64], ks[32][65], vs[32][64];
    int lane = threadIdx.x, y = threadIdx.y, query = blockIdx.x * 8 + y;
    for (int c = lane; c < 64; c += 32) qs[y][c] = query < m ? q[query * 64 + c] : 0;
    float top = -3.4e38f, total = 0, out0 = 0, out1 = 0;
    for (int key = 0; key < n; key += 32) {
        for (int row = y; row < 32; row += 8) {
            for (int c = lane; c < 64; c += 32) {
                ks[row][c] = key + row < n ? k[(key + row) * 64 + c] : 0;
                vs[row][c] = key + row < n ? v[(key + row) * 64 + c] : 0;
            }
        }
        __syncthreads();
        float s = 0;
        for (int c = 0; c < 64; c++) s += qs[y][c] * ks[lane][c];
        s = key + lane < n ? s * scale : -3.4e38f;
        float most = fmaxf(top, s);
        for (int step = 16; step > 0; step /= 2)
            most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, step));
        float fade = expf(top - most), power = expf(s - most);
        top = most;
        total = total * fade + power;
        out0 *= fade;
        out1 *= fade;
        for (int j = 0; j < 32; j++) {
            float p = __shfl_sync(0xffffffff, power, j);
            out0 += p * vs[j][lane];
            out1 += p * vs[j][lane + 32];
        }
        __syncthreads();
    }
    for (int step = 16; step > 0; step /= 2) total += __shfl_xor_sync(0xffffffff, total, step);
    if (query < m) {
        o[query * 64 + lane] = out0 / total;
        o[query * 64 + lane + 32] = out1 / total;
    }
}
"""


def _attend_cases() -> list[Case]:
    rng = np.random.default_rng(123)
    cases = []
    for m, n, scale, strength in ((8, 64, 0.125, 1), (11, 75, 0.25, 2), (3, 20, 0.125, 3),
                                  (1, 100, -0.5, 3), (17, 1, 0.125, 1)):
        q, k, v = (rng.standard_normal((length, 64), dtype=np.float32) for length in (m, n, n))
        cases.append((np.float32(strength) * q, k, v + np.float32(1), scale))
    q, k, v, scale = cases[1]
    k = k.copy()
    k[40:60] *= np.float32(4)  # the largest scores are in the middle
    q1, k1, v1, _ = cases[0]
    far = np.float32(2.5)  # all scores are near 100, where expf overflows
    cases += [(q, k, v, scale), (q1 + far, k1 + far, v1, scale)]
    # Whole numbers, whose products are exact: scores that rise over all tiles, or fall, or are far
    # below every constant.
    q, k = (rng.integers(-1, 2, (length, 64)).astype(np.float32) for length in (9, 75))
    q[:, 0] = 8
    for first in (4 * np.arange(75), -4 * np.arange(75), -30_000 - 100 * (np.arange(75) * 7 % 75)):
        k[:, 0] = first
        cases.append((q, k.copy(), rng.standard_normal((75, 64), np.float32), 0.125))
    return cases


def _loads_once(counts: object, q: np.ndarray, k: np.ndarray, v: np.ndarray,
                 scale: float) -> str | None:
    least = q.nbytes + k.nbytes + v.nbytes
    if counts["bytes_loaded"] > least:
        return (f"it loads {counts['bytes_loaded']:,} bytes from global memory for 8 queries and 64"
                f" keys, where {least:,} suffice: use what is in qs, ks and vs.")
    return None


attend = KernelTask(
    "attend", lambda q, k, v, scale: _tiled_attention(
        np.float32(8 * scale) * q, k, v, np.ones(len(k), bool), 0, 0),
    _attend_cases, result=3, right=ATTEND,
    launch=lambda q, k, v, scale: ((-(-len(q) // 8),), (32, 8), (
        to_device(q), to_device(k), to_device(v), blank(q.shape, np.float32),
        *map(np.int32, (len(q), len(k))), np.float32(scale))),
    parameters="const float* q, const float* k, const float* v, float* o, int m, int n,"
               " float scale",
    mistakes=[
        ("the answers not rescaled when a larger score comes: fade belongs to them too",
         "        out0 *= fade;\n        out1 *= fade;\n", ""),
        ("the sum of powers not rescaled when a larger score comes",
         "total * fade + power", "total + power"),
        ("keys beyond n counted: their score is 0, and its power is not",
         "key + lane < n ? s * scale : -3.4e38f", "s * scale"),
        ("each lane with a largest score of its own: the powers can be added only if all lanes"
         " subtract the same score",
         "most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, step))",
         "__shfl_xor_sync(0xffffffff, most, step)"),
        ("the scale left out", "s * scale", "s"),
        ("powers without the largest score subtracted: they overflow",
         "expf(top - most)", "1",
         "expf(s - most)", "expf(s)"),
        ("division by the lane's own sum: the lanes' sums must be added",
         "total += __shfl_xor_sync", "total += 0 * __shfl_xor_sync"),
        ("each lane with its own power for all keys: key j's power is in lane j",
         "__shfl_sync(0xffffffff, power, j)", "power"),
        ("no division by the sum at the end", "out0 / total", "out0", "out1 / total", "out1"),
        ("no barrier before the tile is replaced: slower warps still read it",
         "        __syncthreads();\n    }\n    for", "    }\n    for"),
    ],
    rules=[counters(_loads_once)],
    rtol=5e-5,
)

# causal_tiles: how many tiles are free of the mask, and how many are needed


def _causal_tiles(block: int, rows: int, keys: int, n: int) -> tuple[int, int]:
    i = block * rows + np.arange(rows)[:, None]
    j = np.arange(-(-n // keys) * keys)
    may = ((j <= i) & (j < n)).reshape(rows, -1, keys)
    return int(may.all(axis=(0, 2)).sum()), int(may.any(axis=(0, 2)).sum())


def _causal_formula(
        block: int, rows: int, keys: int, n: int, *,
        free: Callable = lambda block, rows, keys, n: min(block * rows + 1, n),
        needed: Callable = lambda block, rows, keys, n: min((block + 1) * rows, n)) -> tuple:
    """The tiles of so many keys: those that the first query has, and those that the last has."""
    return (free(block, rows, keys, n) // keys, -(-needed(block, rows, keys, n) // keys))


def _causal_cases() -> list[Case]:
    sizes = (64, 64, 384), (64, 32, 300), (32, 64, 300), (8, 8, 50), (5, 3, 23), (1, 4, 9)
    return [(block, rows, keys, n) for rows, keys, n in sizes for block in (0, 1, 2, 4, 7)]


def _whole_numbers(answer: Callable, trials: Sequence[Trial]) -> str | None:
    for _, _, got in trials:
        values = got.value if isinstance(got.value, tuple) else (got.value,)
        for value in values:
            if not isinstance(value, (int, np.integer)):
                return (f"it returns the {type(value).__name__} {value}: a count is a whole number,"
                        " and // divides whole numbers.")
    return None


causal_tiles = Task(
    "causal_tiles", _causal_tiles, _causal_cases, right=_causal_formula,
    mistakes=[
        ("the end at n forgotten", {"free": lambda block, rows, keys, n: block * rows + 1,
                                    "needed": lambda block, rows, keys, n: (block + 1) * rows}),
        ("the first query's own key forgotten: query i has i + 1 keys",
         {"free": lambda block, rows, keys, n: min(block * rows, n)}),
        ("the needed tiles rounded down: a tile of which one key is needed is needed",
         {"needed": lambda block, rows, keys, n: min((block + 1) * rows, n) // keys * keys}),
        ("the free tiles of the block's last query: its first query has the fewest keys",
         {"free": lambda block, rows, keys, n: min((block + 1) * rows, n)}),
        ("the needed tiles of the block's first query: its last query has the most keys",
         {"needed": lambda block, rows, keys, n: min(block * rows + 1, n)}),
        ("all tiles needed: those above the diagonal are not",
         {"needed": lambda block, rows, keys, n: n}),
        ("a block of queries as wide as a tile of keys: rows and keys may differ",
         {"free": lambda block, rows, keys, n: block * keys,
          "needed": lambda block, rows, keys, n: (block + 1) * keys}),
    ],
    rules=[_whole_numbers, no_python_loop((1, 8, 8, 100), (100, 80, 8, 10_000)),
           *(peak_memory(case, 20_000, "a formula of whole numbers needs no array.")
             for case in ((3, 8, 64, 100_000), (0, 20_000, 64, 200)))],
    time_limit=TIME_LIMIT,
)

# requested_bytes: what all blocks load and store


def _requested_bytes(m: int, n: int, d: int, side: int, causal: bool) -> int:
    loaded = 0
    for first in range(0, m, side):
        end = min(n, first + side) if causal else n
        loaded += min(side, m - first) + 2 * min(n, -(-end // side) * side)
    return 4 * d * (loaded + m)


def _bytes_cases() -> list[Case]:
    return [(m, n, d, side, causal) for causal in (False, True)
            for m, n, d, side in ((256, 256, 64, 64), (100, 150, 65, 64), (150, 100, 32, 60),
                                  (1, 1000, 128, 32), (4096, 4096, 64, 128), (33, 65, 32, 17))]


def _bytes_by(m: int, n: int, d: int, side: int, causal: bool, *, size: int = 4, answers: int = 1,
              keys: Callable = lambda blocks, n, side, causal: (
                  np.minimum(blocks * side, n) if causal else n + 0 * blocks),
              whole: bool = False) -> int:
    """The formula: `keys(1, 2, ... of each block, n, side, causal)` are those that blocks load."""
    blocks = np.arange(m // side if whole else -(-m // side)) + 1
    return size * d * (m + 2 * int(keys(blocks, n, side, causal).sum()) + answers * m)


def _no_loop_over_tiles(answer: Callable, trials: Sequence[Trial]) -> str | None:
    for causal in (False, True):
        few, many = (instructions(answer, (n, n, 32, 64, causal)) for n in (4 * 64, 16 * 64))
        if many > 7 * few:
            return ("it loops over the tiles: the interpreter's work grows with the square of the"
                    " length. A block's keys and values are one product.")
    return None


requested_bytes = Task(
    "requested_bytes", _requested_bytes, _bytes_cases, right=_bytes_by,
    mistakes=[
        ("floats counted, not bytes", {"size": 1}),
        ("the answers left out: they are stored once", {"answers": 0}),
        ("keys and values read once in all: each block reads them again",
         {"keys": lambda blocks, n, side, causal: np.array(n)}),
        ("half of everything for causal: the tiles on the diagonal are loaded whole",
         {"keys": lambda blocks, n, side, causal: np.array(len(blocks) * n // (1 + causal))}),
        ("zeros beyond n counted: they are not loaded from memory",
         {"keys": lambda blocks, n, side, causal: side * np.minimum(
             blocks if causal else n, -(-n // side)) + 0 * blocks}),
        ("the last, smaller block of queries left out", {"whole": True}),
        ("the same bytes with and without causal",
         {"keys": lambda blocks, n, side, causal: n + 0 * blocks}),
    ],
    rules=[_whole_numbers, _no_loop_over_tiles],
    time_limit=TIME_LIMIT,
)
