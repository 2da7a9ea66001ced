"""The tasks about broadcasting and indexing: overlaps, masks, duplicates, rounding, memory."""

from collections.abc import Callable, Sequence
from unittest.mock import patch

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from helpers.data import load_digits

from .machinery.task import (
    Case,
    Mistake,
    Refusal,
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
    name="overlap_add",
    spec=_overlap_add,
    cases=lambda: [
        (_random((5, 4)), 2),
        (-_random((7, 5)), 3),
        (_random((6, 4)), 1),
        (_random((4, 3)), 3),
        (_random((4, 3)), 5),
        (_random((5, 7), np.int64), 2),
        (_random((5, 7), np.int64) + 2**59, 2),  # beyond float64's digits
        (_random((1, 6), np.float64), 4),
        (_random((6, 9), np.float64).T, 4),
        (_random((8, 12))[::-2, ::3], 3),
    ],
    mistakes=[
        Mistake("`view += frames` on the overlapping view, or plain assignment: where frames"
                " overlap, only the last one survives", _add_on_the_view),
        Mistake("a signal of count * hop elements, which loses the end of the last frame; the last"
                " frame starts at (count - 1) * hop and is `width` long",
                lambda frames, hop: np.append(
                    _overlap_add(frames, hop), np.zeros(hop, frames.dtype))[:len(frames) * hop]),
        Mistake("the mean of the frames that overlap; it should be their sum", _mean_of_frames),
        Mistake("frames put end to end; frame k starts at k * hop",
                lambda frames, hop: frames.reshape(-1).copy()),
    ],
    rules=[_own_zeros, no_python_loop((_random((5, 8)), 2), (_random((500, 8)), 2))],
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


def _without_warnings(function: Callable) -> Callable:
    """An answer from `function(scores, mask)`, without the warnings that NumPy would give."""

    def masked_softmax(scores, mask):
        with np.errstate(all="ignore"):
            return function(scores, np.broadcast_to(mask, scores.shape)).astype(scores.dtype)

    return masked_softmax


def _softmax(scores, axis=-1):
    e = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def _weights(scores, mask, shift, axis=-1, guard=True):
    """exp(scores - shift) where kept, divided by its sum; 0 / 0 becomes 0 when guarded."""
    e = np.where(mask, np.exp(scores - shift), 0)
    total = e.sum(axis=axis, keepdims=True)
    return e / (np.where(total == 0, 1, total) if guard else total)


masked_softmax = Task(
    name="masked_softmax",
    spec=_masked_softmax,
    cases=_softmax_cases,
    mistakes=[
        Mistake("exp without the row's maximum subtracted first: exp(89) is already infinite in"
                " float32", _without_warnings(lambda s, m: _weights(s, m, 0))),
        Mistake("exp without the row's maximum subtracted first: exp(89) is already infinite in"
                " float32", _without_warnings(lambda s, m: _weights(s, m, 0, guard=False))),
        Mistake("a large negative number in place of masked scores: a row that is masked entirely"
                " then gets equal weights instead of zeros",
                _without_warnings(lambda s, m: _softmax(np.where(m, s, -1e9)))),
        Mistake("-inf in place of masked scores, also in a row that is masked entirely: -inf - -inf"
                " is not a number",
                _without_warnings(lambda s, m: _softmax(np.where(m, s, -np.inf)))),
        Mistake("softmax first and zeros afterwards: the weights that are left no longer sum to"
                " one", _without_warnings(lambda s, m: np.where(m, _softmax(s), 0))),
        Mistake("a maximum over the masked scores too: if one of them is huge, all others vanish",
                _without_warnings(lambda s, m: _weights(s, m, s.max(axis=-1, keepdims=True)))),
        Mistake("a maximum over the masked scores too: if one of them is huge, all others vanish",
                _without_warnings(lambda s, m: _weights(
                    s, m, s.max(axis=-1, keepdims=True), guard=False))),
        Mistake("the mask the other way round; True means keep",
                _without_warnings(lambda s, m: _masked_softmax(s, ~m))),
        Mistake("scores multiplied by the mask: a score of zero is a score like any other, and"
                " gets a weight", _without_warnings(lambda s, m: _softmax(s * m))),
        Mistake("a sum over the whole array; each row must sum to one (axis=-1, keepdims=True)",
                _without_warnings(lambda s, m: np.where(
                    m, (e := np.exp(np.where(m, s, -np.inf) - np.max(s, where=m, initial=-np.inf)))
                    / e.sum(), 0))),
        Mistake("softmax along the first axis; the last one must sum to one",
                _without_warnings(lambda s, m: np.moveaxis(_masked_softmax(
                    np.moveaxis(s, 0, -1), np.moveaxis(m, 0, -1)), -1, 0))),
    ],
    rules=[
        no_python_loop((_scores((4, 6)), _scores((4, 6), seed=1) > -1),
                       (_scores((400, 6)), _scores((400, 6), seed=1) > -1)),
        no_warnings(),
    ],
    rtol=1e-5,
)


# squared_distances: in bounded memory, and exact far from the origin


def _squared_distances(x, y):
    result = np.empty((len(x), len(y)), x.dtype)
    for i, row in enumerate(x.astype(np.float64)):
        result[i] = ((row - y)**2).sum(axis=1)
    return result


def _points(shape: tuple, dtype=np.float32, seed: int = 0, at: float = 0) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(shape) + at).astype(dtype)


