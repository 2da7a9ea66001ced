"""Right answers besides the solution, and wrong ones that are no known mistake."""

import math
import operator
from collections import deque
from itertools import zip_longest

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


def overlap_running_sums(frames, hop):
    """Differences of running sums, which lose digits in float32."""
    places = (np.arange(len(frames))[:, None] * hop + np.arange(frames.shape[1])).ravel()
    sums = np.append(frames.dtype.type(0), frames.ravel()[np.argsort(places)].cumsum())
    return np.diff(sums[np.searchsorted(np.sort(places), np.arange(places.max() + 2))])


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


def overlap_by_places(frames, hop):
    """A loop over the places of a frame, which needs no index array."""
    count, width = frames.shape
    result = np.zeros((count - 1) * hop + width, frames.dtype)
    for j in range(width):
        result[j:j + (count - 1) * hop + 1:hop] += frames[:, j]
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


# the lesson's warm-ups


def planned_by_hand(a, b, itemsize):
    rank = max(len(a), len(b))
    shape, size = (), itemsize
    for m, n in zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b):
        if m != n and 1 not in (m, n):
            raise ValueError("these shapes do not fit")
        shape += (n if m == 1 else m,)
        size *= shape[-1]
    return shape, size


def planned_by_numpy(a, b, itemsize):
    together = np.broadcast(np.empty(a), np.empty(b))
    return together.shape, together.size * itemsize


def planned_larger(a, b, itemsize):
    """Takes the larger size of each axis, also of axes that do not fit, and of 1 and 0."""
    rank = max(len(a), len(b))
    pairs = zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b)
    shape = tuple(max(pair) for pair in pairs)
    return shape, int(np.prod(shape)) * itemsize


def planned_multiples(a, b, itemsize):
    """Takes two sizes as fitting if one is a multiple of the other."""
    pairs = zip_longest(reversed(a), reversed(b), fillvalue=1)
    sizes = [(min(pair), max(pair)) for pair in pairs]
    if any(small and large % small for small, large in sizes):
        raise ValueError(f"{a} and {b} do not fit")
    shape = tuple(large if small else 0 for small, large in reversed(sizes))
    return shape, math.prod(shape) * itemsize


def planned_zero_fits_all(a, b, itemsize):
    """Refuses only sizes above 1 that differ, so that 5 fits 0."""
    pairs = list(zip_longest(reversed(a), reversed(b), fillvalue=1))
    if any(m != n and min(m, n) > 1 for m, n in pairs):
        raise ValueError(f"{a} and {b} do not fit")
    shape = tuple(n if m == 1 else m for m, n in reversed(pairs))
    return shape, math.prod(shape) * itemsize


def planned_from_the_left(a, b, itemsize):
    rank = max(len(a), len(b))
    shape = np.broadcast_shapes(a + (1,) * (rank - len(a)), b + (1,) * (rank - len(b)))
    return shape, int(np.prod(shape)) * itemsize


def erase_grid(images, which, rows):
    result = images.copy()
    result[np.ix_(which, rows)] = 0
    return result


def erase_by_masks(images, which, rows):
    """Two masks, broadcast against each other."""
    first = np.isin(np.arange(images.shape[0]), which)
    second = np.isin(np.arange(images.shape[1]), rows)
    result = images.copy()
    result[first[:, None] & second] = 0
    return result


def erase_in_place(images, which, rows):
    images[which[:, None], rows] = 0
    return images


def erase_columns(images, which, rows):
    result = images.copy()
    result[which[:, None], :, rows] = 0
    return result


# repair


def repair_by_row(x, y, fast, share):
    result = fast.copy()
    sizes = np.square(y).sum(axis=1)
    for i, row in enumerate(x):
        doubtful = np.flatnonzero(fast[i] < share * (np.square(row).sum() + sizes))
        result[i, doubtful] = np.square(row - y[doubtful]).sum(axis=1)
    return result


