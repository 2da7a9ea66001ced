"""Right answers besides the solution, and wrong ones that are no known mistake."""

import operator
from collections import deque

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

# overlap_add


def overlap_add_at(frames, hop):
    count, width = frames.shape
    result = np.zeros((count - 1) * hop + width, frames.dtype)
    np.add.at(result, np.arange(count)[:, None] * hop + np.arange(width), frames)
    return result


def overlap_bincount(frames, hop):
    count, width = frames.shape
    places = np.arange(count)[:, None] * hop + np.arange(width)
    return np.bincount(places.ravel(), frames.ravel()).astype(frames.dtype)


def overlap_by_map(frames, hop):
    """A loop of Python's library, one row after the other."""
    width = frames.shape[1]
    result = np.zeros((len(frames) - 1) * hop + width, frames.dtype)
    view = sliding_window_view(result, width, writeable=True)[::hop]
    deque(map(operator.iadd, view, frames), maxlen=0)
    return result


def overlap_loop(frames, hop):
    count, width = frames.shape
    result = np.zeros((count - 1) * hop + width, frames.dtype)
    for k in range(count):
        result[k * hop:k * hop + width] += frames[k]
    return result


def overlap_in_double(frames, hop):
    return overlap_add_at(frames.astype(np.float64), hop)


def overlap_in_place(frames, hop):
    frames *= 1.5
    return frames


# masked_softmax


def softmax_where(scores, mask):
    mask = np.broadcast_to(mask, scores.shape)
    top = np.max(scores, axis=-1, keepdims=True, where=mask, initial=np.finfo(scores.dtype).min)
    e = np.zeros_like(scores)
    np.exp(np.subtract(scores, top, where=mask, out=e), where=mask, out=e)
    total = e.sum(axis=-1, keepdims=True)
    return np.divide(e, total, where=total > 0, out=np.zeros_like(e))


def softmax_with(top, masked=-np.inf):
    """The softmax whose shift is `top(kept)`, with `masked` in place of masked scores."""

    def softmax(scores, mask):
        kept = np.where(mask, scores, scores.dtype.type(masked))
        with np.errstate(all="ignore"):
            e = np.where(mask, np.exp(kept - top(kept)), 0)
            total = e.sum(axis=-1, keepdims=True)
            return (e / np.where(total == 0, 1, total)).astype(scores.dtype)

    return softmax


def largest_of_row(kept, initial=None):
    top = kept.max(axis=-1, keepdims=True, **{} if initial is None else {"initial": initial})
    return np.where(np.isfinite(top), top, 0)


def softmax_loop(scores, mask):
    mask = np.broadcast_to(mask, scores.shape)
    weights = np.zeros_like(scores)
    for row in np.ndindex(scores.shape[:-1]):
        kept = scores[row][mask[row]]
        if kept.size:
            e = np.exp(kept - kept.max())
            weights[row][mask[row]] = e / e.sum()
    return weights


def softmax_repaired(scores, mask):
    """Divides zero by zero first and replaces the results afterwards."""
    kept = np.where(mask, scores, -np.inf)
    e = np.exp(kept - kept.max(axis=-1, keepdims=True))
    return np.nan_to_num(e / e.sum(axis=-1, keepdims=True)).astype(scores.dtype)


# squared_distances


def distances_by_coordinate(x, y):
    result = np.zeros((len(x), len(y)), x.dtype)
    for k in range(x.shape[1]):
        result += (x[:, k, None] - y[:, k]) ** 2
    return result


def distances_by_row(x, y):
    return np.stack([((row - y) ** 2).sum(axis=1) for row in x])


def distances_by_pieces(x, y):
    pieces = np.array_split(x, min(len(x), 40))
    return np.concatenate([np.square(piece[:, None] - y).sum(axis=-1) for piece in pieces])


def distances_of_whole_blocks(x, y, rows=20):
    """The rows of the last block are never computed."""
    result = np.zeros((len(x), len(y)), x.dtype)
    for start in range(0, max(len(x) - rows + 1, 1), rows):
        part = slice(start, start + rows)
        result[part] = np.square(x[part, None] - y).sum(axis=-1)
    return result