def _distance_cases() -> list[Case]:
    far = _points((6, 8), seed=2, at=1e4)
    clumps = _points((8, 5), seed=3)
    clumps[4:] += 5000
    near = _points((5, 16), seed=4, at=3000)
    near[:, 3] = near[::-1, 3] / 1e6  # one coordinate is small
    twins = near.copy()
    twins[:, 3] += np.float32(1e-4)
    return [
        (_points((5, 3)), _points((7, 3), seed=1)),
        (_points((9, 64), seed=5), _points((4, 64), seed=6)),
        (_points((4, 7), np.float64), _points((6, 14), np.float64, 1)[:, ::-2]),
        (_points((3, 6), seed=7).T, _points((3, 5), seed=8).T),
        (far, far[1:] + np.float32(0.5)),
        (clumps, clumps[1::2] + np.float32(0.25)),
        (near, twins),
        (_points((331, 70), seed=11), _points((97, 70), seed=12)),  # no whole number of blocks
        (_points((3, 4)), _points((0, 4))),
    ]


def _exact_enough(value: object, case: Case) -> object:
    """Each distance must be right to 1e-4 of itself. An error of the expansion's size is named."""
    x, y = (points.astype(np.float64) for points in case)
    expected = ((x[:, None] - y) ** 2).sum(axis=-1)
    if (not isinstance(value, np.ndarray) or value.shape != expected.shape
            or value.dtype != case[0].dtype):
        return value
    error = np.abs(value - expected)
    size = (x**2).sum(axis=1)[:, None] + (y**2).sum(axis=1)
    wrong = ~(error <= 1e-4 * expected + np.finfo(value.dtype).tiny)
    if wrong.any() and np.all(error <= 8 * np.finfo(np.float32).eps * size.max()):
        i, j = (int(k) for k in np.argwhere(wrong)[0])
        raise Refusal(f"the value at [{i}, {j}] should be {expected[i, j]:.6g} and is"
                      f" {value[i, j]:.6g}. Errors of this size come from rounding:"
                      f" |x|**2 + |y|**2 reaches {size.max():.2g} in this case.")
    return value


def _expanded(x, y, dtype=np.float32, centred=False):
    x, y = x.astype(dtype if x.dtype == np.float32 else x.dtype), y.astype(
        dtype if y.dtype == np.float32 else y.dtype)
    if centred:
        centre = x.mean(axis=0)
        x, y = x - centre, y - centre
    return (x**2).sum(axis=1)[:, None] + (y**2).sum(axis=1) - 2 * x @ y.T


def _all_at_once(x, y):
    return ((x[:, None] - y) ** 2).sum(axis=-1)


def _few_instructions(answer: Callable, trials: Sequence[Trial]) -> str | None:
    """A loop over blocks takes a few thousand instructions, a loop over 600 rows far more."""
    case = _points((600, 64), seed=9), _points((20, 64), seed=10)
    if instructions(answer, case, 10_000) > 10_000:
        return ("its Python loop takes small steps: the interpreter executes more than 10,000"
                " instructions for 600 x 20 points. Take blocks of rows.")
    return None