def repair_by_coordinate(x, y, fast, share):
    """All distances directly, one coordinate at a time; then chooses."""
    size, direct = np.zeros_like(fast), np.zeros_like(fast)
    for k in range(x.shape[1]):
        size += x[:, k, None] ** 2 + y[:, k] ** 2
        direct += (x[:, k, None] - y[:, k]) ** 2
    return np.where(fast < share * size, direct, fast)


def repair_pieces_of_pairs(x, y, fast, share):
    size = np.square(x).sum(axis=1, keepdims=True) + np.square(y).sum(axis=1)
    result = fast.copy()
    rows, columns = np.nonzero(fast < share * size)
    for start in range(0, len(rows), 2000):
        i, j = rows[start:start + 2000], columns[start:start + 2000]
        result[i, j] = np.square(x[i] - y[j]).sum(axis=1)
    return result


def repair_without_negatives(x, y, fast, share):
    """Removes negative entries first; as `share` is positive, all of them are doubtful anyway."""
    return np.where(fast < 0, repair_by_row(x, y, fast, share),
                    repair_by_row(x, y, np.maximum(fast, 0), share))


def repair_pairs(x, y, fast, share):
    size = np.square(x).sum(axis=1, keepdims=True) + np.square(y).sum(axis=1)
    i, j = np.nonzero(fast < share * size)
    result = fast.copy()
    result[i, j] = np.square(x[i] - y[j]).sum(axis=1)
    return result


def repair_each(x, y, fast, share):
    result = fast.copy()
    for i, j in np.ndindex(fast.shape):
        if fast[i, j] < share * (np.square(x[i]).sum() + np.square(y[j]).sum()):
            result[i, j] = np.square(x[i] - y[j]).sum()
    return result


def repair_a_copy(x, y, fast, share):
    """Writes into a copy of rows, so that nothing changes."""
    result = fast.copy()
    for i, row in enumerate(x):
        doubtful = fast[i] < share * (np.square(row).sum() + np.square(y).sum(axis=1))
        result[[i]][:, doubtful] = np.square(row - y[doubtful]).sum(axis=1)
    return result


def repair_in_place(x, y, fast, share):
    fast[:] = repair_by_row(x, y, fast, share)
    return fast


def repair_by_magnitude(x, y, fast, share):
    """Takes entries of large magnitude below zero for good ones."""
    size = np.square(x).sum(axis=1, keepdims=True) + np.square(y).sum(axis=1)
    return np.where(np.abs(fast) < share * size, repair_by_row(x, y, fast, share), fast)


# vote


def nearest_labels(distances, labels, k, kind="stable"):
    return labels[np.argsort(distances, axis=1, kind=kind)[:, :k]]


def vote_add_at(distances, labels, k):
    voters = nearest_labels(distances, labels, k)
    votes = np.zeros((len(voters), int(labels.max()) + 1), int)
    np.add.at(votes, (np.arange(len(voters))[:, None], voters), 1)
    first = np.take_along_axis(votes, voters, axis=1).argmax(axis=1, keepdims=True)
    return np.take_along_axis(voters, first, axis=1)[:, 0]


def vote_size_in_bytes(distances, labels, k):
    """Computes the number of labels in their own dtype, where 255 + 1 is 0."""
    voters = nearest_labels(distances, labels, k)
    with np.errstate(over="ignore"):
        votes = np.zeros((len(voters), labels.max() + 1), int)
    np.add.at(votes, (np.arange(len(voters))[:, None], voters), 1)
    first = np.take_along_axis(votes, voters, axis=1).argmax(axis=1, keepdims=True)
    return np.take_along_axis(voters, first, axis=1)[:, 0]


def vote_all_pairs(distances, labels, k, counts=None):
    """All voters of a row are compared with each other, and counted in the dtype `counts`."""
    voters = nearest_labels(distances, labels, k)
    alike = (voters[:, :, None] == voters[:, None]).sum(axis=2, dtype=counts)
    return voters[np.arange(len(voters)), alike.argmax(axis=1)]


