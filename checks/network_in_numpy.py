"""The tasks about a network in NumPy: attention, convolution, quantised weights, measuring."""

import math
import statistics
from collections.abc import Callable, Sequence

import numpy as np

from helpers.timing import peak_bytes

from .machinery.task import (
    Case,
    Mistake,
    Refusal,
    Task,
    Trial,
    describe_value,
    no_python_loop,
    require_tuple,
)


def _random(*shape: int, seed: int, scale: float = 1, shift: float = 0,
            dtype: type = np.float32) -> np.ndarray:
    values = np.random.default_rng(seed).standard_normal(shape)
    return (values * scale + shift).astype(dtype)


# multi_head: attention of many sequences and heads at once, where some keys do not count


def _multi_head(q, k, v, heads, keep):
    d, e = q.shape[-1] // heads, v.shape[-1] // heads
    result = np.empty((*q.shape[:2], v.shape[-1]), q.dtype)
    for i, t, h in np.ndindex(*q.shape[:2], heads):
        own, theirs = slice(h * d, (h + 1) * d), slice(h * e, (h + 1) * e)
        scores = (k[i, :, own] @ q[i, t, own] / math.sqrt(d))[keep[i]]
        weights = np.exp(scores - scores.max())
        result[i, t, theirs] = weights / weights.sum() @ v[i, keep[i], theirs]
    return result


def _keep(n: int, keys: int, *dropped: tuple[int, int]) -> np.ndarray:
    keep = np.ones((n, keys), dtype=bool)
    for i, j in dropped:
        keep[i, j] = False
    return keep


def _attention_case(n, queries, keys, d, e, heads, dropped=(), scale=1.0, dtype=np.float32) -> Case:
    return (
        _random(n, queries, heads * d, seed=1, scale=scale, dtype=dtype),
        _random(n, keys, heads * d, seed=2, scale=scale, shift=0.5, dtype=dtype),
        _random(n, keys, heads * e, seed=3, shift=5, dtype=dtype),
        heads,
        _keep(n, keys, *dropped),
    )


def _attention_cases() -> list[Case]:
    q, k, v, heads, keep = _attention_case(3, 4, 6, 2, 2, 3, [(0, 5), (2, 0), (2, 3)])
    return [
        _attention_case(2, 3, 5, 4, 2, 2),
        _attention_case(2, 3, 5, 4, 4, 3, [(0, 4), (1, 0), (1, 3)]),
        _attention_case(1, 6, 4, 5, 3, 1, [(0, 1)], dtype=np.float64),
        _attention_case(3, 4, 4, 3, 5, 2, [(0, 0), (1, 2), (1, 3), (2, 1)]),
        _attention_case(2, 5, 7, 4, 3, 2, [(1, 1)], scale=9.0),  # scores of some hundreds
        (q[:, ::-1], k[::-1], (-v)[..., ::-1], heads, keep),
        (np.asfortranarray(q), k, v, heads, np.asfortranarray(keep)),
        (q, k, v, heads, _keep(3, 6, *[(1, j) for j in range(5)])),  # a single key is kept
        _far_keys(-4000),
        _far_keys(4000),
    ]


def _far_keys(far: float) -> Case:
    """Masked keys with scores far above the others' or far below, by thousands."""
    q, k, v, heads, keep = _attention_case(2, 3, 6, 4, 3, 2, [(0, 0), (0, 4), (1, 2)],
                                           dtype=np.float64)
    return np.abs(q) + 9, np.where(keep[..., None], k + far, k - far), v, heads, keep