squared_distances = Task(
    name="squared_distances",
    spec=_squared_distances,
    cases=_distance_cases,
    read=_exact_enough,
    mistakes=[
        Mistake("|x|**2 + |y|**2 - 2 * x @ y.T: far from the origin, large numbers cancel and"
                " only their rounding errors stay", _expanded),
        Mistake("|x|**2 + |y|**2 - 2 * x @ y.T after subtracting the mean: that helps one cloud of"
                " points, not two that are far apart, nor points that nearly coincide",
                lambda x, y: _expanded(x, y, centred=True)),
        Mistake("|x|**2 + |y|**2 - 2 * x @ y.T in float64: it cancels later, and still cancels"
                " where points nearly coincide",
                lambda x, y: _expanded(x, y, np.float64).astype(x.dtype)),
        Mistake("distances; their squares are asked for",
                lambda x, y: np.sqrt(_all_at_once(x, y))),
        Mistake("sums of absolute differences; the differences must be squared",
                lambda x, y: np.abs(x[:, None] - y).sum(axis=-1)),
        Mistake("the square of the summed difference; square first, then sum",
                lambda x, y: (x[:, None] - y).sum(axis=-1) ** 2),
        Mistake("the transposed table; entry [i, j] belongs to x[i] and y[j]",
                lambda x, y: _all_at_once(y, x)),
    ],
    rules=[
        _few_instructions,  # first, since measuring the memory of a loop over pairs takes seconds
        peak_memory((_points((600, 64), seed=9), _points((500, 64), seed=10)), 8 * MB,
                    "work on a block of rows of x at a time, or on one coordinate at a time."),
    ],
    rtol=1e-4,
)


# one_hot: labels of -1 are ignored


def _one_hot(labels, classes):
    if np.any((labels < -1) | (labels >= classes)):
        raise ValueError(f"labels must be -1 to {classes - 1}")
    result = np.zeros((*labels.shape, classes), np.float32)
    for place in np.ndindex(labels.shape):
        if labels[place] >= 0:
            result[(*place, labels[place])] = 1
    return result


def _make_one_hot(ignored: Callable, check: bool) -> Callable:
    """An answer that is right for labels from 0; `ignored(labels, classes)` replaces the others."""

    def one_hot(labels, classes):
        if check and np.any((labels < -1) | (labels >= classes)):
            raise ValueError
        return np.eye(classes, dtype=np.float32)[ignored(labels, classes)]

    return one_hot


one_hot = Task(
    name="one_hot",
    spec=_one_hot,
    cases=lambda: [
        (np.array([2, 0, 1, 1, 3]), 4),
        (np.array([2, -1, 0, -1]), 3),
        (np.array([[1, -1, 4], [0, 2, -1]], np.int32), 5),
        (np.array([-1, -1], np.int8), 3),
        (np.array([[3, 1], [0, 2], [2, 2]], np.uint8), 4),
        (np.arange(-1, 11).reshape(3, 4)[::-1, ::2], 11),
        (np.array([[[0, -1]]]), 1),
        (np.array([0, 3, 1]), 3),
        (np.array([0, -2, 1]), 3),
    ],
    mistakes=[
        Mistake("-1 used as an index: it counts from the end and selects the last class",
                _make_one_hot(lambda labels, classes: labels, check=True)),
        Mistake("-1 used as an index: it counts from the end and selects the last class",
                _make_one_hot(lambda labels, classes: labels, check=False)),
        Mistake("-1 taken for class 0; an ignored label belongs to no class",
                _make_one_hot(lambda labels, classes: np.maximum(labels, 0), check=True)),
        Mistake("-1 taken for class 0; an ignored label belongs to no class",
                _make_one_hot(lambda labels, classes: np.maximum(labels, 0), check=False)),
        Mistake("ignored labels left out: the result needs a row of zeros for each of them",
                _make_one_hot(lambda labels, classes: labels[labels >= 0], check=True)),
        Mistake("labels that are not checked: a label outside -1 to classes - 1 is a ValueError",
                lambda labels, classes: (
                    labels[..., None] == np.arange(classes)).astype(np.float32)),
        Mistake("the class axis first; it must be the last one",
                lambda labels, classes: np.moveaxis(_one_hot(labels, classes), -1, 0)),
    ],
    rules=[no_python_loop((np.arange(-1, 9), 9), (np.arange(-1, 999) % 10 - 1, 9))],
)


# top_k


