"""The tasks about broadcasting and indexing: overlaps, masks, duplicates, rounding, memory."""

import math
from collections.abc import Callable, Sequence
from unittest.mock import patch

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from helpers.data import load_digits

from .machinery.task import (
    Case,
    Task,
    Trial,
    difference,
    instructions,
    names_in,
    no_python_loop,
    no_warnings,
    peak_memory,
)

MB = 1_000_000


def _random(shape: tuple, dtype=np.float32, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(shape) * 10 + 50).astype(dtype)


def _own_zeros(answer: Callable, trials: Sequence[Trial]) -> str | None:
    """Memory that np.empty gives may hold anything; here it holds what nobody computes."""
    plain = np.empty

    def full(*args: object, **keywords: object) -> np.ndarray:
        return np.full_like(plain(*args, **keywords), 77)

    with patch.object(np, "empty", full):
        if any(difference(answer(*case), expected.value, 1e-5) for case, expected, _ in trials):
            return "it returns what np.empty found in memory. np.zeros begins with zeros."
    return None


# planned, a warm-up of the lesson: the shape of x + y, and its bytes


def _planned(a: tuple, b: tuple, itemsize: int) -> tuple:
    shape = np.broadcast_shapes(a, b)
    return shape, math.prod(shape) * itemsize


planned = Task(
    "planned", _planned,
    cases=lambda: [((4, 1, 3), (5, 1), 8), ((7,), (7,), 2), ((6, 1), (5,), 4), ((3,), (2, 4, 1), 1),
                   ((2, 1, 1, 3), (5, 1), 8), ((4, 3), (4,), 8), ((5, 2), (3, 5, 4), 4),
                   ((1,), (0,), 8), ((0, 3), (1, 3), 16), ((0,), (5,), 8)],
    mistakes=[
        ("the number of elements; each takes `itemsize` bytes",
         lambda a, b, itemsize: _planned(a, b, 1)),
        ("the bytes of the two operands; the result is an array of its own",
         lambda a, b, itemsize: (np.broadcast_shapes(a, b),
                                 (math.prod(a) + math.prod(b)) * itemsize)),
    ],
)

# erase, a warm-up of the lesson: some rows of some images


def _erase(images, which, rows):
    result = images.copy()
    for image in which:
        result[image, rows] = 0
    return result


def _erased(images, *index):
    result = images.copy()
    result[index] = 0
    return result


erase = Task(
    "erase", _erase,
    cases=lambda: [
        (_random((5, 8, 6)), np.array([0, 3]), np.array([2, 5])),
        (_random((4, 6, 7), np.float64, 1), np.int32([0, 1, 3])[::-1], np.int32([4])),
        (_random((7, 3, 4), seed=2)[::-2], np.array([2]), np.array([2, 0])),
        (-_random((3, 9, 9), np.int64, 3), np.array([1, 2]), np.arange(9)[::-4]),
    ],
    mistakes=[
        ("zeros written into a copy: `result[which][:, rows] = 0` changes nothing, because the"
         " first brackets hold an array", lambda images, which, rows: images.copy()),
        ("pairs, `result[which, rows]`; every row number belongs to every image", _erased),
        ("these rows of all images",
         lambda images, which, rows: _erased(images, slice(None), rows)),
    ],
)

# overlap_add: frames back into one signal


def _overlap_add(frames, hop):
    count, width = frames.shape
    result = np.zeros((count - 1) * hop + width, frames.dtype)
    for k in range(count):
        result[k * hop:k * hop + width] += frames[k]
    return result


def _overlapping_view(frames, hop):
    count, width = frames.shape
    result = np.zeros((count - 1) * hop + width, frames.dtype)
    return result, sliding_window_view(result, width, writeable=True)[::hop]


def _add_on_the_view(frames, hop):
    result, view = _overlapping_view(frames, hop)
    view += frames
    return result


def _mean_of_frames(frames, hop):
    counts = np.maximum(_overlap_add(np.ones_like(frames), hop), 1)
    return (_overlap_add(frames, hop) / counts).astype(frames.dtype)