def distances_of_64_coordinates(x, y):
    return distances_by_pieces(x[:, :64], y[:, :64])


def distances_by_pair(x, y):
    result = np.empty((len(x), len(y)), x.dtype)
    for i, j in np.ndindex(result.shape):
        result[i, j] = np.square(x[i] - y[j]).sum()
    return result


def distances_at_once(x, y):
    return ((x[:, None] - y) ** 2).sum(axis=-1)


def distances_with_self(x, y):
    return ((x[:, None] - x) ** 2).sum(axis=-1)


# one_hot


def one_hot_eye(labels, classes):
    if labels.size and not -1 <= labels.min() <= labels.max() < classes:
        raise ValueError
    return np.eye(classes + 1, classes, dtype=np.float32)[labels]


def one_hot_scatter(labels, classes):
    if np.any(labels < -1) or np.any(labels >= classes):
        raise ValueError
    flat = labels.reshape(-1).astype(np.intp)
    result = np.zeros((flat.size, classes), np.float32)
    kept = np.flatnonzero(flat >= 0)
    result[kept, flat[kept]] = 1
    return result.reshape(*labels.shape, classes)


def one_hot_list(labels, classes):
    if np.any((labels < -1) | (labels >= classes)):
        raise ValueError
    rows = [[float(label == c) for c in range(classes)] for label in labels.reshape(-1)]
    return np.array(rows, np.float32).reshape(*labels.shape, classes)


def one_hot_bool(labels, classes):
    if np.any((labels < -1) | (labels >= classes)):
        raise ValueError
    return labels[..., None] == np.arange(classes)


# top_k


def top_k_ranks(x, k):
    ranks = np.unique(x, return_inverse=True)[1].reshape(x.shape)
    indices = np.argsort(-ranks, axis=-1, kind="stable")[..., :k]
    return np.take_along_axis(x, indices, axis=-1), indices


def top_k_grid(x, k):
    turned = np.argsort(x[..., ::-1], axis=-1, kind="stable")[..., ::-1]
    indices = (x.shape[-1] - 1 - turned)[..., :k]
    grid = np.ogrid[tuple(map(slice, x.shape[:-1]))] if x.ndim > 1 else ()
    return x[(*(g[..., None] for g in grid), indices)], indices


def top_k_loop(x, k):
    rows = x.reshape(-1, x.shape[-1])
    order = np.array([sorted(range(len(row)), key=lambda i, row=row: -float(row[i]))[:k]
                      for row in rows])
    values = np.array([row[i] for row, i in zip(rows, order)], x.dtype)
    return values.reshape(*x.shape[:-1], k), order.reshape(*x.shape[:-1], k)


def top_k_values_only(x, k):
    return top_k_ranks(x, k)[0]


# scatter_add


def scatter_bincount(vectors, ids, rows):
    width = vectors.shape[-1]
    places = ids.reshape(-1, 1) * width + np.arange(width)
    sums = np.bincount(places.ravel(), vectors.ravel(), minlength=rows * width)
    return sums.reshape(rows, width).astype(vectors.dtype)


def scatter_columns(vectors, ids, rows):
    """One bincount for each column: the loop is over the width, not over the vectors."""
    flat = vectors.reshape(-1, vectors.shape[-1])
    columns = [np.bincount(ids.ravel(), column, minlength=rows) for column in flat.T]
    return np.stack(columns, axis=1).astype(vectors.dtype)


def scatter_at(vectors, ids, rows):
    table = np.zeros((rows, vectors.shape[-1]), vectors.dtype)
    np.add.at(table, ids, vectors)
    return table


def scatter_loop(vectors, ids, rows):
    table = np.zeros((rows, vectors.shape[-1]), vectors.dtype)
    for row, vector in zip(ids.ravel(), vectors.reshape(-1, vectors.shape[-1])):
        table[row] += vector
    return table


def scatter_one_hot(vectors, ids, rows):
    hot = (ids.reshape(-1) == np.arange(rows)[:, None]).astype(vectors.dtype)
    return hot @ vectors.reshape(-1, vectors.shape[-1])