def vote_last_of_tied(distances, labels, k):
    return vote_all_pairs(-distances[:, ::-1], labels[::-1], k)


def vote_loop(distances, labels, k):
    rows = [labels[np.argsort(row, kind="stable")[:k]].tolist() for row in distances]
    return np.array([max(row, key=row.count) for row in rows], labels.dtype)


def vote_of_k_plus_one(distances, labels, k):
    return vote_all_pairs(distances, labels, k + 1)


def vote_among_ten(distances, labels, k):
    """Takes for granted that there are ten labels."""
    voters = nearest_labels(distances, labels, k)
    votes = np.zeros((len(voters), 10), int)
    np.add.at(votes, (np.arange(len(voters))[:, None], voters), 1)
    first = np.take_along_axis(votes, voters, axis=1).argmax(axis=1, keepdims=True)
    return np.take_along_axis(voters, first, axis=1)[:, 0]


def vote_column(distances, labels, k):
    return vote_all_pairs(distances, labels, k)[:, None]


# scatter_add


def scatter_bincount(vectors, ids, rows):
    width = vectors.shape[-1]
    places = ids.reshape(-1, 1).astype(np.int64) * width + np.arange(width)
    sums = np.bincount(places.ravel(), vectors.ravel(), minlength=rows * width)
    return sums.reshape(rows, width).astype(vectors.dtype)


def scatter_small_places(vectors, ids, rows):
    """Numbers the elements of the table in the ids' own dtype, where they wrap."""
    width = vectors.shape[-1]
    places = ids.reshape(-1, 1) * ids.dtype.type(width) + np.arange(width, dtype=ids.dtype)
    sums = np.bincount(places.ravel().astype(np.int64) % (rows * width), vectors.ravel(),
                       minlength=rows * width)
    return sums.reshape(rows, width).astype(vectors.dtype)


def scatter_running_sums(vectors, ids, rows):
    """Differences of running sums, which lose digits in float32."""
    order, width = np.argsort(ids, axis=None, kind="stable"), vectors.shape[-1]
    sums = np.zeros((ids.size + 1, width), vectors.dtype)
    vectors.reshape(-1, width)[order].cumsum(axis=0, out=sums[1:])
    ends = np.searchsorted(ids.reshape(-1)[order], np.arange(rows + 1))
    return sums[ends[1:]] - sums[ends[:-1]]


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


def scatter_by_words(vectors, ids, rows):
    """A loop over the different words of the text."""
    table = np.zeros((rows, vectors.shape[-1]), vectors.dtype)
    for word in np.unique(ids):
        table[word] = vectors[ids == word].sum(axis=0)
    return table


def scatter_by_rounds(vectors, ids, rows):
    """A loop with as many rounds as the most frequent word has places."""
    flat, left = vectors.reshape(-1, vectors.shape[-1]), ids.ravel()
    table = np.zeros((rows, vectors.shape[-1]), vectors.dtype)
    while left.size:
        words, first = np.unique(left, return_index=True)
        table[words] += flat[first]
        left, flat = np.delete(left, first), np.delete(flat, first, axis=0)
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


# nearest_moved


def nearest_by_place(train, labels, images):
    padded = np.pad(train, ((0, 0), (1, 1), (1, 1))).astype(np.float32)
    best = np.full((len(images), len(train)), np.inf, np.float32)
    for down, right in np.ndindex(3, 3):
        moved = padded[:, down:down + train.shape[1], right:right + train.shape[2]]
        for i, image in enumerate(images):
            np.minimum(best[i], np.square(moved - image).sum(axis=(1, 2)), out=best[i])
    return labels[best.argmin(axis=1)]