overlap_add = Task(
    "overlap_add", _overlap_add,
    cases=lambda: [
        (_random((5, 4)), 2),
        (-_random((7, 5)), 3),
        (_random((900, 4)), 1),  # a running sum too large for float32's digits
        (_random((4, 3)), 3), (_random((4, 3)), 5),
        (_random((5, 7), np.int64), 2),
        (_random((5, 7), np.int64) + 2**59, 2),  # beyond float64's digits
        (_random((1, 6), np.float64), 4),
        (_random((6, 9), np.float64).T, 4),
        (_random((8, 12))[::-2, ::3], 3),
    ],
    mistakes=[
        ("`view += frames` on the overlapping view, or plain assignment: where frames overlap,"
         " only the last one survives", _add_on_the_view),
        ("a signal of count * hop elements, which loses the end of the last frame; the last frame"
         " starts at (count - 1) * hop and is `width` long",
         lambda frames, hop: np.append(
             _overlap_add(frames, hop), np.zeros(hop, frames.dtype))[:len(frames) * hop]),
        ("the mean of the frames that overlap; it should be their sum", _mean_of_frames),
        ("frames put end to end; frame k starts at k * hop",
         lambda frames, hop: frames.reshape(-1).copy()),
    ],
    rules=[_own_zeros, no_python_loop((_random((5, 8)), 2), (_random((500, 8)), 2),
                                      (_random((5, 400)), 100))],
)


# masked_softmax


def _masked_softmax(scores, mask):
    mask = np.broadcast_to(mask, scores.shape)
    weights = np.zeros_like(scores)
    for row in np.ndindex(scores.shape[:-1]):
        kept = scores[row][mask[row]]
        if kept.size:
            e = np.exp(kept - kept.max())
            weights[row][mask[row]] = e / e.sum()
    return weights


def _scores(shape: tuple, dtype=np.float32, seed: int = 0, centre: float = 0) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(shape) * 2 + centre).astype(dtype)


def _softmax_cases() -> list[Case]:
    mask = np.array([[1, 1, 0, 1, 0], [0, 0, 0, 0, 0], [0, 1, 1, 1, 1]], bool)
    padding = np.array([[1, 1, 1, 0, 0], [0, 0, 0, 0, 0]], bool)[:, None, None, :]
    garbage = _scores((3, 5), seed=5)
    garbage[~mask] = np.resize([np.nan, np.inf, 1e4, -np.inf], np.count_nonzero(~mask))
    towering = _scores((3, 5), seed=6)
    towering[~mask] = 1e4
    return [
        (_scores((3, 5)), mask),
        (_scores((2, 4, 6), np.float64, 2), np.array([0, 1, 1, 0, 1, 1], bool)),
        (_scores((2, 3, 4, 5), seed=3), padding),
        (_scores((2, 5, 5), seed=4), np.tri(5, dtype=bool)),
        (_scores((3, 5), seed=1, centre=9000), np.asfortranarray(mask)),
        (towering, mask),
        (garbage, mask),
        (_scores((10, 6), np.float64, 7)[::-2, ::2].T, mask),
        (_scores((4, 3), seed=8), np.zeros((4, 1), bool)),
        # Rows that are far apart, along both axes, and far below every constant.
        (_scores((4, 5), seed=9) + np.float32([[-30_000], [0], [20_000], [-300]]), mask[2]),
        (_scores((5, 4), np.float64, 10) * np.array([[1], [-200], [1e4], [1e-3], [9]]),
         mask.T[:, :1]),
    ]


def _softmax_by(scores, mask, *, function: Callable, **options):
    """An answer from `function(scores, mask)`, without the warnings that NumPy would give."""
    with np.errstate(all="ignore"):
        mask = np.broadcast_to(mask, scores.shape)
        return function(scores, mask, **options).astype(scores.dtype)


def _softmax(scores, axis=-1):
    e = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def _weights(scores, mask, highest=lambda scores: 0, guard=True):
    """exp(scores - highest) where kept, divided by its sum; 0 / 0 becomes 0 when guarded."""
    e = np.where(mask, np.exp(scores - highest(scores)), 0)
    total = e.sum(axis=-1, keepdims=True)
    return e / (np.where(total == 0, 1, total) if guard else total)


def _highest(scores):
    return scores.max(axis=-1, keepdims=True)


def _one_sum(scores, mask):
    kept = np.where(mask, scores, -np.inf)
    e = np.exp(kept - kept.max())
    return np.where(mask, e / e.sum(), 0)


