"""Right answers besides the solution, and wrong ones that are no known mistake."""

import math

import numpy as np

import helpers

helpers.start()

import cupy as cp  # noqa: E402

from checks import attention  # noqa: E402


def merge_by_logarithms(top1, total1, out1, top2, total2, out2):
    """One part has the factor 1, the other one exp(-difference)."""
    top = np.where(top1 > top2, top1, top2)
    empty = np.isneginf(top)
    fades = []
    for part in (top1, top2):
        behind = np.where(empty, 0, top) - np.where(np.isneginf(part), 0, part)
        fades.append(np.where(np.isneginf(part), 0, np.exp(-np.where(behind > 0, behind, 0)))
                     .astype(top.dtype))
    total = fades[0] * total1 + fades[1] * total2
    out = np.expand_dims(fades[0], -1) * out1 + np.expand_dims(fades[1], -1) * out2
    return top, total, out


def merge_in_a_loop(top1, total1, out1, top2, total2, out2):
    top, total, out = np.maximum(top1, top2), np.zeros_like(total1), np.zeros_like(out1)
    for where in np.ndindex(top.shape):
        for other, part, sums in ((top1, total1, out1), (top2, total2, out2)):
            if other[where] > -np.inf:
                fade = math.exp(other[where] - top[where])
                total[where] += fade * part[where]
                out[where] += fade * sums[where]
    return top, total, out


def merge_in_float64(top1, total1, out1, top2, total2, out2):
    return tuple(x.astype(np.float64) for x in merge_by_logarithms(top1, total1, out1, top2,
                                                                   total2, out2))


def merge_with_a_warning(top1, total1, out1, top2, total2, out2):
    top = np.maximum(top1, top2)
    fades = [np.nan_to_num(np.exp(x - top), nan=0) for x in (top1, top2)]
    return (top, fades[0] * total1 + fades[1] * total2,
            fades[0][..., None] * out1 + fades[1][..., None] * out2)


def merge_that_lends(top1, total1, out1, top2, total2, out2):
    """Returns the other part itself where one has nothing in it."""
    if np.isneginf(top1).all():
        return top2, total2, out2
    top, total, out = merge_by_logarithms(top1, total1, out1, top2, total2, out2)
    return (top1 if np.array_equal(top, top1) else top), total, out


def without_a_dtype(q, k, v, counts, rows, keys):
    result = np.empty((len(q), v.shape[1]))
    result[...] = keys_outside(q, k, v, counts, rows, keys)
    return result


def with_a_fixed_top(q, k, v, counts, rows, keys):
    """Every tile is relative to the first one that counts."""
    out = np.zeros((len(q), v.shape[1]), q.dtype)
    with np.errstate(all="ignore"):
        for i in range(0, len(q), rows):
            top, total, sums = None, 0, 0
            for j in range(0, len(k), keys):
                there = j + np.flatnonzero(counts[j:j + keys])
                if len(there):
                    s = q[i:i + rows] @ k[there].T / q.dtype.type(math.sqrt(k.shape[1]))
                    top = s.max(axis=1, keepdims=True) if top is None else top
                    powers = np.exp(s - top)
                    total = total + powers.sum(axis=1, keepdims=True)
                    sums = sums + powers @ v[there]
            if top is not None:
                out[i:i + rows] = sums / total
    return out


def with_the_maximum_of_all(q, k, v, counts, rows, keys):
    """The largest score of each tile is taken before the mask."""
    top = np.full(len(q), -1e30, q.dtype)
    total, out = np.zeros(len(q), q.dtype), np.zeros((len(q), v.shape[1]), q.dtype)
    with np.errstate(all="ignore"):
        for i in range(0, len(q), rows):
            here = slice(i, i + rows)
            for j in range(0, len(k), keys):
                s = q[here] @ k[j:j + keys].T / q.dtype.type(math.sqrt(k.shape[1]))
                most = np.maximum(top[here], s.max(axis=1))
                powers = np.where(counts[j:j + keys], np.exp(s - most[:, None]), 0)
                fade = np.exp(top[here] - most)
                total[here] = total[here] * fade + powers.sum(axis=1)
                out[here] = out[here] * fade[:, None] + powers @ v[j:j + keys]
                top[here] = most
    total[total == 0] = 1
    return out / total[:, None]