def _make_multi_head(scale=lambda d, features: math.sqrt(d), axis=-1, shift=True, mask="keys",
                    split="blocks", merge=True):
    def multi_head(q, k, v, heads, keep):
        def heads_of(x):
            n, positions, features = x.shape
            if split == "interleaved":
                return x.reshape(n, positions, -1, heads).transpose(0, 3, 1, 2)
            if split == "no swap":
                return x.reshape(n, heads, positions, -1)
            return x.reshape(n, positions, heads, -1).swapaxes(1, 2)

        with np.errstate(over="ignore", invalid="ignore"):
            scores = heads_of(q) @ heads_of(k).swapaxes(-1, -2)
            scores = scores / scale(q.shape[-1] // heads, q.shape[-1])
            if mask == "keys":
                scores = np.where(keep[:, None, None, :], scores, -np.inf)
            elif mask == "times":
                scores = scores * keep[:, None, None, :]
            elif mask == "queries":
                scores = np.where(keep[:, None, :, None], scores, -np.inf)
            if shift:
                scores = scores - scores.max(axis=axis, keepdims=True)
            weights = np.exp(scores)
            weights = weights / weights.sum(axis=axis, keepdims=True)
            if mask == "late":
                weights = weights * keep[:, None, None, :]
            answers = weights @ heads_of(v)
            if split == "interleaved":
                return answers.transpose(0, 2, 3, 1).reshape(*q.shape[:2], -1)
            return (answers.swapaxes(1, 2) if merge else answers).reshape(*q.shape[:2], -1)

    return multi_head


multi_head = Task(
    name="multi_head",
    spec=_multi_head,
    cases=_attention_cases,
    rtol=1e-5,
    mistakes=[
        Mistake("scores that were not divided by the square root of a head's features",
                _make_multi_head(scale=lambda d, features: 1)),
        Mistake("scores divided by the square root of all features; each head has only its share",
                _make_multi_head(scale=lambda d, features: math.sqrt(features))),
        Mistake("scores divided by d and not by its square root",
                _make_multi_head(scale=lambda d, features: d)),
        Mistake("np.sqrt, whose float64 turns float32 arrays into float64: use math.sqrt",
                _make_multi_head(scale=lambda d, features: np.sqrt(d))),
        Mistake("a softmax over the queries: the weights of the *keys*, the last axis, sum to one"
                " for each query", _make_multi_head(axis=-2)),
        Mistake("a softmax that overflows: subtract the largest score of each row first",
                _make_multi_head(shift=False)),
        Mistake("attention that ignores `keep`", _make_multi_head(mask=None)),
        Mistake("masked scores set to 0, which is a score like any other: exp(0) is 1",
                _make_multi_head(mask="times")),
        Mistake("weights set to zero after the softmax: the others no longer sum to one",
                _make_multi_head(mask="late")),
        Mistake("`keep` applied to the queries; it says which *keys* count",
                _make_multi_head(mask="queries")),
        Mistake("heads merged without swapping positions and heads back",
                _make_multi_head(merge=False)),
        Mistake("heads made by one reshape to (n, heads, positions, d): it cuts along the wrong"
                " axis", _make_multi_head(split="no swap")),
        Mistake("interleaved heads: features 0, heads, 2 * heads, ... in the first; the pieces must"
                " be consecutive", _make_multi_head(split="interleaved")),
        Mistake("one head over all features", lambda q, k, v, heads, keep: _make_multi_head()(
            q, k, v, 1, keep)),
    ],
    rules=[no_python_loop(_attention_case(2, 3, 4, 2, 2, 2), _attention_case(60, 3, 4, 2, 2, 2),
                          _attention_case(2, 60, 60, 2, 2, 2), _attention_case(2, 3, 4, 2, 2, 60))],
)


# convolve: patches with a hop and a ring of zeros, channels first


def _convolve(x, weight, bias, hop, pad):
    rows, columns = weight.shape[2:]
    padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    height = (padded.shape[2] - rows) // hop + 1
    width = (padded.shape[3] - columns) // hop + 1
    result = np.empty((len(x), len(weight), height, width), x.dtype)
    for i, o, y, z in np.ndindex(result.shape):
        patch = padded[i, :, y * hop:y * hop + rows, z * hop:z * hop + columns]
        result[i, o, y, z] = (patch * weight[o]).sum() + bias[o]
    return result


def _convolution_case(n, channels, height, width, outputs, rows, columns, hop, pad,
                      dtype=np.float32) -> Case:
    x = _random(n, channels, height, width, seed=4, scale=10, shift=50, dtype=dtype)
    weight = _random(outputs, channels, rows, columns, seed=5, scale=3, shift=1, dtype=dtype)
    return x, weight, _random(outputs, seed=6, scale=40, dtype=dtype), hop, pad


def _convolution_cases() -> list[Case]:
    x, weight, bias, hop, pad = _convolution_case(2, 3, 6, 7, 4, 2, 3, 1, 0)
    return [
        (x, weight, bias, hop, pad),
        _convolution_case(2, 1, 5, 6, 3, 3, 3, 1, 1),
        _convolution_case(3, 2, 7, 9, 5, 3, 3, 2, 1),
        _convolution_case(1, 4, 7, 5, 2, 3, 2, 3, 2, np.float64),
        _convolution_case(2, 3, 5, 5, 3, 3, 3, 1, 1),  # as many outputs as channels
        _convolution_case(1, 2, 4, 6, 3, 1, 1, 2, 0),
        _convolution_case(2, 2, 6, 6, 6, 2, 2, 1, 1, np.int64),
        (x[::-1, :, ::2, ::-1], weight, bias, 1, 1),
        (-np.asfortranarray(x), weight[:, ::-1], bias[::-1], 2, 2),
    ]


def _make_convolve(kernel=lambda weight: weight, pad_with=None, hops=(True, True), bias=True,
                      places=lambda y: y, single=False):
    def convolve(x, weight, b, hop, pad):
        weight = kernel(weight)
        rows, columns = weight.shape[2:]
        widths = ((0, 0), (0, 0), (pad, pad), (pad, pad))
        if pad_with == "none":
            padded = x
        elif pad_with == "behind":
            padded = np.pad(x, ((0, 0), (0, 0), (0, 2 * pad), (0, 2 * pad)))
        elif pad_with == "edge":
            padded = np.pad(x, widths, mode="edge")
        else:
            padded = np.pad(x, widths)
        steps = [hop if wanted else 1 for wanted in hops]
        windows = np.lib.stride_tricks.sliding_window_view(padded, (rows, columns), axis=(2, 3))
        windows = windows[:, :, ::steps[0], ::steps[1]]
        letters = "ncyzij,okij->noyz" if single else "ncyzij,ocij->noyz"
        result = np.einsum(letters, windows, weight)
        return result + b[:, None, None] if bias else result

    return convolve


convolve = Task(
    name="convolve",
    spec=_convolve,
    cases=_convolution_cases,
    rtol=1e-5,
    mistakes=[
        Mistake("a flipped kernel: networks do not flip it",
                _make_convolve(kernel=lambda weight: weight[:, :, ::-1, ::-1])),
        Mistake("channels summed independently of the kernel's: both carry the same letter",
                _make_convolve(single=True)),
        Mistake("a result without the bias", _make_convolve(bias=False)),
        Mistake("a result without the ring of zeros", _make_convolve(pad_with="none")),
        Mistake("zeros behind the last row and column only: half of them belong in front",
                _make_convolve(pad_with="behind")),
        Mistake("a ring that repeats the edge; it must be zeros",
                _make_convolve(pad_with="edge")),
        Mistake("a patch at every position: the hop was ignored",
                _make_convolve(hops=(False, False))),
        Mistake("a hop along one axis only", _make_convolve(hops=(True, False))),
        Mistake("a result with the outputs last; they are axis 1",
                lambda x, weight, bias, hop, pad: _make_convolve()(
                    x, weight, bias, hop, pad).transpose(0, 2, 3, 1)),
        Mistake("patches flattened as (channels, positions) before the product: bring channels,"
                " rows and columns to the end first",
                lambda x, weight, bias, hop, pad: _convolve_unmoved(x, weight, bias, hop, pad)),
    ],
    rules=[no_python_loop(_convolution_case(2, 2, 5, 6, 3, 2, 2, 1, 1),
                          *(_convolution_case(*sizes, 2, 2, 1, 1)
                            for sizes in ((90, 2, 5, 6, 3), (2, 90, 5, 6, 3), (2, 2, 90, 6, 3),
                                          (2, 2, 5, 90, 3), (2, 2, 5, 6, 90))))],
)


def _convolve_unmoved(x, weight, bias, hop, pad):
    padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, weight.shape[2:], axis=(2, 3))
    windows = windows[:, :, ::hop, ::hop]
    n, _, height, width = windows.shape[:4]
    patches = windows.reshape(n, height, width, -1)
    return (patches @ weight.reshape(len(weight), -1).T + bias).transpose(0, 3, 1, 2)