masked_softmax = Task(
    "masked_softmax", _masked_softmax, _softmax_cases, right=_softmax_by,
    mistakes=[
        *[("exp without the row's maximum subtracted first: exp(89) is already infinite in float32",
           {"function": _weights, "guard": guard}) for guard in (True, False)],
        ("a large negative number in place of masked scores: a row that is masked entirely then"
         " gets equal weights instead of zeros",
         {"function": lambda s, m: _softmax(np.where(m, s, -1e9))}),
        ("-inf in place of masked scores, also in a row that is masked entirely: -inf - -inf is"
         " not a number", {"function": lambda s, m: _softmax(np.where(m, s, -np.inf))}),
        ("softmax first and zeros afterwards: the weights that are left no longer sum to one",
         {"function": lambda s, m: np.where(m, _softmax(s), 0)}),
        *[("a maximum over the masked scores too: if one of them is huge, all others vanish",
           {"function": _weights, "highest": _highest, "guard": guard}) for guard in (True, False)],
        ("the mask the other way round; True means keep",
         {"function": lambda s, m: _masked_softmax(s, ~m)}),
        ("scores multiplied by the mask: a score of zero is a score like any other, and gets a"
         " weight", {"function": lambda s, m: _softmax(s * m)}),
        ("a sum over the whole array; each row must sum to one (axis=-1, keepdims=True)",
         {"function": _one_sum}),
        ("softmax along the first axis; the last one must sum to one",
         {"function": lambda s, m: np.moveaxis(_masked_softmax(
             np.moveaxis(s, 0, -1), np.moveaxis(m, 0, -1)), -1, 0)}),
    ],
    rules=[
        no_python_loop((_scores((4, 6)), _scores((4, 6), seed=1) > -1),
                       (_scores((400, 6)), _scores((400, 6), seed=1) > -1)),
        no_warnings,
    ],
    rtol=1e-5,
)


# repair: the doubtful entries of a table of squared distances, computed again


def _repair(x, y, fast, share):
    result = fast.copy()
    for i, j in np.ndindex(fast.shape):
        if fast[i, j] < share * (np.square(x[i]).sum() + np.square(y[j]).sum()):
            result[i, j] = np.square(x[i] - y[j]).sum()
    return result


def _points(shape: tuple, dtype=np.float32, seed: int = 0, at: float = 0) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(shape) + at).astype(dtype)


def _repair_case(x, y, share: float, noise: float = 0.1) -> Case:
    """A table whose entries are off visibly, but none close to the limit of what is doubtful."""
    size = np.square(x).sum(axis=1)[:, None] + np.square(y).sum(axis=1)
    right = np.square(x[:, None] - y).sum(axis=-1)
    wrong = np.random.default_rng(size.size).uniform(-noise, noise, size.shape)
    fast = (right + wrong * size * share).astype(x.dtype)
    near = np.abs(fast - share * size) < 1e-3 * share * size
    fast[near] *= x.dtype.type(1.01)
    return x, y, fast, share


def _repair_cases() -> list[Case]:
    clumps = _points((8, 5), seed=3)
    clumps[4:] += 50
    twins = _points((6, 8), seed=2, at=30)
    return [
        _repair_case(_points((5, 3)), _points((7, 3), seed=1), 0.5),
        _repair_case(_points((9, 70), seed=5), _points((4, 70), seed=6), 0.99),
        _repair_case(_points((4, 7), np.float64), _points((6, 14), np.float64, 1)[:, ::-2], 0.4),
        _repair_case(_points((3, 6), seed=7).T, _points((3, 5), seed=8).T, 0.6),
        _repair_case(clumps, clumps[1::2] + np.float32(0.25), 0.01),
        _repair_case(twins, twins[1:], 0.001, noise=9),
        _repair_case(_points((131, 20), seed=11), _points((97, 20), seed=12), 0.8),
        _repair_case(_points((4, 3), seed=13), 5 * _points((6, 3), seed=14), 0.02),
        _repair_case(_points((3, 4)), _points((0, 4)), 0.1),
        (np.ones((2, 4)), np.ones((3, 4)), np.full((3, 2), 4.0).T, 0.5),  # 4 is not below 4
    ]


def _repaired(x, y, fast, share, *, values: Callable = lambda right, x, y, size: right,
              doubtful: Callable = lambda fast, share, size, x: fast < share * size):
    """The right answer, or one with another idea of what is doubtful, or of what replaces it."""
    size = np.square(x).sum(axis=1)[:, None] + np.square(y).sum(axis=1)
    right = np.square(x[:, None] - y).sum(axis=-1)
    return np.where(doubtful(fast, share, size, x), values(right, x, y, size).astype(fast.dtype),
                    fast)


