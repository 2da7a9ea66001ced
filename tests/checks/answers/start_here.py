"""Right answers besides the solution, and wrong ones that are no known mistake."""

import math

import numpy as np


def _written(paper):
    four = """
        ..#.....
        ..#.....
        ..#.#...
        ..#.#...
        .#####..
        ....#...
        ....#...
        ....#..."""
    ink = np.array([[sign == "#" for sign in row] for row in four.split()])
    image = paper.copy()
    image[ink] = 1
    return image


def _with_slices(paper):
    image = paper.copy()
    image[1:5, 1] = 1
    image[4, 1:7] = 1
    image[1:8, 4] = 1
    return image


def _grey(paper):
    image = paper.copy()
    image[[0, 1, 2, 3], [4, 3, 2, 1]] = image[3:8, 4] = 0.8
    image[4, 1:7] = 0.7
    return image


def _in_place(paper):
    paper[:] = _with_slices(paper)
    return paper


def _looked_through(seconds, patience):
    best, most = None, 0.0
    for batch, taken in seconds.items():
        if taken <= patience and batch / taken > most:
            best, most = batch, batch / taken
    return best


def _sorted(seconds, patience):
    for batch in sorted(seconds, key=lambda batch: seconds[batch] / batch):
        if seconds[batch] <= patience:
            return batch


def _fastest_or_largest(seconds, patience):
    best = max(seconds, key=lambda batch: batch / seconds[batch])
    return best if seconds[best] <= patience else max(n for n in seconds if seconds[n] <= patience)


def _search(first, second, share):
    each = (second[1] - first[1]) / (second[0] - first[0])
    start = second[1] - second[0] * each
    batch = 1
    while batch / (start + batch * each) < share / each:
        batch += 1
    return batch


def _floor_and_one(first, second, share):
    each = (second[1] - first[1]) / (second[0] - first[0])
    start = first[1] - first[0] * each
    return math.floor(share * start / ((1 - share) * each)) + 1


RIGHT = {
    "four": [
        _written,
        _with_slices,
        _grey,
    ],
    "choose_batch": [
        _looked_through,
        lambda seconds, patience: max((n / t, n) for n, t in seconds.items() if t <= patience)[1],
        _sorted,
    ],
    "share_of_peak": [
        lambda nbytes, operations, seconds, bandwidth, rate: 1 / min(
            bandwidth * seconds / nbytes,
            rate * seconds / operations if operations else math.inf),
        lambda nbytes, operations, seconds, bandwidth, rate: (
            nbytes / bandwidth if nbytes * rate > operations * bandwidth
            else operations / rate) / seconds,
    ],
    "smallest_batch": [_search, lambda first, second, share: float(_search(first, second, share))],
}

WRONG = {
    "four": [
        (lambda paper: paper.copy(), "an image needs some of both"),
        (lambda paper: 255 * _with_slices(paper), "ink is 1 and paper is 0"),
        (lambda paper: _with_slices(paper)[:, ::-1], "the network reads a"),
        (lambda paper: _with_slices(paper).T, "the network reads a"),
        (lambda paper: np.ones((8, 8)), "the network reads a"),
        (lambda paper: _with_slices(paper)[None], "of shape (8, 8); got a"),
        (lambda paper: 4, "of shape (8, 8); got an int"),
        (_in_place, "changed its argument in place"),
    ],
    "choose_batch": [
        (lambda seconds, patience: max(
            n / t for n, t in seconds.items() if t <= patience), "expected 10, got 5000"),
        (lambda seconds, patience: max(
            (n for n in seconds if seconds[n] < patience), key=lambda n: n / seconds[n]),
         "patience=0.05"),
        (lambda seconds, patience: max(
            (n for n in seconds if seconds[n] / n <= patience), key=lambda n: n / seconds[n]), ""),
        (lambda seconds, patience: max(
            (n for n in seconds if n * seconds[n] <= patience), key=lambda n: n / seconds[n]), ""),
        (_fastest_or_largest, "expected 3, got 5"),
        (lambda seconds, patience: 10, "expected 20"),
        (lambda seconds, patience: list(seconds)[1], "expected 20"),
    ],
    "share_of_peak": [
        (lambda nbytes, operations, seconds, bandwidth, rate:
         f"{nbytes / seconds / bandwidth:.0%}", "expected a number"),
        (lambda nbytes, operations, seconds, bandwidth, rate: nbytes / bandwidth / seconds,
         "0.525"),
        (lambda nbytes, operations, seconds, bandwidth, rate: operations / rate / seconds,
         "expected 0.6"),
        (lambda nbytes, operations, seconds, bandwidth, rate: 0.6, "expected 0.525"),
        (lambda nbytes, operations, seconds, bandwidth, rate: (
            nbytes / bandwidth if nbytes > operations else operations / rate) / seconds, ""),
        (lambda nbytes, operations, seconds, bandwidth: nbytes / seconds,
         "it must take 5 arguments"),
    ],
    "smallest_batch": [
        (lambda first, second, share: _search(first, second, share * 0.9), "expected"),
        (lambda first, second, share: _search((1, first[1]), second, share), "expected"),
        (lambda first, second, share: float(_search(first, second, share)) + 0.4, "expected"),
        (lambda first, second, share: _search(first, second, 1 - share), "expected"),
        (lambda first, second, share: max(first[0], second[0]), "expected"),
        (lambda first, second, share: max(first[0], _search(first, second, share)), "expected"),
        (_floor_and_one, "expected 3, got 4"),
        (lambda first, second, share: round(_search(first, second, share) / share), "expected"),
    ],
}


def _random_seconds(rng):
    batches = rng.choice(10_000, rng.integers(1, 9), replace=False) + 1
    taken = rng.uniform(1e-4, 2, batches.size)
    seconds = dict(zip(batches.tolist(), taken.tolist()))
    return seconds, float(rng.choice([taken.min(), taken.max(), rng.uniform(taken.min(), 2)]))


def _random_calls(rng):
    start, each = rng.uniform(1e-4, 1), rng.uniform(1e-5, 1e-2)
    calls = [(int(n), float(start + n * each)) for n in rng.choice(500, 2, replace=False) + 1]
    return *calls, float(rng.uniform(0.05, 0.99))


INPUTS = {
    "four": lambda rng: (np.zeros((8, 8), rng.choice(["float32", "float64"])),),
    "choose_batch": _random_seconds,
    "share_of_peak": lambda rng: tuple(map(float, rng.uniform(0.1, 9, 5))),
    "smallest_batch": _random_calls,
}
