"""The tasks of the first lesson: a drawing, two choices of a batch, a share of the machine."""

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
    lambda: [
        ({1: 0.001, 10: 0.002, 100: 0.0125}, 0.01),
        ({10_000: 2.0, 1: 0.0004, 100: 0.011, 20: 0.002}, 1.0),
        ({1: 0.002, 512: 0.08, 64: 0.008}, 0.1),  # the largest is allowed, and not the best
        ({50: 0.05, 5: 0.01, 500: 0.4}, 0.05),  # a call that takes just as long as it may
        ({3: 0.25, 5: 0.5, 11: 0.6}, 0.5),  # neither the fastest nor the largest allowed
    ],
    mistakes=[
        ("the batch whose call is the shortest; digits a second are wanted",
         lambda seconds, patience: min(seconds, key=seconds.get)),
        ("the largest batch that keeps to the limit; a smaller one may read more digits a second",
         lambda seconds, patience: max(n for n in seconds if seconds[n] <= patience)),
        ("the batch with the highest throughput, whatever its call takes",
         lambda seconds, patience: _best(seconds, math.inf)),
    ],
)

def _share(nbytes: float, operations: float, seconds: float, bandwidth: float, rate: float, *,
           of: object = max) -> float:
    return of((nbytes / bandwidth / seconds, operations / rate / seconds))


share_of_peak = Task(
    "share_of_peak", _share, right=_share,
    cases=lambda: [
        (24e6, 3e6, 2e-3, 20e9, 40e9),  # memory-bound: 0.6
        (12.6e6, 2.1e9, 0.1, 20e9, 40e9),  # compute-bound: 0.525
        (2**30, 2**32, 0.25, 4178e9, 67e12),  # memory-bound, although the operations are more
        (50e6, 0, 1e-3, 20e9, 1e9),  # 2.5: from a cache
        (1, 7, 1.0, 2.0, 3.0),
    ],
    mistakes=[
        ("the sum of both times; bytes move while the processor computes", {"of": sum}),
        ("the shorter of the two times; the least time is the longer one", {"of": min}),
        ("the inverse: measured time over least time", lambda *work: 1 / _share(*work)),
        ("a share in percent; 0.6 is wanted, not 60", lambda *work: 100 * _share(*work)),
        ("a share cut off at 1; keep it, because more than 1 says that a count is wrong or that a"
         " cache helped", lambda *work: min(1.0, _share(*work))),
    ],
)


def _enough(first: tuple, second: tuple, share: float, *, round: object = math.ceil,
            digits: bool = True) -> int:
    (n, t), (m, u) = first, second
    each = (u - t) / (m - n)
    start = t - n * each if digits else t
    return round(share * start / (each * (1 - share)))


smallest_batch = Task(
    "smallest_batch", _enough, right=_enough,
    cases=lambda: [
        ((1, 1.1e-3), (11, 2.1e-3), 0.88),
        ((5, 4e-4), (40, 2.5e-3), 0.93),
        ((300, 0.37), (20, 0.06), 0.5),
        ((2, 2.5), (6, 4.5), 0.5),  # 3 digits reach it exactly, and all numbers are exact
        ((2, 7.0), (3, 9.0), 0.99),
        ((1, 0.02), (2, 0.0201), 0.3),
    ],
    mistakes=[
        ("a batch rounded down or to the nearest; it is a little too small then",
         {"round": math.floor}),
        ("one more than the smallest batch",
         lambda first, second, share: _enough(first, second, share) + 1),
        ("the time of the first call as the cost of starting one; its digits are in it",
         {"digits": False}),
        ("the cost of starting a call over the cost of a digit, without the share",
         lambda first, second, share: _enough(first, second, 0.5)),
    ],
)