def _few_instructions(answer: Callable, trials: Sequence[Trial]) -> str | None:
    """A loop over 100 rows takes some ten thousand instructions, one over the pairs far more."""
    x, y = _points((100, 8), seed=9, at=9), _points((400, 8), seed=10, at=9)
    if instructions(answer, (x, y, np.zeros((100, 400), np.float32), 0.5), 70_000) > 70_000:
        return "it loops in Python over pairs of points. Take all doubtful pairs of a row together."
    return None


def _all_doubtful() -> Case:
    x, y = _points((600, 64), seed=9, at=9), _points((500, 64), seed=10, at=9)
    return x, y, np.zeros((600, 500), np.float32), 0.5


repair = Task(
    "repair", _repair, _repair_cases, right=_repaired,
    mistakes=[
        ("all entries computed again; those that are not doubtful stay as they are in `fast`",
         {"doubtful": lambda fast, share, size, x: np.ones_like(fast, bool)}),
        ("negative entries only; `share` says which are doubtful",
         {"doubtful": lambda fast, share, size, x: fast < 0}),
        ("the mask the other way round: the doubtful entries were kept",
         {"doubtful": lambda fast, share, size, x: fast >= share * size}),
        ("entries compared with |x|**2 alone; |y|**2 belongs to the size, too",
         {"doubtful": lambda fast, share, size, x:
          fast < share * np.square(x).sum(axis=1, keepdims=True)}),
        ("entries compared with the largest size of the table; each pair has its own",
         {"doubtful": lambda fast, share, size, x: fast < share * size.max(initial=0)}),
        ("|x|**2 + |y|**2 - 2 x @ y.T once more; subtract first, then square",
         {"values": lambda right, x, y, size: size - 2 * x @ y.T}),
        ("zeros in place of doubtful entries; compute them again",
         {"values": lambda right, x, y, size: np.zeros_like(right)}),
    ],
    rules=[
        _few_instructions,  # first, since measuring the memory of a loop over pairs takes seconds
        peak_memory(_all_doubtful(), 16 * MB,
                    "if all pairs are doubtful, their differences at once take 77 MB. Work on the"
                    " doubtful pairs of one row of x at a time."),
    ],
    rtol=1e-5,
)


# vote: the label that most of the nearest neighbours have


def _vote(distances, labels, k):
    result = np.empty(len(distances), labels.dtype)
    for i, row in enumerate(distances):
        nearest = sorted(range(len(row)), key=lambda j, row=row: row[j])[:k]
        voters = [labels[j] for j in nearest]
        result[i] = max(voters, key=voters.count)
    return result


def _nearest_labels(distances, labels, k):
    return labels[np.argsort(distances, axis=1, kind="stable")[:, :k]]


def _winners(voters: np.ndarray, votes: np.ndarray) -> np.ndarray:
    """Of each row of voters the first one whose label has most votes."""
    best = np.take_along_axis(votes, voters, axis=1).argmax(axis=1)
    return voters[np.arange(len(voters)), best]


def _votes(voters: np.ndarray) -> np.ndarray:
    return (voters[:, :, None] == np.arange(int(voters.max()) + 1)).sum(axis=1)


def _lost_votes(distances, labels, k):
    voters = _nearest_labels(distances, labels, k)
    votes = np.zeros((len(voters), int(voters.max()) + 1), int)
    votes[np.arange(len(voters))[:, None], voters] += 1
    return votes.argmax(axis=1).astype(labels.dtype)


def _vote_cases() -> list[Case]:
    rng = np.random.default_rng(5)
    ties = rng.integers(0, 4, (9, 60)).astype(np.float32)  # short rows are sorted stably
    return [
        (_random((6, 20)), rng.integers(0, 3, 20), 5),
        (-_random((9, 30), np.float64, 1), rng.integers(0, 10, 30)[::-1], 7),
        (_random((8, 25), seed=2), 3 * rng.integers(0, 10, 25), 1),
        (ties, rng.integers(0, 5, 60), 4),
        (_random((30, 7), seed=3).T, rng.integers(0, 2, 30).astype(np.int32), 6),
        (_random((5, 9), seed=4)[::-2], rng.integers(0, 4, 9), 9),
        (_random((40, 16), seed=5), rng.permutation(16) % 10, 4),
        # 255 + 1 is 0 in bytes, and so are 256 votes: 300 of 400 voters have one label.
        (_random((2, 400), seed=6), np.uint8([255, 255, 7, 255] * 100), 400),
    ]