def nearest_by_windows(train, labels, images):
    padded = np.pad(train.astype(np.float64), ((0, 0), (1, 1), (1, 1)))
    windows = sliding_window_view(padded, train.shape[1:], axis=(1, 2))
    result = [np.square(windows - image).sum(axis=(-1, -2)).min(axis=(1, 2)).argmin()
              for image in images]
    return labels[result]


def nearest_windows_at_once(train, labels, images):
    padded = np.pad(train.astype(np.float32), ((0, 0), (1, 1), (1, 1)))
    windows = sliding_window_view(padded, train.shape[1:], axis=(1, 2))
    distances = np.square(windows - images[:, None, None, None]).sum(axis=(-1, -2))
    return labels[distances.min(axis=(2, 3)).argmin(axis=1)]


def nearest_floats(train, labels, images):
    return nearest_by_place(train, labels, images).astype(np.float64)


def nearest_without_corners(train, labels, images):
    """Moves up, down, left and right only."""
    padded = np.pad(train, ((0, 0), (1, 1), (1, 1))).astype(np.float64)
    height, width = train.shape[1:]
    found = [np.square(images[:, None] - padded[:, d:d + height, r:r + width]).sum(axis=(2, 3))
             for d, r in ((1, 1), (0, 1), (2, 1), (1, 0), (1, 2))]
    return labels[np.min(found, axis=0).argmin(axis=1)]


RIGHT = {
    "planned": [planned_by_hand, planned_by_numpy],
    "erase": [erase_grid, erase_by_masks],
    "overlap_add": [overlap_add_at],
    "vote": [vote_add_at, vote_all_pairs],
    "repair": [repair_by_row, repair_by_coordinate, repair_pieces_of_pairs,
               repair_without_negatives],
    "masked_softmax": [softmax_where],
    "scatter_add": [scatter_bincount, scatter_columns],
    "nearest_moved": [nearest_by_place, nearest_by_windows],
}