# quantise: integers and a scale for each output channel


def _quantise(weight, axis, bits):
    largest = 2 ** (bits - 1) - 1
    moved = np.moveaxis(weight, axis, 0)
    integers = np.zeros(moved.shape, np.int8)
    scales = np.ones((len(moved),) + (1,) * (weight.ndim - 1), weight.dtype)
    for channel, numbers in enumerate(moved):
        if np.any(numbers):
            scales[channel] = np.abs(numbers).max() / largest
            integers[channel] = np.rint(numbers / scales[channel])
    return np.moveaxis(integers, 0, axis), np.moveaxis(scales, 0, axis)


def _quantise_cases() -> list[Case]:
    matrix = _random(6, 5, seed=7, scale=0.2)
    kernels = _random(4, 3, 3, 2, seed=8) * np.float32([[[[3]]], [[[0.1]]], [[[40]]], [[[1]]]])
    empty = matrix.copy()
    empty[:, 2] = 0
    return [
        (matrix, 1, 8),
        (matrix, 0, 8),
        (kernels, 0, 4),
        (kernels, 1, 8),
        (empty, 1, 4),
        (matrix.T, 0, 2),
        (_random(7, 4, seed=9, shift=-3, dtype=np.float64), 1, 5),
        (_random(5, 9, seed=10, shift=-3), 0, 3),
    ]