vote = Task(
    "vote", _vote, _vote_cases,
    mistakes=[
        ("the label of the nearest neighbour alone; k of them vote",
         lambda distances, labels, k: labels[distances.argmin(axis=1)]),
        ("`votes[rows, labels] += 1`, which loses votes: each label gets at most one", _lost_votes),
        ("the smallest label of several with equally many votes; the one with the nearest"
         " neighbour wins",
         lambda distances, labels, k: _votes(_nearest_labels(distances, labels, k)).argmax(
             axis=1).astype(labels.dtype)),
        ("an order that turns equal distances round; of equal ones the first comes first"
         ' (kind="stable")',
         lambda distances, labels, k: _winners(voters := labels[::-1][np.argsort(
             distances[:, ::-1], axis=1, kind="stable")[:, :k]], _votes(voters))),
    ],
    rules=[no_python_loop((_random((4, 30)), np.arange(30) % 10, 3),
                          (_random((400, 30)), np.arange(30) % 10, 3),
                          (_random((4, 30)), np.arange(30) % 10, 29))],
)


# scatter_add: the gradient of an embedding table


def _scatter_add(vectors, ids, rows):
    table = np.zeros((rows, vectors.shape[-1]), vectors.dtype)
    for place in np.ndindex(ids.shape):
        table[ids[place]] += vectors[place]
    return table


def _scatter_cases() -> list[Case]:
    rng = np.random.default_rng(6)
    return [
        (_random((6, 3)), np.array([1, 3, 1, 1, 0, 3]), 5),
        (_random((2, 4, 5), seed=1), rng.integers(0, 3, (2, 4)), 4),
        (-_random((7, 2), np.float64, 2), np.full(7, 2), 3),
        (_random((5, 4), np.int64, 3), np.array([4, 1, 4, 2, 4], np.int32), 6),
        (_random((4, 3), seed=4), np.array([3, 1, 0, 2]), 4),
        (_random((3, 12), seed=5).T[::-2], rng.integers(2, 5, 6)[::-1], 9),
        (_random((30, 8), seed=6)[:, ::3], rng.integers(0, 40, 30), 40),
        (np.zeros((0, 3), np.float32), np.zeros(0, np.int64), 2),
        # Places beyond int16 and uint16, and a running sum too large for float32's digits.
        (_random((2900, 12), seed=7), rng.integers(0, 6000, 2900).astype(np.int16), 6000),
    ]


def _scatter_by(vectors, ids, rows, *, fill: Callable):
    """An answer whose table is filled by `fill(table, flat ids, flat vectors)`."""
    table = np.zeros((rows, vectors.shape[-1]), vectors.dtype)
    fill(table, ids.reshape(-1), vectors.reshape(-1, vectors.shape[-1]))
    return table


def _add_at_once(table, ids, vectors):
    table[ids] += vectors


def _first_rows(table, ids, vectors):
    rows, first = np.unique(ids, return_index=True)
    table[rows] = vectors[first]


def _every_row(table, ids, vectors):
    order = np.argsort(ids, kind="stable")
    starts = np.searchsorted(ids[order], np.arange(len(table)))
    table[:] = np.add.reduceat(vectors[order], starts, axis=0)


def _unsorted_runs(table, ids, vectors):
    starts = np.flatnonzero(np.diff(ids, prepend=-1))
    if starts.size:
        table[ids[starts]] = np.add.reduceat(vectors, starts, axis=0)


def _no_add_at(answer: Callable, trials: Sequence[Trial]) -> str | None:
    """The answer's own code must not name the ufunc method `at`."""
    if "at" in names_in(answer):
        return "it uses np.add.at. Do it by sorting, or by bincount."
    return None


scatter_add = Task(
    "scatter_add", _scatter_add, _scatter_cases, right=_scatter_by,
    mistakes=[
        ("`table[ids] += vectors`, or plain assignment: of several vectors for one row only the"
         " last one stays", {"fill": _add_at_once}),
        ("np.unique with return_index: it gives the first vector of each row and drops the others",
         {"fill": _first_rows}),
        ("np.add.reduceat with a start for every row: a row without vectors has an empty range,"
         " and reduceat then gives the next element instead of zero", {"fill": _every_row}),
        ("runs of equal ids without sorting first: an id that comes back later overwrites its"
         " earlier sum", {"fill": _unsorted_runs}),
    ],
    rules=[
        _no_add_at,
        _own_zeros,
        no_python_loop((_random((10, 3)), np.arange(10) % 4, 4),
                       (_random((600, 3)), np.arange(600) % 4, 4),
                       (_random((600, 3)), np.arange(600), 600)),
        peak_memory((_random((500, 8)), np.random.default_rng(7).integers(0, 4000, 500), 4000),
                    2 * MB, "a one-hot matrix has a row for every row of the table and a column"
                            " for every vector, nearly all of it zeros."),
    ],
    rtol=1e-5,
)


