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


# Powers of two; scores in shared memory, and sums of the whole warp.
ATTEND = r"""
extern "C" __global__ void attend(const float* q, const float* k, const float* v, float* o,
                                  int m, int n, float scale) {
    __shared__ float qs[8][64], ks[32][65], vs[32][64], ps[8][32];
    int lane = threadIdx.x, y = threadIdx.y, query = blockIdx.x * 8 + y;
    for (int c = lane; c < 64; c += 32) qs[y][c] = query < m ? q[query * 64 + c] : 0;
    float top = -3.4e38f, total = 0, out[2] = {};
    for (int key = 0; key < n; key += 32) {
        for (int row = y; row < 32; row += 8) {
            for (int c = lane; c < 64; c += 32) {
                ks[row][c] = key + row < n ? k[(key + row) * 64 + c] : 0;
                vs[row][c] = key + row < n ? v[(key + row) * 64 + c] : 0;
            }
        }
        __syncthreads();
        int there = min(32, n - key);
        float s = 0, before = top;
        for (int c = 0; c < 64; c++) s += qs[y][c] * ks[lane][c];
        s *= scale * 1.44269504f;
        ps[y][lane] = s;
        __syncwarp();
        for (int j = 0; j < there; j++) top = fmaxf(top, ps[y][j]);
        __syncwarp();
        ps[y][lane] = exp2f(s - top);
        __syncwarp();
        float fade = exp2f(before - top);
        total *= fade;
        for (int h = 0; h < 2; h++) out[h] *= fade;
        for (int j = 0; j < there; j++) {
            total += ps[y][j];
            for (int h = 0; h < 2; h++) out[h] += ps[y][j] * vs[j][lane + 32 * h];
        }
        __syncthreads();
    }
    if (query >= m) return;
    for (int h = 0; h < 2; h++) o[query * 64 + lane + 32 * h] = out[h] / total;
}
"""
FROM_MEMORY = ATTEND.replace("ps[y][j] * vs[j][lane + 32 * h]",
                             "ps[y][j] * v[(key + j) * 64 + lane + 32 * h]")


# A warp without a query skips the weighted sum with all its lanes, and reaches every barrier.
ALL_OR_NONE = attention.ATTEND.replace("for (int j = 0; j < 32; j++)",
                                      "if (query < m) for (int j = 0; j < 32; j++)")


def causal_by_lengths(block, rows, keys, n):
    """By the length of a range, which needs no loop."""
    last = min(block * rows + rows, n)
    return len(range(keys, min(block * rows + 1, n) + 1, keys)), len(range(0, last, keys))


def causal_by_the_specification(block, rows, keys, n):
    i = block * rows + np.arange(rows)[:, None]
    j = np.arange(-(-n // keys) * keys)
    may = ((j <= i) & (j < n)).reshape(rows, -1, keys)
    return may.all(axis=(0, 2)).sum(), may.any(axis=(0, 2)).sum()


def causal_by_a_row(block, rows, keys, n):
    starts = np.arange(0, n, keys)
    free = (starts + keys <= min(block * rows + 1, n)).sum()
    return free, (starts < (block + 1) * rows).sum()


def causal_by_queries(block, rows, keys, n):
    first, last = block * rows, block * rows + rows - 1
    free = 0
    while (free + 1) * keys <= n and (free + 1) * keys - 1 <= first:
        free += 1
    return free, sum(1 for start in range(0, n, keys) if start <= last)


def bytes_by_blocks(m, n, d, side, causal):
    nbytes = 0
    for last in range(side, m + side, side):
        nbytes += 8 * d * (min(last, n) if causal else n)
    return nbytes + 8 * m * d


def bytes_by_sum(m, n, d, side, causal):
    """An arithmetic series: no loop at all."""
    blocks, inside = -(-m // side), min(n // side, -(-m // side))
    visited = blocks * n
    if causal:
        visited = side * inside * (inside + 1) // 2 + (blocks - inside) * n
    return 8 * d * (m + visited)


def bytes_by_the_specification(m, n, d, side, causal):
    loaded = 0
    for first in range(0, m, side):
        loaded += min(side, m - first)
        for key in range(0, min(n, first + side) if causal else n, side):
            loaded += 2 * min(side, n - key)
    return 4 * d * (loaded + m)


def bytes_in_float(m, n, d, side, causal):
    return float(bytes_by_blocks(m, n, d, side, causal))


RIGHT = {
    "merge": [merge_by_logarithms, lambda *parts: list(merge_by_logarithms(*parts))],
    "tiled_attention": [keys_outside],
    "attend": [ATTEND, cp.RawKernel(ATTEND, "attend"), ALL_OR_NONE],
    "causal_tiles": [causal_by_lengths],
    "requested_bytes": [bytes_by_blocks, bytes_by_sum],
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
    "attend": [
        (attention.ATTEND.replace("        top = most;\n", "        if (key == 0) top = most;\n"),
         "values are wrong"),
        (attention.ATTEND.replace("most = fmaxf(top, s)", "most = s"), "values are wrong"),
        (attention.ATTEND.replace("top = -3.4e38f", "top = 0"), "values are wrong"),
        (attention.ATTEND.replace("s * scale : -3.4e38f", "s * scale : -1e4f"), "values are wrong"),
        (attention.ATTEND.replace("        o[query * 64 + lane] =",
                                  "        ((float*)q)[query * 64 + lane] = 0;\n"
                                  "        o[query * 64 + lane] ="), "changed one of its inputs"),
        (FROM_MEMORY, "use what is in qs, ks and vs"),
        (ATTEND.replace("if (query >= m) return;", ""), "of the kernel attend"),
        (ATTEND.replace("float scale)", "double scale)"), "A launch does not convert arguments"),
        (ATTEND.replace("ps[8][32]", "ps[8][16]"), "an access outside a shared array"),
    ],
    "causal_tiles": [
        (lambda block, rows, keys, n: (0, 0), "expected"),
        (causal_by_the_specification, "needs no array"),
        (causal_by_a_row, "needs no array"),
        (causal_by_queries, "it loops in Python"),
        (lambda block, rows, keys, n: tuple(map(float, causal_by_lengths(block, rows, keys, n))),
         "a count is a whole number"),
        (lambda block, rows, keys, n: causal_by_queries(block, rows, keys, n)[0],
         "expected a tuple of 2 values"),
        (lambda block, rows, keys, n: (block * rows / keys, (block + 1) * rows / keys),
         "expected"),
    ],
    "requested_bytes": [
        (lambda m, n, d, side, causal: 4 * d * n * n, "expected"),
        (bytes_by_the_specification, "it loops over the tiles"),
        (bytes_in_float, "a count is a whole number"),
        (lambda m, n, d, side, causal: 4 * d * (4 * n), "expected"),
    ],
}