def _make_quantise(largest=lambda bits: 2 ** (bits - 1) - 1, magnitude=np.abs, whole=False,
                   other=False, rounding=np.rint, zero=1.0):
    def quantise(weight, axis, bits):
        axis = (axis + 1) % weight.ndim if other else axis
        axes = tuple(k for k in range(weight.ndim) if whole or k != axis)
        with np.errstate(divide="ignore", invalid="ignore"):
            scales = magnitude(weight).max(axis=axes, keepdims=True) / largest(bits)
            if zero is not None:
                scales = np.where(scales == 0, scales.dtype.type(zero), scales)
            integers = rounding(weight / scales).astype(np.int64).astype(np.int8)
        return integers, scales

    return quantise


quantise = Task(
    name="quantise",
    spec=_quantise,
    cases=_quantise_cases,
    mistakes=[
        Mistake("one scale for the whole array", _make_quantise(whole=True)),
        Mistake("scales along another axis: keep `axis`, reduce over all the others",
                _make_quantise(other=True)),
        Mistake("numbers cut off by astype; round to the nearest first",
                _make_quantise(rounding=np.trunc)),
        Mistake("numbers rounded down", _make_quantise(rounding=np.floor)),
        Mistake("a largest integer of 2**(bits - 1), one too many: in int8, 128 wraps to -128",
                _make_quantise(largest=lambda bits: 2 ** (bits - 1))),
        Mistake("integers without a sign: the largest is 2**(bits - 1) - 1",
                _make_quantise(largest=lambda bits: 2**bits - 1)),
        Mistake("the largest number instead of the largest magnitude",
                _make_quantise(magnitude=np.asarray)),
        Mistake("a channel of zeros divided by its zero scale; give it scale 1",
                _make_quantise(zero=None)),
    ],
    rules=[no_python_loop((_random(6, 5, seed=7), 1, 8), (_random(60, 500, seed=7), 1, 8))],
)


# measure: latency, throughput, memory and right answers, by a pretended clock


class PretendNetwork:
    """A network with a clock that only its own calls move, so that every time is known beforehand.

    A call takes `start` seconds and `each` more for every image. The first call with a new number
    of images takes another second, and every fourth call takes ten times as long. A call holds
    `scratch` bytes for each image while it runs. Its answer for an image is the image's first
    number.
    """

    def __init__(self, start: float, each: float, scratch: int) -> None:
        self.start, self.each, self.scratch = start, each, scratch
        self.now, self.calls, self.singles, self.seen = 0.0, 0, 0, set()

    def __repr__(self) -> str:
        return f"<{self.start:g} s a call and {self.each:g} s an image>"

    def __call__(self, images: np.ndarray) -> np.ndarray:
        taken = self.start + self.each * len(images)
        self.calls += 1
        self.singles += len(images) == 1
        if self.calls % 4 == 0:
            taken *= 10
        if len(images) not in self.seen:
            taken += 1
        self.seen.add(len(images))
        self.now += taken
        held = np.empty(self.scratch * len(images), np.uint8)
        logits = np.zeros((len(images), 10), np.float32)
        logits[np.arange(len(images)), images.reshape(len(images), -1)[:, 0].astype(int)] = 1
        del held
        return logits

    def fresh(self) -> "PretendNetwork":
        """The same network, not yet called."""
        return PretendNetwork(self.start, self.each, self.scratch)


class PretendClock:
    """`clock()` is the time of its network, in seconds."""

    def __init__(self, network: PretendNetwork) -> None:
        self.network = network

    def __repr__(self) -> str:
        return "<its clock>"

    def __call__(self) -> float:
        return self.network.now