# nearest_moved: nearest neighbours that may be moved by one pixel


def _nearest_moved(train, labels, images):
    padded = np.pad(train, ((0, 0), (1, 1), (1, 1))).astype(np.float64)
    result = np.empty(len(images), labels.dtype)
    _, height, width = train.shape
    for i, image in enumerate(images):
        best = np.inf
        for j, picture in enumerate(padded):
            for down, right in np.ndindex(3, 3):
                moved = picture[down:down + height, right:right + width]
                distance = ((moved - image) ** 2).sum()
                if distance < best:
                    best, result[i] = distance, labels[j]
    return result


def _moved_distances(train, images, dtype=np.float64, places=9, reduce=np.minimum) -> np.ndarray:
    """The least squared distance over the first of the nine places, images x train."""
    padded = np.pad(train, ((0, 0), (1, 1), (1, 1)))
    if dtype:
        padded, images = padded.astype(dtype), images.astype(dtype)
    result, shape = None, train.shape[1:]
    for down, right in [(1, 1), *np.ndindex(3, 3)][:places + 1]:
        moved = padded[:, down:down + shape[0], right:right + shape[1]]
        found = ((images[:, None] - moved) ** 2).sum(axis=(2, 3))
        result = found if result is None else reduce(result, found)
    return result


def _digit_cases() -> list[Case]:
    images, labels = load_digits()
    scaled = images.astype(np.float32) / 16
    bright = 17 * np.minimum(images, 15)  # bytes up to 255
    rng = np.random.default_rng(8)
    ties = rng.integers(0, 2, (20, 2, 3)).astype(np.float32)  # many equal distances
    return [
        (scaled[40:0:-1], labels[40:0:-1], scaled[1310:1300:-1]),
        (bright[:30], labels[:30].astype(np.int8), bright[1500:1509]),
        (np.roll(scaled[300:330], 1, axis=1), labels[300:330], np.roll(scaled[:9], -1, axis=2)),
        (ties, rng.integers(0, 10, 20), rng.integers(0, 2, (9, 2, 3)).astype(np.float32)),
        ((scaled - 1)[:9, 6::-1, 2:7], labels[:9] - 4,
         np.append(scaled[1000:1010, 6::-1, 2:7] - 1, np.zeros((1, 7, 5), np.float32), 0)),
    ]


def _nearest_by(train, labels, images, *, measure: Callable = _moved_distances, **options):
    """The right answer, or one that picks by another measure."""
    return labels[measure(train, images, **options).argmin(axis=1)]


def _memory_digits() -> Case:
    rng = np.random.default_rng(9)
    return (rng.random((600, 8, 8), np.float32), rng.integers(0, 10, 600),
            rng.random((100, 8, 8), np.float32))


nearest_moved = Task(
    "nearest_moved", _nearest_moved, _digit_cases, right=_nearest_by,
    mistakes=[
        ("differences of unsigned bytes, whose squares wrap: 20**2 is 144. Convert before you"
         " subtract", {"dtype": None}),
        ("the known images as they are; each may be moved by one pixel, up, down, left, right and"
         " diagonally", {"places": 0}),
        *[("the sum over the nine places, or the farthest one; the least distance counts",
           {"reduce": reduce}) for reduce in (np.add, np.maximum)],
        ("the neighbour's place in `train`; its label is asked for",
         lambda train, labels, images: _moved_distances(train, images).argmin(axis=1)),
        ("a roll, which brings pixels back on the other side; paper moves in instead",
         {"measure": lambda train, images: np.min([_moved_distances(np.roll(
             train, move, axis=(1, 2)), images, places=0) for move in np.ndindex(3, 3)], axis=0)}),
    ],
    rules=[
        peak_memory(_memory_digits(), 10 * MB, "all differences at once take 60,000 x 9 x 64"
                                               " numbers; work on a part of them at a time."),
    ],
)