def _top_k(x, k):
    values, indices = np.empty((2, *x.shape[:-1], k), np.intp)
    values = values.astype(x.dtype)
    for row in np.ndindex(x.shape[:-1]):
        best = sorted(range(x.shape[-1]), key=lambda i, row=row: x[row][i], reverse=True)[:k]
        indices[row] = best
        values[row] = x[row][best]
    return values, indices


def _make_top_k(order: Callable) -> Callable:
    """An answer that takes the first k of `order(x)`, the sorted indices of each row."""

    def top_k(x, k):
        indices = order(x)[..., :k]
        return np.take_along_axis(x, indices, axis=-1), indices

    return top_k


def _descending(x):
    return x.shape[-1] - 1 - np.argsort(x[..., ::-1], axis=-1, kind="stable")[..., ::-1]


def _top_k_cases() -> list[Case]:
    rng = np.random.default_rng(5)
    ties = rng.integers(0, 4, (4, 9))
    return [
        (_random((7,)), 3),
        (_random((4, 6), seed=1), 2),
        (_random((2, 3, 5), np.float64, 2), 5),
        (_random((6, 4), seed=3).T, 1),
        (ties, 4),
        (rng.integers(0, 200, (3, 8)).astype(np.uint8), 3),
        (np.tile(np.array([0, 3, 255, 0], np.uint8), (2, 2)), 5),
        (_random((5, 12), seed=4)[::-2, ::-3], 3),
        (np.array([[-np.inf, 1, -np.inf, 0], [2, -np.inf, 5, np.inf]], np.float32), 3),
    ]


top_k = Task(
    name="top_k",
    spec=_top_k,
    cases=_top_k_cases,
    mistakes=[
        Mistake("the k smallest", _make_top_k(lambda x: np.argsort(x, axis=-1, kind="stable"))),
        Mistake("the right elements in rising order; the largest comes first",
                lambda x, k: tuple(part[..., ::-1] for part in _top_k(x, k))),
        Mistake("the right elements in rising order; the largest comes first",
                lambda x, k: _make_top_k(lambda x: np.argsort(
                    x, axis=-1, kind="stable")[..., x.shape[-1] - k:])(x, k)),
        Mistake("minus on unsigned integers, which wraps: -1 is 255, and -0 stays 0",
                _make_top_k(lambda x: np.argsort(-x, axis=-1, kind="stable"))),
        Mistake("an ascending order turned round: equal elements now come last one first",
                _make_top_k(lambda x: np.argsort(x, axis=-1, kind="stable")[..., ::-1])),
        Mistake("x[indices] with the indices of all rows; np.take_along_axis picks row by row",
                lambda x, k: (x[_descending(x)[..., :k]], _descending(x)[..., :k])),
        Mistake("the first axis; the k largest along the last one are asked for",
                lambda x, k: tuple(part.T for part in _top_k(np.ascontiguousarray(x.T), min(
                    k, x.shape[0])))),
    ],
    rules=[no_python_loop((_random((4, 30)), 3), (_random((400, 30)), 3))],
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
    ]


def _make_scatter_add(function: Callable) -> Callable:
    """An answer whose table is filled by `function(table, flat ids, flat vectors)`."""

    def scatter_add(vectors, ids, rows):
        table = np.zeros((rows, vectors.shape[-1]), vectors.dtype)
        function(table, ids.reshape(-1), vectors.reshape(-1, vectors.shape[-1]))
        return table

    return scatter_add


def _add_at_once(table, ids, vectors):
    table[ids] += vectors


def _first_rows(table, ids, vectors):
    rows, first = np.unique(ids, return_index=True)
    table[rows] = vectors[first]


def _mean_rows(table, ids, vectors):
    table[:] = _scatter_add(vectors, ids, len(table)) / np.maximum(
        np.bincount(ids, minlength=len(table)), 1)[:, None]


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
    name="scatter_add",
    spec=_scatter_add,
    cases=_scatter_cases,
    mistakes=[
        Mistake("`table[ids] += vectors`, or plain assignment: of several vectors for one row"
                " only the last one stays", _make_scatter_add(_add_at_once)),
        Mistake("np.unique with return_index: it gives the first vector of each row and drops the"
                " others",
                _make_scatter_add(_first_rows)),
        Mistake("the mean of a row's vectors; their sum is asked for",
                _make_scatter_add(_mean_rows)),
        Mistake("np.add.reduceat with a start for every row: a row without vectors has an empty"
                " range, and reduceat then gives the next element instead of zero",
                _make_scatter_add(_every_row)),
        Mistake("runs of equal ids without sorting first: an id that comes back later overwrites"
                " its earlier sum", _make_scatter_add(_unsorted_runs)),
    ],
    rules=[
        _no_add_at,
        _own_zeros,
        no_python_loop((_random((10, 3)), np.arange(10) % 4, 4),
                       (_random((600, 3)), np.arange(600) % 4, 4)),
        peak_memory((_random((500, 8)), np.random.default_rng(7).integers(0, 4000, 500), 4000),
                    2 * MB, "a one-hot matrix has a row for every row of the table and a column"
                            " for every vector, nearly all of it zeros."),
    ],
    rtol=1e-5,
)