def _make_measure(latency="one", throughput="all", memory="all", right="count", summary="median",
              warm=True, calls=5):
    """`measure` on a network not yet called; the keywords change one thing each."""

    def measure(forward, images, labels, clock):
        forward = forward.fresh()
        clock = PretendClock(forward)

        def seconds(batch):
            if warm:
                forward(batch)
            taken = []
            for _ in range(calls):
                begin = clock()
                forward(batch)
                taken.append(clock() - begin)
            return {"median": statistics.median, "mean": statistics.fmean, "sum": sum}[summary](
                taken)

        one, every = seconds(images[:1]), seconds(images)
        answers = forward(images).argmax(axis=1) == labels
        return (
            {"one": one, "all": every, "share": every / len(images)}[latency],
            {"all": len(images) / every, "one": 1 / one, "calls": 1 / every}[throughput],
            {"all": peak_bytes(forward, images), "one": peak_bytes(forward, images[:1]),
             "result": forward(images).nbytes}[memory],
            {"count": int(answers.sum()), "share": float(answers.mean()),
             "wrong": int((~answers).sum())}[right],
        )

    return measure


def _measure(forward, images, labels, clock):
    return _make_measure()(forward, images, labels, clock)


def _measure_case(n: int, right: int, network: PretendNetwork) -> Case:
    random = np.random.default_rng(n)
    labels = random.integers(10, size=n)
    images = random.random((n, 8, 8), dtype=np.float32)
    images[:, 0, 0] = labels
    images[right:, 0, 0] = (labels[right:] + 3) % 10
    return network, images, labels, PretendClock(network)


MEMORY_STEP = 2**16  # bytes to which memory is rounded, so that a small list does not count


def _read_measured(value: object, case: Case) -> tuple:
    names = "latency", "throughput", "memory", "right"
    for name, number in zip(names, require_tuple(value, *names)):
        if not isinstance(number, (int, float, np.number)) or isinstance(number, bool):
            raise Refusal(f"{name} must be a number, got {describe_value(number)}.")
    latency, throughput, memory, right = value
    return (f"latency {float(latency):.6g} s", f"throughput {float(throughput):.6g} images/s",
            f"memory {round(memory / MEMORY_STEP) * MEMORY_STEP / 2**20:.2f} MiB",
            f"right {right:g}")


def _warms_up(answer: Callable, trials: Sequence[Trial]) -> str | None:
    """The median hides a first call that was timed; the number of calls does not."""
    for trial in trials:
        if trial.case[0].singles < 6:
            return (f"it calls the network {trial.case[0].singles} times with one image: five"
                    " calls are timed, after one that warms up.")
    return None


measure = Task(
    name="measure",
    spec=lambda forward, images, labels, clock: _read_measured(
        _measure(forward, images, labels, clock), ()),
    cases=lambda: [
        _measure_case(30, 21, PretendNetwork(0.002, 0.001, 3 * MEMORY_STEP)),
        _measure_case(17, 17, PretendNetwork(0.03, 0.0005, MEMORY_STEP)),
        _measure_case(50, 4, PretendNetwork(0.0001, 0.02, 2 * MEMORY_STEP)),
    ],
    read=_read_measured,
    mistakes=[
        Mistake("a mean: one slow call spoils it. Take the median", _make_measure(summary="mean")),
        Mistake("a single call without a warm-up", _make_measure(warm=False, calls=1)),
        Mistake("the sum of the five times", _make_measure(summary="sum")),
        Mistake("the latency of all images at once; hand over images[:1]",
                _make_measure(latency="all")),
        Mistake("the batch's time divided by its images as latency: a single image bears the whole"
                " cost of a call", _make_measure(latency="share")),
        Mistake("one divided by the latency as throughput: images in one call share its cost",
                _make_measure(throughput="one")),
        Mistake("calls a second; throughput counts images", _make_measure(throughput="calls")),
        Mistake("the memory for one image", _make_measure(memory="one")),
        Mistake("the bytes of an argument or a result; the memory held during the call counts, use"
                " peak_bytes", _make_measure(memory="result")),
        Mistake("a share of right answers; return how many there are",
                _make_measure(right="share")),
        Mistake("the number of wrong answers", _make_measure(right="wrong")),
    ],
    rules=[_warms_up],
)