WRONG = {
    "planned": [
        (planned_larger, "it should raise ValueError"),
        (planned_from_the_left, "it raised ValueError"),
        (planned_multiples, "it should raise ValueError"),
        (planned_zero_fits_all, "a=(0,), b=(5,), itemsize=8"),
        (lambda a, b, itemsize: np.broadcast_shapes(a, b), "a tuple of 2 values"),
    ],
    "erase": [
        (erase_in_place, "changed its argument in place"),
        (erase_columns, "the first at"),
        (lambda images, which, rows: erase_grid(images, which, rows)[which], "expected shape"),
        (lambda images, which, rows: erase_grid(images, which[:1], rows), "the first at"),
    ],
    "overlap_add": [
        (overlap_loop, "it loops in Python"),
        (overlap_by_map, "it loops in Python"),
        (overlap_by_places, "it loops in Python"),
        (overlap_running_sums, "expected"),
        (overlap_bincount, "frames: int64 (5, 7), hop=2"),
        (overlap_in_double, "expected dtype float32, got float64"),
        (overlap_in_place, "changed its argument in place"),
        (lambda frames, hop: sliding_window_view(frames, hop)[99], "it raised"),
    ],
    "vote": [
        (vote_last_of_tied, "the first at"),
        (vote_loop, "it loops in Python"),
        (vote_of_k_plus_one, "the first at"),
        (vote_among_ten, "it raised"),
        (vote_column, "expected shape (6,), got (6, 1)"),
        (vote_size_in_bytes, "it raised IndexError"),
        (lambda distances, labels, k: vote_all_pairs(distances, labels, k, np.uint8),
         "labels: uint8 (400,), k=400"),
        (lambda distances, labels, k: vote_all_pairs(distances, labels, k, np.int8),
         "labels: uint8 (400,), k=400"),
        (lambda distances, labels, k: vote_all_pairs(distances, labels, 3), "the first at"),
        (lambda distances, labels, k: None, "Is a `return` missing?"),
    ],
    "repair": [
        (repair_pairs, "bytes of new memory at once"),
        (repair_each, "it loops in Python over pairs"),
        (repair_a_copy, "the first at"),
        (repair_in_place, "changed its argument in place"),
        (repair_by_magnitude, "the first at"),
        (lambda x, y, fast, share: repair_by_row(x[:, :64], y[:, :64], fast, share),
         "the first at"),
        (lambda x, y, fast, share: fast.copy(), "the first at"),
        (lambda x, y, fast, share: repair_by_row(x, y, fast, 0.5), "the first at"),
        (lambda x, y, fast, share: repair_by_row(x, x, fast, share), "it raised"),
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
    "scatter_add": [
        (scatter_at, "it uses np.add.at"),
        (scatter_loop, "it loops in Python"),
        (scatter_by_words, "it loops in Python"),
        (scatter_by_rounds, "it loops in Python"),
        (scatter_one_hot, "one-hot matrix"),
        (scatter_small_places, "the first at"),
        (lambda vectors, ids, rows: scatter_small_places(vectors, ids.astype(np.uint16), rows),
         "the first at"),
        (scatter_running_sums, "the first at"),
        (scatter_without_zeros, "what np.empty found in memory"),
    ],
    "nearest_moved": [
        (nearest_windows_at_once, "bytes of new memory at once"),
        (nearest_floats, "expected dtype int64, got float64"),
        (nearest_without_corners, "the first at"),
    ],
}


# One random input of a task: what mutants and solutions are compared on, thousands of times.


def random_frames(rng):
    count, width = (int(n) for n in rng.integers(1, 9, 2))
    dtype = rng.choice([np.float32, np.float64, np.int64])
    return rng.integers(-50, 50, (count, width)).astype(dtype), int(rng.integers(1, 9))


def random_vote(rng):
    rows, columns = (int(n) for n in rng.integers(1, 9, 2))
    distances = rng.integers(0, 6, (rows, columns)).astype(np.float32)
    labels = rng.integers(0, 5, columns)
    if rng.random() < 0.1:
        labels = (labels + 251).astype(np.uint8)
    return distances, labels, int(rng.integers(1, columns + 1))


def random_repair(rng):
    m, n, d = (int(number) for number in rng.integers(1, 6, 3))
    x, y = (rng.integers(-4, 9, (size, d)).astype(np.float64) for size in (m, n))
    fast = rng.integers(-9, 90, (m, n)) + 0.3  # never at the limit of what is doubtful
    y = y[:int(rng.integers(0, n + 1))]
    return x, y, fast[:, :len(y)].copy(), float(rng.choice([0.25, 0.5, 1]))


def random_scores(rng):
    shape = tuple(int(n) for n in rng.integers(1, 5, int(rng.integers(1, 4))))
    scores = (rng.standard_normal(shape) * rng.choice([1, 30, 5000])).astype(
        rng.choice([np.float32, np.float64]))
    mask = rng.random(shape) < 0.7
    scores[~mask & (rng.random(shape) < 0.3)] = rng.choice([np.inf, np.nan, 1e4, -np.inf])
    return scores, mask


def random_scatter(rng):
    shape = tuple(int(n) for n in rng.integers(0 if rng.random() < 0.1 else 1, 5, 2))
    rows = int(rng.integers(1, 7))
    vectors = rng.integers(-9, 10, (*shape, int(rng.integers(1, 5))))
    return vectors.astype(np.float32), rng.integers(0, rows, shape), rows


def random_digits(rng):
    known, unknown, height, width = (int(n) for n in rng.integers(1, 5, 4))
    dtype = rng.choice([np.uint8, np.float32])
    train, images = (rng.integers(0, 4, (n, height, width)).astype(dtype)
                     for n in (known, unknown))
    return train, rng.integers(0, 10, known), images


INPUTS = {
    "overlap_add": random_frames,
    "vote": random_vote,
    "repair": random_repair,
    "masked_softmax": random_scores,
    "scatter_add": random_scatter,
    "nearest_moved": random_digits,
}
