"""The tasks about many GPUs: parts of a batch, a ring, Dask's blocks.

Where the machine has one GPU, it plays all devices, and a wrong device is not noticed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from helpers.backend import is_simulated

from .machinery.stream_task import Hold, experiment, watch_for_waits
from .machinery.task import ExperimentTask, Mistake, Refusal, Task, describe_value, is_on_device
from .streams import StreamTask


def _shares(n, count, *, rest=True):
    sizes = [n // count + rest * (k < n % count) for k in range(count)]
    return tuple((sum(sizes[:k]), sum(sizes[:k + 1])) for k in range(count))


shares = Task(
    "shares", lambda n, count: _shares(n, count), right=_shares,
    cases=lambda: [(10, 3), (8, 4), (2, 5), (0, 2), (7, 1), (23, 4)],
    read=lambda value, case: tuple(map(tuple, value)) if np.ndim(value) == 2 else value,
    mistakes=[("a rest that no device gets", {"rest": False})])
ring_bytes = Task(
    "ring_bytes", lambda count, n: 2 * (count - 1) * (n // count),
    lambda: [(4, 800), (1, 100), (2, 66), (8, 80), (7, 21)],
    mistakes=[Mistake("one half of the steps", lambda count, n: (count - 1) * (n // count)),
              Mistake("whole arrays in place of pieces", lambda count, n: (count - 1) * n)])


@functools.cache
def _streams() -> tuple[list[int], list[Any]]:
    import cupy as cp  # here, so that this module can be imported before helpers.start()

    devices, streams = [k % cp.cuda.runtime.getDeviceCount() for k in range(3)], []
    for device in devices:
        with cp.cuda.Device(device):
            streams.append(cp.cuda.Stream(non_blocking=True))
            Hold(streams[-1]).release()  # what is compiled and loaded now delays no experiment
    return devices, streams


def _images(n: int) -> np.ndarray:
    return np.random.default_rng(n).uniform(0, 1, (n, 8, 8)).astype(np.float32)


def _logits(images: Any) -> Any:
    return images.reshape(len(images), 64)[:, 7:17] * 2


def _run_read_all(answer: Callable, n: int, count: int, held: int | None) -> np.ndarray:
    import cupy as cp

    devices, streams = (of_all[:count] for of_all in _streams())
    wanted = [end - begin for begin, end in _shares(n, count)]
    calls, holds, passed = [0] * count, [], []

    def read(k: int, x: Any) -> Any:
        if (cp.cuda.Device().id, cp.cuda.get_current_stream()) != (devices[k], streams[k]):
            raise Refusal(f"device {devices[k]} and its stream must be current for read[{k}].")
        if not is_on_device(x) or x.device.id != devices[k] or x.ndim != 3 or not len(x):
            raise Refusal(f"read[{k}] takes an array (n, 8, 8) of device {devices[k]}, n > 0.")
        if any(event.done for event in passed):  # however the wait for the held stream ended
            raise Refusal(f"Python waits when only {sum(map(bool, calls))} of the devices have got"
                          " work.")
        if k == held:
            holds.append(Hold(streams[k]))
            passed.append(streams[k].record())
        calls[k] += len(x)
        return _logits(x)

    # The simulator's pool waits before it gives memory out again.
    pool = cp.cuda.using_allocator(None) if is_simulated(cp) else nullcontext()
    with experiment(holds):
        with pool, watch_for_waits(holds):
            digits = answer(_images(n), devices, streams,
                            [functools.partial(read, k) for k in range(count)])
    if calls != wanted and isinstance(digits, np.ndarray):
        raise Refusal(f"the devices read {calls} images, and not {wanted}.")
    return digits


read_all = StreamTask(  # with a hold, all parts take blocks of one size of the host's pinned pool
    "read_all", lambda n, count, held: _logits(_images(n)).argmax(axis=1),
    lambda: [(13, 2, 0), (16, 3, 1), (15, 2, 1), (2, 3, None), (0, 2, None), (5, 1, None),
             (17, 3, None)],
    run=_run_read_all, signature=lambda images, devices, streams, read: None)


def _ring(count, *, turn=1, replace=True):
    return [[(k, (k - turn * step) % count, step < count - 1 or not replace)
             for k in range(count)] for step in range(2 * count - 2)]


def _read_ring(steps: object, case: tuple) -> np.ndarray:
    """How often each device's numbers are in each piece of each device at the end."""
    (count,) = case
    have = np.zeros((count, count, count), int)  # device, piece, whose numbers
    have[np.arange(count), :, np.arange(count)] = 1
    if not isinstance(steps, list) or len(steps) != 2 * count - 2:
        raise Refusal(f"expected a list of {2 * count - 2} steps, got {describe_value(steps)}.")
    for number, step in enumerate(steps):
        before = have.copy()
        if sorted(sender for sender, _, _ in step) != list(range(count)):
            raise Refusal(f"in step {number}, each device must send one piece.")
        for sender, piece, add in step:
            to = (sender + 1) % count
            have[to, piece] = before[sender, piece] + add * before[to, piece]
    return have


ring = Task(
    "ring", lambda count: np.ones((count, count, count), int), right=_ring, read=_read_ring,
    cases=lambda: [(4,), (2,), (3,), (1,), (7,)],
    mistakes=[("pieces that go round in the other direction", {"turn": -1}),
              ("arriving pieces that are added in all steps", {"replace": False})])


def _run_count_digits(answer: Callable, blocks: tuple[int, ...]) -> np.ndarray:
    import dask
    import dask.array as da

    seen, came = [], []

    def read(block: Any) -> np.ndarray:
        seen.extend([len(block)] * bool(len(block)))  # Dask also asks with an empty block
        return _logits(block)

    def get(graph: Any, keys: Any, **options: Any) -> Any:
        values = dask.get(graph, keys, **options)
        came.extend(value.nbytes for value in dask.core.flatten(values))
        return values

    with dask.config.set(scheduler=get):
        counts = answer(da.from_array(_images(sum(blocks)), chunks=(blocks, 8, 8)), read)
    if sorted(seen) != sorted(blocks) and isinstance(counts, np.ndarray):
        raise Refusal(f"read got arrays of {seen} images, and not each block once.")
    if sum(came) > 80 * len(blocks):
        raise Refusal(f"{sum(came):,} bytes came to the client, not ten numbers of each block.")
    return counts


count_digits = ExperimentTask(
    "count_digits", lambda blocks: np.bincount(_logits(_images(sum(blocks))).argmax(axis=1),
                                               minlength=10),
    lambda: [((40, 40, 40),), ((50, 30, 7),), ((3,),), ((1, 2, 1, 4),)],
    run=_run_count_digits, signature=lambda images, read: None)