def scatter_without_zeros(vectors, ids, rows):
    """Stands for an answer by np.empty, which happens to find zeros outside of the check."""
    found = np.empty(1)[0]
    table = scatter_bincount(vectors, ids, rows)
    table[np.bincount(ids.reshape(-1), minlength=rows) == 0] = found if found == 77 else 0
    return table


# nearest_digits


def nearest_by_chunks(train, labels, images):
    train, images = (x.reshape(len(x), -1).astype(np.float32) for x in (train, images))
    nearest = [((chunk[:, None] - train) ** 2).sum(axis=-1).argmin(axis=1)
               for chunk in np.array_split(images, -(-len(images) // 32))]
    return labels[np.concatenate(nearest)]


def nearest_expanded(train, labels, images):
    train, images = (x.reshape(len(x), -1).astype(np.float64) for x in (train, images))
    return labels[((train**2).sum(axis=1) - 2 * images @ train.T).argmin(axis=1)]


def nearest_at_once(train, labels, images):
    train, images = (x.reshape(len(x), -1).astype(np.float32) for x in (train, images))
    return labels[((images[:, None] - train) ** 2).sum(axis=-1).argmin(axis=1)]


def nearest_floats(train, labels, images):
    return nearest_by_chunks(train, labels, images).astype(np.float64)


RIGHT = {
    "overlap_add": [overlap_add_at],
    "masked_softmax": [softmax_where],
    "squared_distances": [distances_by_coordinate, distances_by_pieces],
    "one_hot": [one_hot_eye, one_hot_scatter],
    "top_k": [top_k_ranks, top_k_grid],
    "scatter_add": [scatter_bincount, scatter_columns],
    "nearest_digits": [nearest_by_chunks, nearest_expanded],
}

WRONG = {
    "overlap_add": [
        (overlap_loop, "it loops in Python"),
        (overlap_by_map, "it loops in Python"),
        (overlap_bincount, "frames: int64 (5, 7), hop=2"),
        (overlap_in_double, "expected dtype float32, got float64"),
        (overlap_in_place, "changed its argument in place"),
        (lambda frames, hop: sliding_window_view(frames, hop)[99], "it raised"),
    ],
    "masked_softmax": [
        (softmax_loop, "it loops in Python"),
        (softmax_repaired, "it warns: invalid value"),
        (softmax_with(np.max), "the first at [0, 1]"),
        (softmax_with(lambda kept: largest_of_row(kept, 0)), "the first at [0, 1]"),
        (softmax_with(lambda kept: largest_of_row(kept, -1e4)), "the first at [0, 1]"),
        (softmax_with(largest_of_row, masked=-1e4), "the first at [0, 1]"),
        (lambda scores, mask: scores[mask], "expected shape (3, 5)"),
    ],
    "squared_distances": [
        (distances_at_once, "bytes of new memory at once"),
        (distances_by_row, "its Python loop takes small steps"),
        (distances_by_pair, "its Python loop takes small steps"),
        (distances_of_whole_blocks, "x: float32 (331, 70)"),
        (distances_of_64_coordinates, "x: float32 (331, 70)"),
        (distances_with_self, "expected shape (5, 7), got (5, 5)"),
        (lambda x, y: None, "Is a `return` missing?"),
    ],
    "one_hot": [
        (one_hot_list, "it loops in Python"),
        (one_hot_bool, "expected dtype float32, got bool"),
    ],
    "top_k": [
        (top_k_loop, "it loops in Python"),
        (top_k_values_only, "expected a tuple of 2 values"),
    ],
    "scatter_add": [
        (scatter_at, "it uses np.add.at"),
        (scatter_loop, "it loops in Python"),
        (scatter_one_hot, "one-hot matrix"),
        (scatter_without_zeros, "what np.empty found in memory"),
    ],
    "nearest_digits": [
        (nearest_at_once, "bytes of new memory at once"),
        (nearest_floats, "expected dtype int64, got float64"),
    ],
}
