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


def _search(first, second, part):
    each = (second[1] - first[1]) / (second[0] - first[0])
    start = second[1] - second[0] * each
    batch = 1
    while batch / (start + batch * each) < part / each:
        batch += 1
    return batch


def _search_to_1000(first, second, part):
    each = (second[1] - first[1]) / (second[0] - first[0])
    start = second[1] - second[0] * each
    return next((n for n in range(1, 1000) if n / (start + n * each) >= part / each), None)


def _until_too_slow(seconds, patience):
    best = None
    for batch, taken in seconds.items():
        if taken > patience:
            break
        if best is None or batch / taken > best / seconds[best]:
            best = batch
    return best


def _product(m, k, n):
    return 4 * (m * k + k * n + m * n), 2 * m * n * k


def _by_counts(m, k, n, seconds, bandwidth, rate):
    moved, operations = _product(m, k, n)
    return (moved / bandwidth if moved > operations else operations / rate) / seconds


def _roofline(m, k, n, seconds, bandwidth, rate):
    moved, operations = _product(m, k, n)
    return operations / seconds / min(rate, operations / moved * bandwidth)


def _in_a_loop(before, after):
    factors, faster = [], 0
    for old, new in zip(before, after):
        factors.append(old / new)
        faster += (old > new) - (old < new)
    return float(np.median(factors)) if abs(faster) == len(before) else math.nan


def _in_arrays(before, after):
    factors = np.array(before) / np.array(after)
    return np.median(factors) if (factors > 1).all() or (factors < 1).all() else np.nan


def _where_agreed(before, after, result):
    return math.nan if math.isnan(_in_arrays(before, after)) else result


def _if_apart(before, after):
    apart = min(before) > max(after) or max(before) < min(after)
    return _in_arrays(before, after) if apart else math.nan


def _floor_and_one(first, second, part):
    each = (second[1] - first[1]) / (second[0] - first[0])
    start = first[1] - first[0] * each
    return math.floor(part * start / ((1 - part) * each)) + 1


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
    "share_of_product": [
        _roofline,
        lambda m, k, n, seconds, bandwidth, rate: max(
            part / seconds / most for part, most in zip(_product(m, k, n), (bandwidth, rate))),
    ],
    "effect": [_in_a_loop, _in_arrays],
    "smallest_batch": [_search, lambda first, second, part: float(_search(first, second, part))],
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
        (_until_too_slow, "it returned None"),
        (lambda seconds, patience: 10, "expected 20"),
        (lambda seconds, patience: list(seconds)[1], "expected 20"),
    ],
    "share_of_product": [
        (lambda m, k, n, seconds, bandwidth, rate:
         f"{_roofline(m, k, n, seconds, bandwidth, rate):.0%}", "expected a number"),
        (lambda m, k, n, seconds, bandwidth, rate: 2 * m * n * k / rate / seconds, "expected 0.64"),
        (lambda m, k, n, seconds, bandwidth, rate: _product(m, k, n)[0] / bandwidth / seconds,
         "expected 0.53"),
        (lambda m, k, n, seconds, bandwidth, rate: 100 * _roofline(
            m, k, n, seconds, bandwidth, rate), "expected 0.53"),
        (lambda m, k, n, seconds, bandwidth, rate: _roofline(n, m, k, seconds, bandwidth, rate)
         if m == n else _roofline(m, n, k, seconds, bandwidth, rate) * 1.01, "expected"),
        (_by_counts, "expected"),
        (lambda m, k, n, seconds, bandwidth: 0.5, "it must take 6 arguments"),
    ],
    "effect": [
        (lambda before, after: float(np.median(before) / np.median(after)), "expected 1.5"),
        (lambda before, after: _where_agreed(
            before, after, float(np.median(before) / np.median(after))), "expected 1.5"),
        (lambda before, after: min(before) / min(after), "expected 1.5"),
        (lambda before, after: sum(before) / sum(after), "expected 1.5"),
        (lambda before, after: float(np.mean(np.array(before) / after)), "expected 1.5"),
        (lambda before, after: _where_agreed(before, after, before[1] / after[1]), "expected"),
        (lambda before, after: _where_agreed(
            before, after, before[len(before) // 2] / after[len(after) // 2]), "in the middle"),
        (lambda before, after: _where_agreed(
            before, after, max(a / b for a, b in zip(before, after))), "expected 1.5"),
        (lambda before, after: float(np.median(np.array(before) / after)), "expected nan"),
        (lambda before, after: np.nan_to_num(_in_arrays(before, after)), "expected nan, got 0"),
        (lambda before, after: _in_arrays(
            before, after) if sum(before) > sum(after) else math.nan, "got nan"),
        (_if_apart, "got nan"),
    ],
    "smallest_batch": [
        (lambda first, second, part: _search(first, second, part * 0.9), "expected"),
        (lambda first, second, part: _search((1, first[1]), second, part), "expected"),
        (lambda first, second, part: float(_search(first, second, part)) + 0.4, "expected"),
        (lambda first, second, part: _search(first, second, 1 - part), "expected"),
        (lambda first, second, part: max(first[0], second[0]), "expected"),
        (lambda first, second, part: max(first[0], _search(first, second, part)), "expected"),
        (_floor_and_one, "expected 3, got 4"),
        (_search_to_1000, "part=0.999"),
        (lambda first, second, part: round(_search(first, second, part) / part), "expected"),
    ],
}


def _random_seconds(rng):
    batches = rng.choice(10_000, rng.integers(1, 9), replace=False) + 1
    taken = rng.uniform(1e-4, 2, batches.size)
    seconds = dict(zip(batches.tolist(), taken.tolist()))
    return seconds, float(rng.choice([taken.min(), taken.max(), rng.uniform(taken.min(), 2)]))


def _random_rounds(rng):
    old, new = rng.choice([1.0, 1.2, 1.5, 3.0, 4.0], (2, rng.choice([1, 3, 5])))
    return old.tolist(), (new * rng.choice([0.3, 1.0, 3.0])).tolist()


def _random_product(rng):
    return *map(int, rng.integers(1, 99, 3)), *map(float, rng.uniform(0.1, 9, 3))


def _random_calls(rng):
    start, each = rng.uniform(1e-4, 1), rng.uniform(1e-5, 1e-2)
    calls = [(int(n), float(start + n * each)) for n in rng.choice(500, 2, replace=False) + 1]
    return *calls, float(rng.uniform(0.05, 0.99))


INPUTS = {
    "four": lambda rng: (np.zeros((8, 8), rng.choice(["float32", "float64"])),),
    "choose_batch": _random_seconds,
    "share_of_product": _random_product,
    "effect": _random_rounds,
    "smallest_batch": _random_calls,
}