def keys_outside(q, k, v, counts, rows, keys):
    """The loop over keys outside, with the parts of all queries; tiles by integer indices."""
    top = np.full(len(q), -1e30, q.dtype)
    total, out = np.zeros(len(q), q.dtype), np.zeros((len(q), v.shape[1]), q.dtype)
    for j in range(0, len(k), keys):
        there = j + np.flatnonzero(counts[j:j + keys])
        if not len(there):
            continue
        for i in range(0, len(q), rows):
            here = slice(i, i + rows)
            s = q[here] @ k[there].T / q.dtype.type(math.sqrt(k.shape[1]))
            most = np.maximum(top[here], s.max(axis=1))
            fade, powers = np.exp(top[here] - most), np.exp(s - most[:, None])
            total[here] = total[here] * fade + powers.sum(axis=1)
            out[here] = out[here] * fade[:, None] + powers @ v[there]
            top[here] = most
    total[total == 0] = 1
    return out / total[:, None]


def whole_rows(q, k, v, counts, rows, keys):
    if not counts.any():
        return np.zeros((len(q), v.shape[1]), q.dtype)
    s = q @ k.T / q.dtype.type(math.sqrt(q.shape[1]))
    s[:, ~counts] = -np.inf
    powers = np.exp(s - s.max(axis=1, keepdims=True))
    return powers @ v / powers.sum(axis=1, keepdims=True)


def with_tiles(rows_of, keys_of):
    """Right values in tiles of other sizes: `rows_of(m, rows)` and `keys_of(n, keys)`."""
    def tiled_attention(q, k, v, counts, rows, keys):
        m, n = len(q), len(k)
        return keys_outside(q, k, v, counts, rows_of(m, rows), keys_of(n, keys))

    return tiled_attention


def all_queries_of_a_tile(q, k, v, counts, rows, keys):
    """The scores of all queries at once; only the rest is done in blocks."""
    top = np.full(len(q), -1e30, q.dtype)
    total, out = np.zeros(len(q), q.dtype), np.zeros((len(q), v.shape[1]), q.dtype)
    for j in range(0, len(k), keys):
        there = j + np.flatnonzero(counts[j:j + keys])
        if not len(there):
            continue
        scores = q @ k[there].T / q.dtype.type(math.sqrt(k.shape[1]))
        for i in range(0, len(q), rows):
            here = slice(i, i + rows)
            most = np.maximum(top[here], scores[here].max(axis=1))
            fade, powers = np.exp(top[here] - most), np.exp(scores[here] - most[:, None])
            total[here] = total[here] * fade + powers.sum(axis=1)
            out[here] = out[here] * fade[:, None] + powers @ v[there]
            top[here] = most
    total[total == 0] = 1
    return out / total[:, None]


def by_a_float64_root(q, k, v, counts, rows, keys):
    root = np.sqrt(q.shape[1])
    return keys_outside(q / root * root, k, v, counts, rows, keys)


def endless(q, k, v, counts, rows, keys):
    j = 0
    while j < len(k):
        j += 0 * keys
    return q


def window_by_places(m, n, width):
    place = np.arange(n - m, n)[:, None]
    ago = place - np.arange(n)
    return (ago > 0) & (ago <= width)


def window_row_by_row(m, n, width):
    may = np.zeros((m, n), bool)
    for i in range(m):
        may[i, max(0, n - m + i - width):n - m + i] = True
    return may


def joined_by_logarithms(tops, totals):
    return math.exp(np.logaddexp.reduce(tops + np.log(totals)) - max(tops))


def joined_in_a_loop(tops, totals):
    return sum(total * math.exp(top - max(tops)) for top, total in zip(tops, totals))


def clocks_by_warps(lanes):
    warps, shuffles = lanes, lanes.bit_length() - 1
    return warps * shuffles, warps * 2 * 2