# nearest_digits


def _nearest_digits(train, labels, images):
    result = np.empty(len(images), labels.dtype)
    flat = train.reshape(len(train), -1).astype(np.float64)
    for i, image in enumerate(images):
        distances = ((flat - image.reshape(-1)) ** 2).sum(axis=1)
        result[i] = labels[distances.argmin()]
    return result


def _digit_cases() -> list[Case]:
    images, labels = load_digits()
    scaled = images.astype(np.float32) / 16
    rng = np.random.default_rng(8)
    ties = rng.integers(0, 2, (40, 2, 3)).astype(np.float32)  # many equal distances
    return [
        (scaled[:300], labels[:300], scaled[1300:1400]),
        (images[:200], labels[:200].astype(np.int8), images[1500:1560]),
        (images[300:700:2].astype(np.float64) - 500, labels[300:700:2],
         images[1:1700:40].astype(np.float64) - 500),
        (ties, rng.integers(0, 10, 40), rng.integers(0, 2, (9, 2, 3)).astype(np.float32)),
        (scaled[:9, 6::-1, 2:7], labels[:9] - 4, scaled[1000:1020, 6::-1, 2:7]),
    ]


def _differences(train, images, dtype=np.float64):
    """images[:, None] - train, the pixels of each image in one axis; computed in `dtype` if any."""
    train, images = (x.reshape(len(x), -1) for x in (train, images))
    return images[:, None].astype(dtype or images.dtype) - train.astype(dtype or train.dtype)


def _squares(train, images, **keywords):
    return (_differences(train, images, **keywords) ** 2).sum(axis=-1)


def _products(train, images):
    train, images = (x.reshape(len(x), -1).astype(np.float64) for x in (train, images))
    return images @ train.T


def _make_nearest_digits(measure: Callable = _squares, pick: Callable = np.argmin) -> Callable:
    """The answer that picks by another measure, or not the smallest."""

    def nearest_digits(train, labels, images):
        return labels[pick(measure(train, images), axis=1)]

    return nearest_digits


def _memory_digits() -> Case:
    rng = np.random.default_rng(9)
    return (rng.random((1200, 8, 8), np.float32), rng.integers(0, 10, 1200),
            rng.random((500, 8, 8), np.float32))


nearest_digits = Task(
    name="nearest_digits",
    spec=_nearest_digits,
    cases=_digit_cases,
    mistakes=[
        Mistake("differences of unsigned bytes, which wrap: 3 - 5 is 254. Convert before you"
                " subtract", _make_nearest_digits(
                    lambda train, images: _squares(train, images, dtype=None))),
        Mistake("the neighbour's place in `train`; its label is asked for",
                lambda train, labels, images: _squares(train, images).argmin(axis=1)),
        Mistake("the farthest image (argmax of the distances)",
                _make_nearest_digits(pick=np.argmax)),
        Mistake("a label for each training image; one for each of `images` is asked for",
                lambda train, labels, images: labels[
                    _squares(train, images).argmin(axis=0) % len(labels)]),
        Mistake("the image with the largest product, which is large for every image with much ink",
                _make_nearest_digits(_products, np.argmax)),
        Mistake("sums of absolute differences; the differences must be squared",
                _make_nearest_digits(
                    lambda train, images: np.abs(_differences(train, images)).sum(axis=-1))),
        Mistake("the last of several nearest images; the first one counts",
                lambda train, labels, images: labels[::-1][
                    _squares(train[::-1], images).argmin(axis=1)]),
    ],
    rules=[
        peak_memory(_memory_digits(), 32 * MB, "all differences at once take 600,000 x 64 numbers;"
                                               " work on some images at a time."),
    ],
)
