"""The tasks of the first lesson: a drawing, a batch, a share of the machine, an experiment."""

import math

import numpy as np

from helpers import network
from helpers.data import load_network

from .machinery.task import Case, Refusal, Task, describe_value


def _digit_in(image: object, case: Case) -> int:
    """What the network reads in an image."""
    if not isinstance(image, np.ndarray) or image.shape != (8, 8):
        raise Refusal(f"return an image of shape (8, 8); got {describe_value(image)}.")
    if not image.any() or ((image < 0) | (image > 1)).any():
        raise Refusal("ink is 1 and paper is 0, and an image needs some of both.")
    digit = int(network.forward(image[None].astype(np.float32), load_network()).argmax())
    if digit != 4:
        raise Refusal(f"the network reads a {digit} in your image.")
    return digit


four = Task("four", spec=lambda paper: 4, read=_digit_in,
            cases=lambda: [(np.zeros((8, 8), dtype),) for dtype in (np.float32, np.float64)])


def _best(seconds: dict, patience: float) -> int:
    return max((n for n in seconds if seconds[n] <= patience), key=lambda n: n / seconds[n])


choose_batch = Task(
    "choose_batch", _best,
    lambda: [({1: 0.001, 10: 0.002, 100: 0.0125}, 0.01),
             ({10_000: 2.0, 1: 0.0004, 100: 0.011, 20: 0.002}, 1.0),
             ({1: 0.002, 512: 0.08, 64: 0.008}, 0.1), ({50: 0.05, 5: 0.01, 500: 0.4}, 0.05),
             ({3: 0.25, 5: 0.5, 11: 0.6}, 0.5)],  # neither the fastest nor the largest allowed
    mistakes=[
        ("the batch whose call is the shortest; digits a second are wanted",
         lambda seconds, patience: min(seconds, key=seconds.get)),
        ("the largest batch that keeps to the limit; a smaller one may read more digits a second",
         lambda seconds, patience: max(n for n in seconds if seconds[n] <= patience)),
        ("the batch with the highest throughput, whatever its call takes",
         lambda seconds, patience: _best(seconds, math.inf))],
)


def _share(m: int, k: int, n: int, seconds: float, bandwidth: float, rate: float, *,
           of: object = max, size: int = 4, written: int = 1, each: int = 2) -> float:
    moving = size * (m * k + k * n + written * m * n) / bandwidth
    return of((moving, each * m * n * k / rate)) / seconds


share_of_product = Task(
    "share_of_product", _share, right=_share,
    cases=lambda: [(1024, 1024, 1024, 0.1, 20e9, 40e9), (4000, 4000, 1, 5e-3, 20e9, 40e9),
                   (1000, 1000, 1, 1e-4, 20e9, 40e9),  # 2.004: from a cache
                   (3, 5, 7, 50.0, 2.0, 1.0), (300, 5, 200, 1e-4, 5e9, 40e9)],
    mistakes=[
        ("the sum of both times; bytes move while the processor computes", {"of": sum}),
        ("the shorter of the two times; the least time is the longer one", {"of": min}),
        ("numbers of 8 bytes; a float32 has 4", {"size": 8}),
        ("the bytes of the two factors; the result is written, too", {"written": 0}),
        ("the multiplications alone; there are as many additions", {"each": 1}),
        ("the inverse: measured time over least time", lambda *work: 1 / _share(*work)),
        ("a share cut off at 1", lambda *work: min(1.0, _share(*work)))],
)


def _enough(first: tuple, second: tuple, part: float, *, round: object = math.ceil,
            digits: bool = True) -> int:
    (n, t), (m, u) = first, second
    each = (u - t) / (m - n)
    return round(part * (t - n * each if digits else t) / (each * (1 - part)))


smallest_batch = Task(
    "smallest_batch", _enough, right=_enough,
    cases=lambda: [((1, 1.1e-3), (11, 2.1e-3), 0.88), ((5, 4e-4), (40, 2.5e-3), 0.93),
                   ((300, 0.37), (20, 0.06), 0.5), ((2, 7.0), (3, 9.0), 0.999),
                   ((1, 0.02), (2, 0.0201), 0.3), ((2, 2.5), (6, 4.5), 0.5)],  # exactly 3
    mistakes=[
        ("a batch rounded down; it is a little too small then", {"round": math.floor}),
        ("the first call's time as the cost of a call; its digits are in it", {"digits": False})],
)


def _effect(before: list, after: list, *, unclear: float = math.nan) -> float:
    factors = sorted(old / new for old, new in zip(before, after))
    return factors[len(factors) // 2] if factors[0] > 1 or factors[-1] < 1 else unclear


def _of_middle_round(before: list, after: list) -> float:
    middle = len(before) // 2
    agreed = not math.isnan(_effect(before, after))
    return before[middle] / after[middle] if agreed else math.nan


effect = Task(
    "effect", _effect, right=_effect,
    cases=lambda: [([2.0, 6.0, 3.0], [1.5, 4.0, 1.0]), ([1.0, 2.0, 1.5], [2.0, 3.0, 2.0]),
                   ([1.0, 1.2, 1.1], [1.1, 1.0, 1.0]), ([2.0, 2.0, 4.0], [1.0, 1.0, 4.0]),
                   ([3.0], [2.0]), ([5.0, 1.0, 2.0, 9.0, 3.0], [5.0, 8.0, 3.0, 20.0, 4.0]),
                   ([4.0, 9.0, 1.2, 2.0, 7.0], [2.0, 1.0, 1.0, 1.6, 3.0])],
    mistakes=[
        ("1 where the rounds do not agree; 1 would say that the change does nothing",
         {"unclear": 1.0}),
        ("the times sorted before they are divided; compare times of the same round",
         lambda before, after: _effect(sorted(before), sorted(after))),
        ("the factor of the round in the middle; sort the factors first", _of_middle_round),
        ("`after` divided by `before`", lambda before, after: _effect(after, before))],
)