# Two passes over the keys, and all threads agree on the largest score between them.
SPLIT = r"""
extern "C" __global__ void split(const float* q, const float* k, const float* v, float* tops,
                                 float* totals, float* outs, int n, int each, float scale) {
    __shared__ float largest[8], sums[66];
    int c = 2 * threadIdx.x, y = threadIdx.y, thread = 32 * y + threadIdx.x;
    int at = blockIdx.y * gridDim.x + blockIdx.x, begin = blockIdx.x * each;
    int last = min(n, begin + each);
    float q0 = q[64 * blockIdx.y + c], q1 = q[64 * blockIdx.y + c + 1];
    float top = -3.4e38f, total = 0, out0 = 0, out1 = 0;
    if (thread < 66) sums[thread] = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int key = begin + y; key < last; key += 8) {
            float s = scale * (q0 * k[64 * key + c] + q1 * k[64 * key + c + 1]);
            for (int step = 1; step < 32; step *= 2) s += __shfl_xor_sync(0xffffffff, s, step);
            if (pass == 0) {
                top = fmaxf(top, s);
            } else {
                float power = exp2f((s - top) * 1.44269504f);
                total += power;
                out0 += power * v[64 * key + c];
                out1 += power * v[64 * key + c + 1];
            }
        }
        if (pass == 0) {
            largest[y] = top;
            __syncthreads();
            for (int w = 0; w < 8; w++) top = fmaxf(top, largest[w]);
        }
    }
    atomicAdd(&sums[c], out0);
    atomicAdd(&sums[c + 1], out1);
    if (threadIdx.x == 0) atomicAdd(&sums[64], total);
    __syncthreads();
    if (thread < 64) outs[64 * at + thread] = sums[thread];
    if (thread == 64) tops[at] = top;
    if (thread == 65) totals[at] = sums[64];
}
"""
RIGHT_SPLIT = attention.split.right
# One warp does it all.
ONE_WARP = (RIGHT_SPLIT.replace("begin + y; key < end; key += 8", "begin; key < end; key++")
            .replace("__syncthreads();", "if (y) return;").split("    top8[y] = top;")[0] + """
    if (y) return;
    outs[piece * 64 + lane] = out0;
    outs[piece * 64 + lane + 32] = out1;
    tops[piece] = top;
    totals[piece] = total;
}
""")
# Each warp does all keys of the piece.
ALL_KEYS = (RIGHT_SPLIT.replace("begin + y; key < end; key += 8", "begin; key < end; key++")
            .replace("sum += total8[w]", "sum = total8[w]")
            .replace("out += out8[w]", "out = out8[w]"))


# The largest top first, then the sums.
JOIN = r"""
extern "C" __global__ void join(const float* tops, const float* totals, const float* outs,
                                float* o, int pieces) {
    tops += blockIdx.x * pieces;
    totals += blockIdx.x * pieces;
    outs += blockIdx.x * pieces * 64;
    float top = tops[0], total = 0, out = 0;
    for (int p = 1; p < pieces; p++) top = fmaxf(top, tops[p]);
    for (int p = 0; p < pieces; p++) {
        float factor = expf(tops[p] - top);
        total += totals[p] * factor;
        out += outs[64 * p + threadIdx.x] * factor;
    }
    if (total == 0) total = 1;
    o[64 * blockIdx.x + threadIdx.x] = out / total;
}
"""


RIGHT = {
    "merge": [merge_by_logarithms, lambda *parts: list(merge_by_logarithms(*parts))],
    "tiled_attention": [keys_outside],
    "window": [window_by_places, window_row_by_row],
    "joined_total": [joined_by_logarithms, lambda tops, totals: totals @ np.exp(tops - tops.max())],
    "shared_query": [clocks_by_warps,
                     lambda lanes: [lanes * math.log2(lanes), 4.0 * lanes]],
    "split": [SPLIT, cp.RawKernel(SPLIT, "split"),
              RIGHT_SPLIT.replace("tops[piece] = most", "if (c == 0) tops[piece] = most")],
    "join": [JOIN, cp.RawKernel(JOIN, "join")],
}
WRONG = {
    "merge": [
        (merge_in_a_loop, "it loops in Python"),
        (merge_in_float64, "expected dtype float32, got float64"),
        (merge_with_a_warning, "it warns"),
        (merge_that_lends, "one of the caller's own arrays"),
        (lambda top1, total1, out1, top2, total2, out2: top1, "expected a tuple of 3"),
    ],
    "tiled_attention": [
        (whole_rows, "a tile has `rows` queries and `keys` keys"),
        (lambda q, k, v, counts, rows, keys: keys_outside(q, k[counts], v[counts],
                                                          counts[counts], rows, keys),
         "no copies of k and v"),
        (lambda q, k, v, counts, rows, keys: keys_outside(q, k, v, counts, rows, keys)[:-1],
         "expected shape (8, 4), got (7, 4)"),
        (by_a_float64_root, "math.sqrt(d) does not"),
        (without_a_dtype, "an array made without `dtype=q.dtype`"),
        (with_a_fixed_top, "are wrong"),
        (with_the_maximum_of_all, "are wrong"),
        (lambda q, k, v, counts, rows, keys: keys_outside(q, k, v, counts, keys, rows),
         "tiles of `keys` queries"),
        (with_tiles(lambda m, rows: m, lambda n, keys: keys), "of 32 queries it does not make"),
        (with_tiles(lambda m, rows: m, lambda n, keys: max(keys // 2, 1)), "of 32 queries it does"),
        (with_tiles(lambda m, rows: 64, lambda n, keys: 64), "of 32 queries it does not make"),
        (with_tiles(lambda m, rows: 1, lambda n, keys: keys), "of 32 queries it does not make"),
        (with_tiles(lambda m, rows: rows, lambda n, keys: 1), "of 32 keys it does not make"),
        (with_tiles(lambda m, rows: 1, lambda n, keys: 1), "of 32 queries it does not make"),
        (all_queries_of_a_tile, "of `rows` queries only"),
        (endless, "it has not ended after"),
    ],
    "window": [
        (lambda m, n, width: window_by_places(m, n, n), "expected"),
        (lambda m, n, width: window_by_places(m, n, width).astype(int), "expected dtype bool"),
        (lambda m, n, width: window_by_places(m, n, width).T, "expected shape"),
        (lambda m, n, width: window_by_places(m, n, width - 1), "expected"),
    ],
    "joined_total": [
        (joined_in_a_loop, "it loops in Python"),
        (lambda tops, totals: (totals * np.exp(np.minimum(tops, 700))).sum(), "expected"),
        (lambda tops, totals: (totals * np.exp(tops - tops[0])).sum(), "expected"),
        (lambda tops, totals: totals * np.exp(tops - tops.max()), "expected a number"),
    ],
    "shared_query": [
        (lambda lanes: (32 * math.log2(lanes), 128), "expected"),  # as many warps as queries
        (lambda lanes: (5 * lanes, 4 * lanes), "expected"),  # always five shuffles
        (lambda lanes: (lanes * math.log2(lanes), 2 * lanes), "expected"),  # one power
        (lambda lanes: (lanes * (math.log2(lanes) + 1), 4 * lanes), "expected"),
        (lambda lanes: (math.log2(lanes) * 32 / lanes, 128 / lanes), "expected"),
        (lambda lanes: (4 * lanes, lanes * math.log2(lanes)), "expected"),  # exchanged
        (lambda lanes: lanes * math.log2(lanes) + 4 * lanes, "expected a tuple"),
    ],
    "split": [
        (RIGHT_SPLIT.replace("most = fmaxf(top, s)", "most = s"), "are wrong"),
        (RIGHT_SPLIT.replace("        top = most;", "        if (key < begin + 8) top = most;"),
         "are wrong"),
        (RIGHT_SPLIT.replace("top = -3.4e38f", "top = 0"), "are wrong"),
        (RIGHT_SPLIT.replace("top = -3.4e38f", "top = -1e4f"), "are wrong"),
        (RIGHT_SPLIT.replace("end = min(n, begin + each)", "end = min(n, begin + each) - 1"),
         "are wrong"),
        (RIGHT_SPLIT.replace("for (int w = 0; w < 8", "for (int w = 0; w < 7"), "are wrong"),
        (RIGHT_SPLIT.replace("most = top8[0], sum", "most = 0, sum"), "are wrong"),
        (RIGHT_SPLIT.replace("= blockIdx.y * gridDim.x + blockIdx.x", "= blockIdx.x"), ""),
        (RIGHT_SPLIT.replace("s += __shfl", "s += 0 * __shfl"), "makes a race"),
        (ONE_WARP, "no block passes a barrier"),
        (ALL_KEYS, "elements, where"),
        (SPLIT.replace("float scale)", "double scale)"), "A launch does not convert arguments"),
        (RIGHT_SPLIT.replace("    outs[piece", "    ((float*)k)[begin * 64 + c] = 0;\n"
                                 "    outs[piece"),
         "changed one of its inputs"),
    ],
    "join": [
        (JOIN.replace("float top = tops[0]", "float top = 0"), "are wrong"),
        (JOIN.replace("top = fmaxf(top, tops[p])", "top = tops[p]"), "are wrong"),
        (JOIN.replace("int p = 0;", "int p = 1;"), "are wrong"),
        (JOIN.replace("p < pieces; p++) {", "p < pieces - 1; p++) {"), "are wrong"),
        (JOIN.replace("outs += blockIdx.x * pieces * 64;", ""), "are wrong"),
        (JOIN.replace("if (total == 0) total = 1;", ""), "a division by 0"),
        (JOIN.replace("[64 * p + threadIdx.x]", "[64 * p]"), "are wrong"),
    ],
}


def random_parts(rng):
    """Two parts of a softmax; some queries have no key in one of them, or in both."""
    shape, d = tuple(rng.integers(1, 6, rng.integers(1, 4))), int(rng.integers(1, 9))
    dtype, parts = str(rng.choice(["float32", "float64"])), []
    for _ in range(2):
        parts += attention._random_part(rng, shape, d, int(rng.integers(1, 9)),
                                        rng.choice([0, 5, 300]) * rng.standard_normal(), dtype)
        top, total, out = parts[-3:]
        empty = rng.random(shape) < rng.choice([0, 0.3])
        top[empty], total[empty], out[empty] = -np.inf, 0, 0
    return tuple(parts)


def random_tiles(rng):
    m, n, d, e, rows, keys = (int(x) for x in rng.integers(1, (20, 30, 9, 9, 24, 34)))
    q, k, v = (rng.standard_normal(shape) for shape in ((m, d), (n, d), (n, e)))
    dtype = str(rng.choice(["float32", "float64"]))
    q, k, v = ((size * x).astype(dtype) for x, size in zip((q, k, v), (rng.uniform(0, 9), 1, 1)))
    return q, k, v, rng.random(n) < rng.choice([0, 0.2, 0.7, 1]), rows, keys


def random_split(rng):
    """Scores far from 0, where the rounding of their sums would be the larger part of them."""
    m, n = (int(x) for x in rng.integers(1, (3, 34)))
    q, k, v = (1 + rng.standard_normal((length, 64), np.float32) for length in (m, n, n))
    return (np.float32(rng.uniform(0.1, 1)) * q, k, v, int(rng.integers(1, n + 9)),
            float(rng.uniform(-0.3, 0.3)))


def random_pieces(rng):
    m, pieces = (int(x) for x in rng.integers(1, (3, 34)))
    tops, totals, outs = (np.array(x) for x in attention._random_part(
        rng, (m, pieces), 64, 3, rng.choice([9, 1e4]) * rng.standard_normal(), "float32"))
    tops += 9 * rng.standard_normal((m, pieces), np.float32)
    empty = rng.random((m, pieces)) < rng.choice([0, 0.3, 0.9, 1])
    tops[empty], totals[empty], outs[empty] = -3.4e38, 0, 0
    return tops, totals, outs


INPUTS = {"merge": random_parts, "tiled_attention": random_tiles, "split": random_split,
          "join": random_pieces}
